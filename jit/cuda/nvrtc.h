// NVRTC: CUDA C++ to a cubin, without a GPU, a toolkit or NVIDIA's headers.
//
// The library is opened when the first kernel is compiled (5 ms, several hundred when its 140 MB are not in
// memory yet), so nothing here costs a program that uses no GPU. It is looked for in this order, the first
// that opens wins: the option `nvrtc` (STATOR_NVRTC; then nothing else is tried), the folders the bindings
// name and the ones beside this library (the wheel nvidia-cuda-nvrtc), the loader's path, /usr/local/cuda*.
//
// Compiled sources are kept in memory and in the object cache. Rules: one compilation at a time, because a
// child of fork() must not find NVRTC's own locks taken; nothing throws; every failure is a text that says
// what was expected, what was found and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stator::jit {

// What ptxas says about one kernel.
struct CudaKernelStats {
    std::string name;
    int registers = 0;         // per thread
    int64_t spill_bytes = 0;   // stores and loads together, per thread
    int64_t stack_bytes = 0;   // per thread
    int64_t shared_bytes = 0;  // static shared memory per block
    int barriers = 0;
};

struct CudaBinary {
    std::string cubin;  // empty when `arch` was a compute_XX
    std::string ptx;
    std::string log;                   // NVRTC's, with ptxas's lines
    std::vector<std::string> options;  // NVRTC's, as they were used
    std::vector<CudaKernelStats> kernels;
    bool from_cache = false;
    double seconds = 0;  // of this call
};

// Compiles all kernels of a source at once. `arch` is "sm_90" or, for PTX alone, "compute_90". `name` appears
// in messages. An extra option replaces the default one of the same name. False leaves `out` alone and sets
// `error`.
bool compile_cuda(const std::string& source, const std::string& name, const std::string& arch,
                  const std::vector<std::string>& extra_options, CudaBinary* out, std::string* error);

// The options compile_cuda passes for this source, before any that an old NVRTC does not know are dropped.
std::vector<std::string> cuda_options(std::string_view source, const std::string& arch,
                                      const std::vector<std::string>& extra_options);

// Folders to look into for libnvrtc: site-packages folders or folders that hold the library itself.
void set_nvrtc_folders(std::vector<std::string> folders);

struct NvrtcInfo {
    std::string path;  // of the library
    int major = 0, minor = 0;
    std::vector<int> archs;  // 75, 80, 86, ...
};
// Opens the library if need be. Null with the reason in `error` (may be null) where there is none.
const NvrtcInfo* nvrtc_info(std::string* error);

// The `arch` to compile for on a device of this compute capability: "sm_90", or "compute_XX" with the newest
// architecture NVRTC knows when the device is newer than that (its driver then finishes the PTX).
bool cuda_arch_for(int major, int minor, std::string* arch, std::string* error);

// ptxas's lines about each kernel, in the order of the log.
std::vector<CudaKernelStats> parse_ptxas_log(std::string_view log);

// Applies STATOR_TEST_CUDA_MUTATE ("REGEX=>REPLACEMENT", ECMAScript, $1 for groups) to a kernel source, so
// that tests can plant defects. Unset: the source as it is. A pattern that cannot be used makes the source
// one that does not compile, because a defect that was silently not planted would pass for one that was
// missed.
std::string mutate_for_tests(std::string source);

void nvrtc_before_fork();
void nvrtc_after_fork();

// For tests: forgets the library (it stays open) and what is in memory.
void reset_nvrtc();

}  // namespace stator::jit
