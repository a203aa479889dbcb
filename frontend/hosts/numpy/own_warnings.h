// Warnings that functions of NumPy give, for other reasons than a floating-point flag.
#pragma once

#include <cstddef>

#include "frontend/pyref.h"

namespace stator::frontend::numpy {

// Whether this call may warn in its own words. Such a warning names the line of the Python frame that
// called, which a replay or a region does not have: the call is left to Python. Never true without a reason
// that lies in these very arguments, so it is asked before each call; sets no error.
bool warns_by_itself(PyObject* callable, PyObject* const* argv, size_t nargs, PyObject* kwnames);

}  // namespace stator::frontend::numpy
