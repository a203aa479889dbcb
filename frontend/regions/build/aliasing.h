// Which arrays of a region share memory, and what a store may overwrite that is read meanwhile.
//
// What must stay true: arrays that are taken to be apart are apart in every run of the region. Entry slots'
// arrays that are written overlap no others (a guard), and every place that makes arrays has memory of its
// own, of which one variable knows. What a variable holds that is one of several is the array of some entry
// slots, or one that the loop made for this variable. Which slots these are is known when all of the loop has
// been followed; until then they are taken to be others than what is read, each such pair is noted, and
// held_apart() looks at them in the end.
#pragma once

#include <set>
#include <utility>

#include "frontend/regions/build/findings.h"
#include "frontend/regions/value.h"

namespace stator::frontend::regions {

// Where an array lies: an entry slot, kFreshSlots and the place that made it, or a name for what has no such
// number (scratch memory, a variable that holds one of several, nothing known).
int memory_of(const Value& array);

class Aliasing {
  public:
    explicit Aliasing(Findings& found) : found_(found) {}
    void begin_attempt() {
        apart_.clear();
        written_holders_.clear();
    }

    void gives(int holder, const Value& array);  // to a variable that holds one of several
    void writes(int holder) { written_holders_.insert(holder); }

    // Where it says no of what a variable holds, that is an assumption from now on.
    bool may_share(int a, int b);
    bool reads(const ExprRef& e, const Value& array);
    bool reads_in_place(const ExprRef& e, const Value& dest);
    bool only_narrow_ones_move(const ExprRef& e, const Value& dest);
    bool overlaps(const ExprRef& e, const Value& dest);

    // When all of the loop has been followed. False: some assumption was wrong, which is found out now.
    bool held_apart();
    std::set<int> written_slots();  // whatever a variable may have held that was written

  private:
    std::set<int> slots_of(int memory);

    Findings& found_;
    std::set<std::pair<int, int>> apart_;  // pairs of memory_of that the code takes to be apart
    std::set<int> written_holders_;
};

}  // namespace stator::frontend::regions
