#include "guards/check/own_code.h"

namespace stator::guards {

constinit OwnCode* OwnCode::first = nullptr;

PyObject* OwnCode::run(PyObject* globals) {
    if (!code_) code_ = Py_CompileString(source_, "<stator>", start_);
    // Extension modules that import while the code runs look for the function that imports there.
    PyObject* builtins = PyDict_GetItemString(globals, "__builtins__");
    if (!builtins && PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) < 0) return nullptr;
    return code_ ? PyEval_EvalCode(code_, globals, globals) : nullptr;
}

void OwnCode::compile_all() {
    for (OwnCode* own = first; own; own = own->next_) {
        if (!own->code_) own->code_ = Py_CompileString(own->source_, "<stator>", own->start_);
        PyErr_Clear();
    }
}

}  // namespace stator::guards
