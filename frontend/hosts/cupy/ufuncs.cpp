// Ufuncs as generated code. CuPy takes the first loop of a ufunc's list into which all operands convert
// safely; Python's numbers adapt to it unless they are of a higher kind than all arrays. Its kernels are
// compiled per call, so nothing is contracted between two operations, but within one it may be: operations
// whose text multiplies and adds (remainders of floats, products of complex numbers) are CuPy's own calls.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "frontend/hosts/cupy/lower.h"
#include "frontend/trace_builder/array_meta.h"
#include "guards/check/names.h"

namespace stator::frontend::cupy {

namespace {

// Kinds of loop operands on which CuPy's kernel computes what generated code computes.
enum Kinds : uint8_t {
    kBool = 1,
    kInts = 2,
    kHalf = 4,
    kFloats = 8,  // f32 and f64
    kComplex = 16,
    kReal = kInts | kHalf | kFloats,
    kAny = kBool | kReal,
};

// `op` is NumPy's ufunc of the meaning.
struct Rule {
    std::string_view name, op;
    int arity;
    uint8_t kinds;
};

constexpr Rule kRules[] = {
    {"add", "add", 2, kAny | kComplex},
    {"subtract", "subtract", 2, kReal | kComplex},
    {"multiply", "multiply", 2, kAny},
    {"divide", "divide", 2, kHalf | kFloats},
    {"true_divide", "divide", 2, kHalf | kFloats},
    {"floor_divide", "floor_divide", 2, kInts},
    {"remainder", "remainder", 2, kInts},
    {"mod", "remainder", 2, kInts},
    {"negative", "negative", 1, kReal | kComplex},
    {"positive", "positive", 1, kReal},
    {"abs", "absolute", 1, kAny},
    {"absolute", "absolute", 1, kAny},
    {"fabs", "fabs", 1, kFloats},
    {"square", "square", 1, kReal},
    {"sqrt", "sqrt", 1, kHalf | kFloats},
    {"floor", "floor", 1, kAny},
    {"ceil", "ceil", 1, kAny},
    {"trunc", "trunc", 1, kAny},
    {"fix", "trunc", 1, kAny},
    {"rint", "rint", 1, kHalf | kFloats},
    {"maximum", "maximum", 2, kBool | kInts | kFloats},
    {"minimum", "minimum", 2, kBool | kInts | kFloats},
    {"sign", "sign", 1, kInts | kFloats},
    {"fmax", "fmax", 2, kBool | kInts | kFloats},
    {"fmin", "fmin", 2, kBool | kInts | kFloats},
    {"copysign", "copysign", 2, kFloats},
    {"less", "less", 2, kAny},
    {"less_equal", "less_equal", 2, kAny},
    {"greater", "greater", 2, kAny},
    {"greater_equal", "greater_equal", 2, kAny},
    {"equal", "equal", 2, kAny},
    {"not_equal", "not_equal", 2, kAny},
    {"logical_and", "logical_and", 2, kAny},
    {"logical_or", "logical_or", 2, kAny},
    {"logical_xor", "logical_xor", 2, kAny},
    {"logical_not", "logical_not", 1, kAny},
    {"bitwise_and", "bitwise_and", 2, kBool | kInts},
    {"bitwise_or", "bitwise_or", 2, kBool | kInts},
    {"bitwise_xor", "bitwise_xor", 2, kBool | kInts},
    {"invert", "invert", 1, kBool | kInts},
    {"left_shift", "left_shift", 2, kInts},
    {"right_shift", "right_shift", 2, kInts},
    {"isnan", "isnan", 1, kHalf | kFloats},
    {"isinf", "isinf", 1, kHalf | kFloats},
    {"isfinite", "isfinite", 1, kHalf | kFloats},
    {"signbit", "signbit", 1, kFloats},
    {"exp", "exp", 1, kFloats},
    {"exp2", "power", 1, kFloats},
    {"expm1", "expm1", 1, kFloats},
    {"log", "log", 1, kFloats},
    {"log10", "log10", 1, kFloats},
    {"log1p", "log1p", 1, kFloats},
    {"log2", "log2", 1, kFloats},
    {"sin", "sin", 1, kFloats},
    {"cos", "cos", 1, kFloats},
    {"tan", "tan", 1, kFloats},
    {"arcsin", "arcsin", 1, kFloats},
    {"arccos", "arccos", 1, kFloats},
    {"arctan", "arctan", 1, kFloats},
    {"arctan2", "arctan2", 2, kFloats},
    {"sinh", "sinh", 1, kFloats},
    {"cosh", "cosh", 1, kFloats},
    {"tanh", "tanh", 1, kFloats},
    {"arcsinh", "arcsinh", 1, kFloats},
    {"arccosh", "arccosh", 1, kFloats},
    {"arctanh", "arctanh", 1, kFloats},
    {"cbrt", "cbrt", 1, kFloats},
    {"hypot", "hypot", 2, kFloats},
    {"fmod", "fmod", 2, kFloats},
    {"power", "power", 2, kFloats},
    {"nextafter", "nextafter", 2, kFloats},
    {"deg2rad", "deg2rad", 1, kFloats},
    {"radians", "deg2rad", 1, kFloats},
    {"rad2deg", "rad2deg", 1, kFloats},
    {"degrees", "rad2deg", 1, kFloats},
};

const Rule* find_rule(std::string_view name) {
    const auto* it = std::ranges::find(kRules, name, &Rule::name);
    return it == std::end(kRules) ? nullptr : it;
}

uint8_t kind_of(DType t) {
    if (t == DType::Bool) return kBool;
    if (t == DType::F16) return kHalf;
    return graph::is_complex(t) ? kComplex : graph::is_float(t) ? kFloats : kInts;
}
// Bool, integers, floats, complex numbers: numbers of a higher kind do not adapt to a lower one.
int height(DType t) { return t == DType::Bool ? 0 : graph::is_integer(t) ? 1 : graph::is_complex(t) ? 3 : 2; }
int height(numpy::Weak w) { return static_cast<int>(w); }

// A loop of CuPy's, of dtypes that are ours or of bfloat16 (where the package ml_dtypes is installed).
struct Loop {
    numpy::LoopTypes types;
    bool bfloat16 = false;
};
using Loops = std::vector<Loop>;

bool dtype_of_char(char c, DType* out) {
    PyArray_Descr* d = PyArray_DescrFromType(c);
    if (!d) return PyErr_Clear(), false;
    const bool known = dtype_from_numpy(d->type_num, out);
    Py_DECREF(d);
    return known;
}

// "ff->f"
bool parse_loop(std::string_view text, int arity, Loop* out) {
    constexpr char kBfloat16 = 'E';  // ml_dtypes.bfloat16's
    if (text.size() != static_cast<size_t>(arity) + 3 || text.substr(static_cast<size_t>(arity), 2) != "->")
        return false;
    const std::string_view in = text.substr(0, static_cast<size_t>(arity));
    out->bfloat16 = in.find_first_not_of(kBfloat16) == in.npos;
    if (out->bfloat16) return true;
    for (int i = 0; i < arity; ++i)
        if (!dtype_of_char(in[static_cast<size_t>(i)], &out->types.in[i])) return false;
    return dtype_of_char(text.back(), &out->types.out);
}

// The ufunc's loops in the order in which CuPy tries them. A loop that cannot be read ends the list: what
// comes after it must not be taken in its place.
const Loops& loops_of(const Rule& rule) {
    static auto* all = new std::unordered_map<std::string_view, Loops>;
    const auto it = all->find(rule.name);
    if (it != all->end()) return it->second;
    Loops loops;
    PyObject* ufunc = function_named(std::string(rule.name).c_str());
    PyRef types = PyRef::steal(ufunc ? PyObject_GetAttrString(ufunc, "types") : nullptr);
    PyErr_Clear();
    const Py_ssize_t count = types && PyList_Check(types.get()) ? PyList_GET_SIZE(types.get()) : 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* item = PyList_GET_ITEM(types.get(), i);
        const std::string text = guards::utf8(item);
        Loop loop;
        if (!parse_loop(text.c_str(), rule.arity, &loop)) break;
        loops.push_back(loop);
    }
    PyErr_Clear();
    return all->emplace(rule.name, std::move(loops)).first->second;
}

bool safe(DType from, DType to) {
    return PyArray_CanCastSafely(graph::info(from).numpy_type, graph::info(to).numpy_type);
}

// Whether Python's numbers adapt at all: not when one is of a higher kind than every array.
bool adapts(std::span<const Arg> args) {
    int arrays = -1, numbers = -1;
    for (const Arg& a : args)
        if (a.weak == numpy::Weak::No)
            arrays = std::max(arrays, height(a.dtype));
        else
            numbers = std::max(numbers, height(a.weak));
    return arrays >= 0 && numbers <= arrays;
}

bool adapts_to(int height_of_loop, const Arg& a, bool weak) {
    return weak && a.weak != numpy::Weak::No && height(a.weak) <= height_of_loop;
}

// NumPy converts to bfloat16 safely what has no more than its eight bits of precision.
bool accepts(const Loop& loop, size_t i, const Arg& a, bool weak) {
    if (loop.bfloat16)
        return a.dtype == DType::Bool || a.dtype == DType::I8 || a.dtype == DType::U8 ||
               adapts_to(height(DType::F16), a, weak);
    return safe(a.dtype, loop.types.in[i]) || adapts_to(height(loop.types.in[i]), a, weak);
}

const numpy::LoopTypes* choose_loop(const Rule& rule, std::span<const Arg> args) {
    const bool weak = adapts(args);
    for (const Loop& loop : loops_of(rule)) {
        bool fits = true;
        for (size_t i = 0; i < args.size(); ++i) fits &= accepts(loop, i, args[i], weak);
        if (fits) return loop.bfloat16 ? nullptr : &loop.types;
    }
    return nullptr;
}

// A constant that single precision has, as CuPy's text converts it.
Id constant(TraceBuilder& tb, uint32_t single, DType t) {
    return tb.cast(tb.scalar_const(DType::F32, single), t);
}
constexpr uint32_t kOne = 0x3f800000, kTwo = 0x40000000, kNan = 0x7fffffff;  // NAN of CUDA's headers

Id apply(TraceBuilder& tb, Op op, std::initializer_list<Id> in, DType out) {
    Shape shape;
    std::vector<Id> ids(in);
    if (!tb.broadcast_shape(ids, &shape)) return kNone;
    for (Id& v : ids)
        if ((v = tb.broadcast(v, shape)) == kNone) return kNone;
    return tb.pointwise(op, ids, out);
}

// Functions of floats that CuPy's text spells out by others:
//   maximum  (isnan(in0) | isnan(in1)) ? T(NAN) : T(max(in0, in1))
//   sign     in0 < 0 || in0 > 0 ? copysign(T(1), in0) : in0 - in0
//   exp2     pow(T(2), in0)
Id spelled_out(TraceBuilder& tb, std::string_view name, std::span<const Arg> in, DType t) {
    const Id x = in[0].id;
    if (name == "exp2") return numpy::emit(tb, "power", {numpy::arg_of(tb, constant(tb, kTwo, t)), in[0]});
    if (name == "sign") {
        const Id zero = constant(tb, 0, t);
        const Id other = apply(
            tb, Op::BitwiseOr,
            {apply(tb, Op::Less, {x, zero}, DType::Bool), apply(tb, Op::Greater, {x, zero}, DType::Bool)},
            DType::Bool);
        const Id one = numpy::emit(tb, "copysign", {numpy::arg_of(tb, constant(tb, kOne, t)), in[0]});
        return apply(tb, Op::Where, {other, one, apply(tb, Op::Subtract, {x, x}, t)}, t);
    }
    const Id y = in[1].id;
    const Id nan =
        apply(tb, Op::BitwiseOr,
              {apply(tb, Op::IsNan, {x}, DType::Bool), apply(tb, Op::IsNan, {y}, DType::Bool)}, DType::Bool);
    const Id extremum = apply(tb, name == "maximum" ? Op::Fmax : Op::Fmin, {x, y}, t);
    return apply(tb, Op::Where, {nan, constant(tb, kNan, t), extremum}, t);
}
bool is_spelled_out(std::string_view name) {
    return name == "maximum" || name == "minimum" || name == "sign" || name == "exp2";
}

}  // namespace

