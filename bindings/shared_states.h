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

#include "frontend/replay/function.h"

namespace stator::bindings {

struct SharedState {
    std::unique_ptr<frontend::FunctionState> state;
    int owners = 0;
    int running = 0;            // calls in progress, on all threads and of all owners
    bool reset_wanted = false;  // dropping traces waits until none of them runs
};

// For one more owner; nullptr with a Python error set.
SharedState* acquire_state(PyObject* function, const frontend::FunctionOptions& options);
void release_state(SharedState* shared);
// Drops what is kept without an owner.
void forget_kept_states();

}  // namespace stator::bindings
