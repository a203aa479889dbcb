// Control flow: which instructions belong to the loop, versions of blocks, and how paths meet and leave. See builder.h.

#include "frontend/regions/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/hosts/host.h"
#include "frontend/regions/entry.h"

namespace stator::frontend::regions {

namespace {

constexpr int kMostVersions = 8;      // of one instruction
constexpr size_t kMostBlocks = 400;   // what is compiled grows with the source, and with this at most
constexpr bool kIteratorStays = PY_MINOR_VERSION >= 14;  // at the end of a loop, for POP_ITER

// Calls f with the id of every value that may differ from one run of a block to the next.
template <class F>
void each_variable(Value& v, F f) {
    if (v.whole) return;
    switch (v.kind) {
        case Kind::Int:
        case Kind::Float:
        case Kind::Bool:
        case Kind::Scalar:
        case Kind::Array: f(v.id); return;
        default:
            for (Value& item : v.items) each_variable(item, f);
    }
}

graph::RegionType type_of(const graph::Region& r, ValueId id) { return r.types[static_cast<size_t>(id)]; }

}  // namespace

Builder::Builder(Frame& f, const CodeInfo& code, int header)
    : f_(f), code_(code), header_(header), nlocals_(code.nlocalsplus) {}

bool Builder::refuse(Reason reason, std::string detail) {
    if (reason_ == Reason::None) {
        reason_ = reason;
        detail_ = std::move(detail);
    }
    return false;
}

PyObject* Builder::keep(PyObject* o) {
    out_->objects.push_back(PyRef::borrow(o));
    return o;
}

// The natural loop of the header: what reaches one of its back edges without passing the header.
void Builder::find_loop() {
    const auto n = code_.insns.size();
    std::vector<std::vector<int>> before(n);
    std::vector<int> todo;
    leader_.assign(n, 0);
    for (size_t i = 0; i < n; ++i) {
        const Insn& insn = code_.insns[i];
        const bool falls = insn.op != Opcode::Jump && insn.op != Opcode::ReturnValue &&
                           insn.op != Opcode::RaiseVarargs && insn.op != Opcode::Reraise;
        if (falls && i + 1 < n) before[i + 1].push_back(static_cast<int>(i));
        if (insn.target >= 0) {
            leader_[static_cast<size_t>(insn.target)] = 1;
            before[static_cast<size_t>(insn.target)].push_back(static_cast<int>(i));
            if (insn.target == header_ && (insn.flags & Insn::kBackward)) todo.push_back(static_cast<int>(i));
        }
    }
    inside_.assign(n, 0);
    inside_[static_cast<size_t>(header_)] = 1;
    while (!todo.empty()) {
        const int i = todo.back();
        todo.pop_back();
        if (inside_[static_cast<size_t>(i)]) continue;
        inside_[static_cast<size_t>(i)] = 1;
        for (int p : before[static_cast<size_t>(i)]) todo.push_back(p);
    }
    stored_.assign(static_cast<size_t>(nlocals_), 0);
    for (size_t i = 0; i < n; ++i) {
        const Opcode op = code_.insns[i].op;
        if (inside_[i] && (op == Opcode::StoreFast || op == Opcode::DeleteFast || op == Opcode::LoadFastAndClear))
            stored_[static_cast<size_t>(code_.insns[i].arg)] = 1;
    }
}

// ---- versions ----

int Builder::version_at(int pc, const State& s) {
    std::string key;
    for (const Value& v : s.slots) sign(v, &key);
    const bool is_clean = std::all_of(s.slots.begin() + nlocals_, s.slots.end(),
                                      [](const Value& v) { return v.is_iterator(); });
    if (!is_clean) key += fmt::format("#{}", static_cast<const void*>(s.resume.get()));
    auto [it, fresh] = version_index_.try_emplace({pc, key}, static_cast<int>(versions_.size()));
    if (!fresh) return it->second;
    if (++versions_per_pc_[pc] > kMostVersions || r_->blocks.size() > kMostBlocks) {
        refuse(Reason::RegionTypes, "the kinds of its variables change too often");
        return -1;
    }
    Version v{pc, s, static_cast<graph::BlockId>(r_->blocks.size()), {}};
    r_->blocks.emplace_back();
    for (size_t i = 0; i < v.state.slots.size(); ++i) {
        if (i < static_cast<size_t>(nlocals_) && !stored_[i]) continue;
        each_variable(v.state.slots[i], [&](ValueId& id) {
            const ValueId param = r_->add(type_of(*r_, id));
            r_->blocks.back().params.push_back(param);
            id = param;
        });
        // What made it is not known here any more.
        v.state.slots[i].part_of = -1;
    }
    if (is_clean) {
        v.state.resume = std::make_shared<ResumePoint>();
        v.state.resume->pc = pc;
        v.state.resume->slots = v.state.slots;
    }
    versions_.push_back(std::move(v));
    todo_.push_back(it->second);
    return it->second;
}

graph::Edge Builder::edge_to(int pc, const State& s, bool* ok) {
    graph::Edge edge;
    const int index = version_at(pc, s);
    if (index < 0) {
        *ok = false;
        return edge;
    }
    edge.to = versions_[static_cast<size_t>(index)].block;
    State from = s;
    for (size_t i = 0; i < from.slots.size(); ++i) {
        if (i < static_cast<size_t>(nlocals_) && !stored_[i]) continue;
        each_variable(from.slots[i], [&](ValueId& id) { edge.args.push_back(id); });
    }
    return edge;
}

void Builder::end_block(graph::Terminator t) {
    r_->blocks[static_cast<size_t>(block_)].end = std::move(t);
    ended_ = true;
}

int Builder::exit_for(const ResumeRef& r, const char* label) {
    if (r->exit >= 0) return r->exit;
    graph::RegionExit e;
    e.label = label;
    e.line = code_.insns[static_cast<size_t>(r->pc)].line;
    for (Value& v : r->slots) {
        if (v.kind == Kind::Lazy || (v.kind == Kind::Array && v.slot < 0)) return -1;
        each_variable(v, [&](ValueId& id) { e.values.push_back(id); });
    }
    r->exit = static_cast<int>(r_->exits.size());
    r_->exits.push_back(std::move(e));
    out_->exits.push_back(r);
    return r->exit;
}

int Builder::exit_here() {
    if (!s_.resume) {
        refuse(Reason::RegionOp, "a check between a store and the end of its statement");
        return -1;
    }
    return exit_for(s_.resume, "check");
}

// A block that only leaves, for edges out of the loop.
bool Builder::leave_at(int pc, const State& s, graph::Edge* edge) {
    auto resume = std::make_shared<ResumePoint>();
    resume->pc = pc;
    resume->slots = s.slots;
    for (const Value& v : resume->slots)
        if (v.kind == Kind::Lazy) return unknown("an unfinished expression where the loop ends");
    graph::Terminator t;
    t.kind = graph::Terminator::Leave;
    t.exit = exit_for(resume, "end");
    edge->to = static_cast<graph::BlockId>(r_->blocks.size());
    r_->blocks.emplace_back();
    r_->blocks.back().end = t;
    return true;
}

bool Builder::jump_to(int pc) {
    graph::Terminator t;
    t.kind = graph::Terminator::Jump;
    bool ok = true;
    if (inside_[static_cast<size_t>(pc)])
        t.then = edge_to(pc, s_, &ok);
    else
        ok = leave_at(pc, s_, &t.then);
    if (!ok) return false;
    end_block(std::move(t));
    return true;
}

bool Builder::branch_to(ValueId cond, int pc_true, const State& on_true, int pc_false, const State& on_false) {
    graph::Terminator t;
    t.kind = graph::Terminator::Branch;
    t.cond = cond;
    bool ok = true;
    const auto edge = [&](int pc, const State& s, graph::Edge* e) {
        if (inside_[static_cast<size_t>(pc)])
            *e = edge_to(pc, s, &ok);
        else
            ok &= leave_at(pc, s, e);
    };
    edge(pc_true, on_true, &t.then);
    if (ok) edge(pc_false, on_false, &t.other);
    if (!ok) return false;
    end_block(std::move(t));
    return true;
}

bool Builder::clean() const {
    return std::all_of(s_.slots.begin() + nlocals_, s_.slots.end(), [](const Value& v) { return v.is_iterator(); });
}

// ---- the walk ----

bool Builder::run(Version& v) {
    block_ = v.block;
    s_ = v.state;
    ended_ = false;
    same_.clear();
    std::erase_if(extents_, [&](auto& e) { return !input_of_.count(e.first.first); });
    const int start = v.pc;
    for (pc_ = start; !ended_;) {
        const Insn& insn = code_.insns[static_cast<size_t>(pc_)];
        const bool leader = leader_[static_cast<size_t>(pc_)];
        if (pc_ != start && leader) {
            if (!jump_to(pc_)) return false;
            break;
        }
        if (insn.boundary && clean()) {
            s_.resume = std::make_shared<ResumePoint>();
            s_.resume->pc = pc_;
            s_.resume->slots = s_.slots;
        }
        if (!step(insn)) return false;
        if (!ended_) {
            ++pc_;
            if (!inside_[static_cast<size_t>(pc_)] && !jump_to(pc_)) return false;
        }
    }
    return true;
}

bool Builder::on_branch(const Insn& insn) {
    const bool keeps = insn.op == Opcode::JumpIfTrueOrPop || insn.op == Opcode::JumpIfFalseOrPop;
    ValueId cond = -1;
    if (insn.op == Opcode::PopJumpIfNone || insn.op == Opcode::PopJumpIfNotNone) {
        const Value v = pop();
        if (v.kind == Kind::Empty || v.kind == Kind::Passed) return unknown("a test for None");
        const bool taken = v.is_none() == (insn.op == Opcode::PopJumpIfNone);
        if (taken) return jump_to(insn.target);
        return true;
    }
    if (!truth(top(), &cond)) return false;
    const bool on = insn.op == Opcode::PopJumpIfTrue || insn.op == Opcode::JumpIfTrueOrPop;
    if (!keeps) pop();
    State taken = s_, next = s_;
    if (keeps) next.slots.pop_back();
    if (insn.flags & Insn::kBackward) {
        auto resume = std::make_shared<ResumePoint>();
        resume->pc = insn.target;
        resume->slots = taken.slots;
        graph::Inst poll;
        poll.op = graph::RegionOp::Poll;
        poll.exit = exit_for(resume, "poll");
        // Asked whether or not the loop goes on; where it ends, Python tests the condition once more.
        graph::Inst guarded = poll;
        const bool can_redo = s_.resume != nullptr;
        if (can_redo) guarded.exit = exit_for(s_.resume, "poll");
        if (guarded.exit < 0) return unknown("a loop that cannot be interrupted");
        if (can_redo) emit_effect(std::move(guarded));
    }
    if (on) return branch_to(cond, insn.target, taken, pc_ + 1, next);
    return branch_to(cond, pc_ + 1, next, insn.target, taken);
}

bool Builder::on_for_iter(const Insn& insn) {
    Value& it = top();
    if (it.kind == Kind::RangeIter) {
        const ValueId next = it.items[0].id, left = it.items[1].id, step = it.items[2].id;
        const ValueId more = pointwise(graph::Op::Greater, DType::I64, DType::Bool, {left, const_int(0)});
        State on = s_, off = s_;
        Value& i = on.slots.back();
        i.items[0].id = pointwise(graph::Op::Add, DType::I64, DType::I64, {next, step});
        i.items[1].id = pointwise(graph::Op::Subtract, DType::I64, DType::I64, {left, const_int(1)});
        on.slots.push_back(int_value(next));
        if (!kIteratorStays) off.slots.pop_back();
        return branch_to(more, pc_ + 1, on, insn.target, off);
    }
    if (it.kind == Kind::ArrayIter) {
        const Value array = it.items[0], position = it.items[1];
        const ValueId more =
            pointwise(graph::Op::Less, DType::I64, DType::Bool, {position.id, extent(array.id, 0)});
        State on = s_, off = s_;
        on.slots.back().items[1].id =
            pointwise(graph::Op::Add, DType::I64, DType::I64, {position.id, const_int(1)});
        if (array.rank != 1) return unknown("a loop over the rows of an array");
        if (!kIteratorStays) off.slots.pop_back();
        // The element is read on the side where there is one.
        graph::Terminator t;
        t.kind = graph::Terminator::Branch;
        t.cond = more;
        const auto body = static_cast<graph::BlockId>(r_->blocks.size());
        r_->blocks.emplace_back();
        t.then.to = body;
        bool ok = true;
        if (inside_[static_cast<size_t>(insn.target)])
            t.other = edge_to(insn.target, off, &ok);
        else
            ok = leave_at(insn.target, off, &t.other);
        if (!ok) return false;
        end_block(std::move(t));
        block_ = body;
        ended_ = false;
        same_.clear();
        graph::Inst load;
        load.op = graph::RegionOp::Load;
        load.in = {array.id, position.id};
        const ValueId v = emit(std::move(load), {array.dtype, -1});
        s_ = on;
        push(scalar_value(array.dtype, v));
        return jump_to(pc_ + 1);
    }
    return unknown("a loop over " + describe(it));
}

// ---- entry ----

std::optional<Value> Builder::entry_value(PyObject* o, int slot, std::vector<int> path) {
    EntryInput in{};
    in.slot = slot;
    in.path = path;
    const auto add = [&](EntryInput::Kind kind, DType t, int rank) {
        in.kind = kind;
        in.dtype = t;
        in.rank = rank;
        in.value = r_->add({t, static_cast<int8_t>(rank)});
        input_of_[in.value] = static_cast<int>(out_->inputs.size());
        out_->inputs.push_back(in);
        return in.value;
    };
    if (!o) return Value{};
    EntryKind kind = classify(o);
    Value v;
    switch (kind.kind) {
        case EntryKind::Int: v = int_value(add(EntryInput::Int, DType::I64, -1)); break;
        case EntryKind::Float: v = float_value(add(EntryInput::Float, DType::F64, -1)); break;
        case EntryKind::Bool: v = bool_value(add(EntryInput::Bool, DType::Bool, -1)); break;
        case EntryKind::Scalar:
            v = scalar_value(kind.dtype, add(EntryInput::Scalar, kind.dtype, -1));
            break;
        case EntryKind::Array: {
            in.contiguous = kind.contiguous;
            v.kind = Kind::Array;
            v.dtype = kind.dtype;
            v.rank = kind.rank;
            v.id = add(EntryInput::Array, kind.dtype, kind.rank);
            if (!path.empty()) return std::nullopt;
            break;
        }
        case EntryKind::RangeIter: {
            if (!path.empty() || Py_REFCNT(o) != 1) return std::nullopt;
            v = composed(Kind::RangeIter, {int_value(add(EntryInput::RangeNext, DType::I64, -1)),
                                           int_value(add(EntryInput::RangeLeft, DType::I64, -1)),
                                           int_value(add(EntryInput::RangeStep, DType::I64, -1))});
            return v;
        }
        case EntryKind::Tuple: {
            if (!path.empty()) return std::nullopt;
            v.kind = Kind::Tuple;
            out_->tuples.emplace_back(slot, static_cast<int>(PyTuple_GET_SIZE(o)));
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
                auto item = entry_value(PyTuple_GET_ITEM(o, i), slot, {static_cast<int>(i)});
                if (!item) return std::nullopt;
                item->whole = false;
                v.items.push_back(std::move(*item));
            }
            break;
        }
        case EntryKind::Other:
            if (!path.empty()) return std::nullopt;
            v = known(keep(o));
            out_->same.emplace_back(slot, PyRef::borrow(o));
            break;
    }
    v.slot = slot;
    return v;
}

