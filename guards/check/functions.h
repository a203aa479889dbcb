// What counts as a Python function.
//
// A function that stator compiles is a function object whose vectorcall is stator's while its calls are
// served (bindings/function_object.h). From 3.12 on the evaluator looks at a function's vectorcall before it
// runs the function's frame itself. That of 3.11 looks at the type alone: whatever is of type `function` it
// runs itself. So there a function has a subtype of `function` while it is served, with the same layout, name
// and methods, and `function` itself as soon as it is given back to CPython.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace stator::guards {

constexpr bool kServedHaveOwnType = PY_VERSION_HEX < 0x030C0000;

extern PyTypeObject served_function_type;  // only used where kServedHaveOwnType

inline bool is_function(PyObject* o) {
    return PyFunction_Check(o) || (kServedHaveOwnType && Py_IS_TYPE(o, &served_function_type));
}

bool add_served_function_type();  // readies it; false with a Python error set

}  // namespace stator::guards
