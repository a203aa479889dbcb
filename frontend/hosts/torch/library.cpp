// Calls left to torch on whole operands: pure functions, whose results are read when they return.
#include "frontend/hosts/torch/lower.h"
#include "guards/check/module.h"

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
    // The module whose forward is called.
    if (o.shadow->kind == ShadowKind::Opaque)
        return o.shadow->value != kNone ||
               (o.shadow->source != guards::kNoSource && guards::is_module_class(Py_TYPE(o.obj)));
    return o.shadow->kind != ShadowKind::Lazy && o.shadow->kind != ShadowKind::Iter;
}

bool has_keyword(const Call& call, const char* keyword) {
    for (Py_ssize_t i = 0; call.kwnames && i < PyTuple_GET_SIZE(call.kwnames); ++i)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.kwnames, i), keyword) == 0) return true;
    return false;
}

// Whether the keyword is given as False or None, and always will be.
bool given_off(TraceBuilder& tb, const Call& call, const char* keyword) {
    const Py_ssize_t count = PyTuple_GET_SIZE(call.kwnames);
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.kwnames, i), keyword) != 0) continue;
        const Operand& o = call.args[call.args.size() - static_cast<size_t>(count - i)];
        return (o.obj == Py_False || o.obj == Py_None) && tb.require_constant(o.shadow, o.obj);
    }
    return false;
}

// Whether dropout's arguments say that it does nothing, and always will.
bool drops_nothing(TraceBuilder& tb, const Call& call) {
    const Operand* p[4];
    if (!numpy::bind(tb, call, {"input", "p", "training", "inplace"}, p) || !p[0] || !p[2]) return false;
    for (int i = 1; i < 4; ++i)
        if (p[i] && !tb.require_constant(p[i]->shadow, p[i]->obj)) return false;
    return p[2]->obj == Py_False && (!p[3] || p[3]->obj == Py_False);
}

}  // namespace

bool can_repeat(TraceBuilder& tb, const Call& call) {
    const Function* f = call.callable ? find_function(call.callable) : nullptr;
    const bool dropout = f && f->name == "dropout";
    for (const char* keyword : {"out", "generator", "requires_grad", "inplace"})
        if (!dropout && has_keyword(call, keyword) && !given_off(tb, call, keyword))
            return tb.fail(Reason::UnknownCall, keyword), false;
    if (dropout && !drops_nothing(tb, call))
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

ShadowRef lower_library(TraceBuilder& tb, const Call& call, const Function* f) {
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
        Shape extents;
        const bool known = f && !shared && result_extents(tb, f->name, call, &extents);
        ShadowRef s = tb.library(call.callable, call.args, call.kwnames, result, known ? &extents : nullptr,
                                 shared ? Sharing::Arguments : Sharing::None);
        if (s && f && f->fresh && !shared) tb.graph.node(tb.value(s)).ints[3] = graph::kGivesFresh;
        return s;
    }
    if (PyTuple_Check(result)) {
        bool shared = false;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i) {
            PyObject* item = PyTuple_GET_ITEM(result, i);
            if (item == Py_None) continue;  // settled by the arguments
            if (!is_tensor(item)) return refuse("a function whose result is no tuple of tensors");
            if (guards::state(guards::tensor_api()->grad_enabled) && guards::requires_grad(item))
                return tb.fail(Reason::RequiresGrad);
            shared |= !lies_apart(item, objects.data(), objects.size());
        }
        return tb.tuple_library(call.callable, call.args, call.kwnames, result,
                                shared ? Sharing::Arguments : Sharing::None);
    }
    return tb.number_library(call.callable, call.args, call.kwnames, result);
}

}  // namespace stator::frontend::torch
