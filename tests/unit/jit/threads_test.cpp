#include "jit/threads.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "jit/core.h"
#include "jit/limits.h"

namespace stator::jit {
namespace {

struct Visits {
    explicit Visits(int64_t n) : count(static_cast<size_t>(n)) {}
    std::vector<std::atomic<int>> count;
    std::mutex mutex;
    std::set<std::thread::id> threads;
    std::set<unsigned> modes;
    int64_t grain = 1;
    bool aligned = true;
};

uint32_t visit(void* context, int64_t begin, int64_t end) {
    auto& v = *static_cast<Visits*>(context);
    for (int64_t i = begin; i < end; ++i) ++v.count[static_cast<size_t>(i)];
    std::lock_guard lock(v.mutex);
    v.threads.insert(std::this_thread::get_id());
    v.modes.insert(_mm_getcsr());
    v.aligned &= begin % v.grain == 0 && (end % v.grain == 0 || end == static_cast<int64_t>(v.count.size()));
    return end == static_cast<int64_t>(v.count.size()) ? 8 : begin == 0 ? 1 : 0;
}

void with_threads(int n) {
    Options o;
    o.threads = n;
    configure(o);
    forget_thread_count();
}

TEST(Threads, EveryIterationOnceAndFaultsTogether) {
    for (const int threads : {1, 2, 4}) {
        with_threads(threads);
        for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{100}, int64_t{10'007}}) {
            Visits v(n);
            v.grain = 64;
            const uint32_t faults = parallel_for(n, v.grain, visit, &v);
            for (auto& c : v.count) ASSERT_EQ(c, 1);
            EXPECT_TRUE(v.aligned) << "pieces are cut at multiples of the grain";
            EXPECT_LE(v.threads.size(), static_cast<size_t>(threads));
            if (n == 10'007 && threads > 1) {
                EXPECT_EQ(faults, 9u);
            }
        }
    }
    EXPECT_EQ(thread_count(), 4);
}

TEST(Threads, WorkersTakeTheCallersMode) {
    with_threads(4);
    const unsigned old = _mm_getcsr();
    const unsigned mode = (old & ~0x3fu) | 0x8040 | 0x2000;  // flush to zero, denormals are zero, round down
    Visits v(100'000);
    _mm_setcsr(mode | 0x20);
    parallel_for(100'000, 64, visit, &v);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(old);
    EXPECT_EQ(after, mode | 0x20) << "the caller's own flags stay";
    EXPECT_EQ(v.modes, std::set<unsigned>{mode});
}

TEST(Threads, ForkEndsWorkersAndBothSidesGoOn) {
    with_threads(2);
    Visits before(10'000);
    parallel_for(10'000, 10, visit, &before);
    const pid_t child = fork();  // parallel_for has registered the handlers
    Visits v(10'000);
    parallel_for(10'000, 10, visit, &v);
    bool good = true;
    for (auto& c : v.count) good &= c == 1;
    if (child == 0) _exit(good ? 0 : 1);
    EXPECT_TRUE(good);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(Threads, FollowTheAffinityMask) {
    if (affinity_cpus() < 2) GTEST_SKIP() << "one CPU only";
    with_threads(0);
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int c = 0; c < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++c)
        if (CPU_ISSET(c, &all)) CPU_SET(c, &one);
    Visits v(100'000);
    parallel_for(100'000, 10, visit, &v);
    sched_setaffinity(0, sizeof one, &one);
    Visits narrow(100'000);
    parallel_for(100'000, 10, visit, &narrow);
    const int count = thread_count();
    sched_setaffinity(0, sizeof all, &all);
    EXPECT_EQ(narrow.threads.size(), 1u);
    EXPECT_EQ(count, 1);
}

class LimitsTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "stator_limits_XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
        unsetenv("OMP_NUM_THREADS");
    }
    void TearDown() override { std::filesystem::remove_all(root_); }
    void write(const std::string& path, const std::string& text) {
        std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
        std::ofstream(root_ + path) << text << "\n";
    }
    std::string root_;
};

TEST_F(LimitsTest, ControlGroupsOfVersion2) {
    EXPECT_EQ(usable_cpus(root_), affinity_cpus());
    write("/proc/self/cgroup", "0::/outer/inner");
    write("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000");
    EXPECT_EQ(usable_cpus(root_), affinity_cpus());
    write("/sys/fs/cgroup/outer/cpu.max", "100000 100000");
    EXPECT_EQ(usable_cpus(root_), 1) << "limits of outer groups apply";
    write("/sys/fs/cgroup/outer/cpu.max", "110000 100000");
    EXPECT_EQ(usable_cpus(root_), std::min(2, affinity_cpus()));
    write("/sys/fs/cgroup/outer/memory.max", "1048576");
    EXPECT_EQ(memory_limit(root_), 1 << 20);
}

TEST_F(LimitsTest, ControlGroupsOfVersion1InAContainer) {
    write("/proc/self/cgroup", "4:cpu,cpuacct:/docker/0123\n3:memory:/docker/0123");
    write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000");  // the group's folder is the mount itself
    write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
    write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2097152");
    EXPECT_EQ(usable_cpus(root_), 1);
    EXPECT_EQ(memory_limit(root_), 2 << 20);
    write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
    EXPECT_EQ(usable_cpus(root_), affinity_cpus());
}

TEST_F(LimitsTest, OpenMpVariable) {
    setenv("OMP_NUM_THREADS", "1,2", 1);
    EXPECT_EQ(usable_cpus(root_), 1);
    setenv("OMP_NUM_THREADS", "nonsense", 1);
    EXPECT_EQ(usable_cpus(root_), affinity_cpus());
    unsetenv("OMP_NUM_THREADS");
}

}  // namespace
}  // namespace stator::jit
