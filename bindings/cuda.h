// What the package needs for f.cuda(): launches of a call, and NVRTC.
#pragma once

#include <pybind11/pybind11.h>

namespace stator::bindings {

void add_cuda(pybind11::module_& m);

}  // namespace stator::bindings
