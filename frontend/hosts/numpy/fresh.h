// Small result arrays, put together by hand: PyArray_NewFromDescr takes as long as a kernel on a hundred
// elements.
#pragma once

#include "guards/check/numpy_api.h"

namespace stator::frontend::numpy {

// A C-contiguous array with its own memory (from NumPy's allocator, above 1 KB from blocks.h), as
// PyArray_NewFromDescr would make it. nullptr, without an error set, when that function has to be asked: for
// empty and 0-d arrays, when the program has set an allocator, or when this NumPy lays arrays out in another
// way.
PyObject* new_small_array(PyArray_Descr* descr, int ndim, const npy_intp* shape, int64_t bytes);

}  // namespace stator::frontend::numpy
