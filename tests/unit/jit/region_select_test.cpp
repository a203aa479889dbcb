// Nests with conditions, computed places and complex numbers, for all lengths around those of vectors.
#include <complex>

#include "region_runner.h"

namespace stator::jit {
namespace {

constexpr int64_t kLongest = 70;

// out = 1 / a where p holds, packed; leaves when one of those was a division by zero.
TEST(RegionSelect, PacksWhatAConditionLetsPass) {
    RegionRunner r(R"(region "pack" {
  input %0 : f64[1] "a"
  input %1 : b1[1] "p"
  input %2 : f64[1] contiguous written "out"
b0:
  %3 = extent{0} %0 : i64
  %4 = const 1.0 : f64
  %5 = pack{1} %3 else x1 : i64 {
    %6 = at %1 : b1
    %7 = at %0 : f64
    when %6
    %8 = divide.f64 %4, %7 : f64
    append %2, %8
  }
  leave x0
exit x0 [%5]
exit x1 []
}
)");
    for (int64_t n = 0; n <= kLongest; ++n)
        for (const int64_t step : {1, 2}) {
            std::vector<double> a(static_cast<size_t>(n * step) + 1), out(static_cast<size_t>(n) + 1, -1),
                want;
            std::vector<uint8_t> p(static_cast<size_t>(n) + 1);
            for (int64_t i = 0; i < n; ++i) {
                const bool on = (i * i + n) % 3 == 0;
                p[static_cast<size_t>(i)] = on ? 5 : 0;
                a[static_cast<size_t>(i * step)] = on ? static_cast<double>(i + 2) : 0;
                if (on) want.push_back(1.0 / static_cast<double>(i + 2));
            }
            r.forget();
            r.array(a.data(), {n}, {step}).array(p.data(), {n}).array(out.data(), {n});
            ASSERT_EQ(r.run(), 0);
            ASSERT_EQ(r.out(0), static_cast<int64_t>(want.size()));
            for (size_t k = 0; k < want.size(); ++k) ASSERT_EQ(out[k], want[k]) << n << " " << k;
            for (size_t k = want.size(); k < out.size(); ++k)
                ASSERT_EQ(out[k], -1) << "nothing is stored behind";
            for (size_t k = 0; k < a.size(); ++k)
                if (a[k] != 0) {
                    a[k] = 0;
                    ASSERT_EQ(r.run(), 1) << n << " " << k;
                    break;
                }
        }
}

// z = z * z + 1 where p holds, both parts stored.
TEST(RegionSelect, ComplexNumbersWhereAConditionHolds) {
    RegionRunner r(R"(region "square" {
  input %0 : c128[1] written "z"
  input %1 : b1[1] "p"
b0:
  %2 = extent{0} %0 : i64
  %3 = const 1.0 : f64
  %4 = part{0} %0 : f64[1]
  %5 = part{1} %0 : f64[1]
  nest %2 {
    %6 = at %1 : b1
    when %6
    %7 = at %4 : f64
    %8 = at %5 : f64
    %9 = multiply.f64 %8, %8 : f64
    %10 = negative.f64 %9 : f64
    %11 = fma %7, %7, %10 : f64
    %12 = add.f64 %11, %3 : f64
    %13 = multiply.f64 %8, %7 : f64
    %14 = fma %7, %8, %13 : f64
    put %4, %12
    put %5, %14
  }
  leave x0
exit x0 []
}
)");
    for (int64_t n = 0; n <= kLongest; ++n)
        for (const int64_t step : {1, 3}) {
            std::vector<std::complex<double>> z, want;
            std::vector<uint8_t> p(static_cast<size_t>(n) + 1);
            for (int64_t i = 0; i < n * step + 1; ++i)
                z.emplace_back(0.1 * static_cast<double>(i), 1.0 / static_cast<double>(i + 1));
            want = z;
            for (int64_t i = 0; i < n; ++i) {
                p[static_cast<size_t>(i)] = (i % 5) & 1;
                if (!p[static_cast<size_t>(i)]) continue;
                auto& w = want[static_cast<size_t>(i * step)];
                const double x = w.real(), y = w.imag();
                volatile double yy = y * y, yx = y * x;
                w = {std::fma(x, x, -yy) + 1, std::fma(x, y, static_cast<double>(yx))};
            }
            r.forget();
            r.array(z.data(), {n}, {step}).array(p.data(), {n});
            ASSERT_EQ(r.run(), 0);
            for (size_t k = 0; k < z.size(); ++k) ASSERT_EQ(z[k], want[k]) << n << " " << step << " " << k;
        }
}

