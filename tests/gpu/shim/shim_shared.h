// Who read and wrote each byte of shared memory since the last barrier: finds races in every schedule,
// whether or not the values happen to come out right, and reads of what nobody wrote.
//
// Threads are numbered through the blocks of a cluster, offsets through their shared memories.
#pragma once

#include <stdint.h>

#include <string>
#include <vector>

#include "shim_abi.h"
#include "shim_fiber.h"

namespace shim {

class SharedMemory {
  public:
    void begin_launch(size_t bytes, int threads_per_block) {
        if (bytes_.size() < bytes) bytes_.resize(bytes);
        threads_per_block_ = threads_per_block;
    }
    void begin_cluster() { ++serial_; }
    // Each orders everything before it and after it, within a block, a cluster, a warp.
    void barrier(int rank) { ++epoch_[rank]; }
    void cluster_barrier() { ++cluster_epoch_; }
    void warp_barrier(int warp) { ++warp_epoch_[warp]; }

    // "" or what is wrong with this access.
    std::string check(size_t offset, size_t size, Access access, int thread);

  private:
    static constexpr int kSeveral = -1, kAtomic = -2;
    struct Touch {
        uint32_t serial = 0, epoch = 0, cluster_epoch = 0, warp_epoch = 0;
        int16_t thread = 0, warp = 0, rank = 0;  // thread: or kSeveral, kAtomic; the others: or kSeveral
    };
    struct Byte {
        Touch write, read;
    };
    Touch touch(int thread) const;
    bool concurrent(const Touch& touch, int thread) const;
    Touch merged(const Touch& earlier, Touch now) const;

    std::vector<Byte> bytes_;
    int threads_per_block_ = 1;
    uint32_t serial_ = 0, cluster_epoch_ = 0;
    uint32_t epoch_[kMaxCluster] = {}, warp_epoch_[kMaxFibers / 32] = {};
};

}  // namespace shim
