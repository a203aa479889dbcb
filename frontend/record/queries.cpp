// What programs ask about objects: type(x), hasattr(x, name), getattr(x, name), `a is b`.
#include <array>

#include "frontend/cpython/builtins.h"
#include "frontend/record/recorder.h"
#include "guards/check/functions.h"
#include "guards/check/names.h"

namespace stator::frontend {

namespace {

PyObject* hasattr_function() {
    static PyObject* const function = builtin("hasattr");
    return function;
}
PyObject* getattr_function() {
    static PyObject* const function = builtin("getattr");
    return function;
}

// Made by this trace, and nothing else is the same object: numbers that are equal may be.
bool made_here(const Shadow& s) {
    if (s.source != guards::kNoSource || s.obj) return s.kind == ShadowKind::Instance;
    return s.kind == ShadowKind::Array || s.kind == ShadowKind::List || s.kind == ShadowKind::Dict ||
           s.kind == ShadowKind::Function;
}

// Its attributes are those of its type, which nobody changes.
bool is_of_fixed_type(const Operand& o) {
    const PyTypeObject* type = Py_TYPE(o.obj);
    return type->tp_dictoffset == 0 && !PyType_HasFeature(Py_TYPE(o.obj), Py_TPFLAGS_MANAGED_DICT) &&
           !PyType_HasFeature(Py_TYPE(o.obj), Py_TPFLAGS_HEAPTYPE) && !PyType_Check(o.obj) &&
           type->tp_getattro == PyObject_GenericGetAttr;
}

}  // namespace

bool Recorder::asks(PyObject* callable) const {
    return callable == hasattr_function() || callable == getattr_function();
}

// The class of a shadow that is known by its exact type.
ShadowRef Recorder::type_of(const Operand& o) {
    PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(o.obj));
    if (o.shadow->source == guards::kNoSource) return b_.constant(type);
    ShadowRef s = b_.lazy(b_.guards.type_of(o.shadow->source), type);
    return b_.resolve(s, type) ? s : nullptr;
}

// hasattr(x, "name"), getattr(x, "name"), getattr(x, "name", default): found in the same ways as `x.name`, or
// not there for all objects of that type.
ShadowRef Recorder::attribute_asked(const CallParts& call, PyObject* result) {
    const bool only_asks = call.callable.obj == hasattr_function();
    const auto& args = call.args;
    if (args.size() < 2 || args.size() > (only_asks ? 2 : 3)) return nullptr;
    const Operand& base = args[0];
    PyObject* name = args[1].obj;
    if (!PyUnicode_CheckExact(name) || !b_.require_constant(args[1].shadow, name)) return nullptr;
    const bool fixed = is_of_fixed_type(base);
    if (fixed && only_asks) {
        // What some kinds of them compute need not be there for all of a type.
        PyObject* found = _PyType_Lookup(Py_TYPE(base.obj), name);
        const bool method = found && PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_METHOD_DESCRIPTOR);
        return !found || method || is_ndarray(base) ? b_.constant(result) : nullptr;
    }
    if (fixed) {
        if (!_PyType_Lookup(Py_TYPE(base.obj), name)) return args.size() == 3 ? args[2].shadow : nullptr;
        const Host& host = host_of(base);
        const bool number = is_ndarray(base) || base.shadow->kind == ShadowKind::Scalar ||
                            base.shadow->kind == ShadowKind::Int;
        if (!number || PyCallable_Check(result)) return nullptr;
        const HostScope scope(b_, host);
        return host.lower_attr(b_, base, name, result);
    }
    const bool object = base.shadow->kind == ShadowKind::Opaque ||
                        base.shadow->kind == ShadowKind::Instance ||
                        (base.shadow->kind == ShadowKind::Object && base.shadow->source != guards::kNoSource);
    if (!object || is_ndarray(base)) return nullptr;
    if (args.size() == 3 && result == args[2].obj) return nullptr;  // it may be that it is not there
    PyObject* found = result;
    if (only_asks) guards::GuardProgram::classify_attr(base.obj, name, &found);
    ShadowRef out;
    if (!found || !instance_attr(base, name, found, &out, nullptr)) return nullptr;
    if (!only_asks) return out;
    if (out->source != guards::kNoSource) b_.guards.expect_present(out->source);
    return b_.constant(result);
}

