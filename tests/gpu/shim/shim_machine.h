// The state of the launch that runs, shared by the scheduler (shim_runtime.cpp) and what kernels call
// (shim_builtins.cpp).
#pragma once

#include <setjmp.h>
#include <stdint.h>

#include <mutex>
#include <string>
#include <vector>

#include "shim_fiber.h"
#include "shim_global.h"
#include "shim_runtime.h"
#include "shim_shared.h"

namespace shim {

constexpr size_t kDynamicBytes = 256 << 10;  // more than any GPU has

enum class State : uint8_t { Ready, AtBarrier, AtWarp, AtCluster, Done };

struct Fiber {
    void* context;
    uint3 index;
    State state;
    bool arrived;  // at the cluster's barrier
    int line;
    Vote vote;  // at a barrier
    WarpOp op;  // at a warp operation
    unsigned mask;
    int argument, width;
    uint64_t value, result;
};

struct Machine {
    std::mutex mutex;
    sigjmp_buf fault_exit;
    void* scheduler = nullptr;  // context to switch to when a fiber waits
    const Module* module = nullptr;
    const Kernel* kernel = nullptr;
    void** parameters = nullptr;
    const Launch* launch = nullptr;
    std::string problem;
    Fiber fibers[kMaxFibers];  // of all blocks of a cluster
    int threads = 0, current = 0, alive = 0;
    int block_threads = 0, blocks = 1;  // threads of a block, blocks of a cluster
    uint3 block_index[kMaxCluster];
    int at_barrier[kMaxCluster];  // threads of each block that wait there
    uint16_t order[kMaxFibers], place[kMaxFibers];
    int cursor = 0;                     // no fiber before it in the order is ready
    unsigned waiting[kMaxFibers / 32];  // lanes at a warp operation
    uint64_t random = 1;
    uint64_t wide_accesses[2] = {};  // reads and writes of device memory in this launch, 16 bytes at once
    SharedMemory shared;
    GlobalMemory global;
    size_t static_bytes = 0;
    char *dynamic_region = nullptr, *dynamic = nullptr;
    // A module's shared variables exist once. Those of a cluster's other blocks are kept here, and are put in
    // their place when a thread of that block goes on; a pointer to another block's variable points to here.
    std::vector<char> images;
    int resident = 0;
    size_t image_bytes() const { return (static_bytes + 15) / 16 * 16 + launch->shared_bytes; }
    char* image(int rank) { return images.data() + static_cast<size_t>(rank) * image_bytes(); }
    int rank_of(int thread) const { return thread / block_threads; }
};
Machine& machine();
extern const Runtime kRuntime;
std::string place_text(const Machine& m, int thread);  // "kernel 'k', thread (0, 0, 0) of block (1, 0, 0): "
void to_scheduler(Machine& m);                         // the fiber waits
void switch_block(Machine& m, int rank);

inline size_t distance(const volatile void* p, const void* begin) {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(begin);
}
inline bool within(const volatile void* p, const void* begin, size_t bytes) {
    return distance(p, begin) < bytes;
}

}  // namespace shim
