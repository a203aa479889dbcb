// Objects of classes in Python: calls of classes, properties and operators of theirs are calls of functions,
// and are followed into these.
//
// What a class makes in the trace is known by its attributes (ShadowKind::Instance) or, of a named tuple, by
// its items. A call of a class gives the object and not what its __init__ returns: while that runs, the
// object and a mark lie on the caller's stack, so that Python can go on from the middle of it.

#include <algorithm>

#include "frontend/cpython/operators.h"
#include "frontend/cpython/resume_frame.h"
#include "frontend/record/named_tuples.h"
#include "frontend/record/recorder.h"
#include "guards/check/functions.h"
#include "guards/check/names.h"

namespace stator::frontend {

namespace {

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

PyObject* own_attribute(PyTypeObject* type, const char* name) {
    const PyRef text = PyRef::steal(interned(name));
    return text ? _PyType_Lookup(type, text.get()) : nullptr;
}

// An operator's method that may answer NotImplemented is not the last that is asked.
bool may_decline(PyObject* function) {
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
    const PyRef name = PyRef::steal(interned("NotImplemented"));
    return !name || PySequence_Contains(code->co_names, name.get()) != 0;
}

}  // namespace

bool may_hold(const Shadow& s, const Shadow& holder) {
    switch (s.kind) {
        case ShadowKind::Cell:
        case ShadowKind::Function:
        case ShadowKind::Iter:
        case ShadowKind::Null: return true;
        default: break;
    }
    return &s == &holder ||
           std::ranges::any_of(s.items, [&](const ShadowRef& item) { return may_hold(*item, holder); });
}

// Where guards find an object whose class is that of `o`: at entry, or one that the trace keeps for that.
guards::SourceId Recorder::class_source(const Operand& o) {
    const Shadow& s = *o.shadow;
    if (s.source != guards::kNoSource) return s.source;
    if (s.kind == ShadowKind::Instance) return s.example;
    if (s.kind == ShadowKind::Object && o.obj && PyType_Check(o.obj))
        return b_.guards.object(o.obj, reinterpret_cast<PyTypeObject*>(o.obj)->tp_name);
    if (s.kind != ShadowKind::Tuple || s.maker.empty() || !o.obj || !fields_of(Py_TYPE(o.obj)))
        return guards::kNoSource;
    const TraceBuilder::Example* example = b_.example_of(Py_TYPE(o.obj));
    return example ? example->source : guards::kNoSource;
}

// A call of a class that runs one function: __init__, or the __new__ of a named tuple.
bool Recorder::construction(const Operand& callable, Followed* out) {
    auto* type = reinterpret_cast<PyTypeObject*>(callable.obj);
    if (callable.shadow->kind != ShadowKind::Object || host_that_knows(callable.obj)) return false;
    const bool named = static_cast<bool>(fields_of(type));
    PyObject* function = own_attribute(type, named ? "__new__" : "__init__");
    PyRef held;
    if (named && function && Py_IS_TYPE(function, &PyStaticMethod_Type)) {
        held = PyRef::steal(PyObject_GetAttrString(callable.obj, "__new__"));
        if (!held) return PyErr_Clear(), false;
        function = held.get();
    }
    if (!function || !guards::is_function(function) || (named && !makes_from_fields(function))) return false;
    if (named ? type->tp_init != PyBaseObject_Type.tp_init : type->tp_new != PyBaseObject_Type.tp_new)
        return false;
    const TraceBuilder::Example* example = b_.example_of(type);
    if (!example) return false;
    b_.guards.expect_function(b_.guards.object(function, named ? "__new__" : "__init__"), function);
    *out = {function, b_.constant(function), nullptr, nullptr, {}};
    out->first = named ? callable.shadow : b_.new_instance(*example);
    if (!named) {
        out->object = out->first;
        out->kept = {out->first, b_.constant(under_construction())};
    }
    return true;
}

// What other calls make an object of the trace, or store to one: a class without __init__, `tuple.__new__`,
// `_replace`, `object.__setattr__`. nullptr for anything else.
ShadowRef Recorder::made_object(const CallParts& call, PyObject* result) {
    static PyObject* const new_tuple =
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyTuple_Type), "__new__");
    static PyObject* const set_attribute =
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__setattr__");
    PyObject* callable = call.callable.obj;
    const auto& args = call.args;
    for (const Operand& a : args)
        if (!b_.resolve(a.shadow, a.obj)) return nullptr;
    if (replaces_fields(callable)) return replaced_fields(call, result);
    if (call.kwnames && PyTuple_GET_SIZE(call.kwnames.get())) return nullptr;
    if (PyType_Check(callable)) {
        auto* type = reinterpret_cast<PyTypeObject*>(callable);
        const bool plain = args.empty() && type->tp_new == PyBaseObject_Type.tp_new &&
                           type->tp_init == PyBaseObject_Type.tp_init && Py_IS_TYPE(result, type);
        const TraceBuilder::Example* example =
            plain && call.callable.shadow->kind == ShadowKind::Object ? b_.example_of(type) : nullptr;
        return example ? b_.new_instance(*example) : nullptr;
    }
    if (PyCFunction_Check(callable) && PyObject_RichCompareBool(callable, new_tuple, Py_EQ) == 1) {
        if (args.size() != 2 || !PyType_Check(args[0].obj) || args[0].shadow->kind != ShadowKind::Object)
            return nullptr;
        auto* type = reinterpret_cast<PyTypeObject*>(args[0].obj);
        const bool known = args[1].shadow->kind == ShadowKind::Tuple && PyTuple_CheckExact(args[1].obj);
        if (!known || !fields_of(type) || !Py_IS_TYPE(result, type) || !b_.example_of(type)) return nullptr;
        return b_.named_tuple(type, args[1].shadow->items);
    }
    if (callable == set_attribute && args.size() == 3 && args[0].shadow->kind == ShadowKind::Instance &&
        PyUnicode_CheckExact(args[1].obj) && b_.require_constant(args[1].shadow, args[1].obj) &&
        store_own(args[0].shadow, args[0].obj, args[1].obj, args[2].shadow))
        return b_.constant(Py_None);
    return nullptr;
}

