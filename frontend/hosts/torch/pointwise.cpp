// Pointwise functions as generated code: torch's promotion (tensors with axes before 0-d tensors before
// Python numbers, each only where its category is higher), then IEEE operations one by one.
//
// Half precision is computed in single precision and rounded after each operation, as torch's kernels do.
// Not generated, because torch's bits differ from lane to lane or come from its own code: maximum and
// minimum (NaN and signed zeros in vectors and tails), sqrt (a vector library's, not correctly rounded),
// conversions from floats to integers, division of integers with rounding, and everything transcendental.
//
// On a GPU the same table holds, with what torch's CUDA kernels do otherwise: functions come from the same
// library as there, a divisor that is a number becomes a factor, and extrema have the hardware's zeros.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "frontend/hosts/torch/lower.h"

namespace stator::frontend::torch {

namespace {

enum class Rank : uint8_t { Number, ZeroD, Tensor };

struct Arg {
    Rank rank = Rank::Number;
    DType dtype = DType::F32;
    Id id = kNone;  // none: a Python int
    Sym sym;
};

bool plain(DType t) {
    switch (t) {
        case DType::Bool:
        case DType::U8:
        case DType::I8:
        case DType::I16:
        case DType::I32:
        case DType::I64:
        case DType::F16:
        case DType::BF16:
        case DType::F32:
        case DType::F64: return true;
        default: return false;
    }
}

bool half(DType t) { return t == DType::F16 || t == DType::BF16; }
bool floating(DType t) { return graph::is_float(t) || t == DType::BF16; }

DType default_dtype() {
    PyRef o = PyRef::steal(PyObject_CallNoArgs(guards::tensor_api()->default_dtype));
    DType t = DType::F32;
    if (!o || !dtype_of_object(o.get(), &t)) PyErr_Clear();
    return t;
}

// The result depends on the default dtype: a guard.
DType use_default_dtype(TraceBuilder& tb) {
    const guards::TensorApi* api = guards::tensor_api();
    PyRef o = PyRef::steal(PyObject_CallNoArgs(api->default_dtype));
    tb.guards.expect_torch_state(
        {guards::state(api->grad_enabled), guards::state(api->inference_enabled), o.get()});
    return default_dtype();
}

bool read_arg(TraceBuilder& tb, const Operand& o, Arg* out) {
    if (!o.obj || !tb.resolve(o.shadow, o.obj)) return false;
    const Shadow& s = *o.shadow;
    if (s.kind == ShadowKind::Array && graph::is_torch(s.host)) {
        out->rank = tb.shape(o.shadow).empty() ? Rank::ZeroD : Rank::Tensor;
        out->dtype = s.dtype;
        out->id = tb.value(o.shadow);
        return plain(s.dtype) && out->id != kNone;
    }
    if (s.kind == ShadowKind::Int) {
        out->dtype = DType::I64;
        out->sym = s.sym;
        return true;
    }
    if (s.kind == ShadowKind::Scalar && s.box == graph::Box::PyFloat) {
        out->dtype = DType::F64;
        out->id = tb.value(o.shadow);
        return true;
    }
    if (PyBool_Check(o.obj) && (s.kind == ShadowKind::Object || s.kind == ShadowKind::Scalar)) {
        out->dtype = DType::Bool;
        out->id = tb.value(o.shadow);
        return out->id != kNone;
    }
    return false;
}

// c10::promoteTypes for the plain dtypes.
DType promote_types(DType a, DType b) {
    if (a == b) return a;
    if (floating(a) || floating(b)) {
        if (!floating(b)) return a;
        if (!floating(a)) return b;
        if (half(a) && half(b)) return DType::F32;
        return graph::info(a).size >= graph::info(b).size ? a : b;
    }
    if (a == DType::Bool) return b;
    if (b == DType::Bool) return a;
    if (a == DType::U8 || b == DType::U8) {
        const DType other = a == DType::U8 ? b : a;
        return other == DType::I8 ? DType::I16 : other;
    }
    return graph::info(a).size >= graph::info(b).size ? a : b;
}

struct Promoted {
    bool any = false;
    DType dtype{};
    void add(DType t) {
        dtype = any ? promote_types(dtype, t) : t;
        any = true;
    }
};

// at::native::combine_categories.
Promoted combine(const Promoted& higher, const Promoted& lower) {
    if (!higher.any) return lower;
    if (!lower.any || floating(higher.dtype)) return higher;
    if (higher.dtype == DType::Bool || floating(lower.dtype))
        return {true, promote_types(higher.dtype, lower.dtype)};
    return higher;
}

DType result_type(TraceBuilder& tb, std::span<const Arg> args) {
    Promoted by_rank[3];
    bool python_float = false;
    for (const Arg& a : args) {
        const bool number = a.rank == Rank::Number;
        const bool is_float = number && a.dtype == DType::F64;
        python_float |= is_float;
        by_rank[static_cast<int>(a.rank)].add(is_float ? default_dtype() : a.dtype);
    }
    const Promoted tensors = combine(by_rank[2], by_rank[1]);
    if (python_float && !(tensors.any && floating(tensors.dtype))) use_default_dtype(tb);
    return combine(by_rank[2], combine(by_rank[1], by_rank[0])).dtype;
}

bool converts(DType from, DType to) {
    if (from == to) return true;
    if (!plain(from) || !plain(to)) return false;
    return !floating(from) || floating(to) || to == DType::Bool;
}

Id as_dtype(TraceBuilder& tb, const Arg& a, DType to) {
    if (a.id != kNone) return converted(tb, a.id, to);
    if (graph::is_integer(to)) return tb.sym_scalar(a.sym, to);
    if (to == DType::Bool) return kNone;
    constexpr int64_t kExact = int64_t{1} << 53;
    if (!tb.require(Relation::Ge, a.sym, tb.int_const(-kExact)) ||
        !tb.require(Relation::Lt, a.sym, tb.int_const(kExact)))
        return kNone;
    const Id v = tb.sym_scalar(a.sym, DType::F64);
    return v == kNone ? kNone : converted(tb, v, to);
}

// The dtype in which an operation on `t` is computed.
DType working(DType t) { return half(t) ? DType::F32 : t; }

// The operands in `common`, as the operation takes them: broadcast, half precision widened. A factor or
// divisor beside half precision tensors stays in single precision when it is the second operand; what torch
// does with a summand depends on strides.
bool read_operands(TraceBuilder& tb, std::span<const Arg> args, DType common, Op op, std::vector<Id>* out) {
    std::vector<Id> ids;
    const bool test = graph::info(op).dtype == graph::DTypeRule::bool_;
    for (size_t i = 0; i < args.size(); ++i) {
        const bool half_beside_number = half(common) && args.size() == 2 && !test;
        if (half_beside_number && args[i].rank != Rank::Tensor && args[1 - i].rank == Rank::Tensor) {
            if (i == 0 || (op != Op::Multiply && op != Op::Divide)) return false;
            ids.push_back(as_dtype(tb, args[i], DType::F32));
        } else {
            Id v = as_dtype(tb, args[i], common);
            ids.push_back(v == kNone ? kNone : converted(tb, v, working(common)));
        }
        if (ids.back() == kNone) return false;
    }
    Shape shape;
    if (!tb.broadcast_shape(ids, &shape)) return false;
    for (Id& v : ids) {
        v = tb.broadcast(v, shape);
        if (v == kNone) return false;
    }
    *out = std::move(ids);
    return true;
}

struct Rule {
    std::string_view name;
    Op op;
    int arity;
    enum Kind : uint8_t { Arithmetic, Division, Comparison, Logic, Bits, Floating, Test, Special } kind;
};

constexpr Rule kRules[] = {
    {"add", Op::Add, 2, Rule::Arithmetic},
    {"sub", Op::Subtract, 2, Rule::Arithmetic},
    {"subtract", Op::Subtract, 2, Rule::Arithmetic},
    {"rsub", Op::Subtract, 2, Rule::Special},
    {"mul", Op::Multiply, 2, Rule::Arithmetic},
    {"multiply", Op::Multiply, 2, Rule::Arithmetic},
    {"div", Op::Divide, 2, Rule::Division},
    {"divide", Op::Divide, 2, Rule::Division},
    {"true_divide", Op::Divide, 2, Rule::Division},
    {"eq", Op::Equal, 2, Rule::Comparison},
    {"ne", Op::NotEqual, 2, Rule::Comparison},
    {"not_equal", Op::NotEqual, 2, Rule::Comparison},
    {"lt", Op::Less, 2, Rule::Comparison},
    {"less", Op::Less, 2, Rule::Comparison},
    {"le", Op::LessEqual, 2, Rule::Comparison},
    {"less_equal", Op::LessEqual, 2, Rule::Comparison},
    {"gt", Op::Greater, 2, Rule::Comparison},
    {"greater", Op::Greater, 2, Rule::Comparison},
    {"ge", Op::GreaterEqual, 2, Rule::Comparison},
    {"greater_equal", Op::GreaterEqual, 2, Rule::Comparison},
    {"logical_and", Op::LogicalAnd, 2, Rule::Logic},
    {"logical_or", Op::LogicalOr, 2, Rule::Logic},
    {"logical_xor", Op::LogicalXor, 2, Rule::Logic},
    {"logical_not", Op::LogicalNot, 1, Rule::Logic},
    {"bitwise_and", Op::BitwiseAnd, 2, Rule::Bits},
    {"bitwise_or", Op::BitwiseOr, 2, Rule::Bits},
    {"bitwise_xor", Op::BitwiseXor, 2, Rule::Bits},
    {"bitwise_not", Op::Invert, 1, Rule::Bits},
    {"neg", Op::Negative, 1, Rule::Arithmetic},
    {"negative", Op::Negative, 1, Rule::Arithmetic},
    {"abs", Op::Absolute, 1, Rule::Arithmetic},
    {"absolute", Op::Absolute, 1, Rule::Arithmetic},
    {"square", Op::Square, 1, Rule::Arithmetic},
    {"clone", Op::Copy, 1, Rule::Special},
    {"rsqrt", Op::Sqrt, 1, Rule::Special},
    {"reciprocal", Op::Divide, 1, Rule::Special},
    {"floor", Op::Floor, 1, Rule::Floating},
    {"ceil", Op::Ceil, 1, Rule::Floating},
    {"trunc", Op::Trunc, 1, Rule::Floating},
    {"fix", Op::Trunc, 1, Rule::Floating},
    {"round", Op::Rint, 1, Rule::Floating},
    {"isnan", Op::IsNan, 1, Rule::Test},
    {"isinf", Op::IsInf, 1, Rule::Test},
    {"isfinite", Op::IsFinite, 1, Rule::Test},
    {"signbit", Op::SignBit, 1, Rule::Test},
    {"where", Op::Where, 3, Rule::Special},
    {"pow", Op::Multiply, 2, Rule::Special},
    {"relu", Op::Where, 1, Rule::Special},
    {"leaky_relu", Op::Where, 2, Rule::Special},
    {"masked_fill", Op::Where, 3, Rule::Special},
    {"to", Op::Cast, 2, Rule::Special},
    {"float", Op::Cast, 1, Rule::Special},
    {"double", Op::Cast, 1, Rule::Special},
    {"half", Op::Cast, 1, Rule::Special},
    {"bfloat16", Op::Cast, 1, Rule::Special},
    {"long", Op::Cast, 1, Rule::Special},
    {"int", Op::Cast, 1, Rule::Special},
    {"bool", Op::Cast, 1, Rule::Special},
};

const Rule* find_rule(std::string_view name) {
    const auto* it = std::ranges::find(kRules, name, &Rule::name);
    return it == std::end(kRules) ? nullptr : it;
}

Id one(TraceBuilder& tb, DType t) {
    const Id v = tb.scalar_const(DType::F32, 0x3f800000);
    return tb.cast(v, t);
}

Id apply(TraceBuilder& tb, Op op, std::initializer_list<Id> in, DType out) {
    return tb.pointwise(op, std::span(in.begin(), in.size()), out);
}

Id inverse(TraceBuilder& tb, Id v) {
    const DType t = tb.node(v).dtype;
    return apply(tb, Op::Divide, {one(tb, t), v}, t);
}

// x ** n for the exponents that torch multiplies out.
Id power(TraceBuilder& tb, std::span<const Operand> args) {
    Arg x;
    if (args.size() != 2 || !read_arg(tb, args[0], &x) || x.rank == Rank::Number || !floating(x.dtype) ||
        half(x.dtype))
        return kNone;
    if (!PyLong_CheckExact(args[1].obj) && !PyFloat_CheckExact(args[1].obj)) return kNone;
    const double n = PyFloat_AsDouble(args[1].obj);
    if (n != 2 && n != 3) return kNone;
    if (!numpy::require_fixed(tb, args[1])) return kNone;
    const Id squared = apply(tb, Op::Multiply, {x.id, x.id}, x.dtype);
    return n == 2 ? squared : apply(tb, Op::Multiply, {squared, x.id}, x.dtype);
}

Id choose(TraceBuilder& tb, std::span<const Operand> args) {
    if (args.size() != 3) return kNone;
    Arg condition;
    std::array<Arg, 2> sides;
    if (!read_arg(tb, args[0], &condition) || condition.dtype != DType::Bool ||
        condition.rank == Rank::Number || !read_arg(tb, args[1], &sides[0]) ||
        !read_arg(tb, args[2], &sides[1]))
        return kNone;
    const DType t = result_type(tb, sides);
    for (const Operand& side : args.subspan(1))
        if (!half(t) && !fits_number(tb, side, t)) return kNone;
    Id ids[] = {condition.id, as_dtype(tb, sides[0], t), as_dtype(tb, sides[1], t)};
    if (ids[1] == kNone || ids[2] == kNone) return kNone;
    Shape shape;
    if (!tb.broadcast_shape(ids, &shape)) return kNone;
    for (Id& v : ids)
        if ((v = tb.broadcast(v, shape)) == kNone) return kNone;
    return tb.pointwise(Op::Where, ids, t);
}

// A float tensor in single or double precision.
bool read_float_tensor(TraceBuilder& tb, const Operand& o, Arg* out) {
    return read_arg(tb, o, out) && out->rank != Rank::Number && floating(out->dtype) && !half(out->dtype);
}

// max(v, limit) or min as CUDA's clamp has it: NaN stays, and of two zeros +0 is the greater.
Id bounded(TraceBuilder& tb, Id v, Op op, Id limit) {
    const DType t = tb.node(v).dtype;
    const Id nan = apply(tb, Op::IsNan, {v}, DType::Bool);
    return apply(tb, Op::Where, {nan, v, apply(tb, op, {v, limit}, t)}, t);
}

// maximum and minimum as CUDA's kernels have them: the first NaN of the two, else as `bounded`.
Id extremum(TraceBuilder& tb, std::string_view name, std::span<const Operand> operands) {
    Arg args[2];
    if (operands.size() != 2) return kNone;
    for (int i = 0; i < 2; ++i)
        if (!read_float_tensor(tb, operands[i], &args[i])) return kNone;
    const DType t = result_type(tb, args);
    if (half(t)) return kNone;
    std::vector<Id> in;
    if (!read_operands(tb, args, t, Op::Fmax, &in)) return kNone;
    const Id nan = apply(tb, Op::IsNan, {in[1]}, DType::Bool);
    const Id greater = apply(tb, name == "maximum" ? Op::Fmax : Op::Fmin, {in[0], in[1]}, t);
    const Id other = apply(tb, Op::Where, {nan, in[1], greater}, t);
    return apply(tb, Op::Where, {apply(tb, Op::IsNan, {in[0]}, DType::Bool), in[0], other}, t);
}

// On the CPU, NaN and -0.0 stay as they are.
Id rectified(TraceBuilder& tb, const Operand& o) {
    Arg x;
    if (!read_float_tensor(tb, o, &x)) return kNone;
    if (tb.device >= 0) return bounded(tb, x.id, Op::Fmax, tb.cast(tb.scalar_const(DType::F32, 0), x.dtype));
    const Id zero = tb.cast(tb.scalar_const(DType::F32, 0), x.dtype);
    const Id below = apply(tb, Op::Less, {x.id, zero}, DType::Bool);
    return apply(tb, Op::Where, {below, zero, x.id}, x.dtype);
}

Id leaky(TraceBuilder& tb, std::span<const Operand> args) {
    Arg x;
    if (args.size() != 2 || !PyFloat_CheckExact(args[1].obj) || !read_float_tensor(tb, args[0], &x))
        return kNone;
    const Id zero = tb.cast(tb.scalar_const(DType::F32, 0), x.dtype);
    const Id slope = fits_number(tb, args[1], x.dtype) ? read_value(tb, args[1], x.dtype) : kNone;
    if (slope == kNone) return kNone;
    const Id above = apply(tb, Op::Greater, {x.id, zero}, DType::Bool);
    const Id scaled = apply(tb, Op::Multiply, {x.id, slope}, x.dtype);
    return apply(tb, Op::Where, {above, x.id, scaled}, x.dtype);
}

// Bounds that are no NaN, in this order, as torch's kernels apply them.
Id clamped(TraceBuilder& tb, std::span<const Operand> operands, PyObject* kwnames) {
    const Operand* p[3];
    Arg x;
    if (!numpy::bind(tb, {nullptr, operands, kwnames, nullptr}, {"input", "min", "max"}, p) || !p[0] ||
        !read_float_tensor(tb, *p[0], &x))
        return kNone;
    Id v = x.id;
    for (int i = 1; i < 3; ++i) {
        if (!p[i]) continue;
        if (!numpy::require_fixed(tb, *p[i])) return kNone;
        if (p[i]->obj == Py_None) continue;
        const bool number = PyFloat_CheckExact(p[i]->obj) || PyLong_CheckExact(p[i]->obj);
        const double bound = number ? PyFloat_AsDouble(p[i]->obj) : 0;
        const Id limit = number && bound == bound ? read_value(tb, *p[i], x.dtype) : kNone;
        if (limit == kNone) return kNone;
        if (tb.device >= 0) {
            v = bounded(tb, v, i == 1 ? Op::Fmax : Op::Fmin, limit);
            continue;
        }
        const Id beyond = apply(tb, i == 1 ? Op::Less : Op::Greater, {v, limit}, DType::Bool);
        v = apply(tb, Op::Where, {beyond, limit, v}, x.dtype);
    }
    return v == x.id ? kNone : v;
}

Id filled(TraceBuilder& tb, std::span<const Operand> args) {
    Arg x, mask;
    if (args.size() != 3 || !read_arg(tb, args[0], &x) || x.rank == Rank::Number ||
        !read_arg(tb, args[1], &mask) || mask.rank == Rank::Number || mask.dtype != DType::Bool ||
        is_tensor(args[2].obj))
        return kNone;
    if (!fits_number(tb, args[2], x.dtype)) return kNone;
    Id ids[] = {mask.id, read_value(tb, args[2], x.dtype), x.id};
    Shape shape;
    if (ids[1] == kNone || !tb.broadcast_shape(ids, &shape)) return kNone;
    for (Id& v : ids)
        if ((v = tb.broadcast(v, shape)) == kNone) return kNone;
    return tb.pointwise(Op::Where, ids, x.dtype);
}

Id to_dtype(TraceBuilder& tb, std::span<const Operand> args) {
    Arg x;
    DType to;
    if (args.size() != 2 || !dtype_of_object(args[1].obj, &to) ||
        !tb.require_constant(args[1].shadow, args[1].obj) || !read_arg(tb, args[0], &x) ||
        x.rank == Rank::Number || x.dtype == to)
        return kNone;
    return converted(tb, x.id, to);
}

// Functions of floats that CUDA's math library computes for torch as for generated code.
constexpr std::string_view kOnGpu[][2] = {
    {"exp", "exp"},       {"expm1", "expm1"},   {"log", "log"},       {"log2", "log2"}, {"log10", "log10"},
    {"log1p", "log1p"},   {"sin", "sin"},       {"cos", "cos"},       {"tan", "tan"},   {"asin", "arcsin"},
    {"acos", "arccos"},   {"atan", "arctan"},   {"sinh", "sinh"},     {"cosh", "cosh"}, {"tanh", "tanh"},
    {"asinh", "arcsinh"}, {"acosh", "arccosh"}, {"atanh", "arctanh"}, {"sqrt", ""},     {"sigmoid", ""},
    {"silu", ""}};

// 1 + exp(-x)
Id one_and_exp(TraceBuilder& tb, Id x, DType t) {
    const Id e = tb.host_loop("exp", std::array{apply(tb, Op::Negative, {x}, t)}, t);
    return apply(tb, Op::Add, {one(tb, t), e}, t);
}

// Halves are computed in single precision, as everywhere.
Id on_gpu(TraceBuilder& tb, std::string_view name, std::span<const Operand> operands) {
    if (name == "maximum" || name == "minimum") return extremum(tb, name, operands);
    const auto* row = std::ranges::find(kOnGpu, name, [](const auto& r) { return r[0]; });
    Arg a;
    if (row == std::end(kOnGpu) || operands.size() != 1 || !read_arg(tb, operands[0], &a) ||
        a.rank == Rank::Number || !floating(a.dtype))
        return kNone;
    const DType t = working(a.dtype);
    const Id x = converted(tb, a.id, t);
    Id v = kNone;
    if (name == "sqrt")
        v = apply(tb, Op::Sqrt, {x}, t);
    else if (name == "sigmoid")
        v = inverse(tb, one_and_exp(tb, x, t));
    else if (name == "silu")
        v = apply(tb, Op::Divide, {x, one_and_exp(tb, x, t)}, t);
    else
        v = tb.host_loop(std::string((*row)[1]), std::array{x}, t);
    return v == kNone ? v : tb.cast(v, a.dtype);
}

// number / tensor, which torch computes as tensor.reciprocal() * number (Tensor.__rtruediv__).
Id number_divided(TraceBuilder& tb, std::span<const Arg> args, DType t) {
    if (half(t)) return kNone;
    const Id divisor = as_dtype(tb, args[1], t), number = as_dtype(tb, args[0], t);
    if (divisor == kNone || number == kNone) return kNone;
    const Id in[] = {inverse(tb, divisor), tb.broadcast(number, tb.node(divisor).shape)};
    return in[0] == kNone || in[1] == kNone ? kNone : tb.pointwise(Op::Multiply, in, t);
}

Id special(TraceBuilder& tb, const Rule& rule, std::span<const Operand> args) {
    if (rule.name == "relu") return args.size() == 1 ? rectified(tb, args[0]) : kNone;
    if (rule.name == "leaky_relu") return leaky(tb, args);
    if (rule.name == "masked_fill") return filled(tb, args);
    if (rule.name == "to") return to_dtype(tb, args);
    if (rule.name == "pow") return power(tb, args);
    if (rule.name == "where") return choose(tb, args);
    if (rule.name == "rsub") {
        if (args.size() != 2) return kNone;
        const Operand swapped[] = {args[1], args[0]};
        return compute(tb, "sub", swapped, nullptr);
    }
    Arg x;
    if (args.size() != 1 || !read_arg(tb, args[0], &x) || x.rank == Rank::Number) return kNone;
    if (rule.op == Op::Copy) return apply(tb, Op::Copy, {x.id}, x.dtype);
    if (rule.op == Op::Cast) {
        const DType to = rule.name == "float"      ? DType::F32
                         : rule.name == "double"   ? DType::F64
                         : rule.name == "half"     ? DType::F16
                         : rule.name == "bfloat16" ? DType::BF16
                         : rule.name == "long"     ? DType::I64
                         : rule.name == "int"      ? DType::I32
                                                   : DType::Bool;
        return x.dtype == to ? kNone : converted(tb, x.id, to);  // else torch returns the tensor itself
    }
    if (!floating(x.dtype) || half(x.dtype)) return kNone;
    if (rule.op == Op::Sqrt && tb.device >= 0) return kNone;  // CUDA's rsqrt is no quotient
    const Id v = rule.op == Op::Sqrt ? apply(tb, Op::Sqrt, {x.id}, x.dtype) : x.id;
    return inverse(tb, v);
}

}  // namespace

Id converted(TraceBuilder& tb, Id v, DType to) {
    if (!converts(tb.node(v).dtype, to)) return kNone;
    // torch makes half precision of single precision.
    if (half(to) && tb.node(v).dtype == DType::F64) v = tb.cast(v, DType::F32);
    return tb.cast(v, to);
}

bool fits_number(TraceBuilder& tb, const Operand& o, DType to) {
    Arg a;
    if (!read_arg(tb, o, &a)) return false;
    if (a.rank != Rank::Number || a.dtype == DType::Bool || !floating(to) || to == DType::F64) return true;
    if (a.id == kNone) {  // an int: of the dtypes for which it may be too large, one is floating
        if (to != DType::F16) return true;
        return tb.require(Relation::Ge, a.sym, tb.int_const(-65504)) &&
               tb.require(Relation::Lt, a.sym, tb.int_const(65505));
    }
    const double largest = to == DType::F16    ? 65504.0
                           : to == DType::BF16 ? 0x1.fep127
                                               : static_cast<double>(std::numeric_limits<float>::max());
    const Id size = apply(tb, Op::Absolute, {a.id}, DType::F64);
    const Id most = tb.scalar_const(DType::F64, std::bit_cast<uint64_t>(largest));
    const Id beyond = apply(
        tb, Op::LogicalAnd,
        {apply(tb, Op::Greater, {size, most}, DType::Bool), apply(tb, Op::IsFinite, {a.id}, DType::Bool)},
        DType::Bool);
    return numpy::guard_scalar(tb, beyond, false);
}

Id read_value(TraceBuilder& tb, const Operand& o, DType to) {
    Arg a;
    if (!read_arg(tb, o, &a)) return kNone;
    if (a.rank == Rank::Number && a.dtype == DType::F64 && !floating(to)) return kNone;
    return as_dtype(tb, a, to);
}

Id compute(TraceBuilder& tb, std::string_view name, std::span<const Operand> operands, PyObject* kwnames) {
    if (name == "clamp" || name == "clip") return clamped(tb, operands, kwnames);
    if (tb.device >= 0 && !kwnames)
        if (const Id v = on_gpu(tb, name, operands); v != kNone) return v;
    const Rule* rule = find_rule(name);
    if (!rule || kwnames || static_cast<int>(operands.size()) != rule->arity) return kNone;
    if (rule->kind == Rule::Special) return special(tb, *rule, operands);
    std::vector<Arg> args(operands.size());
    bool tensors = false;
    for (size_t i = 0; i < args.size(); ++i) {
        if (!read_arg(tb, operands[i], &args[i])) return kNone;
        tensors |= args[i].rank != Rank::Number;
    }
    if (!tensors) return kNone;
    DType common = result_type(tb, args);
    switch (rule->kind) {
        case Rule::Arithmetic:
            if (common == DType::Bool && rule->op != Op::Add && rule->op != Op::Multiply) return kNone;
            break;
        case Rule::Division:
            if (!floating(common)) common = use_default_dtype(tb);
            break;
        case Rule::Logic:
            for (const Arg& a : args)
                if (a.id == kNone || a.rank == Rank::Number) return kNone;
            break;
        case Rule::Bits:
            if (floating(common)) return kNone;
            break;
        case Rule::Floating:
        case Rule::Test:
            if (!floating(common)) return kNone;
            break;
        case Rule::Comparison:
        case Rule::Special: break;
    }
    if (!plain(common)) return kNone;
    if (rule->op == Op::SignBit && half(common))
        return kNone;  // vectors and their tails make NaNs of two signs
    if (rule->op == Op::Divide && args[0].rank == Rank::Number) return number_divided(tb, args, common);
    std::vector<Id> in;
    if (!read_operands(tb, args, common, rule->op, &in)) return kNone;
    const DType work = working(common);
    if (!graph::is_native(rule->op, work)) return kNone;
    const bool test = graph::info(rule->op).dtype == graph::DTypeRule::bool_;
    if (rule->op == Op::Divide && tb.device >= 0 && args[1].rank == Rank::Number) {
        in[1] = inverse(tb, in[1]);
        in[0] = tb.pointwise(Op::Multiply, in, work);
        return work == common ? in[0] : tb.cast(in[0], common);
    }
    const Id v = tb.pointwise(rule->op, in, test ? DType::Bool : work);
    if (v == kNone || test || work == common) return v;
    return tb.cast(v, common);
}

ShadowRef finish(TraceBuilder& tb, Id v, size_t nodes_before, PyObject* result) {
    if (v == kNone) return nullptr;
    guards::TensorView t;
    if (!is_tensor(result) || !guards::read_tensor(result, &t))
        return tb.fail(Reason::UnknownCall, "a result that is no plain tensor");
    if (t.dtype != tb.node(v).dtype || t.rank != static_cast<int>(tb.node(v).shape.size()))
        return tb.fail(Reason::UnknownCall, "a result of another dtype or rank");
    for (int d = 0; d < t.rank; ++d)
        if (tb.hint(tb.node(v).shape[static_cast<size_t>(d)]) != t.shape[d])
            return tb.fail(Reason::UnknownCall, "a result of another shape");
    const bool own =
        graph::info(tb.node(v).op).cls == graph::OpClass::Pointwise && static_cast<size_t>(v) >= nodes_before;
    if (!own) {
        const Id in[] = {v};
        v = tb.pointwise(Op::Copy, in, t.dtype);
    }
    return tb.new_array(v, result);
}

}  // namespace stator::frontend::torch
