// What some recipes need of a graph, to be computed again where a trace is left.
#pragma once

#include <utility>
#include <vector>

#include "graph/graph.h"

namespace stator::graph {

// The input that a store changes: memory that was there before the trace. kNone: `v` is no store, or to
// memory that the trace has made.
Id stored_input(const Graph& g, Id v);

// Nodes and inputs. It ends at stores to inputs, whose results are read where they lie.
class Cone {
  public:
    explicit Cone(const Graph& g) : nodes(g.nodes.size(), false), g_(g), recipes_(g.recipes.size(), false) {}

    void add_recipe(int64_t index);  // -1: none
    void add_contents(const std::vector<CellContents>& contents);

    // Whether it can be computed again: what it reads of inputs is what their memory holds when the first
    // `end` nodes have been executed, and it depends on nothing that was drawn.
    bool reads_newest(Id end) const;

    std::vector<bool> nodes;
    std::vector<int> inputs, sources;  // of Graph::inputs; of RecipeKind::Slot
    bool draws = false;                // it depends on what was drawn, which cannot be drawn again
    std::vector<std::pair<Id, Id>>
        versions;  // what is read of inputs: the input's node, and itself or a store

  private:
    void add(Id v);
    void add_view(Id v);
    void add_input(Id root, Id v);
    Id root_of(Id v) const;

    const Graph& g_;
    std::vector<bool> recipes_;
};

}  // namespace stator::graph
