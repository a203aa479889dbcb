// Numbers: Python's ints, floats and bools, and NumPy's scalars, exactly.
//
// A Python int is an i64 as long as it fits; an operation that would need more leaves the region. Python's
// floats are silent (inf and NaN come without a warning) but for division by zero; NumPy's scalars warn, so
// every result that is not finite leaves. NumPy's rules for mixed operands are NEP 50's: a Python number
// takes the dtype of the NumPy operand, if its value fits.

#include "frontend/cpython/operators.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

constexpr int64_t kExactInt = int64_t{1} << 53;  // up to which every int is a float

graph::Op bit_op(int nb) {
    return nb == nb::And  ? graph::Op::BitwiseAnd
           : nb == nb::Or ? graph::Op::BitwiseOr
                          : graph::Op::BitwiseXor;
}

graph::Op compare_op(int py) {
    using graph::Op;
    constexpr Op ops[] = {Op::Less, Op::LessEqual, Op::Equal, Op::NotEqual, Op::Greater, Op::GreaterEqual};
    return ops[py];
}

bool may_fault(graph::Op op, DType t) { return graph::is_float(t) && graph::info(op).faults != "-"; }

}  // namespace

ValueId Builder::int_to_float(ValueId i) {
    guard_range(i, -kExactInt, kExactInt);
    return cast(i, DType::I64, DType::F64);
}

void Builder::guard_range(ValueId i, int64_t low, int64_t high) {
    if (auto k = known_int(i); k && *k >= low && *k <= high) return;
    const ValueId a = pointwise(graph::Op::GreaterEqual, DType::I64, DType::Bool, {i, const_int(low)});
    const ValueId b = pointwise(graph::Op::LessEqual, DType::I64, DType::Bool, {i, const_int(high)});
    guard(pointwise(graph::Op::LogicalAnd, DType::Bool, DType::Bool, {a, b}));
}

bool Builder::to_int(const Value& v, ValueId* out) {
    const bool integer = v.kind == Kind::Int || (v.kind == Kind::Scalar && graph::is_integer(v.dtype));
    if (!integer || v.dtype == DType::U64) return unknown("an index that is " + describe(v));
    *out = cast(v.id, v.dtype, DType::I64);
    return true;
}

bool Builder::truth(const Value& v, ValueId* out) {
    if (v.kind == Kind::Known && v.obj == Py_None) return *out = const_bool(false), true;
    if (v.kind == Kind::Character) return *out = const_bool(true), true;
    if (!v.is_number()) return unknown("the truth of " + describe(v));
    if (v.dtype == DType::Bool) return *out = v.id, true;
    const ValueId zero = v.dtype == DType::I64   ? const_int(0)
                         : v.dtype == DType::F64 ? const_float(0)
                                                 : cast(const_int(0), DType::I64, v.dtype);
    *out = pointwise(graph::Op::NotEqual, v.dtype, DType::Bool, {v.id, zero});
    return true;
}

bool Builder::negate(const Value& v, Value* out) {
    // An exponent: `a ** -k`.
    if (const auto known = v.kind == Kind::Float ? known_float(v) : std::nullopt)
        return *out = float_value(const_float(-*known)), true;
    if (v.kind == Kind::Float || (v.kind == Kind::Scalar && graph::is_float(v.dtype))) {
        *out = number(v.kind, v.dtype, pointwise(graph::Op::Negative, v.dtype, v.dtype, {v.id}));
        return true;
    }
    if (v.kind == Kind::Int || v.kind == Kind::Bool ||
        (v.kind == Kind::Scalar && graph::is_signed(v.dtype))) {
        const bool python = v.kind != Kind::Scalar;
        const DType t = python ? DType::I64 : v.dtype;
        const ValueId i = cast(v.id, v.dtype, t);
        if (auto k = known_int(i); k && python && *k != INT64_MIN)
            return *out = int_value(const_int(-*k)), true;
        const ValueId r = checked(graph::RegionOp::CheckedSub, t, cast(const_int(0), DType::I64, t), i);
        *out = number(python ? Kind::Int : Kind::Scalar, t, r);
        return r >= 0;
    }
    if (v.is_complex_number()) {
        *out = composed(v.kind, v.items);
        out->dtype = v.dtype;
        for (Value& part : out->items)
            part = number(part.kind, part.dtype,
                          pointwise(graph::Op::Negative, part.dtype, part.dtype, {part.id}));
        return true;
    }
    return unknown("- of " + describe(v));
}

