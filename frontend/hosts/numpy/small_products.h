// Products of small vectors and matrices in replays, by the inner loop of NumPy's matmul.
//
// A call of np.matmul on three by three matrices takes a microsecond, of which the product takes a twentieth.
// The loop is given what NumPy's generalized ufuncs give it, so the bits are the call's.
#pragma once

#include "frontend/pyref.h"

namespace stator::frontend::numpy {

// The product of two plain arrays of one or two axes, of the same float dtype. Empty where the call has to be
// made: another callable or other operands, extents that do not fit, work that dwarfs the call, and flags
// that np.errstate does something about (`set` and `ignored` as for faults_that_matter). No error is set.
PyRef small_product(PyObject* callable, PyObject* const* argv, size_t nargs, uint32_t set, uint32_t ignored);

}  // namespace stator::frontend::numpy
