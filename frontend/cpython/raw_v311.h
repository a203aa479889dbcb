// CPython 3.11: plain slots, `prev_instr` (one unit before the next instruction), the current frame in
// `cframe`.
#pragma once

#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"

namespace stator::frontend::raw {

inline constexpr int kMinor = 11;
using IFrame = struct _PyInterpreterFrame;
using slot_t = PyObject*;

inline slot_t slot_null() { return nullptr; }
inline bool slot_empty(slot_t s) { return s == nullptr; }
inline bool slot_is_object(slot_t) { return true; }
inline PyObject* slot_object(slot_t s) { return s; }
inline slot_t slot_steal(PyObject* o) { return o; }
inline PyObject* slot_take(slot_t s) { return s; }
inline slot_t slot_copy(slot_t s) { return Py_XNewRef(s); }
inline void slot_close(slot_t s) { Py_XDECREF(s); }
inline slot_t slot_of_lasti(int unit) { return PyLong_FromLong(unit); }
inline int lasti_of_slot(slot_t s) { return static_cast<int>(PyLong_AsLong(s)); }

inline PyCodeObject* code(IFrame* f) { return f->f_code; }
inline PyObject* function(IFrame* f) { return reinterpret_cast<PyObject*>(f->f_func); }
inline PyObject* locals_dict(IFrame* f) { return f->f_locals; }

inline slot_t* sp(IFrame* f) { return f->localsplus + f->stacktop; }
inline void set_sp(IFrame* f, slot_t* sp) { f->stacktop = static_cast<int>(sp - f->localsplus); }

inline int at(IFrame* f) { return static_cast<int>(f->prev_instr - _PyCode_CODE(f->f_code)); }
inline int next(IFrame* f) { return at(f) + 1; }
inline void set_at(IFrame* f, int unit) { f->prev_instr = _PyCode_CODE(f->f_code) + unit; }
inline void set_next(IFrame* f, int unit) { set_at(f, unit - 1); }
inline bool incomplete(IFrame* f) { return _PyFrame_IsIncomplete(f); }

inline IFrame* current(PyThreadState* ts) { return ts->cframe->current_frame; }
inline void set_current(PyThreadState* ts, IFrame* f) { ts->cframe->current_frame = f; }

// The caller of the eval-frame function clears the frame.
inline void clear_and_pop(PyThreadState*, IFrame*) {}

inline int& recursion(PyThreadState* ts) { return ts->recursion_remaining; }
inline int* c_recursion(PyThreadState*) { return nullptr; }

inline bool eval_breaker(PyThreadState* ts) { return ts->interp->ceval.eval_breaker._value != 0; }

// Serves signals, pending calls and other threads' wish for the GIL, as the evaluator does at a backward
// jump. An asynchronous exception is left to the evaluator, the only one that can withdraw its request.
enum class Pending : int { Done, Error, Left };
inline Pending handle_pending(PyThreadState* ts) {
    if (ts->async_exc) return Pending::Left;
    if (Py_MakePendingCalls() < 0) return Pending::Error;
    if (ts->interp->ceval.gil_drop_request._value) PyEval_RestoreThread(PyEval_SaveThread());
    return Pending::Done;
}

inline void set_function_version(PyFunctionObject*, PyCodeObject*) {}

inline bool traced(PyThreadState* ts, PyCodeObject*) {
    return ts->cframe->use_tracing || ts->c_tracefunc || ts->c_profilefunc;
}

}  // namespace stator::frontend::raw
