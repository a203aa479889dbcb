// Reductions as nodes of a trace's graph, for the steps of NumPy's functions (trace_steps.cpp).
#pragma once

#include <string_view>
#include <vector>

#include "frontend/hosts/numpy/lower.h"

namespace stator::frontend::numpy {

// What a call reduces.
struct Reduction {
    const Operand* array = nullptr;
    std::vector<int> axes;  // ascending
};

// The reduce node, or kNone (without a reason) when NumPy has to do it.
Id reduce_node(TraceBuilder& tb, const Reduction& r, const char* ufunc, DType dtype);
// Whether there is an axis to reduce along, and one without elements.
bool reduces_nothing(TraceBuilder& tb, const Reduction& r);
// What that gives: the ufunc's identity, in an array like `result`; kNone where there is none.
Id reduce_nothing(TraceBuilder& tb, const Reduction& r, std::string_view ufunc, DType dtype,
                  PyObject* result);
// Whether the operand lies so that sums of floats are made in an order that kernels know.
bool reduces_in_order(TraceBuilder& tb, const Reduction& r);
// The sum of floats that have the extents of the operand of `r`, which reduces in order, and lie as that
// does; kNone likewise.
Id sum_of_values(TraceBuilder& tb, const Reduction& r, Id values);
// Puts the reduced axes back with extent 1, for keepdims.
Id keep_axes(TraceBuilder& tb, Id v, const std::vector<int>& axes);

}  // namespace stator::frontend::numpy
