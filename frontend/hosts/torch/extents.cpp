// The extents of results that follow from those of the operands. A result whose extents are known binds no
// symbols, so that nothing has to be compared or computed again in the middle of a trace.
#include <algorithm>

#include "frontend/hosts/torch/lower.h"

namespace stator::frontend::torch {

namespace {

// Functions whose result has the shape of their first operand.
constexpr std::string_view kLikeFirst[] = {
    "celu",       "cos",        "cumsum",   "elu",   "erf",     "exp",        "expm1",    "gelu",
    "group_norm", "hardswish",  "log",      "log1p", "sigmoid", "leaky_relu", "rms_norm", "log_softmax",
    "layer_norm", "logsigmoid", "mish",     "relu",  "relu6",   "rsqrt",      "selu",     "silu",
    "sin",        "softmax",    "softplus", "sqrt",  "square",  "tanh",       "tril",     "triu",
    "clamp",      "contiguous", "abs",      "neg",   "floor",   "ceil",       "round",    "trunc",
};
constexpr std::string_view kReductions[] = {"sum", "mean", "var", "std", "amax", "amin", "prod"};

bool holds(std::span<const std::string_view> names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

const Shape* shape_of(TraceBuilder& tb, const Operand* o) {
    const bool tensor = o && is_tensor(o->obj) && o->shadow->kind == ShadowKind::Array;
    return tensor ? &tb.shape(o->shadow) : nullptr;
}

bool linear(TraceBuilder& tb, std::span<const Operand> args, Shape* out) {
    const Shape* weight = args.size() > 1 ? shape_of(tb, &args[1]) : nullptr;
    if (!weight || weight->size() != 2) return false;
    const Sym features = (*weight)[0];
    *out = *shape_of(tb, &args[0]);
    if (out->empty()) return false;
    out->back() = features;
    return true;
}

bool matmul(TraceBuilder& tb, std::span<const Operand> args, Shape* out) {
    if (args.size() != 2 || !shape_of(tb, &args[1])) return false;
    const Shape a = *shape_of(tb, &args[0]), b = *shape_of(tb, &args[1]);
    if (a.size() < 2 || b.size() < 2) return false;
    const bool alike = a.size() == b.size() && std::equal(a.begin(), a.end() - 2, b.begin());
    if (b.size() != 2 && !alike) return false;
    *out = a;
    out->back() = b.back();
    return true;
}

bool attention(TraceBuilder& tb, std::span<const Operand> args, Shape* out) {
    if (args.size() < 3 || !shape_of(tb, &args[2])) return false;
    const Shape q = *shape_of(tb, &args[0]), v = *shape_of(tb, &args[2]);
    if (q.size() != v.size() || q.size() < 3 || !std::equal(q.begin(), q.end() - 2, v.begin())) return false;
    *out = q;
    out->back() = v.back();
    return true;
}

// Over the axes that the argument `dim` names, an int or a tuple.
bool reduction(TraceBuilder& tb, const Call& call, Shape* out) {
    const Operand* dim = call.args.size() > 1 ? &call.args[1] : nullptr;
    bool keep = false;
    const Py_ssize_t keywords = call.kwnames ? PyTuple_GET_SIZE(call.kwnames) : 0;
    const size_t positional = call.args.size() - static_cast<size_t>(keywords);
    if (positional < 2) dim = nullptr;
    if (positional > 2) return false;
    for (Py_ssize_t i = 0; i < keywords; ++i) {
        const Operand& value = call.args[positional + static_cast<size_t>(i)];
        PyObject* key = PyTuple_GET_ITEM(call.kwnames, i);
        if (PyUnicode_CompareWithASCIIString(key, "dim") == 0) dim = &value;
        if (PyUnicode_CompareWithASCIIString(key, "keepdim") != 0) continue;
        if (!tb.require_constant(value.shadow, value.obj)) return false;
        keep = value.obj == Py_True;
    }
    if (!dim) return false;
    const Shape shape = *shape_of(tb, &call.args[0]);
    std::vector<Operand> items = {*dim};
    if (PyTuple_CheckExact(dim->obj) && !numpy::read_items(tb, *dim, &items)) return false;
    std::vector<bool> reduced(shape.size(), false);
    for (const Operand& item : items) {
        int64_t axis;
        int at;
        if (!PyLong_CheckExact(item.obj) || !numpy::read_fixed_int(tb, item, &axis) ||
            !numpy::normalize_axis(axis, static_cast<int>(shape.size()), &at))
            return false;
        reduced[static_cast<size_t>(at)] = true;
    }
    out->clear();
    for (size_t d = 0; d < shape.size(); ++d)
        if (!reduced[d])
            out->push_back(shape[d]);
        else if (keep)
            out->push_back(tb.int_const(1));
    return !items.empty();
}

bool derive(TraceBuilder& tb, std::string_view name, const Call& call, Shape* out) {
    const auto& args = call.args;
    if (args.empty() || !shape_of(tb, &args[0])) return false;
    if (holds(kReductions, name)) return reduction(tb, call, out);
    if (holds(kLikeFirst, name)) return *out = *shape_of(tb, &args[0]), true;
    if (name == "linear") return linear(tb, args, out);
    if (name == "matmul" || name == "mm" || name == "bmm") return matmul(tb, args, out);
    if (name == "scaled_dot_product_attention") return attention(tb, args, out);
    return false;
}

}  // namespace

bool result_extents(TraceBuilder& tb, std::string_view name, const Call& call, Shape* out) {
    guards::TensorView t;
    if (!derive(tb, name, call, out) || !guards::read_tensor(call.result, &t)) return false;
    if (out->empty() || out->size() != static_cast<size_t>(t.rank)) return false;
    for (int d = 0; d < t.rank; ++d)
        if (tb.hint((*out)[static_cast<size_t>(d)]) != t.shape[d]) return false;
    return true;
}

}  // namespace stator::frontend::torch
