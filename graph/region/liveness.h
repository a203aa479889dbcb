// Which values of a region are needed later.
#pragma once

#include "graph/region/cfg.h"

namespace stator::graph {

// Calls f(ValueId) for everything that the instruction reads: operands, what the body of a nest takes from
// outside, and the values of the exit it may leave by.
template <class F>
void for_uses(const Region& r, const Inst& inst, F f) {
    for (const ValueId v : inst.in) f(v);
    if (has_body(inst.op)) {
        std::vector<char> inside(r.types.size(), 0);
        for (const Inst& i : r.nests[static_cast<size_t>(inst.ints[0])].insts) {
            for (const ValueId v : i.in)
                if (!inside[static_cast<size_t>(v)]) f(v);
            if (i.result >= 0) inside[static_cast<size_t>(i.result)] = 1;
        }
    }
    if (inst.exit >= 0)
        for (const ValueId v : r.exits[static_cast<size_t>(inst.exit)].values) f(v);
}

class RegionLiveness {
  public:
    RegionLiveness(const Region& r, const RegionCfg& cfg);
    // Needed where the block begins; its parameters are not among them.
    const std::vector<char>& at_begin(BlockId b) const { return begin_[static_cast<size_t>(b)]; }
    // Needed in front of the instruction, its own operands included.
    std::vector<ValueId> before(BlockId b, size_t inst) const;

  private:
    std::vector<char> at_end(BlockId b) const;
    void step_back(const Inst& inst, std::vector<char>& live) const;

    const Region& r_;
    std::vector<std::vector<char>> begin_;  // by block, then by value
};

}  // namespace stator::graph
