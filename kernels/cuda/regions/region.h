// A region (graph/region/region.h) as one CUDA kernel, and what its host has to know to run it.
//
// The kernel is launched with all its blocks on the device at once. Every thread runs the control flow;
// regions/spread.h says who does the work in between. Arguments and results lie in one piece of device
// memory, the *state*: a control block, the table of scratch cells, the exit's values (these three come back
// to the host), then extents and strides, scalars, and what a launch leaves for the next one.
//
// A launch ends in one of three ways: the region was left; a scratch cell is too small; or it has run for so
// long that the host has to look for signals. In the last two cases the host launches it again, and the
// kernel goes on where it was. A pause also states the exit by which the region can be left right there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/region/region.h"

namespace stator::kernels {

// The beginning of the state; the kernel has the same in its prelude ("region").
struct RegionControl {
    enum Status : int32_t { Running, Left, Grow, Paused };
    uint64_t meet = 0;     // barriers: how often a block has come to one
    uint32_t bad[2] = {};  // a nest raised a flag; nests take turns
    int32_t status = Running;
    int32_t exit = -1;   // Left, Paused: what the compiled region returns
    int32_t resume = 0;  // where to go on: 0 begins
    int32_t cell = -1;   // Grow: which one, and to how much; -1: all, as the table says
    int64_t bytes = 0;
    int64_t next = 0;    // what the leader says about time
    int64_t budget = 0;  // nanoseconds until a pause
};
struct RegionCell {
    uint64_t memory = 0;
    int64_t bytes = 0;
};

inline constexpr int kRegionSlot = 16;  // bytes of a scalar in the state

struct CudaRegion {
    std::string name;                     // of the kernel
    std::string text;                     // CUDA C++, self-contained
    std::string error;                    // why there is none; names the instruction
    std::vector<std::string> parameters;  // what each is: an array as Python names it, "cell 0", "state"
    // Parameters: the address of element (0, 0, ...) of each array input, the memory of each cell, the state.
    int arrays = 0, cells = 0;
    // Offsets into the state in bytes.
    int64_t cell_table = 0, out = 0, dims = 0, scalars = 0, bytes = 0;
    int64_t returned_bytes() const { return dims; }
};

inline constexpr int kRegionThreads = 256;  // of a block, at most
inline constexpr int kRegionTeams = 1024;   // warps that share what has to be put together, at most

// What the kernel of a region "step@12" is called.
std::string region_kernel_name(const std::string& region);

// The region must be one that graph::verify accepts.
CudaRegion emit_cuda_region(const graph::Region& region, const std::string& name);

}  // namespace stator::kernels
