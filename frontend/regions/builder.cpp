// Control flow: which instructions belong to the loop, versions of blocks, and how paths meet and leave. See builder.h.

#include "frontend/regions/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/hosts/host.h"
#include "frontend/cpython/iterators.h"
#include "frontend/regions/entry.h"

namespace stator::frontend::regions {

namespace {

constexpr int kMostVersions = 24;      // of one instruction
constexpr size_t kMostBlocks = 1200;   // what is compiled grows with the source, and with this at most
constexpr bool kIteratorStays = PY_MINOR_VERSION >= 14;  // at the end of a loop, for POP_ITER

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

// Which instructions are jumped to.
const std::vector<char>& Builder::leaders(const CodeInfo& code) {
    auto [it, fresh] = leaders_.try_emplace(&code);
    if (fresh) {
        it->second.assign(code.insns.size(), 0);
        for (const Insn& insn : code.insns)
            if (insn.target >= 0) it->second[static_cast<size_t>(insn.target)] = 1;
    }
    return it->second;
}

// The natural loop of the header: what reaches one of its back edges without passing the header.
void Builder::find_loop() {
    const auto n = code_.insns.size();
    std::vector<std::vector<int>> before(n);
    std::vector<int> todo;
    for (size_t i = 0; i < n; ++i) {
        const Insn& insn = code_.insns[i];
        const bool falls = insn.op != Opcode::Jump && insn.op != Opcode::ReturnValue &&
                           insn.op != Opcode::RaiseVarargs && insn.op != Opcode::Reraise;
        if (falls && i + 1 < n) before[i + 1].push_back(static_cast<int>(i));
        if (insn.target >= 0) {
            before[static_cast<size_t>(insn.target)].push_back(static_cast<int>(i));
            if (insn.flags & Insn::kBackward) loop_end_[insn.target] = std::max(loop_end_[insn.target], static_cast<int>(i));
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

bool Builder::is_loop_header(int pc) const { return s_.levels.size() == 1 && code_.is_header[static_cast<size_t>(pc)]; }

// Whether a block gets its own names for what is in the slot. What the loop does not rebind keeps its name.
bool Builder::carries(size_t slot) const { return slot >= static_cast<size_t>(nlocals_) || stored_[slot]; }

namespace {

bool can_vary(const Value& v) { return v.kind == Kind::Empty || v.kind == Kind::Variant || v.is_number(); }

// The kind that a variable of both has when it has a value.
bool one_kind(const Value& a, const Value& b, Value* out) {
    for (const Value* v : {&a, &b}) {
        Value k;
        k.kind = v->kind == Kind::Variant ? v->expected : v->kind;
        k.dtype = v->dtype;
        if (v->kind == Kind::Variant && v->expected == Kind::Empty) return false;
        if (k.kind == Kind::Empty) continue;
        if (out->kind != Kind::Empty && (out->kind != k.kind || out->dtype != k.dtype)) return false;
        *out = k;
    }
    return out->kind != Kind::Empty;
}

}  // namespace

namespace {

bool can_hold(const Value& v) { return v.kind == Kind::Empty || (v.kind == Kind::Array && !v.part); }

// Two arrays of one type, at least one of which is not an entry slot's: those stay apart, since they keep their places.
bool one_array(const Value& a, const Value& b, Value* out) {
    const auto loose = [](const Value& v) { return v.kind == Kind::Empty || v.fresh || v.held; };
    if (!can_hold(a) || !can_hold(b) || (!loose(a) && !loose(b))) return false;
    for (const Value* v : {&a, &b}) {
        if (v->kind == Kind::Empty) continue;
        if (out->kind == Kind::Array && (out->dtype != v->dtype || out->rank != v->rank)) return false;
        out->kind = Kind::Array;
        out->dtype = v->dtype;
        out->rank = v->rank;
        out->permuted |= v->permuted;
        out->backward |= v->backward;
    }
    out->held = true;
    return out->kind == Kind::Array;
}

}  // namespace

Value Builder::as_held(const Value& v, const Value& like) {
    Value out = like;
    if (v.held) {
        out.id = v.id;
        out.items = v.items;
        return out;
    }
    int64_t from = Held::Nothing;
    if (v.kind == Kind::Array) {
        out.id = v.id;
        from = v.fresh ? Held::Fresh : v.whole ? Held::Whole + v.slot : Held::View + v.slot;
    } else {  // no memory at all
        graph::Inst nothing;
        nothing.op = graph::RegionOp::Scratch;
        nothing.in.assign(static_cast<size_t>(like.rank), const_int(0));
        nothing.ints = {cells_++};
        out.id = emit(std::move(nothing), {like.dtype, static_cast<int8_t>(like.rank)}, true);
        if (out.id < 0) out.id = 0;  // refused: the attempt fails
    }
    out.items = {int_value(const_int(from))};
    return out;
}

Value Builder::as_variant(const Value& v, const Value& like) {
    Value out = composed(Kind::Variant, {});
    out.expected = like.expected;
    out.dtype = like.dtype;
    if (v.kind == Kind::Variant) {
        out.items = v.items;
        return out;
    }
    int64_t tag = Tag::Empty;
    ValueId as_int = const_int(0), as_float = const_float(0);
    switch (v.kind) {
        case Kind::Int: tag = Tag::Int, as_int = v.id; break;
        case Kind::Float: tag = Tag::Float, as_float = v.id; break;
        case Kind::Bool: tag = Tag::Bool, as_int = cast(v.id, DType::Bool, DType::I64); break;
        case Kind::Scalar:
            tag = Tag::Scalar + static_cast<int>(v.dtype);
            if (graph::is_float(v.dtype))
                as_float = cast(v.id, v.dtype, DType::F64);
            else
                as_int = cast(v.id, v.dtype, DType::I64);
            break;
        default: break;
    }
    out.items = {int_value(const_int(tag)), int_value(as_int), float_value(as_float)};
    return out;
}

// What reads it needs a value of the kind that it was built with; Python complains about one that has none.
bool Builder::bound(Value* v) {
    if (v->held) {
        const ValueId there = pointwise(graph::Op::NotEqual, DType::I64, DType::Bool, {v->items[0].id, const_int(Held::Nothing)});
        return guard(there);
    }
    if (v->kind != Kind::Variant) return true;
    if (v->expected == Kind::Empty) return unknown("a variable of several types");
    int64_t tag = Tag::Int;
    if (v->expected == Kind::Float) tag = Tag::Float;
    if (v->expected == Kind::Bool) tag = Tag::Bool;
    if (v->expected == Kind::Scalar) tag = Tag::Scalar + static_cast<int>(v->dtype);
    if (!guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool, {v->items[0].id, const_int(tag)}))) return false;
    const DType t = v->expected == Kind::Scalar ? v->dtype : v->expected == Kind::Bool ? DType::Bool : DType::I64;
    const bool floating = v->expected == Kind::Float || graph::is_float(t);
    const ValueId bits = v->items[floating ? 2 : 1].id;
    *v = v->expected == Kind::Float ? float_value(bits)
                                    : number(v->expected, t, cast(bits, floating ? DType::F64 : DType::I64, t));
    return true;
}

void Builder::normalize(int pc, State* s) {
    if (s->levels.size() > 1 || !code_.is_header[static_cast<size_t>(pc)]) return;
    for (auto it = variants_.lower_bound({pc, 0}); it != variants_.end() && it->first.first == pc; ++it) {
        Value& v = s->slots[static_cast<size_t>(it->first.second)];
        if (it->second.held && can_hold(v))
            v = as_held(v, it->second);
        else if (!it->second.held && can_vary(v))
            v = as_variant(v, it->second);
    }
}

// Two states arrive at a header: variables that only one of them has a value of, and those of other types that are dead, become variants.
// True when there is a new one: everything is built again then.
bool Builder::widen(int pc, const State& a, const State& b) {
    bool any = false;
    for (size_t i = 0; i < static_cast<size_t>(nlocals_); ++i) {
        const Value &x = a.slots[i], &y = b.slots[i];
        if (!stored_[i]) continue;
        std::string sx, sy;
        sign(x, &sx), sign(y, &sy);
        if (sx == sy) continue;
        if (Value array; one_array(x, y, &array)) {
            variants_[{pc, static_cast<int>(i)}] = array;
            any = true;
            continue;
        }
        if (!can_vary(x) || !can_vary(y)) continue;
        Value v = composed(Kind::Variant, {}), kind;
        if (one_kind(x, y, &kind))
            v.expected = kind.kind, v.dtype = kind.dtype;
        else if (code_.live(pc, static_cast<int>(i)))
            continue;
        auto [it, fresh] = variants_.try_emplace({pc, static_cast<int>(i)}, v);
        if (!fresh && it->second.expected == v.expected && it->second.dtype == v.dtype) continue;
        if (!fresh) it->second = v;
        any = true;
    }
    return any;
}

int Builder::version_at(int pc, State& s) {
    const bool header = s.levels.size() == 1 && code_.is_header[static_cast<size_t>(pc)];
    normalize(pc, &s);
    std::erase_if(s.context, [&](const auto& c) {
        return s.levels.size() == 1 && (c.first == pc || pc < c.first || pc > loop_end_[c.first]);
    });
    std::string key;
    for (const Level& l : s.levels) key += fmt::format("{}:{},", static_cast<const void*>(l.code), l.return_pc);
    for (const auto& c : s.context) key += fmt::format("{}={} ", c.first, c.second);
    const std::string where = key;
    for (const Value& v : s.slots) sign(v, &key);
    const bool is_clean = s.levels.size() == 1 && std::all_of(s.slots.begin() + nlocals_, s.slots.end(),
                                                              [](const Value& v) { return v.is_iterator(); });
    if (!is_clean) key += fmt::format("#{}", static_cast<const void*>(s.resume.get()));
    auto [it, fresh] = version_index_.try_emplace({pc, key}, static_cast<int>(versions_.size()));
    if (!fresh) return it->second;
    if (header) {
        for (int other : header_versions_[{pc, where}])
            if (widen(pc, versions_[static_cast<size_t>(other)].state, s)) {
                ++widened_;
                return -1;
            }
        header_versions_[{pc, where}].push_back(it->second);
    }
    if (++versions_per_pc_[pc] > kMostVersions || r_->blocks.size() > kMostBlocks) {
        refuse(Reason::RegionTypes, "the kinds of its variables change too often");
        return -1;
    }
    Version v{pc, s, static_cast<graph::BlockId>(r_->blocks.size())};
    r_->blocks.emplace_back();
    for (size_t i = 0; i < v.state.slots.size(); ++i) {
        if (!carries(i)) continue;
        each_variable(v.state.slots[i], [&](ValueId& id) {
            const ValueId param = r_->add(type_of(*r_, id));
            r_->blocks.back().params.push_back(param);
            id = param;
        });
        // What made it is not known here any more.
        v.state.slots[i].part_of = -1;
    }
    if (header) v.state.context.emplace_back(pc, it->second);
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
    State from = s;
    const int index = version_at(pc, from);
    if (index < 0) {
        *ok = false;
        return edge;
    }
    edge.to = versions_[static_cast<size_t>(index)].block;
    for (size_t i = 0; i < from.slots.size(); ++i) {
        if (!carries(i)) continue;
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
        if (v.kind == Kind::Lazy || (v.kind == Kind::Array && !v.held && (v.slot < 0 || v.part))) return -1;
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
    if (inside(pc))
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
        if (inside(pc))
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
    return s_.levels.size() == 1 && std::all_of(s_.slots.begin() + nlocals_, s_.slots.end(),
                                                [](const Value& v) { return v.is_iterator(); });
}

// ---- the walk ----

bool Builder::run(Version& v) {
    block_ = v.block;
    s_ = v.state;
    ended_ = false;
    same_.clear();
    std::erase_if(extents_, [&](auto& e) { return !input_of_.count(e.first.first); });
    const int start = v.pc;
    const size_t levels = s_.levels.size();
    for (pc_ = start; !ended_;) {
        const Insn& insn = code().insns[static_cast<size_t>(pc_)];
        const bool leader = leaders(code())[static_cast<size_t>(pc_)];
        if (leader && !(pc_ == start && s_.levels.size() == levels)) {
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
            if (!inside(pc_) && !jump_to(pc_)) return false;
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
    if ((insn.flags & Insn::kBackward) && s_.levels.size() > 1) return unknown("a loop in a function that it calls");
    if (insn.flags & Insn::kBackward) {
        // Asked whether or not the loop goes on: Python tests the condition once more.
        graph::Inst poll;
        poll.op = graph::RegionOp::Poll;
        if (!s_.resume || (poll.exit = exit_for(s_.resume, "check")) < 0)
            return unknown("a loop that cannot be interrupted");
        emit_effect(std::move(poll));
    }
    if (on) return branch_to(cond, insn.target, taken, pc_ + 1, next);
    return branch_to(cond, pc_ + 1, next, insn.target, taken);
}

bool Builder::on_for_iter(const Insn& insn) {
    if (s_.levels.size() > 1) return unknown("a loop in a function that it calls");
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
        if (!kIteratorStays) off.slots.pop_back();
        // The element is read on the side where there is one.
        graph::Terminator t;
        t.kind = graph::Terminator::Branch;
        t.cond = more;
        const auto body = static_cast<graph::BlockId>(r_->blocks.size());
        r_->blocks.emplace_back();
        t.then.to = body;
        bool ok = true;
        if (inside(insn.target))
            t.other = edge_to(insn.target, off, &ok);
        else
            ok = leave_at(insn.target, off, &t.other);
        if (!ok) return false;
        end_block(std::move(t));
        block_ = body;
        ended_ = false;
        same_.clear();
        s_ = on;
        Value item;
        if (!item_at(array, position.id, &item)) return false;
        push(std::move(item));
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
            v.permuted = !kind.ordered;
            in.ordered = kind.ordered;
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
        case EntryKind::ArrayIter: {
            if (!path.empty() || Py_REFCNT(o) != 1) return std::nullopt;
            in.of_iterator = true;
            PyObject* over = array_iter_state(o).array;
            const EntryKind array = over ? classify(over) : EntryKind{};
            if (array.kind != EntryKind::Array) return std::nullopt;
            Value a;
            a.kind = Kind::Array;
            a.dtype = array.dtype;
            a.rank = array.rank;
            a.permuted = !array.ordered;
            a.whole = true;
            a.slot = slot;
            in.contiguous = array.contiguous;
            in.ordered = array.ordered;
            a.id = add(EntryInput::Array, array.dtype, array.rank);
            v = composed(Kind::ArrayIter, {a, int_value(add(EntryInput::IterPosition, DType::I64, -1))});
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

// A variable may turn out to be a variant when its loop has been followed once: then all of it is built again with that known.
std::unique_ptr<BuiltRegion> Builder::build() {
    constexpr int kMostAttempts = 12;
    pc_ = header_;
    find_loop();
    for (int i = 0; i < kMostAttempts; ++i) {
        const int before = widened_;
        auto built = attempt();
        if (built || widened_ == before) return built;
    }
    refuse(Reason::RegionTypes, "the kinds of its variables change too often");
    return nullptr;
}

std::unique_ptr<BuiltRegion> Builder::attempt() {
    out_ = std::make_unique<BuiltRegion>();
    out_->graph = std::make_shared<graph::Region>();
    r_ = out_->graph.get();
    pc_ = header_;
    s_ = {};
    s_.levels.push_back({&code_, nullptr, 0, 0});
    input_of_.clear(), version_index_.clear(), versions_per_pc_.clear(), header_versions_.clear();
    versions_.clear(), todo_.clear(), consts_.clear(), extents_.clear(), same_.clear();
    cells_ = 0;
    sites_.clear();
    if (!read_entry()) return nullptr;
    r_->blocks.emplace_back();  // the entry
    block_ = 0;
    for (const EntryInput& in : out_->inputs)
        if (in.kind == EntryInput::Array)
            for (int axis = 0; axis < in.rank; ++axis) extent(in.value, axis);
    s_.resume = std::make_shared<ResumePoint>();
    s_.resume->pc = header_;
    s_.resume->slots = s_.slots;
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

// ---- functions that it calls ----

// Follows a plain Python function in place. Whatever it cannot do, Python does from the caller's statement on: so what it stores
// must come last (exit_here sees to it).
bool Builder::call_function(PyObject* function, std::vector<Value>& args) {
    constexpr size_t kMostLevels = 4;
    auto* co = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
    const char* why = nullptr;
    const CodeInfo* callee = CodeInfo::get(co, &why);
    const std::string named = std::string("a call of ") + PyUnicode_AsUTF8(co->co_name);
    if (!callee || s_.levels.size() >= kMostLevels) return unknown(named);
    for (const Level& l : s_.levels)
        if (l.code == callee) return unknown(named + ", which calls itself");
    if (co->co_kwonlyargcount || (co->co_flags & (CO_VARARGS | CO_VARKEYWORDS)) || co->co_nfreevars || co->co_ncellvars)
        return unknown(named + ", which takes more than positions or has cells");
    PyObject* defaults = PyFunction_GET_DEFAULTS(function);
    const auto given = static_cast<int>(args.size());
    const int missing = co->co_argcount - given;
    if (missing < 0 || missing > (defaults ? PyTuple_GET_SIZE(defaults) : 0)) return unknown(named);
    out_->functions.push_back({PyRef::borrow(function), PyRef::borrow(reinterpret_cast<PyObject*>(co)), PyRef::borrow(defaults)});
    for (const Value& v : args)
        if (v.kind == Kind::Empty || v.kind == Kind::Passed) return unknown(named + " with " + describe(v));
    Level level{callee, function, static_cast<int>(s_.slots.size()), pc_ + 1};
    for (int i = 0; i < callee->nlocalsplus; ++i) {
        if (i < given) {
            if (args[static_cast<size_t>(i)].kind == Kind::Lazy) {
                Value held = args[static_cast<size_t>(i)];
                if (!as_array(held, &held)) return false;
                push(std::move(held));
            } else {
                push(args[static_cast<size_t>(i)]);
            }
            continue;
        }
        Value v;
        if (i < co->co_argcount && !constant(PyTuple_GET_ITEM(defaults, PyTuple_GET_SIZE(defaults) - (co->co_argcount - i)), &v))
            return false;
        push(std::move(v));
    }
    s_.levels.push_back(level);
    pc_ = -1;  // the next instruction is its first
    return true;
}

bool Builder::on_return() {
    const Value v = pop();
    if (s_.levels.size() == 1) return unknown("a return");
    const Level level = s_.levels.back();
    s_.slots.resize(static_cast<size_t>(level.base));
    s_.levels.pop_back();
    push(v);
    return jump_to(level.return_pc);
}

}  // namespace stator::frontend::regions
