// See shim_global.h.
#include "shim_global.h"

#include <sys/mman.h>

#include "shim_memory.h"

namespace shim {

GlobalMemory::Word* GlobalMemory::words(const volatile void* address) {
    if (!shadow_) {
        void* p = mmap(nullptr, kArena / 4 * sizeof(Word), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) return nullptr;
        shadow_ = static_cast<Word*>(p);
    }
    return shadow_ + arena_offset(address) / 4;
}

void GlobalMemory::forget(const char* pages, size_t bytes) {
    if (shadow_) madvise(words(pages), bytes / 4 * sizeof(Word), MADV_DONTNEED);
}

// Makes visible what its thread wrote before it, and what the block's other threads wrote before the last
// barrier.
void GlobalMemory::fence(int thread) {
    std::erase_if(block_->unfenced, [&](Word* word) {
        if (word->thread != thread && word->epoch == block_->epoch) return false;
        word->fenced = 1;
        return true;
    });
}

// Orders the blocks of a cluster. Those of other clusters are taken for ordered as well, then.
void GlobalMemory::cluster_barrier() {
    for (Running& block : blocks_) {
        ++block.epoch;
        block.met_others = true;
        for (Word* word : block.unfenced) word->fenced = 1;
        block.unfenced.clear();
    }
}

std::string GlobalMemory::conflict(const Word& word, size_t size, Access access, int thread) const {
    if (word.launch != launch_ || (access == Access::Atomic && word.atomic)) return "";
    const auto text = [&](const char* between) {
        const std::string who = word.block == block_->number
                                    ? "thread " + std::to_string(word.thread) + " of the same block"
                                    : "block " + std::to_string(word.block) + " of the same launch";
        return std::string(access == Access::Read ? "reads " : "writes ") + std::to_string(size) +
               " bytes that " + who + " writes: " + between;
    };
    if (word.block != block_->number) {
        if (!block_->met_others) return text("nothing orders them");
        return word.fenced ? "" : text("it did so without a __threadfence behind it");
    }
    const bool ordered = word.thread == thread || word.epoch != block_->epoch ||
                         (word.atomic && access == Access::Read) ||
                         (word.thread / 32 == thread / 32 && word.warp_epoch != warp_epoch(thread));
    return ordered ? "" : text("no barrier is between them");
}

void GlobalMemory::record(Word& word, Access access, int thread) {
    const bool atomic = access == Access::Atomic;
    word = {launch_, block_->number, block_->epoch, static_cast<uint16_t>(thread), warp_epoch(thread),
            atomic,  atomic};
    if (!atomic) block_->unfenced.push_back(&word);
}

std::string GlobalMemory::check(const volatile void* address, size_t size, Access access, int thread) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    Word* word = words(address);
    if (!word) return "";
    if (access == Access::Atomic) block_->met_others = true;
    std::string problem;
    const bool whole = size % 4 == 0 && at % 4 == 0;
    for (size_t i = 0; i < (whole ? size / 4 : 1) && problem.empty(); ++i, ++word) {
        problem = conflict(*word, size, access, thread);
        if (whole && access != Access::Read) record(*word, access, thread);
    }
    // Parts of words have records of their own, in a map: few kernels have any.
    if (whole && parts_.empty()) return problem;
    for (size_t i = 0; i < size && problem.empty(); ++i) {
        const auto part = parts_.find(at + i);
        if (part != parts_.end()) problem = conflict(part->second, size, access, thread);
        if (!whole && access != Access::Read) record(parts_[at + i], access, thread);
    }
    return problem;
}

}  // namespace shim
