// Text tests of regions: tests/ir/regions/*.txt. A case names what to run: `print`, `simplify`, `fuse`,
// `cells`, `checkpoints`, `checks` (all that runs before LLVM), `headers` (of a region that lacks some),
// `verify` (the output is the defect) or `error` (what the parser says). Loops are found, unless the text
// gives them.
#include <gtest/gtest.h>

#include "graph/region/passes.h"
#include "graph/region/region.h"
#include "tests/unit/graph/golden.h"

namespace stator::graph {
namespace {

std::string run_case(const test::GoldenCase& c) {
    Region r;
    const std::string error = parse(c.input, &r), what = c.arguments.empty() ? "" : c.arguments[0];
    if (what == "error") return error;
    if (!error.empty()) return "does not parse: " + error;
    if (r.loops.empty()) find_loops(r);
    if (what == "verify") return verify(r);
    if (what == "headers") {
        if (verify(r).empty()) return "there is nothing to do";
        if (!give_headers(r)) return "refused";
        simplify(r);
        find_loops(r);
    }
    if (const std::string defect = verify(r); !defect.empty()) return "before: " + defect;
    if (what == "simplify") simplify(r);
    if (what == "fuse") fuse_nests(r);
    if (what == "cells") prune_cells(r);
    if (what == "checks") optimize(r);
    if (what == "checkpoints") run_from_checkpoints(r);
    if (what == "wavefronts") {
        run_from_checkpoints(r);
        run_in_wavefronts(r);
    }
    const std::string text = print(r);
    if (const std::string defect = verify(r); !defect.empty()) return "after: " + defect + "\n" + text;
    Region again;
    if (const std::string e = parse(text, &again); !e.empty())
        return "its own text does not parse: " + e + text;
    if (print(again) != text) return "no round trip:\n" + text + print(again);
    if (code_key(again) != code_key(r)) return "another key after a round trip";
    return text;
}

TEST(Golden, Regions) { EXPECT_GT(test::run_goldens("tests/ir/regions", run_case), 30); }

// Values and exits that are used 256 times, as a counter of one byte cannot tell from never.
TEST(Region, WhatIsUsedOftenStays) {
    std::string text =
                    "region \"t\" {\n  input %0 : i64\n  input %1 : b1\nb0:\n  %2 = add.i64 %0, %0 : i64\n",
                list = "%2";
    for (int i = 0; i < 255; ++i) text += "  guard{1} %1 else x0\n", list += ", %2";
    text += "  leave x0\nexit x0 [" + list + "]\n}\n";
    Region r;
    ASSERT_EQ(parse(text, &r), "");
    simplify(r);
    EXPECT_EQ(verify(r), "");
    EXPECT_EQ(r.blocks[0].insts.size(), 256u);
    EXPECT_EQ(r.exits[0].values.size(), 256u);
}

TEST(Region, KeyIsWithoutWhatPeopleRead) {
    const char* text =
        "region \"NAME\" {\n  input %0 : i64 \"SOURCE\"\n  loop l0 header b1 @7\nb0:\n  jump b1\n"
        "b1 in l0:\n  %1 = add! %0, %0 else x0 : i64 @8\n  jump b1\nexit x0 [%0] \"LABEL\" @9\n}\n";
    Region r;
    ASSERT_EQ(parse(text, &r), "");
    const std::string key = code_key(r);
    Region other = r;
    other.name = "other", other.inputs[0].source = "n", other.loops[0].line = 1;
    other.exits[0].label = "x", other.exits[0].line = 2, other.blocks[1].insts[0].line = 3;
    EXPECT_EQ(code_key(other), key);
    other.inputs[0].written = true;
    EXPECT_NE(code_key(other), key);
    other = r;
    other.exits[0].values.clear();
    EXPECT_NE(code_key(other), key);
    other = r;
    other.exits[0].returns = 3;
    EXPECT_NE(code_key(other), key);
}

}  // namespace
}  // namespace stator::graph
