// views: a view of a view becomes one view; a view that shows everything, and a broadcast scalar, disappear.
//
// All of it concerns reading only: nodes whose identity matters keep their chain of views, because the array
// object that leaves the trace is made along it. Stores need no care, since a view names a version of the
// buffer.
#include <algorithm>

#include "graph/passes/rewrite.h"

namespace stator::graph {

namespace {

// outer o inner, both as maps on the innermost operand; false when a step overflows.
bool compose(SymTable& syms, const std::vector<AxisMap>& inner, const std::vector<AxisMap>& outer,
             std::vector<AxisMap>& out) {
    out.clear();
    for (const AxisMap& a : inner) {
        if (a.axis < 0) {
            out.push_back({a.start, 0, -1});
            continue;
        }
        const AxisMap& b = outer[static_cast<size_t>(a.axis)];
        AxisMap c{syms.add(a.start, syms.mul(b.start, syms.constant(a.step))), 0, b.axis};
        if (b.axis >= 0 && __builtin_mul_overflow(a.step, b.step, &c.step)) return false;
        out.push_back(c);
    }
    return true;
}

// Box tells a rank-0 array, which is a view, from a scalar, which was read out once.
bool is_scalar(const Node& n) { return n.shape.empty() && n.box != Box::Array; }

bool compose_views(Graph& g, Id v) {
    Node& n = g.node(v);
    const Node& base = g.node(n.in[0]);
    if (n.op == Op::Reshape && base.op == Op::Reshape) {
        n.in[0] = base.in[0];
        return true;
    }
    if (n.op != Op::View || base.op != Op::View || is_scalar(base)) return false;
    std::vector<AxisMap> axes;
    if (!compose(g.syms, view_axes(base), view_axes(n), axes)) return false;
    Id through = base.in[0];
    set_view_axes(n, axes);
    n.in[0] = through;
    return true;
}

bool shows_everything(const Graph& g, const Node& n) {
    const Node& base = g.node(n.in[0]);
    if (n.shape != base.shape || n.box != base.box || n.layout != base.layout || n.perm != base.perm ||
        n.own_dtype != base.own_dtype)
        return false;
    if (n.op == Op::Reshape) return true;
    std::vector<AxisMap> axes = view_axes(n);
    for (size_t d = 0; d < axes.size(); ++d) {
        if (g.syms.as_const(axes[d].start) != 0) return false;
        bool whole = axes[d].axis == static_cast<int>(d) && axes[d].step == 1;
        if (!whole && g.syms.as_const(n.shape[d]) != 1) return false;
    }
    return true;
}

// The scalar that every element of `v` equals, if it was made from one.
Id scalar_behind(const Graph& g, Id v) {
    while (true) {
        const Node& n = g.node(v);
        if (n.shape.empty()) return v;
        if (n.op == Op::Full || info(n.op).cls == OpClass::View)
            v = n.in[0];
        else
            return kNone;
    }
}

// One operand keeps the node's shape, as kernels expect of a pointwise node that has one.
bool use_scalars(Graph& g, Node& n) {
    if (info(n.op).cls != OpClass::Pointwise || n.shape.empty()) return false;
    auto shaped = std::count_if(n.in.begin(), n.in.end(), [&](Id v) { return !g.node(v).shape.empty(); });
    bool changed = false;
    for (size_t k = 0; k < n.in.size() && shaped > 1; ++k) {
        if (g.node(n.in[k]).shape.empty() || !indifferent_to_layout(g, n, k)) continue;
        Id scalar = scalar_behind(g, n.in[k]);
        if (scalar == kNone) continue;
        n.in[k] = scalar;
        --shaped;
        changed = true;
    }
    return changed;
}

}  // namespace

bool simplify_views(Graph& g) {
    std::vector<bool> keep = identity_matters(g);
    std::vector<Id> to(g.nodes.size());
    bool changed = false, replaced = false;
    for (Id v = 0; v < static_cast<Id>(g.nodes.size()); ++v) {
        to[static_cast<size_t>(v)] = v;
        Node& n = g.node(v);
        for (Id& operand : n.in)
            if (info(n.op).cls != OpClass::Library) operand = to[static_cast<size_t>(operand)];
        changed |= use_scalars(g, n);
        if (info(n.op).cls != OpClass::View || keep[static_cast<size_t>(v)]) continue;
        changed |= compose_views(g, v);
        if (shows_everything(g, n)) {
            to[static_cast<size_t>(v)] = n.in[0];
            replaced = true;
        }
    }
    if (!replaced) return changed;
    // Uses are rewritten already; what is left of a replaced view is dead.
    std::vector<bool> dead(g.nodes.size(), false);
    for (size_t i = 0; i < to.size(); ++i) dead[i] = to[i] != static_cast<Id>(i);
    remove_nodes(g, dead);
    return true;
}

}  // namespace stator::graph
