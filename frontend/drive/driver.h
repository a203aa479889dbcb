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

#include "frontend/clock.h"
#include "frontend/cpython/code.h"
#include "frontend/cpython/frame.h"
#include "frontend/drive/bind.h"
#include "frontend/drive/duel.h"
#include "frontend/drive/judge.h"
#include "frontend/drive/ledger.h"
#include "frontend/drive/texts.h"
#include "frontend/drive/verdicts.h"
#include "frontend/function.h"
#include "frontend/profile/doing.h"
#include "frontend/record/recorder.h"
#include "frontend/regions/run/region.h"
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
    Account account;  // of its replays
    bool dead = false;
    bool for_good = false;  // dead, also for arguments of other kinds
    // Kernels for a GPU are being made: what they are for is not recorded again meanwhile.
    bool awaits_kernels() const {
        return std::ranges::any_of(traces, [](const auto& t) { return t->device_slot != nullptr; });
    }
};

// A loop's header, at which a region may be entered.
struct LoopHeader {
    std::vector<std::shared_ptr<regions::CompiledRegion>> regions;  // by kinds of variables
    int first = 0, last = -1;                                       // instructions of the loop
    bool has(int pc) const { return first <= pc && pc <= last; }
    int arrivals = 0, attempts = 0, refusals = 0;
    // How much one iteration is and what was seen of the loop so far, in instructions; those of loops inside
    // count several times. While that is little the loop is cold, and nothing is made of it.
    int64_t weight = 0, seen = 0;
    bool cold = false;
    int64_t in_call = -1, since_call = 0;  // the call that arrived here last, and when it did first, ns
    int spared = 0;     // times that nothing was recorded in the loop because a region was to come
    int64_t since = 0;  // when the first arrival was, ns
    int64_t ready_since =
        0;                   // when a loop inside first saw that there is code, which was not entered yet, ns
    bool serves = false;     // since the last arrival: a region ran, or its code is being made
    bool one_round = false;  // at the last arrival: a range had one number left, for which nothing is built
    bool in_region = false;  // a region was built that has it
    Duels duels;             // of its regions with traces of its iterations
    Account account;         // of its regions, and of what Python does where they were left
    bool dead = false;
    bool for_good = false;   // dead, also for arguments of other kinds
    int64_t build_work = 0;  // of all attempts (BuildBudget::work)
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
    // By instruction: how often a call was none of a Python function with loops, which could be regions. From
    // policy().other_calls on it is taken to be such a call always.
    std::vector<uint8_t> other_calls;
    int last_ahead = -1;  // the last instruction with any of these
    void find_last_ahead();
    // What was given up, but not for good, is looked at once more.
    void revive();
    int64_t weight_of(const LoopHeader& loop) const;
};

// How many loops around a place may yet become regions, and how many are regions whose code is being made.
struct LoopsAround {
    int untried = 0, waiting = 0;
};

