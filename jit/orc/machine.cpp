// What LLVM calls this CPU, and its features.
#include <llvm/ADT/StringMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>

#include "jit/machine.h"
#include "jit/orc/orc.h"
#include "kernels/vector_limit.h"

namespace stator::jit {
namespace {

// Whether a feature comes with registers that are wider than tests allow.
bool is_too_wide(llvm::StringRef feature) {
    const int limit = kernels::vector_limit();
    if (limit < 512 && (feature.starts_with("avx512") || feature.starts_with("avx10"))) return true;
    if (limit >= 256) return false;
    for (const char* name : {"fma", "fma4", "f16c", "vaes", "vpclmulqdq", "xop"})
        if (feature == name) return true;
    return feature.starts_with("avx");
}

Cpu detect() {
    Cpu cpu;
    cpu.name = llvm::sys::getHostCPUName().str();
    const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
    // Sorted: a hash map's order is nothing to rely on.
    std::vector<std::string> features;
    for (const auto& f : host)
        features.push_back((f.second && !is_too_wide(f.first()) ? "+" : "-") + f.first().str());
    std::sort(features.begin(), features.end(),
              [](const std::string& a, const std::string& b) { return a.substr(1) < b.substr(1); });
    for (const std::string& f : features) cpu.features += (cpu.features.empty() ? "" : ",") + f;
    const Machine& m = machine();
    cpu.description = cpu.name + ", " + std::to_string(m.vector_bits) + "-bit vectors (" +
                      (m.avx512 ? "AVX-512"
                       : m.avx2 ? "AVX2"
                                : "baseline") +
                      ")";
    return cpu;
}

}  // namespace

const Cpu& host_cpu() {
    // Never destroyed: threads may outlive static destructors.
    static const Cpu* cpu = new Cpu(detect());
    return *cpu;
}

const char* llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace stator::jit
