// The list of passes, and those that are short.
#include "graph/region/passes.h"

#include <algorithm>

#include "graph/region/cfg.h"

namespace stator::graph {
namespace {

constexpr struct {
    const char* name;
    void (*run)(Region&);
} kPasses[] = {
    {"simplify", simplify},
    {"hoist to entry", hoist_to_entry},
    {"hoist checks", hoist_checks},
    {"checkpoints", run_from_checkpoints},
    {"wavefronts", run_in_wavefronts},
};

}  // namespace

void optimize(Region& r) {
    for (const auto& pass : kPasses) pass.run(r);
}

void hoist_to_entry(Region& r) {
    std::vector<char> early(r.types.size(), 0);
    for (const RegionInput& in : r.inputs) early[static_cast<size_t>(in.value)] = 1;
    for (const Inst& i : r.blocks[0].insts)
        if (i.result >= 0) early[static_cast<size_t>(i.result)] = 1;
    const auto moves = [&](const Inst& i) {
        const bool total = i.op == RegionOp::Const || i.op == RegionOp::Extent || i.op == RegionOp::Pointwise;
        return total && std::all_of(i.in.begin(), i.in.end(),
                                    [&](ValueId v) { return early[static_cast<size_t>(v)] != 0; });
    };
    for (const BlockId b : region_cfg(r).order) {
        if (b == 0) continue;
        auto& insts = r.blocks[static_cast<size_t>(b)].insts;
        std::vector<Inst> stay;
        for (Inst& i : insts) {
            if (!moves(i)) {
                stay.push_back(std::move(i));
                continue;
            }
            early[static_cast<size_t>(i.result)] = 1;
            r.blocks[0].insts.push_back(std::move(i));
        }
        insts = std::move(stay);
    }
}

}  // namespace stator::graph
