// Slots of CPython 3.11 to 3.13: plain owned pointers, counted from localsplus by `stacktop`.
#pragma once

namespace stator::frontend::raw {

using slot_t = PyObject*;

inline slot_t slot_null() { return nullptr; }
inline bool slot_empty(slot_t s) { return s == nullptr; }
inline bool slot_is_object(slot_t) { return true; }
inline PyObject* slot_object(slot_t s) { return s; }
inline slot_t slot_steal(PyObject* o) { return o; }
inline PyObject* slot_take(slot_t s) { return s; }
inline slot_t slot_copy(slot_t s) { return Py_XNewRef(s); }
inline slot_t slot_borrow(slot_t s) { return slot_copy(s); }  // 3.14 has references that are not counted
inline slot_t slot_again(slot_t s) { return slot_copy(s); }
inline bool slot_is_borrowed(slot_t) { return false; }
inline void slot_close(slot_t s) { Py_XDECREF(s); }
inline slot_t slot_of_lasti(int unit) { return PyLong_FromLong(unit); }
inline int lasti_of_slot(slot_t s) { return static_cast<int>(PyLong_AsLong(s)); }

inline slot_t* sp(_PyInterpreterFrame* f) { return f->localsplus + f->stacktop; }
inline void set_sp(_PyInterpreterFrame* f, slot_t* sp) { f->stacktop = static_cast<int>(sp - f->localsplus); }

}  // namespace stator::frontend::raw
