// Calls of a library's pure functions by code that no frame stands for: a replayed trace, a compiled loop, a
// look at what a function gives.
//
// When such a call fails, Python goes on in front of it and makes it once more. So whatever is not the
// function's own must not end in it: signals wait (deferred.h), and so does an exception that another thread
// sent. A warning of the function needs the frame that calls, for its line and its count. (Functions in C
// that may warn are asked before the call: numpy/own_warnings.h; or their warnings are kept:
// kept_warnings.h.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "frontend/pyref.h"

namespace stator::frontend {

enum class OnWarning : uint8_t {
    Fail,    // the call fails, before anything is reported
    Ignore,  // as if there were none: nobody is going to see the result
};

// The result, or NULL with the function's own exception. `names` as for PyObject_Vectorcall, `nargs` without
// them. It may call the function twice.
PyRef call_pure(PyObject* callable, PyObject* const* args, size_t nargs, PyObject* names,
                OnWarning on_warning = OnWarning::Fail);

// Runs `body`, which calls nothing but pure functions, as `call_pure` runs one of them, once: NULL with an
// exception where it raises or is about to warn, and then `*warned` says which.
PyObject* run_pure(PyObject* (*body)(void* context), void* context, bool* warned);

// After a fork, in the child: calls of other threads never end there.
void other_threads_are_gone();

}  // namespace stator::frontend
