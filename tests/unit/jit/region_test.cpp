// Regions given as text, compiled and run on real arrays.
#include <immintrin.h>

#include <bit>
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

// ---- scalars ----

// One operation on scalars of one dtype: returns it through exit 0, or leaves through exit 1.
std::string unary_region(const std::string& inputs, const std::string& body) {
    return "region \"op\" {\n" + inputs + "b0:\n" + body + "  leave x0\nexit x0 [%9]\nexit x1 []\n}\n";
}

template <class T>
void checked_arithmetic(const char* dtype) {
    const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    const T numbers[] = {low,
                         static_cast<T>(low + 1),
                         0,
                         1,
                         2,
                         3,
                         7,
                         static_cast<T>(high / 2),
                         static_cast<T>(high - 1),
                         high,
                         static_cast<T>(-1),
                         static_cast<T>(-3)};
    for (const char* op : {"add!", "sub!", "mul!", "floordiv!", "floormod!"}) {
        const std::string name = op, t = dtype;
        RegionRunner r(unary_region("  input %0 : " + t + "\n  input %1 : " + t + "\n",
                                    "  %9 = " + name + " %0, %1 else x1 : " + t + "\n"));
        for (const T a : numbers)
            for (const T b : numbers) {
                T expected{};
                bool leaves = false;
                if (name == "add!") leaves = __builtin_add_overflow(a, b, &expected);
                if (name == "sub!") leaves = __builtin_sub_overflow(a, b, &expected);
                if (name == "mul!") leaves = __builtin_mul_overflow(a, b, &expected);
                if (name == "floordiv!" || name == "floormod!") {
                    const auto n = static_cast<__int128>(a), d = static_cast<__int128>(b);
                    leaves = d == 0;
                    if (!leaves) {
                        const bool down = n % d != 0 && (n % d < 0) != (d < 0);
                        const __int128 q = n / d - down, m = n % d + (down ? d : 0);
                        if (name == "floordiv!") leaves = q > static_cast<__int128>(high);
                        expected = static_cast<T>(name == "floordiv!" ? q : m);
                    }
                }
                r.forget();
                r.scalar(a).scalar(b);
                ASSERT_EQ(r.run(), leaves ? 1 : 0) << op << " " << dtype << " " << +a << " " << +b;
                if (!leaves) {
                    ASSERT_EQ(r.template out<T>(0), expected) << op << " " << dtype << " " << +a << " " << +b;
                }
            }
    }
}

TEST(Region, CheckedArithmeticOfAllIntegers) {
    checked_arithmetic<int64_t>("i64");
    checked_arithmetic<int32_t>("i32");
    checked_arithmetic<int16_t>("i16");
    checked_arithmetic<int8_t>("i8");
    checked_arithmetic<uint64_t>("u64");
    checked_arithmetic<uint32_t>("u32");
    checked_arithmetic<uint16_t>("u16");
    checked_arithmetic<uint8_t>("u8");
}

TEST(Region, DivisionByConstants) {
    for (const int64_t d : {1, 2, 8, 10, -1, -2, -7})
        for (const char* op : {"floordiv!", "floormod!"}) {
            const std::string name = op;
            RegionRunner r(unary_region(
                "  input %0 : i64\n",
                "  %1 = const " + std::to_string(d) + " : i64\n  %9 = " + name + " %0, %1 else x1 : i64\n"));
            for (const int64_t n :
                 {kMin, kMin + 1, int64_t{-17}, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{16}, kMax}) {
                const auto wide = static_cast<__int128>(n);
                const bool down = wide % d != 0 && (wide % d < 0) != (d < 0);
                const bool leaves = name == "floordiv!" && d == -1 && n == kMin;
                r.forget();
                r.scalar(n);
                ASSERT_EQ(r.run(), leaves ? 1 : 0) << n << op << d;
                if (leaves) continue;
                EXPECT_EQ(r.out(0), static_cast<int64_t>(name == "floordiv!" ? wide / d - down
                                                                             : wide % d + (down ? d : 0)))
                    << n << op << d;
            }
        }
}

