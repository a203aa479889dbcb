// torch's own worker threads, for loops over its tensors. They keep spinning for a while after each of
// torch's functions, so that other workers would have to share their CPUs with them; and they have what
// torch's functions left in their caches, as long as ranges are cut as torch cuts them.
//
// The number of threads is torch's (torch.set_num_threads).
#pragma once

#include <cstdint>

namespace stator::frontend::torch {

// Runs fn(context, begin, end) on ranges that together are [0, extent), and ORs what they return. `work` is
// the number of elements in all, by which torch decides how many threads pay. False, and nothing was run,
// when torch's threads cannot be had. The GIL need not be held.
bool parallel_for(int64_t extent, int64_t work, uint32_t (*fn)(void*, int64_t, int64_t), void* context,
                  uint32_t* result);

}  // namespace stator::frontend::torch