constexpr const char* kTake = R"(region "take" {
  input %0 : f32[2] "a"
  input %1 : i32[1] "i"
  input %2 : b1[1] "p"
  input %3 : f32[1] written "out"
b0:
  %4 = extent{0} %1 : i64
  %5 = extent{0} %0 : i64
  nest{32} %4 else x1 {
    %6 = at %2 : b1
    %7 = at %1 : i32
    %8 = cast.i32 %7 : i64
    when %6
    %9 = within! %8, %5 : i64
    %10 = axis{0} : i64
    %11 = const 1 : i64
    %12 = bitwise_and.i64 %10, %11 : i64
    %13 = take %0[%9, %12] : f32
    put %3, %13
  }
  leave x0
exit x0 []
exit x1 []
}
)";

TEST(RegionSelect, TakesAtIndicesFromBothEnds) {
    RegionRunner r(kTake);
    std::vector<float> a(2 * 11);
    for (size_t k = 0; k < a.size(); ++k) a[k] = static_cast<float>(k);
    for (int64_t n = 1; n <= kLongest; ++n) {
        std::vector<int32_t> at;
        std::vector<uint8_t> p;
        std::vector<float> out(static_cast<size_t>(n), -1);
        for (int64_t i = 0; i < n; ++i) {
            at.push_back(static_cast<int32_t>(i * 7 % 22 - 11));
            p.push_back(i % 4 != 2);
            if (!p.back()) at.back() = 1000;  // nobody looks
        }
        r.forget();
        r.array(a.data(), {11, 2}).array(at.data(), {n}).array(p.data(), {n}).array(out.data(), {n});
        ASSERT_EQ(r.run(), 0);
        for (int64_t i = 0; i < n; ++i) {
            const auto k = static_cast<size_t>(i);
            const int32_t row = at[k] < 0 ? at[k] + 11 : at[k];
            ASSERT_EQ(out[k], p[k] ? a[static_cast<size_t>(row * 2 + (i & 1))] : -1) << n << " " << i;
        }
        for (const int32_t bad : {11, -12, INT32_MAX, INT32_MIN}) {
            const int32_t kept = std::exchange(at[static_cast<size_t>((n - 1) / 4 * 4)], bad);
            ASSERT_EQ(r.run(), 1) << n << " " << bad;
            at[static_cast<size_t>((n - 1) / 4 * 4)] = kept;
        }
    }
}

TEST(RegionSelect, TheLastOfAPlaceStays) {
    RegionRunner r(R"(region "scatter" {
  input %0 : f64[1] written "a"
  input %1 : i64[1] "i"
b0:
  %2 = extent{0} %1 : i64
  %3 = extent{0} %0 : i64
  nest{32} %2 else x1 {
    %4 = at %1 : i64
    %5 = within! %4, %3 : i64
    %6 = axis{0} : i64
    %7 = cast.i64 %6 : f64
    scatter %0[%5] = %7
  }
  leave x0
exit x0 []
exit x1 []
}
)");
    std::vector<double> a(4, -1);
    std::vector<int64_t> at;
    for (int64_t k = 0; k < 41; ++k) at.push_back(k * k % 4 - 4);
    r.array(a.data(), {4}).array(at.data(), {41});
    ASSERT_EQ(r.run(), 0);
    EXPECT_EQ(a, (std::vector<double>{40, 39, -1, -1}));
}

}  // namespace
}  // namespace stator::jit
