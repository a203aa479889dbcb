// Python functions as MAKE_FUNCTION and SET_FUNCTION_ATTRIBUTE make them.
#pragma once

#include "frontend/pyref.h"

namespace stator::frontend {

// The flags of MAKE_FUNCTION's operand, which became SET_FUNCTION_ATTRIBUTE's in 3.13.
enum FunctionPart : int {
    kPartDefaults = 1,
    kPartKwDefaults = 2,
    kPartAnnotations = 4,
    kPartClosure = 8,
    kPartAnnotate = 16,  // 3.14
};

PyObject* new_function(PyObject* code, PyObject* globals);  // new reference, or NULL with an error set
// Only for functions that nobody else has seen: the fields are written directly, without the events of
// function watchers.
void set_function_part(PyObject* function, int part, PyObject* steal);

}  // namespace stator::frontend
