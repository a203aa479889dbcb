// The one RAII owner of a Python reference in this code base. The GIL must be held wherever one is copied or
// dropped.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

namespace stator::frontend {

class PyRef {
  public:
    PyRef() = default;
    static PyRef steal(PyObject* o) { return PyRef(o); }
    static PyRef borrow(PyObject* o) {
        Py_XINCREF(o);
        return PyRef(o);
    }
    PyRef(const PyRef& other) : o_(other.o_) { Py_XINCREF(o_); }
    PyRef(PyRef&& other) noexcept : o_(std::exchange(other.o_, nullptr)) {}
    PyRef& operator=(PyRef other) noexcept {
        std::swap(o_, other.o_);
        return *this;
    }
    ~PyRef() { Py_XDECREF(o_); }
    PyObject* get() const { return o_; }
    PyObject* release() { return std::exchange(o_, nullptr); }
    explicit operator bool() const { return o_ != nullptr; }

  private:
    explicit PyRef(PyObject* o) : o_(o) {}
    PyObject* o_ = nullptr;
};

// The module, nothing with an error set where there is none. Of those that are there already the program's
// own `builtins.__import__` hears nothing.
inline PyRef module_named(const char* name) {
    const PyRef text = PyRef::steal(PyUnicode_FromString(name));
    PyRef found = PyRef::steal(text ? PyImport_GetModule(text.get()) : nullptr);
    return found || PyErr_Occurred() ? found : PyRef::steal(PyImport_ImportModule(name));
}

}  // namespace stator::frontend
