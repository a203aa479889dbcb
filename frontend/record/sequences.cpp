// Tuples, lists and dicts whose items are known: building and unpacking them, and operators on them. Shapes
// are computed with them (`(2,) + a.shape`, `a.shape[:-1]`, `a.shape == b.shape`), and what comes out has to
// stay symbolic.

#include "frontend/cpython/functions.h"
#include "frontend/hosts/torch/sizes.h"
#include "frontend/policy.h"
#include "frontend/record/recorder.h"

namespace stator::frontend {

namespace {

bool sequence(const ShadowRef& s) { return s->kind == ShadowKind::Tuple || s->kind == ShadowKind::List; }

ShadowRef of_kind(ShadowKind kind, std::vector<ShadowRef> items) {
    auto s = std::make_shared<Shadow>();
    s->kind = kind;
    s->items = std::move(items);
    return s;
}

}  // namespace

// The result of `a op b` for a sequence a, nullptr when it is not modelled. Where Python answers with an
// operand itself (an empty tuple added, once repeated), so does this.
ShadowRef Recorder::sequence_binary(int nb_op, PyObject* result) {
    constexpr int kAdd = 0, kMultiply = 5, kInplace = 13;  // NB_* of CPython's opcode.h
    const Operand &a = ops_[0], &b = ops_[1];
    // Changes the list, also one that was there at entry.
    if (nb_op >= kInplace && (PyList_Check(a.obj) || PyList_Check(b.obj))) return nullptr;
    const bool repeats = nb_op % kInplace == kMultiply;
    // Only of what is known item by item: that one is empty is guarded, and no code of a class has run.
    for (const Operand& o : ops_)
        if (o.obj == result && !repeats && sequence(a.shadow) && sequence(b.shadow)) return o.shadow;
    if (nb_op % kInplace == kAdd && sequence(a.shadow) && b.shadow->kind == a.shadow->kind) {
        std::vector<ShadowRef> items = a.shadow->items;
        items.insert(items.end(), b.shadow->items.begin(), b.shadow->items.end());
        if (!PyTuple_CheckExact(result) && PyTuple_Check(result))
            return torch::size_shadow(b_, std::move(items));
        return of_kind(a.shadow->kind, std::move(items));
    }
    if (!repeats || (PyTuple_Check(result) && !PyTuple_CheckExact(result))) return nullptr;
    const Operand &items = sequence(a.shadow) ? a : b, &count = sequence(a.shadow) ? b : a;
    if (count.shadow->kind != ShadowKind::Int || PyObject_Size(result) > policy().repeated_items ||
        !b_.require_constant(count.shadow, count.obj))
        return nullptr;
    if (items.obj == result) return items.shadow;
    std::vector<ShadowRef> out;
    for (Py_ssize_t n = PyLong_AsSsize_t(count.obj); n > 0; --n)
        out.insert(out.end(), items.shadow->items.begin(), items.shadow->items.end());
    return of_kind(items.shadow->kind, std::move(out));
}

// items[start:stop:step] with constant parts.
ShadowRef Recorder::sequence_slice(const Operand& base, const Operand& key, PyObject* result) {
    if (result == base.obj) return b_.require_constant(key.shadow, key.obj) ? base.shadow : nullptr;
    if (!PySlice_Check(key.obj) || !b_.require_constant(key.shadow, key.obj)) return nullptr;
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key.obj, &start, &stop, &step) < 0) return PyErr_Clear(), nullptr;
    Py_ssize_t n =
        PySlice_AdjustIndices(static_cast<Py_ssize_t>(base.shadow->items.size()), &start, &stop, step);
    std::vector<ShadowRef> out;
    for (Py_ssize_t i = 0; i < n; ++i) out.push_back(base.shadow->items[start + i * step]);
    return of_kind(base.shadow->kind, std::move(out));
}

// Equality of two tuples of ints: what decides it is guarded. nullptr when it is not modelled.
ShadowRef Recorder::sequence_compare(int py_op, PyObject* result) {
    if (py_op != Py_EQ && py_op != Py_NE) return nullptr;
    const ShadowRef &a = ops_[0].shadow, &b = ops_[1].shadow;
    if (a->kind != ShadowKind::Tuple || b->kind != ShadowKind::Tuple) return nullptr;
    if (a->items.size() != b->items.size()) return b_.constant(result);
    for (size_t i = 0; i < a->items.size(); ++i) {
        PyObject* x = PyTuple_GET_ITEM(ops_[0].obj, static_cast<Py_ssize_t>(i));
        PyObject* y = PyTuple_GET_ITEM(ops_[1].obj, static_cast<Py_ssize_t>(i));
        if (!b_.resolve(a->items[i], x) || !b_.resolve(b->items[i], y)) return nullptr;
        if (a->items[i]->kind != ShadowKind::Int || b->items[i]->kind != ShadowKind::Int) return nullptr;
    }
    for (size_t i = 0; i < a->items.size(); ++i) {
        graph::Sym x = a->items[i]->sym, y = b->items[i]->sym;
        bool equal = b_.hint(x) == b_.hint(y);
        if (!b_.require(equal ? guards::Relation::Eq : guards::Relation::Ne, x, y)) return nullptr;
        if (!equal) break;
    }
    return b_.constant(result);
}

