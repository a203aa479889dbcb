// Reshapes as views and copies of a trace, for the steps of NumPy's functions (trace_steps.cpp). Which of
// both NumPy chose is read off what it has returned.
#pragma once

#include "frontend/hosts/numpy/lower.h"

namespace stator::frontend::numpy {

// `a` with these extents, all of its elements in the order of C.
ShadowRef reshape_to(TraceBuilder& tb, const Operand& a, Shape shape, PyObject* result);
ShadowRef raveled(TraceBuilder& tb, const Operand& a, PyObject* result);
// A copy, where ravel may give a view.
ShadowRef flat_copy(TraceBuilder& tb, const Operand& a, PyObject* result);

}  // namespace stator::frontend::numpy
