// What the hook of STATOR=all knows of each code object that was called while it was on.
//
// It is asked in each call, most often of code that was refused: so it hangs on the code object itself
// (PyUnstable_Code_SetExtra), and goes with it.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <functional>
#include <memory>

#include "frontend/function.h"
#include "frontend/trace_builder/trace_builder.h"

namespace stator::bindings {

struct Candidate {
    const void* code = nullptr;
    std::unique_ptr<frontend::FunctionState> state;  // keeps the code object alive (departures.h)
    int64_t calls = 0;
    bool running = false;
    int age = 0;  // the youngest generation of the collector that the state is looked at in (departures.h)
    bool refused = false;
    frontend::Reason why = frontend::Reason::FewCalls;  // it has no state
};

// All of these under the GIL.
// The one of `code`, made at the first call. Good as long as the code object lives.
Candidate& candidate_of(PyCodeObject* code);
// The one of a code object at this address that lives, or nullptr; nothing is read there.
const Candidate* known_candidate(const void* code);
void for_each_candidate(const std::function<void(Candidate&)>& visit);

}  // namespace stator::bindings
