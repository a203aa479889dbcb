// See check/functions.h.
#include "guards/check/functions.h"

#include <structmember.h>

#include <cstddef>

namespace stator::guards {

namespace {

// Functions are pickled by name: as objects of type `function` are by the pickle module, to which the type of
// this one means nothing. The copy module takes the answer to mean "itself".
PyObject* reduce(PyObject* function, PyObject*) {
    return Py_NewRef(reinterpret_cast<PyFunctionObject*>(function)->func_qualname);
}

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

// A type's own documentation would stand before that of its objects.
PyMemberDef members[] = {
    {"__doc__", T_OBJECT, offsetof(PyFunctionObject, func_doc), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

const PyVarObject kTypeHead[] = {PyVarObject_HEAD_INIT(nullptr, 0)};

}  // namespace

PyTypeObject served_function_type{};

bool add_served_function_type() {
    PyTypeObject& t = served_function_type;
    t.ob_base = kTypeHead[0];
    t.tp_name = PyFunction_Type.tp_name;
    t.tp_doc = PyFunction_Type.tp_doc;
    t.tp_base = &PyFunction_Type;
    t.tp_basicsize = sizeof(PyFunctionObject);
    // CPython lets nobody derive from functions in Python. In C nothing is in the way, and what is not said
    // here is inherited: all slots but the collector's, which belong to the flag.
    t.tp_flags = PyFunction_Type.tp_flags &
                 ~static_cast<unsigned long>(Py_TPFLAGS_READY | Py_TPFLAGS_VALID_VERSION_TAG);
    t.tp_traverse = PyFunction_Type.tp_traverse;
    t.tp_clear = PyFunction_Type.tp_clear;
    t.tp_methods = methods;
    t.tp_members = members;
    return PyType_Ready(&t) == 0;
}

}  // namespace stator::guards
