// The op table as data, and accessors for the attributes whose layout graph.h prescribes.
#include <algorithm>

#include "graph/graph.h"

namespace stator::graph {

namespace {

constexpr OpInfo kOps[] = {
#define bool bool_  // a dtype rule's name in ops.def that C++ reserves
#define OP(id, text, arity, cls, dtype, faults, native, host, doc) \
    {#id, text, arity, OpClass::cls, DTypeRule::dtype, faults, native, host, doc},
#include "graph/ops.def"
#undef OP
#undef bool
};

}  // namespace

const OpInfo& info(Op op) { return kOps[static_cast<int>(op)]; }
int op_count() { return static_cast<int>(std::size(kOps)); }

std::optional<Op> find_op(std::string_view text) {
    for (int i = 0; i < op_count(); ++i)
        if (kOps[i].text == text) return static_cast<Op>(i);
    return std::nullopt;
}

bool is_native(Op op, DType t) {
    // `where` and casts choose by what they carry; the callers pass that dtype.
    return info(op).native.find(t == DType::Bool ? 'b' : info(t).kind) != std::string_view::npos;
}

std::vector<AxisMap> view_axes(const Node& n) {
    auto rank = static_cast<size_t>(n.ints[0]);
    std::vector<AxisMap> axes(rank);
    for (size_t d = 0; d < rank; ++d)
        axes[d] = {n.syms[d], n.ints[1 + rank + d], static_cast<int>(n.ints[1 + d])};
    return axes;
}

void set_view_axes(Node& n, std::span<const AxisMap> axes) {
    n.ints.assign(1, static_cast<int64_t>(axes.size()));
    n.syms.clear();
    for (const AxisMap& a : axes) n.ints.push_back(a.axis);
    for (const AxisMap& a : axes) n.ints.push_back(a.step);
    for (const AxisMap& a : axes) n.syms.push_back(a.start);
}

std::span<const Sym> store_region(const Graph& g, const Node& n) {
    const Node& value = g.node(n.in[1]);
    if (!value.shape.empty()) return value.shape;
    return std::span<const Sym>(n.syms).subspan(static_cast<size_t>(n.ints[0]));
}

bool attributes_well_formed(const Node& n) {
    size_t ints = n.ints.size(), syms = n.syms.size();
    auto axes_fit = [&](bool extents) {
        if (ints == 0 || n.ints[0] < 0 || n.ints[0] > 64) return false;
        auto rank = static_cast<size_t>(n.ints[0]);
        return ints == 1 + 2 * rank && (extents ? syms >= rank : syms == rank);
    };
    switch (n.op) {
        case Op::Input: return ints == 1 && syms == 0;
        case Op::Const: return ints == (n.dtype == DType::C128 ? 2u : 1u) && syms == 0;
        case Op::SymScalar: return ints == 0 && syms == 1;
        case Op::View: return axes_fit(false);
        case Op::Store: return axes_fit(true);
        case Op::Reduce: return ints >= 1 && syms == 0 && !n.name.empty();
        case Op::ArgReduce: return ints == 1 && syms == 0 && !n.name.empty();
        case Op::HostLoop: return ints == 0 && syms == 0 && !n.name.empty();
        case Op::Library:
            return ints == 4 && (syms == 0 || syms == (n.box == Box::PyInt ? 1 : n.shape.size()));
        case Op::Guard:
        case Op::ErrorState:
        case Op::Checkpoint: return ints == 2 && syms == 0;
        case Op::SymGuard: return ints == 2 && syms == 2;
        default: return ints == 0 && syms == 0 && n.name.empty();
    }
}

}  // namespace stator::graph