// A list that is being built has no other owner yet.
bool Recorder::on_list_append(const Insn& insn) {
    auto& slots = top().slots;
    const ShadowRef list = slots[slots.size() - 1 - insn.arg];
    if (list->kind != ShadowKind::List)
        return refuse(Reason::UnknownOp, "an append to a list made elsewhere");
    list->items.push_back(pop());
    return true;
}

bool Recorder::on_list_extend(const Insn& insn) {
    auto& slots = top().slots;
    ShadowRef list = slots[slots.size() - 1 - insn.arg];
    Operand from = ops_[0];
    if (!b_.resolve(from.shadow, from.obj)) return refuse(b_.reason, b_.reason_detail);
    if (list->kind != ShadowKind::List ||
        (from.shadow->kind != ShadowKind::Tuple && from.shadow->kind != ShadowKind::List))
        return refuse(Reason::Effect, "extending a list");
    list->items.insert(list->items.end(), from.shadow->items.begin(), from.shadow->items.end());
    pop();
    return true;
}

bool Recorder::on_list_to_tuple(const Insn&) {
    ShadowRef list = ops_[0].shadow;
    if (list->kind != ShadowKind::List) return refuse(Reason::UnknownOp, "a tuple of this list");
    pop();
    push(b_.tuple(list->items));
    return true;
}

// {"name": value, ...}; other keys than constant strings are not modelled.
bool Recorder::on_build_map(const Insn& insn) {
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Dict;
    bool const_keys = insn.op == Opcode::BuildConstKeyMap;
    for (int i = 0; i < insn.arg; ++i) {
        PyObject* key = const_keys ? PyTuple_GET_ITEM(ops_.back().obj, i) : ops_[2 * i].obj;
        bool fixed =
            PyUnicode_CheckExact(key) && (const_keys || b_.require_constant(ops_[2 * i].shadow, key));
        for (size_t k = 0; fixed && k < s->items.size(); k += 2)
            fixed = PyUnicode_Compare(s->items[k]->obj.get(), key) != 0;
        if (!fixed) return refuse(Reason::UnknownOp, "a dict with such keys");
        s->items.push_back(b_.constant(key));
        s->items.push_back(ops_[const_keys ? i : 2 * i + 1].shadow);
    }
    for (size_t i = 0; i < ops_.size(); ++i) pop();
    push(std::move(s));
    return true;
}

// The dict that a call's keywords are gathered in, or {**a, **b}: nobody else has it yet.
bool Recorder::on_dict_merge(const Insn& insn) {
    auto& slots = top().slots;
    const ShadowRef into = slots[slots.size() - 1 - insn.arg];
    if (insn.op == Opcode::DictUpdate && into->kind == ShadowKind::Dict &&
        b_.resolve(ops_[0].shadow, ops_[0].obj)) {
        const auto pairs = PyDict_CheckExact(ops_[0].obj) ? pairs_of(ops_[0].shadow) : std::nullopt;
        if (!pairs) return refuse(Reason::Effect, "an update of a dict");
        for (size_t i = 0; i < pairs->size(); i += 2) set_item(into->items, (*pairs)[i], (*pairs)[i + 1]);
        pop();
        return true;
    }
    CallParts from;
    if (into->kind != ShadowKind::Dict || !b_.resolve(ops_[0].shadow, ops_[0].obj) ||
        !spread_keywords(ops_[0], &from) || (from.any_order && from.args.size() > 1))
        return refuse(Reason::Effect, "an update of a dict");
    auto merged = std::make_shared<Shadow>(*into);
    for (size_t i = 0; i < from.args.size(); ++i) {
        PyObject* key = PyTuple_GET_ITEM(from.kwnames.get(), static_cast<Py_ssize_t>(i));
        size_t at = 0;
        while (at < merged->items.size() && PyUnicode_Compare(merged->items[at]->obj.get(), key) != 0)
            at += 2;
        if (at == merged->items.size())
            merged->items.insert(merged->items.end(), {b_.constant(key), nullptr});
        merged->items[at + 1] = from.args[i].shadow;
    }
    pop();
    slots[slots.size() - insn.arg] = std::move(merged);
    return true;
}

