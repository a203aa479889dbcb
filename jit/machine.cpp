// See machine.h. LLVM's name of the CPU and its list of features (jit/orc/machine.cpp) follow from the
// registers that are read here.
#include "jit/machine.h"

#include <cpuid.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "kernels/vector_limit.h"

namespace stator::jit {
namespace {

enum Register : unsigned { A = 1, B = 2, C = 4, D = 8 };
struct Leaf {
    unsigned leaf, part, registers;
};
// Without what tells one core from another (EBX of leaf 1).
constexpr Leaf kLeaves[] = {
    {0, 0, B | C | D}, {1, 0, A | C | D},      {7, 0, B | C | D},  {7, 1, A | B | C | D},
    {0xd, 1, A},       {0x14, 0, B},           {0x19, 0, B},       {0x1e, 1, A},
    {0x24, 0, B},      {0x80000001, 0, C | D}, {0x80000008, 0, B}, {0x80000021, 0, A},
};

// Which registers the system saves for a process.
uint64_t saved_state() {
    unsigned a = 0, d = 0;
    asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return uint64_t{d} << 32 | a;
}

// What leaf 1 says about the CPU's family goes to `version`.
std::string identity(unsigned* version) {
    std::string text;
    const auto put = [&](uint64_t v) {
        char digits[20];
        std::snprintf(digits, sizeof digits, "%llx.", static_cast<unsigned long long>(v));
        text += digits;
    };
    bool has_xgetbv = false;
    // Each look costs microseconds in a virtual machine.
    const unsigned last = __get_cpuid_max(0, nullptr), last_extended = __get_cpuid_max(0x80000000, nullptr);
    for (const Leaf& l : kLeaves) {
        std::array<unsigned, 4> r{};
        if (l.leaf <= (l.leaf < 0x80000000 ? last : last_extended))
            __cpuid_count(l.leaf, l.part, r[0], r[1], r[2], r[3]);
        for (unsigned k = 0; k < 4; ++k)
            if (l.registers & 1u << k) put(r[k]);
        if (l.leaf != 1) continue;
        has_xgetbv = (r[2] & bit_OSXSAVE) != 0;
        *version = r[0];
    }
    if (has_xgetbv) put(saved_state());
    return text;
}

// AMD's family of Zen 3 and Zen 4, of which only the latter has AVX-512.
constexpr unsigned kZen4 = 0x19;
unsigned family(unsigned version) {
    const unsigned base = version >> 8 & 0xf;
    return base == 0xf ? base + (version >> 20 & 0xff) : base;
}

Machine detect() {
    Machine m;
    unsigned version = 0;
    m.identity = identity(&version);
    const int limit = kernels::vector_limit();
    if (limit < 512) m.identity += "at most " + std::to_string(limit) + " bits";
    m.avx2 = limit >= 256 && __builtin_cpu_supports("avx2");
    m.avx512 = limit >= 512 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    m.halves_512 = m.avx512 && family(version) == kZen4;
    m.vector_bits = m.avx512 ? 512 : m.avx2 ? 256 : 128;
    return m;
}

}  // namespace

const Machine& machine() {
    // Never destroyed: threads may outlive static destructors.
    static const Machine* m = new Machine(detect());
    return *m;
}

kernels::EmitOptions emit_options(std::string prefix, bool fastmath) {
    kernels::EmitOptions o;
    o.vector_bits = machine().vector_bits;
    o.has_avx2 = machine().avx2;
    o.has_avx512 = machine().avx512;
    o.halves_512 = machine().halves_512;
    o.fastmath = fastmath;
    o.prefix = std::move(prefix);
    return o;
}

}  // namespace stator::jit