// The items of a named tuple that was there at entry.
std::optional<std::vector<ShadowRef>> Recorder::fields_at_entry(const Operand& tuple) {
    PyTypeObject* type = Py_TYPE(tuple.obj);
    const PyRef fields = fields_of(type);
    if (!fields || tuple.shadow->kind != ShadowKind::Opaque || tuple.shadow->source == guards::kNoSource ||
        type->tp_iter != PyTuple_Type.tp_iter ||
        PyTuple_GET_SIZE(tuple.obj) != PyTuple_GET_SIZE(fields.get()))
        return std::nullopt;
    const PyRef iter_name = PyRef::steal(interned("__iter__"));
    b_.guards.expect_type_attrs(tuple.shadow->source, type, iter_name.get());
    b_.guards.expect_length(tuple.shadow->source, PyTuple_GET_SIZE(fields.get()));
    std::vector<ShadowRef> items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields.get()); ++i) {
        ShadowRef item;
        if (!instance_attr(tuple, PyTuple_GET_ITEM(fields.get(), i), PyTuple_GET_ITEM(tuple.obj, i), &item,
                           nullptr))
            return std::nullopt;
        items.push_back(std::move(item));
    }
    return items;
}

// `t._replace(name=value, ...)` of a named tuple that is known item by item.
ShadowRef Recorder::replaced_fields(const CallParts& call, PyObject* result) {
    const size_t given = call.kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(call.kwnames.get())) : 0;
    if (call.args.size() != given + 1) return nullptr;
    const Operand& from = call.args[0];
    const PyRef fields = fields_of(Py_TYPE(from.obj));
    if (!fields || !Py_IS_TYPE(result, Py_TYPE(from.obj)) || !b_.example_of(Py_TYPE(from.obj)))
        return nullptr;
    std::vector<ShadowRef> items;
    if (from.shadow->kind == ShadowKind::Tuple) {
        items = from.shadow->items;
    } else {
        auto found = fields_at_entry(from);
        if (!found) return nullptr;
        items = std::move(*found);
    }
    for (size_t k = 0; k < given; ++k) {
        const auto at =
            PySequence_Index(fields.get(), PyTuple_GET_ITEM(call.kwnames.get(), static_cast<Py_ssize_t>(k)));
        if (at < 0 || at >= std::ssize(items)) return PyErr_Clear(), nullptr;
        items[static_cast<size_t>(at)] = call.args[1 + k].shadow;
    }
    return b_.named_tuple(Py_TYPE(from.obj), std::move(items));
}

// The object has been given the attribute by object.__setattr__.
bool Recorder::store_own(const ShadowRef& instance, PyObject* obj, PyObject* name, const ShadowRef& value) {
    PyObject* descr = _PyType_Lookup(Py_TYPE(obj), name);
    if (descr && Py_TYPE(descr)->tp_descr_set && !Py_IS_TYPE(descr, &PyMemberDescr_Type)) return false;
    if (may_hold(*value, *instance)) return false;
    b_.guards.expect_type_attrs(instance->example, Py_TYPE(obj), name);
    auto& items = instance->items;
    size_t at = 0;
    while (at < items.size() && PyUnicode_Compare(items[at]->obj.get(), name) != 0) at += 2;
    if (at == items.size()) items.insert(items.end(), {b_.constant(name), nullptr});
    items[at + 1] = value;
    return true;
}

