// From CUDA C++ to a kernel module for the CPU.
#pragma once

#include <string>
#include <vector>

namespace shim {

// The source with what macros cannot do: `extern __shared__` variables as pointers, the list of kernels at
// the end. Lines keep their numbers.
std::string prepare_source(const std::string& source);

struct KernelSignature {
    std::string name;
    std::string launch_bounds;  // the first argument, "" without
};
std::vector<KernelSignature> kernels_of(const std::string& source);

// Compiles with g++ (or $CXX) and links; the module's path, "" with the compiler's messages in `error`.
// Modules are kept in `cache_folder` under a hash of everything they depend on.
std::string build_module(const std::string& source, const std::string& cache_folder, std::string* error);

}  // namespace shim
