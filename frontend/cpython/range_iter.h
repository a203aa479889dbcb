// The state of a range's iterator, which Python offers only through slow calls.
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

}  // namespace stator::frontend
