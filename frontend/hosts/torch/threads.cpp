// See threads.h. torch's threads are those of the OpenMP runtime that it was linked with, GNU's or one with
// the same entry points.
#include "frontend/hosts/torch/threads.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace stator::frontend::torch {

namespace {

struct OpenMp {
    void (*parallel)(void (*)(void*), void*, unsigned, unsigned) = nullptr;
    int (*most_threads)() = nullptr;
    int (*thread)() = nullptr;
    int (*threads)() = nullptr;
    pid_t process = 0;  // a child has no workers, and the runtime does not know
};

template <class F>
void find(void* library, const char* name, F** out) {
    *out = reinterpret_cast<F*>(dlsym(library, name));
}

OpenMp load() {
    OpenMp omp;
    void* torch = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
    if (!torch) return omp;
    find(torch, "GOMP_parallel", &omp.parallel);
    find(torch, "omp_get_max_threads", &omp.most_threads);
    find(torch, "omp_get_thread_num", &omp.thread);
    find(torch, "omp_get_num_threads", &omp.threads);
    dlclose(torch);  // the program keeps it
    if (!omp.most_threads || !omp.thread || !omp.threads) omp.parallel = nullptr;
    omp.process = getpid();
    return omp;
}

struct Loop {
    const OpenMp& omp;
    int64_t extent;
    uint32_t (*fn)(void*, int64_t, int64_t);
    void* context;
    std::atomic<uint32_t> result{0};

    static void run(void* self) {
        auto& loop = *static_cast<Loop*>(self);
        const int64_t threads = loop.omp.threads();
        const int64_t each = (loop.extent + threads - 1) / threads;
        const int64_t begin = loop.omp.thread() * each;
        const int64_t end = std::min(begin + each, loop.extent);
        if (begin >= end) return;
        if (const uint32_t r = loop.fn(loop.context, begin, end))
            loop.result.fetch_or(r, std::memory_order_relaxed);
    }
};

}  // namespace

bool parallel_for(int64_t extent, int64_t work, uint32_t (*fn)(void*, int64_t, int64_t), void* context,
                  uint32_t* result) {
    static const OpenMp omp = load();
    if (!omp.parallel || getpid() != omp.process) return false;
    constexpr int64_t kGrain = 32768;  // at::internal::GRAIN_SIZE
    const int64_t wanted = std::min<int64_t>(omp.most_threads(), (work + kGrain - 1) / kGrain);
    if (wanted <= 1 || extent <= 1) {
        *result = fn(context, 0, extent);
        return true;
    }
    Loop loop{omp, extent, fn, context};
    omp.parallel(Loop::run, &loop, static_cast<unsigned>(wanted), 0);
    *result = loop.result.load(std::memory_order_relaxed);
    return true;
}

}  // namespace stator::frontend::torch
