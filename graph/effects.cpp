// What a node does besides yielding its value: which buffer it lives in, whether it can raise a flag, whether
// it must stay although nobody uses it.
//
// Invariant: the default is "has an effect". An op is only declared silent for operand dtypes where NumPy's
// loop was seen or is documented to raise nothing (docs/design/numerics.md).
#include <algorithm>

#include "graph/cast.h"
#include "graph/graph.h"

namespace stator::graph {

namespace {

bool inexact(DType t) { return is_float(t) || is_complex(t); }

}  // namespace

bool cast_may_fault(DType from, DType to) {
    if (to == DType::Bool || from == DType::Bool) return false;
    if (inexact(from)) {
        if (!inexact(to)) return true;
        if (is_complex(from) && !is_complex(to)) return true;  // and a ComplexWarning
        int from_part = is_complex(from) ? info(from).size / 2 : info(from).size;
        int to_part = is_complex(to) ? info(to).size / 2 : info(to).size;
        return to_part < from_part;
    }
    // Of the integers only those beyond f16's 65504 overflow.
    return to == DType::F16 && info(from).size >= 2 && from != DType::I16;
}

namespace {

// The divisor is a constant or a bounded Python int for which integer division neither faults nor wraps.
bool safe_integer_divisor(const Graph& g, const Node& n) {
    const Node& d = g.node(n.in[1]);
    if (d.op == Op::SymScalar) return g.syms.bounds(d.syms[0]).lo > 0;
    if (d.op != Op::Const) return false;
    int bits = 8 * info(d.dtype).size;
    uint64_t v = static_cast<uint64_t>(d.ints[0]) << (64 - bits) >> (64 - bits);
    bool minus_one = is_signed(d.dtype) && v == ~uint64_t{0} >> (64 - bits);
    return v != 0 && !minus_one;
}

// Scalar integer arithmetic warns about overflow where arrays wrap silently.
bool scalar_integer_can_warn(const Node& n) {
    if (n.box != Box::NpScalar || !is_integer(n.dtype)) return false;
    return n.op == Op::Add || n.op == Op::Subtract || n.op == Op::Multiply || n.op == Op::Negative ||
           n.op == Op::Absolute || n.op == Op::LeftShift || n.op == Op::Square;
}

bool extents_positive(const Graph& g, const std::vector<Sym>& shape) {
    return std::all_of(shape.begin(), shape.end(), [&](Sym s) { return g.syms.bounds(s).lo >= 1; });
}

bool reduce_can_fault(const Graph& g, const Node& n) {
    const Node& x = g.node(n.in[0]);
    if (n.name == "maximum" || n.name == "minimum")
        return !extents_positive(g, x.shape);  // no identity when empty
    if (n.name == "logical_and" || n.name == "logical_or") return false;
    if (n.name == "add" || n.name == "multiply") return inexact(x.dtype) || inexact(n.dtype);
    return true;
}

}  // namespace

Id buffer_version(const Graph& g, Id v) {
    while (info(g.node(v).op).cls == OpClass::View) v = g.node(v).in[0];
    return v;
}

bool in_memory(const Node& n) {
    const OpClass cls = info(n.op).cls;
    return n.box == Box::Array && cls != OpClass::Pointwise && cls != OpClass::Reduction &&
           cls != OpClass::Const;
}

Id buffer_root(const Graph& g, Id v) {
    while (true) {
        OpClass cls = info(g.node(v).op).cls;
        if (cls != OpClass::View && cls != OpClass::Effect) return v;
        v = g.node(v).in[0];
    }
}

bool can_fault(const Graph& g, Id v) {
    const Node& n = g.node(v);
    if (n.host != HostId::NumPy) return false;
    if (scalar_integer_can_warn(n)) return true;
    std::string_view faults = info(n.op).faults;
    switch (n.op) {
        case Op::Cast: return cast_may_fault(g.node(n.in[0]).dtype, n.dtype);
        case Op::Reduce: return reduce_can_fault(g, n);
        case Op::ArgReduce: return !extents_positive(g, g.node(n.in[0]).shape);
        case Op::FloorDivide:
        case Op::Remainder: return inexact(n.dtype) || !safe_integer_divisor(g, n);
        case Op::Reciprocal: return true;
        default: break;
    }
    // The table speaks about real numbers: complex comparisons, for one, raise invalid on NaN.
    if (faults == "-" && info(n.op).cls == OpClass::Pointwise && n.op != Op::Where && n.op != Op::Copy)
        return std::any_of(n.in.begin(), n.in.end(), [&](Id i) { return is_complex(g.node(i).dtype); });
    if (faults == "-") return false;
    if (faults == "?") return true;
    return std::any_of(n.in.begin(), n.in.end(), [&](Id i) { return inexact(g.node(i).dtype); });
}

// A view that the host makes, of which everything is known beforehand: it cannot fail.
static bool is_known_view(const Node& n) {
    return n.host == HostId::Torch && gives_shared(n.ints[3]) && n.syms.empty() && !n.shape.empty();
}

bool has_effect(const Graph& g, Id v) {
    const Node& n = g.node(v);
    switch (info(n.op).cls) {
        case OpClass::Guard: return true;
        case OpClass::Library: return !is_known_view(n);
        case OpClass::Effect: return g.node(buffer_root(g, v)).op == Op::Input;
        default: return can_fault(g, v);
    }
}

}  // namespace stator::graph
