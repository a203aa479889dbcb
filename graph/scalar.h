// Scalar constants: the bits in Node::ints of a `const`, as numbers and as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace stator::graph {

float half_to_float(uint16_t h);
// Round to nearest, ties to even. `exact` tells whether nothing was lost (NaN payloads aside).
uint16_t to_half(double d, bool* exact = nullptr);

// The one spelling of a constant's bits: signed integers sign-extended, everything else zero-extended.
std::vector<int64_t> normalize_bits(DType t, std::vector<int64_t> ints);

// "2.5", "-0.0", "True", "(1.0, -2.0)"; values that decimal text cannot carry (NaN payloads, bool bytes other
// than 0 and 1) are "bits(0x7ff8000000000001)".
std::string scalar_text(DType t, const std::vector<int64_t>& ints);
bool parse_scalar(DType t, std::string_view text, std::vector<int64_t>& ints);

// Nodes for constants of a dtype; the value is converted as a C cast would.
Node make_const(DType t, double value);
Node make_const_int(DType t, int64_t value);

}  // namespace stator::graph
