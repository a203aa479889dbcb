#include "frontend/hosts/numpy/complex_scalars.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/pyref.h"

namespace stator::frontend::numpy {

namespace {

using graph::DType;
using Z = std::complex<double>;

bool is_type_of(PyTypeObject* type, DType t) { return type == descr_of(t)->typeobj; }
bool is_narrow(PyTypeObject* type) { return is_type_of(type, DType::C64) || is_type_of(type, DType::F32); }
bool is_complex_type(PyTypeObject* type) {
    return type == &PyComplex_Type || is_type_of(type, DType::C64) || is_type_of(type, DType::C128);
}

// Numbers that the type holds exactly, with as many bits as fit, so that products are rounded.
std::vector<Z> samples(PyTypeObject* type, bool narrow, unsigned seed) {
    constexpr int kRandom = 24;
    const bool whole = type == &PyLong_Type, complex = is_complex_type(type);
    std::mt19937_64 random(seed);
    const auto part = [&]() -> double {
        const double sign = random() % 2 ? 1 : -1;
        if (whole) return sign * static_cast<double>(random() % 4093 + 1);
        const auto bits = static_cast<double>(random() >> (narrow ? 41 : 11) | 1);
        return sign * std::ldexp(bits, static_cast<int>(random() % 9) - (narrow ? 23 : 53));
    };
    std::vector<Z> out;
    for (int i = 0; i < kRandom; ++i) {
        const double re = part();
        out.emplace_back(re, complex ? part() : 0.0);
    }
    if (complex)
        for (const Z z : {Z(1, -0.0), Z(-0.0, 1), Z(-2, 0.0), Z(0.0, -3), Z(0.0, 0.0), Z(0.0, -0.0),
                          Z(-0.0, 0.0), Z(-0.0, -0.0)})
            out.push_back(z);
    else
        for (const double x : {1.0, 0.0, whole ? 2.0 : -0.0}) out.emplace_back(x, 0);
    return out;
}

// Not a number of two parts, for real types.
PyRef number_of(PyTypeObject* type, Z z) {
    const PyRef value = PyRef::steal(is_complex_type(type) ? PyComplex_FromDoubles(z.real(), z.imag())
                                                           : PyFloat_FromDouble(z.real()));
    return PyRef::steal(value ? PyObject_CallOneArg(reinterpret_cast<PyObject*>(type), value.get())
                              : nullptr);
}

template <class T>
std::complex<T> rounded_product(std::complex<T> x, std::complex<T> y) {
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

template <class T>
std::complex<T> rounded_quotient(std::complex<T> x, std::complex<T> y) {
    const bool real = std::abs(y.real()) >= std::abs(y.imag());
    const T larger = real ? y.real() : y.imag(), smaller = real ? y.imag() : y.real();
    const T r = smaller / larger, s = T(1) / (larger + smaller * r);
    if (real) return {(x.real() + x.imag() * r) * s, (x.imag() - x.real() * r) * s};
    return {(x.real() * r + x.imag()) * s, (x.imag() * r - x.real()) * s};
}

template <class T>
std::complex<T> rounded_power(std::complex<T> x, int64_t n) {
    if (x == std::complex<T>()) return {};
    if (n == 2) return rounded_product(x, x);
    if (n == 3) return rounded_product(x, rounded_product(x, x));
    std::complex<T> r(1), square = x;
    for (int64_t bit = 1; bit <= n; bit <<= 1, square = rounded_product(square, square))
        if (n & bit) r = rounded_product(r, square);
    return r;
}

template <class T>
std::complex<T> by_formula(ComplexOperator op, Z a, Z b) {
    const std::complex<T> x(a), y(b);
    switch (op) {
        case ComplexOperator::Add: return {x.real() + y.real(), x.imag() + y.imag()};
        case ComplexOperator::Subtract: return {x.real() - y.real(), x.imag() - y.imag()};
        case ComplexOperator::Multiply: return rounded_product(x, y);
        case ComplexOperator::Divide: return rounded_quotient(x, y);
        case ComplexOperator::Power: return rounded_power(x, static_cast<int64_t>(b.real()));
    }
    return {};
}

PyRef by_python(ComplexOperator op, PyObject* a, PyObject* b) {
    switch (op) {
        case ComplexOperator::Add: return PyRef::steal(PyNumber_Add(a, b));
        case ComplexOperator::Subtract: return PyRef::steal(PyNumber_Subtract(a, b));
        case ComplexOperator::Multiply: return PyRef::steal(PyNumber_Multiply(a, b));
        case ComplexOperator::Divide: return PyRef::steal(PyNumber_TrueDivide(a, b));
        case ComplexOperator::Power: return PyRef::steal(PyNumber_Power(a, b, Py_None));
    }
    return {};
}

template <class T>
bool has_bits_of(PyObject* number, std::complex<T> expected) {
    char bits[sizeof(Z)];
    scalar_bits(number, bits);
    return std::memcmp(bits, &expected, sizeof expected) == 0;
}

std::optional<DType> ask(ComplexOperator op, PyTypeObject* a, PyTypeObject* b, int64_t exponent) {
    std::optional<DType> found;
    const std::vector<Z> xs = samples(a, is_narrow(a) || is_narrow(b), 1);
    const std::vector<Z> ys = op == ComplexOperator::Power
                                  ? std::vector<Z>{Z(static_cast<double>(exponent), 0)}
                                  : samples(b, is_narrow(a) || is_narrow(b), 2);
    for (const Z x : xs)
        for (const Z y : ys) {
            if (op == ComplexOperator::Divide && y == Z()) continue;  // NumPy warns
            const PyRef left = number_of(a, x), right = number_of(b, y);
            const PyRef result = left && right ? by_python(op, left.get(), right.get()) : PyRef();
            PyErr_Clear();
            if (!result) return {};
            const bool wide = is_type_of(Py_TYPE(result.get()), DType::C128);
            if (!wide && !is_type_of(Py_TYPE(result.get()), DType::C64)) return {};
            const DType t = wide ? DType::C128 : DType::C64;
            if (found && *found != t) return {};
            found = t;
            if (!(wide ? has_bits_of(result.get(), by_formula<double>(op, x, y))
                       : has_bits_of(result.get(), by_formula<float>(op, x, y))))
                return {};
        }
    return found;
}

}  // namespace

std::optional<DType> complex_scalar_result(ComplexOperator op, PyTypeObject* a, PyTypeObject* b,
                                           int64_t exponent) {
    static auto* known = new std::map<std::tuple<ComplexOperator, PyTypeObject*, PyTypeObject*, int64_t>,
                                      std::optional<DType>>;
    const auto [it, fresh] = known->try_emplace({op, a, b, exponent});
    if (fresh) it->second = ask(op, a, b, exponent);
    return it->second;
}

}  // namespace stator::frontend::numpy
