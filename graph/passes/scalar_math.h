// One pointwise op on scalar constants, with NumPy's result bits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace stator::graph {

struct ScalarNode {
    Op op;
    DType dtype;    // of the result
    bool may_wrap;  // integer overflow is silent (arrays); scalars warn
    std::vector<DType> types;
    std::vector<std::vector<int64_t>> values;  // normalized bits of each operand
};

// The result's bits; nullopt when the op is not computed here, or would raise a flag other than inexact, or
// warn.
std::optional<std::vector<int64_t>> evaluate(const ScalarNode& s);

}  // namespace stator::graph
