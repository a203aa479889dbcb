// The one symbol libstator_core.so exports: the table through which the rest of stator reaches it. Nothing
// may throw through it.
#include "jit/codegen.h"
#include "jit/compiler.h"
#include "jit/core.h"
#include "jit/cuda/device.h"
#include "jit/cuda/nvrtc.h"
#include "jit/fork.h"
#include "jit/pool.h"
#include "jit/threads.h"
#include "kernels/api/compiler.h"

namespace stator::jit {
namespace {

void* allocate(int64_t bytes) {
    handle_fork();
    return pool().allocate(bytes);
}

void release(void* p, int64_t bytes) { pool().release(p, bytes); }

void configure_core(const Options& o, kernels::LogSink sink) {
    set_log_sink(sink);
    configure(o);
    forget_thread_count();
}

void reset_all() {
    reset();
    pool().trim(0);
}

void compile_cuda_source(const std::string& source, const std::string& name, const std::string& arch,
                         const std::vector<std::string>& options, kernels::CudaCode& out) {
    CudaBinary b;
    if (!compile_cuda(source, name, arch, options, &b, &out.error)) return;
    out.cubin = std::move(b.cubin), out.ptx = std::move(b.ptx), out.log = std::move(b.log);
    out.options = std::move(b.options);
    out.from_cache = b.from_cache, out.seconds = b.seconds;
    for (const CudaKernelStats& k : b.kernels)
        out.kernels.push_back({k.name, k.registers, k.spill_bytes, k.stack_bytes, k.shared_bytes});
}

const kernels::CompilerApi kApi = {
    .version = kernels::kCompilerApiVersion,
    .compile = compile,
    .wait_idle = wait_idle,
    .hold_thread = [](bool held) { compile_queue().hold(held); },
    .resume = [] { compile_queue().resume(); },
    .parallel_for = parallel_for,
    .thread_count = thread_count,
    .artifacts = artifacts,
    .stats = stats,
    .reset = reset_all,
    .allocate = allocate,
    .release = release,
    .llvm_version =
        [] {
            const CodegenApi* c = codegen();
            return c ? c->llvm_version() : "";
        },
    .cpu_description =
        [] {
            const CodegenApi* c = codegen();
            return c ? c->cpu_description() : "";
        },
    .configure = configure_core,
    .warm_up = warm_up,
    .set_nvrtc_folders = [](const std::vector<std::string>& folders) { set_nvrtc_folders(folders); },
    .mutate_cuda = [](const std::string& source) { return mutate_for_tests(source); },
    .compile_cuda = compile_cuda_source,
    .cuda = &cuda_device_api(),
    .compile_region = compile_region,
    .region_artifacts = region_artifacts,
};

}  // namespace
}  // namespace stator::jit

extern "C" __attribute__((visibility("default"))) const stator::kernels::CompilerApi* stator_core_api() {
    return &stator::jit::kApi;
}
