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

// Makes visible what its thread wrote before it, and what the block's other threads wrote before the last
// barrier.
void GlobalMemory::fence(int thread) {
    std::erase_if(unfenced_, [&](Word* word) {
        if (word->thread != thread && word->epoch == epoch_) return false;
        word->fenced = 1;
        return true;
    });
}

std::string GlobalMemory::check(const volatile void* address, size_t size, Access access, int thread) {
    if (size < 4 || reinterpret_cast<uintptr_t>(address) % 4 != 0) return "";
    Word* word = words(address);
    if (!word) return "";
    if (access == Access::Atomic) met_others_ = true;
    const auto warp_epoch = static_cast<uint16_t>(warp_epoch_[thread / 32] & 0x3fff);
    const auto text = [&](const char* verb, const char* between) {
        const std::string who = word->block == block_
                                    ? "thread " + std::to_string(word->thread) + " of the same block"
                                    : "block " + std::to_string(word->block) + " of the same launch";
        return std::string(verb) + " " + std::to_string(size) + " bytes that " + who + " writes: " + between;
    };
    for (size_t i = 0; i < size / 4; ++i, ++word) {
        const bool written = word->launch == launch_ && !(access == Access::Atomic && word->atomic);
        const char* verb = access == Access::Read ? "reads" : "writes";
        if (written && word->block != block_) {
            if (!met_others_) return text(verb, "nothing orders them");
            if (!word->fenced) return text(verb, "it did so without a __threadfence behind it");
        } else if (written && word->thread != thread && word->epoch == epoch_ &&
                   !(word->atomic && access == Access::Read) &&
                   (word->thread / 32 != thread / 32 || word->warp_epoch == warp_epoch)) {
            return text(verb, "no barrier is between them");
        }
        if (access == Access::Read) continue;
        const bool atomic = access == Access::Atomic;
        *word = {launch_, block_, epoch_, static_cast<uint16_t>(thread), warp_epoch, atomic, atomic};
        if (!atomic) unfenced_.push_back(word);
    }
    return "";
}

}  // namespace shim
