// libcountedcuda.so: the machine's own CUDA driver, with what tests ask the fake one for. Calls are counted,
// and the nth call of a function can be made to fail. Tests that were written for the fake run on a GPU with
// it (STATOR_TEST_GPU).
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "jit/cuda/driver_table.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum Function {
#define F(name, symbol, parameters) k_##symbol,
    CUDA_FUNCTIONS(F) CUDA_OPTIONAL_FUNCTIONS(F)
#undef F
        kFunctions
};
constexpr const char* kNames[] = {
#define F(name, symbol, parameters) #symbol,
    CUDA_FUNCTIONS(F) CUDA_OPTIONAL_FUNCTIONS(F)
#undef F
};

struct Entry {
    std::atomic<int> calls{0};
    std::mutex mutex;
    std::map<int, int> failures;  // by number of the call: what it returns

    // What the next call returns; 0: what the driver says.
    int count() {
        const int call = ++calls;
        std::lock_guard lock(mutex);
        const auto it = failures.find(call);
        return it == failures.end() ? 0 : it->second;
    }
};
Entry g_entries[kFunctions];

// Integers and pointers are passed alike on x86-64, and a function does not look at more arguments than it
// has: eleven, as many as cuLaunchKernel has, will do for each.
using Word = uint64_t;
using Real = int (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);

Real real(int function) {
    static void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void* found = library ? dlsym(library, kNames[function]) : nullptr;
    if (!found) {
        std::fprintf(stderr, "libcountedcuda.so: %s\n", dlerror());
        std::abort();
    }
    return reinterpret_cast<Real>(found);
}

// The entry of a function, under the name that tests of the fake give it: without the suffix of its version.
Entry* entry_of(const char* function) {
    for (int i = 0; i < kFunctions; ++i)
        if (!std::strcmp(kNames[i], function) || (!std::strncmp(kNames[i], function, std::strlen(function)) &&
                                                  !std::strcmp(kNames[i] + std::strlen(function), "_v2")))
            return &g_entries[i];
    return nullptr;
}

}  // namespace

#define F(name, symbol, parameters)                                                                   \
    EXPORT int symbol(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, \
                      Word k) {                                                                       \
        static const Real call = real(k_##symbol);                                                    \
        if (const int code = g_entries[k_##symbol].count()) return code;                              \
        return call(a, b, c, d, e, f, g, h, i, j, k);                                                 \
    }
CUDA_FUNCTIONS(F)
CUDA_OPTIONAL_FUNCTIONS(F)
#undef F

// Nobody watches the rules of a real driver, and what it still holds it does not say.
EXPORT const char* fake_cuda_violations() { return ""; }
EXPORT const char* fake_cuda_leaks() { return ""; }
EXPORT void fake_cuda_schedule(int, uint64_t) {}

EXPORT int fake_cuda_calls(const char* function) {
    const Entry* entry = entry_of(function);
    return entry ? entry->calls.load() : 0;
}

// The nth call of `function` from now on (1 = the next) returns `code`.
EXPORT void fake_cuda_inject(const char* function, int nth, int code) {
    if (Entry* entry = entry_of(function)) {
        std::lock_guard lock(entry->mutex);
        entry->failures[entry->calls + nth] = code;
    }
}
