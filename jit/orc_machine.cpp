// Which CPU this is: LLVM's name for it, its features, and how wide vectors should be.
#include <llvm/ADT/StringMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>

#include "jit/orc.h"

namespace stator::jit {
namespace {

Machine detect() {
    Machine m;
    m.cpu = llvm::sys::getHostCPUName().str();
    const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
    // Sorted: the text is part of cache keys, and a hash map's order is nothing to rely on.
    std::vector<std::string> features;
    for (const auto& f : host) features.push_back((f.second ? "+" : "-") + f.first().str());
    std::sort(features.begin(), features.end(),
              [](const std::string& a, const std::string& b) { return a.substr(1) < b.substr(1); });
    for (const std::string& f : features) m.features += (m.features.empty() ? "" : ",") + f;
    const auto has = [&](const char* feature) { return host.lookup(feature); };
    m.avx2 = has("avx2");
    m.avx512 = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
    m.vector_bits = m.avx512 ? 512 : m.avx2 ? 256 : 128;
    m.description = m.cpu + ", " + std::to_string(m.vector_bits) + "-bit vectors (" +
                    (m.avx512 ? "AVX-512"
                     : m.avx2 ? "AVX2"
                              : "baseline") +
                    ")";
    return m;
}

}  // namespace

const Machine& machine() {
    static const Machine* m =
        new Machine(detect());  // never destroyed: threads may outlive static destructors
    return *m;
}

const char* llvm_version() { return LLVM_VERSION_STRING; }

kernels::EmitOptions emit_options(std::string prefix, bool fastmath) {
    kernels::EmitOptions o;
    o.vector_bits = machine().vector_bits;
    o.has_avx2 = machine().avx2;
    o.has_avx512 = machine().avx512;
    o.fastmath = fastmath;
    o.prefix = std::move(prefix);
    return o;
}

}  // namespace stator::jit
