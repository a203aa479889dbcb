// Packs: nests that count the points that their `when` lets pass, and append what passed, in the order of C.
//
// Each warp (a *team*) takes one stretch of the points. It counts in a first pass and leaves the number to
// the others; behind a barrier of the grid everyone knows how many passed in front of its stretch, and stores
// in a second pass. How many teams there are does not show.
#include <algorithm>

#include "kernels/cuda/regions/internal.h"

namespace stator::kernels::cuda {

void RegionPrinter::pack(const Inst& i) {
    if (solo_ >= 0) return fail("a mask in a loop of one thread");
    uses_.insert("teams");
    teams_ = true;
    const std::vector<Inst>& body = r_.nests[static_cast<size_t>(i.ints[0])].insts;
    const bool appends =
        std::any_of(body.begin(), body.end(), [](const Inst& n) { return n.op == RegionOp::NestAppend; });
    lines_.open("");
    lines_.line("const i64 total = " + some(i) + " ? " + total(i) + " : 0;");
    if (spread_.in_order(i))
        pack_in_order(i);
    else
        pack_by_warps(i, appends);
    lines_.line(scalar(i.result) + " = passed;");
    lines_.line("{ u8* const was = left_by; left_by = left_next, left_next = was; }");
    lines_.close();
    meet_about_flags(i);
}

// Where what is appended may lie in memory that the nest reads.
void RegionPrinter::pack_in_order(const Inst& i) {
    lines_.line("i64 passed = 0;");
    lines_.open("if (leader)");
    lines_.open("for (i64 at = 0; at < total; ++at)");
    const std::vector<std::string> index = point(i);
    nest_body(i, index, {"", "passed", "++passed;"});
    lines_.close();
    lines_.line("*(i64*)left_by = passed;");
    lines_.close();
    lines_.line("grid_meet(ctl);");
    lines_.line("passed = *(i64*)left_by;");
}

void RegionPrinter::pack_by_warps(const Inst& i, bool appends) {
    lines_.line("i64 passed = 0, first, end;");
    lines_.line("team_stretch(total, team, teams, first, end);");
    warp_points(i);
    lines_.line("passed += __popc(__ballot_sync(~0u, holds));");
    lines_.close();
    lines_.line("i64 number = team_counts(ctl, left_by, passed, team, teams);");
    if (!appends) return;
    warp_points(i);
    lines_.line("const u32 all = __ballot_sync(~0u, holds);");
    lines_.open("if (holds)");
    lines_.line("const i64 mine = number + __popc(all & ((1u << lane) - 1));");
    nest_body(i, point(i), {"", "mine", ""});
    lines_.close();
    lines_.line("number += __popc(all);");
    lines_.close();
}

// A loop over the team's points, 32 at once, left open: `holds` says of each lane's whether it passes.
void RegionPrinter::warp_points(const Inst& i) {
    lines_.open("for (i64 from = first; from < end; from += 32)");
    lines_.line("const i64 at = from + lane;");
    lines_.line("bool holds = false;");
    lines_.open("if (at < end)");
    nest_body(i, point(i), {"holds", "", ""});
    lines_.close();
}

}  // namespace stator::kernels::cuda
