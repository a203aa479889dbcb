// shapes: rebuilds every symbolic integer under the bounds known by now.
//
// Bounds may have been tightened after an expression was made (a guard recorded later); `max(s0 - 1, 0)` then
// is `s0 - 1`. Entry shapes keep their symbols: they say what the guards read.
#include <unordered_map>

#include "graph/passes/rewrite.h"

namespace stator::graph {

bool simplify_shapes(Graph& g) {
    bool changed = false;
    std::unordered_map<int32_t, Sym> done;
    auto rebuild = [&](Sym& s) {
        if (!s) return;
        auto [it, fresh] = done.try_emplace(s.id);
        if (fresh) it->second = g.syms.simplify(s);
        Sym r = it->second;
        changed |= r != s;
        s = r;
    };
    for (Node& n : g.nodes) {
        if (n.op == Op::Input) continue;
        for (Sym& s : n.shape) rebuild(s);
        for (Sym& s : n.syms) rebuild(s);
    }
    for (Recipe& r : g.recipes) rebuild(r.sym);
    return changed;
}

}  // namespace stator::graph
