// dce: removes nodes that nothing visible depends on.
//
// Visible are: stores into inputs, guards, library calls, nodes that can raise a flag or warn (has_effect),
// and what the end and the snapshots that can be left through build. A store into a fresh buffer lives
// through its version.
#include "graph/passes/rewrite.h"

namespace stator::graph {

bool drop_dead(Graph& g) {
    std::vector<bool> live(g.nodes.size(), false);
    std::vector<bool> recipes = reachable_recipes(g);
    for (size_t i = 0; i < g.recipes.size(); ++i) {
        const Recipe& r = g.recipes[i];
        if (recipes[i] && (r.kind == RecipeKind::Value || r.kind == RecipeKind::View))
            live[static_cast<size_t>(r.index)] = true;
    }
    bool changed = false;
    std::vector<bool> dead(g.nodes.size(), false);
    for (size_t i = g.nodes.size(); i-- > 0;) {
        if (!live[i] && !has_effect(g, static_cast<Id>(i))) {
            dead[i] = changed = true;
            continue;
        }
        for (Id v : g.nodes[i].in) live[static_cast<size_t>(v)] = true;
    }
    if (changed) remove_nodes(g, dead);
    return changed;
}

}  // namespace stator::graph
