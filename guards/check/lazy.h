// What `lazy import` binds a name to (from 3.15 on) until the name is used. Using it runs the module's code.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX >= 0x030F0000
extern "C" {
PyAPI_DATA(PyTypeObject) PyLazyImport_Type;  // declared in an internal header
}
#endif

namespace stator::guards {

inline bool is_lazy_import([[maybe_unused]] PyObject* o) {
#if PY_VERSION_HEX >= 0x030F0000
    return Py_IS_TYPE(o, &PyLazyImport_Type);
#else
    return false;
#endif
}

}  // namespace stator::guards
