// Tier 0 on graphs given as text.
#include <gtest/gtest.h>

#include <xmmintrin.h>
#include <algorithm>

#include "kernels/tier0/half.h"
#include "kernels/tier0/ops.h"
#include "tests/unit/support/segment.h"

namespace stator::kernels {
namespace {

TEST(Tier0, PointwiseAtAllLengthsAndInPieces) {
    for (const int64_t n : {0, 1, 3, 1000, 1024, 1025, 5000}) {
        auto x = numbers(n, 1), y = numbers(n, 2), z = numbers(n, 3);
        std::vector<double> want;
        for (int64_t i = 0; i < n; ++i) want.push_back((x[i] * y[i] + z[i] * 2) - x[i] / y[i]);
        for (const int pieces : {1, 2, 5}) {
            Segment run(sized(kFive, n));
            EXPECT_EQ(run.input(0, x).input(1, y).input(2, z)(pieces), 0u);
            expect_same_bits(run.output<double>(), want);
        }
    }
}

TEST(Tier0, HostLoopsSeeContiguousChunks) {
    auto x = numbers(2500, 1), y = numbers(2500, 2), z = numbers(2500, 3);
    Segment run(sized(kFive, 2500));
    calls.clear();
    run.input(0, x).input(1, y).input(2, z)();
    int64_t total = 0;
    for (const Call& c : calls) {
        if (c.name != "add") continue;
        EXPECT_LE(c.n, 1024);
        EXPECT_EQ(c.strides, (std::vector<int64_t>{8, 8, 8}));
        total += c.n;
    }
    EXPECT_EQ(total, 2500);
    const auto times_two = [](const Call& c) { return c.name == "multiply" && c.strides[1] == 0; };
    EXPECT_EQ(std::count_if(calls.begin(), calls.end(), times_two), 3) << "a scalar has stride 0";
}

TEST(Tier0, StridedBroadcastAndScalarOperands) {
    const std::string text = R"(trace bcast sym(s0=@0 in [2, max], s1=@1 in [2, max]) {
  %0 = input L['x'] {slot=0, layout=strided} : f64[s0, s1]
  %1 = input L['r'] {slot=1} : f64[s1]
  %2 = input L['k'] {slot=2, kind=float} : f64
  %3 = view %1 [j1] : f64[s0, s1] strided
  %4 = add %0, %3 : f64[s0, s1]
  %5 = multiply %4, %2 : f64[s0, s1]
  return %5
}
)";
    const int64_t rows = 5, columns = 1300;
    auto x = numbers(rows * columns * 2, 1), r = numbers(columns, 2);
    // Every second element, rows and columns backwards.
    const int64_t last = 2 * rows * columns - 2;
    std::vector<double> want;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) want.push_back((x[last - 2 * (i * columns + j)] + r[j]) * 1.5);
    for (const int pieces : {1, 3}) {
        Segment run(sized(text, rows, columns));
        run.input(0, x, last, {-16 * columns, -16}).input(1, r).scalar(2, 1.5)(pieces);
        expect_same_bits(run.output<double>(), want);
    }
}

TEST(Tier0, KeepsANegativeStrideWhereEagerWould) {
    Segment run(sized(R"(trace back sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0, layout=strided} : f64[s0]
  %1 = loop exp %0 : f64[s0]
  return %1
}
)",
                      100));
    auto x = numbers(100, 1);
    calls.clear();
    run.input(0, x, 99, {-8})();
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(calls[0].strides, (std::vector<int64_t>{-8, 8}));
    EXPECT_EQ(run.output<double>()[0], std::exp(x[99]));
}

constexpr char kDot[] = R"(trace dot sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = input L['y'] {slot=1} : f64[s0]
  %2 = multiply %0, %1 : f64[s0]
  %3 = reduce add %2 {axes=(0), order=c} : f64 as npscalar
  return %3
}
)";

