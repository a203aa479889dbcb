// Blocks of 1 to 64 KB for result arrays: larger than what NumPy and the C library keep at hand, and too
// small for the core library's pool. Taking one and giving it back costs a few nanoseconds.
//
// A block's class is known from its address, so that no size has to be remembered. Blocks are kept for good;
// there are never more than kRegion bytes of them. The GIL is held.
#pragma once

#include <cstdint>

namespace stator::frontend::numpy {

inline constexpr int64_t kBlockMinimum = 1024, kBlockMaximum = 64 * 1024;

void* take_block(int64_t bytes);     // kBlockMinimum < bytes <= kBlockMaximum; nullptr: all are taken
int64_t block_bytes(const void* p);  // 0: not one of these
void give_block(void* p);            // one for which block_bytes is not 0

}  // namespace stator::frontend::numpy
