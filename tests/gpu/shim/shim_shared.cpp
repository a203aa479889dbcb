// See shim_shared.h.
#include "shim_shared.h"

namespace shim {
namespace {

std::string who(int thread) {
    if (thread == -2) return "an atomic operation";
    return thread < 0 ? "other threads" : "thread " + std::to_string(thread);
}

}  // namespace

std::string SharedMemory::check(size_t offset, size_t size, Access access, int thread) {
    const auto warp = static_cast<int16_t>(thread / 32);
    const auto where = [&] { return " of shared memory at offset " + std::to_string(offset); };
    for (size_t i = offset; i < offset + size && i < bytes_.size(); ++i) {
        Byte& byte = bytes_[i];
        const bool written = byte.write.epoch >= block_start_;
        if (access != Access::Write && !written)
            return "reads " + std::to_string(size) + " bytes" + where() + " that nobody wrote";
        const bool atomics = access == Access::Atomic && byte.write.thread == kAtomic;
        if (written && !atomics && concurrent(byte.write, thread))
            return std::string(access == Access::Read ? "reads" : "writes") + where() + " while " +
                   who(byte.write.thread) + " writes it: no barrier is between them";
        if (access != Access::Read && byte.read.epoch >= block_start_ && concurrent(byte.read, thread))
            return "writes" + where() + " while " + who(byte.read.thread) +
                   " may still read it: no barrier is between them";
        const Touch now{epoch_, warp_epoch_[warp], static_cast<int16_t>(thread), warp};
        if (access == Access::Write) {
            byte.write = now;
        } else if (access == Access::Atomic) {
            byte.write = {
                epoch_, warp_epoch_[warp], kAtomic,
                static_cast<int16_t>(
                    atomics && byte.write.epoch == epoch_ && byte.write.warp != warp ? kSeveral : warp)};
        } else if (byte.read.epoch != epoch_ || byte.read.thread == thread) {
            byte.read = now;
        } else {
            byte.read = {epoch_, warp_epoch_[warp], kSeveral,
                         byte.read.warp == warp ? warp : static_cast<int16_t>(kSeveral)};
        }
    }
    return "";
}

}  // namespace shim
