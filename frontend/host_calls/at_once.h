// Functions of NumPy that are answered at once, without a trace: too simple for one, or done by a loop of
// NumPy's that traces would call as well.
#pragma once

#include <Python.h>

namespace stator::frontend {

// The result of a call with positional arguments; NULL without an error where it is another's.
using AtOnce = PyObject* (*)(PyObject* const* args, Py_ssize_t count);

AtOnce linalg_at_once(PyObject* function);   // nullptr for other functions (linalg.cpp)
AtOnce numbers_at_once(PyObject* function);  // numbers.cpp

}  // namespace stator::frontend
