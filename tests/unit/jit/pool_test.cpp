#include "jit/pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace stator::jit {
namespace {

TEST(Pool, ClassesAreTightAndMonotonous) {
    int64_t previous = 0;
    for (int c = 0; c < 80; ++c) {
        EXPECT_EQ(size_class(class_bytes(c)), c);
        EXPECT_EQ(size_class(class_bytes(c) + 1), c + 1);
        if (c) {
            EXPECT_LE(class_bytes(c), previous / 4 * 5);
        }
        previous = class_bytes(c);
    }
    EXPECT_EQ(class_bytes(0), kPoolMinimum);
    for (const int64_t n :
         {int64_t{65536}, int64_t{65537}, int64_t{524288}, int64_t{8'000'000}, int64_t{80'000'000}})
        EXPECT_LE(class_bytes(size_class(n)), n + n / 4 + kPoolMinimum / 4);
}

TEST(Pool, LastReleasedGoesOutFirst) {
    Pool pool(1 << 30);
    void* a = pool.allocate(1 << 20);
    void* b = pool.allocate(1 << 20);
    ASSERT_NE(a, b);
    pool.release(a, 1 << 20);
    pool.release(b, 1 << 20);
    EXPECT_EQ(pool.kept(), 2 << 20);
    EXPECT_EQ(pool.allocate(1'000'000), b) << "same class";
    EXPECT_EQ(pool.allocate(1 << 20), a);
    EXPECT_EQ(pool.kept(), 0);
    pool.release(a, 1 << 20);
    pool.release(b, 1'000'000);
}

TEST(Pool, BuffersAreAlignedAndUsable) {
    Pool pool(1 << 30);
    for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{1000}, int64_t{65536}, int64_t{300'000},
                                int64_t{2} << 20, int64_t{5'000'000}}) {
        char* p = static_cast<char*>(pool.allocate(bytes));
        ASSERT_NE(p, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u);
        if (bytes >= kHugePage) {
            EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % kHugePage, 0u);
        }
        std::memset(p, 1, static_cast<size_t>(bytes));
        pool.release(p, bytes);
    }
    pool.release(nullptr, 100'000);
}

TEST(Pool, KeepsNoMoreThanItsLimit) {
    Pool pool(4 << 20);
    std::vector<void*> buffers;
    for (int i = 0; i < 10; ++i) buffers.push_back(pool.allocate(1 << 20));
    for (void* p : buffers) pool.release(p, 1 << 20);
    EXPECT_EQ(pool.kept(), 4 << 20);
    EXPECT_EQ(pool.allocate(1 << 20), buffers[9]);
    void* large = pool.allocate(64 << 20);
    pool.release(large, 64 << 20);
    EXPECT_EQ(pool.kept(), 3 << 20) << "more than the limit is not kept";
    pool.trim(0);
    EXPECT_EQ(pool.kept(), 0);
    pool.release(buffers[9], 1 << 20);
}

TEST(Pool, ExhaustionIsNull) {
    Pool pool(1 << 20);
    EXPECT_EQ(pool.allocate(int64_t{1} << 47), nullptr);
}

TEST(Pool, ManyThreads) {
    Pool pool(8 << 20);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 300; ++i) {
                const int64_t bytes = 65536 << (i + t) % 5;
                auto* p = static_cast<int*>(pool.allocate(bytes));
                p[0] = t;
                p[bytes / 4 - 1] = t;
                std::this_thread::yield();
                ASSERT_EQ(p[0], t);
                ASSERT_EQ(p[bytes / 4 - 1], t);
                pool.release(p, bytes);
            }
        });
    for (auto& t : threads) t.join();
    EXPECT_LE(pool.kept(), 8 << 20);
}

}  // namespace
}  // namespace stator::jit
