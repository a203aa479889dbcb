// What the lowerings of reductions share (reductions.cpp, trace_steps.cpp).
#pragma once

#include <initializer_list>
#include <vector>

#include "frontend/hosts/numpy/lower.h"

namespace stator::frontend::numpy {

// What a call reduces.
struct Reduction {
    const Operand* array = nullptr;
    std::vector<int> axes;  // ascending
    bool keepdims = false;
    bool flat = false;  // no axis given
};

// False with a reason when these are no ndarray and fixed arguments. `axis` and `keepdims` may be nullptr.
bool read_request(TraceBuilder& tb, const Operand* array, const Operand* axis, const Operand* keepdims,
                  Reduction* out);
// The reduce node, or kNone (without a reason) when NumPy has to do it.
Id reduce_node(TraceBuilder& tb, const Reduction& r, const char* ufunc, DType dtype);
// Whether the operand lies so that sums of floats are made in an order that kernels know.
bool reduces_in_order(TraceBuilder& tb, const Reduction& r);
// The sum of floats that have the extents of the operand of `r`, which reduces in order, and lie as that
// does; kNone likewise.
Id sum_of_values(TraceBuilder& tb, const Reduction& r, Id values);
// `sum` over `n` as np.intp, cast back to `dtype`; kNone of kNone.
Id divided_by_count(TraceBuilder& tb, Id sum, Sym n, DType dtype);
// Puts the reduced axes back with extent 1, for keepdims.
Id keep_axes(TraceBuilder& tb, Id v, const std::vector<int>& axes);
// The call's result from `v`; `before` is how many nodes there were when its lowering began.
ShadowRef finish_reduction(TraceBuilder& tb, const Reduction& r, Id v, size_t before, PyObject* result);
// How many elements one result is made of.
Sym reduced_count(TraceBuilder& tb, const Reduction& r);

// Arguments that change what is reduced, which NumPy does then; `dtype` shows in the result.
bool any_given(TraceBuilder& tb, std::initializer_list<const Operand*> operands);
bool no_out(TraceBuilder& tb, const Operand* out);

}  // namespace stator::frontend::numpy
