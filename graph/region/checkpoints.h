// Which loops can run from one checkpoint to the next (region/checkpoints.cpp, which tells the idea).
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "graph/region/cfg.h"
#include "graph/region/memory.h"
#include "graph/region/region.h"

namespace stator::graph {

// A nest that computes into `from`, and the one behind it that copies to `to`.
struct CheckpointCommit {
    ValueId from, to;
};
struct CheckpointStatement {
    std::vector<CheckpointCommit> commits;
    bool direct = false;  // nothing in it reads, elsewhere, what it stores
};

struct CheckpointLoop {
    std::vector<size_t> carried;  // the header's parameters that are arrays
    size_t counter = 0;           // with carried ones: the parameter that tells how many iterations are left
    std::vector<ValueId> saved;   // what it stores to that was there before
    std::map<std::pair<BlockId, size_t>, CheckpointStatement> statements;  // by place of the nest that looks
    std::vector<std::pair<std::vector<ValueId>, int>> points;              // extents, copies that are spared
    int64_t flags = 0;                                                     // that its statements ask for
};

// False: it has to run as written.
bool find_checkpoints(const Region& r, const RegionCfg& cfg, const RegionMemory& memory,
                      const std::vector<BlockId>& block_of, int loop, CheckpointLoop& out);

}  // namespace stator::graph
