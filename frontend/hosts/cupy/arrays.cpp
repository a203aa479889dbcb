// Functions that make arrays out of shapes, numbers and other arrays: zeros, full, copy, astype, where, clip.
// dtype and memory order are read off what CuPy returned; both follow from arguments that guards fix.
#include <algorithm>

#include "frontend/hosts/cupy/lower.h"

namespace stator::frontend::cupy {

namespace {

using Lower = ShadowRef (*)(TraceBuilder&, const Call&);

bool result_dtype(const Call& call, DType* out) {
    guards::TensorView t;
    if (!is_cupy_array(call.result) || !guards::read_cupy_array(call.result, &t)) return false;
    *out = t.dtype;
    return true;
}

bool fixed(TraceBuilder& tb, std::initializer_list<const Operand*> operands) {
    for (const Operand* o : operands)
        if (const Operand* value = numpy::given(tb, o); value && !numpy::require_fixed(tb, *value))
            return false;
    return true;
}

ShadowRef filled(TraceBuilder& tb, const Call& call, Shape shape, Id number) {
    const size_t before = tb.graph.nodes.size();
    if (number == kNone || shape.empty()) return nullptr;
    return finish(tb, tb.full(number, std::move(shape), call.result), before, call.result);
}

template <int Value>
ShadowRef lower_make(TraceBuilder& tb, const Call& call) {
    const Operand* p[3];
    Shape shape;
    DType t;
    if (!numpy::bind(tb, call, {"shape", "dtype", "order"}, p) || !p[0] || !fixed(tb, {p[1], p[2]}) ||
        !numpy::read_shape(tb, *p[0], &shape) || !result_dtype(call, &t))
        return nullptr;
    return filled(tb, call, std::move(shape), tb.cast(tb.scalar_const(DType::Bool, Value), t));
}

bool array_operand(TraceBuilder& tb, const Operand* o) {
    return o && is_cupy_array(o->obj) && tb.resolve(o->shadow, o->obj) &&
           o->shadow->kind == ShadowKind::Array;
}

template <int Value>
ShadowRef lower_make_like(TraceBuilder& tb, const Call& call) {
    const Operand* p[3];
    DType t;
    if (!numpy::bind(tb, call, {"a", "dtype", "order"}, p) || !array_operand(tb, p[0]) ||
        !fixed(tb, {p[1], p[2]}) || !result_dtype(call, &t))
        return nullptr;
    return filled(tb, call, tb.shape(p[0]->shadow), tb.cast(tb.scalar_const(DType::Bool, Value), t));
}

ShadowRef lower_full(TraceBuilder& tb, const Call& call) {
    const Operand* p[4];
    Shape shape;
    DType t;
    Arg v;
    if (!numpy::bind(tb, call, {"shape", "fill_value", "dtype", "order"}, p) || !p[0] || !p[1] ||
        !fixed(tb, {p[2], p[3]}) || !numpy::read_shape(tb, *p[0], &shape) || !result_dtype(call, &t) ||
        !read_operand(tb, *p[1], &v) || t == DType::Bool || (v.id != kNone && !tb.node(v.id).shape.empty()))
        return nullptr;
    return filled(tb, call, std::move(shape), converted(tb, v, t));
}

// a.astype(dtype), a.copy()
ShadowRef lower_copy(TraceBuilder& tb, const Call& call) {
    DType t;
    if (call.args.empty() || !array_operand(tb, call.args.data()) || !result_dtype(call, &t)) return nullptr;
    for (const Operand& o : call.args.subspan(1))
        if (!numpy::require_fixed(tb, o)) return nullptr;
    const Operand& a = call.args[0];
    if (call.result == a.obj) return a.shadow;  // copy=False and nothing to do
    const size_t before = tb.graph.nodes.size();
    if (!converts(a.shadow->dtype, t) || a.shadow->layout != graph::Layout::Contiguous) return nullptr;
    const Id v = tb.value(a.shadow);
    return v == kNone ? nullptr : finish(tb, tb.cast(v, t), before, call.result);
}

ShadowRef lower_where(TraceBuilder& tb, const Call& call) {
    DType t;
    Arg condition, sides[2];
    const size_t before = tb.graph.nodes.size();
    if (call.args.size() != 3 || call.kwnames || !result_dtype(call, &t) ||
        !read_operand(tb, call.args[0], &condition) || !condition.array ||
        !read_operand(tb, call.args[1], &sides[0]) || !read_operand(tb, call.args[2], &sides[1]))
        return nullptr;
    Id ids[] = {converted(tb, condition, DType::Bool), converted(tb, sides[0], t),
                converted(tb, sides[1], t)};
    Shape shape;
    if (std::ranges::find(ids, kNone) != std::end(ids) || !tb.broadcast_shape(ids, &shape)) return nullptr;
    for (Id& v : ids)
        if ((v = tb.broadcast(v, shape)) == kNone) return nullptr;
    return finish(tb, tb.pointwise(Op::Where, ids, t), before, call.result);
}

struct Row {
    std::string_view name;
    Lower lower;
};
constexpr Row kRows[] = {
    {"zeros", lower_make<0>},
    {"ones", lower_make<1>},
    {"zeros_like", lower_make_like<0>},
    {"ones_like", lower_make_like<1>},
    {"full", lower_full},
    {"copy", lower_copy},
    {"astype", lower_copy},
    {"where", lower_where},
};

}  // namespace

ShadowRef lower_array(TraceBuilder& tb, std::string_view name, const Call& call) {
    const auto* row = std::ranges::find(kRows, name, &Row::name);
    return row == std::end(kRows) ? nullptr : row->lower(tb, call);
}

}  // namespace stator::frontend::cupy
