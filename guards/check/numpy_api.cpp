// The one place that imports NumPy's array and ufunc tables. NumPy 1.x is refused here: its promotion rules
// depend on values, so a trace recorded under it would mean something else.
#define STATOR_DEFINE_NUMPY_API
#include "guards/check/numpy_api.h"

#include "guards/check/check.h"

namespace stator::guards {
namespace {

// The pending exception's text; clears it.
std::string take_error() {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyObject* text = value ? PyObject_Str(value) : nullptr;
    const char* utf8 = text ? PyUnicode_AsUTF8(text) : nullptr;
    std::string s = utf8 ? utf8 : "unknown error";
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return s;
}

// "2.4.6" of the NumPy that would be imported, or "" when there is none.
std::string numpy_version() {
    PyObject* module = PyImport_ImportModule("numpy");
    PyObject* version = module ? PyObject_GetAttrString(module, "__version__") : nullptr;
    const char* utf8 = version ? PyUnicode_AsUTF8(version) : nullptr;
    std::string s = utf8 ? utf8 : "";
    if (!utf8) PyErr_Clear();
    Py_XDECREF(version);
    Py_XDECREF(module);
    return s;
}

}  // namespace

bool init(std::string* error) {
    if (PyArray_API && PyUFunc_API) return true;
    const std::string version = numpy_version();
    if (version.empty()) {
        *error =
            "stator needs NumPy 2.0 or later, and numpy cannot be imported: install it with 'pip install "
            "numpy'";
        return false;
    }
    if (std::atoi(version.c_str()) < 2) {
        *error =
            "stator needs NumPy 2.0 or later, found " + version + ": upgrade with 'pip install -U numpy'";
        return false;
    }
    if (_import_array() < 0 || _import_umath() < 0) {
        *error = "NumPy " + version + " does not offer the C API that stator was built for: " + take_error();
        return false;
    }
    return true;
}

}  // namespace stator::guards
