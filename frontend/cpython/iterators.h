// The states of iterators, which Python offers only through slow calls.
#pragma once

#include <cstdint>

#include "frontend/pyref.h"

namespace stator::frontend {

struct RangeState {
    int64_t next = 0, left = 0, step = 1;  // left: items still to come
};

bool is_range_iter(PyObject* o);  // one whose numbers are C longs
RangeState range_iter_state(PyObject* o);
void set_range_iter_state(PyObject* o, const RangeState& s);
PyObject* new_range_iter(const RangeState& s);  // new reference; nullptr with an error set

// Items to come of the iterator of a range, list or tuple; -1: it is another one, and nobody knows.
int64_t items_left(PyObject* o);

// iter(array): Python's iterator over a sequence. The array is nullptr when it has ended.
struct ArrayIterState {
    PyObject* array = nullptr;  // borrowed
    int64_t position = 0;
};
bool is_array_iter(PyObject* o);  // one over whatever sequence
ArrayIterState array_iter_state(PyObject* o);
void set_array_iter_position(PyObject* o, int64_t position);

}  // namespace stator::frontend