TEST(Tier0, ASumIsOneCallOverTheWholeRun) {
    for (const int64_t n : {2, 7, 8, 129, 1024, 1025, 100'003}) {
        auto x = numbers(n, 1), y = numbers(n, 2);
        std::vector<double> product(n);
        for (int64_t i = 0; i < n; ++i) product[i] = x[i] * y[i];
        Segment run(sized(kDot, n));
        run.input(0, x).input(1, y)();
        const double want = 0.0 + pairwise(reinterpret_cast<char*>(product.data()), n, 8);
        EXPECT_EQ(run.result<double>(), want) << n;
    }
}

TEST(Tier0, SumsOverRowsColumnsAndBoth) {
    const int64_t rows = 40, columns = 1500;
    auto x = numbers(rows * columns, 1);
    Segment run(sized(R"(trace axes sym(s0=@0 in [2, max], s1=@1 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0, s1]
  %1 = reduce add %0 {axes=(1), order=c} : f64[s0]
  %2 = reduce add %0 {axes=(0), order=c} : f64[s1]
  %3 = reduce maximum %0 {axes=(1), order=c} : f64[s0]
  return (%1, %2, %3)
}
)",
                      rows, columns));
    run.input(0, x)(3);
    std::vector<double> by_row(rows), by_column(columns, 0.0), greatest(rows);
    for (int64_t i = 0; i < rows; ++i) {
        by_row[i] = 0.0 + pairwise(reinterpret_cast<char*>(&x[i * columns]), columns, 8);
        greatest[i] = *std::max_element(x.begin() + i * columns, x.begin() + (i + 1) * columns);
        for (int64_t j = 0; j < columns; ++j) by_column[j] += x[i * columns + j];
    }
    expect_same_bits(run.output<double>(0), by_row);
    expect_same_bits(run.output<double>(1), by_column);
    expect_same_bits(run.output<double>(2), greatest);
}

TEST(Tier0, FirstExtremumAndFirstNan) {
    const std::string text = R"(trace arg sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = argreduce argmax %0 {axis=all} : i64 as npscalar
  %2 = argreduce argmin %0 {axis=all} : i64 as npscalar
  return (%1, %2)
}
)";
    auto x = numbers(3000, 1);
    x[1700] = x[2800] = 1e9;
    x[50] = x[1200] = -1e9;
    Segment run(sized(text, 3000));
    run.input(0, x)();
    EXPECT_EQ(run.result<int64_t>(0), 1700);
    EXPECT_EQ(run.result<int64_t>(1), 50);
    x[2000] = x[2500] = std::nan("");
    Segment again(sized(text, 3000));
    EXPECT_EQ(again.input(0, x)(), 0u);
    EXPECT_EQ(again.result<int64_t>(0), 2000);
    EXPECT_EQ(again.result<int64_t>(1), 2000);
}

TEST(Tier0, LogicalReductionTestsNumbers) {
    Segment run(sized(R"(trace any sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = reduce logical_or %0 {axes=(0), order=c} : b1 as npscalar
  return %1
}
)",
                      2000));
    std::vector<double> x(2000, 0.0);
    run.input(0, x)();
    EXPECT_EQ(run.result<uint8_t>(), 0);
    x[1999] = std::nan("");
    run();
    EXPECT_EQ(run.result<uint8_t>(), 1);
}

TEST(Tier0, ReportsFlagsPerStatement) {
    auto x = numbers(2000, 1), y = numbers(2000, 2), z = numbers(2000, 3);
    y[1500] = 0;
    Segment run(sized(kFive, 2000));
    EXPECT_EQ(run.input(0, x).input(1, y).input(2, z)(), kFaultDivide);
    x[3] = std::numeric_limits<double>::infinity();
    y[3] = 0;
    EXPECT_EQ(run(), kFaultDivide | kFaultInvalid);

    // A comparison raises nothing, and what its loop does to the flags hides nobody else's.
    Segment quiet(sized(R"(trace quiet sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = const 1e308 : f64
  %2 = multiply %0, %1 : f64[s0]
  %3 = less %0, %2 : b1[s0]
  return %3
}
)",
                        4));
    std::vector<double> w = {1, std::nan(""), 3, 4};
    EXPECT_EQ(quiet.input(0, w)(), kFaultOverflow);
    w = {1, std::nan(""), 0.5, 0.25};
    EXPECT_EQ(quiet(), 0u);
}

