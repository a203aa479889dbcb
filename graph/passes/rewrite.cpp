// Replacing and removing nodes.
//
// Invariant: node order is program order and is never changed here; indices of inputs, recipes, snapshots and
// locations are stable, because the frontend keeps tables of its own beside them.
#include "graph/passes/rewrite.h"

#include <numeric>

namespace stator::graph {

namespace {

bool refers_to_node(const Recipe& r) { return r.kind == RecipeKind::Value || r.kind == RecipeKind::View; }

void mark_recipe(const Graph& g, int64_t index, std::vector<bool>& seen) {
    if (index < 0 || seen[static_cast<size_t>(index)]) return;
    seen[static_cast<size_t>(index)] = true;
    for (int32_t item : g.recipes[static_cast<size_t>(index)].items) mark_recipe(g, item, seen);
}

void mark_cells(const Graph& g, const std::vector<CellContents>& cells, std::vector<bool>& seen) {
    for (const CellContents& c : cells) mark_recipe(g, c.cell, seen), mark_recipe(g, c.contents, seen);
}

}  // namespace

std::vector<bool> reachable_snapshots(const Graph& g) {
    std::vector<bool> seen(g.snapshots.size(), false);
    for (const Node& n : g.nodes)
        if (info(n.op).cls == OpClass::Guard && n.ints[1] >= 0) seen[static_cast<size_t>(n.ints[1])] = true;
    if (g.end_kind == EndKind::Leave && g.end >= 0) seen[static_cast<size_t>(g.end)] = true;
    return seen;
}

std::vector<bool> reachable_recipes(const Graph& g) {
    std::vector<bool> seen(g.recipes.size(), false);
    for (const Node& n : g.nodes)
        if (n.op == Op::Library) mark_recipe(g, n.ints[1], seen), mark_recipe(g, n.ints[2], seen);
    std::vector<bool> snapshots = reachable_snapshots(g);
    for (size_t i = 0; i < g.snapshots.size(); ++i)
        if (snapshots[i]) {
            for (int32_t r : g.snapshots[i].contexts) mark_recipe(g, r, seen);
            mark_cells(g, g.snapshots[i].cells, seen);
            for (const SnapFrame& f : g.snapshots[i].frames) {
                for (int32_t r : f.slots) mark_recipe(g, r, seen);
                if (f.func != -1) mark_recipe(g, f.func, seen);
            }
        }
    if (g.end_kind == EndKind::Return) mark_recipe(g, g.end, seen), mark_cells(g, g.end_cells, seen);
    return seen;
}

std::vector<bool> identity_matters(const Graph& g) {
    std::vector<bool> seen(g.nodes.size(), false);
    std::vector<bool> recipes = reachable_recipes(g);
    for (size_t i = 0; i < g.recipes.size(); ++i)
        if (recipes[i] && refers_to_node(g.recipes[i])) seen[static_cast<size_t>(g.recipes[i].index)] = true;
    for (const Node& n : g.nodes) {
        if (n.op == Op::Library)
            for (Id v : n.in) seen[static_cast<size_t>(v)] = true;
        if (n.op == Op::Store) seen[static_cast<size_t>(n.in[0])] = true;
    }
    // Bases come before their views and stores, so one backward sweep is enough.
    for (size_t i = g.nodes.size(); i-- > 0;) {
        OpClass cls = info(g.nodes[i].op).cls;
        if (seen[i] && (cls == OpClass::View || cls == OpClass::Effect))
            seen[static_cast<size_t>(g.nodes[i].in[0])] = true;
    }
    return seen;
}

bool stored_between(const Graph& g, Id v, Id last) {
    Id root = buffer_root(g, v);
    for (Id s = v + 1; s <= last; ++s)
        if (g.node(s).op == Op::Store && buffer_root(g, s) == root) return true;
    return false;
}

bool indifferent_to_layout(const Graph& g, const Node& consumer, size_t k) {
    switch (info(consumer.op).cls) {
        case OpClass::Pointwise: {
            DType carried = consumer.op == Op::Where ? consumer.dtype : g.node(consumer.in[k]).dtype;
            return is_native(consumer.op, carried);
        }
        case OpClass::Alloc:
        case OpClass::Guard: return true;
        case OpClass::Effect: return k == 1;
        default: return false;
    }
}

void replace_uses(Graph& g, std::vector<Id> to) {
    for (size_t i = 0; i < to.size(); ++i)
        to[i] = to[static_cast<size_t>(to[i])];  // targets are final already
    for (Node& n : g.nodes)
        for (Id& v : n.in) v = to[static_cast<size_t>(v)];
    for (Recipe& r : g.recipes)
        if (refers_to_node(r) && r.index >= 0 && r.index < static_cast<Id>(to.size()))
            r.index = to[static_cast<size_t>(r.index)];
}

void remove_nodes(Graph& g, const std::vector<bool>& dead) {
    std::vector<Id> to(g.nodes.size(), kNone);
    std::vector<Node> kept;
    for (size_t i = 0; i < g.nodes.size(); ++i) {
        if (dead[i]) continue;
        to[i] = static_cast<Id>(kept.size());
        kept.push_back(std::move(g.nodes[i]));
    }
    g.nodes = std::move(kept);
    for (Node& n : g.nodes)
        for (Id& v : n.in) v = to[static_cast<size_t>(v)];
    for (Recipe& r : g.recipes) {
        if (!refers_to_node(r)) continue;
        Id now =
            r.index >= 0 && r.index < static_cast<Id>(to.size()) ? to[static_cast<size_t>(r.index)] : kNone;
        if (now == kNone)
            r = {};
        else
            r.index = now;
    }
    std::vector<bool> reachable = reachable_snapshots(g);
    for (size_t i = 0; i < reachable.size(); ++i)
        if (!reachable[i]) g.snapshots[i] = {};
}

}  // namespace stator::graph
