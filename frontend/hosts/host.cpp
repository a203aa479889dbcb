// Which host an operation belongs to.
#include "frontend/hosts/host.h"

#include "guards/check/cupy_api.h"
#include "guards/check/torch_api.h"

namespace stator::frontend {

// The host whose array the object is, or whose array it holds; nullptr for none but NumPy's.
// `left`: how many objects may still be looked at. Lists hold themselves, and each other many times.
static const Host* other_host(PyObject* o, int depth, int& left) {
    if (!o || --left < 0) return nullptr;
    if (guards::is_tensor(o)) return &torch_host();
    if (guards::is_cupy_array(o)) return &cupy_host();
    if (depth == 0 || (!PyTuple_CheckExact(o) && !PyList_CheckExact(o))) return nullptr;
    for (Py_ssize_t i = 0; i < Py_SIZE(o) && left > 0; ++i)
        if (const Host* h = other_host(PyTuple_CheckExact(o) ? PyTuple_GET_ITEM(o, i) : PyList_GET_ITEM(o, i),
                                       depth - 1, left))
            return h;
    return nullptr;
}

const Host& host_of(std::span<const Operand> operands) {
    constexpr int kDeepest = 4, kMost = 4096;
    for (const Operand& o : operands) {
        int left = kMost;
        if (const Host* other = other_host(o.obj, kDeepest, left)) return *other;
    }
    return numpy_host();
}

const Host* host_that_knows(PyObject* callable) {
    if (numpy_host().knows(callable)) return &numpy_host();
    if (torch_host().knows(callable)) return &torch_host();
    return cupy_host().knows(callable) ? &cupy_host() : nullptr;
}

}  // namespace stator::frontend
