// Which compiled functions share what was recorded.
//
// A function that is made anew each time its definition is reached (a decorated inner function, a lambda in a
// loop) is another object with the same code, globals and options. What was recorded of one serves all of
// them: their closures are inputs. A state belongs to those who use it; that of a function which is made
// inside of others is kept for a while after the last one has gone, once the code has shown that it is
// compiled again and again.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "frontend/function.h"

namespace stator::bindings {

struct Handle;  // function_object.h

struct SharedState {
    std::unique_ptr<frontend::FunctionState> state;
    int owners = 0;
    // Of functions that can be given back (function_object.h), no references: the functions, who answers for
    // the state and owns it, and what the `__dict__`s have in common, while there are any. The last of these
    // is kept with the state.
    Handle* functions = nullptr;
    PyObject *inspector = nullptr, *entries = nullptr;
    PyObject* kept_entries = nullptr;  // a reference
    bool kept = false;                 // without a function
    bool given_back = false;           // they are, until `look_at`, ns; see giving_back.h
    int64_t look_at = 0, pause = 0;
    int deep = 0;               // calls in progress whose recursion is CPython's (function_object.cpp)
    int running = 0;            // calls in progress, on all threads and of all owners
    bool reset_wanted = false;  // dropping traces waits until none of them runs
};

// For one more owner; nullptr with a Python error set.
SharedState* acquire_state(PyObject* function, const frontend::FunctionOptions& options);
// For one owner less. While a call is in progress the state stays until that has ended (`drop_unowned`).
void release_state(SharedState* shared);
void drop_unowned(SharedState* shared);
// Whether the state is kept, by this reference to its entries, which is taken over then: its last function
// goes.
bool keep_entries(SharedState* shared, PyObject* entries);
// Drops what is kept without an owner.
void forget_kept_states();

}  // namespace stator::bindings
