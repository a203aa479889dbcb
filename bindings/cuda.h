// What the package needs for f.cuda(): launches of a call, NVRTC, and what traces say about the GPU.
#pragma once

#include <pybind11/pybind11.h>

#include "frontend/function.h"

namespace stator::bindings {

void add_cuda(pybind11::module_& m);

// Trace.cuda and Trace.waits.
pybind11::object trace_cuda(const frontend::TraceInfo& t);
pybind11::list trace_waits(const frontend::TraceInfo& t);
// Region.cuda.
pybind11::object region_kernel(const frontend::RegionInfo& r, const std::string& arch);

}  // namespace stator::bindings
