// See check_functions.h.
#include "guards/check_functions.h"

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
    // CPython lets nobody derive from functions in Python. In C nothing is in the way, and a type that says
    // as little about itself as this one has all slots from its base.
    t.tp_flags = PyFunction_Type.tp_flags &
                 ~static_cast<unsigned long>(Py_TPFLAGS_READY | Py_TPFLAGS_VALID_VERSION_TAG);
    t.tp_new = PyFunction_Type.tp_new;  // which makes plain functions
    t.tp_vectorcall_offset = PyFunction_Type.tp_vectorcall_offset;
    t.tp_weaklistoffset = PyFunction_Type.tp_weaklistoffset;
    t.tp_dictoffset = PyFunction_Type.tp_dictoffset;
    t.tp_call = PyFunction_Type.tp_call;
    t.tp_repr = PyFunction_Type.tp_repr;
    t.tp_descr_get = PyFunction_Type.tp_descr_get;
    t.tp_traverse = PyFunction_Type.tp_traverse;
    t.tp_clear = PyFunction_Type.tp_clear;
    t.tp_dealloc = PyFunction_Type.tp_dealloc;
    t.tp_methods = methods;
    t.tp_members = members;
    return PyType_Ready(&t) == 0;
}

}  // namespace stator::guards
