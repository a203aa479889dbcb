// Serving what the evaluator serves at its breaker: signals, pending calls, the garbage collector (3.12+
// collects nowhere else), another thread's wish for the GIL, asynchronous exceptions.
#pragma once

#include "frontend/pyref.h"

namespace stator::frontend {

// False with a Python error set (a signal handler raised, or an asynchronous exception came). No frame that
// runs because of it is offered to a FrameHandler.
bool serve_pending(PyThreadState* ts);

}  // namespace stator::frontend
