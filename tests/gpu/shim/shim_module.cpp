// Linked to every kernel module: its built-in variables, its description, and the functions that instrumented
// code calls. Kernels are compiled with -fsanitize=thread, which puts a call before every access to memory,
// and with -fsanitize=alignment,bounds; neither of those libraries is linked, their functions are the ones
// below.
#include "shim_abi.h"

struct Dim3 {
    unsigned x, y, z;
};

#pragma GCC visibility push(hidden)
uint3 threadIdx, blockIdx;
Dim3 blockDim, gridDim;
char* shim_dynamic_shared;
// Names of the linker: the section that holds the __shared__ variables, and the module's ends.
extern "C" char __start_cuda_shared[], __stop_cuda_shared[], __ehdr_start[], _end[];
namespace shim {
// A copy, because kernels may only read what belongs to the module. Variables may be initialized before it is
// there.
Runtime runtime = {.barrier = nullptr,
                   .warp = nullptr,
                   .active_mask = nullptr,
                   .access = [](const volatile void*, size_t, Access) {},
                   .fence = nullptr,
                   .cluster = nullptr,
                   .cluster_arrive = nullptr,
                   .cluster_wait = nullptr,
                   .map_shared = nullptr,
                   .fault = nullptr};
extern const Kernel kernels[];
extern const int kernel_count;
// The section must exist. Its content also keeps a kernel's first variable from lying at the very start.
static char anchor[64] __attribute__((section("cuda_shared"), used, aligned(64)));
}  // namespace shim
#pragma GCC visibility pop

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const shim::Module* shim_module(const shim::Runtime* runtime) {
    static shim::Module module;
    shim::runtime = *runtime;
    module = {shim::kernels,
              shim::kernel_count,
              __start_cuda_shared,
              __stop_cuda_shared,
              __ehdr_start,
              _end,
              &threadIdx,
              &blockIdx,
              reinterpret_cast<uint3*>(&blockDim),
              reinterpret_cast<uint3*>(&gridDim),
              &shim_dynamic_shared};
    return &module;
}

#define HIDDEN extern "C" __attribute__((visibility("hidden")))

#define ACCESS(name, bytes)                                                                          \
    HIDDEN void __tsan_read##name(void* p) { shim::runtime.access(p, bytes, shim::Access::Read); }   \
    HIDDEN void __tsan_write##name(void* p) { shim::runtime.access(p, bytes, shim::Access::Write); } \
    HIDDEN void __tsan_volatile_read##name(void* p) { __tsan_read##name(p); }                        \
    HIDDEN void __tsan_volatile_write##name(void* p) { __tsan_write##name(p); }                      \
    HIDDEN void __tsan_unaligned_read##name(void* p) { __tsan_read##name(p); }                       \
    HIDDEN void __tsan_unaligned_write##name(void* p) { __tsan_write##name(p); }
ACCESS(1, 1)
ACCESS(2, 2)
ACCESS(4, 4)
ACCESS(8, 8)
ACCESS(16, 16)
HIDDEN void __tsan_read_range(void* p, unsigned long n) { shim::runtime.access(p, n, shim::Access::Read); }
HIDDEN void __tsan_write_range(void* p, unsigned long n) { shim::runtime.access(p, n, shim::Access::Write); }
HIDDEN void __tsan_vptr_update(void*, void*) {}
HIDDEN void __tsan_func_entry(void*) {}
HIDDEN void __tsan_func_exit() {}
HIDDEN void __tsan_init() {}

namespace {

struct Location {
    const char* file;
    unsigned line, column;
};

[[noreturn]] void fault_at(const char* what, const Location* at, const void* address) {
    char text[200];
    __builtin_snprintf(text, sizeof text, "%s in line %u (%p)", what, at->line, address);
    shim::runtime.fault(text);
    __builtin_unreachable();
}

}  // namespace

// GCC's data begin with the source location, for each of these checks.
HIDDEN void __ubsan_handle_type_mismatch_v1_abort(const Location* data, void* address) {
    fault_at("misaligned access", data, address);
}
HIDDEN void __ubsan_handle_out_of_bounds_abort(const Location* data, void* index) {
    fault_at("array index out of bounds", data, index);
}