TEST(Region, IndicesWrap) {
    RegionRunner r(
        unary_region("  input %0 : i64\n  input %1 : i64\n", "  %9 = index! %0, %1 else x1 : i64\n"));
    for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{5}, int64_t{1} << 40})
        for (const int64_t i : {kMin, -n - 1, -n, int64_t{-1}, int64_t{0}, n - 1, n, kMax}) {
            r.forget();
            r.scalar(i).scalar(n);
            const bool leaves = i < -n || i >= n;
            ASSERT_EQ(r.run(), leaves ? 1 : 0) << i << " of " << n;
            if (!leaves) {
                EXPECT_EQ(r.out(0), i < 0 ? i + n : i);
            }
        }
}

template <class T>
void finite_of(const char* dtype, std::vector<T> good, std::vector<T> bad) {
    RegionRunner r(unary_region("  input %9 : " + std::string(dtype) + "\n", "  finite! %9 else x1\n"));
    for (const bool ok : {true, false})
        for (const T v : ok ? good : bad) {
            r.forget();
            r.scalar(v);
            EXPECT_EQ(r.run(), ok ? 0 : 1) << dtype;
        }
}

TEST(Region, FiniteOfAllDtypes) {
    struct C64 {
        float re, im;
    };
    struct C128 {
        double re, im;
    };
    const double inf = HUGE_VAL, nan = std::nan("");
    finite_of<double>("f64", {0, -0.0, 1, 1e308, 4e-324, -1e308}, {inf, -inf, nan, -nan});
    finite_of<float>("f32", {0, -0.0f, 1, 3e38f, 1e-45f}, {HUGE_VALF, -HUGE_VALF, NAN});
    finite_of<uint16_t>("f16", {0, 0x7bff, 0xfbff, 1}, {0x7c00, 0xfc00, 0x7e00, 0x7c01});
    finite_of<C64>("c64", {{1, 2}, {0, 3e38f}}, {{1, HUGE_VALF}, {NAN, 0}});
    finite_of<C128>("c128", {{1, 2}, {0, 1e308}}, {{1, inf}, {nan, 0}, {-inf, 1}});
}

// What one operation made of infinities and quiet NaNs stays; of what signals, or of finite numbers, it
// leaves.
TEST(Region, FiniteOfWhatItWasMadeOf) {
    RegionRunner r(unary_region("  input %9 : f64\n  input %10 : f64\n  input %11 : f64\n",
                                "  finite! %9, %10, %11 else x1\n"));
    const double inf = HUGE_VAL, nan = std::nan("");
    const auto signals = std::bit_cast<double>(uint64_t{0x7ff0000000000001});
    const struct {
        double made, a, b;
        bool stays;
    } rows[] = {
        {1, nan, inf, true},  {inf, inf, 2, true},     {-inf, 3, -inf, true},      {nan, nan, 2, true},
        {nan, 2, nan, true},  {nan, nan, inf, true},   {inf, 1e308, 1e308, false}, {nan, 0, 0, false},
        {nan, inf, 0, false}, {nan, inf, -inf, false}, {nan, signals, 1, false},   {nan, nan, signals, false},
        {inf, 1, 0, false},
    };
    for (const auto& row : rows) {
        r.forget();
        r.scalar(row.made).scalar(row.a).scalar(row.b);
        EXPECT_EQ(r.run(), row.stays ? 0 : 1) << row.made << " of " << row.a << " and " << row.b;
    }
}

TEST(Region, GuardsAndBools) {
    RegionRunner r(R"(region "bools" {
  input %0 : b1[1] "a"
  input %1 : b1 "p"
b0:
  %2 = const 0 : i64
  %3 = const 1 : i64
  %4 = const True : b1
  %5 = load %0[%2] : b1
  %6 = logical_xor.b1 %5, %1 : b1
  store %0[%3] = %6
  guard{0} %6 else x1
  branch %1 b1(%4, %5) else b1(%6, %4)
b1(%7 : b1, %8 : b1):
  leave x0
exit x0 [%7, %8]
exit x1 [%6]
}
)");
    for (const uint8_t first : {0, 1, 2})  // any byte but 0 is true
        for (const uint8_t p : {0, 1}) {
            uint8_t a[2] = {first, 9};
            r.forget();
            r.array(a, {2}).scalar(p);
            const bool x = (first != 0) != (p != 0);
            ASSERT_EQ(r.run(), x ? 1 : 0);
            EXPECT_EQ(a[1], x);
            EXPECT_EQ(r.out<uint8_t>(0), x ? 1 : p);
            if (!x) {
                EXPECT_EQ(r.out<uint8_t>(1), p ? (first != 0) : 1);
            }
        }
}

