// The pass list, in order.
//
// Every pass keeps results bit for bit, the floating-point flags that NumPy reports, the order of stores, and
// which array objects are distinct. In debug builds each one is followed by the verifier and a print-parse
// round trip.
#include <cstdio>
#include <cstdlib>

#include "graph/graph.h"
#include "graph/passes/rewrite.h"

namespace stator::graph {

namespace {

constexpr Pass kPasses[] = {
    {"canonicalize", "one spelling for each thing; reads through copies nobody can tell apart", canonicalize},
    {"shapes", "rebuilds symbolic integers under the bounds known by now", simplify_shapes},
    {"fold", "computes constants, drops integer operations that change nothing", fold_constants},
    {"views", "composes views, drops those that show everything, reads broadcast scalars directly",
     simplify_views},
    {"cse", "merges nodes that compute the same", merge_common},
    {"guards", "drops guards that cannot fail", drop_redundant_guards},
    {"dce", "removes what nothing visible depends on", drop_dead},
};

// One pass exposes work for another; a few rounds settle every graph seen, and stopping early is harmless.
constexpr int kMaxRounds = 8;

#ifdef STATOR_DEBUG
void check(const Graph& g, std::string_view after) {
    std::string text = print(g), defects = verify(g);
    ParseResult again = defects.empty() ? parse(text) : ParseResult{};
    if (defects.empty() && again.error.empty() && print(again.graph) == text) return;
    std::fprintf(stderr, "stator: the graph is broken after '%.*s':\n%s%s\n%s",
                 static_cast<int>(after.size()), after.data(), defects.c_str(), again.error.c_str(),
                 text.c_str());
    std::abort();
}
#else
void check(const Graph&, std::string_view) {}
#endif

}  // namespace

std::span<const Pass> passes() { return kPasses; }

void run_passes(Graph& g, void (*on_pass)(const Pass&, const Graph&, void*), void* ctx) {
    check(g, "recording");
    for (int round = 0; round < kMaxRounds; ++round) {
        bool changed = false;
        for (const Pass& pass : kPasses) {
            if (!pass.run(g)) continue;
            changed = true;
            check(g, pass.name);
            if (on_pass) on_pass(pass, g, ctx);
        }
        if (!changed) return;
    }
}

}  // namespace stator::graph
