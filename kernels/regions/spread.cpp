// See regions/spread.h. Barriers are placed by forward data flow: a barrier once placed stays, states only
// grow, so the iteration ends.
#include "kernels/regions/spread.h"

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
    return graph::has_body(op) || op == RegionOp::Scratch || op == RegionOp::Dot || op == RegionOp::Reduce ||
           op == RegionOp::Library || op == RegionOp::Made;
}

// At the nest's point, or at computed indices.
bool is_point(RegionOp op) { return op == RegionOp::NestLoad || op == RegionOp::NestStore; }
bool is_store(RegionOp op) {
    return op == RegionOp::NestStore || op == RegionOp::NestScatter || op == RegionOp::NestAppend;
}
bool touches_memory(RegionOp op) {
    return is_point(op) || is_store(op) || op == RegionOp::NestTake || op == RegionOp::NestNext;
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
    standing_.assign(r_.types.size(), 0);
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
            if (i.op == RegionOp::View) find_standing_axes(i);
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
                if (i.op == RegionOp::Part) part_of_[i.result] = {i.in[0], i.ints[0]};
            }
            graph::for_edges(at(r_.blocks, b), [&](const graph::Edge& e) {
                for (size_t k = 0; k < e.args.size(); ++k) grow(at(r_.blocks, e.to).params[k], e.args[k]);
            });
        }
    }
}

// Operands come before: blocks are in reverse postorder, and what a loop carries does not stand.
void RegionSpread::find_standing_axes(const Inst& view) {
    uint32_t axis = 1;
    for (const graph::ViewAxis& x : at(r_.views, static_cast<int>(view.ints[0]))) {
        if (x.kind == graph::ViewAxis::Drop) continue;
        if (x.kind == graph::ViewAxis::New || (at(standing_, view.in[0]) >> x.axis & 1))
            at(standing_, view.result) |= axis;
        axis <<= 1;
    }
}

uint32_t RegionSpread::serial_axes(const Inst& nest) const {
    uint32_t axes = 0;
    for (const Inst& i : at(r_.nests, static_cast<int>(nest.ints[0])).insts)
        if (i.op == RegionOp::NestStore) axes |= at(standing_, whole(i.in[0]));
    return axes;
}

ValueId RegionSpread::whole(ValueId array) const {
    const auto part = part_of_.find(array);
    return part == part_of_.end() ? array : part->second.first;
}

// Whether two arrays of one nest may share memory, apart from being the same one.
bool RegionSpread::may_overlap(ValueId stored, ValueId loaded) const {
    if (stored == loaded) return false;
    const auto &a = at(roots_, stored), &b = at(roots_, loaded);
    if (std::none_of(a.begin(), a.end(), [&](int root) { return b.contains(root); })) return false;
    const auto one = part_of_.find(stored), other = part_of_.find(loaded);
    if (one != part_of_.end() && other != part_of_.end() && one->second.first == other->second.first)
        return false;  // the two parts lie apart, and one part is one array
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

bool RegionSpread::meets_elsewhere(const Inst& store, const Inst& other) const {
    const ValueId a = store.in[0], b = other.in[0];
    if (is_point(store.op) && is_point(other.op)) return may_overlap(a, b);
    if (&store == &other) return store.op == RegionOp::NestScatter;
    return a == b || (part_of_.contains(a) && part_of_.contains(b) && part_of_.at(a) == part_of_.at(b)) ||
           may_overlap(a, b);
}

bool RegionSpread::in_order(const Inst& nest) const {
    const auto& body = at(r_.nests, static_cast<int>(nest.ints[0])).insts;
    for (const Inst& store : body) {
        if (store.op == RegionOp::NestNext) return true;
        if (!is_store(store.op)) continue;
        for (const Inst& other : body)
            if (touches_memory(other.op) && meets_elsewhere(store, other)) return true;
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
    grids_ = find_grid_loops(r_, cfg_, roots_, standing_);
    for (const auto& [grid, _] : grids_)
        for (int l = at(r_.loops, grid).parent; l >= 0; l = at(r_.loops, l).parent) at(collective, l) = 1;
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
    std::vector<ValueId> key{array, static_cast<ValueId>(serial_axes(nest))};
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
        case RegionOp::Nest:
        case RegionOp::Pack: {
            const bool divided = i.op == RegionOp::Nest && !in_order(i);
            for (const Inst& n : at(r_.nests, static_cast<int>(i.ints[0])).insts)
                if (touches_memory(n.op))
                    add_access(out, n.in[0],
                               divided && is_point(n.op) ? division(whole(n.in[0]), i) : kAnybody,
                               is_store(n.op));
            break;
        }
        case RegionOp::Library:
            for (const ValueId v : i.in)
                if (at(r_.types, v).is_array()) add_access(out, v, kAnybody, v == i.in[0]);
            break;
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
        const auto& key = at(division_values_, by);  // the array, axes, and extents
        return at(block_of_, key[0]) == b ||
               std::any_of(key.begin() + 2, key.end(), [&](ValueId v) { return at(block_of_, v) == b; });
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
        if ((graph::has_body(insts[i].op) || insts[i].op == RegionOp::Library) && insts[i].exit >= 0)
            s.assign(s.size(), {});
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
