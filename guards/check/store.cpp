// Whether an attribute can be stored to at a later point than the program does it, without anybody seeing the
// difference: the lookup of the store must run no code, and neither must the end of what the attribute held.
#include <cstdint>

#include "guards/check/impl.h"
#include "guards/check/numpy_api.h"
#if PY_VERSION_HEX < 0x030C0000
#include <structmember.h>
#endif

extern "C" PyAPI_FUNC(PyObject**) _PyObject_GetDictPtr(PyObject*);

namespace stator::guards {
namespace {

bool is_referred_to(PyObject* o) {
    const Py_ssize_t at = Py_TYPE(o)->tp_weaklistoffset;
    return at > 0 && *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + at);
}

// Nobody sees such an object go away. Others may have a finalizer, or hold what has one.
bool goes_unseen(PyObject* o, int depth = 0) {
    constexpr int kDeepest = 2;  // of tuples in each other
    PyTypeObject* type = Py_TYPE(o);
    if (o == Py_None || type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type ||
        type == &PyComplex_Type || type == &PyUnicode_Type || type == &PyBytes_Type)
        return true;
    if (type == &PyTuple_Type) {
        if (depth == kDeepest) return false;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
            if (!goes_unseen(PyTuple_GET_ITEM(o, i), depth + 1)) return false;
        return true;
    }
    if (!is_exact_array(o))
        return PyArray_API && (PyArray_IsScalar(o, Number) || PyArray_IsScalar(o, Bool)) &&
               !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
    auto* a = reinterpret_cast<PyArrayObject*>(o);
    PyObject* base = PyArray_BASE(a);
    return !is_referred_to(o) && !PyDataType_REFCHK(PyArray_DESCR(a)) &&
           (!base || (depth < kDeepest && goes_unseen(base, depth + 1)));
}

bool has_dict(PyTypeObject* type) {
    return type->tp_dictoffset != 0 || PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT);
}

// Neither the globals of a module nor the attributes of an object, which are read by other ways.
bool is_namespace(PyObject* dict) {
    static PyObject* const builtins = PyUnicode_InternFromString("__builtins__");
    static PyObject* const name = PyUnicode_InternFromString("__name__");
    return reinterpret_cast<PyDictObject*>(dict)->ma_values || PyDict_Contains(dict, builtins) != 0 ||
           PyDict_Contains(dict, name) != 0;
}

bool can_store_item(PyObject* dict, PyObject* key) {
    if (!PyUnicode_CheckExact(key) || is_namespace(dict)) return PyErr_Clear(), false;
    PyObject* held = PyDict_GetItemWithError(dict, key);
    if (!held && PyErr_Occurred()) return PyErr_Clear(), false;
    return !held || goes_unseen(held);
}

}  // namespace

// Without making the dict: CPython reads attributes faster while there is none.
PyObject* GuardProgram::dict_of(PyObject* obj) {
    const PyTypeObject* type = Py_TYPE(obj);
    if (!PyType_HasFeature(Py_TYPE(obj), Py_TPFLAGS_MANAGED_DICT)) {
        const Py_ssize_t at = type->tp_dictoffset;
        PyObject** place = at > 0    ? reinterpret_cast<PyObject**>(reinterpret_cast<char*>(obj) + at)
                           : at == 0 ? nullptr
                                     : _PyObject_GetDictPtr(obj);
        return place ? *place : nullptr;
    }
    PyObject* dict = reinterpret_cast<PyObject**>(obj)[-3];
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
    if (reinterpret_cast<uintptr_t>(dict) & 1) return nullptr;  // values in their place
#endif
    return dict;
}

bool GuardProgram::can_store_global(PyObject* dict, PyObject* name) {
    PyObject* held = PyDict_CheckExact(dict) ? PyDict_GetItemWithError(dict, name) : nullptr;
    if (PyErr_Occurred()) PyErr_Clear();
    return held && goes_unseen(held);
}

bool GuardProgram::can_store(PyObject* obj, PyObject* name) {
    PyTypeObject* type = Py_TYPE(obj);
    if (PyDict_CheckExact(obj)) return can_store_item(obj, name);
    if (!PyUnicode_CheckExact(name) || PyType_Check(obj) || PyModule_Check(obj) ||
        !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_setattro != PyObject_GenericSetAttr ||
        type->tp_getattro != PyObject_GenericGetAttr)
        return false;
    PyObject* descr = class_lookup(type, name);
    if (descr && is_slot_member(obj, descr)) {
        const PyMemberDef* m = reinterpret_cast<PyMemberDescrObject*>(descr)->d_member;
        if (m->flags) return false;
        PyObject* held = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(obj) + m->offset);
        return !held || goes_unseen(held);
    }
    // A default on the class may be anything that no lookup calls.
    if (descr && (Py_TYPE(descr)->tp_descr_set || Py_TYPE(descr)->tp_descr_get)) return false;
    if (!has_dict(type)) return false;
    // Another object may have the same dict (self.__dict__ = cls.shared), or a variable (vars(self)): what is
    // written later than the program does would be seen there.
    if (PyObject* dict = dict_of(obj); dict && Py_REFCNT(dict) != 1) return false;
    PyObject* held = read_attr(obj, name);
    const bool unseen = !held || held == descr || goes_unseen(held);
    Py_XDECREF(held);
    return unseen;
}

}  // namespace stator::guards
