// See shim_shared.h.
#include "shim_shared.h"

namespace shim {

SharedMemory::Touch SharedMemory::touch(int thread) const {
    const int rank = thread / threads_per_block_, warp = thread / 32;
    return {serial_,
            epoch_[rank],
            cluster_epoch_,
            warp_epoch_[warp],
            static_cast<int16_t>(thread),
            static_cast<int16_t>(warp),
            static_cast<int16_t>(rank)};
}

bool SharedMemory::concurrent(const Touch& earlier, int thread) const {
    const Touch now = touch(thread);
    if (earlier.serial != serial_ || earlier.thread == thread) return false;
    if (earlier.rank != now.rank) return earlier.cluster_epoch == cluster_epoch_;
    return earlier.epoch == now.epoch && (earlier.warp != now.warp || earlier.warp_epoch == now.warp_epoch);
}

// One record for all threads that came between two barriers.
SharedMemory::Touch SharedMemory::merged(const Touch& earlier, Touch now) const {
    const bool over = earlier.serial != serial_ || earlier.cluster_epoch != cluster_epoch_ ||
                      (earlier.rank == now.rank && earlier.epoch != now.epoch);
    if (over || earlier.thread == now.thread) return now;
    if (now.thread != kAtomic) now.thread = kSeveral;
    if (earlier.warp != now.warp) now.warp = kSeveral;
    if (earlier.rank != now.rank) now.rank = kSeveral;
    return now;
}

std::string SharedMemory::check(size_t offset, size_t size, Access access, int thread) {
    const auto who = [&](const Touch& t) {
        if (t.thread == kAtomic) return std::string("an atomic operation");
        if (t.thread == kSeveral) return std::string("other threads");
        return "thread " + std::to_string(t.thread % threads_per_block_) +
               (t.rank != thread / threads_per_block_ ? " of the cluster's block " + std::to_string(t.rank)
                                                      : "");
    };
    const auto where = [&] { return " of shared memory at offset " + std::to_string(offset); };
    for (size_t i = offset; i < offset + size && i < bytes_.size(); ++i) {
        Byte& byte = bytes_[i];
        if (access != Access::Write && byte.write.serial != serial_)
            return "reads " + std::to_string(size) + " bytes" + where() + " that nobody wrote";
        const bool atomics = access == Access::Atomic && byte.write.thread == kAtomic;
        if (!atomics && concurrent(byte.write, thread))
            return std::string(access == Access::Read ? "reads" : "writes") + where() + " while " +
                   who(byte.write) + " writes it: no barrier is between them";
        if (access != Access::Read && concurrent(byte.read, thread))
            return "writes" + where() + " while " + who(byte.read) +
                   " may still read it: no barrier is between them";
        Touch now = touch(thread);
        if (access == Access::Read) {
            byte.read = merged(byte.read, now);
        } else if (access == Access::Write) {
            byte.write = now;
        } else {
            now.thread = kAtomic;
            byte.write = atomics ? merged(byte.write, now) : now;
        }
    }
    return "";
}

}  // namespace shim
