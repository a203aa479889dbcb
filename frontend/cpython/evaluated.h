// Calls that have to come from CPython's evaluator.
//
// NumPy computes a result into an operand that is a temporary if the innermost caller on the machine's stack
// that is not CPython's own library is the evaluator (temp_elide.c). A builtin that adds up what it is given,
// or goes through a map of operators, is one that the evaluator has called; called by the stepper it would
// give arrays with other strides.
#pragma once

#include <cstddef>

#include "frontend/pyref.h"

namespace stator::frontend {

// Whether the callable, given these, may apply operators to what nothing else refers to.
bool applies_operators(PyObject* callable, PyObject* const* args, size_t positional);

// As PyObject_Vectorcall and PyObject_Call. The evaluator makes the call in a frame that tracebacks, warnings
// and sys._getframe pass over.
PyObject* vectorcall_from_evaluator(PyObject* callable, PyObject* const* args, size_t positional,
                                    PyObject* names);
PyObject* call_from_evaluator(PyObject* callable, PyObject* args, PyObject* kwargs);

// What they need, made when stator is imported: it runs code that the program's audit hooks would be told of.
void make_caller();

}  // namespace stator::frontend
