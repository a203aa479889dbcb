// Which host an operation belongs to.
#include "frontend/hosts/host.h"

#include "guards/check_torch_api.h"

namespace stator::frontend {

static bool holds_tensor(PyObject* o) {
    if (!o) return false;
    if (guards::is_tensor(o)) return true;
    if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return false;
    for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i)
        if (holds_tensor(PyTuple_CheckExact(o) ? PyTuple_GET_ITEM(o, i) : PyList_GET_ITEM(o, i))) return true;
    return false;
}

const Host& host_of(std::span<const Operand> operands) {
    for (const Operand& o : operands)
        if (holds_tensor(o.obj)) return torch_host();
    return numpy_host();
}

const Host* host_that_knows(PyObject* callable) {
    if (numpy_host().knows(callable)) return &numpy_host();
    return torch_host().knows(callable) ? &torch_host() : nullptr;
}

}  // namespace stator::frontend
