// Regions given as text, compiled and run on real arrays.
#include <cmath>
#include <limits>
#include <numeric>

#include "region_runner.h"

namespace stator::jit {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();

// for i in range(n): s += a[i], as Python does it: the index wraps, the sum of a NumPy scalar is checked.
constexpr const char* kSum = R"(region "sum" {
  input %0 : f64[1] "a"
  input %1 : i64 "n"
  loop l0 header b1 @1
b0:
  %2 = const 0 : i64
  %3 = const 0.0 : f64
  %4 = extent{0} %0 : i64
  jump b1(%2, %3)
b1(%5 : i64, %6 : f64) in l0:
  poll else x2
  %7 = less.i64 %5, %1 : b1
  branch %7 b2 else b3
b2 in l0:
  %8 = index! %5, %4 else x1 : i64
  %9 = load %0[%8] : f64
  %10 = add.f64 %6, %9 : f64
  finite! %10 else x1
  %11 = const 1 : i64
  %12 = add! %5, %11 else x1 : i64
  jump b1(%12, %10)
b3:
  leave x0
exit x0 [%6] "end"
exit x1 [%5, %6] "fault"
exit x2 [%5, %6] "poll"
}
)";

TEST(Region, Sum) {
    RegionRunner r(kSum);
    std::vector<double> a(10);
    std::iota(a.begin(), a.end(), 0.5);
    r.array(a.data(), {10}).scalar<int64_t>(10);
    EXPECT_EQ(r.run(), 0);
    EXPECT_EQ(r.out<double>(0), 50);
}

TEST(Region, LeavesBeforeTheFault) {
    RegionRunner r(kSum);
    std::vector<double> a(10, 1);
    r.array(a.data(), {10}).scalar<int64_t>(12);
    EXPECT_EQ(r.run(), 1);
    EXPECT_EQ(r.out(0), 10);
    EXPECT_EQ(r.out<double>(1), 10);
    a[4] = HUGE_VAL;
    EXPECT_EQ(r.run(), 1);
    EXPECT_EQ(r.out(0), 4);
    EXPECT_EQ(r.out<double>(1), 4);
    r.breaker() = 3;
    EXPECT_EQ(r.run(), 2);
    EXPECT_EQ(r.out(0), 0);
    r.breaker() = 2;  // not in the mask
    EXPECT_EQ(r.run(), 1);
}

TEST(Region, NegativeStride) {
    RegionRunner r(kSum);
    std::vector<double> a{1, 2, 4, 8, 16, 32};
    r.array(a.data() + 4, {3}, {-2}).scalar<int64_t>(3);
    EXPECT_EQ(r.run(), 0);
    EXPECT_EQ(r.out<double>(0), 21);
    r.forget();
    r.array(a.data(), {0}).scalar<int64_t>(1);
    EXPECT_EQ(r.run(), 1);
}

// c[1:-1] = (a[:-2] + a[2:]) / b for all extents around the vector width; leaves when the division faulted.
constexpr const char* kStencil = R"(region "stencil" {
  input %0 : f64[1] contiguous "a"
  input %1 : f64[1] written "c"
  input %2 : f64 "b"
b0:
  %3 = extent{0} %0 : i64
  %4 = const 2 : i64
  %5 = const 1 : i64
  %6 = sub! %3, %4 else x2 : i64
  %7 = view %0 [axis 0 from _ count %6 step _] : f64[1]
  %8 = view %0 [axis 0 from %4 count %6 step _] : f64[1]
  %9 = view %1 [axis 0 from %5 count %6 step _] : f64[1]
  nest{9} %6 else x1 {
    %10 = at %7 : f64
    %11 = at %8 : f64
    %12 = add.f64 %10, %11 : f64
    %13 = divide.f64 %12, %2 : f64
    put %9, %13
  }
  leave x0
exit x0 [%9] "end"
exit x1 [%6] "fault"
exit x2 []
}
)";

TEST(Region, NestsOfAnyLength) {
    RegionRunner r(kStencil);
    for (const int64_t step : {1, 3, -1})
        for (int64_t n = 2; n < 70; ++n) {
            std::vector<double> a(static_cast<size_t>(n)), c(static_cast<size_t>(3 * n), -1);
            for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i * i);
            double* start = step > 0 ? c.data() : c.data() + n - 1;
            r.forget();
            r.array(a.data(), {n}).array(start, {n}, {step}).scalar(2.0);
            ASSERT_EQ(r.run(), 0);
            EXPECT_EQ(r.out(1), n - 2);
            EXPECT_EQ(r.out(2), 8 * step);
            for (int64_t i = 0; i < 3 * n; ++i) {
                const int64_t k = step > 0 ? i / step : n - 1 - i;
                const bool written = (step < 0 || i % step == 0) && k >= 1 && k < n - 1;
                const double left = written ? a[static_cast<size_t>(k - 1)] : 0,
                             right = written ? a[static_cast<size_t>(k + 1)] : 0;
                ASSERT_EQ(c[static_cast<size_t>(i)], written ? (left + right) / 2 : -1.0)
                    << n << " " << step << " " << i;
            }
        }
}

TEST(Region, NestReportsFlags) {
    RegionRunner r(kStencil);
    for (int64_t n = 3; n < 40; ++n) {
        std::vector<double> a(static_cast<size_t>(n), 1), c(static_cast<size_t>(n), -1);
        r.forget();
        r.array(a.data(), {n}).array(c.data(), {n}).scalar(0.0);
        EXPECT_EQ(r.run(), 1);  // divide, after all of it ran
        EXPECT_EQ(c[static_cast<size_t>(n - 2)], HUGE_VAL);
        r.forget();
        r.array(a.data(), {n}).array(c.data(), {n}).scalar(3.0);
        EXPECT_EQ(r.run(), 0) << "inexact is no fault";
        a[static_cast<size_t>(n - 1)] = 1e-300;
        a[static_cast<size_t>(n - 3)] = 0;
        r.forget();
        r.array(a.data(), {n}).array(c.data(), {n}).scalar(1e300);
        EXPECT_EQ(r.run(), 0) << "underflow is not asked for";
        a[0] = HUGE_VAL, a[2] = -HUGE_VAL;
        EXPECT_EQ(r.run(), 1) << "invalid";
    }
}

}  // namespace
}  // namespace stator::jit
