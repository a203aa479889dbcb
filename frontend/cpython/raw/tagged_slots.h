// Slots of CPython 3.14 and later: tagged references (_PyStackRef), the stack pointer is absolute.
//
// The low bits of a slot say whether it holds a reference count. LOAD_FAST_BORROW pushes one that holds none,
// as the compiler has found that it is gone before the local is; everything else that the stepper pushes is
// owned. The empty slot is PyStackRef_NULL, whose bits are not zero, and a lasti slot is a tagged integer:
// neither is ever read as an object.
#pragma once

#include "internal/pycore_ceval.h"
#include "internal/pycore_code.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_function.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_interpframe.h"
#include "internal/pycore_list.h"
#include "internal/pycore_object.h"
#include "internal/pycore_setobject.h"
#include "internal/pycore_stackref.h"
#include "internal/pycore_unicodeobject.h"

#include "frontend/cpython/raw/monitoring.h"

namespace stator::frontend::raw {

using IFrame = struct _PyInterpreterFrame;
using slot_t = _PyStackRef;

inline slot_t slot_null() { return PyStackRef_NULL; }
inline bool slot_empty(slot_t s) { return PyStackRef_IsNull(s); }
inline bool slot_is_object(slot_t s) { return PyStackRef_IsNull(s) || !PyStackRef_IsTaggedInt(s); }
inline PyObject* slot_object(slot_t s) {
    return PyStackRef_IsNull(s) ? nullptr : PyStackRef_AsPyObjectBorrow(s);
}
inline slot_t slot_steal(PyObject* o) { return o ? PyStackRef_FromPyObjectSteal(o) : PyStackRef_NULL; }
inline PyObject* slot_take(slot_t s) {
    return PyStackRef_IsNull(s) ? nullptr : PyStackRef_AsPyObjectSteal(s);
}
inline slot_t slot_copy(slot_t s) {
    if (PyStackRef_IsNull(s) || PyStackRef_IsTaggedInt(s)) return s;
    return PyStackRef_FromPyObjectNew(PyStackRef_AsPyObjectBorrow(s));
}
// A reference that is not counted, for as long as the slot that it is read from keeps the object.
inline slot_t slot_borrow(slot_t s) { return PyStackRef_Borrow(s); }
// The same once more on one stack: counted if `s` is.
inline slot_t slot_again(slot_t s) {
    return PyStackRef_IsNull(s) || PyStackRef_IsTaggedInt(s) ? s : PyStackRef_DUP(s);
}
inline bool slot_is_borrowed(slot_t s) { return !PyStackRef_IsHeapSafe(s); }
inline void slot_close(slot_t s) { PyStackRef_XCLOSE(s); }
inline slot_t slot_of_lasti(int unit) { return PyStackRef_TagInt(unit); }
inline int lasti_of_slot(slot_t s) { return static_cast<int>(PyStackRef_UntagInt(s)); }

inline slot_t* sp(IFrame* f) { return f->stackpointer; }
inline void set_sp(IFrame* f, slot_t* sp) { f->stackpointer = sp; }

inline PyCodeObject* code(IFrame* f) {
    return reinterpret_cast<PyCodeObject*>(PyStackRef_AsPyObjectBorrow(f->f_executable));
}
inline PyObject* function(IFrame* f) { return PyStackRef_AsPyObjectBorrow(f->f_funcobj); }

// C levels are measured on the real stack.
inline int* c_recursion(PyThreadState*) { return nullptr; }

inline int exception_group_match(IFrame* f, PyObject* value, PyObject* types, PyObject** match,
                                 PyObject** rest) {
    return _PyEval_ExceptionGroupMatch(f, value, types, match, rest);
}

}  // namespace stator::frontend::raw

#include "frontend/cpython/raw/since_v313.h"
