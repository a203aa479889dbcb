// Buffers of 64 KiB and more for results and scratch, kept after release and handed out again.
//
// Why: fresh memory from the system has to be faulted in and zeroed, which takes longer than most kernels (5
// GB/s against 13 to 17 GB/s of the memory itself), and glibc gives large blocks back at every free. Buffers
// of 2 MiB and more lie on huge pages, as NumPy's own do.
//
// Rules: sizes are rounded up to classes at most a quarter apart; the last released buffer of a class goes
// out first, because it is warmest. What is kept (not what is in use) is bounded; the longest unused buffers
// go first. Contents are undefined. Every pointer is 64-byte aligned, and release() is told the size that was
// asked for. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace stator::jit {

inline constexpr int64_t kPoolMinimum = 64 << 10;  // smaller requests go to malloc
inline constexpr int64_t kHugePage = 2 << 20;

// The class a request belongs to, and how many bytes a buffer of that class has: 64 KiB *
// {1, 1.25, 1.5, 1.75} * 2^k.
int size_class(int64_t bytes);
int64_t class_bytes(int size_class);

class Pool {
  public:
    explicit Pool(int64_t limit) : limit_(limit) {}
    Pool(const Pool&) = delete;
    ~Pool() { trim(0); }

    void* allocate(int64_t bytes);  // nullptr when the system has no more
    void release(void* p, int64_t bytes);
    void trim(int64_t keep);  // gives back kept buffers until at most `keep` bytes are kept

    int64_t kept() const;  // bytes
    std::mutex& mutex() { return mutex_; }

  private:
    struct Kept {
        void* address;
        uint64_t turn;  // grows with each release
    };
    void trim_locked(int64_t keep);

    mutable std::mutex mutex_;
    const int64_t limit_;
    int64_t kept_ = 0;
    uint64_t turn_ = 0;
    std::vector<std::deque<Kept>> free_;  // by class; newest at the back
};

// The one of this process: limited to STATOR_POOL_SIZE and an eighth of the memory.
Pool& pool();

}  // namespace stator::jit
