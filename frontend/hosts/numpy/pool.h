// Result arrays of 64 KB and more whose memory comes from the core library's pool, behind NumPy's
// data-allocator handler (NEP 49): fresh pages cost more than the arithmetic on them.
#pragma once

#include <cstdint>

#include "guards/check/numpy_api.h"

namespace stator::frontend::numpy {

inline constexpr int64_t kPoolThreshold = 64 * 1024;

// The capsule of the handler that frees and resizes what new_pooled_array and take_block gave; nullptr:
// memory is short.
PyObject* pool_handler();
// nullptr, without an error set, when the pool cannot serve: the caller then allocates through NumPy.
PyObject* new_pooled_array(PyArray_Descr* descr, int ndim, const npy_intp* shape, const npy_intp* strides,
                           int64_t bytes);

}  // namespace stator::frontend::numpy
