// Loops of elements whose iterations are independent: what a grid of threads can share.
//
// Such a loop is a perfect nest of loops that count down, with one straight line of scalar instructions
// inside. Its iterations meet in memory only where all of them that touch an element are one thread's: an
// array that is stored to is indexed, in every axis, by one counter plus what does not change, or by the
// latter alone, and is read at the very same place only. Counters that such an index lacks are walked in
// order by each thread
// (`serial`, as k in c[i, j] += a[i, k] * b[k, j]), the others are dealt out.
//
// Nothing of what a loop carries is used in it, apart from counters; what is left of it behind the loop are
// functions of the counts, or values of the last point.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "graph/region/cfg.h"

namespace stator::kernels {

using InstAt = std::pair<graph::BlockId, size_t>;

struct GridLoop {
    struct Level {
        int loop = -1;
        graph::ValueId counter = -1, left = -1;  // parameters of the header
        graph::ValueId step = -1, next = -1, fewer = -1;
        graph::ValueId start = -1, count = -1;  // what they begin with
    };
    // Elements that are stored to, one for each point or one for each that is dealt out.
    struct Private {
        graph::ValueId array = -1;
        bool of_thread = false;  // the same one for all that a thread walks
    };
    // What a parameter of the outermost header is behind the loop.
    struct Final {
        enum Kind : uint8_t { Same, Value, Zero, Last, Behind, Computed } kind = Same;
        graph::ValueId value = -1;  // Value, Computed (at the last point)
        int level = 0;              // Last, Behind: its counter in the last iteration, and one step further
    };
    int loop = -1;
    std::vector<Level> levels;           // outer ones first
    uint32_t serial = 0;                 // levels
    std::vector<InstAt> uniform, point;  // done once, and for each point
    std::vector<Private> privates;
    std::map<InstAt, int> access;   // loads and stores of privates
    std::set<InstAt> not_from_end;  // indices of theirs
    std::vector<Final> finals;
    const graph::Edge* exit = nullptr;
};

// By loop. `roots`: by array value, which memory it may lie in; `standing`: arrays that have one element in
// several places.
std::map<int, GridLoop> find_grid_loops(const graph::Region& r, const graph::RegionCfg& cfg,
                                        const std::vector<std::set<int>>& roots,
                                        const std::vector<uint32_t>& standing);

}  // namespace stator::kernels
