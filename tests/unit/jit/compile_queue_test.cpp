#include "jit/compile_queue.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

namespace stator::jit {
namespace {

using namespace std::chrono_literals;

TEST(CompileQueue, RunsJobsInOrderBesideTheCaller) {
    CompileQueue queue(100);
    std::vector<int> order;
    std::thread::id worker;
    for (int i = 0; i < 50; ++i)
        ASSERT_TRUE(queue.push([&, i] {
            order.push_back(i);
            worker = std::this_thread::get_id();
        }));
    queue.wait_idle();
    ASSERT_EQ(order.size(), 50u);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(order[i], i);
    EXPECT_NE(worker, std::this_thread::get_id());
    queue.wait_idle();  // nothing to wait for
}

TEST(CompileQueue, UrgentJobsOvertakeTheLatestOneFirst) {
    CompileQueue queue(10);
    std::atomic<bool> go{false}, started{false};
    std::vector<int> order;
    queue.push([&] {
        started = true;
        while (!go) std::this_thread::sleep_for(1ms);
    });
    while (!started) std::this_thread::sleep_for(1ms);
    for (const int i : {2, 3}) queue.push([&, i] { order.push_back(i); });
    for (const int i : {1, 0}) queue.push([&, i] { order.push_back(i); }, /*urgent=*/true);
    go = true;
    queue.wait_idle();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(CompileQueue, IsBounded) {
    CompileQueue queue(2);
    std::atomic<bool> go{false}, started{false};
    ASSERT_TRUE(queue.push([&] {
        started = true;
        while (!go) std::this_thread::sleep_for(1ms);
    }));
    while (!started) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(queue.push([] {}));
    EXPECT_TRUE(queue.push([] {}));
    EXPECT_FALSE(queue.push([] {}));
    EXPECT_EQ(queue.drop(), 2u);
    go = true;
    queue.wait_idle();
    EXPECT_TRUE(queue.push([] {}));
}

TEST(CompileQueue, StopEndsTheJobAtHandAndDropsTheOthers) {
    CompileQueue queue(10);
    std::atomic<int> done{0};
    std::atomic<bool> started{false};
    queue.push([&] {
        started = true;
        std::this_thread::sleep_for(20ms);
        ++done;
    });
    while (!started) std::this_thread::yield();
    queue.push([&] { ++done; });
    queue.stop();
    EXPECT_EQ(done, 1);
    EXPECT_FALSE(queue.push([] {}));
    queue.wait_idle();
}

TEST(CompileQueue, SignalsGoToOtherThreads) {
    CompileQueue queue(1);
    bool blocked = false;
    queue.push([&] {
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        blocked = sigismember(&mask, SIGINT) == 1;
    });
    queue.wait_idle();
    EXPECT_TRUE(blocked);
}

int threads_of_this_process() {
    FILE* f = std::fopen("/proc/self/stat", "r");
    int threads = 0;
    if (f &&
        std::fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d",
                    &threads) != 1)
        threads = -1;
    if (f) std::fclose(f);
    return threads;
}

// The kernel counts a thread that was joined for a moment longer: of a test before this one, too.
const int at_start = threads_of_this_process();
int settled_threads() {
    for (int k = 0; k < 1000 && threads_of_this_process() > at_start; ++k) std::this_thread::sleep_for(1ms);
    return threads_of_this_process();
}

TEST(CompileQueue, AChildHasThePendingJobsAndNoThread) {
    const int others = settled_threads();
    auto* queue = new CompileQueue(10);
    std::atomic<bool> started{false};
    queue->push([&] {
        started = true;
        std::this_thread::sleep_for(20ms);
    });
    while (!started) std::this_thread::yield();
    int ran = 0;
    queue->push([&ran] { ++ran; });
    queue->before_fork();
    EXPECT_EQ(settled_threads(), others);
    const pid_t child = fork();
    queue->after_fork(child == 0);
    if (child == 0) {
        const bool alone = threads_of_this_process() == 1 && ran == 0;
        queue->wait_idle();
        _exit(alone && ran == 1 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    queue->wait_idle();
    EXPECT_EQ(ran, 1) << "the parent goes on by itself";
    delete queue;
}

TEST(CompileQueue, StartsNoThreadWhileItIsHeld) {
    const int others = settled_threads();
    auto* queue = new CompileQueue(10);
    std::atomic<int> ran{0};
    std::atomic<bool> started{false};
    queue->push([&] {
        started = true;
        std::this_thread::sleep_for(20ms);
    });
    while (!started) std::this_thread::yield();
    queue->push([&] { ++ran; });
    queue->hold(true);
    queue->before_fork();
    queue->after_fork(false);
    EXPECT_TRUE(queue->push([&] { ++ran; }));
    EXPECT_EQ(settled_threads(), others);
    queue->hold(false);
    EXPECT_EQ(settled_threads(), others) << "Python counts threads after that";
    queue->resume();
    while (ran < 2) std::this_thread::yield();
    delete queue;
}

TEST(CompileQueue, ForkingAndPushingAtOnce) {
    auto* queue = new CompileQueue(1000);
    std::atomic<int> pushed{0}, ran{0};
    std::atomic<bool> stop{false};
    std::thread pusher([&] {
        while (!stop) {
            if (queue->push([&] { ++ran; })) ++pushed;
            std::this_thread::sleep_for(50us);
        }
    });
    for (int i = 0; i < 100; ++i) {
        queue->before_fork();
        queue->after_fork(false);
    }
    stop = true;
    pusher.join();
    queue->wait_idle();
    EXPECT_EQ(pushed, ran);
    delete queue;
}

}  // namespace
}  // namespace stator::jit
