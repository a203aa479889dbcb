// See benign.h. A warning becomes an exception through a filter whose action is "error", or when whatever
// shows it raises: a list that collects warnings does not, nor does the warnings module's own function; of
// any other the worst is assumed. What was looked at is remembered by identity: filters are tuples.
#include "frontend/hosts/numpy/benign.h"

#include <vector>

#include "frontend/hosts/numpy/runtime.h"
#include "guards/check/functions.h"
#include "guards/check/impl.h"

namespace stator::frontend::numpy {

namespace {

struct Warnings {
    PyObject* names = nullptr;    // of the module; nullptr: nothing is known about warnings
    PyObject* source = nullptr;   // 3.14: of the module that defines what `names` shows; else nullptr
    uint64_t version = 0;         // of `names`, when nothing was found wrong with them
    PyObject* filters = nullptr;  // the list then found in them, borrowed
    std::vector<PyRef> harmless;  // its elements when they were looked at
};

// Filters of a context (3.14) are in no list.
bool filters_by_context() {
    PyObject* flags = PySys_GetObject("flags");
    PyRef flag = PyRef::steal(flags ? PyObject_GetAttrString(flags, "context_aware_warnings") : nullptr);
    PyErr_Clear();
    return flag && PyObject_IsTrue(flag.get()) != 0;
}

Warnings& warnings() {
    static Warnings* w = nullptr;
    if (w) return *w;
    auto* made = new Warnings;
    PyRef module = module_named("warnings");
    PyErr_Clear();
    if (module && PyModule_CheckExact(module.get()) && !filters_by_context())
        made->names = Py_NewRef(PyModule_GetDict(module.get()));
    PyObject* modules = PyImport_GetModuleDict();  // borrowed, as is what it holds
    if (PyObject* source = PyDict_GetItemString(modules, "_py_warnings");
        source && PyModule_CheckExact(source))
        made->source = Py_NewRef(PyModule_GetDict(source));
    return *(w = made);
}

bool is_error(PyObject* action) {
    return !action || !PyUnicode_CheckExact(action) || PyUnicode_CompareWithASCIIString(action, "error") == 0;
}

// A function of the module itself.
bool is_own(const Warnings& w, const char* name) {
    PyObject* found = PyDict_GetItemString(w.names, name);
    if (!found || !guards::is_function(found)) return false;
    PyObject* globals = PyFunction_GET_GLOBALS(found);
    return globals == w.names || (w.source && globals == w.source);
}

// What catch_warnings(record=True) puts there: a list's append.
bool collects(const Warnings& w, const char* name) {
    PyObject* found = PyDict_GetItemString(w.names, name);
    PyObject* self = found && PyCFunction_CheckExact(found) ? PyCFunction_GET_SELF(found) : nullptr;
    return self && PyList_CheckExact(self);
}

// The names through which warnings are shown, and the list of filters.
bool names_are_harmless(Warnings& w) {
    const uint64_t version = guards::dict_version(w.names);
    if (version && version == w.version) return true;
    w.version = 0;
    if (!is_own(w, "showwarning") || !is_own(w, "_showwarnmsg") ||
        !(is_own(w, "_showwarnmsg_impl") || collects(w, "_showwarnmsg_impl")) ||
        is_error(PyDict_GetItemString(w.names, "defaultaction")))
        return false;
    w.filters = PyDict_GetItemString(w.names, "filters");
    if (!w.filters || !PyList_CheckExact(w.filters)) return false;
    w.version = version;
    return true;
}

bool filters_are_harmless(Warnings& w) {
    const auto count = static_cast<size_t>(PyList_GET_SIZE(w.filters));
    size_t same = 0;
    while (same < count && same < w.harmless.size() &&
           PyList_GET_ITEM(w.filters, same) == w.harmless[same].get())
        ++same;
    if (same == count && same == w.harmless.size()) return true;
    std::vector<PyRef> looked_at;
    for (size_t i = 0; i < count; ++i) {
        PyObject* filter = PyList_GET_ITEM(w.filters, i);
        if (!PyTuple_CheckExact(filter) || PyTuple_GET_SIZE(filter) < 1 ||
            is_error(PyTuple_GET_ITEM(filter, 0)))
            return false;
        looked_at.push_back(PyRef::borrow(filter));
    }
    w.harmless.swap(looked_at);
    return true;
}

}  // namespace

bool faults_only_report(uint32_t faults) {
    if (faults_that_raise(faults)) return false;
    Warnings& w = warnings();
    return w.names && names_are_harmless(w) && filters_are_harmless(w);
}

}  // namespace stator::frontend::numpy
