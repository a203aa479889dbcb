// Attributes and items: `a.b`, `a[b]`, `a[b:c]`, and stores into them. See record/ops.cpp for the rules.

#include <algorithm>

#include "frontend/cpython/functions.h"
#include "frontend/hosts/torch/sizes.h"
#include "frontend/record/named_tuples.h"
#include "frontend/record/recorder.h"
#include "guards/check/names.h"

namespace stator::frontend {

// A tuple, also a named one, of arrays that a library call gave.
static bool is_parts(const Operand& o) {
    return o.shadow->kind == ShadowKind::Opaque && o.shadow->value != graph::kNone &&
           !o.shadow->items.empty();
}

static bool is_named_tuple(const Operand& o) {
    return o.shadow->kind == ShadowKind::Tuple && !o.shadow->maker.empty() && !PyTuple_CheckExact(o.obj);
}

static bool is_size(const Shadow& s) { return !s.maker.empty() && PyType_Check(s.maker[0]->obj.get()); }

// A field of a named tuple: one of its items.
static ShadowRef field_of(const Operand& base, PyObject* name, PyObject* result) {
    if (const auto fields = fields_of(Py_TYPE(base.obj))) {  // two fields may be one small int
        const auto at = PySequence_Index(fields.get(), name);
        if (at >= 0 && at < std::ssize(base.shadow->items))
            return base.shadow->items[static_cast<size_t>(at)];
        PyErr_Clear();
        return nullptr;
    }
    for (size_t i = 0; i < base.shadow->items.size(); ++i)
        if (PyTuple_GET_ITEM(base.obj, static_cast<Py_ssize_t>(i)) == result) return base.shadow->items[i];
    return nullptr;
}

// `x.reshape` where it is not called at once, or called with * or **.
ShadowRef Recorder::builtin_method(const Host& host, const Operand& base, PyObject* name, PyObject* result) {
    if (host.id != graph::HostId::NumPy || !PyCFunction_Check(result) ||
        PyCFunction_GET_SELF(result) != base.obj)
        return nullptr;
    PyObject* method = host.method(base.obj, name);
    if (!method) return nullptr;
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Method;
    s->items = {b_.constant(method), base.shadow};
    return s;
}

bool Recorder::on_load_attr(const Insn& insn) {
    if (const auto done = followed()) return *done;
    Operand base = ops_[0];
    PyObject* result = top().frame->peek(0);
    if (!b_.resolve(base.shadow, base.obj)) return refuse(b_.reason, b_.reason_detail);
    ShadowRef out;
    const Host& host = host_of(base);
    const HostScope scope(b_, host);
    bool number =
        is_ndarray(base) || base.shadow->kind == ShadowKind::Scalar || base.shadow->kind == ShadowKind::Int;
    if (is_ndarray(base) && (out = builtin_method(host, base, insn.obj, result))) {
    } else if (number)
        out = host.lower_attr(b_, base, insn.obj, result);
    else if (is_parts(base) || is_named_tuple(base))
        out = field_of(base, insn.obj, result);
    if (!out && !number && !class_method(base, insn.obj, &out) &&
        !instance_attr(base, insn.obj, result, &out, nullptr))
        out = base.shadow->kind == ShadowKind::Object ? numpy_host().lower_attr(b_, base, insn.obj, result)
                                                      : nullptr;
    if (!out) return refuse(Reason::UnknownAttr, guards::utf8(insn.obj));
    pop();
    if (!push_result(out)) {
        push(base.shadow);
        return false;
    }
    return true;
}

bool Recorder::on_load_method(const Insn& insn) {
    Operand base = ops_[0];
    Frame& f = *top().frame;
    PyObject* upper = f.peek(0);
    PyObject* lower = f.peek(1);
    if (!b_.resolve(base.shadow, base.obj)) return refuse(b_.reason, b_.reason_detail);
    ShadowRef out, self;
    bool bound = upper && lower && upper == base.obj;
    bool number = base.shadow->kind == ShadowKind::Array || base.shadow->kind == ShadowKind::Scalar ||
                  base.shadow->kind == ShadowKind::Int || host_of(base).is_array(base.obj);
    if (bound && (number || PyDict_CheckExact(base.obj) || PyList_CheckExact(base.obj) ||
                  is_draw_of(base.obj, lower) || base.shadow->kind == ShadowKind::Tuple ||
                  base.shadow->kind == ShadowKind::List || base.shadow->kind == ShadowKind::Dict ||
                  base.shadow->kind == ShadowKind::Object)) {
        // A method of a builtin or extension type found on the (immutable) type.
        // A class that can change has a host whose guards look for that.
        const bool named = is_named_tuple(base) && class_source(base) != guards::kNoSource;
        if (named) {
            if (!instance_attr(base, insn.obj, lower, &out, &self) || !self)
                return refuse(Reason::UnknownAttr, guards::utf8(insn.obj));
        } else if (PyType_HasFeature(Py_TYPE(base.obj), Py_TPFLAGS_HEAPTYPE) &&
                   (host_of(base).id == graph::HostId::NumPy ||
                    host_of(base).method(base.obj, insn.obj) != lower))
            return refuse(Reason::UnknownAttr, guards::utf8(insn.obj));
        if (!named) out = b_.constant(lower), self = base.shadow;
    } else {
        PyObject* result = upper ? upper : lower;
        if (bound) result = lower;
        if (!number && !bound && class_method(base, insn.obj, &out)) {
        } else if (number || !instance_attr(base, insn.obj, result, &out, bound ? &self : nullptr))
            return refuse(Reason::UnknownAttr, guards::utf8(insn.obj));
        if (bound && !self) return refuse(Reason::UnknownAttr, guards::utf8(insn.obj));
    }
    pop();
    if (bound)
        push(out), push(self);
    else if (upper)
        push(b_.null()), push(out);
    else
        push(out), push(b_.null());
    return true;
}

bool Recorder::on_subscript(const Insn& insn) {
    (void)insn;
    Operand base = ops_[0], key = ops_[1];
    PyObject* result = top().frame->peek(0);
    if (!b_.resolve(base.shadow, base.obj) || !b_.resolve(key.shadow, key.obj))
        return refuse(b_.reason, b_.reason_detail);
    ShadowRef out;
    if (is_ndarray(base)) {
        const HostScope scope(b_, host_of(base));
        out = host_of(base).lower_subscript(b_, base, key, result);
    } else if ((base.shadow->kind == ShadowKind::Tuple || base.shadow->kind == ShadowKind::List ||
                is_parts(base)) &&
               PyLong_CheckExact(key.obj)) {
        if (!b_.require_constant(key.shadow, key.obj))
            return refuse(Reason::UnknownOp, "a subscript that varies");
        Py_ssize_t i = PyLong_AsSsize_t(key.obj), n = static_cast<Py_ssize_t>(base.shadow->items.size());
        out = base.shadow->items[i < 0 ? i + n : i];
    } else if (base.shadow->kind == ShadowKind::Tuple && PySlice_Check(key.obj)) {
        out = sequence_slice(base, key, result);
        if (out && is_size(*base.shadow)) out = torch::size_shadow(b_, out->items);
        if (!out) return refuse(Reason::UnknownOp, "a slice of a tuple");
    } else if (base.shadow->kind == ShadowKind::Dict) {
        out = dict_get(ops_, nullptr);
        if (!out) return refuse(Reason::UnknownOp, "a subscript of a dict");
    } else if (base.shadow->kind == ShadowKind::Opaque && base.shadow->source != guards::kNoSource &&
               (PyList_CheckExact(base.obj) || PyDict_CheckExact(base.obj)) &&
               (PyLong_CheckExact(key.obj) || PyUnicode_CheckExact(key.obj)) &&
               b_.require_constant(key.shadow, key.obj)) {
        if (!(out = entry_item(base, key.obj, result)))
            return refuse(Reason::UnknownOp,
                          "an item of a dict of attributes, or of a list that was appended to");
    } else if (base.shadow->kind == ShadowKind::Opaque && base.shadow->value == graph::kNone) {
        out = host_of(base).lower_subscript(b_, base, key, result);
        if (!out) return refuse(Reason::UnknownOp, "a subscript of " + kind_for_messages(base.obj));
    } else {
        return refuse(Reason::UnknownOp, "a subscript of " + kind_for_messages(base.obj));
    }
    ShadowRef b = pop(), a = pop();
    if (push_result(out)) return true;
    push(a), push(b);
    return false;
}

ShadowRef slice_shadow(std::span<const Operand> parts, ShadowRef none) {
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Slice;
    for (const Operand& p : parts) s->items.push_back(p.shadow);
    while (s->items.size() < 3) s->items.push_back(none);
    return s;
}

bool Recorder::on_slice(const Insn&) {
    Operand base = ops_[0];
    for (auto& o : ops_)
        if (!b_.resolve(o.shadow, o.obj)) return refuse(b_.reason, b_.reason_detail);
    const bool object =
        base.shadow->kind == ShadowKind::Opaque && base.shadow->value == graph::kNone;  // np.r_
    if (!is_ndarray(base) && base.shadow->kind != ShadowKind::Tuple && !object)
        return refuse(Reason::UnknownOp, "a slice of " + kind_for_messages(base.obj));
    PyRef key = PyRef::steal(PySlice_New(ops_[1].obj, ops_[2].obj, nullptr));
    Operand k{slice_shadow(std::span(ops_).subspan(1, 2), b_.constant(Py_None)), key.get()};
    PyObject* result = top().frame->peek(0);
    const HostScope scope(b_, host_of(base));
    const bool size = is_size(*base.shadow);
    ShadowRef out = base.shadow->kind == ShadowKind::Tuple
                        ? (size ? nullptr : sequence_slice(base, k, result))
                        : host_of(base).lower_subscript(b_, base, k, result);
    if (!out && (object || b_.reason == Reason::None))
        return refuse(Reason::UnknownOp, "a slice of " + kind_for_messages(base.obj));
    ShadowRef s[3] = {pop(), pop(), pop()};
    if (push_result(out)) return true;
    for (int i = 2; i >= 0; --i) push(s[i]);
    return false;
}

bool Recorder::store_before(const Insn& insn) {
    for (auto& o : ops_)
        if (!b_.resolve(o.shadow, o.obj)) return refuse(b_.reason, b_.reason_detail);
    Operand value = ops_[0], base = ops_[1];
    if (base.shadow->kind == ShadowKind::List && insn.op == Opcode::StoreSubscr && list_store(nullptr))
        return true;
    if (insn.op == Opcode::StoreSubscr && dict_store_before()) return true;
    if (!is_ndarray(base)) return refuse(Reason::Effect, "a store into " + kind_for_messages(base.obj));
    Operand key = ops_[2];
    PyRef slice;
    if (insn.op == Opcode::StoreSlice) {
        slice = PyRef::steal(PySlice_New(ops_[2].obj, ops_[3].obj, nullptr));
        key = {slice_shadow(std::span(ops_).subspan(2, 2), b_.constant(Py_None)), slice.get()};
    }
    b_.reason = Reason::None;
    const HostScope scope(b_, host_of(base));
    if (host_of(base).lower_store(b_, base, key, value)) return true;
    return refuse(b_.reason == Reason::None ? Reason::Unstoreable : b_.reason, b_.reason_detail);
}

bool Recorder::on_store_done(const Insn& insn) {
    std::vector<ShadowRef> items;
    if (ops_[1].shadow->kind == ShadowKind::List && list_store(&items))
        ops_[1].shadow->items = std::move(items);
    else if (PyDict_CheckExact(ops_[1].obj))
        dict_store_done();
    for (int i = insn.op == Opcode::StoreSlice ? 4 : 3; i > 0; --i) pop();
    return true;
}

}  // namespace stator::frontend
