// GPU schedules as text, for the dump: what plan_launch does with them is said in words.
#include <algorithm>

#include "kernels/cuda/schedule.h"

namespace stator::kernels {

namespace {

// How plan_launch cuts the work up, by Form.
constexpr const char* kRules[] = {
    "one thread",
    "a block takes tiles of columns, vector x unroll elements a thread, or several short rows; the grid one "
    "block a "
    "tile",
    "a block takes a tile of both axes; what lies across goes through shared memory",
    "threads side by side share a row, about two vectors each; short rows share a block; long ones are "
    "shared "
    "by a cluster of blocks, few very long ones cut into slices",
    "a thread takes one column, the block's second axis slices of the depth; few long columns are cut into "
    "slices of several blocks",
    "a block takes a slice of the columns and leaves a partial result; the grid one block a slice",
    "one block combines the partial results, in their order",
};

std::string extents(const std::vector<Int>& list, const Program& p, const graph::Graph& g) {
    std::string s;
    for (const Int& i : list)
        s += (s.empty() ? "" : " x ") +
             (i.sym < 0 ? std::to_string(i.value) : g.syms.str(p.syms[static_cast<size_t>(i.sym)]));
    return s.empty() ? "1" : s;
}

std::string three(const uint32_t* v) {
    return std::to_string(v[0]) + " x " + std::to_string(v[1]) + " x " + std::to_string(v[2]);
}

}  // namespace

std::string print(const GpuKernel& k, const Program& p, const graph::Graph& g, const Launch* last) {
    std::string out;
    const auto row = [&](const char* name, const std::string& text) {
        out += std::string("  ") + name +
               std::string(std::max<size_t>(13 - std::string(name).size(), 1), ' ') + text + "\n";
    };
    row("form", form_name(k.form));
    std::string nests;
    for (const int n : k.nests) nests += (nests.empty() ? "" : ", ") + std::to_string(n);
    row("nests", nests);
    row("rows", extents(k.rows, p, g));
    row("columns", extents(k.columns, p, g));
    if (k.form == Form::Tiles)
        row("tiles", std::to_string(k.side) + " x " + std::to_string(k.side) + " elements, across axis " +
                         std::to_string(k.across));
    if (!k.depth.empty()) row("depth", extents(k.depth, p, g));
    row("vector", std::to_string(k.vector) + " elements an access where memory is aligned");
    row("unroll", std::to_string(k.unroll) + " accesses in flight, " + std::to_string(k.single_unroll) +
                      " where elements are accessed one by one");
    if (k.reductions) row("reductions", std::to_string(k.reductions));
    if (!k.staged.empty())
        row("staged", std::to_string(k.staged.size()) + " operands in shared memory where a row fits");
    if (k.phases > 1) row("launches", "1, or " + std::to_string(k.phases) + " where it is cut into slices");
    if (k.calls) row("calls", "dear functions are called, not copied in");
    row("rule", kRules[static_cast<size_t>(k.form)]);
    if (last)
        row("last launch", "grid " + three(last->grid) + ", block " + three(last->block) +
                               (last->cluster > 1 ? ", clusters of " + std::to_string(last->cluster) : "") +
                               (last->phase >= 0 ? ", " + std::to_string(last->slices) + " slices" : "") +
                               (last->shared_bytes ? ", " + std::to_string(last->shared_bytes) +
                                                         " bytes of dynamic shared memory"
                                                   : ""));
    return out;
}

}  // namespace stator::kernels
