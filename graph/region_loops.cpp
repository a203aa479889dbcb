// Which blocks belong to which loop: for each header, what reaches one of its back edges without passing it.
#include <algorithm>

#include "graph/region.h"
#include "graph/region_cfg.h"

namespace stator::graph {

void find_loops(Region& r) {
    const RegionCfg cfg = region_cfg(r);
    const size_t n = r.blocks.size();
    struct Body {
        BlockId header;
        std::vector<char> inside;
        size_t size = 0;
    };
    std::vector<std::vector<BlockId>> before(n);
    for (BlockId b : cfg.order)
        for_edges(r.blocks[static_cast<size_t>(b)], [&](Edge& e) { before[static_cast<size_t>(e.to)].push_back(b); });
    std::vector<Body> bodies;
    for (BlockId header : cfg.order) {
        Body body{header, std::vector<char>(n, 0), 0};
        std::vector<BlockId> todo;
        for (BlockId p : before[static_cast<size_t>(header)])
            if (cfg.dominates(header, p)) todo.push_back(p);
        if (todo.empty()) continue;
        body.inside[static_cast<size_t>(header)] = 1;
        body.size = 1;
        while (!todo.empty()) {
            const BlockId b = todo.back();
            todo.pop_back();
            if (body.inside[static_cast<size_t>(b)]) continue;
            body.inside[static_cast<size_t>(b)] = 1;
            ++body.size;
            for (BlockId p : before[static_cast<size_t>(b)]) todo.push_back(p);
        }
        bodies.push_back(std::move(body));
    }
    // Larger ones are outside.
    std::stable_sort(bodies.begin(), bodies.end(), [](const Body& a, const Body& b) { return a.size > b.size; });
    r.loops.clear();
    for (Block& b : r.blocks) b.loop = -1;
    for (size_t i = 0; i < bodies.size(); ++i) {
        LoopInfo info;
        info.header = bodies[i].header;
        info.parent = r.blocks[static_cast<size_t>(info.header)].loop;
        const Block& header = r.blocks[static_cast<size_t>(info.header)];
        if (!header.insts.empty()) info.line = header.insts.front().line;
        r.loops.push_back(info);
        for (size_t b = 0; b < n; ++b)
            if (bodies[i].inside[b]) r.blocks[b].loop = static_cast<int>(i);
    }
}

}  // namespace stator::graph
