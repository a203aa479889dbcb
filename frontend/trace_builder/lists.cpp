// TraceBuilder: lists that were there at entry and that the trace appends to.
//
// The items are put there where the trace is left, with what attributes and cells hold. Until then nothing
// looks at the list, by whatever name: what guards read of lists, they read at entry. Lists that are looked
// at are therefore guarded to be others.

#include <algorithm>

#include "frontend/trace_builder/trace_builder.h"

namespace stator::frontend {

bool TraceBuilder::append_to_list(const ShadowRef& list, PyObject* obj, std::span<const ShadowRef> items) {
    for (const Operand& w : walked_)
        if (w.obj == obj) return false;
    for (const Operand& w : walked_) guards.expect_not_same(list->source, w.shadow->source);
    kept_dicts_.push_back(PyRef::borrow(obj));
    appended_.push_back({{list, obj}, {items.begin(), items.end()}});
    return true;
}

ShadowRef TraceBuilder::length_of(const ShadowRef& s, PyObject* obj) {
    if (s->source == guards::kNoSource || s->value != graph::kNone || !guards::has_length(obj) ||
        (PyDict_CheckExact(obj) && (stored_items() || !meet_dict(s, obj))))
        return nullptr;
    int64_t more = 0;  // at its end by the time that the trace is left
    for (const Appended& a : appended_) {
        if (!PyList_CheckExact(obj)) break;
        if (a.list.obj == obj)
            more += std::ssize(a.items), guards.expect_same(s->source, a.list.shadow->source);
        else
            guards.expect_not_same(s->source, a.list.shadow->source);
    }
    const PyRef entry = PyRef::steal(PyLong_FromSsize_t(PyObject_Size(obj) - more));
    const ShadowRef length = entry ? lazy(guards.length(s->source), entry.get()) : nullptr;
    if (!length || !resolve(length, entry.get()) || length->kind != ShadowKind::Int)
        return PyErr_Clear(), nullptr;
    return new_int(syms().add(length->sym, int_const(more)));
}

bool TraceBuilder::look_into_list(const ShadowRef& list, PyObject* obj, bool all) {
    for (const Appended& a : appended_)
        if (a.list.obj == obj) return false;
    for (const Appended& a : appended_) guards.expect_not_same(list->source, a.list.shadow->source);
    if (!all || std::ranges::any_of(walked_, [&](const Operand& w) { return w.shadow == list; })) return true;
    kept_dicts_.push_back(PyRef::borrow(obj));
    walked_.push_back({list, obj});
    return true;
}

}  // namespace stator::frontend
