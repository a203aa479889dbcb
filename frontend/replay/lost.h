// Variables that nothing reads any more where a trace is left, computed after all.
//
// Their values are parts of fused kernels and were never in memory. What an exception passes through is
// looked at, though, by debuggers, by test runners and by people: then each is computed from the graph as it
// was recorded, interpreted, from the arrays and numbers that the replay was given. Only those are kept
// meanwhile.
//
// That gives eager's bits as long as these arrays hold what they held. The recorder therefore keeps, as if it
// were read, what depends on memory that the trace stores to, or that the code ahead may store to. What a
// called function changes cannot be foreseen: where a sample of an input's elements has changed, the
// variables that were computed from it stay missing.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "frontend/cpython/resume_frame.h"
#include "frontend/pyref.h"
#include "graph/graph.h"

namespace stator::frontend {

struct ReplayState;
struct Trace;

// What a trace knows of such variables, at all of its snapshots. Outlives the trace.
class LostPlans : public std::enable_shared_from_this<LostPlans> {
  public:
    // nullptr where no snapshot has any.
    static std::shared_ptr<LostPlans> of(std::shared_ptr<const graph::Graph> recorded,
                                         const std::vector<PyRef>& objects);
    ~LostPlans();

    // Gives the frames of a snapshot at which a replay is left what it needs. Never leaves a Python error
    // set.
    void keep(const ReplayState& st, int snapshot, std::vector<ResumeFrame>& frames);

    // The variables of one frame at one snapshot.
    struct Plan {
        std::vector<int> slots;
        std::vector<int32_t> recipes;        // of each; -1: it cannot be computed
        std::vector<std::vector<int>> read;  // of each, the inputs whose elements it was computed from
        std::vector<int> inputs;             // of the graph, that they depend on
        std::vector<int> sources;            // of the guards, the same
        std::unique_ptr<Trace> trace;        // which returns them as a tuple; made when first needed
        bool failed = false;
    };

  private:
    friend class KeptInputs;
    LostPlans(std::shared_ptr<const graph::Graph> recorded, const std::vector<PyRef>& objects);
    std::vector<std::unique_ptr<Plan>>& at(int snapshot);
    std::unique_ptr<Plan> plan(int snapshot, const graph::SnapFrame& frame) const;
    bool make_trace(Plan& plan) const;

    std::shared_ptr<const graph::Graph> recorded_;
    std::vector<PyRef> objects_;
    std::map<int, std::vector<std::unique_ptr<Plan>>> plans_;  // by snapshot, one for each frame, or nullptr
};

}  // namespace stator::frontend
