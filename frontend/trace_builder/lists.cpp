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
