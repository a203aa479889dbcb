// Who answers what a compiled function's state can be asked (`stats`, `graph`, `traces`, …): one object for
// all functions that share the state, and the state's owner. What it says is in the functions' `__dict__`s,
// as methods that are bound to it and as sequences that show what there is when they are looked at
// (function_object.h).
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <vector>

#include "bindings/served_call.h"

namespace stator::bindings {

struct Inspector {
    PyObject_HEAD Served served;  // without a state: it was unpickled, and nothing was adopted with it
};

inline Inspector* as_inspector(PyObject* o) { return reinterpret_cast<Inspector*>(o); }
bool is_inspector(PyObject* o);

bool add_inspectors();  // false with a Python error set
// Takes over the state, also where it fails. New reference, or nullptr with an error set.
Inspector* new_inspector(SharedState* shared, const frontend::FunctionOptions& options);
// What functions of its state have in common in their `__dict__`s: the names, and a tuple of what is found
// under them. New reference, or nullptr with an error set.
std::vector<const char*> names_of_entries();
PyObject* new_entries(PyObject* inspector);

// For stator/_pickle.py: one without a state, and a sequence, "traces" or "regions".
PyObject* detached_inspector();
PyObject* sequence_of(PyObject* inspector, const char* name);

}  // namespace stator::bindings
