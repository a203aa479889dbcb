// The evaluator's own error messages, for instructions that the stepper executes. Texts, and which exceptions
// get a `name` attribute (it drives "Did you mean"), are CPython's and are compared with it in
// tests/python/frames/test_stepper.py.
#include "frontend/cpython/ops.h"

namespace stator::frontend::ops {

const char kNameErrorFormat[] = "name '%.200s' is not defined";

namespace {

constexpr const char* kUnboundLocal =
    "cannot access local variable '%s' where it is not associated with a value";
constexpr const char* kUnboundFree =
    "cannot access free variable '%s' where it is not associated with a value in enclosing scope";

// Takes the exception out to look at it, without its traceback being touched.
struct Taken {
#if PY_VERSION_HEX < 0x030C0000
    PyObject *type, *value, *tb;
    Taken() { PyErr_Fetch(&type, &value, &tb); }
    void normalize() { PyErr_NormalizeException(&type, &value, &tb); }
    void put_back() { PyErr_Restore(type, value, tb); }
    void drop() {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(tb);
    }
#else
    PyObject* value;
    Taken() : value(PyErr_GetRaisedException()) {}
    void normalize() {}
    void put_back() { PyErr_SetRaisedException(value); }
    void drop() { Py_XDECREF(value); }
#endif
};

}  // namespace

void raise_name_error(PyObject* exception, const char* format, PyObject* name) {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) return;  // with the error that CPython has there, too
    PyErr_Format(exception, format, text);
    if (exception != PyExc_NameError) return;
    Taken e;
    e.normalize();
    if (PyErr_GivenExceptionMatches(e.value, PyExc_NameError)) {
        auto* error = reinterpret_cast<PyNameErrorObject*>(e.value);
        if (!error->name && PyObject_SetAttrString(e.value, "name", name) < 0) PyErr_Clear();
    }
    e.put_back();
}

void raise_unbound(const Op& o, int slot) {
    PyCodeObject* co = o.code.code;
    PyObject* name = PyTuple_GET_ITEM(co->co_localsplusnames, slot);
    if (slot < co->co_nlocalsplus - co->co_nfreevars) {
        raise_name_error(PyExc_UnboundLocalError, kUnboundLocal, name);
    } else {
        raise_name_error(PyExc_NameError, kUnboundFree, name);
    }
}

void raise_not_iterable_arguments(PyObject* callable, PyObject* args) {
#if PY_VERSION_HEX >= 0x030F0000
    _Py_Check_ArgsIterable(PyThreadState_Get(), callable, args);
#else
    PyErr_Clear();
    PyRef text = PyRef::steal(_PyObject_FunctionStr(callable));
    if (!text) return;
    PyErr_Format(PyExc_TypeError, "%U argument after * must be an iterable, not %.200s", text.get(),
                 Py_TYPE(args)->tp_name);
#endif
}

#if PY_VERSION_HEX >= 0x030F0000

int merge_keywords(PyObject* callable, PyObject* dict, PyObject* kwargs) {
    PyObject* duplicate = nullptr;
    const int err = _PyDict_MergeUniq(dict, kwargs, &duplicate);
    if (err < 0) _PyEval_FormatKwargsError(PyThreadState_Get(), callable, kwargs, duplicate);
    Py_XDECREF(duplicate);
    return err;
}

#else

namespace {

// Merging ** arguments raises AttributeError for what is not a mapping, and KeyError for a duplicate.
void raise_kwargs_error(PyObject* callable, PyObject* kwargs) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        PyRef text = PyRef::steal(_PyObject_FunctionStr(callable));
        if (!text) return;
        PyErr_Format(PyExc_TypeError, "%U argument after ** must be a mapping, not %.200s", text.get(),
                     Py_TYPE(kwargs)->tp_name);
        return;
    }
    if (!PyErr_ExceptionMatches(PyExc_KeyError)) return;
    Taken e;
#if PY_VERSION_HEX < 0x030C0000
    PyObject* args = e.value;
#else
    PyObject* args = reinterpret_cast<PyBaseExceptionObject*>(e.value)->args;
#endif
    if (!args || !PyTuple_Check(args) || PyTuple_GET_SIZE(args) != 1) {
        e.put_back();
        return;
    }
    PyRef text = PyRef::steal(_PyObject_FunctionStr(callable));
    if (text) {
        PyErr_Format(PyExc_TypeError, "%U got multiple values for keyword argument '%S'", text.get(),
                     PyTuple_GET_ITEM(args, 0));
    }
    e.drop();
}

}  // namespace

int merge_keywords(PyObject* callable, PyObject* dict, PyObject* kwargs) {
    const int err = _PyDict_MergeEx(dict, kwargs, 2);
    if (err < 0) raise_kwargs_error(callable, kwargs);
    return err;
}

#endif

}  // namespace stator::frontend::ops
