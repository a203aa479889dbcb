// How the loops of the NumPy in the process compute with complex arrays: asked of the loops themselves, with
// numbers whose results tell the forms apart.
#pragma once

#include "graph/dtype.h"

namespace stator::frontend::numpy {

struct ComplexForms {
    // multiply, square: re = fma(a.re, b.re, -(a.im * b.im)), im = fma(a.re, b.im, a.im * b.re).
    bool fused_product = false;
    // multiply: a * b has the bits of b * a.
    bool product_commutes = false;
    // multiply, square: the same bits where operands lie backwards; square: where neither operand nor result
    // is in one piece.
    bool backward_product = false, gapped_square = false;
    // absolute: larger * sqrt(fma(q, q, 1)) with q = smaller / larger.
    bool plain_modulus = false;
};

const ComplexForms& complex_forms(graph::DType t);  // of C64 or C128

}  // namespace stator::frontend::numpy
