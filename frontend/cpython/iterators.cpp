#include "frontend/cpython/raw/raw.h"
// raw.h must come first.
#include "frontend/cpython/iterators.h"

namespace stator::frontend {

namespace {

// As in CPython's Include/internal/pycore_range.h.
struct RangeIter {
    PyObject_HEAD;
#if PY_VERSION_HEX < 0x030C0000
    long index, start, step, len;
#else
    long start, step, len;
#endif
};

// As in CPython's Objects/iterobject.c.
struct SequenceIter {
    PyObject_HEAD;
    Py_ssize_t index;
    PyObject* sequence;
};

}  // namespace

bool is_range_iter(PyObject* o) { return Py_TYPE(o) == &PyRangeIter_Type; }

RangeState range_iter_state(PyObject* o) {
    const auto* it = reinterpret_cast<const RangeIter*>(o);
#if PY_VERSION_HEX < 0x030C0000
    return {it->start + it->index * it->step, it->len - it->index, it->step};
#else
    return {it->start, it->len, it->step};
#endif
}

void set_range_iter_state(PyObject* o, const RangeState& s) {
    auto* it = reinterpret_cast<RangeIter*>(o);
#if PY_VERSION_HEX < 0x030C0000
    it->index = 0;
#endif
    it->start = s.next;
    it->step = s.step;
    it->len = s.left;
}

PyObject* new_range_iter(const RangeState& s) {
    PyRef range = PyRef::steal(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyRange_Type), "i", 0));
    PyObject* it = range ? PyObject_GetIter(range.get()) : nullptr;
    if (it) set_range_iter_state(it, s);
    return it;
}

bool is_array_iter(PyObject* o) { return Py_TYPE(o) == &PySeqIter_Type; }

ArrayIterState array_iter_state(PyObject* o) {
    const auto* it = reinterpret_cast<const SequenceIter*>(o);
    return {it->sequence, it->index};
}

void set_array_iter_position(PyObject* o, int64_t position) {
    reinterpret_cast<SequenceIter*>(o)->index = position;
}

int64_t items_left(PyObject* o) {
    if (is_range_iter(o)) return range_iter_state(o).left;
    if (Py_TYPE(o) != &PyListIter_Type && Py_TYPE(o) != &PyTupleIter_Type) return -1;
    const Py_ssize_t left = PyObject_LengthHint(o, -1);
    if (left < 0) PyErr_Clear();
    return left;
}

}  // namespace stator::frontend
