// fold: computes what depends on constants only, and drops integer operations that change nothing.
//
// A floating-point result is folded only when computing it here raised no flag but inexact: then IEEE
// arithmetic leaves one possible result and eager would have warned about nothing. NaN operands are left
// alone (payloads), as is every op whose bits are the host's. Integer results that wrap are folded for arrays
// only, since scalars warn. A dropped operation still made a fresh array, so it becomes a copy, which
// canonicalize may then read through.
#include "graph/passes/rewrite.h"
#include "graph/passes/scalar_math.h"
#include "graph/scalar.h"

namespace stator::graph {

namespace {

bool is_const(const Node& n) { return n.op == Op::Const; }

// Evaluates a rank-0 pointwise node whose operands are all constants.
bool fold_node(Graph& g, Node& n) {
    if (info(n.op).cls != OpClass::Pointwise || n.op == Op::HostLoop || !n.shape.empty()) return false;
    ScalarNode s{n.op, n.dtype, n.box == Box::Array, {}, {}};
    for (Id v : n.in) {
        const Node& x = g.node(v);
        if (!is_const(x)) return false;
        s.types.push_back(x.dtype);
        s.values.push_back(normalize_bits(x.dtype, x.ints));
    }
    auto bits = evaluate(s);
    if (!bits) return false;
    n.op = Op::Const;
    n.in.clear();
    n.ints = *bits;
    return true;
}

// Whether `n`, an integer operation with the constant `c` on the right, yields its left operand.
bool is_identity(Op op, DType t, int64_t c) {
    switch (op) {
        case Op::Add:
        case Op::Subtract:
        case Op::BitwiseOr:
        case Op::BitwiseXor:
        case Op::LeftShift:
        case Op::RightShift: return c == 0;
        case Op::Multiply:
        case Op::FloorDivide: return c == 1;
        case Op::BitwiseAnd: return c == normalize_bits(t, {-1})[0];
        default: return false;
    }
}

bool drop_identity(Graph& g, Node& n) {
    if (n.in.size() != 2 || !is_integer(n.dtype) || info(n.op).dtype != DTypeRule::same) return false;
    const Node& c = g.node(n.in[1]);
    if (!is_const(c) || g.node(n.in[0]).shape != n.shape) return false;
    if (!is_identity(n.op, n.dtype, normalize_bits(c.dtype, c.ints)[0])) return false;
    n.op = Op::Copy;
    n.in.pop_back();
    return true;
}

// A constant condition chooses one side; both sides' flags have been raised by the nodes that computed them.
bool choose_side(Graph& g, Node& n) {
    if (n.op != Op::Where || !is_const(g.node(n.in[0]))) return false;
    Id side = g.node(n.in[0]).ints[0] & 0xff ? n.in[1] : n.in[2];
    if (g.node(side).shape != n.shape) return false;
    n.op = Op::Copy;
    n.in = {side};
    return true;
}

}  // namespace

bool fold_constants(Graph& g) {
    std::vector<bool> keep = identity_matters(g);
    bool changed = false;
    for (size_t i = 0; i < g.nodes.size(); ++i) {
        Node& n = g.nodes[i];
        if (n.box != Box::Array || !keep[i]) changed |= fold_node(g, n);
        changed |= drop_identity(g, n) || choose_side(g, n);
    }
    return changed;
}

}  // namespace stator::graph
