// Which statements generated code computes itself; for all others the CPU calls the host's inner loop.
//
// graph::is_native speaks about kinds of dtypes. Half precision is not generated: each op on it would have to
// be rounded from f32, except where bits only move. Casts have no host loop, so all of them between real
// dtypes are generated.
#pragma once

#include "graph/graph.h"

namespace stator::kernels {

inline bool generates(graph::Op op, graph::DType operand, graph::DType result) {
    using graph::DType;
    using graph::Op;
    if (op == Op::Where) return graph::is_native(op, result);
    if (op == Op::Copy) return graph::is_native(op, operand);
    if (op == Op::Cast) return true;
    return operand != DType::F16 && result != DType::F16 && graph::is_native(op, operand);
}

}  // namespace stator::kernels
