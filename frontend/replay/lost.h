// Variables that nothing reads any more where a trace is left, computed after all.
//
// Their values are parts of fused kernels and were never in memory. What an exception passes through is
// looked at, though, by debuggers, by test runners and by people: then each is computed from the graph as it
// was recorded, interpreted, from the arrays and numbers that the replay was given. Only those are kept
// meanwhile.
//
// That gives eager's bits as long as these arrays hold what they held. The recorder therefore keeps, as if it
// were read, what depends on memory that the trace stores to, or that the code ahead may store to. What a
// called function changes cannot be foreseen: a variable is missing, and never wrong, where an array that it
// was computed from has changed, has died, or is so large that only code that was seen to change nothing may
// have run since. Nothing lives longer because of this: arrays are not held.
//
// What such a variable shares with others shows: `t[0] is y`. All frames of a snapshot are therefore computed
// together, and the recorder keeps what shares an object with a variable that is built.
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

    // The objects that it holds, for the garbage collector.
    int traverse(visitproc visit, void* arg) const;

    // The variables of all frames at one snapshot.
    struct Variable {
        size_t frame;
        int slot;
        int32_t recipe = -1;                        // -1: it cannot be computed
        std::vector<graph::CellContents> contents;  // attributes of objects that are made with it
        std::vector<int> reads, inputs;  // whose elements it was computed from; that it depends on at all
    };
    struct Plan {
        std::vector<Variable> variables;
        std::vector<int> inputs;       // of the graph, that they depend on
        std::vector<int> sources;      // of the guards, the same
        std::unique_ptr<Trace> trace;  // which returns them as a tuple; made when first needed
        bool failed = false;
    };

  private:
    friend class KeptInputs;
    LostPlans(std::shared_ptr<const graph::Graph> recorded, const std::vector<PyRef>& objects);
    Plan& at(int snapshot);
    void add(Plan& plan, int snapshot, size_t frame, const graph::LostVariable& lost) const;
    bool make_trace(Plan& plan) const;

    std::shared_ptr<const graph::Graph> recorded_;
    std::vector<PyRef> objects_;
    std::map<int, Plan> plans_;  // by snapshot
};

}  // namespace stator::frontend