// Whether what the callee returns is what its caller gets: not so of an __init__ that returns something, and
// of an operator that declines.
bool Recorder::may_return() {
    const Level& caller = *levels_[levels_.size() - 2];
    PyObject* value = top().frame->peek(0);
    if (caller.constructs && value != Py_None)
        return refuse(Reason::UnknownCall, "an __init__ that returns something");
    if (caller.kept && !caller.constructs && value == Py_NotImplemented)
        return refuse(Reason::UnknownOp, "an operator that is not implemented");
    // What it merely passes on may be that another time.
    if ((caller.constructs || caller.kept) && !b_.resolve(top().slots.back(), value))
        return refuse(b_.reason, b_.reason_detail);
    return true;
}

// `a.name` and `a.name = value` where the class has a property of that name.
bool Recorder::prepare_property(const Insn& access) {
    const bool store = access.op == Opcode::StoreAttr;
    const Operand base = ops_[store ? 1 : 0];
    if (!base.obj || (!store && (access.flags & (Insn::kMethod | Insn::kPushNull)))) return false;
    PyTypeObject* type = Py_TYPE(base.obj);
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_getattro != PyObject_GenericGetAttr ||
        (store && type->tp_setattro != PyObject_GenericSetAttr))
        return false;
    PyObject* property = _PyType_Lookup(type, access.obj);
    if (!property || !Py_IS_TYPE(property, &PyProperty_Type) || !b_.resolve(base.shadow, base.obj))
        return false;
    const guards::SourceId source = class_source(base);
    const ShadowKind kind = base.shadow->kind;
    const bool object =
        kind == ShadowKind::Opaque || kind == ShadowKind::Instance || kind == ShadowKind::Tuple;
    if (!object || source == guards::kNoSource || is_ndarray(base)) return false;
    const PyRef run = PyRef::steal(PyObject_GetAttrString(property, store ? "fset" : "fget"));
    if (!run) return PyErr_Clear(), false;
    if (!guards::is_function(run.get())) return false;
    // Without a __getattr__, which would be asked where the property raises AttributeError.
    for (const char* name : {"__getattribute__", "__getattr__", "__setattr__"}) {
        const PyRef text = PyRef::steal(interned(name));
        b_.guards.expect_type_attrs(source, type, text.get());
    }
    b_.guards.expect_type_attrs(source, type, access.obj);
    b_.guards.expect_function(b_.guards.object(run.get(), guards::utf8(access.obj)), run.get());
    CallParts call;
    if (store) call.args.push_back(ops_[0]);
    return follow({run.get(), b_.constant(run.get()), base.shadow, nullptr, {}}, call, store ? 2 : 1);
}

// `a + b` where a's class says in Python what that is, and is asked first.
bool Recorder::prepare_operator(const Insn& insn) {
    const Operand a = ops_[0], b = ops_[1];
    if (!a.obj || !b.obj) return false;
    PyTypeObject *type = Py_TYPE(a.obj), *other = Py_TYPE(b.obj);
    const int at = insn.arg % kOperators;
    const bool in_place = insn.arg >= kOperators;
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || insn.arg >= 2 * kOperators ||
        (type != other && PyType_IsSubtype(other, type)))
        return false;
    PyObject* method = own_attribute(type, kOperatorMethods[at].name);
    if (!method || !guards::is_function(method) || may_decline(method)) return false;
    if (in_place && own_attribute(type, kOperatorMethods[at].in_place)) return false;
    if (!b_.resolve(a.shadow, a.obj) || !b_.resolve(b.shadow, b.obj)) return false;
    const bool object = a.shadow->kind == ShadowKind::Opaque || a.shadow->kind == ShadowKind::Instance;
    const guards::SourceId source = class_source(a);
    if (!object || source == guards::kNoSource || is_ndarray(a)) return false;
    for (const char* name : {kOperatorMethods[at].name, kOperatorMethods[at].in_place}) {
        const PyRef text = PyRef::steal(interned(name));
        b_.guards.expect_type_attrs(source, type, text.get());
    }
    b_.guards.expect_function(b_.guards.object(method, kOperatorMethods[at].name), method);
    CallParts call;
    call.args.push_back(b);
    return follow({method, b_.constant(method), a.shadow, nullptr, {a.shadow, b.shadow}}, call, 2);
}

}  // namespace stator::frontend
