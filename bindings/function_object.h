// What stator.compile makes of a Python function: another function object.
//
// It is a copy of the function, of type `function` itself, so that whoever asks sees a function: `inspect`,
// descriptors, `isinstance`, the evaluator. What differs is its vectorcall, which is stator's while its calls
// are served, and CPython's own while they are given back (giving_back.h). The evaluator looks at that before
// it runs a function's frame itself; that of 3.11 looks at the type, which is a subtype there while calls are
// served (guards/check/functions.h).
//
// Who owns what: the function's `__dict__` owns its *handle*, through the methods there that are bound to it
// (`explain`, `cuda`), and an *inspector*, to which what is asked of a state is bound (`stats`, `traces`, …):
// one for all functions that share the state, whose owner it is. So the collector sees function -> dict ->
// handle -> inspector -> state -> what was recorded. The handle's pointer to the function, and the function's
// to the handle (in memory behind the function object, where a call finds it in a nanosecond), are no
// references. Who goes first says so to the other:
//  - the handle, when it is taken out of the `__dict__`: the function is a plain one from then on;
//  - the function: a weak reference that stator owns has a *tie* as its callback. The collector calls that
//    one as well, before it takes a function apart that nobody can reach.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bindings/served_call.h"

namespace stator::bindings {

bool add_function_objects();  // false with a Python error set

// Takes over the state, also where it fails. New reference, or nullptr with an error set.
PyObject* make_function_object(PyObject* function, SharedState* shared,
                               const frontend::FunctionOptions& options);
// The same of a function that exists and that somebody may hold already, while its __dict__ is being filled
// (stator/_pickle.py): its handle, for that __dict__. `inspector` came with it, or with one that shared its
// state.
PyObject* adopt(PyObject* function, PyObject* inspector, const frontend::FunctionOptions& options);
// Of such a function or of an inspector; nullptr when it is neither. Wrappers of one (functools.wraps) are
// not.
Served* served_of(PyObject* object);

// For all functions of the state: stator's vectorcall or CPython's, as it is given back or not.
void choose_vectorcalls(SharedState* shared);
void choose_all_vectorcalls();
// The states of all such functions.
std::vector<SharedState*> states_of_function_objects();
// Whether calls of the function come here.
bool is_served(PyObject* function);

}  // namespace stator::bindings
