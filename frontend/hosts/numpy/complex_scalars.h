// How NumPy's complex numbers compute with each other and with other numbers: asked of them.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>

#include "graph/dtype.h"

namespace stator::frontend::numpy {

enum class ComplexOperator : uint8_t { Add, Subtract, Multiply, Divide, Power };
inline constexpr int64_t kMostComplexPower = 8;

// The dtype of what the operator gives for numbers of these types, one of which is np.complex64 or
// np.complex128, if its bits are those of the following formulas, in which each step has the result's
// precision and is rounded, and real numbers have a part of 0:
//
//   product   (x.re y.re - x.im y.im, x.re y.im + x.im y.re)
//   power     by an int y from 2 to kMostComplexPower: 0 without signs of a number that is 0, x x, x (x x),
//             and else by squaring, beginning with 1
//   quotient  R. L. Smith's (Algorithm 116, CACM 1962): of y's parts the larger one is divided by,
//             r = smaller / larger, s = 1 / (larger + smaller r); for a larger real part
//             ((x.re + x.im r) s, (x.im - x.re r) s), else ((x.re r + x.im) s, (x.im r - x.re) s)
//
// Empty where it has others: numbers that are first converted to arrays, for one, whose loops do not round
// the first product.
std::optional<graph::DType> complex_scalar_result(ComplexOperator op, PyTypeObject* a, PyTypeObject* b,
                                                  int64_t exponent = 0);

}  // namespace stator::frontend::numpy