bool Builder::binary(int nb, bool, const Value& a, const Value& b, Value* out) {
    if (!a.is_number() || !b.is_number())
        return unknown("an operator on " + describe(a) + " and " + describe(b));
    if (a.kind == Kind::Scalar || b.kind == Kind::Scalar) return binary_scalars(nb, a, b, out);
    return binary_python(nb, a, b, out);
}

bool Builder::binary_python(int nb, const Value& a, const Value& b, Value* out) {
    if (a.kind == Kind::Bool && b.kind == Kind::Bool && (nb == nb::And || nb == nb::Or || nb == nb::Xor)) {
        *out = bool_value(pointwise(bit_op(nb), DType::Bool, DType::Bool, {a.id, b.id}));
        return true;
    }
    if (a.kind == Kind::Float || b.kind == Kind::Float) {
        const auto as_float = [&](const Value& v) {
            if (v.kind == Kind::Float) return v.id;
            return cast(v.id, v.dtype, DType::F64);
        };
        return binary_floats(nb, as_float(a), as_float(b), out);
    }
    return binary_ints(nb, int_value(cast(a.id, a.dtype, DType::I64)),
                       int_value(cast(b.id, b.dtype, DType::I64)), out);
}

bool Builder::binary_ints(int nb, const Value& a, const Value& b, Value* out) {
    using graph::Op;
    using graph::RegionOp;
    const auto done = [&](ValueId id) {
        *out = int_value(id);
        return id >= 0;
    };
    const auto i64 = [&](Op op, ValueId x, ValueId y) {
        return pointwise(op, DType::I64, DType::I64, {x, y});
    };
    switch (nb) {
        case nb::Add: return done(checked(RegionOp::CheckedAdd, DType::I64, a.id, b.id));
        case nb::Subtract: return done(checked(RegionOp::CheckedSub, DType::I64, a.id, b.id));
        case nb::Multiply: return done(checked(RegionOp::CheckedMul, DType::I64, a.id, b.id));
        case nb::FloorDivide: return done(checked(RegionOp::FloorDiv, DType::I64, a.id, b.id));
        case nb::Remainder: return done(checked(RegionOp::FloorMod, DType::I64, a.id, b.id));
        case nb::And:
        case nb::Or:
        case nb::Xor: return done(i64(bit_op(nb), a.id, b.id));
        case nb::TrueDivide: {
            const ValueId x = int_to_float(a.id), y = int_to_float(b.id);
            Value q;
            if (!binary_floats(nb::TrueDivide, x, y, &q)) return false;
            *out = q;
            return true;
        }
        case nb::Lshift: {
            guard_range(b.id, 0, 62);
            const ValueId r = i64(Op::LeftShift, a.id, b.id);
            const ValueId back = i64(Op::RightShift, r, b.id);
            if (!guard(pointwise(Op::Equal, DType::I64, DType::Bool, {back, a.id}))) return false;
            return done(r);
        }
        case nb::Rshift: guard_range(b.id, 0, INT64_MAX); return done(i64(Op::RightShift, a.id, b.id));
        case nb::Power: {
            const auto k = known_int(b.id);
            constexpr int64_t kMostFactors = 8;
            if (!k || *k < 0 || *k > kMostFactors) {
                Value cell, r;
                if (!memory(DType::I64, {}, false, &cell) ||
                    !library("int_power", integer_power_routine(), cell, {a.id, b.id}) ||
                    !load_element(cell, {}, &r))
                    return false;
                return done(r.id);
            }
            ValueId r = const_int(1);
            for (int64_t i = 0; i < *k; ++i)
                r = i == 0 ? a.id : checked(RegionOp::CheckedMul, DType::I64, r, a.id);
            return done(r);
        }
        default: return unknown("this operator on ints");
    }
}

