// Array objects at replay time, whichever library they belong to.
#pragma once

#include "frontend/hosts/numpy/runtime.h"
#include "frontend/hosts/torch/runtime.h"

namespace stator::frontend {

// A fresh array with its own memory, as the library makes one; nullptr with a Python error.
inline PyObject* new_host_array(graph::HostId host, graph::DType dtype, int ndim, const int64_t* shape,
                                const std::vector<int>& perm, bool own_dtype) {
    if (host == graph::HostId::NumPy) [[likely]]
        return numpy::new_array(dtype, ndim, shape, perm, own_dtype);
    return torch::new_tensor(dtype, ndim, shape, perm);
}

// Where the elements of an array are: its data, and `rank` strides in bytes into `out`.
inline char* locate_host_array(graph::HostId host, PyObject* array, int rank, int64_t* out) {
    if (host == graph::HostId::NumPy) [[likely]]
        return numpy::locate(array, rank, out);
    return torch::locate(array, rank, out);
}

inline int64_t host_array_size(PyObject* object) {
    if (const int64_t n = numpy::array_size(object)) return n;
    return torch::tensor_size(object);
}

}  // namespace stator::frontend
