#include "frontend/cpython/raw.h"
// raw.h must come first.
#include "frontend/cpython/functions.h"

namespace stator::frontend {

PyObject* new_function(PyObject* code, PyObject* globals) {
    PyObject* function = PyFunction_New(code, globals);
    if (function)
        raw::set_function_version(reinterpret_cast<PyFunctionObject*>(function),
                                  reinterpret_cast<PyCodeObject*>(code));
    return function;
}

void set_function_part(PyObject* function, int part, PyObject* steal) {
    auto* f = reinterpret_cast<PyFunctionObject*>(function);
    switch (part) {
        case kPartDefaults: f->func_defaults = steal; break;
        case kPartKwDefaults: f->func_kwdefaults = steal; break;
        case kPartAnnotations: f->func_annotations = steal; break;
        case kPartClosure: f->func_closure = steal; break;
#if PY_VERSION_HEX >= 0x030E0000
        case kPartAnnotate: f->func_annotate = steal; break;
#endif
        default: Py_XDECREF(steal);
    }
}

}  // namespace stator::frontend
