// Worker threads for large loops, over oneTBB.
//
// Rules. Ranges are cut at multiples of the grain that the caller gives, in whatever number of threads, so a
// loop whose pieces are independent gives the same bits with any number. Workers run under the caller's MXCSR
// (rounding, flush to zero) and leave no flags behind; what the pieces return is OR-ed. The number of threads
// follows STATOR_THREADS, else limits.h, and is looked at again when the calling thread's affinity mask
// changes. At fork the workers are ended, so that neither side has half a scheduler; the next loop starts new
// ones.
#pragma once

#include <cstdint>

namespace stator::jit {

uint32_t parallel_for(int64_t extent, int64_t grain, uint32_t (*fn)(void*, int64_t, int64_t), void* context);
int thread_count();
void forget_thread_count();  // the options changed

void threads_before_fork();
void threads_after_fork(bool child);

}  // namespace stator::jit
