// Functions of the module `math`, NumPy's scalar types as functions.
//
// math calls the C library, and so do regions: the bits are the same. What it complains about (a result that
// is infinite or no number) leaves the region.

#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

using graph::Op;

struct MathFunction {
    std::string_view name;
    double (*one)(double) = nullptr;
    double (*two)(double, double) = nullptr;
};

// Those of which Python's own function is the C library's, finite results provided. (hypot has its own
// algorithm.)
constexpr int kMathFunctions = 24;
const std::array<MathFunction, kMathFunctions>& math_functions() {
    using One = double (*)(double);
    using Two = double (*)(double, double);
    static const std::array<MathFunction, kMathFunctions> table{{
        {"acos", static_cast<One>(&std::acos)},
        {"acosh", static_cast<One>(&std::acosh)},
        {"asin", static_cast<One>(&std::asin)},
        {"asinh", static_cast<One>(&std::asinh)},
        {"atan", static_cast<One>(&std::atan)},
        {"atanh", static_cast<One>(&std::atanh)},
        {"cos", static_cast<One>(&std::cos)},
        {"cosh", static_cast<One>(&std::cosh)},
        {"exp", static_cast<One>(&std::exp)},
        {"expm1", static_cast<One>(&std::expm1)},
        {"log", static_cast<One>(&std::log)},
        {"log10", static_cast<One>(&std::log10)},
        {"log1p", static_cast<One>(&std::log1p)},
        {"log2", static_cast<One>(&std::log2)},
        {"sin", static_cast<One>(&std::sin)},
        {"sinh", static_cast<One>(&std::sinh)},
        {"tan", static_cast<One>(&std::tan)},
        {"tanh", static_cast<One>(&std::tanh)},
        {"erf", static_cast<One>(&std::erf)},
        {"erfc", static_cast<One>(&std::erfc)},
        {"atan2", nullptr, static_cast<Two>(&std::atan2)},
        {"fmod", nullptr, static_cast<Two>(&std::fmod)},
        {"pow", nullptr, static_cast<Two>(&std::pow)},
        {"complex hypot", nullptr, static_cast<Two>(&std::hypot)},
    }};
    return table;
}

// The name of a function of the module, "" of others.
std::string_view math_name(PyObject* callable) {
    static PyObject* const math = module_named("math").release();
    if (!math || !PyCFunction_Check(callable) || PyCFunction_GET_SELF(callable) != math) return "";
    return reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
}

std::optional<DType> scalar_type(PyObject* callable) {
    for (const DType t : {DType::F64, DType::F32, DType::Bool, DType::I8, DType::I16, DType::I32, DType::I64,
                          DType::U8, DType::U16, DType::U32, DType::U64})
        if (reinterpret_cast<PyObject*>(numpy::descr_of(t)->typeobj) == callable) return t;
    return std::nullopt;
}

}  // namespace

void* math_function(const std::string& name) {
    constexpr std::string_view kPrefix = "math.";
    if (!name.starts_with(kPrefix)) return nullptr;
    for (const MathFunction& f : math_functions())
        if (f.name == std::string_view(name).substr(kPrefix.size()))
            return f.one ? reinterpret_cast<void*>(f.one) : reinterpret_cast<void*>(f.two);
    return nullptr;
}

// As PyFloat_AsDouble; false where Python's function would look at an int itself.
bool Builder::as_double(const Value& v, ValueId* out) {
    if (!v.is_number() || v.dtype == DType::U64) return false;
    *out = cast(v.id, v.dtype, DType::F64);
    return true;
}

bool Builder::c_function(const std::string& name, std::vector<ValueId> in, Value* out) {
    const std::vector<DType> types(in.size() + 1, DType::F64);
    const ValueId r =
        call({graph::RegionCall::Scalar, "math." + name, types}, DType::F64, DType::F64, std::move(in));
    *out = float_value(r);
    return finite(r, DType::F64);
}

