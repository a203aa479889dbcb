// What the recorder reads off a real array: dtype, extents and layout class. Decides which arrays can be
// compiled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/pyref.h"
#include "graph/graph.h"

namespace stator::frontend {

struct ArrayMeta {
    graph::HostId host = graph::HostId::NumPy;
    int device = -1;  // ordinal of its GPU
    graph::DType dtype;
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;  // bytes
    graph::Layout layout;
    std::vector<int> perm;  // empty = C order
    bool own_dtype;         // the dtype object is a copy of the built-in one
    bool writeable;
    bool standard_strides;  // Contiguous: the strides are those a fresh array of this shape and perm gets

    // Whether every axis of two elements and more has a positive stride.
    [[nodiscard]] bool strides_positive() const;
};

// Of an ndarray, a tensor or a CuPy array. False, with `why`, for subclasses, object or byte-swapped or
// unaligned arrays, ranks above 8.
bool read_array_meta(PyObject* array, ArrayMeta* out, std::string* why);
// The graph dtype of an exact NumPy scalar; false for others.
bool np_scalar_dtype(PyObject* scalar, graph::DType* out);
bool dtype_from_numpy(int type_num, graph::DType* out);
// Whether NumPy computes with such elements by itself: without Python code, and no extension defines them.
bool is_builtin_type(int type_num);
bool is_any_ndarray(PyObject* obj);  // of any dtype, and of subclasses
bool is_ufunc(PyObject* obj);
bool is_method_descriptor(PyObject* obj);  // a method of a builtin or extension type, looked up on the type

}  // namespace stator::frontend