bool Builder::binary_floats(int nb, ValueId a, ValueId b, Value* out) {
    using graph::Op;
    const auto f64 = [&](Op op) {
        *out = float_value(pointwise(op, DType::F64, DType::F64, {a, b}));
        return true;
    };
    const auto nonzero = [&](ValueId v) {
        return guard(pointwise(Op::NotEqual, DType::F64, DType::Bool, {v, const_float(0)}));
    };
    switch (nb) {
        case nb::Add: return f64(Op::Add);
        case nb::Subtract: return f64(Op::Subtract);
        case nb::Multiply: return f64(Op::Multiply);
        case nb::TrueDivide: return nonzero(b) && f64(Op::Divide);
        case nb::FloorDivide:
        case nb::Remainder: {
            if (!nonzero(b)) return false;
            const char* name = nb == nb::Remainder ? "py_mod" : "py_floordiv";
            *out = float_value(call({graph::RegionCall::Scalar, name, {DType::F64, DType::F64, DType::F64}},
                                    DType::F64, DType::F64, {a, b}));
            return true;
        }
        case nb::Power: {
            // A negative base may make a complex number, a zero one an error; what overflows raises.
            const ValueId positive = pointwise(Op::Greater, DType::F64, DType::Bool, {a, const_float(0)});
            const ValueId whole = pointwise(Op::Equal, DType::F64, DType::Bool,
                                            {pointwise(Op::Floor, DType::F64, DType::F64, {b}), b});
            const ValueId upward = pointwise(Op::GreaterEqual, DType::F64, DType::Bool, {b, const_float(0)});
            const ValueId tame = pointwise(Op::LogicalAnd, DType::Bool, DType::Bool, {whole, upward});
            if (!guard(pointwise(Op::LogicalOr, DType::Bool, DType::Bool, {positive, tame}))) return false;
            const ValueId r = call({graph::RegionCall::Scalar, "pow", {DType::F64, DType::F64, DType::F64}},
                                   DType::F64, DType::F64, {a, b});
            *out = float_value(r);
            return finite(r, DType::F64);
        }
        default: return unknown("this operator on floats");
    }
}

// ---- NumPy's scalars ----

bool Builder::promote(const Value& a, const Value& b, bool divide, DType* out) {
    if (a.is_complex_number() || b.is_complex_number())
        return unknown("operands of " + describe(a) + " and " + describe(b));
    const auto strong = [](const Value& v) {
        return v.kind == Kind::Scalar || v.is_array() || v.kind == Kind::Bool;
    };
    DType t;
    if (strong(a) && strong(b)) {
        t = a.dtype;
        if (a.dtype != b.dtype) {
            PyArray_Descr* d = PyArray_PromoteTypes(numpy::descr_of(a.dtype), numpy::descr_of(b.dtype));
            const int number = d ? d->type_num : -1;
            Py_XDECREF(d);
            PyErr_Clear();
            const std::optional<DType> found = graph::dtype_numbered(number);
            if (!found) return unknown("operands of " + describe(a) + " and " + describe(b));
            t = *found;
        }
    } else if (!strong(a) && !strong(b)) {
        t = a.kind == Kind::Int && b.kind == Kind::Int ? DType::I64 : DType::F64;
    } else {
        const Value& s = strong(a) ? a : b;
        const Value& weak = strong(a) ? b : a;
        t = s.dtype;
        if (weak.kind == Kind::Float && !graph::is_float(t)) t = DType::F64;
        if (weak.kind == Kind::Int && t == DType::Bool) t = DType::I64;
        if (graph::is_complex(s.dtype)) t = s.dtype;
    }
    if (divide && (graph::is_integer(t) || t == DType::Bool)) t = DType::F64;
    *out = t;
    if (graph::is_complex(t) || t == DType::F16 || t == DType::BF16)
        return unknown("arithmetic of " + std::string(graph::info(t).text));
    return true;
}