bool is_ufunc_name(std::string_view name) { return find_rule(name) != nullptr; }

bool read_operand(TraceBuilder& tb, const Operand& o, Arg* out) {
    if (!is_cupy_array(o.obj)) {
        if (PyArray_CheckExact(o.obj)) return tb.fail(Reason::UnknownOp, "an array of NumPy's"), false;
        return numpy::read_arg(tb, o, out);
    }
    *out = {};
    if (!tb.resolve(o.shadow, o.obj)) return false;
    if (o.shadow->kind != ShadowKind::Array) return tb.fail(Reason::ArrayKind, "an unknown array"), false;
    out->id = tb.value(o.shadow);
    out->dtype = o.shadow->dtype;
    out->array = true;
    return out->id != kNone;
}

bool converts(DType from, DType to) {
    if (from == to) return true;
    if (graph::is_complex(from) || graph::is_complex(to)) return graph::is_complex(to);
    // Half precision comes from single precision in CuPy's class for it.
    return to != DType::F16 || from == DType::F32 || graph::info(from).size < 4;
}

Id converted(TraceBuilder& tb, const Arg& a, DType to) {
    const bool number = a.weak == numpy::Weak::Int || a.weak == numpy::Weak::Float;
    if (!number && !converts(a.dtype, to)) return kNone;
    if (a.weak == numpy::Weak::Float && !graph::is_float(to) && !graph::is_complex(to)) return kNone;
    return numpy::arg_id(tb, a, to);
}

