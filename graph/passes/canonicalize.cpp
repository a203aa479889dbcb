// canonicalize: one spelling for each thing, so that later passes compare nodes field by field.
//
// Constants get normalized bits; view axes that do not move get step 0; identity permutations become empty; a
// cast to the same dtype is the copy it performs; integer and bool operations that commute take constants on
// the right (floats do not: the operand order decides which NaN comes out). A copy whose buffer nobody can
// tell from its operand's is read through. It stays where a consumer's bits depend on the stride class the
// copy established.
#include <algorithm>

#include "graph/passes/rewrite.h"
#include "graph/scalar.h"

namespace stator::graph {

namespace {

bool commutes(Op op) {
    switch (op) {
        case Op::Add:
        case Op::Multiply:
        case Op::BitwiseAnd:
        case Op::BitwiseOr:
        case Op::BitwiseXor:
        case Op::Maximum:
        case Op::Minimum:
        case Op::Equal:
        case Op::NotEqual:
        case Op::LogicalAnd:
        case Op::LogicalOr:
        case Op::LogicalXor: return true;
        default: return false;
    }
}

bool constant(const Graph& g, Id v) { return info(g.node(v).op).cls == OpClass::Const; }

bool normalize_attributes(Node& n) {
    bool changed = false;
    if (n.op == Op::Const) {
        std::vector<int64_t> bits = normalize_bits(n.dtype, n.ints);
        changed |= bits != n.ints;
        n.ints = std::move(bits);
    }
    if (n.op == Op::View || n.op == Op::Store) {
        auto rank = static_cast<size_t>(n.ints[0]);
        for (size_t d = 0; d < rank; ++d)
            if (n.ints[1 + d] == -1 && n.ints[1 + rank + d] != 0) {
                n.ints[1 + rank + d] = 0;
                changed = true;
            }
    }
    if (!n.perm.empty() && std::is_sorted(n.perm.begin(), n.perm.end())) {
        n.perm.clear();
        changed = true;
    }
    return changed;
}

bool same_layout(const Node& a, const Node& b) {
    return a.layout == Layout::Contiguous && b.layout == Layout::Contiguous && a.perm == b.perm;
}

// Reads through copies use by use: one consumer may need the copy's strides while another does not.
bool elide_copies(Graph& g) {
    std::vector<bool> keep = identity_matters(g);
    bool changed = false;
    for (Id u = 0; u < static_cast<Id>(g.nodes.size()); ++u) {
        Node& n = g.node(u);
        if (n.op == Op::Library) continue;
        for (size_t k = 0; k < n.in.size(); ++k) {
            Id c = n.in[k];
            const Node& copy = g.node(c);
            if (copy.op != Op::Copy || copy.shape != g.node(copy.in[0]).shape) continue;
            if (keep[static_cast<size_t>(c)] || stored_between(g, copy.in[0], u)) continue;
            // What is decided by the element of an array is a number of its own; the array's is in memory.
            if (info(n.op).cls == OpClass::Guard && in_memory(g.node(copy.in[0]))) continue;
            bool same = copy.shape.empty() || same_layout(copy, g.node(copy.in[0]));
            if (!same && !indifferent_to_layout(g, n, k)) continue;
            n.in[k] = copy.in[0];
            changed = true;
        }
    }
    return changed;
}

}  // namespace

bool canonicalize(Graph& g) {
    bool changed = false;
    for (Node& n : g.nodes) {
        changed |= normalize_attributes(n);
        if (n.op == Op::Cast && g.node(n.in[0]).dtype == n.dtype) {
            n.op = Op::Copy;
            changed = true;
        }
        if (commutes(n.op) && !is_float(g.node(n.in[0]).dtype) && !is_complex(g.node(n.in[0]).dtype) &&
            constant(g, n.in[0]) && !constant(g, n.in[1])) {
            std::swap(n.in[0], n.in[1]);
            changed = true;
        }
    }
    for (Input& in : g.inputs)
        if (!in.perm.empty() && std::is_sorted(in.perm.begin(), in.perm.end())) {
            in.perm.clear();
            changed = true;
        }
    return elide_copies(g) || changed;
}

}  // namespace stator::graph