// nullptr where it is none of these questions, or of objects that are not known well enough.
ShadowRef Recorder::answer(const CallParts& call, PyObject* result) {
    PyObject* callable = call.callable.obj;
    const bool type = callable == reinterpret_cast<PyObject*>(&PyType_Type) && call.args.size() == 1;
    if ((!type && !asks(callable)) || call.kwnames) return nullptr;
    for (const Operand& a : call.args)
        if (!b_.resolve(a.shadow, a.obj)) return nullptr;
    return type ? type_of(call.args[0]) : attribute_asked(call, result);
}

// Whether its guard holds for other objects, too: functions with the same code, and equal strings and slices.
bool Recorder::stands_for_equals(const Operand& o) {
    return o.shadow->source != guards::kNoSource &&
           (guards::is_function(o.obj) || PyUnicode_CheckExact(o.obj) || PyBytes_CheckExact(o.obj) ||
            PySlice_Check(o.obj));
}

// `a is b` of the operands at hand, both resolved; nullptr where a replay could find it otherwise.
ShadowRef Recorder::identity(PyObject* result) {
    const Operand &a = ops_[0], &b = ops_[1];
    const Shadow &x = *a.shadow, &y = *b.shadow;
    const bool same = a.obj == b.obj;
    const bool none = (a.obj == Py_None) != (b.obj == Py_None);
    const bool objects = x.kind == ShadowKind::Object && y.kind == ShadowKind::Object;
    if (&x == &y || none || (objects && !stands_for_equals(a) && !stands_for_equals(b)))
        return b_.constant(result);
    const auto source = [&](const Operand& o) {
        return o.shadow->source != guards::kNoSource ? o.shadow->source
                                                     : b_.guards.object(o.obj, Py_TYPE(o.obj)->tp_name);
    };
    if (objects || (x.source != guards::kNoSource && y.source != guards::kNoSource)) {
        if (same)
            b_.guards.expect_same(source(a), source(b));
        else
            b_.guards.expect_not_same(source(a), source(b));
        return b_.constant(result);
    }
    return !same && (made_here(x) || made_here(y)) ? b_.constant(result) : nullptr;
}

// A class method of a class, which is found on the class and given it.
bool Recorder::class_method(const Operand& base, PyObject* name, ShadowRef* out) {
    if (!PyType_Check(base.obj) || base.shadow->kind != ShadowKind::Object) return false;
    auto* type = reinterpret_cast<PyTypeObject*>(base.obj);
    PyObject* found = _PyType_Lookup(type, name);
    if (!found || !Py_IS_TYPE(found, &PyClassMethod_Type) || _PyType_Lookup(Py_TYPE(base.obj), name))
        return false;
    const PyRef function = PyRef::steal(PyObject_GetAttrString(found, "__func__"));
    if (!function) return PyErr_Clear(), false;
    const TraceBuilder::Example* example =
        guards::is_function(function.get()) ? b_.example_of(type) : nullptr;
    if (!example) return false;
    b_.guards.expect_type_attrs(example->source, type, name);
    if (Py_TYPE(base.obj) != &PyType_Type)
        b_.guards.expect_type_attrs(b_.guards.object(base.obj, type->tp_name), Py_TYPE(base.obj), name);
    b_.guards.expect_function(b_.guards.object(function.get(), guards::utf8(name)), function.get());
    auto method = std::make_shared<Shadow>();
    method->kind = ShadowKind::Method;
    method->items = {b_.constant(function.get()), base.shadow};
    *out = std::move(method);
    return true;
}

}  // namespace stator::frontend
