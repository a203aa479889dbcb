// The door between the frontend and the jit, neither of which includes the other: the frontend asks for code
// through a CompilerApi, bindings/ connects it to the jit library when that is first needed.
//
// A CodeSlot belongs to one Program of one trace, a RegionSlot to one Region. It starts empty (tier 0
// serves), and a compile thread publishes `ready` with release order when machine code is there. Slots are
// reference-counted by std::shared_ptr: dropping a trace while its compilation is queued is fine.
//
// A large region gets code twice: `ready` comes with what takes a quarter of the time to make and runs half
// as fast or so; `fn` changes when the better code is there (RegionSlot).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/region/region.h"
#include "kernels/abi.h"
#include "kernels/api/device.h"
#include "kernels/program.h"
#include "kernels/region_abi.h"

namespace stator::jit {
struct Options;  // jit/options.h
}

namespace stator::kernels {

struct CompileState {
    std::atomic<bool> ready{false};
    std::atomic<bool> failed{false};
    std::shared_ptr<void> owner;  // keeps the machine code alive
    bool from_cache = false;
    std::atomic<double> compile_seconds{0};  // wall time of code generation, 0 when from the cache
    std::string error;                       // when failed
};
struct CodeSlot : CompileState {
    std::vector<NestFn> nests;  // valid once ready
};
struct RegionSlot : CompileState {
    std::atomic<RegionFn> fn{nullptr};     // valid once ready
    std::atomic<bool> provisional{false};  // better code follows
    std::shared_ptr<void> first_owner;     // keeps the provisional code alive: it may run still
    // RegionArgs::breaker_cell of the call that runs: set before `provisional` is looked at for the last
    // time. When better code is there it leads to a word that is not 0, so that a long loop leaves at its
    // next header as if there were a signal, finds nothing to do and enters the better code.
    const volatile int32_t* volatile breaker = nullptr;
};

struct CompileRequest {
    std::string name;  // "step#1": symbol names, perf and gdb
    std::shared_ptr<const Program> program;
    std::shared_ptr<const graph::Graph> graph;  // for names of symbols and dtypes only
    std::shared_ptr<CodeSlot> slot;
    bool fastmath = false;
    bool wait = false;  // compile before returning (STATOR_ASYNC=0)
};

// A region that graph::verify accepts; its scratch cells are those of the region given.
struct RegionRequest {
    std::string name;  // "step@12"
    std::shared_ptr<const graph::Region> region;
    std::shared_ptr<RegionSlot> slot;
    bool fastmath = false;  // no effect on regions so far
    bool wait = false;
};

// Runs fn(ctx, begin, end) over [0, extent) split into grains on the worker threads; returns the OR of the
// results.
using ParallelFor = uint32_t (*)(int64_t extent, int64_t grain, uint32_t (*fn)(void*, int64_t, int64_t),
                                 void* ctx);

struct CompilerStats {
    int64_t compiles, cache_hits, cache_stores, failures;
    double compile_seconds;
};

struct Artifacts {  // for dumps and f.llvm() / f.asm(); generated on demand, not cached
    std::string loop_ir, llvm_ir, assembly, error;
};

// One CUDA source on its way to a cubin; see jit/cuda/nvrtc.h, which does it.
struct CudaCode {
    struct Kernel {
        std::string name;
        int registers;
        int64_t spill_bytes, stack_bytes, shared_bytes;
    };
    std::string cubin, ptx, log, error;
    std::vector<std::string> options;
    std::vector<Kernel> kernels;
    bool from_cache = false;
    double seconds = 0;
};

// Receives one line without its newline, possibly on the compile thread: it must not take the GIL.
using LogSink = void (*)(const char* line);

// Exported by libstator_core.so as `extern "C" const CompilerApi* stator_core_api()`.
struct CompilerApi {
    int version;                              // kCompilerApiVersion; refused when different
    void (*compile)(CompileRequest request);  // enqueue, or compile in place when request.wait
    void (*wait_idle)();                      // until the queue is empty
    // From before a fork of Python's until it is over no thread is started; `resume` goes on after that.
    void (*hold_thread)(bool held);
    void (*resume)();
    ParallelFor parallel_for;
    int (*thread_count)();
    void (*artifacts)(const CompileRequest& request, Artifacts& out);
    void (*stats)(CompilerStats& out);
    void (*reset)();                   // drop queued work and in-memory code that no slot owns
    void* (*allocate)(int64_t bytes);  // scratch from the pool, 64-byte aligned; nullptr when exhausted
    void (*release)(void* p, int64_t bytes);
    const char* (*llvm_version)();  // both open the code generator; "" when that fails
    const char* (*cpu_description)();
    // Options in force and where log lines go (nullptr: standard error). To be called before anything else;
    // without it the core reads the environment itself.
    void (*configure)(const jit::Options& options, LogSink sink);
    void (*warm_up)();  // opens in the background what the first compile() waits for
    // Where NVRTC may lie besides the usual places: folders of site-packages.
    void (*set_nvrtc_folders)(const std::vector<std::string>& folders);
    // `source` with the defect that STATOR_TEST_CUDA_MUTATE plants, else as it is.
    std::string (*mutate_cuda)(const std::string& source);
    void (*compile_cuda)(const std::string& source, const std::string& name, const std::string& arch,
                         const std::vector<std::string>& options, CudaCode& out);
    const DeviceApi* cuda;
    void (*compile_region)(RegionRequest request);  // as `compile`
    // loop_ir: the region after the passes that run before LLVM.
    void (*region_artifacts)(const RegionRequest& request, Artifacts& out);
};
inline constexpr int kCompilerApiVersion = 8;

}  // namespace stator::kernels
