// sin and cos of vectors of doubles, with the bits of glibc's libm.
//
// NumPy's loops of sin and cos for float64 call libm for each element. The functions here follow libm's own
// algorithm operation by operation, four or eight elements at a time: the one of glibc 2.28 and later on
// processors with FMA (sysdeps/ieee754/dbl-64/s_sin.c, "IBM Accurate Mathematical Library", below 0.55 ulp),
// where the compiler contracted products and sums. Nothing says that a libm is that one, so the first use
// in a process compares both on thousands of arguments, among them those at which uncontracted arithmetic
// differs; another libm's loop stays as it is.
#pragma once

#include <cstdint>

#include "kernels/abi.h"

namespace stator::kernels {

enum class Trig { Sin, Cos };

// Computes out[i] of x[i] from the beginning, by whole vectors, up to the first one with an element that they
// are not made for: below 2^-26 (sin) or 2^-27 (cos), from 0x1.921fbp26 on, infinities and NaN. Returns how
// many elements were done. x and out are the same or do not overlap. Raises no floating-point flag but
// inexact; only where the rounding mode is to nearest.
using SinCosLanes = int64_t (*)(const double* x, double* out, int64_t n);

// The widest implementation that this processor runs; nullptr for none. `width`: elements of a vector.
SinCosLanes sincos_lanes(Trig which, int* width);

// `scalar` (a loop of one argument and one result, both float64) by vectors wherever the operands are
// contiguous, with the same results, flags included; `scalar` itself where the two differ on any probe.
// What is returned lives as long as the process.
HostLoop with_sincos_lanes(Trig which, HostLoop scalar);

}  // namespace stator::kernels
