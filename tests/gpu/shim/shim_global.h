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

namespace shim {

class GlobalMemory {
  public:
    void begin_launch() {
        ++launch_;
        parts_.clear();
    }
    void begin_block(uint32_t block) {
        block_ = block;
        ++epoch_;
        met_others_ = false;
        unfenced_.clear();
    }
    void barrier() { ++epoch_; }
    void warp_barrier(int warp) { ++warp_epoch_[warp & 31]; }
    void fence(int thread);

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
    uint32_t launch_ = 0, block_ = 0, epoch_ = 0;
    uint16_t warp_epoch_[32] = {};
    bool met_others_ = false;  // the block executed an atomic operation
    std::vector<Word*> unfenced_;
    std::unordered_map<uintptr_t, Word> parts_;  // bytes, of elements smaller than a word
};

}  // namespace shim
