// Order and dominators of a region's blocks (Cooper, Harvey and Kennedy's iteration).
#include "graph/region/cfg.h"

#include <algorithm>
#include <utility>

namespace stator::graph {

const RegionOpInfo& info(RegionOp op) {
    static constexpr RegionOpInfo table[] = {
#define REGION_OP(id, text, operands, result, doc) {text, operands, RegionOpInfo::result, doc},
#include "graph/region/ops.def"
#undef REGION_OP
    };
    return table[static_cast<size_t>(op)];
}

bool has_effect(const Inst& inst) {
    switch (inst.op) {
        case RegionOp::Store:
        case RegionOp::Nest:
        case RegionOp::Pack:
        case RegionOp::NestStore:
        case RegionOp::NestWhen:
        case RegionOp::NestWithin:
        case RegionOp::NestScatter:
        case RegionOp::NestAppend:
        case RegionOp::Save:
        case RegionOp::Restore:
        case RegionOp::Undisturbed:
        case RegionOp::Trust:
        case RegionOp::Distrust:
        case RegionOp::Watch:
        case RegionOp::Raised: return true;
        default: return inst.exit >= 0;
    }
}

bool encloses(const Region& r, int outer, int inner) {
    if (outer < 0) return true;
    for (; inner >= 0; inner = r.loops[static_cast<size_t>(inner)].parent)
        if (inner == outer) return true;
    return false;
}

bool RegionCfg::dominates(BlockId a, BlockId b) const {
    if (!reachable(a) || !reachable(b)) return false;
    while (b >= 0 && position[static_cast<size_t>(b)] > position[static_cast<size_t>(a)])
        b = idom[static_cast<size_t>(b)];
    return a == b;
}

namespace {

// Calls f(BlockId) for each block in which control goes on from an exit of the block's instructions.
template <class F>
void for_exit_edges(const Region& r, const Block& b, F f) {
    for (const Inst& i : b.insts) {
        if (i.exit < 0 || static_cast<size_t>(i.exit) >= r.exits.size()) continue;
        const BlockId to = r.exits[static_cast<size_t>(i.exit)].to;
        if (to >= 0 && static_cast<size_t>(to) < r.blocks.size()) f(to);
    }
}

std::vector<BlockId> postorder(const Region& r) {
    std::vector<BlockId> out;
    std::vector<char> seen(r.blocks.size(), 0);
    struct Visit {
        BlockId block;
        std::vector<BlockId> next;
    };
    std::vector<Visit> stack;
    auto enter = [&](BlockId b) {
        if (std::exchange(seen[static_cast<size_t>(b)], 1)) return;
        Visit v{b, {}};
        // The last successor is visited first: `then` sides come first in the reverse order.
        for_edges(r.blocks[static_cast<size_t>(b)], [&](const Edge& e) { v.next.push_back(e.to); });
        for_exit_edges(r, r.blocks[static_cast<size_t>(b)], [&](BlockId to) { v.next.push_back(to); });
        stack.push_back(std::move(v));
    };
    if (!r.blocks.empty()) enter(0);
    while (!stack.empty()) {
        if (stack.back().next.empty()) {
            out.push_back(stack.back().block);
            stack.pop_back();
            continue;
        }
        const BlockId next = stack.back().next.back();
        stack.back().next.pop_back();
        if (seen[static_cast<size_t>(next)]) continue;
        enter(next);
    }
    return out;
}

}  // namespace

RegionCfg region_cfg(const Region& r) {
    RegionCfg c;
    const size_t n = r.blocks.size();
    c.order = postorder(r);
    std::reverse(c.order.begin(), c.order.end());
    c.position.assign(n, -1);
    c.idom.assign(n, -1);
    c.preds.assign(n, {});
    for (size_t i = 0; i < c.order.size(); ++i)
        c.position[static_cast<size_t>(c.order[i])] = static_cast<int>(i);
    for (const BlockId b : c.order) {
        const Block& block = r.blocks[static_cast<size_t>(b)];
        for_edges(block, [&](const Edge& e) { c.preds[static_cast<size_t>(e.to)].push_back(b); });
        for_exit_edges(r, block, [&](BlockId to) { c.preds[static_cast<size_t>(to)].push_back(b); });
    }
    const auto common = [&](BlockId a, BlockId b) {
        while (a != b) {
            while (c.position[static_cast<size_t>(a)] > c.position[static_cast<size_t>(b)])
                a = c.idom[static_cast<size_t>(a)];
            while (c.position[static_cast<size_t>(b)] > c.position[static_cast<size_t>(a)])
                b = c.idom[static_cast<size_t>(b)];
        }
        return a;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 1; i < c.order.size(); ++i) {
            const auto b = static_cast<size_t>(c.order[i]);
            BlockId dom = -1;
            for (const BlockId p : c.preds[b]) {
                if (p != 0 && c.idom[static_cast<size_t>(p)] < 0) continue;  // not seen yet
                dom = dom < 0 ? p : common(dom, p);
            }
            changed |= c.idom[b] != dom;
            c.idom[b] = dom;
        }
    }
    return c;
}

namespace {

// The blocks from which a back edge reaches the header without passing it, and the header.
std::vector<BlockId> natural_loop(const Region& r, const RegionCfg& cfg, BlockId header) {
    std::vector<char> inside(r.blocks.size(), 0);
    std::vector<BlockId> body{header};
    inside[static_cast<size_t>(header)] = 1;
    const auto add = [&](BlockId b) {
        if (!std::exchange(inside[static_cast<size_t>(b)], 1)) body.push_back(b);
    };
    for (const BlockId p : cfg.preds[static_cast<size_t>(header)])
        if (cfg.dominates(header, p)) add(p);
    for (size_t i = 1; i < body.size(); ++i)
        for (const BlockId p : cfg.preds[static_cast<size_t>(body[i])]) add(p);
    return body;
}

// The header's, or where that has none the smallest.
int line_of(const Region& r, const std::vector<BlockId>& loop) {
    int line = 0;
    for (const BlockId b : loop) {
        for (const Inst& i : r.blocks[static_cast<size_t>(b)].insts)
            if (i.line > 0 && (line == 0 || i.line < line)) line = i.line;
        if (b == loop.front() && line > 0) break;
    }
    return line;
}

}  // namespace

bool works_on_arrays(const Region& r) {
    const auto on_arrays = [&](const Inst& i) {
        return i.op == RegionOp::Nest || i.op == RegionOp::Library ||
               (i.result >= 0 && r.types[static_cast<size_t>(i.result)].is_array());
    };
    return std::ranges::any_of(r.blocks,
                               [&](const Block& b) { return std::ranges::any_of(b.insts, on_arrays); });
}

void find_loops(Region& r) {
    const RegionCfg cfg = region_cfg(r);
    r.loops.clear();
    for (Block& b : r.blocks) b.loop = -1;
    // A header comes before those of the loops inside of it.
    for (const BlockId h : cfg.order) {
        const auto& preds = cfg.preds[static_cast<size_t>(h)];
        const bool header =
            std::any_of(preds.begin(), preds.end(), [&](BlockId p) { return cfg.dominates(h, p); });
        if (!header) continue;
        Block& block = r.blocks[static_cast<size_t>(h)];
        const auto id = static_cast<int>(r.loops.size());
        const std::vector<BlockId> body = natural_loop(r, cfg, h);
        r.loops.push_back({h, block.loop, line_of(r, body)});
        for (const BlockId b : body) r.blocks[static_cast<size_t>(b)].loop = id;
    }
}

}  // namespace stator::graph
