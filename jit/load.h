// From an object to callable entries.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/abi.h"
#include "kernels/region_abi.h"

namespace stator::jit {

struct Loaded {
    std::vector<kernels::NestFn> entries;  // <prefix>_nest0, <prefix>_nest1, ...
    kernels::RegionFn region = nullptr;    // <prefix>_region
    std::shared_ptr<void> owner;           // unloads the code when dropped
    int64_t code_bytes = 0;
    std::string error;  // not empty: nothing was loaded
};
// Links an object into the process. `name` is what perf shows (STATOR_PERF), for instance "step#1".
Loaded load_object(std::string_view object, const std::string& prefix, int nests, const std::string& name);
// The same for the object of a region.
Loaded load_region(std::string_view object, const std::string& prefix, const std::string& name);

}  // namespace stator::jit
