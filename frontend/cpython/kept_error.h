// The Python error that is set, kept while something else runs.
#pragma once

#include <Python.h>

namespace stator::frontend {

// While alive, no error is set by what was there; it is set again at the end.
class KeptError {
  public:
    KeptError() { PyErr_Fetch(&type_, &value_, &traceback_); }
    ~KeptError() { PyErr_Restore(type_, value_, traceback_); }
    KeptError(const KeptError&) = delete;

    // The object of the outermost frame that the error has passed through (borrowed), if it runs `code`.
    PyFrameObject* outermost_frame(const PyObject* code) const;

  private:
    PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

}  // namespace stator::frontend
