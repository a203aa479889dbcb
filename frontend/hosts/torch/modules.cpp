// Modules of torch whose forward is one call for a replay: it decides in Python, by generators and by
// questions about devices, which of torch's fused functions it ends in. In evaluation mode it reads its
// arguments and attributes and nothing else.
#include "frontend/hosts/torch/lower.h"
#include "frontend/once.h"
#include "guards/check/module.h"

namespace stator::frontend::torch {

namespace {

PyObject* name_of(const char* text) { return PyUnicode_InternFromString(text); }  // immortal: few names

// The module's class is the one that has this forward, and its attribute is and stays `value`.
bool require_attribute(TraceBuilder& tb, const Operand& module, const char* name, PyObject* value) {
    PyObject* key = name_of(name);
    if (guards::module_own(module.obj, key) != value) return false;
    tb.guards.expect_type_attrs(module.shadow->source, Py_TYPE(module.obj), key);
    tb.guards.expect_is(tb.guards.attr(module.shadow->source, key), value);
    return true;
}

// A part of the module of an exact class of torch.nn, whose attributes no code of the program computes.
bool require_part(TraceBuilder& tb, const Operand& module, const char* name, PyTypeObject* type) {
    PyObject* key = name_of(name);
    PyObject* part = guards::module_registered(module.obj, key);
    if (!part || Py_TYPE(part) != type || !guards::is_module_class(type)) return false;
    tb.guards.expect_type_attrs(module.shadow->source, Py_TYPE(module.obj), key);
    tb.guards.expect_type_attrs(tb.guards.attr(module.shadow->source, key), type, name_of("weight"));
    return true;
}

PyTypeObject* projection_class() {
    return once([] {
        PyRef module = module_named("torch.nn.modules.linear");
        PyObject* type =
            module ? PyObject_GetAttrString(module.get(), "NonDynamicallyQuantizableLinear") : nullptr;
        PyErr_Clear();
        return reinterpret_cast<PyTypeObject*>(type);
    });
}

}  // namespace

ShadowRef lower_attention_module(TraceBuilder& tb, const Call& call) {
    const auto refuse = [&](const char* why) { return tb.fail(Reason::UnknownCall, why); };
    if (call.args.empty() || !PyTuple_CheckExact(call.result)) return refuse("MultiheadAttention");
    const Operand& self = call.args[0];
    if (self.shadow->kind != ShadowKind::Opaque || self.shadow->source == guards::kNoSource ||
        _PyType_Lookup(Py_TYPE(self.obj), name_of("forward")) != call.callable)
        return refuse("MultiheadAttention");
    if (!require_attribute(tb, self, "training", Py_False))
        return refuse("MultiheadAttention that trains, and may draw random numbers");
    tb.guards.expect_type_attrs(self.shadow->source, Py_TYPE(self.obj), name_of("forward"));
    tb.guards.expect_type_attrs(self.shadow->source, Py_TYPE(self.obj), name_of("merge_masks"));
    if (!require_part(tb, self, "out_proj", projection_class())) return refuse("MultiheadAttention");
    return lower_library(tb, call);
}

}  // namespace stator::frontend::torch
