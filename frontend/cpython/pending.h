// Serving what the evaluator serves at its breaker: signals, pending calls, the garbage collector (3.12+
// collects nowhere else), another thread's wish for the GIL, asynchronous exceptions.
#pragma once

#include "frontend/pyref.h"

namespace stator::frontend {

// False with a Python error set (a signal handler raised, or an asynchronous exception came). No frame that
// runs because of it is offered to a FrameHandler.
bool serve_pending(PyThreadState* ts);

// Has the main thread look for the pending call that Py_AddPendingCall was given before. For threads that do
// not have the GIL: up to 3.12 the evaluator finds such a thread's call only when something else happens.
void show_pending_call(PyInterpreterState* interp);

// Whether another thread has sent an exception (PyThreadState_SetAsyncExc) that was not raised yet.
inline bool async_exception_waits(const PyThreadState* ts) { return ts->async_exc != nullptr; }

}  // namespace stator::frontend
