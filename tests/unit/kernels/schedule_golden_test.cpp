// Goldens of the scheduler: tests/ir/kernels/*.txt hold graphs and the programs they become. A case is
//
//   ### title
//   trace ... { ... }
//   ---
//   program { ... }
//
// The whole graph is one segment; what it returns is wanted; a title with "(repeat)" sets stores_can_repeat.
// STATOR_BLESS=1 rewrites the expectations.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kernels/loops/loop_ir.h"

namespace {

using namespace stator;

std::vector<graph::Id> returned(const graph::Graph& g) {
    std::vector<graph::Id> out;
    auto visit = [&](auto&& self, int32_t r) -> void {
        if (r < 0) return;
        const graph::Recipe& recipe = g.recipes[static_cast<size_t>(r)];
        if (recipe.kind == graph::RecipeKind::Value) out.push_back(recipe.index);
        for (int32_t item : recipe.items) self(self, item);
    };
    visit(visit, g.end);
    return out;
}

std::string scheduled(const std::string& text, bool repeat) {
    graph::ParseResult parsed = graph::parse(text);
    if (!parsed.error.empty()) return "parse: " + parsed.error + "\n";
    if (std::string bad = graph::verify(parsed.graph); !bad.empty()) return "graph: " + bad;
    kernels::SegmentRequest request{
        0, static_cast<graph::Id>(parsed.graph.nodes.size()), {}, returned(parsed.graph), repeat};
    kernels::Program p = kernels::schedule(parsed.graph, request);
    return kernels::print(p, parsed.graph) + kernels::verify(p, parsed.graph);
}

struct Case {
    std::string title, graph, expected;
};

std::vector<Case> read_cases(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::vector<Case> cases;
    bool expected = false;
    for (std::string line; std::getline(in, line);) {
        if (line.rfind("### ", 0) == 0) {
            cases.push_back({line.substr(4), "", ""});
            expected = false;
        } else if (line == "---") {
            expected = true;
        } else if (!cases.empty() && !line.empty()) {
            (expected ? cases.back().expected : cases.back().graph) += line + "\n";
        }
    }
    return cases;
}

TEST(ScheduleGolden, Files) {
    std::filesystem::path folder = std::filesystem::path(STATOR_SOURCE_DIR) / "tests/ir/kernels";
    bool bless = std::getenv("STATOR_BLESS") && std::string(std::getenv("STATOR_BLESS")) == "1";
    int count = 0;
    for (auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".txt") continue;
        auto cases = read_cases(entry.path());
        std::ostringstream blessed;
        for (Case& c : cases) {
            std::string got = scheduled(c.graph, c.title.find("(repeat)") != std::string::npos);
            if (!bless) {
                EXPECT_EQ(got, c.expected) << entry.path().filename() << ": " << c.title;
            }
            blessed << (blessed.tellp() > 0 ? "\n" : "") << "### " << c.title << "\n"
                    << c.graph << "---\n"
                    << got;
            ++count;
        }
        if (bless) std::ofstream(entry.path()) << blessed.str();
    }
    EXPECT_GT(count, 0);
}

}  // namespace
