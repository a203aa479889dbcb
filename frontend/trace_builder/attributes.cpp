// TraceBuilder: attributes of objects that were there at entry.
//
// A pair of object and name is a place, as cells are: it is read at entry, what the trace writes to it is
// written for real where the trace is left, and reads in between find the write. An object has one set of
// places whatever leads to it, and objects of one class of which an attribute is written are guarded to be
// the same or different as they were. Writes are done in the order of each attribute's first one, in which a
// dict gets its keys.
//
// Items of dicts that were there at entry are such places as well. Where one kind is written, none of these
// dicts may be what holds the attributes of one of these objects.

#include <algorithm>

#include "frontend/trace_builder/trace_builder.h"

namespace stator::frontend {

TraceBuilder::Attribute* TraceBuilder::find_attribute(PyObject* obj, PyObject* name) {
    for (Attribute& a : attributes_)
        if (a.object.get() == obj && PyUnicode_Compare(a.name->obj.get(), name) == 0) return &a;
    return nullptr;
}

const ShadowRef* TraceBuilder::known_attribute(const ShadowRef& owner, PyObject* obj, PyObject* name) {
    Attribute* a = find_attribute(obj, name);
    if (!a) return nullptr;
    guards.expect_same(owner->source, a->owner->source);
    return a->contents ? &a->contents : nullptr;
}

void TraceBuilder::meet_attribute(const ShadowRef& owner, PyObject* obj, PyObject* name, ShadowRef contents) {
    if (Attribute* a = find_attribute(obj, name)) {
        guards.expect_same(owner->source, a->owner->source);
        if (!a->contents) a->contents = std::move(contents);
        return;
    }
    for (const Attribute& other : attributes_)
        if (other.written && Py_IS_TYPE(other.object.get(), Py_TYPE(obj)) &&
            PyUnicode_Compare(other.name->obj.get(), name) == 0)
            guards.expect_not_same(owner->source, other.owner->source);
    attributes_.push_back({owner, constant(name), PyRef::borrow(obj), std::move(contents)});
}

void TraceBuilder::write_attribute(const ShadowRef& owner, PyObject* obj, PyObject* name,
                                   ShadowRef contents) {
    meet_attribute(owner, obj, name, nullptr);
    Attribute* a = find_attribute(obj, name);
    if (!a->written) a->before = a->contents;
    a->contents = std::move(contents);
    if (std::exchange(a->written, true)) return;
    attribute_writes_.push_back(static_cast<size_t>(a - attributes_.data()));
    for (const Attribute& other : attributes_)
        if (&other != a && !other.written && Py_IS_TYPE(other.object.get(), Py_TYPE(obj)) &&
            PyUnicode_Compare(other.name->obj.get(), name) == 0)
            guards.expect_not_same(other.owner->source, a->owner->source);
}

bool TraceBuilder::meet_dict(const ShadowRef& dict, PyObject* obj) {
    for (const Operand& known : dicts_)
        if (known.shadow == dict) return true;
    for (const Attribute& a : attributes_)
        if (!PyDict_CheckExact(a.object.get()) && guards::GuardProgram::dict_of(a.object.get()) == obj)
            return false;
    kept_dicts_.push_back(PyRef::borrow(obj));
    dicts_.push_back({dict, obj});
    return true;
}

bool TraceBuilder::apart_from_dicts(PyObject* obj) const {
    PyObject* own = dicts_.empty() ? nullptr : guards::GuardProgram::dict_of(obj);
    return !own || std::ranges::none_of(dicts_, [&](const Operand& d) { return d.obj == own; });
}

void TraceBuilder::keep_dicts_apart() {
    if (attribute_writes_.empty()) return;
    for (const Operand& dict : dicts_)
        for (const Attribute& a : attributes_)
            if (!PyDict_CheckExact(a.object.get()))
                guards.expect_not_dict_of(dict.shadow->source, a.owner->source);
}

bool TraceBuilder::stored_items() const {
    for (const Attribute& a : attributes_)
        if (a.written && PyDict_CheckExact(a.object.get())) return true;
    return false;
}

}  // namespace stator::frontend
