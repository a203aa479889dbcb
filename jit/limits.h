// How much of the machine this process may use: CPUs and memory, as affinity masks and control groups say.
#pragma once

#include <cstdint>
#include <string>

namespace stator::jit {

// Threads the process can run at once: the affinity mask, the cgroup's CPU quota (rounded up) and
// OMP_NUM_THREADS, whichever is least; at least 1. `root` is where /proc and /sys are found (tests put files
// elsewhere).
int usable_cpus(const std::string& root = "");
int affinity_cpus();                                 // the calling thread's mask alone
int64_t memory_limit(const std::string& root = "");  // bytes: the memory or the cgroup's limit

}  // namespace stator::jit
