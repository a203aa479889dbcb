// What tier 0 works out once for a nest: where values live, which host loop each statement calls, and when it
// runs.
#pragma once

#include <memory>
#include <vector>

#include "kernels/loops/chunks.h"
#include "kernels/loops/loop_ir.h"

namespace stator::kernels::tier0 {

// When a statement runs. A statement belongs to After when it needs the result of a reduction, or writes
// something in a nest that reduces.
enum class Phase : uint8_t {
    Once,    // before all loops
    Before,  // per iteration of the parallel axes, before the reduced ones
    Inside,  // per iteration of all axes
    After,   // per iteration of the parallel axes, after the reduced ones
};

struct Step {
    int stmt;
    Phase phase;
    int loop = -1;           // index in Program::loops
    uint32_t faults = 0;     // Fault bits this statement may report
    int size = 0;            // bytes per element
    int64_t slot = -1;       // byte offset in scratch
    int sole_store = -1;     // the only user is this Store: the value may be computed in its place
    bool must_copy = false;  // a Load whose memory is overwritten later in the nest
    bool reduces = false;    // Reduce or ArgReduce
};

struct Plan {
    std::vector<Step> steps;      // parallel to LoopNest::stmts
    std::vector<int> phase[4];    // statements of each phase, in order
    std::vector<int> reductions;  // Reduce and ArgReduce statements
    int parallel = 0, axes = 0;
    bool runs =
        false;  // reductions take whole runs along the innermost reduced axis; else element by element
};

// Made at the first call for a nest and kept with it.
std::shared_ptr<const Plan> plan_for(const Program& program, const LoopNest& nest);

}  // namespace stator::kernels::tier0
