// The vectors of kernels/sincos/sincos.h against the C library of this machine.
#include "kernels/sincos/sincos.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/sincos/lanes.h"

namespace stator::kernels {

namespace {

int64_t scalar_elements = 0;

template <double (*F)(double)>
void scalar_loop(char** args, const int64_t* dims, const int64_t* steps, void*) {
    scalar_elements += dims[0];
    for (int64_t i = 0; i < dims[0]; i++)
        *reinterpret_cast<double*>(args[1] + i * steps[1]) =
            F(*reinterpret_cast<double*>(args[0] + i * steps[0]));
}

// Another libm: one argument in some thousands has another last bit.
double another_sin(double x) {
    const double s = std::sin(x);
    return std::bit_cast<uint64_t>(x) % 2000 == 7 ? std::nextafter(s, 2) : s;
}

struct Function {
    Trig which;
    double (*libm)(double);
    HostLoop scalar;
};
const Function kFunctions[] = {
    {Trig::Sin,
     static_cast<double (*)(double)>(std::sin),
     {scalar_loop<static_cast<double (*)(double)>(::sin)>}},
    {Trig::Cos,
     static_cast<double (*)(double)>(std::cos),
     {scalar_loop<static_cast<double (*)(double)>(::cos)>}},
};

void run(const HostLoop& loop, const double* x, double* out, int64_t n, int64_t xs = 8, int64_t outs = 8) {
    char* args[] = {reinterpret_cast<char*>(const_cast<double*>(x)), reinterpret_cast<char*>(out)};
    const int64_t strides[] = {xs, outs};
    loop.fn(args, &n, strides, loop.data);
}

// Whether the libm at hand is the one whose algorithm this is; otherwise nothing but that is to be tested.
bool known(const Function& f) { return with_sincos_lanes(f.which, f.scalar).fn != f.scalar.fn; }

std::vector<double> arguments(double low, double high, size_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> draw(low, high);
    std::vector<double> x(n);
    for (double& v : x) v = random() & 1 ? draw(random) : -draw(random);
    return x;
}

void expect_libm(const Function& f, const HostLoop& loop, const std::vector<double>& x) {
    std::vector<double> got(x.size());
    run(loop, x.data(), got.data(), static_cast<int64_t>(x.size()));
    size_t wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        if (std::bit_cast<uint64_t>(got[i]) == std::bit_cast<uint64_t>(f.libm(x[i]))) continue;
        if (++wrong < 5)
            ADD_FAILURE() << std::hexfloat << x[i] << " gives " << got[i] << ", not " << f.libm(x[i]);
    }
    EXPECT_EQ(wrong, 0u);
}

TEST(SinCos, HasLibmsBitsInAllRanges) {
    constexpr double kRanges[][2] = {{0, 1e-7},      {1e-8, 0.126},    {0.125, 0.127},   {0.126, 0.8555},
                                     {0.855, 0.856}, {0.8555, 2.4263}, {2.42, 2.43},     {2.4263, 20},
                                     {20, 1e4},      {1e4, 1.06e8},    {1.05e8, 1.06e8}, {1e9, 1e300}};
    for (const Function& f : kFunctions) {
        if (!known(f)) GTEST_SKIP() << "another libm, or no FMA";
        const HostLoop loop = with_sincos_lanes(f.which, f.scalar);
        for (const auto& range : kRanges) expect_libm(f, loop, arguments(range[0], range[1], 100'003, 7));
    }
}

TEST(SinCos, HasLibmsBitsAtBordersAndMultiplesOfHalfPi) {
    std::vector<double> x = {0.0, -0.0, 0x1p-26, 0x1p-27, 0x1.b6p-1, 0x1.368fdp1, 0x1.921FBp26, 0.126};
    for (int k = 1; k < 30'000; ++k) x.push_back(k * 1.5707963267948966);
    for (int k = 0; k < 112; ++k) x.push_back(k / 128.0), x.push_back((k + 0.5) / 128);
    for (size_t i = 0, n = x.size(); i < n; ++i)
        for (const double v : {std::nextafter(x[i], 0), std::nextafter(x[i], 1e9), -x[i]}) x.push_back(v);
    for (const Function& f : kFunctions) expect_libm(f, with_sincos_lanes(f.which, f.scalar), x);
}

TEST(SinCos, EachInstructionSetHasTheSameBits) {
    const auto x = arguments(1e-7, 1000, 80'000, 3);
    std::vector<double> out(x.size());
    for (const Function& f : kFunctions) {
        if (!known(f)) GTEST_SKIP() << "another libm, or no FMA";
        const bool sine = f.which == Trig::Sin;
        const struct {
            bool there;
            SinCosLanes lanes;
        } kSets[] = {
            {sincos::kHasAvx512 && __builtin_cpu_supports("avx512dq"),
             sine ? sincos::sin_avx512 : sincos::cos_avx512},
            {sincos::kHasAvx2 && __builtin_cpu_supports("avx2"), sine ? sincos::sin_avx2 : sincos::cos_avx2}};
        for (const auto& set : kSets) {
            if (!set.there) continue;
            ASSERT_EQ(set.lanes(x.data(), out.data(), std::ssize(x)), std::ssize(x));
            for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], f.libm(x[i])) << std::hexfloat << x[i];
        }
    }
}

TEST(SinCos, AnyLengthInPlaceAndWithElementsThatAreLeftToLibm) {
    const double inf = std::numeric_limits<double>::infinity();
    for (const Function& f : kFunctions) {
        const HostLoop loop = with_sincos_lanes(f.which, f.scalar);
        for (int64_t n = 0; n < 40; ++n) {
            for (const double other : {1.0, 0.0, 1e-300, 1e10, inf, std::nan("")}) {
                for (int64_t at = 0; at < std::max<int64_t>(n, 1); ++at) {
                    auto x = arguments(0, 30, static_cast<size_t>(n) + 1, 5);
                    if (n) x[static_cast<size_t>(at)] = other;
                    const auto before = x;
                    run(loop, x.data(), x.data(), n);
                    for (size_t i = 0; i < x.size(); ++i) {
                        const double want = i < static_cast<size_t>(n) ? f.libm(before[i]) : before[i];
                        ASSERT_EQ(std::isnan(x[i]), std::isnan(want));
                        if (std::isnan(want)) continue;
                        ASSERT_EQ(std::bit_cast<uint64_t>(x[i]), std::bit_cast<uint64_t>(want));
                    }
                }
            }
        }
    }
}

TEST(SinCos, StridedOverlappingAndOtherRoundingModesAreTheScalarLoops) {
    for (const Function& f : kFunctions) {
        const HostLoop loop = with_sincos_lanes(f.which, f.scalar);
        auto x = arguments(0, 30, 64, 9);
        std::vector<double> out(64), want(64);
        run(loop, x.data(), out.data(), 32, 16, 8);
        for (size_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], f.libm(x[2 * i]));
        want = x;
        run(f.scalar, want.data(), want.data() + 1, 40);
        out = x;
        run(loop, out.data(), out.data() + 1, 40);
        EXPECT_EQ(out, want);
        std::fesetround(FE_UPWARD);
        run(f.scalar, x.data(), want.data(), 64);
        run(loop, x.data(), out.data(), 64);
        std::fesetround(FE_TONEAREST);
        EXPECT_EQ(out, want);
    }
}

TEST(SinCos, RaisesWhatTheScalarLoopRaises) {
    const double inf = std::numeric_limits<double>::infinity();
    for (const Function& f : kFunctions) {
        const HostLoop loop = with_sincos_lanes(f.which, f.scalar);
        for (const double other : {1.0, 0.0, 1e-310, 1e300, 1.5707963267948966, inf, std::nan("")}) {
            std::vector<double> x(16, 0.5), out(16);
            x[5] = other;
            constexpr int kOfInterest = FE_ALL_EXCEPT & ~FE_INEXACT;
            std::feclearexcept(FE_ALL_EXCEPT);
            run(f.scalar, x.data(), out.data(), 16);
            const int want = std::fetestexcept(kOfInterest);
            std::feclearexcept(FE_ALL_EXCEPT);
            run(loop, x.data(), out.data(), 16);
            EXPECT_EQ(std::fetestexcept(kOfInterest), want) << other;
            std::feclearexcept(FE_ALL_EXCEPT);
        }
    }
}

TEST(SinCos, NearlyAllElementsGoByVectors) {
    for (const Function& f : kFunctions) {
        if (!known(f)) GTEST_SKIP() << "another libm, or no FMA";
        const HostLoop loop = with_sincos_lanes(f.which, f.scalar);
        const auto x = arguments(0.01, 100, 1003, 11);
        std::vector<double> out(x.size());
        scalar_elements = 0;
        run(loop, x.data(), out.data(), std::ssize(x));
        EXPECT_EQ(scalar_elements, 0);
    }
}

TEST(SinCos, AnotherLibmStaysAsItIs) {
    const HostLoop other{scalar_loop<another_sin>};
    EXPECT_EQ(with_sincos_lanes(Trig::Sin, other).fn, other.fn);
    EXPECT_EQ(with_sincos_lanes(Trig::Cos, other).fn, other.fn);
    EXPECT_EQ(with_sincos_lanes(Trig::Sin, HostLoop{}).fn, nullptr);
}

}  // namespace
}  // namespace stator::kernels
