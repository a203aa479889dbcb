// Which handler an instruction has, what surrounds them, and those that move things. Others are in
// record/access.cpp, record/operators.cpp, record/calls.cpp and so on.
//
// A handler runs after the instruction was executed; the operands captured before it are in ops_, bottom of
// the stack first, and their shadows are still on the level's slots. It pops them and pushes the results'
// shadows, or refuses and leaves the slots alone.

#include <array>

#include "frontend/cpython/deferred.h"
#include "frontend/cpython/wording.h"
#include "frontend/policy.h"
#include "frontend/record/locations.h"
#include "frontend/record/recorder.h"
#include "frontend/trace_builder/array_meta.h"

namespace stator::frontend {

using graph::EndKind;
using graph::Node;
using graph::Op;

bool is_ndarray(const Operand& o) {
    return o.shadow->kind == ShadowKind::Array ||
           (o.shadow->kind == ShadowKind::Opaque && o.obj && host_of(o).is_array(o.obj));
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
        set(O::StoreAttr, &R::on_store_attr, 2);
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
    return stack_effect(insn).pops;
}

// `x.resize(n)` raises where x has other references, of which a recording holds some.
bool Recorder::counts_references(const Insn& insn) const {
    return (insn.op == Opcode::LoadMethod || insn.op == Opcode::LoadAttr) && is_any_ndarray(ops_[0].obj) &&
           PyUnicode_CompareWithASCIIString(insn.obj, "resize") == 0;
}

// Whether code runs when the local is deleted: a replay keeps what came in until it ends. Otherwise its class
// is guarded, unless the trace made it.
bool Recorder::lets_go_of_finalizer(const Insn& insn) {
    const ShadowRef& s = top().slots[static_cast<size_t>(insn.arg)];
    PyObject* o = top().frame->slot(insn.arg);
    if (!o || s->source == guards::kNoSource) return false;
    if (Py_TYPE(o)->tp_finalize || Py_TYPE(o)->tp_del) return true;
    b_.guards.expect_type(s->source, Py_TYPE(o));
    return false;
}

Recorder::Verdict Recorder::before(const Insn& insn) {
    Level& l = top();
    l.pc = static_cast<int>(&insn - l.code->insns.data());
    reason_ = Reason::None;
    detail_.clear();
    if (insn.boundary) cached_snapshot_ = -1;
    b_.set_location(location_of(b_.graph, *l.code, insn), l.frame->globals());
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
    if (insn.op == Opcode::ReturnValue) return may_return() ? Verdict::Go : Verdict::Close;
    const bool loops = insn.op == Opcode::ForIter || (insn.flags & Insn::kBackward);
    const bool enters = std::exchange(begun_, true) && insn.boundary && !loops && served &&
                        l.code->is_header[static_cast<size_t>(l.pc)] && served(*l.code, l.pc);
    if (enters || (loops && !unrolls(insn))) {
        refuse(Reason::LoopHeader);
        return Verdict::Close;
    }
    if (b_.graph.nodes.size() > policy().trace_nodes) {
        refuse(Reason::TooLong, std::to_string(policy().trace_nodes));
        return Verdict::Close;
    }
    // Recording takes some hundred times as long as running: a recursive function over numbers would be
    // followed to its end.
    if (++instructions_ % policy().recorded_look_each == 0 &&
        instructions_ > policy().recorded_without_work + policy().recorded_each_node * b_.kernel_nodes()) {
        refuse(Reason::LittleWork, std::to_string(instructions_));
        return Verdict::Close;
    }
    const DeferredSignals deferred;
    if (!table()[static_cast<int>(insn.op)].handler) {
        refuse(Reason::UnknownOp, in_words(insn.op));
        return Verdict::Close;
    }
    capture(pops(insn));
    inlined_ = false;
    inline_result_.reset();
    pending_function_ = nullptr;
    pending_object_.reset();
    pending_kept_.clear();
    if (counts_references(insn)) {
        b_.rollback(mark_);
        refuse(Reason::CountsReferences, "ndarray.resize");
        return Verdict::Close;
    }
    if (insn.op == Opcode::DeleteFast && lets_go_of_finalizer(insn)) {
        b_.rollback(mark_);
        refuse(Reason::Effect, "del of an object that has a finalizer");
        return Verdict::Close;
    }
    if (insn.op == Opcode::StoreSubscr || insn.op == Opcode::StoreSlice) {
        if (!store_before(insn)) {
            b_.rollback(mark_);
            return Verdict::Close;
        }
    } else if (insn.op == Opcode::StoreAttr) {
        if (!prepare_property(insn) && !store_attr_before(insn)) {
            b_.rollback(mark_);
            return Verdict::Close;
        }
    } else if (insn.op == Opcode::LoadAttr) {
        prepare_property(insn);
    } else if (insn.op == Opcode::BinaryOp) {
        prepare_operator(insn);
    } else if (insn.op == Opcode::Call || insn.op == Opcode::CallFunctionEx) {
        CallParts call;
        if (call_parts(insn, &call) && !prepare_inline(insn, call) && !may_be_modelled(call.callable.obj)) {
            b_.rollback(mark_);
            return Verdict::Close;
        }
    }
    return Verdict::Go;
}

// What is looked up here may run Python code of NumPy's, or ask for signals. A handler that ran in it would
// be in the middle of an instruction, and what it raises would be lost.
Recorder::Verdict Recorder::after(const Insn& insn, const numpy::TemporaryReuse& reuse) {
    const DeferredSignals deferred;
    b_.reason = Reason::None;
    b_.reason_detail.clear();
    bool ok = settle_reuse(reuse) && (this->*table()[static_cast<int>(insn.op)].handler)(insn);
    if (!ok)
        b_.rollback(mark_);
    else
        for (size_t i = mark_; i < b_.graph.nodes.size(); ++i) {
            const Node& n = b_.graph.nodes[i];
            // Nothing faults on a GPU: there is nothing to go back for, so stores may share a segment.
            if (n.op == Op::Store && b_.device < 0 && b_.outlives_segment(static_cast<graph::Id>(i)))
                checkpoint_due_ = true;
            if (n.op == Op::Library && graph::has_effects(n.ints[3])) checkpoint_due_ = true;
        }
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
    const Frame& frame = *top().frame;
    push(b_.constant(insn.flags & Insn::kForCallable ? frame.slot(frame.depth() - 1) : insn.obj));
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

}  // namespace stator::frontend