bool Builder::read_entry() {
    const int depth = f_.depth();
    out_->depth = depth;
    std::vector<char> named(static_cast<size_t>(depth), 0);
    for (size_t i = 0; i < code_.insns.size(); ++i) {
        const Insn& insn = code_.insns[i];
        if (!inside_[i]) continue;
        switch (insn.op) {
            case Opcode::LoadFast:
            case Opcode::LoadFastCheck:
            case Opcode::StoreFast:
            case Opcode::DeleteFast:
            case Opcode::LoadFastAndClear: named[static_cast<size_t>(insn.arg)] = 1; break;
            default: break;
        }
    }
    for (int i = 0; i < depth; ++i) {
        if (!f_.slot_is_object(i)) return unknown("an exception that is being handled");
        PyObject* o = f_.slot(i);
        const bool on_stack = i >= nlocals_;
        Value passed;
        passed.kind = Kind::Passed;
        passed.slot = i;
        passed.whole = true;
        const bool changes = !on_stack && stored_[static_cast<size_t>(i)];
        if (on_stack || named[static_cast<size_t>(i)]) {
            auto v = entry_value(o, i, {});
            if (!v && changes) {
                return unknown(std::string("a variable that holds a ") + Py_TYPE(o)->tp_name);
            }
            if (v) {
                if (!o) out_->empty.push_back(i);
                // What the loop rebinds has no fixed place, but for arrays, which keep their identity.
                v->whole = o && (v->kind == Kind::Array || v->kind == Kind::Known || (!changes && !on_stack));
                if (v->kind == Kind::RangeIter) v->whole = false;
                if (v->kind == Kind::Tuple && changes) v->whole = false;
                s_.slots.push_back(std::move(*v));
                continue;
            }
            if (on_stack) return unknown(std::string("a loop over a ") + (o ? Py_TYPE(o)->tp_name : "NULL"));
        }
        s_.slots.push_back(passed);
    }
    return true;
}

