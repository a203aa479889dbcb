// The statements tier 0 computes itself because the host has no inner loop for them: casts, copies, where,
// index values, and the search of an extremum. Every function works on n elements with byte strides; operands
// and result either coincide exactly or do not overlap.
//
// Invariant: results and floating-point flags are NumPy's. Where a C++ conversion would be undefined (a float
// that no integer of the target type has), the x86 instruction that NumPy's build uses is named and called.
#pragma once

#include <cstdint>

#include "graph/dtype.h"

namespace stator::kernels::tier0 {

struct Operand {
    char* ptr = nullptr;
    int64_t stride = 0;  // bytes; 0 = the same element every time
};

// Converts as ndarray.astype does with unsafe casting. Returns Fault bits that a status register does not
// show (half precision is converted in integer code); all others are left in the status register.
uint32_t cast(graph::DType from, graph::DType to, Operand in, Operand out, int64_t n);
// Copies elements of `size` bytes (1, 2, 4, 8 or 16) as they are.
void copy(int size, Operand in, Operand out, int64_t n);
// Bytes of `yes` where the b1 operand holds (any byte but 0), else of `no`.
void where(int size, Operand condition, Operand yes, Operand no, Operand out, int64_t n);
// start, start + step, ... converted to `to` as by a C cast from int64.
void index(graph::DType to, int64_t start, int64_t step, Operand out, int64_t n);

// Whether element `b` takes the place of `a` as the extremum found so far: greater (or less, for minima), or
// the first NaN. Complex numbers are ordered by real part, then imaginary part.
using Better = bool (*)(const char* a, const char* b);
Better better(graph::DType type, bool maximum);

}  // namespace stator::kernels::tier0
