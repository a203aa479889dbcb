// Calls left to torch on whole operands: pure functions, whose results are read when they return.
#include "frontend/hosts/torch/lower.h"

namespace stator::frontend::torch {

namespace {

// Whether a later call may be given the argument again.
bool rebuildable(TraceBuilder& tb, const Operand& o) {
    if (!o.obj || !tb.resolve(o.shadow, o.obj)) return false;
    if (PyTuple_CheckExact(o.obj) || PyList_CheckExact(o.obj)) {
        if (o.shadow->kind == ShadowKind::Opaque) return false;
        std::vector<Operand> items;
        if (!numpy::read_items(tb, o, &items)) return false;
        for (const Operand& item : items)
            if (!rebuildable(tb, item)) return false;
        return true;
    }
    if (o.shadow->kind == ShadowKind::Opaque) return o.shadow->value != kNone;
    return o.shadow->kind != ShadowKind::Lazy && o.shadow->kind != ShadowKind::Iter;
}

bool has_keyword(const Call& call, const char* keyword) {
    for (Py_ssize_t i = 0; call.kwnames && i < PyTuple_GET_SIZE(call.kwnames); ++i)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.kwnames, i), keyword) == 0) return true;
    return false;
}

// Whether the keyword is given as False, and always will be.
bool off(TraceBuilder& tb, const Call& call, const char* keyword) {
    const Py_ssize_t count = call.kwnames ? PyTuple_GET_SIZE(call.kwnames) : 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.kwnames, i), keyword) != 0) continue;
        const Operand& o = call.args[call.args.size() - static_cast<size_t>(count - i)];
        return o.obj == Py_False && tb.require_constant(o.shadow, o.obj);
    }
    return false;
}

}  // namespace

bool can_repeat(TraceBuilder& tb, const Call& call) {
    for (const char* keyword : {"out", "generator", "requires_grad", "inplace"})
        if (has_keyword(call, keyword)) return tb.fail(Reason::UnknownCall, keyword), false;
    const Function* f = call.callable ? find_function(call.callable) : nullptr;
    if (f && f->name == "dropout" && !off(tb, call, "training"))
        return tb.fail(Reason::UnknownCall, "dropout, which draws random numbers"), false;
    const bool needs_dim = f && (f->name == "softmax" || f->name == "log_softmax" || f->name == "softmin" ||
                                 f->name == "cross" || f->name == "meshgrid");
    if (needs_dim && !call.kwnames && call.args.size() < 2)
        return tb.fail(Reason::UnknownCall, "a call that warns about an argument left out"), false;
    for (const Operand& o : call.args)
        if (!rebuildable(tb, o)) {
            if (tb.reason == Reason::None) tb.fail(Reason::UnknownCall, "a function with such an argument");
            return false;
        }
    return true;
}

ShadowRef lower_library(TraceBuilder& tb, const Call& call) {
    auto refuse = [&](const char* why) { return tb.fail(Reason::UnknownCall, why); };
    if (!can_repeat(tb, call)) return nullptr;
    std::vector<PyObject*> objects;
    for (const Operand& o : call.args) objects.push_back(o.obj);
    for (const Operand& o : call.args)  // contiguous() of a contiguous tensor: its guard settles that
        if (is_tensor(o.obj) && o.obj == call.result) return o.shadow;
    PyObject* result = call.result;
    if (is_tensor(result)) {
        if (guards::state(guards::tensor_api()->grad_enabled) && guards::requires_grad(result))
            return tb.fail(Reason::RequiresGrad);
        const bool shared = !lies_apart(result, objects.data(), objects.size());
        ShadowRef s = tb.library(call.callable, call.args, call.kwnames, result, nullptr, shared);
        const Function* f = find_function(call.callable);
        if (s && f && f->fresh && !shared) tb.graph.node(tb.value(s)).ints[3] = graph::kGivesFresh;
        return s;
    }
    if (PyTuple_Check(result)) {
        bool shared = false;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i) {
            PyObject* item = PyTuple_GET_ITEM(result, i);
            if (!is_tensor(item)) return refuse("a function whose result is no tuple of tensors");
            if (guards::state(guards::tensor_api()->grad_enabled) && guards::requires_grad(item))
                return tb.fail(Reason::RequiresGrad);
            shared |= !lies_apart(item, objects.data(), objects.size());
        }
        return tb.tuple_library(call.callable, call.args, call.kwnames, result, shared);
    }
    return tb.number_library(call.callable, call.args, call.kwnames, result);
}

}  // namespace stator::frontend::torch
