// In which order this process's BLAS adds up dots.
#pragma once

#include <cstdint>

#include "graph/dot_order.h"
#include "graph/dtype.h"

namespace stator::frontend::regions {

// Of vectors of f64 or f32 that do not both lie in one piece, up to DotOrder::kLongest elements. Found out by
// dots of values on which every order has other bits, once for each dtype; not known (`block` is 0) when no
// order, or more than one, explains all of them.
graph::DotOrder strided_dot_order(graph::DType t);

}  // namespace stator::frontend::regions
