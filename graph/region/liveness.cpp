// Backward data flow over blocks until nothing changes.
#include "graph/region/liveness.h"

namespace stator::graph {

RegionLiveness::RegionLiveness(const Region& r, const RegionCfg& cfg) : r_(r) {
    begin_.assign(r.blocks.size(), std::vector<char>(r.types.size(), 0));
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = cfg.order.size(); k-- > 0;) {
            const auto b = static_cast<size_t>(cfg.order[k]);
            std::vector<char> live = at_end(cfg.order[k]);
            const Block& block = r.blocks[b];
            for (size_t i = block.insts.size(); i-- > 0;) step_back(block.insts[i], live);
            for (const ValueId p : block.params) live[static_cast<size_t>(p)] = 0;
            if (live == begin_[b]) continue;
            begin_[b] = std::move(live);
            changed = true;
        }
    }
}

std::vector<char> RegionLiveness::at_end(BlockId b) const {
    const Terminator& end = r_.blocks[static_cast<size_t>(b)].end;
    std::vector<char> live(r_.types.size(), 0);
    for_edges(r_.blocks[static_cast<size_t>(b)], [&](const Edge& e) {
        const std::vector<char>& next = begin_[static_cast<size_t>(e.to)];
        for (size_t v = 0; v < live.size(); ++v) live[v] |= next[v];
        for (const ValueId v : e.args) live[static_cast<size_t>(v)] = 1;
    });
    if (end.kind == Terminator::Branch) live[static_cast<size_t>(end.cond)] = 1;
    if (end.kind == Terminator::Leave)
        for (const ValueId v : r_.exits[static_cast<size_t>(end.exit)].values)
            live[static_cast<size_t>(v)] = 1;
    return live;
}

void RegionLiveness::step_back(const Inst& inst, std::vector<char>& live) const {
    if (inst.result >= 0) live[static_cast<size_t>(inst.result)] = 0;
    for_uses(r_, inst, [&](ValueId v) { live[static_cast<size_t>(v)] = 1; });
}

std::vector<ValueId> RegionLiveness::before(BlockId b, size_t inst) const {
    std::vector<char> live = at_end(b);
    const auto& insts = r_.blocks[static_cast<size_t>(b)].insts;
    for (size_t i = insts.size(); i-- > inst;) step_back(insts[i], live);
    std::vector<ValueId> out;
    for (size_t v = 0; v < live.size(); ++v)
        if (live[v]) out.push_back(static_cast<ValueId>(v));
    return out;
}

}  // namespace stator::graph
