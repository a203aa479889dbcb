// Inner loops for arithmetic of Python floats that no ufunc has with the same bits: float.__floordiv__,
// __mod__,
// __pow__ and the functions of the math module. They have the contract of a ufunc's loop, so graphs name them
// in `loop` nodes like any host loop, as "py.pow" or "py.sin".
#pragma once

#include <string_view>
#include <vector>

#include "graph/dtype.h"
#include "kernels/abi.h"

namespace stator::frontend::numpy {

// fn == nullptr for names that do not begin with "py." or are unknown.
kernels::HostLoop python_loop(std::string_view name, const std::vector<graph::DType>& types);

}  // namespace stator::frontend::numpy