bool Recorder::on_build(const Insn& insn) {
    if (insn.op == Opcode::BuildSlice) {
        for (auto& o : ops_)
            if (!b_.resolve(o.shadow, o.obj)) return refuse(b_.reason, b_.reason_detail);
        ShadowRef s = slice_shadow(ops_, b_.constant(Py_None));
        for (int i = 0; i < insn.arg; ++i) pop();
        push(s);
        return true;
    }
    auto s = std::make_shared<Shadow>();
    s->kind = insn.op == Opcode::BuildTuple ? ShadowKind::Tuple : ShadowKind::List;
    for (auto& o : ops_) s->items.push_back(o.shadow);
    for (int i = 0; i < insn.arg; ++i) pop();
    push(s);
    return true;
}

// `x, y = a`: a[0] and a[1] of an array that is guarded to have two of them.
bool Recorder::unpack_array(const Operand& a, int count) {
    const auto& shape = b_.shape(a.shadow);
    if (shape.empty() || b_.hint(shape[0]) != count ||
        !b_.require(guards::Relation::Eq, shape[0], b_.int_const(count)))
        return refuse(Reason::UnknownOp, "unpacking this array");
    std::vector<ShadowRef> items;
    for (int i = 0; i < count; ++i) {
        PyRef key = PyRef::steal(PyLong_FromLong(i));
        PyObject* result = top().frame->peek(i);
        const HostScope scope(b_, host_of(a));
        ShadowRef item = host_of(a).lower_subscript(b_, a, {b_.constant(key.get()), key.get()}, result);
        if (!item || !same_as_model(item, result))
            return refuse(b_.reason == Reason::None ? Reason::ModelMismatch : b_.reason, b_.reason_detail);
        items.push_back(std::move(item));
    }
    pop();
    for (size_t i = items.size(); i-- > 0;) push(std::move(items[i]));
    return true;
}

// tuple(x) and list(x) of a tuple or a list whose items are known; nullptr for anything else.
ShadowRef Recorder::sequence_of(PyObject* type, std::span<const Operand> args, PyObject* kwnames) {
    const bool tuple = type == reinterpret_cast<PyObject*>(&PyTuple_Type);
    if ((!tuple && type != reinterpret_cast<PyObject*>(&PyList_Type)) || kwnames || args.size() != 1)
        return nullptr;
    const Operand& a = args[0];
    if (!b_.resolve(a.shadow, a.obj)) return nullptr;
    const ShadowKind kind = a.shadow->kind;
    if (kind == ShadowKind::Tuple && tuple)  // tuple(t) is t
        return PyTuple_CheckExact(a.obj) ? a.shadow : nullptr;
    if (kind != ShadowKind::Tuple && kind != ShadowKind::List) return nullptr;
    if (tuple) return b_.tuple(a.shadow->items);
    auto list = std::make_shared<Shadow>();
    list->kind = ShadowKind::List;
    list->items = a.shadow->items;
    return list;
}

bool Recorder::on_unpack(const Insn& insn) {
    Operand a = ops_[0];
    if (!b_.resolve(a.shadow, a.obj)) return refuse(b_.reason, b_.reason_detail);
    if (a.shadow->kind == ShadowKind::Array) return unpack_array(a, insn.arg);
    if (a.shadow->kind == ShadowKind::Opaque && a.shadow->source != guards::kNoSource) {
        auto items = fields_at_entry(a);
        if (!items || std::ssize(*items) != insn.arg)
            return refuse(Reason::UnknownOp, "unpacking " + kind_for_messages(a.obj));
        pop();
        for (size_t i = items->size(); i-- > 0;) push(std::move((*items)[i]));
        return true;
    }
    const bool parts = a.shadow->kind == ShadowKind::Opaque && a.shadow->value != graph::kNone;
    if ((a.shadow->kind != ShadowKind::Tuple && a.shadow->kind != ShadowKind::List && !parts) ||
        static_cast<int>(a.shadow->items.size()) != insn.arg)
        return refuse(Reason::UnknownOp, "unpacking " + kind_for_messages(a.obj));
    ShadowRef s = pop();
    for (size_t i = s->items.size(); i-- > 0;) push(s->items[i]);
    return true;
}

}  // namespace stator::frontend