TEST(Tier0, IntegerFaultsRaisedThroughTheCLibrary) {
    Segment run(sized(R"(trace ints sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : i64[s0]
  %1 = input L['y'] {slot=1} : i64[s0]
  %2 = floor_divide %0, %1 : i64[s0]
  return %2
}
)",
                      3));
    std::vector<int64_t> x = {7, -7, 5}, y = {2, 2, -5};
    EXPECT_EQ(run.input(0, x).input(1, y)(), 0u);
    EXPECT_EQ(run.output<int64_t>(), (std::vector<int64_t>{3, -4, -1}));
    y[1] = 0;
    EXPECT_EQ(run(), kFaultDivide);
    EXPECT_EQ(run.output<int64_t>()[1], 0);
    x[2] = std::numeric_limits<int64_t>::min();
    y = {1, 1, -1};
    EXPECT_EQ(run(), kFaultOverflow);
}

TEST(Tier0, CallersStatusRegisterComesBack) {
    auto x = numbers(100, 1), y = numbers(100, 2), z = numbers(100, 3);
    y[5] = 0;
    Segment run(sized(kFive, 100));
    run.input(0, x).input(1, y).input(2, z);
    const unsigned old = _mm_getcsr();
    for (const unsigned flags : {0u, 0x20u, 0x09u}) {
        _mm_setcsr((old & ~0x3fu) | flags);
        const uint32_t faults = run();
        const unsigned after = _mm_getcsr();
        _mm_setcsr(old);
        EXPECT_EQ(faults, kFaultDivide);
        EXPECT_EQ(after & 0x3f, flags);
    }
}

TEST(Tier0, StoresInPlace) {
    Segment run(sized(R"(trace inplace sym(s0=@0 in [2, max]) {
  %0 = input L['a'] {slot=0, written} : f64[s0]
  %1 = input L['b'] {slot=1} : f64[s0]
  %2 = add %0, %1 : f64[s0]
  %3 = store %0, %2 [j0] : f64[s0]
  %4 = multiply %3, %1 : f64[s0]
  return %4
}
)",
                      2500));
    auto a = numbers(2500, 1), b = numbers(2500, 2);
    const auto before = a;
    run.input(0, a).input(1, b)(2);
    for (size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(a[i], before[i] + b[i]);
        ASSERT_EQ(run.output<double>()[i], a[i] * b[i]);
    }
}

TEST(Tier0, AMissingHostLoopIsAFaultAndNotACrash) {
    Segment run(sized(R"(trace missing sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = loop no_such_loop %0 : f64[s0]
  return %1
}
)",
                      10));
    auto x = numbers(10, 1);
    EXPECT_EQ(run.input(0, x)() & kFaultHost, kFaultHost);
}

// ---- what tier 0 computes itself

template <class S, class D>
std::pair<D, uint32_t> cast_one(DType from, DType to, S value) {
    D out{};
    _mm_setcsr(_mm_getcsr() & ~0x3fu);
    uint32_t faults =
        tier0::cast(from, to, {reinterpret_cast<char*>(&value), 0}, {reinterpret_cast<char*>(&out), 0}, 1);
    const unsigned csr = _mm_getcsr();
    if (csr & 1) faults |= kFaultInvalid;
    if (csr & 8) faults |= kFaultOverflow;
    return {out, faults};
}

