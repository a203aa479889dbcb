// See pool.h. Classes are numbered so that class 4*k + q holds 64 KiB * (4 + q) / 4 * 2^k bytes.
#include "jit/pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "jit/core.h"
#include "jit/limits.h"

namespace stator::jit {
namespace {

void* map(int64_t bytes) {
    const auto size = static_cast<size_t>(bytes);
    if (bytes < kHugePage) {
        void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return p == MAP_FAILED ? nullptr : p;
    }
    // One huge page more than needed, then what lies outside the aligned part goes back.
    const auto huge = static_cast<size_t>(kHugePage);
    void* p = mmap(nullptr, size + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    const auto start = reinterpret_cast<uintptr_t>(p);
    const uintptr_t aligned = (start + huge - 1) & ~(huge - 1);
    if (aligned > start) munmap(p, aligned - start);
    if (const size_t rest = start + huge - aligned) munmap(reinterpret_cast<void*>(aligned + size), rest);
    void* result = reinterpret_cast<void*>(aligned);
    madvise(result, size, MADV_HUGEPAGE);  // where the system has none, plain pages do
    return result;
}

}  // namespace

int size_class(int64_t bytes) {
    const auto units =
        static_cast<uint64_t>(std::max(bytes, kPoolMinimum) + kPoolMinimum / 4 - 1) / (kPoolMinimum / 4);
    // `units` quarter-steps of 64 KiB, at least 4: the top three bits give the class, the rest rounds up.
    const int shift = std::bit_width(units) - 3;
    const uint64_t rounded = (units + (uint64_t{1} << shift) - 1) >> shift;  // 4 .. 8
    return rounded == 8 ? 4 * (shift + 1) : 4 * shift + static_cast<int>(rounded - 4);
}

int64_t class_bytes(int c) { return (kPoolMinimum / 4 * (4 + c % 4)) << (c / 4); }

void* Pool::allocate(int64_t bytes) {
    if (bytes < kPoolMinimum)
        return std::aligned_alloc(64, static_cast<size_t>(std::max<int64_t>(bytes, 1) + 63) & ~size_t{63});
    if (bytes > int64_t{1} << 46) return nullptr;
    const int c = size_class(bytes);
    {
        std::lock_guard lock(mutex_);
        if (c < static_cast<int>(free_.size()) && !free_[c].empty()) {
            void* p = free_[c].back().address;
            free_[c].pop_back();
            kept_ -= class_bytes(c);
            return p;
        }
    }
    if (void* p = map(class_bytes(c))) return p;
    trim(0);  // what is kept may be what is missing
    return map(class_bytes(c));
}

void Pool::release(void* p, int64_t bytes) {
    if (!p) return;
    if (bytes < kPoolMinimum) return std::free(p);
    const int c = size_class(bytes);
    const int64_t size = class_bytes(c);
    if (size > limit_) {
        munmap(p, static_cast<size_t>(size));
        return;
    }
    std::lock_guard lock(mutex_);
    if (c >= static_cast<int>(free_.size())) free_.resize(static_cast<size_t>(c) + 1);
    free_[c].push_back({p, turn_++});
    kept_ += size;
    if (kept_ > limit_) trim_locked(limit_);
}

void Pool::trim(int64_t keep) {
    std::lock_guard lock(mutex_);
    trim_locked(keep);
}

void Pool::trim_locked(int64_t keep) {
    while (kept_ > keep) {
        int oldest = -1;
        for (int c = 0; c < static_cast<int>(free_.size()); ++c)
            if (!free_[c].empty() && (oldest < 0 || free_[c].front().turn < free_[oldest].front().turn))
                oldest = c;
        if (oldest < 0) return;
        munmap(free_[oldest].front().address, static_cast<size_t>(class_bytes(oldest)));
        free_[oldest].pop_front();
        kept_ -= class_bytes(oldest);
    }
}

int64_t Pool::kept() const {
    std::lock_guard lock(mutex_);
    return kept_;
}

Pool& pool() {
    // Never destroyed: arrays may be freed after static destructors have run.
    static Pool* p = new Pool(std::min(options().pool_size, memory_limit() / 8));
    return *p;
}

}  // namespace stator::jit
