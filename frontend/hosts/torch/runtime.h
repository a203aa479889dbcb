// torch at replay time: allocating results, and where tensors lie.
#pragma once

#include <vector>

#include "frontend/pyref.h"
#include "graph/graph.h"

namespace stator::frontend::torch {

// What torch.empty_strided gives in the current mode on the CPU or a GPU, axes in memory order `perm` (empty
// = C).
PyObject* new_tensor(graph::DType dtype, int ndim, const int64_t* shape, const std::vector<int>& perm,
                     int device = -1);
// A view of `base`, which begins at the start of its storage. Strides and offset are in elements.
PyObject* new_strided(PyObject* base, int ndim, const int64_t* shape, const int64_t* strides, int64_t offset);
// The data of a tensor, and `rank` strides in bytes into `out`. nullptr: it cannot be read.
char* locate(PyObject* tensor, int rank, int64_t* out);
// The torch.dtype of a graph dtype (borrowed), and the other way round.
PyObject* dtype_object(graph::DType t);
bool dtype_of_object(PyObject* o, graph::DType* out);
// How many elements an exact tensor has; 0 for every other object.
int64_t tensor_size(PyObject* object);
// Whether the result of a library call lies apart from all tensors among its arguments.
bool lies_apart(PyObject* result, PyObject* const* args, size_t count);

// A torch.nn.Sequential or ModuleList whose iterator is that of its registered children.
bool iterates_children(PyObject* o);

}  // namespace stator::frontend::torch