// Declined: it is none of these.
Did Builder::call_math(PyObject* callable, const std::vector<Value>& args, Value* out) {
    const std::string name(math_name(callable));
    if (name.empty()) return Did::Declined;
    std::vector<ValueId> in;
    for (const Value& v : args)
        if (!as_double(v, &in.emplace_back())) return unknown("math." + name + "() of " + describe(v));
    const auto test = [&](Op op) {
        *out = bool_value(pointwise(op, DType::F64, DType::Bool, {in[0]}));
        return true;
    };
    if (in.size() == 1) {
        if (name == "isnan") return test(Op::IsNan);
        if (name == "isinf") return test(Op::IsInf);
        if (name == "isfinite") return test(Op::IsFinite);
        if (name == "sqrt" || name == "fabs") {
            const Op op = name == "sqrt" ? Op::Sqrt : Op::Absolute;
            *out = float_value(pointwise(op, DType::F64, DType::F64, {in[0]}));
            return finite(out->id, DType::F64);
        }
        if (name == "degrees" || name == "radians") {
            const double factor = name == "degrees" ? 180.0 / std::numbers::pi : std::numbers::pi / 180.0;
            *out = float_value(pointwise(Op::Multiply, DType::F64, DType::F64, {in[0], const_float(factor)}));
            return finite(out->id, DType::F64);
        }
        // Only Python's floats, of which NumPy's doubles are, have a __trunc__.
        const bool truncates = name == "trunc" && args[0].dtype == DType::F64;
        if ((name == "floor" || name == "ceil" || truncates) && graph::is_float(args[0].dtype)) {
            const Op op = name == "floor" ? Op::Floor : name == "ceil" ? Op::Ceil : Op::Trunc;
            const Value whole = float_value(pointwise(op, DType::F64, DType::F64, {in[0]}));
            std::vector<Value> one{whole};
            return call_python(reinterpret_cast<PyObject*>(&PyLong_Type), one, out);
        }
    }
    if (name == "copysign" && in.size() == 2) {
        *out = float_value(pointwise(Op::Copysign, DType::F64, DType::F64, in));
        return true;
    }
    for (const MathFunction& f : math_functions())
        if (f.name == name && in.size() == (f.one ? 1 : 2)) return c_function(name, std::move(in), out);
    return unknown("a call of math." + name);
}

// np.float32(x) and the like, of one number. What does not fit raises, warns or wraps, as the operand's kind
// says: that is NumPy's.
Did Builder::call_scalar_type(PyObject* callable, const std::vector<Value>& args, Value* out) {
    const auto to = scalar_type(callable);
    if (!to || args.size() != 1 || !args[0].is_number()) return Did::Declined;
    const Value& v = args[0];
    if (*to == DType::Bool) {
        ValueId t;
        if (!truth(v, &t)) return false;
        *out = scalar_value(DType::Bool, t);
        return true;
    }
    if (v.dtype == *to) return *out = scalar_value(*to, v.id), true;
    // Sixty-four bits are rounded once or twice on their way to a float32.
    const bool wide = v.dtype == DType::U64 || (v.dtype == DType::I64 && v.kind == Kind::Scalar);
    if (wide && *to != DType::I64) return unknown("a conversion of " + describe(v));
    if (v.dtype == DType::F16) return unknown("a conversion of " + describe(v));
    if (graph::is_float(*to)) {
        const ValueId x = cast(v.id, v.dtype, DType::F64);
        *out = scalar_value(*to, cast(x, DType::F64, *to));
        return *to == DType::F64 || finite(out->id, *to);
    }
    Value whole;
    std::vector<Value> one{v};
    if (!call_python(reinterpret_cast<PyObject*>(&PyLong_Type), one, &whole)) return false;
    const auto bits = static_cast<int>(8 * graph::info(*to).size);
    const bool is_signed = graph::is_signed(*to);
    const int64_t high = bits == 64 ? INT64_MAX : (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    const int64_t low = !is_signed ? 0 : bits == 64 ? INT64_MIN : -high - 1;
    guard_range(whole.id, low, high);
    *out = scalar_value(*to, cast(whole.id, DType::I64, *to));
    return true;
}

}  // namespace stator::frontend::regions
