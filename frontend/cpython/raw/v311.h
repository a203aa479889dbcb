// CPython 3.11: `prev_instr` is one unit before the next instruction, the current frame is in `cframe`.
#pragma once

#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"

#include "frontend/cpython/raw/plain_slots.h"

namespace stator::frontend::raw {

inline constexpr int kMinor = 11;
using IFrame = struct _PyInterpreterFrame;

inline PyCodeObject* code(IFrame* f) { return f->f_code; }
inline PyObject* function(IFrame* f) { return reinterpret_cast<PyObject*>(f->f_func); }
inline PyObject* locals_dict(IFrame* f) { return f->f_locals; }

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
inline void set_eval_breaker(PyInterpreterState* interp) {
    _Py_atomic_store_relaxed(&interp->ceval.eval_breaker, 1);
}
inline unsigned long gil_switches(PyThreadState*) { return _PyRuntime.ceval.gil.switch_number; }
// Where compiled loops look (little-endian: the events are in the low bytes).
inline const volatile int32_t* breaker_word(PyThreadState* ts, int32_t* mask) {
    *mask = -1;
    return reinterpret_cast<const volatile int32_t*>(&ts->interp->ceval.eval_breaker._value);
}

inline bool watched(PyCodeObject*) { return false; }

inline bool traced(PyThreadState* ts, PyCodeObject*) {
    return ts->cframe->use_tracing || ts->c_tracefunc || ts->c_profilefunc;
}

inline void set_function_version(PyFunctionObject*, PyCodeObject*) {}

}  // namespace stator::frontend::raw
