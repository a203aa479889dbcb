// Control groups in short: version 2 has one hierarchy, `/proc/self/cgroup` holds "0::/path", and limits of
// every folder from there up to the root apply (cpu.max "quota period", memory.max). Version 1 has a
// hierarchy per controller ("4:cpu,cpuacct:/path": cpu.cfs_quota_us, cpu.cfs_period_us;
// memory.limit_in_bytes). Inside a container the path may not exist below the mount; then the mount itself is
// the group.
#include "jit/limits.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <vector>

namespace stator::jit {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// Folders whose limits apply to this process, for version 2 (controller "") or one controller of version 1.
std::vector<std::string> groups(const std::string& root, const std::string& controller) {
    const std::string mount = root + "/sys/fs/cgroup" + (controller.empty() ? "" : "/" + controller);
    std::vector<std::string> folders{mount};
    std::ifstream file(root + "/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const size_t a = line.find(':'), b = line.find(':', a + 1);
        if (b == line.npos) continue;
        const std::string names = "," + line.substr(a + 1, b - a - 1) + ",";
        if (names.find("," + controller + ",") == names.npos) continue;
        for (std::string path = line.substr(b + 1); path.size() > 1; path.resize(path.rfind('/')))
            folders.push_back(mount + path);
    }
    return folders;
}

// Millionths of a CPU.
int64_t cpu_quota(const std::string& root) {
    int64_t least = kNone;
    const auto consider = [&](int64_t quota, int64_t period) {
        if (quota > 0 && period > 0) least = std::min(least, quota * 1000 / period * 1000);
    };
    for (const std::string& folder : groups(root, "")) {
        std::istringstream in(first_line(folder + "/cpu.max"));
        int64_t quota = 0, period = 0;
        if (in >> quota >> period) consider(quota, period);  // "max 100000" does not parse: no limit
    }
    for (const std::string& folder : groups(root, "cpu")) {
        const std::string quota = first_line(folder + "/cpu.cfs_quota_us");  // -1 = none
        if (!quota.empty())
            consider(std::atoll(quota.c_str()),
                     std::atoll(first_line(folder + "/cpu.cfs_period_us").c_str()));
    }
    return least;
}

}  // namespace

int affinity_cpus() {
    // The kernel may know more CPUs than a cpu_set_t has room for.
    for (int cpus = 1024; cpus <= 1 << 16; cpus *= 4) {
        cpu_set_t* set = CPU_ALLOC(cpus);
        const size_t size = CPU_ALLOC_SIZE(cpus);
        const bool ok = sched_getaffinity(0, size, set) == 0;
        const int count = ok ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (ok) return std::max(count, 1);
    }
    return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

int usable_cpus(const std::string& root) {
    int64_t cpus = affinity_cpus();
    const int64_t quota = cpu_quota(root);
    if (quota != kNone) cpus = std::min(cpus, (quota + 999'999) / 1'000'000);
    // OpenMP's variable may hold one number per nesting level: the first one counts.
    if (const char* omp = std::getenv("OMP_NUM_THREADS"))
        if (const int n = std::atoi(omp); n > 0) cpus = std::min<int64_t>(cpus, n);
    return static_cast<int>(std::max<int64_t>(cpus, 1));
}

int64_t memory_limit(const std::string& root) {
    int64_t least = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    const auto consider = [&](const std::string& path) {
        if (const int64_t limit = std::atoll(first_line(path).c_str()); limit > 0)
            least = std::min(least, limit);
    };
    for (const std::string& folder : groups(root, "")) consider(folder + "/memory.max");
    for (const std::string& folder : groups(root, "memory")) consider(folder + "/memory.limit_in_bytes");
    return least;
}

}  // namespace stator::jit
