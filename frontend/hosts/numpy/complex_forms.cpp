#include "frontend/hosts/numpy/complex_forms.h"

#include <algorithm>
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

// Numbers in memory, and what the loops make of them.
template <class T>
struct Asked {
    using Z = std::complex<T>;
    static constexpr int64_t size = sizeof(Z);

    kernels::HostLoop multiply, square, absolute;
    std::vector<Z> a = probes<T>(), b{a.rbegin(), a.rend()}, z = std::vector<Z>(2 * a.size());
    int64_t n = static_cast<int64_t>(a.size());

    static bool same(Z x, Z y) { return same_number(x.real(), y.real()) && same_number(x.imag(), y.imag()); }
    static char* at(std::vector<Z>& v, int64_t i) { return reinterpret_cast<char*>(v.data() + i); }

    // Whether count products have the form, of operands and into a result that lie so many elements apart.
    bool products_fused(int64_t count, int64_t step_a, int64_t step_b, int64_t step_z) {
        const int64_t first_a = step_a < 0 ? n - 1 : 0, first_b = step_b < 0 ? n - 1 : 0;
        char* args[] = {at(a, first_a), at(b, first_b), at(z, 0)};
        const int64_t strides[] = {step_a * size, step_b * size, step_z * size};
        multiply.fn(args, &count, strides, multiply.data);
        for (int64_t i = 0; i < count; ++i)
            if (!same(z[static_cast<size_t>(i * step_z)],
                      product(a[static_cast<size_t>(first_a + i * step_a)],
                              b[static_cast<size_t>(first_b + i * step_b)])))
                return false;
        return true;
    }
    bool squares_fused(int64_t count, int64_t step_a, int64_t step_z) {
        const int64_t first = step_a < 0 ? n - 1 : 0;
        char* args[] = {at(a, first), at(z, 0)};
        const int64_t strides[] = {step_a * size, step_z * size};
        square.fn(args, &count, strides, square.data);
        for (int64_t i = 0; i < count; ++i) {
            const Z x = a[static_cast<size_t>(first + i * step_a)];
            if (!same(z[static_cast<size_t>(i * step_z)], product(x, x))) return false;
        }
        return true;
    }
    bool moduli_plain(int64_t count, int64_t step_a) {
        char* args[] = {at(a, 0), at(z, 0)};
        const int64_t strides[] = {step_a * size, static_cast<int64_t>(sizeof(T))};
        absolute.fn(args, &count, strides, absolute.data);
        const T* found = reinterpret_cast<const T*>(z.data());
        for (int64_t i = 0; i < count; ++i)
            if (!same_number(found[i], modulus(a[static_cast<size_t>(i * step_a)]))) return false;
        return true;
    }
    bool products_commute() {
        std::vector<Z> ab(a.size()), ba(a.size());
        const int64_t strides[] = {size, size, size};
        char *forth[] = {at(a, 0), at(b, 0), at(ab, 0)}, *back[] = {at(b, 0), at(a, 0), at(ba, 0)};
        multiply.fn(forth, &n, strides, multiply.data);
        multiply.fn(back, &n, strides, multiply.data);
        return std::equal(ab.begin(), ab.end(), ba.begin(), same);
    }
};

template <class T>
ComplexForms ask(DType t, DType part) {
    ComplexForms forms;
    Asked<T> ask{find_loop({"multiply", {t, t, t}}), find_loop({"square", {t, t}}),
                 find_loop({"absolute", {t, part}})};
    if (!ask.multiply.fn || !ask.square.fn || !ask.absolute.fn) return forms;
    const int64_t n = ask.n;
    forms.product_commutes = ask.products_commute();
    forms.fused_product = forms.plain_modulus = true;
    // In one piece, element by element, every second one, and with one operand that stands still.
    const struct {
        int64_t count, a, b;
    } ways[] = {{n, 1, 1}, {1, 1, 1}, {n / 2, 2, 1}, {n / 2, 2, 2}, {n, 0, 1}, {n, 1, 0}};
    for (const auto& w : ways) {
        forms.fused_product &= ask.products_fused(w.count, w.a, w.b, 1) &&
                               ask.products_fused(w.count, w.a, w.b, 2) && ask.squares_fused(w.count, w.a, 1);
        forms.plain_modulus &= ask.moduli_plain(w.count, w.a);
    }
    forms.backward_product = ask.products_fused(n, -1, -1, 1) && ask.products_fused(n, -1, 1, 1) &&
                             ask.products_fused(n, 1, -1, 1) && ask.squares_fused(n, -1, 1);
    forms.gapped_square = ask.squares_fused(n / 2, 2, 2);
    return forms;
}

}  // namespace

const ComplexForms& complex_forms(DType t) {
    static const ComplexForms single = ask<float>(DType::C64, DType::F32),
                              twice = ask<double>(DType::C128, DType::F64);
    return t == DType::C64 ? single : twice;
}

}  // namespace stator::frontend::numpy
