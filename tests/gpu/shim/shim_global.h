// Who wrote each word of device memory in this launch. Blocks of a launch run at the same time on a GPU, one
// after the other here; a read of what another block wrote is right only behind a fence of the writer and an
// atomic operation of the reader's block, and a read of what another thread of the block wrote only behind a
// barrier.
#pragma once

#include <stdint.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "shim_abi.h"
#include "shim_fiber.h"

namespace shim {

class GlobalMemory {
  public:
    void begin_launch() {
        ++launch_;
        parts_.clear();
    }
    void begin_block(int rank, uint32_t block) {
        blocks_[rank].number = block;
        ++blocks_[rank].epoch;
        blocks_[rank].met_others = false;
        blocks_[rank].unfenced.clear();
    }
    void run_block(int rank) { block_ = &blocks_[rank]; }  // of the cluster, whose thread goes on
    void barrier(int rank) { ++blocks_[rank].epoch; }
    void cluster_barrier();
    void warp_barrier(int warp) { ++warp_epoch_[warp]; }
    void fence(int thread);
    void forget(const char* pages, size_t bytes);  // memory that is not used any more; between launches

    // "" or what is wrong; `address` is in device memory.
    std::string check(const volatile void* address, size_t size, Access access, int thread);

  private:
    struct Word {
        uint32_t launch, block, epoch;
        uint16_t thread, warp_epoch : 14, fenced : 1, atomic : 1;
    };
    Word* words(const volatile void* address);
    uint16_t warp_epoch(int thread) const { return warp_epoch_[thread / 32] & 0x3fff; }
    std::string conflict(const Word& word, size_t size, Access access, int thread) const;
    void record(Word& word, Access access, int thread);

    Word* shadow_ = nullptr;
    struct Running {
        uint32_t number = 0, epoch = 0;
        bool met_others = false;  // the block executed an atomic operation
        std::vector<Word*> unfenced;
    };
    Running blocks_[kMaxCluster];
    Running* block_ = blocks_;
    uint32_t launch_ = 0;
    uint16_t warp_epoch_[kMaxFibers / 32] = {};
    std::unordered_map<uintptr_t, Word> parts_;  // bytes, of elements smaller than a word
};

}  // namespace shim
