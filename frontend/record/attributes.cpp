// Attributes of objects: what a read leads to, and stores, which are places of the trace
// (frontend/trace_builder/attributes.cpp).

#include <algorithm>
#include <functional>
#include <set>

#include "frontend/cpython/functions.h"
#include "frontend/record/recorder.h"
#include "guards/check/functions.h"
#include "guards/check/names.h"

namespace stator::frontend {

bool Recorder::instance_attr(const Operand& base, PyObject* name, PyObject* result, ShadowRef* out,
                             ShadowRef* self) {
    using Place = guards::GuardProgram::AttrPlace;
    const ShadowRef& s = base.shadow;
    const guards::SourceId source = class_source(base);
    if (source == guards::kNoSource) return false;
    PyObject* found_on = base.obj;
    if (s->source == source) {
        if (const ShadowRef* contents = b_.known_attribute(s, base.obj, name)) {
            *out = *contents;
            return true;
        }
    } else {  // made in this trace: what it has itself is known, the rest is its class's
        for (size_t i = 0; s->kind == ShadowKind::Instance && i < s->items.size(); i += 2)
            if (PyUnicode_Compare(s->items[i]->obj.get(), name) == 0) return *out = s->items[i + 1], true;
        if (!PyType_Check(base.obj)) found_on = b_.example_of(Py_TYPE(base.obj))->object.get();
    }
    PyObject* value = nullptr;
    Place place = guards::GuardProgram::classify_attr(found_on, name, &value);
    std::string text = b_.guards.source(source).text + "." + guards::utf8(name);
    switch (place) {
        case Place::Unreadable: return false;
        case Place::Module: *out = b_.lazy(b_.guards.attr(source, name), result); return true;
        case Place::Instance:
        case Place::ClassAttr:
            if (value != result || (s->source == source && !b_.apart_from_dicts(base.obj))) return false;
            b_.guards.expect_type_attrs(source, Py_TYPE(base.obj), name);
            *out = b_.lazy(b_.guards.attr(source, name), result);
            if (!PyType_Check(base.obj) && s->source == source) b_.meet_attribute(s, base.obj, name, *out);
            return true;
        case Place::Method: {
            if (!guards::is_function(value)) return false;
            b_.guards.expect_type_attrs(source, Py_TYPE(base.obj), name);
            auto function = b_.guards.object(value, text);
            b_.guards.expect_function(function, value);
            ShadowRef f = b_.constant(value);
            if (self) {
                *self = s;
                *out = f;
                return true;
            }
            auto m = std::make_shared<Shadow>();
            m->kind = ShadowKind::Method;
            m->items = {f, s};
            *out = m;
            return true;
        }
    }
    return false;
}

// Whether another shadow that the program can still reach shows memory of `array`.
bool Recorder::is_viewed(const ShadowRef& array) {
    std::set<const Shadow*> seen;
    const std::function<bool(const ShadowRef&)> views = [&](const ShadowRef& s) {
        if (!s || s == array || !seen.insert(s.get()).second) return false;
        if (s->kind == ShadowKind::Array && s->buffer == array->buffer) return true;
        return std::any_of(s->items.begin(), s->items.end(), views);
    };
    const auto any = [&](const std::vector<ShadowRef>& all) {
        return std::any_of(all.begin(), all.end(), views);
    };
    const bool in_attribute = std::any_of(b_.attributes_.begin(), b_.attributes_.end(),
                                          [&](const auto& a) { return a.contents && views(a.contents); });
    const bool in_list =
        std::any_of(b_.appended_.begin(), b_.appended_.end(), [&](const auto& a) { return any(a.items); });
    return in_attribute || in_list || any(b_.cells_) ||
           std::any_of(levels_.begin(), levels_.end(), [&](const Level* l) { return any(l->slots); });
}

// Before the store, while lazy shadows still stand for what is there. False, with a reason, when it is not
// part of a trace.
bool Recorder::store_attr_before(const Insn& insn) {
    const Operand base = ops_[1];
    if (is_ndarray(base) || base.shadow->kind == ShadowKind::Array) return true;
    if (!b_.resolve(base.shadow, base.obj)) return refuse(b_.reason, b_.reason_detail);
    const ShadowRef& s = base.shadow;
    const std::string text = std::string("a store to attribute ") + guards::utf8(insn.obj);
    if (s->kind == ShadowKind::Instance) return true;
    if (s->kind != ShadowKind::Opaque || s->value != graph::kNone || s->source == guards::kNoSource)
        return refuse(Reason::Effect, text + " of " + kind_for_messages(base.obj));
    if (!guards::GuardProgram::can_store(base.obj, insn.obj) || !b_.apart_from_dicts(base.obj))
        return refuse(Reason::Effect, text + ", which may run code,");
    b_.guards.expect_stored(s->source, Py_TYPE(base.obj), insn.obj);
    return true;
}

// The store has happened: of an attribute of a plain object, or of an array's.
bool Recorder::on_store_attr(const Insn& insn) {
    if (const auto done = followed()) {
        if (*done) pop();  // what a setter returns is nobody's
        return *done;
    }
    const Operand value = ops_[0], base = ops_[1];
    if (base.shadow->kind == ShadowKind::Opaque && base.shadow->value == graph::kNone && !is_ndarray(base)) {
        b_.write_attribute(base.shadow, base.obj, insn.obj, value.shadow);
        pop(), pop();
        return true;
    }
    if (base.shadow->kind == ShadowKind::Instance) {
        if (Py_TYPE(base.obj)->tp_setattro != PyObject_GenericSetAttr ||
            !store_own(base.shadow, base.obj, insn.obj, value.shadow))
            return refuse(Reason::Effect, std::string("a store to attribute ") + guards::utf8(insn.obj));
        pop(), pop();
        return true;
    }
    // A lazy shadow stands for what was there at entry; its object has changed already.
    const bool fresh = base.shadow->kind == ShadowKind::Array;
    const Host& host = host_of(base);
    if (!fresh || !host.lower_set_attr)
        return refuse(Reason::Effect, std::string("a store to attribute ") + guards::utf8(insn.obj));
    if (!b_.resolve(value.shadow, value.obj)) return refuse(b_.reason, b_.reason_detail);
    const HostScope scope(b_, host);
    b_.reason = Reason::None;
    if (!host.lower_set_attr(b_, base, insn.obj, value, !is_viewed(base.shadow))) {
        if (b_.reason != Reason::None) return refuse(b_.reason, b_.reason_detail);
        return refuse(Reason::Effect, std::string("a store to attribute ") + guards::utf8(insn.obj));
    }
    pop(), pop();
    return true;
}

}  // namespace stator::frontend
