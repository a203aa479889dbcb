#include "frontend/cpython/builtins.h"

#include "frontend/once.h"

namespace stator::frontend {

PyObject* builtins_at_import() {
    return once([] {
        PyObject* module = PyImport_AddModule("builtins");
        PyObject* copy = module ? PyDict_Copy(PyModule_GetDict(module)) : nullptr;
        if (!copy) PyErr_Clear();
        return copy;
    });
}

PyObject* builtin(const char* name) {
    PyObject* all = builtins_at_import();
    return all ? PyDict_GetItemString(all, name) : nullptr;
}

}  // namespace stator::frontend
