// Which sources NVRTC has to compile as nvcc compiles by default, because the last bit of a function that
// they call depends on its options.
#pragma once

#include <string_view>

namespace stator::kernels::cuda {

bool calls_contracted(std::string_view source);

}  // namespace stator::kernels::cuda
