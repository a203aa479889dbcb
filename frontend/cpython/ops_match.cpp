// Handlers of structural pattern matching. From 3.13 on CPython exports the two that are more than a flag
// test.
#include "frontend/cpython/ops.h"

namespace stator::frontend::ops {

namespace {

enum { kMapping, kSequence, kKeys, kClass };

#if PY_VERSION_HEX < 0x030D0000

// The values of `keys` in a mapping as a tuple, None when one is missing, NULL with an error set. Asks get()
// with a default of its own, so a defaultdict is not changed.
PyObject* match_keys(PyObject* map, PyObject* keys) {
    const Py_ssize_t n = PyTuple_GET_SIZE(keys);
    PyRef get = PyRef::steal(n ? PyObject_GetAttrString(map, "get") : Py_NewRef(Py_None));
    PyRef seen = PyRef::steal(PySet_New(nullptr));
    PyRef missing = PyRef::steal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
    PyRef values = PyRef::steal(PyTuple_New(n));
    if (!get || !seen || !missing || !values) return nullptr;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject* key = PyTuple_GET_ITEM(keys, i);
        int duplicate = PySet_Contains(seen.get(), key);
        if (duplicate > 0) PyErr_Format(PyExc_ValueError, "mapping pattern checks duplicate key (%R)", key);
        if (duplicate != 0 || PySet_Add(seen.get(), key) < 0) return nullptr;
        PyObject* args[] = {nullptr, key, missing.get()};
        PyObject* value =
            PyObject_Vectorcall(get.get(), args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
        if (!value) return nullptr;
        if (value == missing.get()) {
            Py_DECREF(value);
            return Py_NewRef(Py_None);
        }
        PyTuple_SET_ITEM(values.get(), i, value);
    }
    return values.release();
}

class ClassMatch {
  public:
    ClassMatch(PyObject* subject, PyTypeObject* type)
        : subject_(subject),
          type_(type),
          seen_(PyRef::steal(PySet_New(nullptr))),
          out_(PyRef::steal(PyList_New(0))) {}

    // NULL without an error: no match.
    PyObject* run(int positional, PyObject* keywords) {
        if (!seen_ || !out_) return nullptr;
        if (positional && !match_positional(positional)) return nullptr;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keywords); i++) {
            if (!match_attribute(PyTuple_GET_ITEM(keywords, i))) return nullptr;
        }
        return PyList_AsTuple(out_.get());
    }

  private:
    bool match_attribute(PyObject* name) {
        int duplicate = PySet_Contains(seen_.get(), name);
        if (duplicate > 0) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple sub-patterns for attribute %R", type_->tp_name,
                         name);
        }
        if (duplicate != 0 || PySet_Add(seen_.get(), name) < 0) return false;
        PyRef value = PyRef::steal(PyObject_GetAttr(subject_, name));
        if (!value && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
        return value && PyList_Append(out_.get(), value.get()) == 0;
    }

    bool match_positional(int n) {
        PyRef names =
            PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type_), "__match_args__"));
        bool self_only = false;
        if (!names) {
            if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
            PyErr_Clear();
            self_only = PyType_HasFeature(type_, _Py_TPFLAGS_MATCH_SELF);
        } else if (!PyTuple_CheckExact(names.get())) {
            PyErr_Format(PyExc_TypeError, "%s.__match_args__ must be a tuple (got %s)", type_->tp_name,
                         Py_TYPE(names.get())->tp_name);
            return false;
        }
        const Py_ssize_t allowed = self_only ? 1 : names ? PyTuple_GET_SIZE(names.get()) : 0;
        if (allowed < n) {
            PyErr_Format(PyExc_TypeError, "%s() accepts %zd positional sub-pattern%s (%d given)",
                         type_->tp_name, allowed, allowed == 1 ? "" : "s", n);
            return false;
        }
        if (self_only) return PyList_Append(out_.get(), subject_) == 0;
        for (int i = 0; i < n; i++) {
            PyObject* name = PyTuple_GET_ITEM(names.get(), i);
            if (!PyUnicode_CheckExact(name)) {
                PyErr_Format(PyExc_TypeError, "__match_args__ elements must be strings (got %s)",
                             Py_TYPE(name)->tp_name);
                return false;
            }
            if (!match_attribute(name)) return false;
        }
        return true;
    }

    PyObject* subject_;
    PyTypeObject* type_;
    PyRef seen_, out_;
};

PyObject* match_class(PyObject* subject, PyObject* type, int positional, PyObject* keywords) {
    if (!PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, raw::kMinor < 12 ? "called match pattern must be a type"
                                                          : "called match pattern must be a class");
        return nullptr;
    }
    if (PyObject_IsInstance(subject, type) <= 0) return nullptr;
    return ClassMatch(subject, reinterpret_cast<PyTypeObject*>(type)).run(positional, keywords);
}

#else

PyObject* match_keys(PyObject* map, PyObject* keys) {
    return _PyEval_MatchKeys(PyThreadState_Get(), map, keys);
}

PyObject* match_class(PyObject* subject, PyObject* type, int positional, PyObject* keywords) {
    return _PyEval_MatchClass(PyThreadState_Get(), subject, type, positional, keywords);
}

#endif

}  // namespace

Step op_MatchOp(const Op& o) {
    const int kind = o.in.arg & 3;
    if (kind == kClass) {  // [subject, type, keyword names]
        PyObject* attributes = match_class(top(o, 2), top(o, 1), o.in.arg >> 2, top(o));
        if (!attributes && !PyErr_Occurred()) attributes = Py_NewRef(Py_None);
        return replace<3>(o, attributes);
    }
    PyObject* result;
    if (kind == kKeys) {  // [subject, keys]
        result = match_keys(top(o, 1), top(o));
        if (!result) return Step::Raised;
    } else {
        const unsigned long flag = kind == kMapping ? Py_TPFLAGS_MAPPING : Py_TPFLAGS_SEQUENCE;
        result = Py_NewRef(PyType_HasFeature(Py_TYPE(top(o)), flag) ? Py_True : Py_False);
    }
    push(o, result);
    return next(o);
}

}  // namespace stator::frontend::ops