// Both edges of a branch lead to one block with other arguments.
TEST(Region, Diamond) {
    RegionRunner r(R"(region "max" {
  input %0 : f64
  input %1 : f64
b0:
  %2 = less.f64 %0, %1 : b1
  branch %2 b1(%1) else b1(%0)
b1(%3 : f64):
  leave x0
exit x0 [%3]
}
)");
    r.scalar(1.0).scalar(2.0);
    EXPECT_EQ(r.run(), 0);
    EXPECT_EQ(r.out<double>(0), 2);
    r.forget();
    r.scalar(3.0).scalar(std::nan(""));
    r.run();
    EXPECT_EQ(r.out<double>(0), 3);
}

// ---- elements of all dtypes ----

template <class T>
void moves(const char* dtype) {
    const std::string t = dtype;
    RegionRunner r("region \"move\" {\n  input %0 : " + t + "[2] written\n  input %1 : " + t + R"(
b0:
  %2 = const 1 : i64
  %3 = const 2 : i64
  %4 = const 0 : i64
  %5 = load %0[%2, %3] : )" +
                   t + R"(
  store %0[%4, %4] = %5
  store %0[%2, %3] = %1
  leave x0
exit x0 [%5, %1]
}
)");
    T a[6];
    unsigned char bytes[sizeof a];
    for (size_t i = 0; i < sizeof a; ++i) bytes[i] = static_cast<unsigned char>(i % 2);
    std::memcpy(&a, bytes, sizeof a);
    T given;
    std::memset(&given, 1, sizeof given);
    const T moved = a[5];
    r.array(a, {2, 3}).scalar(given);
    ASSERT_EQ(r.run(), 0) << dtype;
    EXPECT_EQ(std::memcmp(&a[0], &moved, sizeof(T)), 0) << dtype;
    EXPECT_EQ(std::memcmp(&a[5], &given, sizeof(T)), 0) << dtype;
    const T out0 = r.out<T>(0), out1 = r.out<T>(1);
    EXPECT_EQ(std::memcmp(&out0, &moved, sizeof(T)), 0) << dtype;
    EXPECT_EQ(std::memcmp(&out1, &given, sizeof(T)), 0) << dtype;
}

TEST(Region, ElementsOfAllDtypes) {
    struct C128 {
        double re, im;
    };
    moves<uint8_t>("b1");
    moves<int8_t>("i8");
    moves<uint8_t>("u8");
    moves<int16_t>("i16");
    moves<uint16_t>("u16");
    moves<int32_t>("i32");
    moves<uint32_t>("u32");
    moves<int64_t>("i64");
    moves<uint64_t>("u64");
    moves<uint16_t>("f16");
    moves<uint16_t>("bf16");
    moves<float>("f32");
    moves<double>("f64");
    moves<uint64_t>("c64");
    moves<C128>("c128");
}

// ---- views, scratch, arrays that a loop exchanges ----

TEST(Region, ViewsOfViews) {
    // a[1, ::-2][newaxis], as address, extents and strides
    RegionRunner r(R"(region "view" {
  input %0 : f64[3] "a"
  input %1 : i64 "i"
b0:
  %2 = const 3 : i64
  %3 = const 2 : i64
  %4 = const -2 : i64
  %5 = const 1 : i64
  %6 = view %0 [drop 0 at %1, axis 2 from %2 count %3 step %4, new %5, axis 1 from _ count _ step _] : f64[3]
  %7 = extent{2} %6 : i64
  %8 = const 0 : i64
  %9 = load %6[%5, %8, %3] : f64
  leave x0
exit x0 [%6, %7, %9]
}
)");
    double a[2 * 5 * 4];
    for (int i = 0; i < 40; ++i) a[i] = i;
    r.array(a, {2, 5, 4}).scalar<int64_t>(1);
    ASSERT_EQ(r.run(), 0);
    EXPECT_EQ(r.out<double*>(0), a + 23);
    const int64_t expected[] = {2, 1, 5, -16, 0, 32, 5};
    for (size_t k = 0; k < 7; ++k) EXPECT_EQ(r.out(k + 1), expected[k]) << k;
    EXPECT_EQ(r.out<double>(8), 23 - 2 + 2 * 4);
}

// a, b = b, a in each iteration; b[:] = a + 1 for all of it, from scratch memory.
constexpr const char* kPingPong = R"(region "ping" {
  input %0 : i32[1] contiguous written "a"
  input %1 : i64 "n"
