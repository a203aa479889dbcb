// CuPy at replay time: allocating results, and where arrays lie.
#pragma once

#include <vector>

#include "frontend/pyref.h"
#include "graph/graph.h"

namespace stator::frontend::cupy {

// A fresh array on the current device, as cupy.ndarray makes one: by CuPy's current allocator, axes in memory
// order `perm` (empty = C). nullptr with a Python error.
PyObject* new_array(graph::DType dtype, int ndim, const int64_t* shape, const std::vector<int>& perm);
// The address of an array on its device, and `rank` strides in bytes into `out`. nullptr: it cannot be read.
char* locate(PyObject* array, int rank, int64_t* out);
// How many elements an exact cupy.ndarray has; 0 for every other object.
int64_t array_size(PyObject* object);
// Whether the result of a library call lies apart from all arrays among its arguments.
bool lies_apart(PyObject* result, PyObject* const* args, size_t count);

}  // namespace stator::frontend::cupy
