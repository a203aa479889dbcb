// What an array says about itself. What guards do not settle is left to Python.
#include <algorithm>

#include "frontend/hosts/cupy/lower.h"
#include "guards/check/names.h"

namespace stator::frontend::cupy {

ShadowRef lower_attr(TraceBuilder& tb, const Operand& a, PyObject* name, PyObject* result) {
    const std::string key = guards::utf8(name);
    if (!tb.resolve(a.shadow, a.obj)) return nullptr;
    if (a.shadow->kind != ShadowKind::Array) return tb.fail(Reason::UnknownAttr, std::string(key));
    const Shape shape = tb.shape(a.shadow);
    if (key == "shape") {
        std::vector<ShadowRef> items;
        for (Sym s : shape) items.push_back(tb.new_int(s));
        return tb.tuple(std::move(items));
    }
    if (key == "size") return tb.new_int(tb.syms().product(shape));
    if (key == "T") {
        PyObject* transpose = function_named("transpose");
        if (shape.size() < 2) return a.obj == result ? a.shadow : nullptr;
        if (!transpose) return tb.fail(Reason::UnknownAttr, "T");
        ShadowRef s = lower_view(tb, "transpose", {transpose, std::span(&a, 1), nullptr, result});
        return s ? s : tb.fail(Reason::UnknownAttr, "T");
    }
    for (std::string_view settled : {"dtype", "ndim", "itemsize"})
        if (key == settled) return tb.constant(result);
    return tb.fail(Reason::UnknownAttr, std::string(key));
}

// len(x), and numbers that Python asks for: there it waits for the device.
ShadowRef lower_query(TraceBuilder& tb, std::string_view name, const Call& call) {
    if (call.args.size() != 1 || call.kwnames || !is_cupy_array(call.args[0].obj)) return nullptr;
    const Operand& a = call.args[0];
    if (!tb.resolve(a.shadow, a.obj) || a.shadow->kind != ShadowKind::Array) return nullptr;
    if (name == "len") {
        const Shape shape = tb.shape(a.shadow);
        return shape.empty() ? nullptr : tb.new_int(shape[0]);
    }
    if (name == "bool") return numpy::lower_truth(tb, a);
    if ((name == "float" || name == "item") && PyFloat_CheckExact(call.result))
        return tb.number_library(call.callable, call.args, call.kwnames, call.result);
    return nullptr;
}

}  // namespace stator::frontend::cupy
