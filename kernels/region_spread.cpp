// See region_spread.h. Barriers are placed by forward data flow: a barrier once placed stays, states only
// grow, so the iteration ends.
#include "kernels/region_spread.h"

#include <algorithm>

namespace stator::kernels {

using graph::BlockId;
using graph::Inst;
using graph::RegionOp;
using graph::ValueId;

namespace {

template <class List>
auto& at(List& list, int i) {
    return list[static_cast<size_t>(i)];
}

// What one thread cannot do for all.
bool is_collective(RegionOp op) {
    return op == RegionOp::Nest || op == RegionOp::Scratch || op == RegionOp::Dot || op == RegionOp::Reduce;
}

}  // namespace

RegionSpread::RegionSpread(const graph::Region& r, const graph::RegionCfg& cfg) : r_(r), cfg_(cfg) {
    find_roots();
    find_solo_loops();
    flow();
}

// ---- memory ----

void RegionSpread::find_roots() {
    roots_.resize(r_.types.size());
    made_by_.assign(r_.types.size(), -1);
    block_of_.assign(r_.types.size(), 0);
    std::map<int64_t, int> cells;
    for (const graph::RegionInput& in : r_.inputs) {
        if (!at(r_.types, in.value).is_array()) continue;
        at(roots_, in.value) = {root_count_++};
        at(made_by_, in.value) = in.value;
    }
    for (const BlockId b : cfg_.order) {
        for (const ValueId p : at(r_.blocks, b).params) at(block_of_, p) = b, at(made_by_, p) = p;
        for (const Inst& i : at(r_.blocks, b).insts) {
            if (i.result < 0) continue;
            at(block_of_, i.result) = b;
            if (i.op != RegionOp::Scratch) continue;
            for (int64_t cell = i.ints[0]; cell < i.ints[0] + (i.ints.size() > 1 ? i.ints[1] : 1); ++cell) {
                const auto [known, is_new] = cells.try_emplace(cell, root_count_);
                root_count_ += is_new;
                at(roots_, i.result).insert(known->second);
            }
            at(made_by_, i.result) = i.result;
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        const auto grow = [&](ValueId to, ValueId from) {
            const size_t before = at(roots_, to).size();
            at(roots_, to).insert(at(roots_, from).begin(), at(roots_, from).end());
            changed |= at(roots_, to).size() != before;
        };
        for (const BlockId b : cfg_.order) {
            for (const Inst& i : at(r_.blocks, b).insts) {
                if (i.op == RegionOp::Scratch || i.result < 0 || !at(r_.types, i.result).is_array() ||
                    i.in.empty())
                    continue;
                grow(i.result, i.in[0]);
                at(made_by_, i.result) = at(made_by_, i.in[0]);
            }
            graph::for_edges(at(r_.blocks, b), [&](const graph::Edge& e) {
                for (size_t k = 0; k < e.args.size(); ++k) grow(at(r_.blocks, e.to).params[k], e.args[k]);
            });
        }
    }
}

// Whether two arrays of one nest may share memory, apart from being the same one.
bool RegionSpread::may_overlap(ValueId stored, ValueId loaded) const {
    if (stored == loaded) return false;
    const auto &a = at(roots_, stored), &b = at(roots_, loaded);
    if (std::none_of(a.begin(), a.end(), [&](int root) { return b.contains(root); })) return false;
    // A scratch instruction keeps clear of the arrays that it names.
    const ValueId made = at(made_by_, stored), held = at(made_by_, loaded);
    if (made < 0) return true;
    for (const Inst& i : at(r_.blocks, at(block_of_, made)).insts)
        if (i.result == made && i.op == RegionOp::Scratch) {
            const auto kept = i.in.begin() + at(r_.types, made).rank;
            return std::none_of(kept, i.in.end(), [&](ValueId v) { return v == loaded || v == held; });
        }
    return true;
}

bool RegionSpread::in_order(const Inst& nest) const {
    const auto& body = at(r_.nests, static_cast<int>(nest.ints[0])).insts;
    for (const Inst& store : body) {
        if (store.op != RegionOp::NestStore) continue;
        for (const Inst& load : body)
            if ((load.op == RegionOp::NestLoad || load.op == RegionOp::NestStore) &&
                may_overlap(store.in[0], load.in[0]))
                return true;
    }
    return false;
}

// ---- loops of elements ----

void RegionSpread::find_solo_loops() {
    solo_.assign(r_.blocks.size(), -1);
    const auto count = static_cast<int>(r_.loops.size());
    std::vector<char> stores(r_.loops.size(), 0), collective(r_.loops.size(), 0);
    for (const BlockId b : cfg_.order)
        for (int l = at(r_.blocks, b).loop; l >= 0; l = at(r_.loops, l).parent)
            for (const Inst& i : at(r_.blocks, b).insts) {
                at(stores, l) |= i.op == RegionOp::Store;
                at(collective, l) |= is_collective(i.op);
            }
    const auto alone = [&](int l) { return at(stores, l) && !at(collective, l); };
    for (const BlockId b : cfg_.order) {
        int outermost = -1;
        for (int l = at(r_.blocks, b).loop; l >= 0 && l < count; l = at(r_.loops, l).parent)
            if (alone(l)) outermost = l;
        at(solo_, b) = outermost;
    }
}

// ---- barriers ----

int RegionSpread::division(ValueId array, const Inst& nest) {
    std::vector<ValueId> key{array};
    key.insert(key.end(), nest.in.begin(), nest.in.end());
    const auto [it, is_new] = divisions_.try_emplace(key, static_cast<int>(division_values_.size()));
    if (is_new) division_values_.push_back(key);
    return it->second;
}

void RegionSpread::add_access(std::vector<Access>& out, ValueId array, int by, bool write) const {
    for (const int root : at(roots_, array)) out.push_back({root, by, write});
}

std::vector<RegionSpread::Access> RegionSpread::accesses(const Inst& i) {
    std::vector<Access> out;
    switch (i.op) {
        case RegionOp::Load: add_access(out, i.in[0], kAnybody, false); break;
        case RegionOp::Store: add_access(out, i.in[0], kAnybody, true); break;
        case RegionOp::Nest: {
            const bool leader = in_order(i);
            for (const Inst& n : at(r_.nests, static_cast<int>(i.ints[0])).insts)
                if (n.op == RegionOp::NestLoad || n.op == RegionOp::NestStore)
                    add_access(out, n.in[0], leader ? kAnybody : division(n.in[0], i),
                               n.op == RegionOp::NestStore);
            break;
        }
        default:
            if (is_collective(i.op) && i.op != RegionOp::Scratch)
                for (const ValueId v : i.in)
                    if (at(r_.types, v).is_array()) add_access(out, v, kAnybody, false);
    }
    return out;
}

std::vector<RegionSpread::Access> RegionSpread::accesses_of_solo(int loop) {
    std::vector<Access> out;
    for (const BlockId b : cfg_.order)
        if (at(solo_, b) == loop)
            for (const Inst& i : at(r_.blocks, b).insts)
                for (const Access& a : accesses(i)) out.push_back(a);
    return out;
}

// Records accesses; true when a barrier is needed in front of them.
bool RegionSpread::meet(const std::vector<Access>& accesses, State& s) const {
    const auto others = [](int who, int by) { return who != kNobody && (who != by || by < 0); };
    bool needed = false;
    for (const Access& a : accesses) {
        const Touched& t = at(s, a.root);
        needed |= others(t.wrote, a.by) || (a.write && others(t.read, a.by));
    }
    if (needed) s.assign(s.size(), {});
    for (const Access& a : accesses) {
        int& who = a.write ? at(s, a.root).wrote : at(s, a.root).read;
        who = who == kNobody || who == a.by ? a.by : kAnybody;
    }
    return needed;
}

bool RegionSpread::merge(State& to, const State& from) {
    const State before = to;
    const auto both = [](int a, int b) { return a == kNobody || a == b ? b : b == kNobody ? a : kAnybody; };
    for (size_t k = 0; k < to.size(); ++k)
        to[k] = {both(to[k].wrote, from[k].wrote), both(to[k].read, from[k].read)};
    return to != before;
}

// A division is known by values, which are others from here on when this block makes them anew.
void RegionSpread::forget(BlockId b, State& s) const {
    const auto changes = [&](int by) {
        if (by < 0) return false;
        const auto& values = at(division_values_, by);
        return std::any_of(values.begin(), values.end(), [&](ValueId v) { return at(block_of_, v) == b; });
    };
    for (Touched& t : s) {
        if (changes(t.wrote)) t.wrote = kAnybody;
        if (changes(t.read)) t.read = kAnybody;
    }
}

RegionSpread::State RegionSpread::through(BlockId b, State s) {
    forget(b, s);
    const auto& insts = at(r_.blocks, b).insts;
    auto& meets = at(meets_, b);
    for (size_t i = 0; i < insts.size(); ++i) {
        if (meets[i]) s.assign(s.size(), {});
        if (meet(accesses(insts[i]), s)) meets[i] = 1;
        // Its flags are collected behind a barrier.
        if (insts[i].op == RegionOp::Nest && insts[i].exit >= 0) s.assign(s.size(), {});
    }
    return s;
}

void RegionSpread::flow() {
    meets_.resize(r_.blocks.size());
    for (size_t b = 0; b < r_.blocks.size(); ++b) meets_[b].assign(r_.blocks[b].insts.size(), 0);
    const State clean(static_cast<size_t>(root_count_));
    std::vector<State> in(r_.blocks.size(), clean);
    for (bool changed = true; changed;) {
        changed = false;
        for (const BlockId b : cfg_.order) {
            const int alone = solo(b);
            // Behind a loop that the leader runs all threads meet.
            const State out = alone >= 0 ? clean : through(b, at(in, b));
            graph::for_edges(at(r_.blocks, b), [&](const graph::Edge& e) {
                const int next = solo(e.to);
                if (next < 0) {
                    changed |= merge(at(in, e.to), out);
                } else if (next != alone && !solo_meets_.contains(next)) {
                    State s = out;
                    if (meet(accesses_of_solo(next), s)) solo_meets_.insert(next), changed = true;
                }
            });
        }
    }
}

}  // namespace stator::kernels
