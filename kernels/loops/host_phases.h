// How a nest with statements that only the host computes is cut up on the CPU: for every chunk of the
// innermost axis, phases of generated code (a loop over the chunk) alternate with calls of host loops on the
// whole chunk.
//
// Phase k's generated code runs before phase k's host calls. A value is kept in a slot of KernelArgs::scratch
// when a host call reads or writes it, or when generated code of a later phase needs it; loads are repeated
// instead. Two values that are alive at the same time never share a slot.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/loops/loop_ir.h"

namespace stator::kernels {

// Whether a host loop computes statement `i`.
bool calls_host(const LoopNest& nest, int i);

struct HostPhases {
    int count = 0;              // phases of generated code; 0 when the innermost axis needs no host call
    std::vector<int> phase;     // per statement
    std::vector<int64_t> slot;  // per statement: byte offset in scratch, -1 = none
    std::vector<int> into;      // per host statement: the Store it writes for directly, -1
    int64_t bytes = 0;
};
HostPhases plan_host_phases(const LoopNest& nest);

}  // namespace stator::kernels
