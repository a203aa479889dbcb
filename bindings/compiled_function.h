// stator.CompiledFunction: what stator.compile puts in the place of a Python function.
//
// That is a function object (function_object.h), and this file has what is asked of it by the rest of
// bindings/. What stator.disable returns, and `__init__` from 3.13 on, is a wrapper: an object of a type of
// its own. Its call goes through vectorcall straight to frontend::FunctionState. Everything
// else makes the object look like the function it stands for: attributes are the function's own, it binds as
// a method does, pickles by reference, and __wrapped__ is the function itself, which is never changed.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "frontend/function.h"

namespace stator::bindings {

// Readies the type and the exceptions and adds them to the module. False with a Python error set.
bool add_compiled_function(PyObject* module);

// The compiled function of a plain Python function; new reference, or nullptr with an error set.
PyObject* make_compiled(PyObject* function, const frontend::FunctionOptions& options);
// A wrapper that compiles nothing: `callable` runs, with all it calls, under the stance "eager".
PyObject* make_disabled(PyObject* callable);

// Whether it is what one of these returned.
bool is_compiled(PyObject* object);
// The state behind a compiled function; nullptr with a TypeError set when it is something else or a disabled
// one.
frontend::FunctionState* state_of(PyObject* object);
const frontend::FunctionOptions* options_of(PyObject* object);  // the same

void apply_stance(frontend::Stance stance);  // to calls of all compiled functions from now on
void reset_all();                            // drops all traces and counters

// One remark as a line: "demo.py:4 in step: call of print is not modelled: ... (hint)".
std::string remark_text(const frontend::Remark& remark);
std::string remark_message(const frontend::Remark& remark);
const char* remark_reason(const frontend::Remark& remark);
const char* remark_hint(const frontend::Remark& remark);
frontend::Reason reason_called(const std::string& id);  // None when there is no such
// Whether the remark means that something stayed in Python, as fullgraph=True counts it.
bool is_break(const frontend::Remark& remark);
// It says why a loop, or a part of one, is not native code: the loop is served all the same.
bool is_about_region(const frontend::Remark& r);

}  // namespace stator::bindings
