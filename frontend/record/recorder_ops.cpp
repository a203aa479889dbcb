// What each instruction means to the graph, except calls, closures and loops (recorder_calls.cpp and so on).
// A handler runs after the instruction was executed; the operands captured before it are in ops_, bottom of
// the stack first, and their shadows are still on the level's slots. It pops them and pushes the results'
// shadows, or refuses and leaves the slots alone.

#include <array>

#include "frontend/record/locations.h"
#include "frontend/record/recorder.h"

namespace stator::frontend {

using graph::EndKind;
using graph::Node;
using graph::Op;

// An ndarray, also one that only the host's own functions can read.
static bool is_ndarray(const Operand& o) {
    return o.shadow->kind == ShadowKind::Array ||
           (o.shadow->kind == ShadowKind::Opaque && o.obj && numpy_host().is_array(o.obj));
}

struct Recorder::Entry {
    Handler handler = nullptr;  // nullptr: an opaque step
    int pops = 0;               // captured operands; -1: computed
};

const Recorder::Entry* Recorder::table() {
    static const auto entries = [] {
        std::array<Entry, 256> t{};
        auto set = [&](Opcode op, Handler h, int pops) { t[static_cast<int>(op)] = {h, pops}; };
        using O = Opcode;
        using R = Recorder;
        for (O op : {O::Nop, O::Resume, O::Jump}) set(op, &R::on_nothing, 0);
        set(O::CopyFreeVars, &R::on_copy_free_vars, 0);
        for (O op : {O::PopTop, O::EndFor, O::PopIter}) set(op, &R::on_pop_top, 0);
        set(O::PushNull, &R::on_push_null, 0);
        set(O::Copy, &R::on_copy, 0);
        set(O::Swap, &R::on_swap, 0);
        set(O::LoadFast, &R::on_load_fast, 0);
        set(O::LoadFastCheck, &R::on_load_fast, 0);
        set(O::LoadFastAndClear, &R::on_load_fast_and_clear, 0);
        set(O::StoreFast, &R::on_store_fast, 0);
        set(O::DeleteFast, &R::on_delete_fast, 0);
        set(O::LoadConst, &R::on_load_const, 0);
        set(O::LoadGlobal, &R::on_load_global, 0);
        set(O::MakeCell, &R::on_make_cell, 0);
        set(O::LoadDeref, &R::on_load_deref, 0);
        set(O::StoreDeref, &R::on_store_deref, 0);
        set(O::DeleteDeref, &R::on_delete_deref, 0);
        set(O::MakeFunction, &R::on_make_function, -1);
        set(O::SetFunctionAttribute, &R::on_set_function_attribute, 0);
        set(O::GetIter, &R::on_get_iter, 1);
        set(O::ForIter, &R::on_for_iter, 0);
        set(O::MapAdd, &R::on_map_add, 2);
        set(O::LoadAttr, &R::on_load_attr, 1);
        set(O::LoadMethod, &R::on_load_method, 1);
        set(O::BinaryOp, &R::on_binary_op, 2);
        set(O::BinarySubscr, &R::on_subscript, 2);
        set(O::BinarySlice, &R::on_slice, 3);
        set(O::StoreSubscr, &R::on_store_done, 3);
        set(O::StoreSlice, &R::on_store_done, 4);
        set(O::CompareOp, &R::on_compare, 2);
        set(O::IsOp, &R::on_is, 2);
        set(O::ContainsOp, &R::on_contains, 2);
        for (O op : {O::UnaryNegative, O::UnaryPositive, O::UnaryInvert}) set(op, &R::on_unary, 1);
        for (O op : {O::UnaryNot, O::ToBool}) set(op, &R::on_not, 1);
        for (O op : {O::BuildTuple, O::BuildList, O::BuildSlice}) set(op, &R::on_build, -1);
        set(O::BuildMap, &R::on_build_map, -1);
        set(O::BuildConstKeyMap, &R::on_build_map, -1);
        for (O op : {O::DictMerge, O::DictUpdate}) set(op, &R::on_dict_merge, 1);
        set(O::ListAppend, &R::on_list_append, 1);
        set(O::ListExtend, &R::on_list_extend, 1);
        set(O::ListToTuple, &R::on_list_to_tuple, 1);
        set(O::UnpackSequence, &R::on_unpack, 1);
        set(O::BeforeWith, &R::on_before_with, 1);
        set(O::LoadSpecial, &R::on_load_special, 1);
        set(O::Call, &R::on_call, -1);
        set(O::CallFunctionEx, &R::on_call, -1);
        for (O op : {O::PopJumpIfTrue, O::PopJumpIfFalse, O::PopJumpIfNone, O::PopJumpIfNotNone,
                     O::JumpIfTrueOrPop, O::JumpIfFalseOrPop})
            set(op, &R::on_branch, 1);
        return t;
    }();
    return entries.data();
}

int Recorder::pops(const Insn& insn) const {
    int n = table()[static_cast<int>(insn.op)].pops;
    if (n >= 0) return n;
    if (insn.op == Opcode::Call) return insn.arg + 2 + ((insn.flags & Insn::kKwOnStack) ? 1 : 0);
    if (insn.op == Opcode::CallFunctionEx) return 3 + (PY_VERSION_HEX >= 0x030E0000 || (insn.arg & 1));
    if (insn.op == Opcode::BuildMap) return 2 * insn.arg;
    if (insn.op == Opcode::MakeFunction) return made_function_operands(insn);
    if (insn.op == Opcode::BuildConstKeyMap) return insn.arg + 1;
    return insn.arg;
}

Recorder::Verdict Recorder::before(const Insn& insn) {
    Level& l = top();
    l.pc = static_cast<int>(&insn - l.code->insns.data());
    reason_ = Reason::None;
    detail_.clear();
    if (insn.boundary) cached_snapshot_ = -1;
    b_.set_location(location_of(b_.graph, *l.code, insn));
    if (checkpoint_due_ && insn.boundary) {
        checkpoint_due_ = false;
        int32_t snapshot = take_snapshot();
        if (snapshot < 0) {
            refuse(Reason::UnknownOp, "a store behind which the state cannot be rebuilt");
            return Verdict::Close;
        }
        Node n;
        n.op = Op::Checkpoint;
        n.ints = {0, snapshot};
        b_.append(std::move(n));
    }
    mark_ = b_.mark();
    if (insn.op == Opcode::ReturnValue && levels_.size() == 1) return Verdict::Return;
    if (insn.op == Opcode::ReturnValue) return Verdict::Go;
    if ((insn.op == Opcode::ForIter || (insn.flags & Insn::kBackward)) && !unrolls(insn)) {
        refuse(Reason::LoopHeader);
        return Verdict::Close;
    }
    constexpr size_t kMaxNodes = 4000;
    if (b_.graph.nodes.size() > kMaxNodes) {
        refuse(Reason::TooLong, std::to_string(kMaxNodes));
        return Verdict::Close;
    }
    if (!table()[static_cast<int>(insn.op)].handler) {
        refuse(Reason::UnknownOp, name(insn.op));
        return Verdict::Close;
    }
    capture(pops(insn));
    inlined_ = false;
    inline_result_.reset();
    pending_function_ = nullptr;
    if (insn.op == Opcode::StoreSubscr || insn.op == Opcode::StoreSlice) {
        if (!store_before(insn)) {
            b_.rollback(mark_);
            return Verdict::Close;
        }
    } else if (insn.op == Opcode::Call || insn.op == Opcode::CallFunctionEx) {
        CallParts call;
        if (call_parts(insn, &call) && !prepare_inline(insn, call) && !may_be_modelled(call.callable.obj)) {
            b_.rollback(mark_);
            return Verdict::Close;
        }
    }
    return Verdict::Go;
}

Recorder::Verdict Recorder::after(const Insn& insn) {
    b_.reason = Reason::None;
    b_.reason_detail.clear();
    size_t nodes = b_.graph.nodes.size();
    bool ok = (this->*table()[static_cast<int>(insn.op)].handler)(insn);
    if (!ok)
        b_.rollback(mark_);
    else
        for (size_t i = mark_; i < b_.graph.nodes.size(); ++i) {
            const Node& n = b_.graph.nodes[i];
            if (n.op == Op::Store && b_.outlives_segment(static_cast<graph::Id>(i))) checkpoint_due_ = true;
            if (n.op == Op::Library && n.ints[3] == graph::kGivesNothing) checkpoint_due_ = true;
        }
    (void)nodes;
    held_.clear();
    ops_.clear();
    return ok ? Verdict::Go : Verdict::Close;
}

void Recorder::raised() { b_.rollback(mark_); }

bool Recorder::on_nothing(const Insn&) { return true; }

bool Recorder::on_pop_top(const Insn&) {
    pop();
    return true;
}

bool Recorder::on_push_null(const Insn&) {
    push(b_.null());
    return true;
}

bool Recorder::on_copy(const Insn& insn) {
    auto& s = top().slots;
    push(s[s.size() - insn.arg]);
    return true;
}

bool Recorder::on_swap(const Insn& insn) {
    auto& s = top().slots;
    std::swap(s[s.size() - 1], s[s.size() - insn.arg]);
    return true;
}

// What reads a local raises where it is not bound.
void Recorder::needs_bound(const ShadowRef& local) {
    if (mid_frame_ && local->kind == ShadowKind::Lazy) b_.guards.expect_present(local->source);
}

bool Recorder::on_load_fast(const Insn& insn) {
    needs_bound(top().slots[insn.arg]);
    push(top().slots[insn.arg]);
    return true;
}

bool Recorder::on_load_fast_and_clear(const Insn& insn) {
    push(std::exchange(top().slots[insn.arg], b_.null()));
    return true;
}

bool Recorder::on_store_fast(const Insn& insn) {
    ShadowRef s = pop();
    top().slots[insn.arg] = std::move(s);
    return true;
}

bool Recorder::on_delete_fast(const Insn& insn) {
    needs_bound(top().slots[insn.arg]);
    top().slots[insn.arg] = b_.null();
    return true;
}

bool Recorder::on_load_const(const Insn& insn) {
    push(b_.constant(insn.obj));
    return true;
}

bool Recorder::on_load_global(const Insn& insn) {
    Level& l = top();
    PyObject* value = nullptr;
    int depth = l.frame->depth();
    // The value is on top, or below the empty slot that some versions push above it.
    int at = depth - 1;
    bool null_above = (insn.flags & Insn::kPushNull) && l.frame->slot(at) == nullptr;
    if (null_above) --at;
    value = l.frame->slot(at);
    auto source = b_.guards.global(l.frame->globals(), l.frame->builtins(), insn.obj);
    if (source == guards::kNoSource)
        return refuse(Reason::UnknownOp, "a global of a namespace that is no plain dict");
    ShadowRef s = b_.lazy(source, value);
    if (insn.flags & Insn::kPushNull) {
        if (null_above)
            push(s), push(b_.null());
        else
            push(b_.null()), push(s);
    } else {
        push(s);
    }
    return true;
}

bool Recorder::instance_attr(const Operand& base, PyObject* name, PyObject* result, ShadowRef* out,
                             ShadowRef* self) {
    using Place = guards::GuardProgram::AttrPlace;
    const ShadowRef& s = base.shadow;
    if (s->source == guards::kNoSource) return false;
    PyObject* value = nullptr;
    Place place = guards::GuardProgram::classify_attr(base.obj, name, &value);
    std::string text = b_.guards.source(s->source).text + "." + PyUnicode_AsUTF8(name);
    switch (place) {
        case Place::Unreadable: return false;
        case Place::Module: *out = b_.lazy(b_.guards.attr(s->source, name), result); return true;
        case Place::Instance:
        case Place::ClassAttr:
            if (value != result) return false;
            b_.guards.expect_type_attrs(s->source, Py_TYPE(base.obj), name);
            *out = b_.lazy(b_.guards.attr(s->source, name), result);
            return true;
        case Place::Method: {
            if (!PyFunction_Check(value)) return false;
            b_.guards.expect_type_attrs(s->source, Py_TYPE(base.obj), name);
            auto source = b_.guards.object(value, text);
            b_.guards.expect_function(source, value);
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

bool Recorder::on_load_attr(const Insn& insn) {
    Operand base = ops_[0];
    PyObject* result = top().frame->peek(0);
    if (!b_.resolve(base.shadow, base.obj)) return refuse(b_.reason, b_.reason_detail);
    ShadowRef out;
    const Host& host = numpy_host();
    bool number =
        is_ndarray(base) || base.shadow->kind == ShadowKind::Scalar || base.shadow->kind == ShadowKind::Int;
    if (number)
        out = host.lower_attr(b_, base, insn.obj, result);
    else if (!instance_attr(base, insn.obj, result, &out, nullptr))
        out = nullptr;
    if (!out) return refuse(Reason::UnknownAttr, PyUnicode_AsUTF8(insn.obj));
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
                  base.shadow->kind == ShadowKind::Int || numpy_host().is_array(base.obj);
    if (bound && (number || base.shadow->kind == ShadowKind::Tuple || base.shadow->kind == ShadowKind::Dict ||
                  base.shadow->kind == ShadowKind::Object)) {
        // A method of a builtin or extension type found on the (immutable) type.
        if (PyType_HasFeature(Py_TYPE(base.obj), Py_TPFLAGS_HEAPTYPE))
            return refuse(Reason::UnknownAttr, PyUnicode_AsUTF8(insn.obj));
        out = b_.constant(lower), self = base.shadow;
    } else {
        PyObject* result = upper ? upper : lower;
        if (bound) result = lower;
        if (number || !instance_attr(base, insn.obj, result, &out, bound ? &self : nullptr))
            return refuse(Reason::UnknownAttr, PyUnicode_AsUTF8(insn.obj));
        if (bound && !self) return refuse(Reason::UnknownAttr, PyUnicode_AsUTF8(insn.obj));
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

static bool is_number(const Operand& o) {
    const ShadowRef& s = o.shadow;
    return is_ndarray(o) || s->kind == ShadowKind::Scalar || s->kind == ShadowKind::Int ||
           (s->kind == ShadowKind::Object && PyBool_Check(s->obj.get()));
}

bool Recorder::on_binary_op(const Insn& insn) {
    for (auto& o : ops_)
        if (!b_.resolve(o.shadow, o.obj)) return refuse(b_.reason, b_.reason_detail);
    PyObject* result = top().frame->peek(0);
    ShadowRef out;
    if (is_number(ops_[0]) && is_number(ops_[1]))
        out = numpy_host().lower_binary(b_, insn.arg, ops_[0], ops_[1], result);
    else if (PyTuple_CheckExact(result) || PyList_CheckExact(result))
        out = sequence_binary(insn.arg, result);
    if (!out && b_.reason == Reason::None)
        return refuse(Reason::UnknownOp, std::string("an operator on ") + Py_TYPE(ops_[0].obj)->tp_name);
    ShadowRef b = pop(), a = pop();
    if (push_result(out)) return true;
    push(a), push(b);
    return false;
}

bool Recorder::on_subscript(const Insn& insn) {
    (void)insn;
    Operand base = ops_[0], key = ops_[1];
    PyObject* result = top().frame->peek(0);
    if (!b_.resolve(base.shadow, base.obj) || !b_.resolve(key.shadow, key.obj))
        return refuse(b_.reason, b_.reason_detail);
    ShadowRef out;
    if (is_ndarray(base)) {
        out = numpy_host().lower_subscript(b_, base, key, result);
    } else if ((base.shadow->kind == ShadowKind::Tuple || base.shadow->kind == ShadowKind::List) &&
               PyLong_CheckExact(key.obj)) {
        if (!b_.require_constant(key.shadow, key.obj)) return refuse(Reason::UnknownOp, "subscript");
        Py_ssize_t i = PyLong_AsSsize_t(key.obj), n = static_cast<Py_ssize_t>(base.shadow->items.size());
        out = base.shadow->items[i < 0 ? i + n : i];
    } else if (base.shadow->kind == ShadowKind::Tuple && PySlice_Check(key.obj)) {
        out = sequence_slice(base, key, result);
        if (!out) return refuse(Reason::UnknownOp, "a slice of tuple");
    } else if (base.shadow->kind == ShadowKind::Dict) {
        out = dict_get(ops_, nullptr);
        if (!out) return refuse(Reason::UnknownOp, "a subscript of dict");
    } else if (base.shadow->kind == ShadowKind::Opaque &&
               (PyList_CheckExact(base.obj) || PyDict_CheckExact(base.obj)) &&
               (PyLong_CheckExact(key.obj) || PyUnicode_CheckExact(key.obj)) &&
               b_.require_constant(key.shadow, key.obj)) {
        out = b_.lazy(b_.guards.item(base.shadow->source, key.obj), result);
    } else {
        return refuse(Reason::UnknownOp, std::string("a subscript of ") + Py_TYPE(base.obj)->tp_name);
    }
    ShadowRef b = pop(), a = pop();
    if (push_result(out)) return true;
    push(a), push(b);
    return false;
}

static ShadowRef slice_shadow(std::span<const Operand> parts, ShadowRef none) {
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
    if (!is_ndarray(base) && base.shadow->kind != ShadowKind::Tuple)
        return refuse(Reason::UnknownOp, std::string("a slice of ") + Py_TYPE(base.obj)->tp_name);
    PyRef key = PyRef::steal(PySlice_New(ops_[1].obj, ops_[2].obj, nullptr));
    Operand k{slice_shadow(std::span(ops_).subspan(1, 2), b_.constant(Py_None)), key.get()};
    PyObject* result = top().frame->peek(0);
    ShadowRef out = base.shadow->kind == ShadowKind::Tuple
                        ? sequence_slice(base, k, result)
                        : numpy_host().lower_subscript(b_, base, k, result);
    if (!out && b_.reason == Reason::None) return refuse(Reason::UnknownOp, "a slice of tuple");
    ShadowRef s[3] = {pop(), pop(), pop()};
    if (push_result(out)) return true;
    for (int i = 2; i >= 0; --i) push(s[i]);
    return false;
}

bool Recorder::store_before(const Insn& insn) {
    for (auto& o : ops_)
        if (!b_.resolve(o.shadow, o.obj)) return refuse(b_.reason, b_.reason_detail);
    Operand value = ops_[0], base = ops_[1];
    if (!is_ndarray(base))
        return refuse(Reason::Effect, std::string("a store into ") + Py_TYPE(base.obj)->tp_name);
    Operand key = ops_[2];
    PyRef slice;
    if (insn.op == Opcode::StoreSlice) {
        slice = PyRef::steal(PySlice_New(ops_[2].obj, ops_[3].obj, nullptr));
        key = {slice_shadow(std::span(ops_).subspan(2, 2), b_.constant(Py_None)), slice.get()};
    }
    b_.reason = Reason::None;
    if (numpy_host().lower_store(b_, base, key, value)) return true;
    return refuse(b_.reason == Reason::None ? Reason::Unstoreable : b_.reason, b_.reason_detail);
}

bool Recorder::on_store_done(const Insn& insn) {
    for (int i = insn.op == Opcode::StoreSlice ? 4 : 3; i > 0; --i) pop();
    return true;
}

bool Recorder::on_compare(const Insn& insn) {
    for (auto& o : ops_)
        if (!b_.resolve(o.shadow, o.obj)) return refuse(b_.reason, b_.reason_detail);
    PyObject* result = top().frame->peek(0);
    ShadowRef out;
    bool constants = ops_[0].shadow->kind == ShadowKind::Object && ops_[1].shadow->kind == ShadowKind::Object;
    if (constants && PyUnicode_CheckExact(ops_[0].obj) && PyUnicode_CheckExact(ops_[1].obj))
        out = b_.constant(result);
    else if (is_number(ops_[0]) && is_number(ops_[1]))
        out = numpy_host().lower_compare(b_, insn.arg, ops_[0], ops_[1], result);
    else if (!(out = sequence_compare(insn.arg, result)))
        return refuse(Reason::UnknownOp, std::string("a comparison of ") + Py_TYPE(ops_[0].obj)->tp_name);
    if (out && (insn.flags & Insn::kToBool) && out->kind != ShadowKind::Object && PyBool_Check(result)) {
        bool decided = false;
        if (out->kind == ShadowKind::Scalar && out->box == graph::Box::PyBool) {
            // already a bool
        } else {
            // The conversion to bool is part of this instruction: guard it here.
            if (!truth({out, result}, result == Py_True, &decided)) return false;
            out = b_.constant(result);
        }
    }
    ShadowRef b = pop(), a = pop();
    if (push_result(out)) return true;
    push(a), push(b);
    return false;
}

bool Recorder::on_is(const Insn&) {
    for (auto& o : ops_)
        if (!b_.resolve(o.shadow, o.obj)) return refuse(b_.reason, b_.reason_detail);
    const ShadowRef &x = ops_[0].shadow, &y = ops_[1].shadow;
    bool both = x->kind == ShadowKind::Object && y->kind == ShadowKind::Object;
    bool singleton = (ops_[0].obj == Py_None || ops_[1].obj == Py_None) && ops_[0].obj != ops_[1].obj;
    if (x != y && !both && !singleton) return refuse(Reason::UnknownOp, "an identity test");
    ShadowRef out = b_.constant(top().frame->peek(0));
    pop(), pop();
    push(out);
    return true;
}

bool Recorder::on_contains(const Insn&) {
    if (ops_[1].shadow->kind == ShadowKind::Dict && b_.require_constant(ops_[0].shadow, ops_[0].obj)) {
        ShadowRef known = b_.constant(top().frame->peek(0));  // the keys are fixed
        pop(), pop();
        push(known);
        return true;
    }
    for (auto& o : ops_)
        if (!b_.resolve(o.shadow, o.obj) || !b_.require_constant(o.shadow, o.obj))
            return refuse(Reason::UnknownOp, "a containment test");
    ShadowRef out = b_.constant(top().frame->peek(0));
    pop(), pop();
    push(out);
    return true;
}

bool Recorder::on_unary(const Insn& insn) {
    Operand a = ops_[0];
    if (!b_.resolve(a.shadow, a.obj)) return refuse(b_.reason, b_.reason_detail);
    if (!is_number(a))
        return refuse(Reason::UnknownOp, std::string("an operator on ") + Py_TYPE(a.obj)->tp_name);
    Host::Unary op = insn.op == Opcode::UnaryNegative   ? Host::Unary::Negative
                     : insn.op == Opcode::UnaryPositive ? Host::Unary::Positive
                                                        : Host::Unary::Invert;
    ShadowRef out = numpy_host().lower_unary(b_, op, a, top().frame->peek(0));
    ShadowRef s = pop();
    if (push_result(out)) return true;
    push(s);
    return false;
}

// Establishes that bool(a) is `actual` in every replay: known, decided at entry, or guarded here.
bool Recorder::truth(const Operand& a, bool actual, bool* decided) {
    *decided = true;
    if (!b_.resolve(a.shadow, a.obj)) return refuse(b_.reason, b_.reason_detail);
    switch (a.shadow->kind) {
        case ShadowKind::Object: return true;
        case ShadowKind::Tuple:
        case ShadowKind::Dict:
        case ShadowKind::List: return true;
        case ShadowKind::Opaque:
            if (!PyDict_CheckExact(a.obj) && !PyList_CheckExact(a.obj))
                return refuse(Reason::UnknownOp, std::string("the truth of ") + Py_TYPE(a.obj)->tp_name);
            b_.guards.expect_length(a.shadow->source, PyObject_Size(a.obj));
            return true;
        case ShadowKind::Int: b_.decide(guards::Relation::Ne, a.shadow->sym, b_.int_const(0)); return true;
        case ShadowKind::Array:
        case ShadowKind::Scalar: {
            ShadowRef cond = a.shadow;
            if (cond->kind == ShadowKind::Array || cond->dtype != graph::DType::Bool)
                cond = numpy_host().lower_truth(b_, a);
            if (!cond) return refuse(b_.reason, b_.reason_detail);
            if (cond->kind == ShadowKind::Object) return true;
            return emit_guard(cond, actual);
        }
        default:
            return refuse(Reason::UnknownOp,
                          std::string("the truth of ") + (a.obj ? Py_TYPE(a.obj)->tp_name : "?"));
    }
}

bool Recorder::on_not(const Insn& insn) {
    bool decided;
    PyObject* result = top().frame->peek(0);
    bool actual = (result == Py_True) != (insn.op == Opcode::UnaryNot);
    if (!truth(ops_[0], actual, &decided)) return false;
    pop();
    push(b_.constant(result));
    return true;
}

bool Recorder::on_branch(const Insn& insn) {
    Operand a = ops_[0];
    int depth = static_cast<int>(top().slots.size());
    using O = Opcode;
    if (insn.op == O::PopJumpIfNone || insn.op == O::PopJumpIfNotNone) {
        if (!b_.resolve(a.shadow, a.obj)) return refuse(b_.reason, b_.reason_detail);
        pop();
        return true;
    }
    // The operand is alive in held_; its truth was evaluated by the instruction, and evaluating a number
    // again is pure.
    bool pure = PyBool_Check(a.obj) || numpy_host().is_array(a.obj) || numpy_host().is_scalar(a.obj) ||
                PyLong_CheckExact(a.obj) || PyFloat_CheckExact(a.obj) || a.obj == Py_None ||
                PyUnicode_CheckExact(a.obj) || PyTuple_CheckExact(a.obj) || PyList_CheckExact(a.obj) ||
                PyDict_CheckExact(a.obj);
    if (!pure) return refuse(Reason::UnknownOp, std::string("the truth of ") + Py_TYPE(a.obj)->tp_name);
    int actual = PyObject_IsTrue(a.obj);
    if (actual < 0) {
        PyErr_Clear();
        return refuse(Reason::UnknownOp, "the truth of an array");
    }
    bool decided;
    if (!truth(a, actual != 0, &decided)) return false;
    bool popped = top().frame->depth() < depth;
    if (popped) pop();
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
        ShadowRef item = numpy_host().lower_subscript(b_, a, {b_.constant(key.get()), key.get()}, result);
        if (!item || !same_as_model(item, result))
            return refuse(b_.reason == Reason::None ? Reason::ModelMismatch : b_.reason, b_.reason_detail);
        items.push_back(std::move(item));
    }
    pop();
    for (size_t i = items.size(); i-- > 0;) push(std::move(items[i]));
    return true;
}

bool Recorder::on_unpack(const Insn& insn) {
    Operand a = ops_[0];
    if (!b_.resolve(a.shadow, a.obj)) return refuse(b_.reason, b_.reason_detail);
    if (a.shadow->kind == ShadowKind::Array) return unpack_array(a, insn.arg);
    if ((a.shadow->kind != ShadowKind::Tuple && a.shadow->kind != ShadowKind::List) ||
        static_cast<int>(a.shadow->items.size()) != insn.arg)
        return refuse(Reason::UnknownOp, std::string("unpacking ") + Py_TYPE(a.obj)->tp_name);
    ShadowRef s = pop();
    for (size_t i = s->items.size(); i-- > 0;) push(s->items[i]);
    return true;
}

}  // namespace stator::frontend
