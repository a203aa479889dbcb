// shapes: rebuilds every symbolic integer under the bounds known by now.
//
// Bounds may have been tightened after an expression was made (a guard recorded later); `max(s0 - 1, 0)` then is
// `s0 - 1`. Entry shapes keep their symbols: they say what the guards read.
#include "graph/passes/rewrite.h"

namespace stator::graph {

bool simplify_shapes(Graph& g) {
    bool changed = false;
    auto rebuild = [&](Sym& s) {
        if (!s) return;
        Sym r = g.syms.simplify(s);
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
