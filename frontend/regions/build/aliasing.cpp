// Which arrays share memory, and what a store may overwrite that is read meanwhile.
//
// Entry slots' arrays that are written overlap no others (a guard), and every place that makes arrays has
// memory of its own, of which one variable knows. What a variable holds that is one of several is the array
// of some entry slots, or one that the loop made for this variable. Which slots these are is known when all
// of the loop has been followed; until then they are taken to be others than what is read, and when that
// turns out wrong all of it is built again.

#include <algorithm>

#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

constexpr int kUnknown = -1;
constexpr int kScratch = INT32_MAX;
constexpr int kHeld = -10;  // less the variable's number

bool is_held(int memory) { return memory <= kHeld; }

bool reads_memory(const Expr& e) {
    return e.kind == Expr::Leaf || e.kind == Expr::Take || e.kind == Expr::Next;
}

}  // namespace

// An entry slot, or one of the names above.
int Builder::memory_of(const Value& v) {
    if (v.slot == -2) return kScratch;
    if (v.slot < 0 && v.holder >= 0) return kHeld - v.holder;
    return v.slot;
}

bool Builder::may_share(int a, int b) {
    if (a == kScratch || b == kScratch) return false;
    if (a == b || a == kUnknown || b == kUnknown) return true;
    if (!is_held(a) && !is_held(b)) return false;
    const std::pair<int, int> both = std::minmax(a, b);
    if (found_.shared.count(both)) return true;
    apart_.insert(both);
    return false;
}

// What it may lie in: entry slots, and places that make arrays.
std::set<int> Builder::slots_of(int memory) {
    if (!is_held(memory)) return {memory};
    std::set<int> slots, seen{kHeld - memory};
    std::vector<int> todo{kHeld - memory};
    while (!todo.empty()) {
        const int holder = todo.back();
        todo.pop_back();
        slots.insert(found_.held_slots[holder].begin(), found_.held_slots[holder].end());
        for (const int other : found_.held_from[holder])
            if (seen.insert(other).second) todo.push_back(other);
    }
    return slots;
}

// Now that it is known what variables hold. All is built again where they share something.
bool Builder::held_apart() {
    bool apart = true;
    for (const auto& [a, b] : apart_) {
        const std::set<int> x = slots_of(a), y = slots_of(b);
        if (std::none_of(x.begin(), x.end(), [&](int s) { return y.count(s) > 0; })) continue;
        found_.shared.insert({a, b});
        learnt_ = true;
        apart = false;
    }
    return apart;
}

bool Builder::reads(const ExprRef& e, const Value& array) {
    if (reads_memory(*e) && may_share(e->slot, memory_of(array))) return true;
    return std::any_of(e->in.begin(), e->in.end(), [&](const ExprRef& x) { return reads(x, array); });
}

// Whether every element that is read of dest's memory lies where the result's is put.
bool Builder::reads_in_place(const ExprRef& e, const Value& dest) {
    if (e->kind == Expr::Leaf && (e->id == dest.id || e->whole == dest.id)) return true;
    if (reads_memory(*e) && may_share(e->slot, memory_of(dest))) return false;
    return std::all_of(e->in.begin(), e->in.end(), [&](const ExprRef& x) { return reads_in_place(x, dest); });
}

// Whether all that it reads elsewhere in dest's memory than where the result is put is broadcast.
bool Builder::only_narrow_ones_move(const ExprRef& e, const Value& dest) {
    if (e->kind == Expr::Leaf) return reads_in_place(e, dest) || e->narrow >= 0;
    if (reads_memory(*e) && may_share(e->slot, memory_of(dest))) return false;
    return std::all_of(e->in.begin(), e->in.end(),
                       [&](const ExprRef& x) { return only_narrow_ones_move(x, dest); });
}

// Whether computing it element by element into dest would read what has been overwritten.
bool Builder::overlaps(const ExprRef& e, const Value& dest) {
    return reads(e, dest) && !reads_in_place(e, dest);
}

// ---- what is stored to ----

void Builder::mark_written(int slot) {
    for (EntryInput& in : out_->inputs)
        if (in.is_memory() && in.slot == slot) in.written = true;
}

void Builder::written(const Value& array) {
    if (array.slot >= 0)
        mark_written(array.slot);
    else if (array.holder >= 0)
        written_holders_.insert(array.holder);
}

// Whatever a variable may have held that was stored to, or another one that it was given to.
void Builder::settle_written() {
    std::vector<int> todo(written_holders_.begin(), written_holders_.end());
    while (!todo.empty()) {
        const int holder = todo.back();
        todo.pop_back();
        for (const int slot : found_.held_slots[holder]) mark_written(slot);
        for (const int other : found_.held_from[holder])
            if (written_holders_.insert(other).second) todo.push_back(other);
    }
}

}  // namespace stator::frontend::regions
