// See cone.h.

#include "graph/cone.h"

#include <algorithm>

namespace stator::graph {

Id stored_input(const Graph& g, Id v) {
    if (g.node(v).op != Op::Store) return kNone;
    const Id root = buffer_root(g, v);
    return g.node(root).op == Op::Input ? root : kNone;
}

void Cone::add_recipe(int64_t index) {
    if (index < 0 || recipes_[static_cast<size_t>(index)]) return;
    recipes_[static_cast<size_t>(index)] = true;
    const Recipe& r = g_.recipes[static_cast<size_t>(index)];
    if (r.kind == RecipeKind::Value) add(r.index);
    if (r.kind == RecipeKind::View) add_view(r.index);
    if (r.kind == RecipeKind::Slot) sources.push_back(r.index);
    if (r.kind == RecipeKind::InputObj) inputs.push_back(r.index);
    for (const int32_t item : r.items) add_recipe(item);
}

void Cone::add_contents(const std::vector<CellContents>& contents) {
    for (const CellContents& c : contents) add_recipe(c.cell), add_recipe(c.contents);
}

// A view shows what memory holds by now.
void Cone::add_view(Id v) {
    for (; info(g_.node(v).op).cls == OpClass::View; v = g_.node(v).in[0])
        nodes[static_cast<size_t>(v)] = true;
    if (const Id root = root_of(v); root != kNone)
        add_input(root, v);
    else
        add(v);
}

void Cone::add_input(Id root, Id v) {
    nodes[static_cast<size_t>(root)] = nodes[static_cast<size_t>(v)] = true;
    inputs.push_back(static_cast<int>(g_.node(root).ints[0]));
}

Id Cone::root_of(Id v) const { return g_.node(v).op == Op::Input ? v : stored_input(g_, v); }

void Cone::add(Id v) {
    if (v < 0) return;
    if (const Id root = root_of(v); root != kNone) {
        versions.emplace_back(root, v);
        return add_input(root, v);
    }
    if (nodes[static_cast<size_t>(v)]) return;
    nodes[static_cast<size_t>(v)] = true;
    const Node& n = g_.node(v);
    for (const Id in : n.in) add(in);
    if (n.op == Op::Library) add_recipe(n.ints[1]), add_recipe(n.ints[2]);
    draws |= n.op == Op::Library && n.ints[3] == kGivesDrawn;
}

bool Cone::reads_newest(Id end) const {
    if (draws) return false;
    std::vector<Id> newest(g_.nodes.size(), kNone);  // per input
    for (Id i = 0; i < end; ++i) {
        const Node& n = g_.node(i);
        if (n.op == Op::Library && n.ints[3] == kGivesNothing) return false;  // it changes an argument
        if (n.op == Op::Input) newest[static_cast<size_t>(i)] = i;
        if (const Id root = stored_input(g_, i); root != kNone) newest[static_cast<size_t>(root)] = i;
    }
    return std::ranges::all_of(versions, [&](const auto& version) {
        return version.second == newest[static_cast<size_t>(version.first)];
    });
}

}  // namespace stator::graph