bool Builder::convert(const Value& v, DType to, ValueId* out) {
    if (v.kind == Kind::Int) {
        if (to == DType::F64) guard_range(v.id, -kExactInt, kExactInt);
        if (to == DType::F32) guard_range(v.id, -(1 << 24), 1 << 24);
        if (graph::is_integer(to) && to != DType::I64) {
            const int bits = graph::info(to).size * 8;
            if (to == DType::U64)
                guard_range(v.id, 0, INT64_MAX);
            else if (graph::is_unsigned(to))
                guard_range(v.id, 0, (int64_t{1} << bits) - 1);
            else
                guard_range(v.id, -(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1);
        }
    }
    *out = cast(v.id, v.dtype, to);
    if (v.dtype == DType::F64 && to == DType::F32 && !finite(*out, to)) return false;
    return !graph::is_float(v.dtype) || graph::is_float(to) || unknown("a float where an int is wanted");
}

bool Builder::binary_scalars(int nb, const Value& a, const Value& b, Value* out) {
    using graph::Op;
    using graph::RegionOp;
    DType t;
    ValueId x, y;
    if (!promote(a, b, nb == nb::TrueDivide, &t)) return false;
    // Of NumPy's ints and Python's floats, and of two numbers of NumPy's that both are converted, the ufunc
    // makes powers, and not the C library.
    const auto is_int = [](const Value& v) { return v.kind == Kind::Scalar && !graph::is_float(v.dtype); };
    const auto converts = [&](const Value& v) { return v.kind == Kind::Scalar && v.dtype != t; };
    if (nb == nb::Power && graph::is_float(t) &&
        ((is_int(a) && b.kind == Kind::Float) || (is_int(b) && a.kind == Kind::Float) ||
         (converts(a) && converts(b))))
        return operator_by_host(nb, false, a, b, out);
    if (!convert(a, t, &x) || !convert(b, t, &y)) return false;
    const auto done = [&](ValueId id) {
        *out = scalar_value(t, id);
        return id >= 0;
    };
    if (t == DType::Bool) {
        if (nb != nb::And && nb != nb::Or && nb != nb::Xor) return unknown("arithmetic of bools");
        return done(pointwise(bit_op(nb), t, t, {x, y}));
    }
    if (graph::is_float(t)) {
        ValueId r = -1;
        const auto arithmetic = [&](Op op) {
            r = pointwise(op, t, t, {x, y});
            return done(r) && finite(r, t, {x, y});
        };
        switch (nb) {
            case nb::Add: return arithmetic(Op::Add);
            case nb::Subtract: return arithmetic(Op::Subtract);
            case nb::Multiply: return arithmetic(Op::Multiply);
            case nb::TrueDivide: return arithmetic(Op::Divide);
            case nb::Power:
                if (t != DType::F64) return unknown("a power of " + describe(a));
                r = call({graph::RegionCall::Scalar, "pow", {t, t, t}}, t, t, {x, y});
                break;
            case nb::FloorDivide:
            case nb::Remainder:
                r = call({graph::RegionCall::UfuncLoop,
                          nb == nb::Remainder ? "remainder" : "floor_divide",
                          {t, t, t}},
                         t, t, {x, y});
                break;
            default: return unknown("this operator on " + describe(a));
        }
        return done(r) && finite(r, t);
    }
    switch (nb) {
        case nb::Add: return done(checked(RegionOp::CheckedAdd, t, x, y));
        case nb::Subtract: return done(checked(RegionOp::CheckedSub, t, x, y));
        case nb::Multiply: return done(checked(RegionOp::CheckedMul, t, x, y));
        case nb::And:
        case nb::Or:
        case nb::Xor: return done(pointwise(bit_op(nb), t, t, {x, y}));
        case nb::Lshift: return done(pointwise(Op::LeftShift, t, t, {x, y}));
        case nb::Rshift: return done(pointwise(Op::RightShift, t, t, {x, y}));
        case nb::FloorDivide:
        case nb::Remainder: {
            if (t != DType::I64) return unknown("this operator on " + describe(a));
            return done(checked(nb == nb::Remainder ? RegionOp::FloorMod : RegionOp::FloorDiv, t, x, y));
        }
        default: return unknown("this operator on " + describe(a));
    }
}

// NumPy compares these exactly; as float64, which both would become, they are not.
bool Builder::mixes_signs(const Value& a, const Value& b) {
    return (a.dtype == DType::U64) != (b.dtype == DType::U64) && graph::is_integer(a.dtype) &&
           graph::is_integer(b.dtype);
}

bool Builder::compare(int py_op, const Value& a, const Value& b, Value* out) {
    const bool scalars = a.kind == Kind::Scalar || b.kind == Kind::Scalar;
    ValueId x, y;
    DType t = DType::I64;
    if (scalars) {
        if (mixes_signs(a, b)) return unknown("a comparison of " + describe(a) + " with " + describe(b));
        if (!promote(a, b, false, &t) || !convert(a, t, &x) || !convert(b, t, &y)) return false;
    } else {
        const bool floats = a.kind == Kind::Float || b.kind == Kind::Float;
        if (floats) t = DType::F64;
        const auto side = [&](const Value& v) {
            return floats && v.kind == Kind::Int ? int_to_float(v.id) : cast(v.id, v.dtype, t);
        };
        x = side(a), y = side(b);
    }
    const ValueId r = pointwise(compare_op(py_op), t, DType::Bool, {x, y});
    *out = scalars ? scalar_value(DType::Bool, r) : bool_value(r);
    return true;
}

bool Builder::unary_ufunc(const std::string& name, const Value& a, Value* out) {
    const auto op = graph::find_op(name);
    DType t = a.dtype;
    const bool known_op = op && graph::info(*op).cls == graph::OpClass::Pointwise &&
                          graph::info(*op).arity == 1 && graph::info(*op).host == name;
    if (graph::is_complex(t)) return unary_complex(name, a, out);
    if (t == DType::Bool && a.is_array() && known_op && graph::is_native(*op, t))
        return elementwise(*op, t, t, {a}, out);
    const bool keeps_ints = name == "absolute" || name == "negative" || name == "square" || name == "invert";
    if (!graph::is_float(t) && !(keeps_ints && graph::is_integer(t))) {
        const bool integer_loop = numpy::find_loop({name, {t, t}}).fn != nullptr;
        if ((t != DType::I64 && t != DType::I32) || integer_loop)
            return unknown("np." + name + " of " + describe(a));
        t = DType::F64;
    }
    if (t == DType::F16) return unknown("np." + name + " of " + describe(a));
    Value operand = a;
    if (!a.is_array()) {
        ValueId x;
        if (!convert(a, t, &x)) return false;
        operand = scalar_value(t, x);
    }
    if (known_op && graph::is_native(*op, t)) {
        const DType result = graph::info(*op).dtype == graph::DTypeRule::bool_ ? DType::Bool : t;
        if (a.is_array()) return elementwise(*op, t, result, {operand}, out);
        *out = scalar_value(result, pointwise(*op, t, result, {operand.id}));
        return !may_fault(*op, t) || finite(out->id, result, {operand.id});
    }
    if (a.is_array() && graph::is_float(t)) return elementwise_call(name, t, {operand}, out);
    if (!graph::is_float(t) || a.is_array()) return unknown("np." + name + " of " + describe(a));
    if (!numpy::find_loop({name, {t, t}}).fn) return unknown("np." + name);
    *out = scalar_value(t, call({graph::RegionCall::UfuncLoop, name, {t, t}}, t, t, {operand.id}));
    return finite(out->id, t);
}

bool Builder::binary_ufunc(const std::string& name, const Value& a, const Value& b, Value* out) {
    const bool complex = graph::is_complex(a.dtype) || graph::is_complex(b.dtype);
    if (complex && (a.is_array() || b.is_array())) return binary_complex_ufunc(name, a, b, out);
    const auto op = graph::find_op(name);
    DType t;
    // The loop looks at how its exponent lies in memory.
    if (name == "power" || name == "float_power") return unknown("np." + name);
    if (op && graph::info(*op).dtype == graph::DTypeRule::bool_ && mixes_signs(a, b))
        return unknown("np." + name + " of " + describe(a) + " and " + describe(b));
    if (!promote(a, b, name == "divide", &t)) return false;
    const bool native = op && graph::info(*op).cls == graph::OpClass::Pointwise &&
                        graph::info(*op).arity == 2 && graph::info(*op).host == name &&
                        graph::is_native(*op, t);
    if (a.is_array() || b.is_array()) {
        if (!native) return elementwise_call(name, t, {a, b}, out);
        const DType result = graph::info(*op).dtype == graph::DTypeRule::bool_ ? DType::Bool : t;
        return elementwise(*op, t, result, {a, b}, out);
    }
    ValueId x, y;
    if (!convert(a, t, &x) || !convert(b, t, &y)) return false;
    if (native) {
        const DType result = graph::info(*op).dtype == graph::DTypeRule::bool_ ? DType::Bool : t;
        *out = scalar_value(result, pointwise(*op, t, result, {x, y}));
        return !may_fault(*op, t) || finite(out->id, result, {x, y});
    }
    if (!graph::is_float(t) || !numpy::find_loop({name, {t, t, t}}).fn) return unknown("np." + name);
    *out = scalar_value(t, call({graph::RegionCall::UfuncLoop, name, {t, t, t}}, t, t, {x, y}));
    return finite(out->id, t);
}

}  // namespace stator::frontend::regions
