// The running CPython's private structures, behind one set of inline functions (namespace raw), chosen here
// by minor version. Only the .cpp files of this folder include it, and as their first header: it asks
// Python.h for the core declarations, which nothing else in the code base sees.
//
// What every raw/v3NN.h provides, and what must hold:
//   slot_t                    one entry of localsplus: a PyObject* (NULL = empty) up to 3.13, a tagged
//   reference from
//                             3.14 on. slot_steal/slot_take move an owned reference in and out, slot_object
//                             borrows.
//   sp, set_sp                the first free slot. Slots below it must be valid whenever Python code can run.
//   at, set_at, set_next      the instruction pointer: AT the executing instruction; resuming at a code unit.
//   current, set_current      the frame that sys._getframe() finds.
//   clear_and_pop             what the evaluator does to a frame it has finished (3.11: left to the caller).
//   recursion, c_recursion    what is left of the recursion limits (c_recursion: NULL where C levels are not
//   counted). eval_breaker, traced, watched (the code alone), set_function_version
//   gil_switches              how often the GIL has gone from one thread to another.
//
// A new CPython version: add raw/v3NN.h and opcodes/v3NN.h, move the rows of opcodes that it has no more from
// opcodes/shared.h to the versions that have them, read its ceval for what differs in ops_*.cpp, and
// run tests/python/frames/test_stepper.py, which resumes and raises at every instruction boundary of its
// corpus.
#pragma once

#ifdef Py_PYTHON_H
#error "frontend/cpython/raw/raw.h must come before Python.h"
#endif
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>

#include <utility>
// Without this, pycore_atomic.h of 3.11 and 3.12 asks for <stdatomic.h>, which C++ does not have.
#undef HAVE_STD_ATOMIC

#ifdef Py_GIL_DISABLED
#error "stator does not know the frames of a free-threaded CPython"
#endif

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
#include "frontend/cpython/raw/v311.h"
#elif PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
#include "frontend/cpython/raw/v312.h"
#elif PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000
#include "frontend/cpython/raw/v313.h"
#elif PY_VERSION_HEX >= 0x030E0000 && PY_VERSION_HEX < 0x030F0000
#include "frontend/cpython/raw/v314.h"
#elif PY_VERSION_HEX >= 0x030F00C0 && PY_VERSION_HEX < 0x03100000  // from its first release candidate on
#include "frontend/cpython/raw/v315.h"
#else
#error \
    "stator knows the frames of CPython 3.11 to 3.15 only; see the essay above for what a new version needs"
#endif

namespace stator::frontend::raw {

inline bool is_linked(PyThreadState* ts, IFrame* f) { return current(ts) == f; }

// Whether the frame's names are those of its globals. A class body has a dict of its own.
inline bool is_at_module_level(IFrame* f) {
    return !(code(f)->co_flags & CO_OPTIMIZED) && locals_dict(f) == f->f_globals &&
           PyDict_CheckExact(f->f_globals);
}

inline void link(PyThreadState* ts, IFrame* f) {
    f->previous = current(ts);
    set_current(ts, f);
}

// Safe on a frame that is not linked: the evaluator and clear_and_pop must never get a frame that is its own
// caller.
inline void unlink(PyThreadState* ts, IFrame* f) {
    if (is_linked(ts, f)) set_current(ts, f->previous);
}

inline slot_t* stack_base(IFrame* f) { return f->localsplus + code(f)->co_nlocalsplus; }

}  // namespace stator::frontend::raw
