// Drives real frames: replays traces where one is admitted, records where one is missing, and executes
// everything else one instruction at a time (the stepper), or hands the frame to the default evaluator when
// nothing ahead can pay.
//
// A *place* is an instruction at which traces may be entered: function entry, the first instruction of a
// loop's body (after FOR_ITER delivered the value) or a while loop's header, the instruction after an opaque
// step, and the target of a hot exit.
#pragma once

#include <chrono>
#include <memory>
#include <unordered_map>
#include <vector>

#include "frontend/cpython/code.h"
#include "frontend/cpython/frame.h"
#include "frontend/profile/doing.h"
#include "frontend/record/recorder.h"
#include "frontend/regions/region.h"
#include "frontend/replay/bind.h"
#include "frontend/replay/function.h"
#include "frontend/replay/judge.h"
#include "frontend/replay/trace.h"

namespace stator::frontend {

struct Place {
    const CodeInfo* code;
    int pc;
    std::vector<std::unique_ptr<Trace>> traces;  // most recently entered first
    int recordings = 0;
    int fruitless = 0;  // recordings that found nothing to compile
    int exits_seen = 0;
    std::chrono::steady_clock::time_point recording_since;
    bool dead = false;
};

// A loop's header, at which a region may be entered.
struct LoopHeader {
    std::vector<std::shared_ptr<regions::CompiledRegion>> regions;  // by kinds of variables
    int first = 0, last = -1;                                       // instructions of the loop
    bool has(int pc) const { return first <= pc && pc <= last; }
    int arrivals = 0, attempts = 0, refusals = 0;
    int spared = 0;     // times that nothing was recorded in the loop because a region was to come
    int64_t since = 0;  // when the first arrival was, ns
    int64_t ready_since =
        0;                   // when a loop inside first saw that there is code, which was not entered yet, ns
    bool serves = false;     // since the last arrival: a region ran, or its code is being made
    bool one_round = false;  // at the last arrival: a range had one number left, for which nothing is built
    bool in_region = false;  // a region was built that has it
    bool dead = false;
};

struct CodePlaces {
    PyRef code_object;
    const CodeInfo* code = nullptr;
    std::unordered_map<int, std::unique_ptr<Place>> by_pc;
    int live = 0;
    std::unordered_map<int, LoopHeader> headers;
    int open_headers = 0;  // that are not dead
    // The same by instruction, for those that drive a frame through them all the time.
    std::vector<Place*> place_at;
    std::vector<LoopHeader*> header_at;
    // By instruction: how often a call was none of a Python function with loops, which could be regions.
    std::vector<uint8_t> other_calls;
    static constexpr uint8_t kOtherCalls = 8;  // from then on it is taken to be such a call always
    int last_ahead = -1;                       // the last instruction with any of these
    void find_last_ahead();
};

// How many loops around a place may yet become regions, and how many are regions whose code is being made.
struct LoopsAround {
    int untried = 0, waiting = 0;
};

struct FunctionState::Impl {
    PyRef func, clone;
    FunctionOptions options;
    ArgBinder binder;
    Counters counters;
    std::unordered_map<PyCodeObject*, std::unique_ptr<CodePlaces>> codes;
    CodePlaces* latest = nullptr;  // of those, the one asked for last
    std::unordered_map<PyObject*, std::pair<PyRef, PyRef>>
        clones;            // by code: inlined function and clone, for exits
    size_t sweep_at = 64;  // functions among `codes` and `clones` that are gone are dropped at this size
    std::vector<Remark> remarks;
    const CodeInfo* code = nullptr;
    Place* entry = nullptr;
    std::string name;
    int trace_count = 0;
    bool given_up = false;  // cannot be decoded
    int eager_rounds = 0;   // calls in a row that neither recorded nor ran a kernel
    Judge judge;
    const CallLimits* limits = nullptr;
    bool at_opaque_step = false;  // while frames are set up for one that a trace has ended before

    explicit Impl(PyObject* f) : binder(f) {}
    CodePlaces& places(const CodeInfo& code);
    Place* place(const CodeInfo& code, int pc, bool create);
    void kill(Place* place);
    void kill(CodePlaces& places, LoopHeader& header);
    int64_t entered = 0;     // traces that frames at hand have entered
    int64_t in_regions = 0;  // time of calls that the judge looks at, ns
    bool judging = false;
    LoopsAround around;  // frames at hand that loops have called
    int regions_built = 0;
    int64_t last_region = 0;  // when, ns
    // Code of traces that end in front of a loop: asked for behind the loop's region, which is wanted first.
    std::vector<kernels::CompileRequest> postponed;
    void compile_postponed();
    void revive_entry();
    void remark(Reason reason, const std::string& detail, const CodeInfo& code, const Insn& insn);
    PyRef clone_of(PyObject* function);
    PyObject* call_eager(PyObject* const* args, size_t nargsf, PyObject* kwnames);
    bool is_judged() const;  // whether plain Python may serve where it is quicker
};

// For those who watch.
const SourceLine* line_of(const CodeInfo& code, int pc);

// Continues in `frame` at instruction `pc`, consuming the frame; `recorder` is set when this frame is being
// inlined.
PyObject* drive(FunctionState::Impl& fs, Frame& frame, const CodeInfo& code, int pc, Recorder* recorder,
                bool skip_place);
// Continues in a fresh frame (and, inside it, the inlined ones) as an outcome says.
PyObject* drive_outcome(FunctionState::Impl& fs, Outcome&& outcome);
// The trace's GPU failed and has no more code for it: its place is left to Python, with the reason.
void note_lost_device(FunctionState::Impl& fs, Trace& t);
bool recording_on_this_thread();

}  // namespace stator::frontend