Id compute(TraceBuilder& tb, std::string_view name, std::span<const Operand> operands) {
    const Rule* rule = find_rule(name);
    if (!rule || static_cast<int>(operands.size()) != rule->arity) return kNone;
    std::vector<Arg> args(operands.size());
    for (size_t i = 0; i < args.size(); ++i)
        if (!read_operand(tb, operands[i], &args[i])) return kNone;
    const numpy::LoopTypes* loop = choose_loop(*rule, args);
    if (!loop) return tb.fail(Reason::UnknownOp, "no loop of CuPy's is known that takes these dtypes"), kNone;
    numpy::LoopTypes types = *loop;
    // What is divided is converted to the quotient's dtype first.
    if (rule->op == "divide") types.in[0] = types.in[1] = types.out;
    for (size_t i = 0; i < args.size(); ++i) {
        if (!(kind_of(types.in[i]) & rule->kinds))
            return tb.fail(Reason::UnknownOp, "generated code may have other bits"), kNone;
        const Id v = converted(tb, args[i], types.in[i]);
        if (v == kNone) return tb.fail(Reason::UnknownOp, "an operand that CuPy converts otherwise"), kNone;
        args[i] = numpy::arg_of(tb, v);
        if (i && types.in[i] != types.in[0])
            return tb.fail(Reason::UnknownOp, "operands of two dtypes"), kNone;
    }
    if (graph::is_float(types.out) && is_spelled_out(name)) return spelled_out(tb, name, args, types.out);
    const numpy::Ufunc* u = numpy::find_ufunc(rule->op);
    return u ? numpy::emit_ufunc(tb, *u, args, types) : kNone;
}

