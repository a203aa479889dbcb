#include "frontend/record/named_tuples.h"

#include "frontend/once.h"
#include "guards/check/functions.h"

namespace stator::frontend {

namespace {

// A class that collections has made: its methods have the code of all such classes' methods. It is one of the
// standard library's, since making one runs code that the program's audit hooks would be told of.
PyObject* sample() {
    return once([] {
        const PyRef module = module_named("functools");
        PyObject* found = module ? PyObject_GetAttrString(module.get(), "_CacheInfo") : nullptr;
        if (!found) PyErr_Clear();
        return found;
    });
}

PyObject* sample_part(const char* name) {
    PyObject* part = sample() ? PyObject_GetAttrString(sample(), name) : nullptr;
    if (!part) PyErr_Clear();
    return part;
}

PyTypeObject* field_type() {
    PyObject* type = once([] {
        const PyRef field = PyRef::steal(sample_part("hits"));
        return field ? Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(field.get()))) : nullptr;
    });
    return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

PyRef fields_of(PyTypeObject* type) {
    if (!PyType_IsSubtype(type, &PyTuple_Type) || !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return {};
    PyRef fields = PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "_fields"));
    if (!fields) return PyErr_Clear(), PyRef();
    if (!PyTuple_CheckExact(fields.get())) return {};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields.get()); ++i) {
        PyObject* field = _PyType_Lookup(type, PyTuple_GET_ITEM(fields.get(), i));
        if (!field || !Py_IS_TYPE(field, field_type())) return {};
        // (type, (index, doc))
        const PyRef parts = PyRef::steal(PyObject_CallMethod(field, "__reduce__", nullptr));
        if (!parts) return PyErr_Clear(), PyRef();
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(PyTuple_GET_ITEM(parts.get(), 1), 0)) != i) return {};
    }
    return fields;
}

// Its code differs from class to class, its globals have what no module has.
bool makes_from_fields(PyObject* function) {
    static PyObject* const name = PyUnicode_InternFromString("_tuple_new");
    return guards::is_function(function) && PyDict_Contains(PyFunction_GET_GLOBALS(function), name) == 1;
}

bool replaces_fields(PyObject* function) {
    PyObject* known = once([] { return sample_part("_replace"); });
    return known && guards::is_function(function) && guards::is_function(known) &&
           PyFunction_GET_CODE(function) == PyFunction_GET_CODE(known);
}

}  // namespace stator::frontend
