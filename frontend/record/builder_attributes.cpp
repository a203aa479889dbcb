// TraceBuilder: attributes of objects that were there at entry.
//
// A pair of object and name is a place, as cells are: it is read at entry, what the trace writes to it is
// written for real where the trace is left, and reads in between find the write. An object has one set of
// places whatever leads to it, and objects of one class of which an attribute is written are guarded to be
// the same or different as they were. Writes are done in the order of each attribute's first one, in which a
// dict gets its keys.

#include "frontend/record/builder.h"

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
    a->contents = std::move(contents);
    if (std::exchange(a->written, true)) return;
    attribute_writes_.push_back(static_cast<size_t>(a - attributes_.data()));
    for (const Attribute& other : attributes_)
        if (&other != a && !other.written && Py_IS_TYPE(other.object.get(), Py_TYPE(obj)) &&
            PyUnicode_Compare(other.name->obj.get(), name) == 0)
            guards.expect_not_same(other.owner->source, a->owner->source);
}

}  // namespace stator::frontend