b0:
  %2 = extent{0} %0 : i64
  %3 = scratch %2 else x1 : i32[1]
  %4 = const 0 : i64
  %5 = const 1 : i64
  %6 = const 1 : i32
  jump b1(%0, %3, %1)
b1(%7 : i32[1], %8 : i32[1], %9 : i64):
  %10 = greater.i64 %9, %4 : b1
  branch %10 b2 else b3
b2:
  %11 = subtract.i64 %9, %5 : i64
  nest %2 {
    %12 = at %7 : i32
    %13 = add.i32 %12, %6 : i32
    put %8, %13
  }
  jump b1(%8, %7, %11)
b3:
  leave x0
exit x0 [%7]
exit x1 []
}
)";

TEST(Region, ArraysThatALoopExchanges) {
    RegionRunner r(kPingPong);
    std::vector<int32_t> a(37, 5);
    r.array(a.data(), {37}).scalar<int64_t>(3);
    ASSERT_EQ(r.run(), 0);
    const auto* result = r.out<int32_t*>(0);
    EXPECT_NE(result, a.data());
    for (int i = 0; i < 37; ++i) ASSERT_EQ(result[i], 8);
    EXPECT_EQ(r.out(1), 37);
    EXPECT_EQ(r.out(2), 4);
}

TEST(Region, ScratchIsKeptAndGrows) {
    RegionRunner r(kPingPong);
    std::vector<int32_t> a(1000, 0);
    int32_t* last = nullptr;
    for (const int64_t n : {10, 1000, 500, 0, 1000}) {
        r.forget();
        r.array(a.data(), {n}).scalar<int64_t>(1);
        ASSERT_EQ(r.run(), 0);
        if (n == 500 || n == 0) {
            EXPECT_EQ(r.out<int32_t*>(0), last);
        }
        last = r.out<int32_t*>(0);
    }
    RegionRunner::grow_limit() = 100;
    RegionRunner fresh(kPingPong);
    fresh.array(a.data(), {1000}).scalar<int64_t>(1);
    EXPECT_EQ(fresh.run(), 1);
    RegionRunner::grow_limit() = int64_t{1} << 40;
}

// ---- calls ----

double half_of(double x) { return x / 2; }
double minus(double x, double y) { return x - y; }
void ufunc_minus(char** args, const int64_t* n, const int64_t* strides, void* data) {
    ++*static_cast<int*>(data);
    for (int64_t i = 0; i < *n; ++i) {
        float x, y;
        std::memcpy(&x, args[0] + i * strides[0], 4);
        std::memcpy(&y, args[1] + i * strides[1], 4);
        x -= y;
        std::memcpy(args[2] + i * strides[2], &x, 4);
    }
}
void dot(void* a, int64_t sa, void* b, int64_t sb, void* out, int64_t n, void*) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
        sum += *reinterpret_cast<double*>(static_cast<char*>(a) + i * sa) *
               *reinterpret_cast<double*>(static_cast<char*>(b) + i * sb);
    *static_cast<double*>(out) = sum;
}

TEST(Region, Calls) {
    RegionRunner r(R"(region "calls" {
  input %0 : f64[1] "a"
  input %1 : f32[1] "b"
  input %2 : f64 "x"
  call c0 = scalar "half" (f64, f64)
  call c1 = scalar "minus" (f64, f64, f64)
  call c2 = ufunc "subtract" (f32, f32, f32)
  call c3 = dot "dot" (f64, f64)
b0:
  %3 = call.f64{0} %2 : f64
  %4 = call.f64{1} %3, %2 : f64
  %5 = const 10.0 : f32
  %6 = const 3.0 : f32
  %7 = call.f32{2} %5, %6 : f32
  %8 = dot{3} %0, %0 : f64
  %9 = reduce{2} %1, %5 : f32
  leave x0
exit x0 [%3, %4, %7, %8, %9]
}
)");
    int called = 0;
    r.target(0, reinterpret_cast<void*>(half_of)).target(1, reinterpret_cast<void*>(minus));
    r.target(2, reinterpret_cast<void*>(ufunc_minus), &called).target(3, reinterpret_cast<void*>(dot));
    double a[] = {1, 2, 3, 4, 5, 6};
    float b[] = {1, 2, 4};
    r.array(a, {3}, {2}).array(b, {3}).scalar(5.0);
    ASSERT_EQ(r.run(), 0);
    EXPECT_EQ(r.out<double>(0), 2.5);
    EXPECT_EQ(r.out<double>(1), -2.5);
    EXPECT_EQ(r.out<float>(2), 7);
    EXPECT_EQ(r.out<double>(3), 35);
    EXPECT_EQ(r.out<float>(4), 3);
    EXPECT_EQ(called, 2);
    r.forget();
    r.target(3, nullptr);  // not called for empty vectors
    r.array(a, {0}).array(b, {0}).scalar(5.0);
    ASSERT_EQ(r.run(), 0);
    EXPECT_EQ(r.out<double>(3), 0);
    EXPECT_EQ(r.out<float>(4), 10);
}

