// Operators, comparisons, and what decides a branch. See record/ops.cpp for the rules.

#include "frontend/record/recorder.h"

#include <algorithm>
#include <span>

#include "frontend/cpython/functions.h"
#include "guards/check/functions.h"
#include "guards/check/module.h"

namespace stator::frontend {

static bool is_number(const Operand& o) {
    const ShadowRef& s = o.shadow;
    return is_ndarray(o) || s->kind == ShadowKind::Scalar || s->kind == ShadowKind::Int ||
           (s->kind == ShadowKind::Object && PyBool_Check(s->obj.get()));
}

// A Python number whose value is the trace's own: not one that came in, or was computed from what did.
static bool is_constant_number(TraceBuilder& b, const Operand& o) {
    const Shadow& s = *o.shadow;
    if (s.kind == ShadowKind::Int) return b.syms().as_const(s.sym).has_value();
    return s.kind == ShadowKind::Scalar && s.box == graph::Box::PyFloat &&
           b.graph.node(s.value).op == graph::Op::Const;
}

// The operands of x + [1, 2, 3]. Other objects may have operators of their own.
static bool is_ndarray_with_sequence(const Operand& a, const Operand& b) {
    return is_ndarray(a) && (PyList_CheckExact(b.obj) || PyTuple_CheckExact(b.obj));
}

// Whether the operand came in, and nothing in the frame refers to it but the stack: in each call it is
// another matter whether the caller does.
bool Recorder::may_be_temporary(const Operand& o) const {
    const ShadowRef& s = o.shadow;
    if (s->source == guards::kNoSource || b_.guards.source(s->source).kind != guards::SourceKind::Slot)
        return false;
    return std::ranges::none_of(levels_, [&](const Level* l) {
        const auto locals = std::span(l->slots).first(static_cast<size_t>(l->code->nlocalsplus));
        return std::ranges::find(locals, s) != locals.end();
    });
}

numpy::TemporaryReuse::Held Recorder::references() const {
    const auto held = [&](size_t from_top) {
        if (ops_.size() <= from_top) return 0;
        const Operand& o = ops_[ops_.size() - 1 - from_top];
        return 1 + (o.shadow->obj.get() == o.obj);
    };
    return {held(0), held(1)};
}

// Where NumPy computes large results into a temporary with other strides than a small result has, or with the
// operands exchanged, the trace is for sizes on this side.
bool Recorder::settle_reuse(const numpy::TemporaryReuse& reuse) {
    if (!reuse.is_possible()) return true;
    for (const Operand& o : ops_)
        if (numpy::would_show(o.obj, top().frame->peek(0)) && may_be_temporary(o))
            return refuse(Reason::TemporaryOrder);
    if (reuse.may_exchange() &&
        std::ranges::any_of(ops_, [&](const Operand& o) { return may_be_temporary(o); }))
        return refuse(Reason::TemporaryOrder);
    if (reuse.operand() < 0) return true;
    // The topmost ones: behind them there is what is called.
    bool large = false;
    if (!settle_size(ops_[ops_.size() - static_cast<size_t>(reuse.operands() - reuse.operand())],
                     reuse.itemsize(), &large))
        return false;
    if (large && reuse.exchanges()) std::swap(ops_[ops_.size() - 2], ops_[ops_.size() - 1]);
    return true;
}

// From now on the trace is for arrays of this shape that NumPy reuses, or for such that it does not.
bool Recorder::settle_size(const Operand& o, int64_t itemsize, bool* large) {
    if (!b_.resolve(o.shadow, o.obj)) return refuse(b_.reason, b_.reason_detail);
    if (o.shadow->kind != ShadowKind::Array || o.shadow->input >= 0) return refuse(Reason::TemporaryOrder);
    const graph::Sym elements = b_.syms().product(b_.shape(o.shadow));
    const graph::Sym bytes = b_.syms().mul(elements, b_.int_const(itemsize));
    *large = b_.hint(bytes) >= numpy::kReusedBytes;
    return b_.require(*large ? guards::Relation::Ge : guards::Relation::Lt, bytes,
                      b_.int_const(numpy::kReusedBytes)) ||
           refuse(Reason::TemporaryOrder);
}

bool Recorder::on_binary_op(const Insn& insn) {
    if (const auto done = followed()) return *done;
    for (auto& o : ops_)
        if (!b_.resolve(o.shadow, o.obj)) return refuse(b_.reason, b_.reason_detail);
    PyObject* result = top().frame->peek(0);
    ShadowRef out;
    const Host& host = host_of(ops_);
    const HostScope scope(b_, host);
    if (PyFloat_CheckExact(result) && is_constant_number(b_, ops_[0]) && is_constant_number(b_, ops_[1]))
        out = b_.constant(result);
    else if (is_number(ops_[0]) && is_number(ops_[1]))
        out = host.lower_binary(b_, insn.arg, ops_[0], ops_[1], result);
    else if (PyTuple_Check(result) || PyList_CheckExact(result))
        out = sequence_binary(insn.arg, result);
    else if (is_ndarray_with_sequence(ops_[0], ops_[1]) || is_ndarray_with_sequence(ops_[1], ops_[0]))
        out = host.lower_binary(b_, insn.arg, ops_[0], ops_[1], result);
    if (!out && b_.reason == Reason::None)
        return refuse(Reason::UnknownOp, "an operator on " + kind_for_messages(ops_[0].obj));
    ShadowRef b = pop(), a = pop();
    if (push_result(out)) return true;
    push(a), push(b);
    return false;
}

bool Recorder::on_compare(const Insn& insn) {
    for (auto& o : ops_)
        if (!b_.resolve(o.shadow, o.obj)) return refuse(b_.reason, b_.reason_detail);
    PyObject* result = top().frame->peek(0);
    ShadowRef out;
    const Host& host = host_of(ops_);
    const HostScope scope(b_, host);
    // From 3.13 on one instruction both compares and asks for the truth, and only the truth is on the stack.
    // torch and CuPy give an array for a comparison, whose dtype and device the trace needs: it is made
    // again, which has no effects.
    PyRef compared;
    if ((insn.flags & Insn::kToBool) && PyBool_Check(result) && &host != &numpy_host() &&
        is_number(ops_[0]) && is_number(ops_[1])) {
        compared = PyRef::steal(PyObject_RichCompare(ops_[0].obj, ops_[1].obj, insn.arg));
        if (!compared) {
            // Nothing is lost: Ctrl-C comes again at the next instruction.
            if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
            PyErr_Clear();
            return refuse(Reason::UnknownOp, "a comparison of " + kind_for_messages(ops_[0].obj));
        }
    }
    PyObject* const given = compared ? compared.get() : result;
    bool constants = ops_[0].shadow->kind == ShadowKind::Object && ops_[1].shadow->kind == ShadowKind::Object;
    if (constants && PyUnicode_CheckExact(ops_[0].obj) && PyUnicode_CheckExact(ops_[1].obj))
        out = b_.constant(result);
    else if (is_number(ops_[0]) && is_number(ops_[1]))
        out = host.lower_compare(b_, insn.arg, ops_[0], ops_[1], given);
    else if (!(out = sequence_compare(insn.arg, result)))
        return refuse(Reason::UnknownOp, "a comparison of " + kind_for_messages(ops_[0].obj));
    if (out && (insn.flags & Insn::kToBool) && out->kind != ShadowKind::Object && PyBool_Check(result)) {
        bool decided = false;
        if (out->kind == ShadowKind::Scalar && out->box == graph::Box::PyBool) {
            // already a bool
        } else {
            // The conversion to bool is part of this instruction: guard it here.
            if (!truth({out, given}, result == Py_True, &decided)) return false;
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
    ShadowRef out = identity(top().frame->peek(0));
    if (!out) return refuse(Reason::UnknownOp, "an identity test");
    pop(), pop();
    push(out);
    return true;
}

// Containers ask for identity before they compare. Guards promise that what stands for the object compares as
// it does: one by code stands for functions that are not equal, one by value for NaNs, which equal themselves
// alone.
bool Recorder::is_same_as_equal(const Operand& o) {
    if (o.shadow->kind == ShadowKind::Tuple && PyTuple_CheckExact(o.obj)) {
        for (size_t i = 0; i < o.shadow->items.size(); ++i)
            if (!is_same_as_equal({o.shadow->items[i], PyTuple_GET_ITEM(o.obj, static_cast<Py_ssize_t>(i))}))
                return false;
        return true;
    }
    if (guards::is_function(o.obj) && o.shadow->source != guards::kNoSource)
        b_.guards.expect_is(o.shadow->source, o.obj);
    if (!answers_for_itself(o.obj)) return false;
    return !PyFloat_Check(o.obj) || PyFloat_AS_DOUBLE(o.obj) == PyFloat_AS_DOUBLE(o.obj);
}

// Whether no code of the program's decides what it equals, how long it is and whether it is true.
bool Recorder::answers_for_itself(PyObject* obj) {
    if (PyType_Check(obj)) return Py_IS_TYPE(obj, &PyType_Type);
    return !PyType_HasFeature(Py_TYPE(obj), Py_TPFLAGS_HEAPTYPE);
}

bool Recorder::on_contains(const Insn&) {
    if (ops_[1].shadow->kind == ShadowKind::Dict && b_.require_constant(ops_[0].shadow, ops_[0].obj) &&
        is_same_as_equal(ops_[0])) {
        ShadowRef known = b_.constant(top().frame->peek(0));  // the keys are fixed
        pop(), pop();
        push(known);
        return true;
    }
    for (auto& o : ops_)
        if (!b_.resolve(o.shadow, o.obj)) return refuse(b_.reason, b_.reason_detail);
    if (PyDict_CheckExact(ops_[1].obj) && ops_[1].shadow->kind == ShadowKind::Opaque &&
        constant_key(ops_[0])) {
        const int has = PyDict_Contains(ops_[1].obj, ops_[0].obj);
        const bool known = has == 1 && !b_.stored_items() && ops_[1].shadow->source != guards::kNoSource &&
                           b_.meet_dict(ops_[1].shadow, ops_[1].obj);
        if (known) b_.guards.expect_present(b_.guards.item(ops_[1].shadow->source, ops_[0].obj));
        if (!known && !keys_known(ops_[1])) return refuse(Reason::UnknownOp, "a containment test");
        ShadowRef out = b_.constant(top().frame->peek(0));
        pop(), pop();
        push(out);
        return true;
    }
    for (auto& o : ops_)
        if (!b_.require_constant(o.shadow, o.obj) || !is_same_as_equal(o))
            return refuse(Reason::UnknownOp, "a containment test");
    const PyTypeObject* container = Py_TYPE(ops_[1].obj);
    if (container != &PyTuple_Type && container != &PyUnicode_Type && container != &PyBytes_Type &&
        container != &PyFrozenSet_Type && container != &PyRange_Type)
        return refuse(Reason::UnknownOp, "a containment test");
    ShadowRef out = b_.constant(top().frame->peek(0));
    pop(), pop();
    push(out);
    return true;
}

bool Recorder::on_unary(const Insn& insn) {
    Operand a = ops_[0];
    if (!b_.resolve(a.shadow, a.obj)) return refuse(b_.reason, b_.reason_detail);
    if (!is_number(a)) return refuse(Reason::UnknownOp, "an operator on " + kind_for_messages(a.obj));
    Host::Unary op = insn.op == Opcode::UnaryNegative   ? Host::Unary::Negative
                     : insn.op == Opcode::UnaryPositive ? Host::Unary::Positive
                                                        : Host::Unary::Invert;
    const HostScope scope(b_, host_of(a));
    PyObject* result = top().frame->peek(0);
    ShadowRef out = PyFloat_CheckExact(result) && is_constant_number(b_, a)
                        ? b_.constant(result)
                        : host_of(a).lower_unary(b_, op, a, result);
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
        case ShadowKind::Object:
            return answers_for_itself(a.obj) ||
                   refuse(Reason::UnknownOp, "the truth of " + kind_for_messages(a.obj));
        case ShadowKind::Tuple:
        case ShadowKind::Dict:
        case ShadowKind::List: return true;
        case ShadowKind::Opaque:
            if ((!guards::is_plain_dict(a.obj) && !PyList_CheckExact(a.obj)) ||
                a.shadow->source == guards::kNoSource || (PyDict_Check(a.obj) && b_.stored_items()))
                return refuse(Reason::UnknownOp, "the truth of " + kind_for_messages(a.obj));
            if (PyList_CheckExact(a.obj) && !b_.look_into_list(a.shadow, a.obj, false))
                return refuse(Reason::UnknownOp, "the truth of a list that was appended to");
            b_.guards.expect_length(a.shadow->source, PyObject_Size(a.obj));
            return true;
        case ShadowKind::Int: b_.decide(guards::Relation::Ne, a.shadow->sym, b_.int_const(0)); return true;
        case ShadowKind::Array:
        case ShadowKind::Scalar: {
            ShadowRef cond = a.shadow;
            if (cond->kind == ShadowKind::Array || cond->dtype != graph::DType::Bool) {
                const HostScope scope(b_, host_of(a));
                cond = host_of(a).lower_truth(b_, a);
            }
            if (!cond) return refuse(b_.reason, b_.reason_detail);
            if (cond->kind == ShadowKind::Object) return true;
            return emit_guard(cond, actual);
        }
        default:
            return refuse(Reason::UnknownOp, "the truth of " + (a.obj ? kind_for_messages(a.obj) : "this"));
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
    bool pure = PyBool_Check(a.obj) || host_of(a).is_array(a.obj) || numpy_host().is_scalar(a.obj) ||
                PyLong_CheckExact(a.obj) || PyFloat_CheckExact(a.obj) || a.obj == Py_None ||
                PyUnicode_CheckExact(a.obj) || PyTuple_CheckExact(a.obj) || PyList_CheckExact(a.obj) ||
                guards::is_plain_dict(a.obj);
    if (!pure) return refuse(Reason::UnknownOp, "the truth of " + kind_for_messages(a.obj));
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

}  // namespace stator::frontend
