// What a kernel module (a CUDA source compiled for the CPU) and the runtime that executes it know of each
// other.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct uint3 {
    unsigned x, y, z;
};

namespace shim {

enum class Vote : int { Barrier, Count, And, Or };
enum class WarpOp : int {
    Sync,
    Index,
    Up,
    Down,
    Xor,
    Any,
    All,
    Ballot,
    MatchAny,
    Add,
    Min,
    Max,
    And,
    Or,
    BitXor
};
enum class Access : int { Read, Write, Atomic };

// The runtime's functions, called from kernels. Those that report a fault do not return.
struct Runtime {
    int (*barrier)(Vote vote, int value, int line);
    uint64_t (*warp)(WarpOp op, int line, unsigned mask, uint64_t value, int argument, int width);
    unsigned (*active_mask)();
    void (*access)(const volatile void* address, size_t size, Access access);
    void (*fence)();
    unsigned (*cluster)(bool rank);  // the block's rank in its cluster, or the cluster's blocks
    void (*cluster_arrive)();
    void (*cluster_wait)(int line);
    void* (*map_shared)(const void* address, unsigned rank);  // the same variable of another block
    void (*fault)(const char* what);
    unsigned long long (*nanoseconds)();  // a clock that goes on by 10 us each time it is looked at
};

struct Kernel {
    const char* name;
    void (*call)(void** parameters);
    int parameters;
    const int* sizes;      // of each parameter, bytes
    const bool* pointers;  // whether it is one
    int max_threads;       // of __launch_bounds__, 0 without
};

struct Module {
    const Kernel* kernels;
    int count;
    char *shared_begin, *shared_end;  // static __shared__ variables
    char *image_begin, *image_end;    // everything of the module: constants, tables
    uint3 *thread, *block, *block_dim, *grid_dim;
    char** dynamic_shared;
};

}  // namespace shim
