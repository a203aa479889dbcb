// See runtime_symbols.h. An object refers to nothing else: anything else is an error and not a search through
// the process, because cached objects must mean the same in every process.
#include "jit/runtime_symbols.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/tier0/host_call.h"

namespace stator::jit {
namespace {

using F64 = double (*)(double);
using F32 = float (*)(float);
// What code generation may fall back on: block moves, and rounding where SSE4.1 is missing. All of them
// exact.
const RuntimeSymbol kRuntimeSymbols[] = {
    {"stator_host_call", reinterpret_cast<void*>(&kernels::stator_host_call)},
    {"stator_x87_faults", reinterpret_cast<void*>(&kernels::stator_x87_faults)},
    {"memcpy", reinterpret_cast<void*>(&std::memcpy)},
    {"memmove", reinterpret_cast<void*>(&std::memmove)},
    {"memset", reinterpret_cast<void*>(&std::memset)},
    {"floor", reinterpret_cast<void*>(static_cast<F64>(&::floor))},
    {"ceil", reinterpret_cast<void*>(static_cast<F64>(&::ceil))},
    {"trunc", reinterpret_cast<void*>(static_cast<F64>(&::trunc))},
    {"rint", reinterpret_cast<void*>(static_cast<F64>(&::rint))},
    {"nearbyint", reinterpret_cast<void*>(static_cast<F64>(&::nearbyint))},
    {"roundeven", reinterpret_cast<void*>(static_cast<F64>(&::rint))},  // no one changes the rounding mode
    {"floorf", reinterpret_cast<void*>(static_cast<F32>(&::floorf))},
    {"ceilf", reinterpret_cast<void*>(static_cast<F32>(&::ceilf))},
    {"truncf", reinterpret_cast<void*>(static_cast<F32>(&::truncf))},
    {"rintf", reinterpret_cast<void*>(static_cast<F32>(&::rintf))},
    {"nearbyintf", reinterpret_cast<void*>(static_cast<F32>(&::nearbyintf))},
    {"roundevenf", reinterpret_cast<void*>(static_cast<F32>(&::rintf))},
};

}  // namespace

std::span<const RuntimeSymbol> runtime_symbols() { return kRuntimeSymbols; }

void* find_runtime_symbol(std::string_view name) {
    const auto found = std::find_if(std::begin(kRuntimeSymbols), std::end(kRuntimeSymbols),
                                    [&](const RuntimeSymbol& s) { return s.name == name; });
    return found == std::end(kRuntimeSymbols) ? nullptr : found->address;
}

}  // namespace stator::jit
