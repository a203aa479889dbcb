// cse: two nodes that compute the same from the same become one.
//
// The graph is functional, so equal operands mean equal values whatever was stored in between. What may not
// be merged: a node whose own object or buffer can be seen (two arrays are two objects), one whose twin's
// buffer is stored into, and, across a guard or a library call, one that can raise a flag: if it does, each
// segment reports it for itself. Elementwise arrays are recomputed in a later segment unless the first one is
// stored anyway, because passing them between kernels through memory costs more than computing them.
#include <string>
#include <unordered_map>

#include "graph/passes/rewrite.h"

namespace stator::graph {

namespace {

bool mergeable(const Node& n) {
    switch (info(n.op).cls) {
        case OpClass::Input:
        case OpClass::Const:
        case OpClass::Pointwise:
        case OpClass::View:
        case OpClass::Reduction: return true;
        default: return false;
    }
}

template <class T>
void append(std::string& key, const T& v) {
    key.append(reinterpret_cast<const char*>(&v), sizeof v);
}

template <class T>
void append_list(std::string& key, const std::vector<T>& list) {
    append(key, list.size());
    for (const T& v : list) append(key, v);
}

// Everything but the location.
std::string key_of(const Node& n) {
    std::string key;
    append(key, n.op);
    append(key, n.dtype);
    append(key, n.box);
    append(key, n.layout);
    append_list(key, n.perm);
    append(key, n.own_dtype);
    append(key, n.host);
    append_list(key, n.in);
    append_list(key, n.shape);
    append_list(key, n.ints);
    append_list(key, n.syms);
    return key + n.name;
}

}  // namespace

bool merge_common(Graph& g) {
    std::vector<bool> keep = identity_matters(g);
    std::vector<bool> stored(g.nodes.size(), false);
    for (const Node& n : g.nodes)
        if (n.op == Op::Store) stored[static_cast<size_t>(buffer_root(g, n.in[0]))] = true;

    struct Seen {
        Id id;
        int segment;
    };
    std::unordered_map<std::string, Seen> seen;
    std::vector<Id> to(g.nodes.size());
    int segment = 0;
    bool changed = false;
    for (Id v = 0; v < static_cast<Id>(g.nodes.size()); ++v) {
        auto index = static_cast<size_t>(v);
        to[index] = v;
        Node& n = g.node(v);
        for (Id& operand : n.in) operand = to[static_cast<size_t>(operand)];
        if (info(n.op).cls == OpClass::Guard || info(n.op).cls == OpClass::Library) ++segment;
        if (!mergeable(n)) continue;
        auto [it, fresh] = seen.try_emplace(key_of(n), Seen{v, segment});
        if (fresh) continue;
        Seen& twin = it->second;
        bool own_object = n.box == Box::Array && keep[index] && n.op != Op::Input;
        bool twin_changes =
            info(n.op).cls != OpClass::View && n.op != Op::Input && stored[static_cast<size_t>(twin.id)];
        bool through_memory =
            info(n.op).cls == OpClass::Pointwise && !n.shape.empty() && !keep[static_cast<size_t>(twin.id)];
        bool too_far = twin.segment != segment && (can_fault(g, v) || through_memory);
        if (own_object || twin_changes || too_far) {
            twin = {v, segment};  // the nearer one serves what follows
            continue;
        }
        to[index] = twin.id;
        changed = true;
    }
    if (!changed) return false;
    std::vector<bool> dead(g.nodes.size());
    for (size_t i = 0; i < to.size(); ++i) dead[i] = to[i] != static_cast<Id>(i);
    replace_uses(g, to);
    remove_nodes(g, dead);
    return true;
}

}  // namespace stator::graph
