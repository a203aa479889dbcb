// What passes share: who uses what, and replacing or removing nodes without breaking recipes.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace stator::graph {

// Recipes that can be built: those of the end, of library calls and of snapshots that a guard or the end
// leaves through.
std::vector<bool> reachable_recipes(const Graph& g);
std::vector<bool> reachable_snapshots(const Graph& g);

// Nodes whose object or buffer can be seen, not only their elements: what recipes and library calls hold,
// what is stored into, and what such nodes are views of. Only other nodes may be replaced by a node with the
// same elements in another buffer.
std::vector<bool> identity_matters(const Graph& g);

// Whether a store makes a new version of the buffer of `v` after node `v`, up to and including node `last`.
// Reading `v` later than that makes bufferization keep the old version.
bool stored_between(const Graph& g, Id v, Id last);

// Whether the consumer gives the same bits whatever strides its operand `k` has: generated code does, host
// loops and reductions take other paths for other stride classes.
bool indifferent_to_layout(const Graph& g, const Node& consumer, size_t k);

// Every use of node i (operands and recipes) becomes a use of to[i]; to[i] <= i, and chains are followed.
void replace_uses(Graph& g, std::vector<Id> to);

// Removes nodes and renumbers everything. Recipes and snapshots that nothing can reach lose what they refer
// to, so that their indices stay valid.
void remove_nodes(Graph& g, const std::vector<bool>& dead);

// Passes, one per file; each returns whether it changed something.
bool canonicalize(Graph& g);
bool simplify_shapes(Graph& g);
bool fold_constants(Graph& g);
bool simplify_views(Graph& g);
bool merge_common(Graph& g);
bool drop_redundant_guards(Graph& g);
bool drop_dead(Graph& g);

}  // namespace stator::graph
