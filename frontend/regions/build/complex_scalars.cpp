// NumPy's complex numbers: their operators by the formulas that this NumPy has for them
// (hosts/numpy/complex_scalars.h). What is not finite is Python's: NumPy may have to warn.

#include <optional>

#include "frontend/cpython/operators.h"
#include "frontend/hosts/numpy/complex_scalars.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

using graph::Op;
using numpy::ComplexOperator;

namespace {

PyTypeObject* number_type(const Value& v) {
    switch (v.kind) {
        case Kind::Complex: return &PyComplex_Type;
        case Kind::Float: return &PyFloat_Type;
        case Kind::Int: return &PyLong_Type;
        case Kind::ComplexScalar: return numpy::descr_of(v.dtype)->typeobj;
        case Kind::Scalar: return graph::is_float(v.dtype) ? numpy::descr_of(v.dtype)->typeobj : nullptr;
        default: return nullptr;
    }
}

}  // namespace

// The parts of a number as floats of type `t`.
bool Builder::complex_parts(const Value& v, DType t, Parts* out) {
    if (!v.is_complex_number()) {
        out->im = cast(const_float(0), DType::F64, t);
        return convert(v, t, &out->re);
    }
    const DType from = part_type(v.dtype);
    *out = {cast(v.items[0].id, from, t), cast(v.items[1].id, from, t)};
    return from == t || (finite(out->re, t) && finite(out->im, t));
}

Builder::Parts Builder::scalar_product(DType t, const Parts& x, const Parts& y) {
    const auto f = [&](Op op, ValueId p, ValueId q) { return pointwise(op, t, t, {p, q}); };
    return {f(Op::Subtract, f(Op::Multiply, x.re, y.re), f(Op::Multiply, x.im, y.im)),
            f(Op::Add, f(Op::Multiply, x.re, y.im), f(Op::Multiply, x.im, y.re))};
}

// A number that is 0 has no sign afterwards: NumPy looks for it first.
Builder::Parts Builder::scalar_power(DType t, const Parts& x, int64_t n) {
    const ValueId zero = cast(const_float(0), DType::F64, t), one = cast(const_float(1), DType::F64, t);
    const auto is_zero = [&](ValueId part) { return pointwise(Op::Equal, t, DType::Bool, {part, zero}); };
    const ValueId nothing =
        pointwise(Op::LogicalAnd, DType::Bool, DType::Bool, {is_zero(x.re), is_zero(x.im)});
    Parts r{one, zero}, square = x;
    if (n == 2) r = scalar_product(t, x, x);
    if (n == 3) r = scalar_product(t, x, scalar_product(t, x, x));
    for (int64_t bit = 1; n > 3 && bit <= n; bit <<= 1) {
        if (n & bit) r = scalar_product(t, r, square);
        square = scalar_product(t, square, square);
    }
    const auto unless = [&](ValueId part) { return pointwise(Op::Where, t, t, {nothing, zero, part}); };
    return {unless(r.re), unless(r.im)};
}

// Leaves where y is 0, or too large to be divided by.
std::optional<Builder::Parts> Builder::scalar_quotient(DType t, const Parts& x, const Parts& y) {
    const auto f = [&](Op op, ValueId p, ValueId q) { return pointwise(op, t, t, {p, q}); };
    const auto size = [&](ValueId v) { return pointwise(Op::Absolute, t, t, {v}); };
    const ValueId real = pointwise(Op::GreaterEqual, t, DType::Bool, {size(y.re), size(y.im)});
    const auto pick = [&](ValueId a, ValueId b) { return pointwise(Op::Where, t, t, {real, a, b}); };
    const ValueId larger = pick(y.re, y.im), smaller = pick(y.im, y.re);
    const ValueId zero = cast(const_float(0), DType::F64, t), one = cast(const_float(1), DType::F64, t);
    if (!guard(pointwise(Op::NotEqual, t, DType::Bool, {larger, zero}))) return std::nullopt;
    const ValueId r = f(Op::Divide, smaller, larger), by = f(Op::Add, larger, f(Op::Multiply, smaller, r));
    if (!finite(by, t)) return std::nullopt;
    const ValueId s = f(Op::Divide, one, by);
    // Sums have the same bits in either order.
    const ValueId u = pick(x.re, x.im), v = pick(x.im, x.re), turned = f(Op::Multiply, u, r);
    return Parts{f(Op::Multiply, f(Op::Add, u, f(Op::Multiply, v, r)), s),
                 f(Op::Multiply, pick(f(Op::Subtract, v, turned), f(Op::Subtract, turned, v)), s)};
}

bool Builder::binary_complex_scalars(int nb, const Value& a, const Value& b, Value* out) {
    const auto refused = [&] { return unknown("this operator on " + describe(a) + " and " + describe(b)); };
    const auto known = b.kind == Kind::Int ? known_int(b.id) : std::nullopt;
    ComplexOperator op;
    switch (nb) {
        case nb::Add: op = ComplexOperator::Add; break;
        case nb::Subtract: op = ComplexOperator::Subtract; break;
        case nb::Multiply: op = ComplexOperator::Multiply; break;
        case nb::TrueDivide: op = ComplexOperator::Divide; break;
        case nb::Power:
            if (!known || *known < 2 || *known > numpy::kMostComplexPower) return refused();
            op = ComplexOperator::Power;
            break;
        default: return refused();
    }
    PyTypeObject *left = number_type(a), *right = number_type(b);
    if (!left || !right) return refused();
    const std::optional<DType> result =
        numpy::complex_scalar_result(op, left, right, op == ComplexOperator::Power ? *known : 0);
    if (!result) return refused();
    const DType t = part_type(*result);
    Parts x, y;
    if (!complex_parts(a, t, &x) || (op != ComplexOperator::Power && !complex_parts(b, t, &y))) return false;
    const auto each = [&](Op what) {
        return Parts{pointwise(what, t, t, {x.re, y.re}), pointwise(what, t, t, {x.im, y.im})};
    };
    std::optional<Parts> r;
    switch (op) {
        case ComplexOperator::Add: r = each(Op::Add); break;
        case ComplexOperator::Subtract: r = each(Op::Subtract); break;
        case ComplexOperator::Multiply: r = scalar_product(t, x, y); break;
        case ComplexOperator::Divide: r = scalar_quotient(t, x, y); break;
        case ComplexOperator::Power: r = scalar_power(t, x, *known); break;
    }
    if (!r) return false;
    *out = composed(Kind::ComplexScalar, {scalar_value(t, r->re), scalar_value(t, r->im)});
    out->dtype = *result;
    return finite(r->re, t) && finite(r->im, t);
}

}  // namespace stator::frontend::regions
