// What writes into tensors: in-place methods and operators, and stores to items. Each bumps the version of
// the tensor once, as torch does.
#include "frontend/hosts/torch/lower.h"
#include "frontend/once.h"

namespace stator::frontend::torch {

namespace {

// The version counter is one for a tensor and all views of it.
bool bump_version(TraceBuilder& tb, const Operand& written) {
    if (guards::tensor_kind(written.obj) == guards::TensorKind::Inference) return true;  // it has none
    PyObject* increment = once([] {
        PyRef torch = module_named("torch");
        PyRef module = PyRef::steal(torch ? PyObject_GetAttrString(torch.get(), "_C") : nullptr);
        PyObject* f = module ? PyObject_GetAttrString(module.get(), "_increment_version") : nullptr;
        PyErr_Clear();
        return f;
    });
    if (!increment) return tb.fail(Reason::Unstoreable, "this torch's versions"), false;
    ShadowRef root = written.shadow;
    while (root->base) root = root->base;
    if (!guards::state(guards::tensor_api()->inference_enabled) && tb.has_views_of_leaf(root))
        return tb.fail(Reason::Unstoreable, "views of a tensor that requires grad"), false;
    const Operand arg{tb.tuple({root}), nullptr};
    return tb.host_effect(increment, std::span(&arg, 1));
}

// What a store needs of the tensor that is written.
bool writable(TraceBuilder& tb, const Operand& a) {
    if (!is_tensor(a.obj) || !tb.resolve(a.shadow, a.obj) || a.shadow->kind != ShadowKind::Array)
        return tb.reason == Reason::None ? (tb.fail(Reason::Unstoreable, "no tensor"), false) : false;
    // A 0-d tensor of the trace is a number, which has no version.
    ShadowRef root = a.shadow;
    while (root->base) root = root->base;
    if (tb.shape(root).empty()) return tb.fail(Reason::Unstoreable, "a 0-d tensor"), false;
    for (Sym s : tb.shape(a.shadow))
        if (tb.hint(s) == 0) return tb.fail(Reason::Unstoreable, "a tensor of nothing"), false;
    return true;
}

// The value of the function's pure form, called by torch, as the in-place one would have it.
Id library_value(TraceBuilder& tb, std::string_view name, const Call& call, const Operand& a) {
    PyObject* pure = pure_form(name);
    if (!pure || a.shadow->layout != graph::Layout::Contiguous || !can_repeat(tb, call)) return kNone;
    ShadowRef s = tb.library(pure, call.args, call.kwnames, a.obj);
    return s ? tb.value(s) : kNone;
}

}  // namespace

// What is written for copy_, fill_ and zero_; kNone with other names.
static Id copied(TraceBuilder& tb, std::string_view name, const Call& call, DType to) {
    if (name == "zero" && call.args.size() == 1) return converted(tb, tb.scalar_const(DType::Bool, 0), to);
    if ((name != "fill" && name != "copy") || call.args.size() != 2 || call.kwnames) return kNone;
    if (name == "fill" && !fits_number(tb, call.args[1], to)) return kNone;
    return read_value(tb, call.args[1], to);
}

// Stores to all of a tensor. Through a view that only has another shape, the tensor behind it is written.
static bool store_all(TraceBuilder& tb, const ShadowRef& dst, Id v) {
    if (!tb.node(v).shape.empty()) v = tb.broadcast(v, tb.shape(dst));
    if (v == kNone) return false;
    if (dst->path.empty() || !dst->path.back().reshape) return tb.store(dst, nullptr, v);
    if (tb.node(v).shape.empty()) return store_all(tb, dst->base, v);
    const Id in[] = {v};
    const Id copy = tb.pointwise(Op::Copy, in, tb.node(v).dtype);
    return store_all(tb, dst->base, tb.reshape(copy, tb.shape(dst->base)));
}

ShadowRef lower_in_place(TraceBuilder& tb, std::string_view name, const Call& call) {
    if (call.args.empty() || call.result != call.args[0].obj)
        return tb.fail(Reason::UnknownCall, "an in-place function with a new result");
    const Operand& a = call.args[0];
    if (!writable(tb, a)) return nullptr;
    // torch reads other parts of the same memory while it writes, and only torch does that as torch does.
    for (const Operand& o : call.args.subspan(1))
        if (is_tensor(o.obj) && tb.resolve(o.shadow, o.obj) && o.shadow->kind == ShadowKind::Array &&
            o.shadow->buffer == a.shadow->buffer && o.shadow != a.shadow)
            return tb.fail(Reason::Unstoreable, "another part of the tensor that is written");
    const size_t before = tb.graph.nodes.size();
    Id v = compute(tb, name, call.args, call.kwnames);
    if (v != kNone) v = converted(tb, v, a.shadow->dtype);
    if (v == kNone) v = copied(tb, name, call, a.shadow->dtype);
    if (v == kNone) {
        tb.rollback(before);
        v = library_value(tb, name, call, a);
    }
    if (v == kNone) return tb.fail(Reason::Effect, std::string(name) + "_");
    return store_all(tb, a.shadow, v) && bump_version(tb, a) ? a.shadow : nullptr;
}

static bool stored_number_fits(TraceBuilder& tb, const Operand& value, DType to) {
    return to != DType::F32 || fits_number(tb, value, to);
}

// x[mask] = number, with a mask of x's shape.
static bool store_masked(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& value) {
    auto refuse = [&] { return tb.fail(Reason::Unstoreable, "index tensors"), false; };
    if (!tb.resolve(key.shadow, key.obj) || key.shadow->kind != ShadowKind::Array ||
        key.shadow->dtype != DType::Bool)
        return refuse();
    const Shape shape = tb.shape(a.shadow), mask = tb.shape(key.shadow);
    if (shape.size() != mask.size()) return refuse();
    for (size_t d = 0; d < shape.size(); ++d)
        if (!tb.require(Relation::Eq, shape[d], mask[d])) return refuse();
    if (!stored_number_fits(tb, value, a.shadow->dtype)) return refuse();
    const Id v = read_value(tb, value, a.shadow->dtype);
    if (v == kNone || !tb.node(v).shape.empty()) return refuse();
    const Id in[] = {tb.value(key.shadow), v, tb.value(a.shadow)};
    const Id merged = tb.pointwise(Op::Where, in, a.shadow->dtype);
    return merged != kNone && store_all(tb, a.shadow, merged) && bump_version(tb, a);
}

bool lower_store(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& value) {
    if (!writable(tb, a)) return false;
    if (is_tensor(key.obj)) return store_masked(tb, a, key, value);
    ViewStep step;
    if (!numpy::basic_view(tb, tb.shape(a.shadow), key, &step))
        return tb.fail(Reason::Unstoreable, "at this index"), false;
    for (Sym s : step.shape)
        if (tb.hint(s) == 0) return tb.fail(Reason::Unstoreable, "a part of nothing"), false;
    if (numpy::stores_itself(tb, a, step, value)) return bump_version(tb, a);
    if (value.shadow->kind == ShadowKind::Array && value.shadow->buffer == a.shadow->buffer)
        return tb.fail(Reason::Unstoreable, "a part of itself"), false;
    Id v = stored_number_fits(tb, value, a.shadow->dtype) ? read_value(tb, value, a.shadow->dtype) : kNone;
    if (v == kNone) return tb.fail(Reason::Unstoreable, "a value of this type"), false;
    const Shape shape = tb.node(v).shape;
    if (shape.size() > step.shape.size()) return tb.fail(Reason::Unstoreable, "shapes"), false;
    if (!shape.empty()) v = tb.broadcast(v, step.shape);
    return v != kNone && tb.store(a.shadow, &step, v) && bump_version(tb, a);
}

}  // namespace stator::frontend::torch
