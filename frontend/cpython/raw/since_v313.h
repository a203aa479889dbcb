// What CPython 3.13 and later share: `instr_ptr` is the executing (or next) instruction, the current frame
// and the eval breaker are in the thread state, and the function that ends a frame is exported. Included
// behind `code`.
#pragma once

namespace stator::frontend::raw {

inline PyObject* locals_dict(IFrame* f) { return f->f_locals; }

inline int at(IFrame* f) { return static_cast<int>(f->instr_ptr - _PyCode_CODE(code(f))); }
inline int next(IFrame* f) { return at(f); }
inline void set_at(IFrame* f, int unit) { f->instr_ptr = _PyCode_CODE(code(f)) + unit; }
inline void set_next(IFrame* f, int unit) { set_at(f, unit); }
inline bool incomplete(IFrame* f) { return _PyFrame_IsIncomplete(f); }

inline IFrame* current(PyThreadState* ts) { return ts->current_frame; }
inline void set_current(PyThreadState* ts, IFrame* f) { ts->current_frame = f; }

inline void clear_and_pop(PyThreadState* ts, IFrame* f) { _PyEval_FrameClearAndPop(ts, f); }

inline int& recursion(PyThreadState* ts) { return ts->py_recursion_remaining; }

inline bool eval_breaker(PyThreadState* ts) { return (ts->eval_breaker & _PY_EVAL_EVENTS_MASK) != 0; }
inline void set_eval_breaker(PyInterpreterState*) {}  // Py_AddPendingCall does
inline unsigned long gil_switches(PyThreadState* ts) { return ts->interp->ceval.gil->switch_number; }
// Where compiled loops look (little-endian: the events are in the low bytes).
inline const volatile int32_t* breaker_word(PyThreadState* ts, int32_t* mask) {
    *mask = _PY_EVAL_EVENTS_MASK;
    return reinterpret_cast<const volatile int32_t*>(&ts->eval_breaker);
}

inline void set_function_version(PyFunctionObject* f, PyCodeObject* co) {
    _PyFunction_SetVersion(f, co->co_version);
}

}  // namespace stator::frontend::raw