// ---- nests ----

// c[i, j] = (a[i, j] < b[j]) and stores i * 100 + j where it holds, with four dtypes in one nest.
TEST(Region, NestOfSeveralDtypes) {
    RegionRunner r(R"(region "mixed" {
  input %0 : f32[2] "a"
  input %1 : i16[1] "b"
  input %2 : b1[2] written "c"
  input %3 : i64[2] written "d"
  input %4 : i64 "shift"
b0:
  %5 = extent{0} %2 : i64
  %6 = extent{1} %2 : i64
  %7 = view %1 [new %5, axis 0 from _ count _ step _] : i16[2]
  nest %5, %6 {
    %8 = at %0 : f32
    %9 = at %7 : i16
    %10 = cast.i16 %9 : f32
    %11 = less.f32 %8, %10 : b1
    put %2, %11
    %12 = axis{0} : i64
    %13 = axis{1} : i64
    %14 = const 100 : i64
    %15 = multiply.i64 %12, %14 : i64
    %16 = add.i64 %15, %13 : i64
    %17 = add.i64 %16, %4 : i64
    %18 = at %3 : i64
    %19 = where.i64 %11, %17, %18 : i64
    put %3, %19
  }
  leave x0
exit x0 []
}
)");
    for (const int64_t columns : {0, 1, 3, 7, 8, 9, 16, 31, 40})
        for (const int64_t step : {1, 2}) {
            const int64_t rows = 3;
            const auto n = static_cast<size_t>(rows * columns * step) + 1;
            std::vector<float> a(n);
            std::vector<int16_t> b(static_cast<size_t>(columns) + 1);
            std::vector<uint8_t> c(n, 7);
            std::vector<int64_t> d(n, -5);
            for (size_t i = 0; i < n; ++i) a[i] = static_cast<float>(i * 7 % 11) - 0.5f;
            for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int16_t>(i % 9);
            r.forget();
            r.array(a.data(), {rows, columns}, {columns * step, step}).array(b.data(), {columns});
            r.array(c.data(), {rows, columns}).array(d.data(), {rows, columns}, {columns * step, step});
            r.scalar<int64_t>(3);
            ASSERT_EQ(r.run(), 0);
            for (int64_t i = 0; i < rows; ++i)
                for (int64_t j = 0; j < columns; ++j) {
                    const auto at = static_cast<size_t>((i * columns + j) * step);
                    const bool less = a[at] < static_cast<float>(b[static_cast<size_t>(j)]);
                    ASSERT_EQ(c[static_cast<size_t>(i * columns + j)], less)
                        << columns << " " << i << " " << j;
                    ASSERT_EQ(d[at], less ? i * 100 + j + 3 : -5) << columns << " " << i << " " << j;
                }
            EXPECT_EQ(c.back(), 7);
            EXPECT_EQ(d.back(), -5);
        }
}

// a *= 2 of every rank, in place, through two identical views.
TEST(Region, NestsOfAllRanksInPlace) {
    for (int rank = 0; rank <= 4; ++rank) {
        std::string extents, text = "region \"double\" {\n  input %0 : f64[" + std::to_string(rank) +
                                    "] contiguous written\nb0:\n  %1 = const 2.0 : f64\n";
        std::string axes;
        for (int d = 0; d < rank; ++d) {
            text += "  %" + std::to_string(10 + d) + " = extent{" + std::to_string(d) + "} %0 : i64\n";
            extents += (d ? ", %" : " %") + std::to_string(10 + d);
            axes += std::string(d ? ", " : "") + "axis " + std::to_string(d) + " from _ count _ step _";
        }
        text +=
            "  %2 = view %0 [" + axes + "] : f64[" + std::to_string(rank) + "]\n  nest" + extents +
            " {\n    %3 = at %0 : f64\n    %4 = multiply.f64 %3, %1 : f64\n    put %2, %4\n  }\n  leave x0\n"
            "exit x0 []\n}\n";
        RegionRunner r(text);
        const std::vector<int64_t> shape(static_cast<size_t>(rank), 3);
        std::vector<double> a(81 + 1, 1.5);
        size_t n = 1;
        for (int d = 0; d < rank; ++d) n *= 3;
        r.array(a.data(), shape);
        ASSERT_EQ(r.run(), 0);
        for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i], i < n ? 3 : 1.5) << rank << " " << i;
    }
}

