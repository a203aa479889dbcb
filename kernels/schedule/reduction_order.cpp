// What reductions the kernels reproduce bit for bit; see schedule/reduction_order.h.
#include "kernels/schedule/reduction_order.h"

#include <algorithm>
#include <atomic>

namespace stator::kernels {

using graph::DType;
using graph::Graph;
using graph::Id;
using graph::Node;
using graph::Op;

namespace {

// Per non-unit axis of the operand: whether it is reduced.
std::vector<char> walk(const Graph& g, Id id, std::vector<int>* dims = nullptr) {
    const Node& n = g.node(id);
    const auto& shape = g.node(n.in[0]).shape;
    std::vector<char> reduced;
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
        if (g.syms.as_const(shape[d]) == std::optional<int64_t>(1)) continue;
        bool r = n.op == Op::ArgReduce ? n.ints[0] < 0 || n.ints[0] == d
                                       : std::find(n.ints.begin() + 1, n.ints.end(), d) != n.ints.end();
        reduced.push_back(r);
        if (dims) dims->push_back(d);
    }
    return reduced;
}

struct Row {
    std::string_view name;
    std::string_view native;  // kind characters of operands that generated code reduces
    bool ordered;             // results depend on how axes merge
};
constexpr Row kRows[] = {
    {"add", "iuf", true},      {"multiply", "iuf", false},     {"maximum", "biuf", true},
    {"minimum", "biuf", true}, {"logical_and", "biuf", false}, {"logical_or", "biuf", false},
    {"argmax", "biuf", false}, {"argmin", "biuf", false},
};
const Row* row(std::string_view name) {
    for (const Row& r : kRows)
        if (r.name == name) return &r;
    return nullptr;
}

}  // namespace

namespace {

std::atomic<int> bits_of_extrema{kOwnVectors};

}  // namespace

void set_extremum_bits(int bits) { bits_of_extrema.store(bits, std::memory_order_relaxed); }
int extremum_bits() { return bits_of_extrema.load(std::memory_order_relaxed); }

bool native_reduce(const Graph& g, Id id) {
    const Node& n = g.node(id);
    DType t = g.node(n.in[0]).dtype;
    const Row* r = row(n.name);
    if (!r || t == DType::F16) return false;
    const bool extremum = n.name == "maximum" || n.name == "minimum";
    if (extremum && graph::is_float(t) && extremum_bits() == 0) return false;
    return r->native.find(graph::info(t).kind) != std::string_view::npos;
}

int trailing_run(const Graph& g, Id id) {
    auto reduced = walk(g, id);
    int run = 0;
    while (run < static_cast<int>(reduced.size()) && reduced[reduced.size() - 1 - run]) ++run;
    return run;
}

bool can_reduce(Graph& g, Id id, bool any_order) {
    const Node& n = g.node(id);
    const Row* r = row(n.name);
    DType t = g.node(n.in[0]).dtype;
    if (!r) return false;
    if (n.op == Op::ArgReduce) return native_reduce(g, id);
    if (n.ints.empty() || n.ints[0] != static_cast<int64_t>(graph::ReduceOrder::CContiguous)) return false;
    bool logical = n.name == "logical_and" || n.name == "logical_or";
    if (logical ? n.dtype != DType::Bool || !native_reduce(g, id) : n.dtype != t) return false;
    if (t == DType::Bool && (n.name == "add" || n.name == "multiply")) return false;
    if (any_order || !r->ordered || !(graph::is_float(t) || graph::is_complex(t))) return true;
    // A group of kept axes behind a reduced one must be longer than 1, or NumPy would merge across it.
    std::vector<int> dims;
    auto reduced = walk(g, id, &dims);
    const auto& shape = g.node(n.in[0]).shape;
    auto first = std::find(reduced.begin(), reduced.end(), 1) - reduced.begin();
    for (size_t k = first; k < reduced.size();) {
        size_t e = k;
        bool longer = false;
        for (; e < reduced.size() && reduced[e] == reduced[k]; ++e)
            longer |= g.syms.bounds(shape[dims[e]]).lo >= 2 || g.syms.bounds(shape[dims[e]]).hi == 0;
        if (!reduced[k] && !longer) return false;
        k = e;
    }
    return true;
}

}  // namespace stator::kernels
