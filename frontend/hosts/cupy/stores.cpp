// What writes into arrays: in-place operators, out=, and stores to items.
#include "frontend/hosts/cupy/lower.h"

namespace stator::frontend::cupy {

namespace {

bool writable(TraceBuilder& tb, const Operand& a) {
    if (!is_cupy_array(a.obj) || !tb.resolve(a.shadow, a.obj) || a.shadow->kind != ShadowKind::Array)
        return tb.reason == Reason::None ? (tb.fail(Reason::Unstoreable, "no array"), false) : false;
    // A 0-d array is given to kernels by its address: one that reads it must not run beside one that writes.
    ShadowRef root = a.shadow;
    while (root->base) root = root->base;
    if (tb.shape(root).empty()) return tb.fail(Reason::Unstoreable, "a 0-d array of a GPU"), false;
    for (Sym s : tb.shape(a.shadow))
        if (tb.hint(s) == 0) return tb.fail(Reason::Unstoreable, "an array of nothing"), false;
    return true;
}

// The value as the array's kernels convert it.
Id stored_value(TraceBuilder& tb, const Operand& value, DType to) {
    Arg v;
    if (!read_operand(tb, value, &v)) return kNone;
    const bool number = v.weak != numpy::Weak::No;
    if (number && to == DType::Bool) return kNone;
    return converted(tb, v, to);
}

bool store_all(TraceBuilder& tb, const ShadowRef& dst, Id v) {
    if (!tb.node(v).shape.empty()) v = tb.broadcast(v, tb.shape(dst));
    return v != kNone && tb.store(dst, nullptr, v);
}

// x[mask] = number, with a mask of x's shape.
bool store_masked(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& value) {
    auto refuse = [&] { return tb.fail(Reason::Unstoreable, "through an index array"), false; };
    if (!tb.resolve(key.shadow, key.obj) || key.shadow->kind != ShadowKind::Array ||
        key.shadow->dtype != DType::Bool)
        return refuse();
    const Shape shape = tb.shape(a.shadow), mask = tb.shape(key.shadow);
    if (shape.size() != mask.size()) return refuse();
    for (size_t d = 0; d < shape.size(); ++d)
        if (!tb.require(Relation::Eq, shape[d], mask[d])) return refuse();
    const Id v = stored_value(tb, value, a.shadow->dtype);
    if (v == kNone || !tb.node(v).shape.empty()) return refuse();
    const Id in[] = {tb.value(key.shadow), v, tb.value(a.shadow)};
    const Id merged = tb.pointwise(Op::Where, in, a.shadow->dtype);
    return merged != kNone && store_all(tb, a.shadow, merged);
}

}  // namespace

ShadowRef lower_into(TraceBuilder& tb, std::string_view name, std::span<const Operand> in,
                     const Operand& out) {
    if (!writable(tb, out)) return nullptr;
    const Id v = compute(tb, name, in);
    if (v == kNone || !converts(tb.node(v).dtype, out.shadow->dtype))
        return tb.fail(Reason::Unstoreable, std::string(name) + " into an array");
    return store_all(tb, out.shadow, tb.cast(v, out.shadow->dtype)) ? out.shadow : nullptr;
}

ShadowRef lower_in_place(TraceBuilder& tb, std::string_view name, const Operand& a, const Operand& b) {
    const Operand both[] = {a, b};
    return lower_into(tb, name, both, a);
}

bool lower_store(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& value) {
    if (!writable(tb, a)) return false;
    if (is_cupy_array(key.obj)) return store_masked(tb, a, key, value);
    ViewStep step;
    if (!numpy::basic_view(tb, tb.shape(a.shadow), key, &step))
        return tb.fail(Reason::Unstoreable, "at this index"), false;
    for (Sym s : step.shape)
        if (tb.hint(s) == 0) return tb.fail(Reason::Unstoreable, "a part of nothing"), false;
    if (numpy::stores_itself(tb, a, step, value)) return true;
    Id v = stored_value(tb, value, a.shadow->dtype);
    if (v == kNone) return tb.fail(Reason::Unstoreable, "a value of this type"), false;
    const Shape shape = tb.node(v).shape;
    if (shape.size() > step.shape.size()) return tb.fail(Reason::Unstoreable, "shapes"), false;
    if (!shape.empty()) v = tb.broadcast(v, step.shape);
    return v != kNone && tb.store(a.shadow, &step, v);
}

}  // namespace stator::frontend::cupy
