// Who read and wrote each byte of shared memory since the last barrier: finds races in every schedule,
// whether or not the values happen to come out right, and reads of what nobody wrote.
#pragma once

#include <stdint.h>

#include <string>
#include <vector>

#include "shim_abi.h"

namespace shim {

class SharedMemory {
  public:
    void begin_launch(size_t bytes) {
        if (bytes_.size() < bytes) bytes_.resize(bytes);
    }
    void begin_block() { block_start_ = ++epoch_; }
    void barrier() { ++epoch_; }                               // orders everything before it and after it
    void warp_barrier(int warp) { ++warp_epoch_[warp & 31]; }  // the same within a warp

    // "" or what is wrong with this access; `offset` counts from the begin of shared memory.
    std::string check(size_t offset, size_t size, Access access, int thread);

  private:
    static constexpr int kSeveral = -1, kAtomic = -2;
    struct Touch {
        uint32_t epoch = 0, warp_epoch = 0;
        int16_t thread = 0, warp = 0;  // thread: or kSeveral, kAtomic; warp: or kSeveral
    };
    struct Byte {
        Touch write, read;
    };
    bool concurrent(const Touch& touch, int thread) const {
        if (touch.epoch != epoch_ || touch.thread == thread) return false;
        return touch.warp != thread / 32 || touch.warp_epoch == warp_epoch_[thread / 32];
    }

    std::vector<Byte> bytes_;
    uint32_t epoch_ = 0, block_start_ = 0;
    uint32_t warp_epoch_[32] = {};
};

}  // namespace shim
