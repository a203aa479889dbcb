// See threads.h.
#include "jit/threads.h"

#include <immintrin.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <memory>
#include <mutex>

#include "jit/core.h"
#include "jit/fork.h"
#include "jit/limits.h"

namespace stator::jit {
namespace {

// Signals belong to the program's threads: CPython may not look at one that came to another thread before
// something else asks for its attention (its eval breaker stays unset).
class SignalsElsewhere : public tbb::task_scheduler_observer {
  public:
    explicit SignalsElsewhere(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
    ~SignalsElsewhere() override { observe(false); }
    void on_scheduler_entry(bool is_worker) override {
        thread_local bool blocked = false;
        if (!is_worker || blocked) return;
        blocked = true;
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, nullptr);
    }
};

// Where our loops run.
struct Arena {
    tbb::task_arena arena;
    SignalsElsewhere observer;
    explicit Arena(int count) : arena(count), observer(arena) {}
};

struct Workers {
    std::mutex mutex;
    std::atomic<int> count{0};  // 0 = not yet decided
    std::atomic<int> affinity{0};
    // What keeps TBB's scheduler alive, and what lets it have more threads than CPUs.
    std::unique_ptr<tbb::task_scheduler_handle> scheduler;
    std::unique_ptr<tbb::global_control> control;
    std::shared_ptr<Arena> arena;
    bool serial = false;  // TBB could not be shut down before a fork: the child does without
};
Workers& workers() {
    static Workers* w = new Workers;
    return *w;
}

int wanted_threads() {
    const int64_t set = options().threads;
    return static_cast<int>(set > 0 ? std::min<int64_t>(set, 1024) : usable_cpus());
}

void decide(Workers& w, int affinity) {
    w.affinity.store(affinity, std::memory_order_relaxed);
    w.count.store(w.serial ? 1 : wanted_threads(), std::memory_order_relaxed);
}

std::shared_ptr<Arena> current_arena() {
    Workers& w = workers();
    std::lock_guard lock(w.mutex);
    const int affinity = affinity_cpus();
    if (affinity != w.affinity.load(std::memory_order_relaxed) ||
        w.count.load(std::memory_order_relaxed) == 0) {
        w.arena.reset();
        decide(w, affinity);
    }
    const int count = w.count.load(std::memory_order_relaxed);
    if (count <= 1) return nullptr;
    if (!w.arena) {
        handle_fork();
        if (!w.scheduler) w.scheduler = std::make_unique<tbb::task_scheduler_handle>(tbb::attach{});
        if (count > tbb::info::default_concurrency() && !w.control)
            w.control = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                              static_cast<size_t>(count));
        w.arena = std::make_shared<Arena>(count);
    }
    return w.arena;
}

constexpr unsigned kFlags = 0x3f;  // the sticky exception flags of MXCSR

}  // namespace

int thread_count() {
    Workers& w = workers();
    if (const int n = w.count.load(std::memory_order_relaxed)) return n;
    std::lock_guard lock(w.mutex);
    decide(w, affinity_cpus());
    return w.count.load(std::memory_order_relaxed);
}

uint32_t parallel_for(int64_t extent, int64_t grain, uint32_t (*fn)(void*, int64_t, int64_t), void* context) {
    grain = std::max<int64_t>(grain, 1);
    if (extent <= grain || thread_count() == 1) return fn(context, 0, extent);
    const std::shared_ptr<Arena> arena = current_arena();
    if (!arena) return fn(context, 0, extent);

    const unsigned mxcsr = _mm_getcsr();
    std::atomic<uint32_t> faults{0};
    const auto piece = [&](const tbb::blocked_range<int64_t>& blocks) {
        const unsigned own = _mm_getcsr();
        _mm_setcsr(mxcsr & ~kFlags);
        const uint32_t f = fn(context, blocks.begin() * grain, std::min(blocks.end() * grain, extent));
        _mm_setcsr(own);
        if (f) faults.fetch_or(f, std::memory_order_relaxed);
    };
    const int64_t blocks = (extent + grain - 1) / grain;
    arena->arena.execute([&] { tbb::parallel_for(tbb::blocked_range<int64_t>(0, blocks), piece); });
    return faults.load(std::memory_order_relaxed);
}

void forget_thread_count() {
    Workers& w = workers();
    std::lock_guard lock(w.mutex);
    w.arena.reset();  // of the old size
    w.control.reset();
    w.count.store(0, std::memory_order_relaxed);
}

void threads_before_fork() {
    Workers& w = workers();
    w.mutex.lock();
    w.arena.reset();
    w.control.reset();
    // Fails when another thread is inside a loop, or somebody else uses this TBB.
    if (w.scheduler && !tbb::finalize(*w.scheduler, std::nothrow)) w.serial = true;
    w.scheduler.reset();
}

void threads_after_fork(bool child) {
    Workers& w = workers();
    if (!child) w.serial = false;  // the parent's workers are still there
    w.count.store(w.serial ? 1 : 0, std::memory_order_relaxed);
    w.mutex.unlock();
}

}  // namespace stator::jit
