// Python code of stator's own. It is compiled when stator is imported: the program's audit hooks are told of
// whatever is compiled later, and of what PyRun_String executes.
#pragma once

#include <Python.h>

namespace stator::guards {

class OwnCode {
  public:
    // For global variables. `start` as for Py_CompileString.
    OwnCode(const char* source, int start) : source_(source), start_(start), next_(first) { first = this; }
    OwnCode(const OwnCode&) = delete;

    // A new reference, or NULL with an error set.
    PyObject* run(PyObject* globals);
    static void compile_all();

  private:
    static OwnCode* first;
    const char* source_;
    int start_;
    PyObject* code_ = nullptr;
    OwnCode* next_;
};

}  // namespace stator::guards
