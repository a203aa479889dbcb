// A call of a compiled function, whatever object it goes through: to its state, with the checks that
// fullgraph=True and the stance "fail_on_recompile" ask for.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

#include "bindings/shared_states.h"
#include "frontend/function.h"

namespace stator::bindings {

// What a compiled function has beside the function itself.
struct Served {
    SharedState* shared = nullptr;
    frontend::FunctionOptions options;
    int64_t breaks_seen = 0;  // fullgraph: remarks that have been raised about
};

// Whether calls go through `call_checked`.
inline bool is_checked(const Served& s) {
    return s.options.fullgraph || frontend::stance() == frontend::Stance::FailOnRecompile;
}

// What waited until no call of the state is in progress any more, or need not wait for that.
PyObject* settle(SharedState* shared, PyObject* result);

inline PyObject* call_served(SharedState* shared, PyObject* function, PyObject* const* args, size_t nargsf,
                             PyObject* kwnames) {
    ++shared->running;
    PyObject* result = shared->state->call(function, args, nargsf, kwnames);
    --shared->running;
    const bool waits = shared->reset_wanted || shared->owners == 0 || shared->state->wants_attention();
    return waits ? settle(shared, result) : result;
}
// The call stops before what must not happen. What shows only afterwards (a function that was given up, an
// operation that turned out not to be modelled) is raised at the end. `served` lives as long as the call.
PyObject* call_checked(Served& served, PyObject* function, PyObject* const* args, size_t nargsf,
                       PyObject* kwnames);

// Adds GraphBreakError and RecompileError to the module. False with a Python error set.
bool add_call_errors(PyObject* module);

}  // namespace stator::bindings
