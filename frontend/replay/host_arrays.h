// Array objects at replay time, whichever library they belong to.
#pragma once

#include "frontend/hosts/cupy/runtime.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/hosts/torch/runtime.h"

namespace stator::frontend {

// A fresh array with its own memory, as the library makes one on the GPU (for CuPy the current one); nullptr
// with a Python error.
inline PyObject* new_host_array(graph::HostId host, graph::DType dtype, int ndim, const int64_t* shape,
                                const std::vector<int>& perm, bool own_dtype, int device = -1) {
    if (host == graph::HostId::NumPy) [[likely]]
        return numpy::new_array(dtype, ndim, shape, perm, own_dtype);
    if (host == graph::HostId::CuPy) return cupy::new_array(dtype, ndim, shape, perm);
    return torch::new_tensor(dtype, ndim, shape, perm, device);
}

// Where the elements of an array are: its data, and `rank` strides in bytes into `out`.
inline char* locate_host_array(graph::HostId host, PyObject* array, int rank, int64_t* out) {
    if (host == graph::HostId::NumPy) [[likely]]
        return numpy::locate(array, rank, out);
    return host == graph::HostId::CuPy ? cupy::locate(array, rank, out) : torch::locate(array, rank, out);
}

inline int64_t host_array_size(PyObject* object) {
    if (const int64_t n = numpy::array_size(object)) return n;
    if (const int64_t n = torch::tensor_size(object)) return n;
    return cupy::array_size(object);
}

// Whether the result of a library call of this host lies apart from all arrays among its arguments.
inline bool lies_apart(graph::HostId host, PyObject* result, PyObject* const* args, size_t count) {
    return host == graph::HostId::CuPy ? cupy::lies_apart(result, args, count)
                                       : torch::lies_apart(result, args, count);
}

}  // namespace stator::frontend
