// The shape of a region's control flow: order, predecessors, dominators.
#pragma once

#include "graph/region/region.h"

namespace stator::graph {

struct RegionCfg {
    std::vector<BlockId> order;               // reachable blocks in reverse postorder, the entry first
    std::vector<int> position;                // of a block in `order`, -1: unreachable
    std::vector<BlockId> idom;                // immediate dominator; -1 for the entry and what is unreachable
    std::vector<std::vector<BlockId>> preds;  // reachable ones, one entry for each edge
    bool reachable(BlockId b) const { return position[static_cast<size_t>(b)] >= 0; }
    bool dominates(BlockId a, BlockId b) const;  // reflexive
};

// Edges must name blocks that exist.
RegionCfg region_cfg(const Region& r);

// Calls f(const Edge&) for each edge that leaves the block.
template <class Block, class F>
void for_edges(Block& b, F f) {
    if (b.end.kind == Terminator::Leave) return;
    f(b.end.then);
    if (b.end.kind == Terminator::Branch) f(b.end.other);
}

// Whether loop `outer` is `inner` or encloses it; -1 encloses everything.
bool encloses(const Region& r, int outer, int inner);

// Whether the instruction does something besides making its result: stores, leaves, or runs the interpreter's
// needs.
bool has_effect(const Inst& inst);

}  // namespace stator::graph
