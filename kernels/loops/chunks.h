// How the CPU executors (tier 0 and the emitter's host-loop path) keep values between loops over a chunk: the
// innermost parallel axis (or the innermost reduced one of a Run reduction) is processed in chunks of at most
// kChunkElements, and every value that has to be in memory gets a slot in KernelArgs::scratch.
//
// Invariant: two values whose live ranges overlap never share a slot, and an operand's slot is never the
// result's slot, so host loops never see partial overlap. Slots are contiguous and 64-byte aligned: the
// stride class eager would use. Scalars (depth below the chunk) are presented with stride 0, from
// KernelArgs::scalars or a slot.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/loops/loop_ir.h"

namespace stator::kernels {

inline constexpr int64_t kChunkElements = 1024;
inline constexpr int64_t kChunkAlign = 64;

struct ChunkPlan {
    std::vector<int64_t>
        offset;  // per statement: byte offset of its slot in KernelArgs::scratch, -1 when it has none
    int64_t bytes = 0;
};

// Slots for every value of the nest (tier 0 keeps all of them in memory; the emitter uses those it needs).
ChunkPlan plan_chunks(const LoopNest& nest);

}  // namespace stator::kernels
