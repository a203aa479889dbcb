// Cleaning up after the frontend, which makes a parameter for whatever a loop might carry.
#include <algorithm>
#include <utility>
#include <vector>

#include "graph/region/cfg.h"
#include "graph/region/region.h"

namespace stator::graph {
namespace {

template <class F>
void for_insts(Region& r, F f) {
    for (Block& b : r.blocks)
        for (Inst& i : b.insts) {
            f(i);
            if (has_body(i.op))
                for (Inst& k : r.nests[static_cast<size_t>(i.ints[0])].insts) f(k);
        }
}

// Calls f(ValueId&) for everything that is used anywhere, arguments of edges included.
template <class F>
void for_uses(Region& r, F f) {
    for_insts(r, [&](Inst& i) {
        for (ValueId& v : i.in) f(v);
    });
    for (Block& b : r.blocks) {
        if (b.end.kind == Terminator::Branch) f(b.end.cond);
        for_edges(b, [&](Edge& e) {
            for (ValueId& v : e.args) f(v);
        });
    }
    for (RegionExit& x : r.exits)
        for (ValueId& v : x.values) f(v);
}

void remove_parameter(Region& r, BlockId b, size_t k) {
    auto& params = r.blocks[static_cast<size_t>(b)].params;
    params.erase(params.begin() + static_cast<ptrdiff_t>(k));
    for (Block& from : r.blocks)
        for_edges(from, [&](Edge& e) {
            if (e.to == b) e.args.erase(e.args.begin() + static_cast<ptrdiff_t>(k));
        });
}

// Blocks and loops that cannot be reached go; the others are numbered anew, in their order.
void remove_unreachable(Region& r) {
    const RegionCfg cfg = region_cfg(r);
    if (cfg.order.size() == r.blocks.size()) return;
    std::vector<BlockId> block(r.blocks.size(), -1);
    std::vector<int> loop(r.loops.size(), -1);
    std::vector<Block> blocks;
    for (size_t b = 0; b < r.blocks.size(); ++b) {
        if (!cfg.reachable(static_cast<BlockId>(b))) continue;
        block[b] = static_cast<BlockId>(blocks.size());
        blocks.push_back(std::move(r.blocks[b]));
    }
    std::vector<LoopInfo> loops;
    for (size_t l = 0; l < r.loops.size(); ++l) {
        if (!cfg.reachable(r.loops[l].header)) continue;
        loop[l] = static_cast<int>(loops.size());
        loops.push_back(r.loops[l]);
    }
    for (LoopInfo& l : loops) {
        l.header = block[static_cast<size_t>(l.header)];
        if (l.parent >= 0) l.parent = loop[static_cast<size_t>(l.parent)];
    }
    for (Block& b : blocks) {
        if (b.loop >= 0) b.loop = loop[static_cast<size_t>(b.loop)];
        for_edges(b, [&](Edge& e) { e.to = block[static_cast<size_t>(e.to)]; });
    }
    for (RegionExit& x : r.exits)
        if (x.to >= 0) x.to = block[static_cast<size_t>(x.to)];
    r.blocks = std::move(blocks);
    r.loops = std::move(loops);
}

// A parameter that gets one value from every edge (itself aside) is that value.
bool trivial_parameters(Region& r) {
    std::vector<ValueId> same(r.types.size(), -1);  // -1: none yet, -2: several
    std::vector<ValueId> replaced(r.types.size());
    for (size_t i = 0; i < replaced.size(); ++i) replaced[i] = static_cast<ValueId>(i);
    const auto find = [&](ValueId v) {
        while (replaced[static_cast<size_t>(v)] != v) v = replaced[static_cast<size_t>(v)];
        return v;
    };
    bool any = false;
    for (bool changed = true; changed;) {
        changed = false;
        std::fill(same.begin(), same.end(), -1);
        for (Block& b : r.blocks)
            for_edges(b, [&](Edge& e) {
                const auto& params = r.blocks[static_cast<size_t>(e.to)].params;
                for (size_t k = 0; k < params.size(); ++k) {
                    const ValueId p = find(params[k]), v = find(e.args[k]);
                    ValueId& s = same[static_cast<size_t>(params[k])];
                    if (v == p || s == v) continue;
                    s = s == -1 ? v : -2;
                }
            });
        for (size_t b = 0; b < r.blocks.size(); ++b) {
            auto& params = r.blocks[b].params;
            for (size_t k = params.size(); k-- > 0;) {
                const ValueId v = same[static_cast<size_t>(params[k])];
                if (v < 0) continue;
                if (find(v) == params[k]) continue;
                replaced[static_cast<size_t>(params[k])] = v;
                remove_parameter(r, static_cast<BlockId>(b), k);
                changed = any = true;
            }
        }
    }
    if (any) for_uses(r, [&](ValueId& v) { v = v >= 0 ? find(v) : v; });
    return any;
}

// Results that nothing with an effect needs, parameters among them.
bool dead_values(Region& r) {
    std::vector<char> live(r.types.size(), 0);
    std::vector<ValueId> work;
    const auto use = [&](ValueId v) {
        if (v >= 0 && !std::exchange(live[static_cast<size_t>(v)], 1)) work.push_back(v);
    };
    std::vector<const Inst*> maker(r.types.size(), nullptr);
    struct Param {
        BlockId block = -1;
        size_t at = 0;
    };
    std::vector<Param> param(r.types.size());
    std::vector<std::vector<const Edge*>> edges(r.blocks.size());
    std::vector<char> exit_used(r.exits.size(), 0);
    const auto use_exit = [&](int x) {
        if (x < 0 || std::exchange(exit_used[static_cast<size_t>(x)], 1)) return;
        for (const ValueId v : r.exits[static_cast<size_t>(x)].values) use(v);
    };
    for_insts(r, [&](Inst& i) {
        if (i.result >= 0) maker[static_cast<size_t>(i.result)] = &i;
        if (!has_effect(i)) return;
        use_exit(i.exit);
        for (const ValueId v : i.in) use(v);
        // What raises a flag that is asked for is needed for that.
        if (has_body(i.op) && (i.exit >= 0 || (i.ints.size() > 1 && i.ints[1])))
            for (const Inst& k : r.nests[static_cast<size_t>(i.ints[0])].insts) use(k.result);
    });
    for (size_t b = 0; b < r.blocks.size(); ++b) {
        Block& block = r.blocks[b];
        for (size_t k = 0; k < block.params.size(); ++k)
            param[static_cast<size_t>(block.params[k])] = {static_cast<BlockId>(b), k};
        if (block.end.kind == Terminator::Branch) use(block.end.cond);
        if (block.end.kind == Terminator::Leave) use_exit(block.end.exit);
        for_edges(block, [&](Edge& e) { edges[static_cast<size_t>(e.to)].push_back(&e); });
    }
    while (!work.empty()) {
        const ValueId v = work.back();
        work.pop_back();
        if (const Inst* i = maker[static_cast<size_t>(v)])
            for (const ValueId u : i->in) use(u);
        const Param& p = param[static_cast<size_t>(v)];
        if (p.block >= 0)
            for (const Edge* e : edges[static_cast<size_t>(p.block)]) use(e->args[p.at]);
    }
    bool changed = false;
    const auto dead = [&](const Inst& i) {
        return i.result >= 0 && !live[static_cast<size_t>(i.result)] && !has_effect(i);
    };
    for (Block& b : r.blocks) changed |= std::erase_if(b.insts, dead) > 0;
    for (NestBody& n : r.nests) changed |= std::erase_if(n.insts, dead) > 0;
    for (size_t b = 0; b < r.blocks.size(); ++b)
        for (size_t k = r.blocks[b].params.size(); k-- > 0;)
            if (!live[static_cast<size_t>(r.blocks[b].params[k])]) {
                remove_parameter(r, static_cast<BlockId>(b), k);
                changed = true;
            }
    // What an unused exit lists may be gone.
    for (size_t x = 0; x < r.exits.size(); ++x)
        if (!exit_used[x]) r.exits[x].values.clear();
    return changed;
}

// Sums, differences and products of i64 constants that do not overflow.
bool fold(Region& r) {
    std::vector<const Inst*> constant(r.types.size(), nullptr);
    for_insts(r, [&](Inst& i) {
        if (i.op == RegionOp::Const && r.types[static_cast<size_t>(i.result)] == RegionType{})
            constant[static_cast<size_t>(i.result)] = &i;
    });
    bool changed = false;
    for_insts(r, [&](Inst& i) {
        const bool checked =
            i.op == RegionOp::CheckedAdd || i.op == RegionOp::CheckedSub || i.op == RegionOp::CheckedMul;
        if (!checked || !constant[static_cast<size_t>(i.in[0])] || !constant[static_cast<size_t>(i.in[1])])
            return;
        const int64_t a = constant[static_cast<size_t>(i.in[0])]->ints[0],
                      b = constant[static_cast<size_t>(i.in[1])]->ints[0];
        int64_t v = 0;
        const bool overflow = i.op == RegionOp::CheckedAdd   ? __builtin_add_overflow(a, b, &v)
                              : i.op == RegionOp::CheckedSub ? __builtin_sub_overflow(a, b, &v)
                                                             : __builtin_mul_overflow(a, b, &v);
        if (overflow) return;
        Inst c;
        c.result = i.result;
        c.ints = {v};
        c.line = i.line;
        i = std::move(c);
        constant[static_cast<size_t>(i.result)] = &i;
        changed = true;
    });
    return changed;
}

// Extents of memory of the region's own and of views are what these were made with. The frontend has not
// always known what an array comes from: it was a parameter then.
bool fold_extents(Region& r) {
    std::vector<const Inst*> maker(r.types.size(), nullptr);
    for (const Block& b : r.blocks)
        for (const Inst& i : b.insts)
            if (i.op == RegionOp::Scratch || i.op == RegionOp::View || i.op == RegionOp::Part)
                maker[static_cast<size_t>(i.result)] = &i;
    std::vector<ValueId> replaced(r.types.size(), -1);
    bool changed = false;
    for (Block& b : r.blocks)
        for (Inst& i : b.insts) {
            while (i.op == RegionOp::Extent && replaced[static_cast<size_t>(i.result)] < 0) {
                const Inst* const made = maker[static_cast<size_t>(i.in[0])];
                if (!made) break;
                int64_t axis = i.ints[0];
                ValueId known = -1;
                if (made->op == RegionOp::Scratch) {
                    known = made->in[static_cast<size_t>(axis)];
                } else if (made->op == RegionOp::View) {
                    ViewSpec axes = r.views[static_cast<size_t>(made->ints[0])];
                    std::erase_if(axes, [](const ViewAxis& a) { return a.kind == ViewAxis::Drop; });
                    const ViewAxis& a = axes[static_cast<size_t>(axis)];
                    if (a.count) known = made->in[static_cast<size_t>(a.count)];
                    axis = a.axis;
                }
                if (known >= 0) {
                    replaced[static_cast<size_t>(i.result)] = known;
                } else {
                    i.in[0] = made->in[0];
                    i.ints[0] = axis;
                }
                changed = true;
            }
        }
    if (!changed) return false;
    for_uses(r, [&](ValueId& v) {
        while (v >= 0 && replaced[static_cast<size_t>(v)] >= 0) v = replaced[static_cast<size_t>(v)];
    });
    return true;
}

void number_scratch(Region& r) {
    int64_t next = scratch_cells(r);
    for_insts(r, [&](Inst& i) {
        if (i.op == RegionOp::Scratch && i.ints.empty()) i.ints = {next++};
    });
}

}  // namespace

int scratch_cells(const Region& r) {
    int64_t n = 0;
    for (const Block& b : r.blocks)
        for (const Inst& i : b.insts) {
            if (i.op == RegionOp::Scratch && !i.ints.empty())
                n = std::max(n, i.ints[0] + (i.ints.size() > 1 ? i.ints[1] : 1));
            if (i.op == RegionOp::Save) n = std::max(n, i.ints[0] + static_cast<int64_t>(i.in.size()));
        }
    return static_cast<int>(n);
}

void simplify(Region& r) {
    remove_unreachable(r);
    for (bool changed = true; changed;) {
        changed = trivial_parameters(r);
        changed |= fold(r);
        changed |= fold_extents(r);
        changed |= dead_values(r);
    }
    number_scratch(r);
}

}  // namespace stator::graph
