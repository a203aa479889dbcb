// Argument binding as CPython's own (initialize_locals in ceval.c): positional, keywords, *args, **kwargs,
// defaults, keyword-only defaults, in that order. Anything wrong ends in `false`: the function is then called
// as it is, and the TypeError is CPython's.
#include "frontend/drive/bind.h"

#include <algorithm>
#include <cstring>

namespace stator::frontend {
namespace {

// Index in [begin, end) of the parameter called `name`, -1 when there is none. Call sites pass interned
// names, so identity nearly always decides.
int find_parameter(PyObject* names, int begin, int end, PyObject* name) {
    for (int i = begin; i < end; ++i)
        if (PyTuple_GET_ITEM(names, i) == name) return i;
    for (int i = begin; i < end; ++i)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0) return i;
    return -1;
}

}  // namespace

ArgBinder::ArgBinder(PyObject* func) {
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(func));
    argcount_ = code->co_argcount;
    posonly_ = code->co_posonlyargcount;
    kwonly_ = code->co_kwonlyargcount;
    varargs_ = code->co_flags & CO_VARARGS;
    varkw_ = code->co_flags & CO_VARKEYWORDS;
    slot_count_ = argcount_ + kwonly_ + varargs_ + varkw_;
    simple_ = slot_count_ == argcount_;
    PyObject* names = PyCode_GetVarnames(code);  // parameters come first
    if (!names) PyErr_Clear();
    names_ = PyRef::steal(names);
}

bool ArgBinder::bind(PyObject* func, PyObject* const* args, size_t nargsf, PyObject* kwnames,
                     PyObject** slots, std::vector<PyRef>& owned) const {
    const Py_ssize_t given = PyVectorcall_NARGS(nargsf);
    if (simple_ && !kwnames && given == argcount_) {
        std::copy_n(args, given, slots);
        return true;
    }
    if (!names_) return false;
    std::fill_n(slots, slot_count_, nullptr);
    const Py_ssize_t positional = std::min<Py_ssize_t>(given, argcount_);
    std::copy_n(args, positional, slots);

    int at = argcount_ + kwonly_;
    if (given > positional && !varargs_) return false;
    if (varargs_) {
        PyObject* rest = PyTuple_New(given - positional);
        if (!rest) return PyErr_Clear(), false;
        for (Py_ssize_t i = positional; i < given; ++i)
            PyTuple_SET_ITEM(rest, i - positional, Py_NewRef(args[i]));
        owned.push_back(PyRef::steal(rest));
        slots[at++] = rest;
    }
    if (varkw_) {
        PyObject* extra = PyDict_New();
        if (!extra) return PyErr_Clear(), false;
        owned.push_back(PyRef::steal(extra));
        slots[at] = extra;
    }
    const bool keywords_fit =
        !kwnames || bind_keywords(args + given, kwnames, slots, varkw_ ? slots[at] : nullptr);
    return keywords_fit && fill_defaults(func, slots, owned);
}

bool ArgBinder::bind_keywords(PyObject* const* values, PyObject* kwnames, PyObject** slots,
                              PyObject* extra) const {
    const Py_ssize_t count = PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t k = 0; k < count; ++k) {
        PyObject* name = PyTuple_GET_ITEM(kwnames, k);
        if (!PyUnicode_CheckExact(name)) return false;  // comparing it might run Python code
        const int i = find_parameter(names_.get(), posonly_, argcount_ + kwonly_, name);
        if (i >= 0) {
            if (slots[i]) return false;  // given twice
            slots[i] = values[k];
        } else if (!extra || PyDict_Contains(extra, name) || PyDict_SetItem(extra, name, values[k]) < 0) {
            PyErr_Clear();
            return false;
        }
    }
    return true;
}

// A default is held for the time of the call: the program may give the function others meanwhile.
bool ArgBinder::fill_defaults(PyObject* func, PyObject** slots, std::vector<PyRef>& owned) const {
    PyObject* defaults = PyFunction_GET_DEFAULTS(func);
    const int optional = defaults ? static_cast<int>(PyTuple_GET_SIZE(defaults)) : 0;
    bool held = false;
    for (int i = 0; i < argcount_; ++i) {
        if (slots[i]) continue;
        const int d = i - (argcount_ - optional);
        if (d < 0) return false;
        slots[i] = PyTuple_GET_ITEM(defaults, d);
        held = true;
    }
    if (held) owned.push_back(PyRef::borrow(defaults));
    PyObject* keyword_defaults = PyFunction_GET_KW_DEFAULTS(func);
    for (int i = argcount_; i < argcount_ + kwonly_; ++i) {
        if (slots[i]) continue;
        if (!keyword_defaults) return false;
        slots[i] = PyDict_GetItemWithError(keyword_defaults, PyTuple_GET_ITEM(names_.get(), i));
        if (!slots[i]) return PyErr_Clear(), false;
        owned.push_back(PyRef::borrow(slots[i]));
    }
    return true;
}

}  // namespace stator::frontend
