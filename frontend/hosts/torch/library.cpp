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

// What a call gives for the parameter of this name: by keyword, or by position to a function in Python;
// nullptr when it is left out.
const Operand* argument(const Call& call, const char* parameter) {
    const Py_ssize_t keywords = call.kwnames ? PyTuple_GET_SIZE(call.kwnames) : 0;
    const size_t positional = call.args.size() - static_cast<size_t>(keywords);
    for (Py_ssize_t i = 0; i < keywords; ++i)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.kwnames, i), parameter) == 0)
            return &call.args[positional + static_cast<size_t>(i)];
    if (!call.callable || !PyFunction_Check(call.callable)) return nullptr;
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(call.callable));
    const PyRef names = PyRef::steal(PyCode_GetVarnames(code));
    if (!names) return PyErr_Clear(), nullptr;
    for (size_t i = 0; i < std::min(positional, static_cast<size_t>(code->co_argcount)); ++i)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names.get(), static_cast<Py_ssize_t>(i)),
                                             parameter) == 0)
            return &call.args[i];
    return nullptr;
}

// Whether the argument is left out, or False, None or 0, and always will be.
bool is_off(TraceBuilder& tb, const Operand* o) {
    if (!o) return true;
    const bool zero = PyFloat_CheckExact(o->obj)  ? PyFloat_AS_DOUBLE(o->obj) == 0
                      : PyLong_CheckExact(o->obj) ? PyObject_Not(o->obj) == 1
                                                  : o->obj == Py_False || o->obj == Py_None;
    return zero && tb.require_constant(o->shadow, o->obj);
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
    // What makes a call write, or draw random numbers.
    for (const char* parameter : {"out", "generator", "requires_grad", "inplace", "max_norm", "dropout_p"})
        if (!dropout && !is_off(tb, argument(call, parameter)))
            return tb.fail(Reason::UnknownCall, parameter), false;
    constexpr size_t kDropoutP = 4;
    if (f && f->name == "scaled_dot_product_attention" && !call.kwnames && call.args.size() > kDropoutP &&
        !is_off(tb, &call.args[kDropoutP]))
        return tb.fail(Reason::UnknownCall, "dropout_p"), false;
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

// Whether a call that returned an argument did nothing else. Builtins write where they end in an underscore;
// of functions in Python it is known of a few.
static bool gives_argument(const Call& call, const Function* f) {
    return !call.callable || !PyFunction_Check(call.callable) ||
           (f && (f->name == "dropout" || f->name.starts_with("atleast_")));
}

ShadowRef lower_library(TraceBuilder& tb, const Call& call, const Function* f) {
    auto refuse = [&](const char* why) { return tb.fail(Reason::UnknownCall, why); };
    if (!tb.expect_torch_modes()) return nullptr;
    if (!can_repeat(tb, call)) return nullptr;
    std::vector<PyObject*> objects;
    for (const Operand& o : call.args) objects.push_back(o.obj);
    for (const Operand& o : call.args)  // contiguous() of a contiguous tensor: its guard settles that
        if (is_tensor(o.obj) && o.obj == call.result)
            return gives_argument(call, f) ? o.shadow : refuse("a function that returns its argument");
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
