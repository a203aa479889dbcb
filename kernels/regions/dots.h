// Dots whose neighbours in a loop can be computed side by side: as in
//     for j in range(m): y[j] = a[i, :i] @ b[:i, j]
// one vector stays the same and the other moves along an axis of an array. What the next iterations are going
// to ask for can then be computed ahead, several results at a time, because a dot does nothing but read; what
// must not be is that iterations store to what was read for later ones.
//
// Iterations that store where only the dot of their own iteration reads, and after that dot, are harmless
// (b[i, j] += a[i + 1:, i] @ b[i + 1:, j]). Stores elsewhere in memory that a dot reads are compared at run
// time.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "graph/region/cfg.h"

namespace stator::kernels {

// sign * the loop's counter + constant + values that do not change in the loop. `wraps`: the extent that is
// added to negative ones, -1: there are none.
struct LoopIndex {
    int sign = 0;
    int64_t constant = 0;
    std::map<graph::ValueId, int64_t> terms;
    graph::ValueId wraps = -1;
    friend bool operator==(const LoopIndex&, const LoopIndex&) = default;
};

struct DotAhead {
    // A store of the loop that may have to do with what the dot reads: array[indices] must lie outside.
    struct Apart {
        graph::ValueId array = -1;
        std::vector<LoopIndex> indices;
    };
    int loop = -1;
    int moving = 0;             // operand
    graph::ValueId whole = -1;  // array of which it is a part,
    int axis = 0;               // at `at` of this axis
    graph::ValueId at = -1;
    LoopIndex index;                               // the same, with a sign
    graph::ValueId counter = -1, step = -1;        // of the loop
    graph::ValueId left = -1;                      // iterations still to come and this one; -1: not known
    std::vector<Apart> from_moving, from_staying;  // for each operand
};

// By block and number of the instruction.
std::map<std::pair<graph::BlockId, size_t>, DotAhead> find_dots_ahead(const graph::Region& r,
                                                                      const graph::RegionCfg& cfg);

}  // namespace stator::kernels
