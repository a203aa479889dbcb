// CPython 3.12: as 3.11 in layout, but the evaluator clears and pops the frames it is given, with functions
// that are not exported; clear_and_pop does the same from outside. C recursion is counted apart from
// Python's.
#pragma once

#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"

#include "frontend/cpython/raw/monitoring.h"
#include "frontend/cpython/raw/plain_slots.h"

namespace stator::frontend::raw {

inline constexpr int kMinor = 12;
using IFrame = struct _PyInterpreterFrame;

inline PyCodeObject* code(IFrame* f) { return f->f_code; }
inline PyObject* function(IFrame* f) { return f->f_funcobj; }
inline PyObject* locals_dict(IFrame* f) { return f->f_locals; }

inline int at(IFrame* f) { return static_cast<int>(f->prev_instr - _PyCode_CODE(f->f_code)); }
inline int next(IFrame* f) { return at(f) + 1; }
inline void set_at(IFrame* f, int unit) { f->prev_instr = _PyCode_CODE(f->f_code) + unit; }
inline void set_next(IFrame* f, int unit) { set_at(f, unit - 1); }
inline bool incomplete(IFrame* f) { return _PyFrame_IsIncomplete(f); }

inline IFrame* current(PyThreadState* ts) { return ts->cframe->current_frame; }
inline void set_current(PyThreadState* ts, IFrame* f) { ts->cframe->current_frame = f; }

// A frame object that someone still holds outlives the frame: it gets a copy of it, with its references, and
// its caller's frame object. The frame must be unlinked, so that the current frame is that caller.
inline void give_to_frame_object(PyThreadState* ts, IFrame* f, PyFrameObject* object) {
    auto* copy = reinterpret_cast<IFrame*>(object->_f_frame_data);
    memcpy(copy, f, reinterpret_cast<char*>(sp(f)) - reinterpret_cast<char*>(f));
    copy->owner = FRAME_OWNED_BY_FRAME_OBJECT;
    copy->previous = nullptr;
    if (incomplete(copy)) set_at(copy, copy->f_code->_co_firsttraceable);
    object->f_frame = copy;
    object->f_back = PyThreadState_GetFrame(ts);
    auto* o = reinterpret_cast<PyObject*>(object);
    if (!PyObject_GC_IsTracked(o)) PyObject_GC_Track(o);
}

inline void pop_from_data_stack(PyThreadState* ts, IFrame* f) {
    auto** base = reinterpret_cast<PyObject**>(f);
    _PyStackChunk* chunk = ts->datastack_chunk;
    if (base != chunk->data) {
        ts->datastack_top = base;
        return;
    }
    _PyStackChunk* previous = chunk->previous;
    ts->datastack_top = previous->data + previous->top;
    ts->datastack_chunk = previous;
    ts->datastack_limit = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(previous) + previous->size);
    PyObjectArenaAllocator arena;
    PyObject_GetArenaAllocator(&arena);
    arena.free(arena.ctx, chunk, chunk->size);
}

inline void clear_and_pop(PyThreadState* ts, IFrame* f) {
    PyCodeObject* co = f->f_code;
    PyFrameObject* object = std::exchange(f->frame_obj, nullptr);
    if (object && Py_REFCNT(object) > 1) {
        Py_INCREF(co);
        give_to_frame_object(ts, f, object);
    } else {
        Py_XDECREF(object);
        object = nullptr;
        for (slot_t *s = f->localsplus, *end = sp(f); s < end; s++) Py_XDECREF(*s);
        Py_XDECREF(f->f_locals);
        Py_DECREF(f->f_funcobj);
    }
    Py_XDECREF(object);
    Py_DECREF(co);
    pop_from_data_stack(ts, f);
}

inline int& recursion(PyThreadState* ts) { return ts->py_recursion_remaining; }
inline int* c_recursion(PyThreadState* ts) { return &ts->c_recursion_remaining; }

inline bool eval_breaker(PyThreadState* ts) { return ts->interp->ceval.eval_breaker._value != 0; }
inline void set_eval_breaker(PyInterpreterState* interp) {
    _Py_atomic_store_relaxed(&interp->ceval.eval_breaker, 1);
}
inline unsigned long gil_switches(PyThreadState* ts) { return ts->interp->ceval.gil->switch_number; }
// Where compiled loops look (little-endian: the events are in the low bytes).
inline const volatile int32_t* breaker_word(PyThreadState* ts, int32_t* mask) {
    *mask = -1;
    return reinterpret_cast<const volatile int32_t*>(&ts->interp->ceval.eval_breaker._value);
}

inline void set_function_version(PyFunctionObject* f, PyCodeObject* co) { f->func_version = co->co_version; }

}  // namespace stator::frontend::raw
