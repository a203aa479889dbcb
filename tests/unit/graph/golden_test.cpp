// Text tests of the graph language: tests/ir/graph/*.txt. A case names what to run: passes in order, `all`
// (the whole list to its fixpoint), `verify` (the output is the list of defects), `print`, or `error` (what
// the parser says).
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "tests/unit/graph/golden.h"

namespace stator::graph {
namespace {

std::string run_case(const test::GoldenCase& c) {
    ParseResult parsed = parse(c.input);
    if (c.arguments == std::vector<std::string>{"error"}) return parsed.error;
    if (!parsed.error.empty()) return "does not parse: " + parsed.error;
    Graph& g = parsed.graph;
    if (c.arguments == std::vector<std::string>{"verify"}) return verify(g);
    for (const std::string& name : c.arguments) {
        if (name == "print") continue;
        if (std::string defects = verify(g); !defects.empty()) return "before " + name + ":\n" + defects;
        if (name == "all") run_passes(g);
        for (const Pass& p : passes())
            if (p.name == name) p.run(g);
        if (std::string defects = verify(g); !defects.empty())
            return "after " + name + ":\n" + defects + print(g);
    }
    std::string text = print(g);
    ParseResult again = parse(text);
    if (!again.error.empty()) return "its own text does not parse: " + again.error + "\n" + text;
    if (print(again.graph) != text) return "no round trip:\n" + text + print(again.graph);
    return text;
}

TEST(Golden, Graph) { EXPECT_GT(test::run_goldens("tests/ir/graph", run_case), 30); }

}  // namespace
}  // namespace stator::graph