ShadowRef finish(TraceBuilder& tb, Id v, size_t nodes_before, PyObject* result) {
    if (v == kNone) return nullptr;
    guards::TensorView t;
    if (!is_cupy_array(result) || !guards::read_cupy_array(result, &t))
        return tb.fail(Reason::UnknownCall, "a result that is no plain array");
    const Shape shape = tb.node(v).shape;
    if (t.dtype != tb.node(v).dtype || t.rank != static_cast<int>(shape.size()))
        return tb.fail(Reason::UnknownCall, "a result of another dtype or rank");
    for (size_t d = 0; d < shape.size(); ++d)
        if (tb.hint(shape[d]) != t.shape[d]) return tb.fail(Reason::UnknownCall, "a result of another shape");
    const graph::OpClass cls = graph::info(tb.node(v).op).cls;
    const bool made =
        cls == graph::OpClass::Pointwise || cls == graph::OpClass::Reduction || cls == graph::OpClass::Alloc;
    if (!made || static_cast<size_t>(v) < nodes_before) {
        const Id in[] = {v};
        v = tb.pointwise(Op::Copy, in, t.dtype);
    }
    return tb.new_array(v, result);
}

ShadowRef lower_ufunc(TraceBuilder& tb, std::string_view name, const Call& call) {
    const Rule* rule = find_rule(name);
    if (!rule) return nullptr;
    const size_t before = tb.graph.nodes.size(), arity = static_cast<size_t>(rule->arity);
    const bool keyword = call.kwnames && PyTuple_GET_SIZE(call.kwnames) == 1 &&
                         PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.kwnames, 0), "out") == 0;
    if ((!call.kwnames || keyword) && call.args.size() == arity + 1 && is_cupy_array(call.args[arity].obj))
        return lower_into(tb, name, call.args.first(arity), call.args[arity]);
    if (call.kwnames) return nullptr;
    return finish(tb, compute(tb, name, call.args), before, call.result);
}

}  // namespace stator::frontend::cupy
