// Which loops of array statements can run on windows of rows (region/wavefront.cpp, which tells the idea).
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "graph/region/cfg.h"
#include "graph/region/memory.h"
#include "graph/region/region.h"

namespace stator::graph {

// A row of an array: the sum of `bases` and `offset`.
struct RowPosition {
    std::vector<ValueId> bases;  // sorted
    int64_t offset = 0;
    std::vector<ValueId> starts;  // what has to be added at run time to compute it
};

// One array as a nest uses it. `row` is relative to the stage's anchor: that of its first store.
struct WavefrontAccess {
    ValueId array, root;
    bool stored;
    int64_t row;
};
struct WavefrontStage {
    BlockId block;
    size_t inst;
    bool moves;  // its first axis walks over rows; else it is at one row
    RowPosition anchor;
    std::vector<WavefrontAccess> accesses;  // of arrays that the loop stores to
    int64_t lag = 0;
};

struct WavefrontLoop {
    std::vector<BlockId> blocks;
    std::set<ValueId> written;                         // roots of what it stores to
    std::vector<WavefrontStage> stages;                // in program order
    std::vector<std::pair<ValueId, int64_t>> assumed;  // at least so much, or rows are elsewhere
    int64_t step = 0, most = 0;  // lag from one iteration to the next; largest one of a stage
};

// False: it has to run as written.
bool find_wavefront(const Region& r, const RegionCfg& cfg, const RegionMemory& memory, int loop,
                    WavefrontLoop& out);

}  // namespace stator::graph