TEST(Tier0Cast, OutOfRangeIsWhatX86Gives) {
    const double nan = std::nan(""), big = 1e300;
    EXPECT_EQ((cast_one<double, int32_t>(DType::F64, DType::I32, big)),
              std::pair(INT32_MIN, uint32_t{kFaultInvalid}));
    EXPECT_EQ((cast_one<double, int64_t>(DType::F64, DType::I64, nan)),
              std::pair(INT64_MIN, uint32_t{kFaultInvalid}));
    EXPECT_EQ((cast_one<double, uint8_t>(DType::F64, DType::U8, 300.0)), std::pair(uint8_t{44}, 0u));
    EXPECT_EQ((cast_one<double, int8_t>(DType::F64, DType::I8, -129.0)), std::pair(int8_t{127}, 0u));
    EXPECT_EQ((cast_one<double, uint32_t>(DType::F64, DType::U32, -1.0)), std::pair(UINT32_MAX, 0u));
    EXPECT_EQ((cast_one<double, uint64_t>(DType::F64, DType::U64, 1.8e19)).first, 18000000000000000000u);
    EXPECT_EQ((cast_one<double, float>(DType::F64, DType::F32, big)),
              std::pair(std::numeric_limits<float>::infinity(), uint32_t{kFaultOverflow}));
    EXPECT_EQ((cast_one<double, uint8_t>(DType::F64, DType::Bool, nan)), std::pair(uint8_t{1}, 0u));
    EXPECT_EQ((cast_one<uint8_t, double>(DType::Bool, DType::F64, 7)), std::pair(1.0, 0u))
        << "any byte but 0 is true";
}

TEST(Tier0Cast, Half) {
    for (uint32_t h = 0; h < 0x10000; ++h) {  // every half survives
        uint32_t faults = 0;
        const float f = tier0::half_to_float(static_cast<uint16_t>(h));
        const uint16_t back = tier0::float_to_half(f, faults);
        const uint16_t back_from_double = tier0::double_to_half(f, faults);
        if ((h & 0x7fff) > 0x7c00) {
            ASSERT_GT(back & 0x7fff, 0x7c00);
            continue;
        }
        ASSERT_EQ(back, h);
        ASSERT_EQ(back_from_double, h);
        ASSERT_EQ(faults, 0u);
    }
    uint32_t faults = 0;
    EXPECT_EQ(tier0::double_to_half(2049.0, faults), 0x6800) << "ties to even";
    EXPECT_EQ(tier0::double_to_half(2051.0, faults), 0x6802);
    EXPECT_EQ(tier0::double_to_half(65519.9, faults), 0x7bff);
    EXPECT_EQ(faults, 0u);
    EXPECT_EQ(tier0::double_to_half(65520.0, faults), 0x7c00);
    EXPECT_EQ(faults, kFaultOverflow);
    faults = 0;
    EXPECT_EQ(tier0::double_to_half(std::ldexp(1.0, -25), faults), 0) << "half of the least subnormal";
    EXPECT_EQ(tier0::double_to_half(std::ldexp(1.5, -25), faults), 1);
    EXPECT_EQ(tier0::double_to_half(-1e-300, faults), 0x8000);
    EXPECT_EQ(faults, kFaultUnderflow);
    // Rounding once: the double just above a tie does not become a tie on the way.
    EXPECT_EQ(tier0::double_to_half(1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40), faults), 0x3c01);
}

TEST(Tier0Ops, CopyKeepsBytesAndWhereChooses) {
    uint8_t bools[] = {0, 7, 1}, copied[3];
    tier0::copy(1, {reinterpret_cast<char*>(bools), 1}, {reinterpret_cast<char*>(copied), 1}, 3);
    EXPECT_EQ(copied[1], 7);
    double a[] = {1, 2, 3}, b = -1, out[3];
    tier0::where(8, {reinterpret_cast<char*>(bools), 1}, {reinterpret_cast<char*>(a), 8},
                 {reinterpret_cast<char*>(&b), 0}, {reinterpret_cast<char*>(out), 8}, 3);
    EXPECT_EQ(out[0], -1);
    EXPECT_EQ(out[1], 2);
    float steps[4];
    tier0::index(DType::F32, 10, -3, {reinterpret_cast<char*>(steps), 4}, 4);
    EXPECT_EQ(steps[3], 1.0f);
}

}  // namespace
}  // namespace stator::kernels
