// Launching what f.cuda() made on a real GPU and measuring it, without any host library: for the benchmark,
// the tests and `python -m stator doctor`. Every failure is a RuntimeError that says what was attempted.
#pragma once

#include <pybind11/pybind11.h>

namespace stator::bindings {

void add_cuda_launcher(pybind11::module_& m);

}  // namespace stator::bindings
