// What a tensor says about itself: attributes, and methods that only look at metadata. Results that guards do
// not settle are left to Python.
#include <algorithm>

#include "frontend/hosts/torch/lower.h"
#include "frontend/once.h"
#include "guards/check/names.h"

namespace stator::frontend::torch {

namespace {

PyObject* size_type() {
    return once([] {
        PyRef torch = module_named("torch");
        PyObject* type = torch ? PyObject_GetAttrString(torch.get(), "Size") : nullptr;
        PyErr_Clear();
        return type;
    });
}

// torch.Tensor.NAME.__get__: makes the view that the attribute is.
PyObject* getter(const char* name) {
    PyObject* type = reinterpret_cast<PyObject*>(guards::tensor_api()->tensor);
    PyRef descriptor = PyRef::steal(PyObject_GetAttrString(type, name));
    PyRef get = PyRef::steal(descriptor ? PyObject_GetAttrString(descriptor.get(), "__get__") : nullptr);
    PyErr_Clear();
    return get.release();
}

ShadowRef transposed(TraceBuilder& tb, const Operand& a, const char* name, PyObject* result) {
    static auto* getters = new std::vector<std::pair<std::string, PyObject*>>;
    auto it = std::ranges::find(*getters, name, &std::pair<std::string, PyObject*>::first);
    if (it == getters->end()) it = getters->insert(it, {name, getter(name)});
    const Shape shape = tb.shape(a.shadow);
    if (!it->second || shape.size() < 2) return tb.fail(Reason::UnknownAttr, name);
    std::vector<int> axes(shape.size());
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(i);
    std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
    ViewStep step = numpy::permuted(tb, shape, axes);
    return tb.new_tensor_view(a.shadow, std::move(step), result, it->second, std::span(&a, 1), nullptr);
}

std::vector<ShadowRef> extents(TraceBuilder& tb, const Operand& a) {
    std::vector<ShadowRef> items;
    for (Sym s : tb.shape(a.shadow)) items.push_back(tb.new_int(s));
    return items;
}

constexpr std::string_view kQueries[] = {"size",       "dim",           "ndimension",        "numel",
                                         "nelement",   "is_contiguous", "is_floating_point", "element_size",
                                         "is_complex", "len",           "get_device"};

}  // namespace

ShadowRef size_shadow(TraceBuilder& tb, std::vector<ShadowRef> items) {
    ShadowRef s = tb.tuple(items);
    s->maker = {tb.constant(size_type()), tb.tuple({}), tb.tuple(std::move(items))};
    return s;
}

ShadowRef lower_attr(TraceBuilder& tb, const Operand& a, PyObject* name, PyObject* result) {
    const std::string key = guards::utf8(name);
    if (!tb.resolve(a.shadow, a.obj)) return nullptr;
    if (a.shadow->kind != ShadowKind::Array) return tb.fail(Reason::UnknownAttr, std::string(key));
    if (key == "shape") return size_shadow(tb, extents(tb, a));
    if (key == "T" && tb.shape(a.shadow).size() == 2) return transposed(tb, a, "T", result);
    if (key == "mT") return transposed(tb, a, "mT", result);
    for (std::string_view settled : {"dtype", "ndim", "device", "layout", "is_cuda", "is_sparse", "itemsize",
                                     "is_quantized", "is_meta", "is_nested"})
        if (key == settled) return tb.constant(result);
    const bool grad = guards::state(guards::tensor_api()->grad_enabled);
    if (key == "requires_grad" && grad) return tb.constant(result);
    return tb.fail(Reason::UnknownAttr, std::string(key));
}

bool is_query(std::string_view name) { return std::ranges::find(kQueries, name) != std::end(kQueries); }

ShadowRef lower_query(TraceBuilder& tb, std::string_view name, const Call& call) {
    const auto& args = call.args;
    if (args.empty() || call.kwnames || !tb.resolve(args[0].shadow, args[0].obj) ||
        args[0].shadow->kind != ShadowKind::Array)
        return tb.fail(Reason::UnknownCall, std::string(name));
    const Shape shape = tb.shape(args[0].shadow);
    const int rank = static_cast<int>(shape.size());
    if (name == "size" && args.size() == 2) {
        int64_t axis;
        int at;
        if (numpy::read_fixed_int(tb, args[1], &axis) && numpy::normalize_axis(axis, rank, &at))
            return tb.new_int(shape[static_cast<size_t>(at)]);
        return tb.fail(Reason::UnknownCall, "size");
    }
    if (args.size() != 1) return tb.fail(Reason::UnknownCall, std::string(name));
    if (name == "size") return size_shadow(tb, extents(tb, args[0]));
    if (name == "numel" || name == "nelement") return tb.new_int(tb.syms().product(shape));
    if (name == "len") return rank ? tb.new_int(shape[0]) : tb.fail(Reason::UnknownCall, "len");
    if (name == "is_contiguous" && args[0].shadow->layout != graph::Layout::Contiguous)
        return tb.fail(Reason::UnknownCall, "is_contiguous");
    return tb.constant(call.result);
}

}  // namespace stator::frontend::torch
