// Where Python goes on when the region is left: frames, each at an instruction, with Values for their slots.
//
// The region's own frame comes first. While a function is followed that the loop calls, its frame is the last
// one and those before it are at their calls, whose operands are gone. What a slot holds must be something
// that can become an object: no unfinished expression, no part of memory that only the region knows.

#include <algorithm>
#include <map>
#include <utility>

#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

bool becomes_object(const Value& v) {
    switch (v.kind) {
        case Kind::Lazy: return false;
        case Kind::Array:
            if (v.held) return true;
            if (v.part) return !v.items.empty() && becomes_object(v.items[0]);
            return v.slot >= 0;
        default: return std::all_of(v.items.begin(), v.items.end(), becomes_object);
    }
}

bool Builder::can_resume() const { return std::all_of(s_.slots.begin(), s_.slots.end(), becomes_object); }

// Whether the innermost frame is between two statements. What its loops have above their iterators are no
// operands.
bool Builder::between_statements(const State& s) const {
    bool loop = false;
    return std::all_of(s.slots.begin() + stack_base(s), s.slots.end(), [&](const Value& v) {
        const bool above = std::exchange(loop, v.is_between_statements()) && kAboveIterator;
        return loop || (above && v.kind == Kind::Empty);
    });
}

// The instruction at which a frame is: of all but the innermost, its call.
int Builder::place_of(const State& s, size_t level, int pc) {
    return level + 1 == s.levels.size() ? pc : s.levels[level + 1].return_pc - 1;
}

// Whether some frame's locals may be looked up by name; then none of them is dead.
bool Builder::locals_seen(const State& s) const {
    return std::any_of(s.levels.begin(), s.levels.end(), [&](const Level& l) {
        return l.code->locals_seen(l.function ? PyFunction_GET_GLOBALS(l.function) : f_.globals());
    });
}

namespace {

// Whether it is, or has, an array that the region would have to compute for it, or a row: those make versions
// of their own of the header behind which they are bound.
bool needs_memory(const Value& v) {
    if (v.kind == Kind::Row) return true;
    if (v.kind == Kind::Array ? !v.part : v.kind != Kind::Tuple) return v.fresh;
    return v.fresh || std::any_of(v.items.begin(), v.items.end(), needs_memory);
}
// Whether nobody can tell when the object goes away: the region would make it, and nothing hangs on it. What
// was there at entry may have a finalizer.
bool is_droppable(const Value& v) {
    if (v.whole || v.held) return false;
    if (v.is_number() || v.is_complex_number() || v.kind == Kind::Row) return true;
    if (v.kind == Kind::Tuple) return std::all_of(v.items.begin(), v.items.end(), is_droppable);
    return v.kind == Kind::Array && needs_memory(v);
}

}  // namespace

// Arrays in variables that nothing reads before they are bound again are not there where the region is left,
// as in the snapshots of traces: so they need not be computed into memory. Numbers stay, since they cost
// nothing and a loop's counters are what people look at where it was interrupted.
void Builder::forget_dead(State* s, int pc) const {
    if (locals_seen(*s)) return;
    for (size_t k = 0; k < s->levels.size(); ++k)
        forget_dead(s->levels[k], place_of(*s, k, pc), s->slots.data() + s->levels[k].base);
}

void Builder::forget_dead(const Level& level, int pc, Value* locals) const {
    for (int i = 0; i < level.code->nlocalsplus; ++i)
        if (needs_memory(locals[i]) && is_droppable(locals[i]) && !level.code->live(pc, i)) locals[i] = {};
}

ResumeRef Builder::resume_at(int pc, const State& s) const {
    const bool all = locals_seen(s);
    auto resume = std::make_shared<ResumePoint>();
    for (size_t k = 0; k < s.levels.size(); ++k) {
        const Level& level = s.levels[k];
        const bool last = k + 1 == s.levels.size();
        const auto end = last ? s.slots.size() : static_cast<size_t>(s.levels[k + 1].base);
        resume->frames.push_back(
            {level.code,
             level.function,
             level.function_slot,
             place_of(s, k, pc),
             {s.slots.begin() + level.base, s.slots.begin() + static_cast<ptrdiff_t>(end)}});
        if (!all) forget_dead(level, place_of(s, k, pc), resume->frames.back().slots.data());
    }
    return resume;
}

// Whether a place to go on at is made where the state is: in the region's own frame before every statement.
// In a function only where something has been changed since the last place, or in a loop (`header`), which is
// not done again: what is pure and short is rather done again from the caller's statement, whose frame alone
// an exit then lists. In the middle of an expression, as behind a call that changed something, where there is
// none in this frame.
bool Builder::wants_resume(int pc, const State& s, bool header) const {
    const size_t frames = s.resume ? s.resume->frames.size() : s.levels.size() + 1;
    const bool wanted =
        between_statements(s) ? header || frames >= s.levels.size() : frames > s.levels.size();
    return wanted && s.levels.back().code->insns[static_cast<size_t>(pc)].boundary &&
           std::all_of(s.slots.begin(), s.slots.end(), becomes_object);
}

int Builder::exit_for(const ResumeRef& r, const char* label) {
    if (r->exit >= 0) return r->exit;
    graph::RegionExit e;
    e.label = label;
    const ResumePoint::Stop& last = r->frames.back();
    e.line = last.code->insns[static_cast<size_t>(last.pc)].line;
    for (const ResumePoint::Stop& f : r->frames)
        if (!std::all_of(f.slots.begin(), f.slots.end(), becomes_object)) return -1;
    // Values of the exit are listed once; from here on the ids in its slots are places in that list.
    std::map<ValueId, int> place;
    for (ResumePoint::Stop& f : r->frames)
        for (Value& v : f.slots)
            each_variable(v, [&](ValueId& id) {
                const auto [it, added] = place.try_emplace(id, static_cast<int>(e.values.size()));
                if (added) e.values.push_back(id);
                id = it->second;
            });
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
    const int exit = exit_for(s_.resume, "check");
    if (exit < 0) refuse(Reason::RegionOp, "an expression around a check");
    return exit;
}

// A block that only leaves, for edges out of the loop.
bool Builder::leave_at(int pc, const State& s, graph::Edge* edge) {
    graph::Terminator t;
    t.kind = graph::Terminator::Leave;
    t.exit = exit_for(resume_at(pc, s), "end");
    if (t.exit < 0) return unknown("an unfinished expression where the loop ends");
    edge->to = static_cast<graph::BlockId>(r_->blocks.size());
    r_->blocks.emplace_back();
    r_->blocks.back().end = t;
    return true;
}

// What the region does not know is left to Python, which comes back at the next header: no matter where it
// is seldom done. On the way that every iteration takes it would be a loop that never goes round
// (goes_round).
bool Builder::leave_for_python() {
    if (reason_ != Reason::RegionOp || ended_ || !s_.resume) return false;
    graph::Terminator t;
    t.kind = graph::Terminator::Leave;
    t.exit = exit_for(s_.resume, "check");
    if (t.exit < 0) return false;
    out_->left_out.push_back({&code(), pc_, detail_});
    end_block(std::move(t));
    reason_ = Reason::None;
    detail_.clear();
    return true;
}

}  // namespace stator::frontend::regions
