#include "frontend/hosts/numpy/complex_forms.h"

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "frontend/hosts/numpy/runtime.h"

namespace stator::frontend::numpy {

namespace {

using graph::DType;

template <class T>
bool same_number(T a, T b) {
    return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

// Numbers of all sizes, and those that are treated apart.
template <class T>
std::vector<std::complex<T>> probes() {
    constexpr int kRandom = 96;
    const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    std::vector<std::complex<T>> out;
    std::mt19937 random(1);
    std::uniform_real_distribution<T> mantissa(-2, 2);
    std::uniform_int_distribution<int> exponent(-12, 12);
    for (int i = 0; i < kRandom; ++i) {
        const T re = std::ldexp(mantissa(random), exponent(random));
        out.emplace_back(re, std::ldexp(mantissa(random), exponent(random)));
    }
    const T special[] = {T(0), T(-0.0), inf, -inf, nan, T(1)};
    for (const T re : special)
        for (const T im : special) out.emplace_back(re, im);
    return out;
}

template <class T>
std::complex<T> product(std::complex<T> a, std::complex<T> b) {
    volatile T low = a.imag() * b.imag(), high = a.imag() * b.real();  // rounded before they are added
    return {std::fma(a.real(), b.real(), -low), std::fma(a.real(), b.imag(), static_cast<T>(high))};
}

template <class T>
T modulus(std::complex<T> z) {
    const T inf = std::numeric_limits<T>::infinity();
    const T re = std::abs(z.real()), im = std::abs(z.imag());
    if (re == inf || im == inf) return inf;
    if (std::isnan(re) || std::isnan(im)) return std::numeric_limits<T>::quiet_NaN();
    const T larger = std::max(re, im), smaller = std::min(re, im);
    const T q = larger == 0 ? T(0) : smaller / larger;
    return std::sqrt(std::fma(q, q, T(1))) * larger;
}

template <class T>
ComplexForms ask(DType t, DType part) {
    using Z = std::complex<T>;
    ComplexForms forms;
    std::vector<Z> a = probes<T>(), b(a.rbegin(), a.rend()), z(a.size());
    const auto n = static_cast<int64_t>(a.size());
    constexpr int64_t size = sizeof(Z);
    auto* pa = reinterpret_cast<char*>(a.data());
    auto* pb = reinterpret_cast<char*>(b.data());
    auto* pz = reinterpret_cast<char*>(z.data());
    const kernels::HostLoop multiply = find_loop({"multiply", {t, t, t}}),
                            square = find_loop({"square", {t, t}}),
                            absolute = find_loop({"absolute", {t, part}});
    if (!multiply.fn || !square.fn || !absolute.fn) return forms;
    forms.fused_product = forms.plain_modulus = true;
    // In one piece, element by element, every second one, and with one operand that stands still.
    const struct {
        int64_t count, a, b;
    } ways[] = {{n, 1, 1}, {1, 1, 1}, {n / 2, 2, 1}, {n, 0, 1}, {n, 1, 0}};
    for (const auto& w : ways) {
        char* args[] = {pa, pb, pz};
        const int64_t strides[] = {w.a * size, w.b * size, size};
        multiply.fn(args, &w.count, strides, multiply.data);
        for (int64_t i = 0; i < w.count; ++i) {
            const Z want = product(a[static_cast<size_t>(i * w.a)], b[static_cast<size_t>(i * w.b)]);
            const Z& found = z[static_cast<size_t>(i)];
            forms.fused_product &=
                same_number(found.real(), want.real()) && same_number(found.imag(), want.imag());
        }
        char* unary[] = {pa, pz};
        const int64_t steps[] = {w.a * size, size};
        square.fn(unary, &w.count, steps, square.data);
        for (int64_t i = 0; i < w.count; ++i) {
            const Z x = a[static_cast<size_t>(i * w.a)], want = product(x, x);
            const Z& found = z[static_cast<size_t>(i)];
            forms.fused_product &=
                same_number(found.real(), want.real()) && same_number(found.imag(), want.imag());
        }
        const int64_t floats[] = {w.a * size, static_cast<int64_t>(sizeof(T))};
        absolute.fn(unary, &w.count, floats, absolute.data);
        for (int64_t i = 0; i < w.count; ++i)
            forms.plain_modulus &=
                same_number(reinterpret_cast<T*>(pz)[i], modulus(a[static_cast<size_t>(i * w.a)]));
    }
    return forms;
}

}  // namespace

const ComplexForms& complex_forms(DType t) {
    static const ComplexForms single = ask<float>(DType::C64, DType::F32),
                              twice = ask<double>(DType::C128, DType::F64);
    return t == DType::C64 ? single : twice;
}

}  // namespace stator::frontend::numpy
