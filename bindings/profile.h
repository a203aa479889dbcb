// Profiles of programs: starting and ending the sampler, and what is known of functions when it ends.
#pragma once

#include <pybind11/pybind11.h>

namespace stator::bindings {

void add_profile(pybind11::module_& m);

}  // namespace stator::bindings