// A host loop in a nest, which clears the flags that are pending, as some of NumPy's do.
void clears_flags(char** args, const int64_t* n, const int64_t* strides, void*) {
    for (int64_t i = 0; i < *n; ++i) std::memcpy(args[1] + i * strides[1], args[0] + i * strides[0], 8);
    _mm_setcsr(_mm_getcsr() & ~0x3fu);
}

TEST(Region, NestThatCallsTheHost) {
    RegionRunner r(R"(region "host" {
  input %0 : f64[1] "a"
  input %1 : f64[1] written "b"
  call c0 = ufunc "copy" (f64, f64)
b0:
  %2 = extent{0} %0 : i64
  %3 = const 1.0 : f64
  nest{1} %2 else x1 {
    %4 = at %0 : f64
    %5 = divide.f64 %3, %4 : f64
    %6 = call.f64{0} %5 : f64
    put %1, %6
  }
  leave x0
exit x0 []
exit x1 []
}
)");
    r.target(0, reinterpret_cast<void*>(clears_flags));
    double a[] = {2, 4, 8}, b[3];
    r.array(a, {3}).array(b, {3});
    _mm_setcsr(_mm_getcsr() | 4);  // pending before: nobody's business, and stays
    EXPECT_EQ(r.run(), 0);
    EXPECT_TRUE(_mm_getcsr() & 4);
    _mm_setcsr(_mm_getcsr() & ~0x3fu);
    EXPECT_EQ(b[2], 0.125);
    a[1] = 0;
    EXPECT_EQ(r.run(), 1);
    EXPECT_EQ(b[2], 0.125);
    EXPECT_FALSE(_mm_getcsr() & 4);
}

// ---- loops whose checks were hoisted ----

// for i in range(n): a[i + k] = i, with numbers for which the fast version may run, may not, and must stop.
TEST(Region, HoistedChecksLeaveWherePythonWould) {
    RegionRunner r(R"(region "shift" {
  input %0 : i64[1] contiguous written "a"
  input %1 : i64 "n"
  input %2 : i64 "k"
b0:
  %3 = extent{0} %0 : i64
  %4 = const 0 : i64
  %5 = const 1 : i64
  %6 = maximum.i64 %1, %4 : i64
  jump b1(%4, %6)
b1(%7 : i64, %8 : i64):
  %9 = greater.i64 %8, %4 : b1
  branch %9 b2 else b3
b2:
  %10 = add.i64 %7, %5 : i64
  %11 = subtract.i64 %8, %5 : i64
  %12 = add! %7, %2 else x1 : i64
  %13 = index! %12, %3 else x2 : i64
  store %0[%13] = %7
  jump b1(%10, %11)
b3:
  leave x0
exit x0 [%7]
exit x1 [%7]
exit x2 [%7]
}
)");
    for (const int64_t length : {0, 1, 5, 8})
        for (const int64_t n : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{5}, int64_t{9}})
            for (const int64_t k : {kMin, int64_t{-9}, int64_t{-4}, int64_t{0}, int64_t{3}, kMax - 2}) {
                std::vector<int64_t> a(static_cast<size_t>(length), -1), b = a;
                int exit = 0;
                int64_t i = 0, at = 0;
                for (; i < n; ++i) {
                    if (__builtin_add_overflow(i, k, &at)) exit = 1;
                    if (!exit && (at < -length || at >= length)) exit = 2;
                    if (exit) break;
                    b[static_cast<size_t>(at < 0 ? at + length : at)] = i;
                }
                r.forget();
                r.array(a.data(), {length}).scalar(n).scalar(k);
                ASSERT_EQ(r.run(), exit) << length << " " << n << " " << k;
                EXPECT_EQ(r.out(0), i) << length << " " << n << " " << k;
                EXPECT_EQ(a, b) << length << " " << n << " " << k;
            }
}

}  // namespace
}  // namespace stator::jit
