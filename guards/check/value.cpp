// Comparing constants, functions and scalars exactly, and showing objects in messages. No Python code of the
// user runs: only exact built-in types are compared by value or shown by repr.
#include <algorithm>
#include <cstring>

#include "guards/check/functions.h"
#include "guards/check/impl.h"
#include "guards/check/names.h"

namespace stator::guards {

bool int_value(PyObject* obj, int64_t* out) {
    if (!PyLong_CheckExact(obj)) return false;
    int overflow = 0;
    *out = PyLong_AsLongLongAndOverflow(obj, &overflow);
    return overflow == 0;
}

bool same_value(PyObject* a, PyObject* b) {
    if (a == b) return true;
    PyTypeObject* type = Py_TYPE(a);
    if (type != Py_TYPE(b)) return false;
    if (type == &PyLong_Type || type == &PyUnicode_Type || type == &PyBytes_Type) {
        const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
        if (equal < 0) PyErr_Clear();
        return equal == 1;
    }
    if (type == &PyFloat_Type) {  // bits: 0.0 and -0.0 select different code, one NaN is as good as itself
        const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
        return std::memcmp(&x, &y, sizeof x) == 0;
    }
    if (type == &PyComplex_Type) {
        const Py_complex x = PyComplex_AsCComplex(a), y = PyComplex_AsCComplex(b);
        return std::memcmp(&x, &y, sizeof x) == 0;
    }
    if (type == &PyTuple_Type) {
        const Py_ssize_t n = PyTuple_GET_SIZE(a);
        if (n != PyTuple_GET_SIZE(b)) return false;
        for (Py_ssize_t i = 0; i < n; ++i)
            if (!same_value(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
        return true;
    }
    if (type == &PySlice_Type) {
        const auto *x = reinterpret_cast<PySliceObject*>(a), *y = reinterpret_cast<PySliceObject*>(b);
        return same_value(x->start, y->start) && same_value(x->stop, y->stop) && same_value(x->step, y->step);
    }
    return false;
}

namespace {

// Tuples with the very same items; either may be missing.
bool same_items(PyObject* a, PyObject* b) {
    if (a == b) return true;
    if (!a || !b || !PyTuple_CheckExact(a) || !PyTuple_CheckExact(b)) return false;
    const Py_ssize_t n = PyTuple_GET_SIZE(a);
    if (n != PyTuple_GET_SIZE(b)) return false;
    for (Py_ssize_t i = 0; i < n; ++i)
        if (PyTuple_GET_ITEM(a, i) != PyTuple_GET_ITEM(b, i)) return false;
    return true;
}

}  // namespace

bool same_function(const Guard& g, PyObject* function) {
    if (function != g.obj) {
        if (!is_function(function) || !is_function(g.obj)) return false;
        if (PyFunction_GET_GLOBALS(function) != PyFunction_GET_GLOBALS(g.obj)) return false;
    }
    // The recorded function itself may have been given other code since, so the code is compared in both
    // cases.
    if (PyFunction_GET_CODE(function) != g.code) return false;
    if (!same_items(PyFunction_GET_DEFAULTS(function), g.name)) return false;
    if (g.flag && !same_items(PyFunction_GET_CLOSURE(function), g.found)) return false;
    PyObject* defaults = PyFunction_GET_KW_DEFAULTS(function);
    if (!g.keywords || !defaults) return !g.keywords && (!defaults || PyDict_GET_SIZE(defaults) == 0);
    const Py_ssize_t n = PyTuple_GET_SIZE(g.keywords);
    if (PyDict_GET_SIZE(defaults) * 2 != n) return false;
    for (Py_ssize_t i = 0; i < n; i += 2)
        if (read_item(defaults, PyTuple_GET_ITEM(g.keywords, i)) != PyTuple_GET_ITEM(g.keywords, i + 1))
            return false;
    return true;
}

const char* scalar_bits(PyObject* np_scalar) {
    // Every numeric scalar type of NumPy is an object header and the value, which needs no padding up to 16
    // bytes of alignment.
    return reinterpret_cast<const char*>(np_scalar) + sizeof(PyObject);
}

namespace {

// An object by its type, and by its name where it has one that can be read without running code.
std::string show_other(PyObject* obj) {
    std::string type = Py_TYPE(obj)->tp_name;
    if (is_ufunc(obj)) return "ufunc " + ufunc_name(obj);
    PyObject* key = PyUnicode_InternFromString("__name__");
    PyObject* name = key ? read_attr(obj, key) : nullptr;
    if (PyErr_Occurred()) PyErr_Clear();
    std::string s =
        name && PyUnicode_CheckExact(name) ? "function " + utf8(name) : "an object of type " + type;
    Py_XDECREF(name);
    Py_XDECREF(key);
    return s;
}

constexpr int kShownDepth = 2;  // of tuples in tuples

std::string show(PyObject* obj, int depth) {
    if (!obj) return "nothing";
    static PyTypeObject* const plain[] = {&PyLong_Type,    &PyFloat_Type,   &PyBool_Type,
                                          &PyComplex_Type, &PyUnicode_Type, &PyBytes_Type};
    PyTypeObject* type = Py_TYPE(obj);
    if (obj == Py_None) return "None";
    if (obj == Py_Ellipsis) return "...";
    if (std::find(std::begin(plain), std::end(plain), type) != std::end(plain)) {
        // PyObject_Repr serves signals first, and int's own for every digit: what a handler raised would be
        // lost.
        if (type == &PyLong_Type) {
            int overflow = 0;
            const long long value = PyLong_AsLongLongAndOverflow(obj, &overflow);
            return overflow ? "an int of more than 64 bits" : std::to_string(value);
        }
        PyObject* repr = type->tp_repr(obj);
        if (!repr) PyErr_Clear();
        std::string s = repr ? utf8(repr) : std::string("an ") + type->tp_name;
        Py_XDECREF(repr);
        return s.size() <= 80 ? s : s.substr(0, 77) + "...";
    }
    if (depth >= kShownDepth && (type == &PyTuple_Type || type == &PySlice_Type)) return "...";
    if (type == &PyTuple_Type) {
        std::string s = "(";
        const Py_ssize_t n = PyTuple_GET_SIZE(obj);
        for (Py_ssize_t i = 0; i < n && i < 8; ++i)
            s += (i ? ", " : "") + show(PyTuple_GET_ITEM(obj, i), depth + 1);
        return s + (n > 8 ? ", ...)" : n == 1 ? ",)" : ")");
    }
    if (type == &PySlice_Type) {
        const auto* s = reinterpret_cast<PySliceObject*>(obj);
        return "slice(" + show(s->start, depth + 1) + ", " + show(s->stop, depth + 1) + ", " +
               show(s->step, depth + 1) + ")";
    }
    if (is_exact_array(obj)) return show_array(obj);
    if (PyModule_CheckExact(obj)) {
        const char* name = PyModule_GetName(obj);
        if (!name) PyErr_Clear();
        return std::string("module ") + (name ? name : "?");
    }
    if (PyType_Check(obj)) return reinterpret_cast<PyTypeObject*>(obj)->tp_name;
    if (is_function(obj)) {
        return "function " + utf8(reinterpret_cast<PyFunctionObject*>(obj)->func_qualname);
    }
    if (PyCFunction_Check(obj))
        return std::string("builtin ") + reinterpret_cast<PyCFunctionObject*>(obj)->m_ml->ml_name;
    return show_other(obj);
}

}  // namespace

std::string show(PyObject* obj) { return show(obj, 0); }

}  // namespace stator::guards