namespace {

void count_uses(const graph::Region& r, std::vector<int>& uses) {
    uses.assign(r.types.size(), 0);
    const auto use = [&](ValueId v) {
        if (v >= 0) ++uses[static_cast<size_t>(v)];
    };
    const auto insts = [&](const std::vector<graph::Inst>& list) {
        for (const graph::Inst& i : list)
            for (ValueId v : i.in) use(v);
    };
    for (const graph::Block& b : r.blocks) {
        insts(b.insts);
        use(b.end.cond);
        for (ValueId v : b.end.then.args) use(v);
        for (ValueId v : b.end.other.args) use(v);
    }
    for (const graph::NestBody& n : r.nests) insts(n.insts);
    for (const graph::RegionExit& e : r.exits)
        for (ValueId v : e.values) use(v);
}

}  // namespace

// Inputs that nothing needs are not read and not guarded.
void Builder::finish_inputs(BuiltRegion& out) {
    std::vector<int> uses;
    count_uses(*r_, uses);
    std::vector<EntryInput> kept;
    for (EntryInput& in : out.inputs) {
        if (!uses[static_cast<size_t>(in.value)]) continue;
        graph::RegionInput ri;
        ri.value = in.value;
        ri.contiguous = in.contiguous;
        ri.written = in.written;
        ri.source = in.slot < nlocals_
                        ? PyUnicode_AsUTF8(PyTuple_GET_ITEM(code_.code->co_localsplusnames, in.slot))
                        : fmt::format("stack{}", in.slot - nlocals_);
        for (int p : in.path) ri.source += fmt::format("[{}]", p);
        if (in.kind == EntryInput::RangeNext) ri.source += ".next";
        if (in.kind == EntryInput::RangeLeft) ri.source += ".left";
        if (in.kind == EntryInput::RangeStep) ri.source += ".step";
        r_->inputs.push_back(std::move(ri));
        kept.push_back(std::move(in));
    }
    out.inputs = std::move(kept);
}

std::unique_ptr<BuiltRegion> Builder::build() {
    out_ = std::make_unique<BuiltRegion>();
    out_->graph = std::make_shared<graph::Region>();
    r_ = out_->graph.get();
    pc_ = header_;
    find_loop();
    if (!read_entry()) return nullptr;
    r_->blocks.emplace_back();  // the entry
    block_ = 0;
    for (const EntryInput& in : out_->inputs)
        if (in.kind == EntryInput::Array)
            for (int axis = 0; axis < in.rank; ++axis) extent(in.value, axis);
    if (!jump_to(header_)) return nullptr;
    while (!todo_.empty()) {
        const int index = todo_.back();
        todo_.pop_back();
        Version v = versions_[static_cast<size_t>(index)];
        if (!run(v)) return nullptr;
    }
    graph::simplify(*r_);
    finish_inputs(*out_);
    graph::find_loops(*r_);
    return std::move(out_);
}

}  // namespace stator::frontend::regions
