// Versions of blocks: how paths meet. See builder.h.

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <map>
#include <set>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/policy.h"
#include "frontend/regions/build/builder.h"
#include "frontend/regions/entry.h"

namespace stator::frontend::regions {

namespace {

graph::RegionType type_of(const graph::Region& r, ValueId id) { return r.types[static_cast<size_t>(id)]; }

}  // namespace

// Whether a block gets its own names for what is in the slot. What the loop does not rebind keeps its name.
bool Builder::carries(size_t slot) const { return slot >= static_cast<size_t>(nlocals_) || stored_[slot]; }

namespace {

// No value that anything reads.
bool is_unread(const Value& v) { return v.kind == Kind::Empty || v.kind == Kind::Passed; }
bool can_vary(const Value& v) { return is_unread(v) || v.kind == Kind::Variant || v.is_number(); }

// The kind that a variable of both has when it has a value.
bool one_kind(const Value& a, const Value& b, Value* out) {
    for (const Value* v : {&a, &b}) {
        Value k;
        k.kind = v->kind == Kind::Variant ? v->expected : v->kind;
        k.dtype = v->dtype;
        if (v->kind == Kind::Variant && v->expected == Kind::Empty) return false;
        if (is_unread(k)) continue;
        if (out->kind != Kind::Empty && (out->kind != k.kind || out->dtype != k.dtype)) return false;
        *out = k;
    }
    return out->kind != Kind::Empty;
}

}  // namespace

namespace {

bool can_hold(const Value& v) { return is_unread(v) || (v.kind == Kind::Array && !v.part); }

// Two arrays of one type, at least one of which is not an entry slot's: those stay apart, since they keep
// their places.
bool one_array(const Value& a, const Value& b, Value* out) {
    const auto loose = [](const Value& v) { return is_unread(v) || v.fresh || v.held; };
    if (!can_hold(a) || !can_hold(b) || (!loose(a) && !loose(b))) return false;
    for (const Value* v : {&a, &b}) {
        if (is_unread(*v)) continue;
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

namespace {

// Whether a variable that is such an array at a header can be this value there. What follows the header may
// rely on the order of its axes.
bool can_be(const Value& like, const Value& v) {
    if (!can_hold(v) || is_unread(v)) return can_hold(v);
    return v.dtype == like.dtype && v.rank == like.rank && (like.permuted || !v.permuted) &&
           (like.backward || !v.backward);
}

}  // namespace

Value Builder::as_held(const Value& v, const Value& like) {
    Value out = like;
    out.object = v.object;
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
        if (v.kind == Kind::Passed) from = Held::Entry - v.slot;
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
        case Kind::Passed: tag = Tag::Entry - v.slot; break;
        default: break;
    }
    out.items = {int_value(const_int(tag)), int_value(as_int), float_value(as_float)};
    return out;
}

// What reads it needs a value of the kind that it was built with; Python complains about one that has none.
bool Builder::bound(Value* v) {
    if (v->held) {
        const ValueId there = pointwise(graph::Op::Greater, DType::I64, DType::Bool,
                                        {v->items[0].id, const_int(Held::Nothing)});
        return guard(there);
    }
    if (v->kind != Kind::Variant) return true;
    if (v->expected == Kind::Empty) return unknown("a variable of several types");
    int64_t tag = Tag::Int;
    if (v->expected == Kind::Float) tag = Tag::Float;
    if (v->expected == Kind::Bool) tag = Tag::Bool;
    if (v->expected == Kind::Scalar) tag = Tag::Scalar + static_cast<int>(v->dtype);
    if (!guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool, {v->items[0].id, const_int(tag)})))
        return false;
    const DType t = v->expected == Kind::Scalar ? v->dtype
                    : v->expected == Kind::Bool ? DType::Bool
                                                : DType::I64;
    const bool floating = v->expected == Kind::Float || graph::is_float(t);
    const ValueId bits = v->items[floating ? 2 : 1].id;
    *v = v->expected == Kind::Float
             ? float_value(bits)
             : number(v->expected, t, cast(bits, floating ? DType::F64 : DType::I64, t));
    return true;
}

// What a variable that the loop binds becomes at its header, taken from what the frame has in it now: the
// iteration that ran bound it. What is not predicted here widen() finds, at the price of building all of it
// again. Nothing rests on this being right.
void Builder::predict(int pc, const State& s) {
    if (s.levels.size() > 1 || !found_.predicted.insert(pc).second) return;
    std::set<int> bound;
    for (int at = pc; at <= loop_end(code_, pc); ++at)
        // The range has more than the loop where a handler lies behind the function's end.
        if (const Insn& insn = code_.insns[static_cast<size_t>(at)];
            insn.op == Opcode::StoreFast && carries(static_cast<size_t>(insn.arg)))
            bound.insert(insn.arg);
    for (const int i : bound) {
        const Value& v = s.slots[static_cast<size_t>(i)];
        if (!is_unread(v) && v.kind != Kind::Variant && !v.held) continue;
        if (!f_.slot_is_object(i) || !f_.slot(i)) continue;
        const EntryKind now = classify(f_.slot(i));
        Value like = composed(Kind::Variant, {});
        if (now.kind == EntryKind::Array && v.kind == Kind::Passed && !code_.live(pc, i) && !locals_seen(s)) {
            found_.variants.try_emplace({0, pc, i}, like);  // see forget_dead
            continue;
        }
        like.dtype = now.dtype;
        switch (now.kind) {
            case EntryKind::Int: like.expected = Kind::Int, like.dtype = DType::I64; break;
            case EntryKind::Float: like.expected = Kind::Float, like.dtype = DType::F64; break;
            case EntryKind::Bool: like.expected = Kind::Bool, like.dtype = DType::Bool; break;
            case EntryKind::Scalar: like.expected = Kind::Scalar; break;
            case EntryKind::Array:
                // Parts of others have versions of their own.
                if (!now.contiguous || PyArray_BASE(reinterpret_cast<PyArrayObject*>(f_.slot(i)))) continue;
                like.kind = Kind::Array;
                like.rank = now.rank;
                like.held = true;
                break;
            default: continue;
        }
        const bool fits = like.held ? can_be(like, v)
                                    : is_unread(v) || (v.kind == Kind::Variant && v.dtype == like.dtype &&
                                                       v.expected == like.expected);
        if (fits) found_.variants.try_emplace({0, pc, i}, like);
    }
}

void Builder::normalize(int pc, State* s) {
    const Level& top = s->levels.back();
    if (top.code->is_header[static_cast<size_t>(pc)])
        predict(pc, *s);
    else if (!is_crowded(top, pc))
        return;
    for (auto it = found_.variants.lower_bound({top.path, pc, INT_MIN});
         it != found_.variants.end() && std::get<0>(it->first) == top.path && std::get<1>(it->first) == pc;
         ++it) {
        const size_t place = place_of(top, std::get<2>(it->first));
        Value& v = s->slots[place];
        if (it->second.held && can_be(it->second, v)) {
            const int holder = static_cast<int>(place);
            aliasing_.gives(holder, v);
            v = as_held(v, it->second);
            v.holder = holder;
        } else if (!it->second.held && can_vary(v))
            v = as_variant(v, it->second);
    }
}

// Two states arrive at a header: variables that only one of them has a value of, and those of other types
// that are dead, become variants. True when there is a new one: everything is built again then.
bool Builder::widen(int pc, const State& a, const State& b) {
    bool any = false;
    const Level& top = a.levels.back();
    for (int i = -static_cast<int>(found_.stored_places.size()); i < top.code->nlocalsplus; ++i) {
        const size_t at = place_of(top, i);
        const Value &x = a.slots[at], &y = b.slots[at];
        if (!carries(at)) continue;
        std::string sx, sy;
        sign(x, &sx), sign(y, &sy);
        if (sx == sy) continue;
        const std::tuple key{top.path, pc, i};
        if (Value array; one_array(x, y, &array)) {
            // One type of array for each; those of others have versions of their own.
            const auto [it, added] = found_.variants.try_emplace(key, array);
            if (!added && it->second.held && !can_be(it->second, array)) continue;
            it->second = array;
            any = true;
            continue;
        }
        if (!can_vary(x) || !can_vary(y)) continue;
        Value v = composed(Kind::Variant, {}), kind;
        if (one_kind(x, y, &kind))
            v.expected = kind.kind, v.dtype = kind.dtype;
        else if (i < 0 || top.code->live(pc, i))
            continue;
        auto [it, fresh] = found_.variants.try_emplace(key, v);
        if (!fresh && it->second.expected == v.expected && it->second.dtype == v.dtype) continue;
        if (!fresh) it->second = v;
        any = true;
    }
    return any;
}

namespace {

// In the order in which a state's slots hold them.
void list_arrays(Value& v, std::vector<Value*>* out) {
    if (v.whole) return;
    if (v.kind == Kind::Array) out->push_back(&v);
    for (Value& item : v.items) list_arrays(item, out);
}

// Of each array, the first that is the same one: which names name one object is part of a state's signature.
std::vector<size_t> same_arrays(const std::vector<Value*>& arrays) {
    std::map<std::pair<int64_t, ValueId>, size_t> first;
    std::vector<size_t> out;
    for (size_t i = 0; i < arrays.size(); ++i)
        out.push_back(first.try_emplace({arrays[i]->object, arrays[i]->id}, i).first->second);
    return out;
}

std::vector<Value*> arrays_of(State* s) {
    std::vector<Value*> out;
    for (Value& v : s->slots) list_arrays(v, &out);
    return out;
}

}  // namespace

// A block's own names for what it carries.
void Builder::name_anew(State* s, graph::Block* block) {
    const std::vector<Value*> arrays = arrays_of(s);
    const std::vector<size_t> same = same_arrays(arrays);
    for (size_t i = 0; i < s->slots.size(); ++i) {
        if (!carries(i)) continue;
        each_variable(s->slots[i], [&](ValueId& id) {
            const ValueId param = r_->add(type_of(*r_, id));
            block->params.push_back(param);
            id = param;
        });
        // What made it is not known here any more.
        s->slots[i].part_of = s->slots[i].copied = -1;
        s->slots[i].walk.clear();
        s->slots[i].counts.clear();
    }
    for (size_t i = 0; i < arrays.size(); ++i) arrays[i]->id = arrays[same[i]]->id;
}

// Whether another version of the place, which `other` becomes, and this state lead to variables that may be
// what they are in both.
bool Builder::is_widened(int pc, const std::string& where, const State& s, int* other) {
    for (const int version : header_versions_[{pc, where}]) {
        if (!widen(pc, versions_[static_cast<size_t>(version)].state, s)) continue;
        learnt_ = true;
        *other = version;
        return true;
    }
    return false;
}

// At a place that is no header, an attempt that is going to be made again goes on for the others' sake: there
// may be many, and of each the next attempt would be the first to know.
int Builder::version_at(int pc, State& s) {
    const Level& top = s.levels.back();
    const bool header = top.code->is_header[static_cast<size_t>(pc)];
    forget_dead(&s, pc);
    normalize(pc, &s);
    std::erase_if(s.context, [&](const LoopAround& c) {
        if (c.path == top.path) return c.header == pc || pc < c.header || pc > loop_end(*top.code, c.header);
        return std::none_of(s.levels.begin(), s.levels.end(),
                            [&](const Level& l) { return l.path == c.path; });
    });
    std::string key;
    append(&key, top.path);
    for (const LoopAround& c : s.context) {
        append(&(key += ' '), c.path);
        append(&(key += '.'), c.header);
        append(&(key += '='), c.version);
    }
    key += ": ";
    const std::string where = key;
    for (const Value& v : s.slots) sign(v, &key);
    const std::vector<size_t> same = same_arrays(arrays_of(&s));
    for (size_t i = 0; i < same.size(); ++i)
        if (same[i] != i) {
            append(&key, static_cast<int64_t>(i));
            append(&(key += '='), static_cast<int64_t>(same[i]));
            key += ' ';
        }
    const bool resumes = wants_resume(pc, s, header);
    if (!resumes) append(&(key += '#'), reinterpret_cast<intptr_t>(s.resume.get()));
    auto [it, fresh] = version_index_.try_emplace({pc, key}, static_cast<int>(versions_.size()));
    if (!fresh) return it->second;
    // Where there is to be no version, nothing may find one: the attempt may go on at another place.
    const auto none = [&] { return version_index_.erase(it), -1; };
    int& versions = versions_per_pc_[{top.path, pc}];
    if (header || is_crowded(top, pc)) {
        if (int other = -1; is_widened(pc, where, s, &other)) {
            none();
            if (header) return -1;
            stale_ = true;
            return other;
        }
        header_versions_[{pc, where}].push_back(it->second);
    } else if (versions >= policy().crowded_versions) {
        found_.crowded.insert({top.path, pc});
        stale_ = true;
        learnt_ = true;
    }
    if (++versions > policy().place_versions || r_->blocks.size() > policy().region_blocks) {
        if (roll_loops(s)) learnt_ = stale_ = true;
        refuse(Reason::RegionTypes, "the kinds of its variables change too often");
        return none();
    }
    if (!spend(policy().build_version_work +
               static_cast<int64_t>(s.slots.size()) / policy().build_slots_each_step))
        return none();
    Version v{pc, s, static_cast<graph::BlockId>(r_->blocks.size())};
    r_->blocks.emplace_back();
    name_anew(&v.state, &r_->blocks.back());
    if (header) v.state.context.push_back({top.path, pc, it->second});
    if (resumes) v.state.resume = resume_at(pc, v.state);
    versions_.push_back(std::move(v));
    todo_.push_back(it->second);
    return it->second;
}

graph::Edge Builder::edge_to(int pc, State from, bool* ok) {
    graph::Edge edge;
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

}  // namespace stator::frontend::regions