struct FunctionState::Impl {
    PyRef code_object, globals;       // what all functions that are served have in common
    FunctionOptions wanted, options;  // as asked for, and less what turned out not to be had
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
    // Reads the code, which waits until a call is going to be served: of a thousand functions that are
    // decorated, few may ever be. False where it cannot be read: then it is given up.
    bool decode();
    int eager_rounds = 0;  // calls in a row that neither recorded nor ran a kernel
    Verdicts verdicts;
    // While everything that was tried is given up, so many calls are not even looked at, unless their arrays
    // have more elements than this.
    int unlooked = 0;
    int64_t unlooked_size = 0;
    // The same where calls need not come here at all meanwhile (FunctionState::let_python_serve).
    struct Absence {
        bool possible = false, wanted = false;
        int unwanted = 0;  // times that calls went unlooked, before the first one
        int passed = 0;    // calls that plain Python got because of others in progress
        int looking = 0;   // calls to come of the look at hand
        int64_t since = 0, lasted = 0, look_began = 0;  // ns
        int64_t calls_before = 0;                       // the look
    } absence;
    // A call that nobody wants: it is plain Python's, of whatever kinds its arguments are.
    void note_unwanted(Judge& judge);
    // A call that was not even judged: one further out has handed over, or is timed as plain Python.
    void note_passed();
    Account account;    // of what its calls cost beyond plain Python
    int64_t tried = 0;  // what of that is on trial: spent from the purse, and not won back, ns
    // Calls of it have cost so much more, or saved, ns.
    void pay(int64_t cost);
    void earn(int64_t saved);
    // Serving has won nothing yet, and the purse has nothing left for finding out whether it does.
    bool waits_for_trial() const { return is_judged() && !verdicts.any_won() && !purse().may_try(); }
    int64_t settled_at = 0;  // until when the time of frames at hand has been accounted for, ns
    // What frames at hand step is a cost of the loop that was left last.
    CodePlaces* left_places = nullptr;
    LoopHeader* left_loop = nullptr;
    int driving = 0;            // frames at hand
    bool handing_over = false;  // the account is overdrawn: frames at hand go on in the evaluator
    // What was stepped since frames at hand wait for code, or for a loop around to be tried, costs, ns.
    int64_t waited = 0;
    bool left_to_others = false;  // at the last header: a loop that is hot waits for one around it
    int recalled = 0;             // frames that came back from there in this call (coming_back.h)
    // What the last one came back for, until it is reached: loops inside leave it to that.
    LoopHeader* coming_back = nullptr;
    const CodePlaces* coming_back_in = nullptr;
    // Regions whose code is being made: what is stepped meanwhile is part of their price.
    struct Awaited {
        std::shared_ptr<regions::CompiledRegion> region;
        int64_t ready_since = 0;
    };
    std::vector<Awaited> awaited;
    bool awaits_code();
    // Whether what frames at hand step now is a part of the price of code that is made, or about to be.
    bool waits() { return left_to_others || coming_back || awaits_code(); }
    // Accounts for what frames at hand have cost since, and decides whether they go on like that.
    void settle(int64_t cost);
    void give_up_loop(CodePlaces& places, LoopHeader& h);
    // What a run of a region took, ns: `weight` of them like this one.
    void note_run(CodePlaces& places, LoopHeader& h, const regions::CompiledRegion& region, int64_t took,
                  int64_t weight);
    // One more replay of the trace, which took so long, ns; -1: as long as such replays do.
    bool code_settled() const;  // all code that was asked for is there, or will never be
    void note_replay(Place* place, Trace& t, int64_t took);
    // Replays are timed until serving has won.
    int64_t time_of_replay(Trace& t) const {
        t.timed = is_judged() && !verdicts.won();
        return t.timed ? now_ns() : -1;
    }
    static int64_t time_since(int64_t begun) { return begun < 0 ? -1 : now_ns() - begun; }
    bool may_invest() const;  // whether something new may be recorded or built
    // Whether a call may be begun with for that. A loop can only be caught where its frame is driven.
    bool may_begin() const;
    void invest(int64_t ns);
    // Nobody has asked for it (STATOR=all): what is invested has to be in proportion to how long it runs.
    bool has_to_earn = false, has_loops = false;
    int64_t seen = 0, invested = 0;  // so long calls took that were looked at, and what was invested, ns
    bool is_worth_more() const;
    int64_t invested_before = 0;  // by the process, as of settled_at
    int64_t take_time(int64_t cost);
    // Nothing is known of the function, and it is not to be begun with in this call.
    bool is_left_unread() const;
    int64_t saved_by_loops = 0;
    // Serving it has won, which speaks for others of the same text.
    void won() {
        win_back();
        text_of(reinterpret_cast<PyCodeObject*>(code_object.get())).win();
    }
    void win_back() { purse().give_back(std::exchange(tried, 0)); }
    int64_t credited = 0;           // calls that were served whose savings are in the purse
    int64_t in_purse_by_loops = 0;  // what loops have saved since, which is a part of what calls save, ns
    const CallLimits* limits = nullptr;
    bool at_opaque_step = false;  // while frames are set up for one that a trace has ended before

    int in_use = 0;  // FunctionState::InUse

    explicit Impl(PyObject* f) : binder(f) {}
    CodePlaces& places(const CodeInfo& code);
    Place* place(const CodeInfo& code, int pc, bool create);
    void kill(Place* place, bool for_good = false);
    void kill(CodePlaces& places, LoopHeader& header, bool for_good = false);
    int64_t entered = 0;        // traces that frames at hand have entered
    int64_t in_regions = 0;     // time of calls that the judge looks at, ns
    bool judging = false;       // a call that is timed, and served, is in progress
    bool passed_over = false;   // it was left to Python, because nothing could be invested
    bool timing_plain = false;  // one that is timed as plain Python is: calls of itself are plain, too
    LoopsAround around;         // frames at hand that loops have called
    int regions_built = 0;
    int loops_too_large = 0;  // whose regions would have taken longer to build than they may
    int64_t last_region = 0;  // when, ns
    // Code of traces that end in front of a loop: asked for behind the loop's region, which is wanted first.
    std::vector<kernels::CompileRequest> postponed;
    void compile_postponed();
    // It makes a call of NumPy's for code that is not compiled (host_calls/case.h): code is postponed until
    // somebody asks for it, and nobody is told of it.
    bool makes_host_call = false;
    void revive_entry();
    void revive_all();
    void remark(Reason reason, const std::string& detail, const CodeInfo& code, const Insn& insn);
    PyRef clone_of(PyObject* function);
    bool is_judged() const;  // whether plain Python may serve where it is quicker
};

std::vector<FunctionState*> function_states();  // all that live

// For those who watch.
const SourceLine* line_of(const CodeInfo& code, int pc);

// Continues in `frame` at instruction `pc`, consuming the frame; `recorder` is set when this frame is being
// inlined.
PyObject* drive(FunctionState::Impl& fs, Frame& frame, const CodeInfo& code, int pc, Recorder* recorder,
                bool skip_place);
// Calls `func`, whose code has been read, and drives its frame from the beginning.
PyObject* call_driven(FunctionState::Impl& fs, PyObject* func, PyObject* const* args, size_t nargsf,
                      PyObject* kwnames);
// Continues in a fresh frame of `func` (and, inside it, the inlined ones) as an outcome says.
PyObject* drive_outcome(FunctionState::Impl& fs, PyObject* func, Outcome&& outcome);
// The trace's GPU failed and has no more code for it: its place is left to Python, with the reason.
void note_lost_device(FunctionState::Impl& fs, Trace& t);
bool recording_on_this_thread();

}  // namespace stator::frontend
