// Conversions of elements from one dtype to another.
#pragma once

#include "graph/dtype.h"

namespace stator::graph {

// Whether the conversion may raise a floating-point flag that NumPy reports ("overflow encountered in cast").
bool cast_may_fault(DType from, DType to);

}  // namespace stator::graph
