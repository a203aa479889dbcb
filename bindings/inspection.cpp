// See inspection.h.
#include "bindings/inspection.h"

#include "frontend/pyref.h"

namespace stator::bindings {

PyObject* inspect(const char* name, PyObject* self, PyObject* args, PyObject* kwargs) {
    using frontend::PyRef;
    const auto module = frontend::module_named("stator._inspect");
    const auto function = PyRef::steal(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
    const auto head = PyRef::steal(function ? PyTuple_Pack(1, self) : nullptr);
    if (!head) return nullptr;
    const auto all = PyRef::steal(args ? PySequence_Concat(head.get(), args) : Py_NewRef(head.get()));
    return all ? PyObject_Call(function.get(), all.get(), kwargs) : nullptr;
}

}  // namespace stator::bindings
