// Calls of host loops from compiled code.
#pragma once

#include <cstdint>

#include "kernels/abi.h"

namespace stator::kernels {

// Calls `loop` on n elements. Host loops may clear pending floating-point flags, so those raised before the
// call are read first; returns them together with what of `mask` the call itself raised, and leaves no flag
// pending.
extern "C" uint32_t stator_host_call(const HostLoop* loop, char** args, int64_t n, const int64_t* strides,
                                     uint32_t mask);

// What the x87 status word says, as Fault bits, and clears it: the C library's feraiseexcept sets some flags
// there (flags.h), which compiled code cannot read by itself.
extern "C" uint32_t stator_x87_faults();

}  // namespace stator::kernels
