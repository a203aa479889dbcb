// Which arrays of a region share memory, as far as it shows in how they are made.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "graph/region/region.h"

namespace stator::graph {

class RegionMemory {
  public:
    explicit RegionMemory(const Region& r);
    // Of a value that was added since; what makes a value is copied, so instructions may be moved.
    void made(const Inst& i);
    // What makes the value; its `result` is another where that is a parameter or an input.
    const Inst& maker(ValueId v) const { return maker_[static_cast<size_t>(v)]; }
    std::optional<int64_t> constant(ValueId v) const;  // of i64

    // The input or the `scratch` whose memory the array lies in; -1 where that is open.
    ValueId root(ValueId array) const;

    // Whether no element is in both arrays.
    struct Apart {
        bool yes = false;
        // With an extent: only where it is longer than this.
        ValueId extent = -1;
        int64_t longer_than = 0;
    };
    Apart apart(ValueId a, ValueId b) const;

  private:
    struct Position;
    Position position(ValueId v) const;
    Apart disjoint(ValueId a, ValueId b) const;

    const Region& r_;
    std::vector<Inst> maker_;  // by value
    std::set<ValueId> inputs_;
};

}  // namespace stator::graph
