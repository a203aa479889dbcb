// See aliasing.h.

#include "frontend/regions/build/aliasing.h"

#include <algorithm>
#include <cstdint>
#include <vector>

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
int memory_of(const Value& v) {
    if (v.slot == -2) return kScratch;
    if (v.slot < 0 && v.holder >= 0) return kHeld - v.holder;
    return v.slot;
}

bool Aliasing::may_share(int a, int b) {
    if (a == kScratch || b == kScratch) return false;
    if (a == b || a == kUnknown || b == kUnknown) return true;
    if (!is_held(a) && !is_held(b)) return false;
    const std::pair<int, int> both = std::minmax(a, b);
    if (found_.shared.count(both)) return true;
    apart_.insert(both);
    return false;
}

// What it may lie in: entry slots, and places that make arrays.
std::set<int> Aliasing::slots_of(int memory) {
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

bool Aliasing::held_apart() {
    bool apart = true;
    for (const auto& [a, b] : apart_) {
        const std::set<int> x = slots_of(a), y = slots_of(b);
        if (std::none_of(x.begin(), x.end(), [&](int s) { return y.count(s) > 0; })) continue;
        found_.shared.insert({a, b});
        apart = false;
    }
    return apart;
}

bool Aliasing::reads(const ExprRef& e, const Value& array) {
    if (reads_memory(*e) && may_share(e->slot, memory_of(array))) return true;
    return std::any_of(e->in.begin(), e->in.end(), [&](const ExprRef& x) { return reads(x, array); });
}

// Whether every element that is read of dest's memory lies where the result's is put.
bool Aliasing::reads_in_place(const ExprRef& e, const Value& dest) {
    if (e->kind == Expr::Leaf && (e->id == dest.id || e->whole == dest.id)) return true;
    if (reads_memory(*e) && may_share(e->slot, memory_of(dest))) return false;
    return std::all_of(e->in.begin(), e->in.end(), [&](const ExprRef& x) { return reads_in_place(x, dest); });
}

// Whether all that it reads elsewhere in dest's memory than where the result is put is broadcast.
bool Aliasing::only_narrow_ones_move(const ExprRef& e, const Value& dest) {
    if (e->kind == Expr::Leaf) return reads_in_place(e, dest) || e->narrow >= 0;
    if (reads_memory(*e) && may_share(e->slot, memory_of(dest))) return false;
    return std::all_of(e->in.begin(), e->in.end(),
                       [&](const ExprRef& x) { return only_narrow_ones_move(x, dest); });
}

// Whether computing it element by element into dest would read what has been overwritten.
bool Aliasing::overlaps(const ExprRef& e, const Value& dest) {
    return reads(e, dest) && !reads_in_place(e, dest);
}

void Aliasing::gives(int holder, const Value& array) {
    if (array.held && array.holder != holder) found_.held_from[holder].insert(array.holder);
    if (!array.held && array.slot >= 0) found_.held_slots[holder].insert(array.slot);
}

// Also what another variable holds that it was given to.
std::set<int> Aliasing::written_slots() {
    std::set<int> slots;
    std::vector<int> todo(written_holders_.begin(), written_holders_.end());
    while (!todo.empty()) {
        const int holder = todo.back();
        todo.pop_back();
        slots.insert(found_.held_slots[holder].begin(), found_.held_slots[holder].end());
        for (const int other : found_.held_from[holder])
            if (written_holders_.insert(other).second) todo.push_back(other);
    }
    return slots;
}

}  // namespace stator::frontend::regions
