// One decorated function, or all that were made of one piece of code: places, traces, counters, and what
// happens at a call.
//
// This is what the objects of bindings/ that stand for compiled functions hold. `call` has vectorcall's
// contract; it never fails for reasons of stator's own: whatever cannot be replayed runs as the plain
// function.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "frontend/pyref.h"
#include "frontend/reasons.h"
#include "frontend/services.h"
#include "frontend/stance.h"
#include "kernels/api/compiler.h"

namespace stator::frontend {

struct Trace;  // frontend/replay/trace.h
class Frame;   // frontend/cpython/frame.h
struct RegionInfo;

// Counters since start or reset; the names are those of stator.stats().
// clang-format off
#define STATOR_COUNTERS(X) \
    X(calls) X(replays) X(served) X(eager_calls) X(recordings) X(traces) X(bridges) X(exits) X(opaque_steps) X(redone) \
    X(retired) X(recalls) X(compiles) X(cache_hits) X(kernels_launched) X(regions) X(guard_failures)
// clang-format on
struct Counters {
#define X(n) int64_t n = 0;
    STATOR_COUNTERS(X)
#undef X
    double compile_s = 0;
};

// Something that kept code in Python, for explain(): where, why, how often.
struct Remark {
    Reason reason;
    std::string detail;
    std::string file;
    std::string function;
    int line;
    int64_t count;
};

struct FunctionOptions {
    bool fullgraph = false;  // raise instead of leaving anything eager
    bool fastmath = false;
    bool async = true;  // compile in the background
    // Kernels are printed for a GPU too, and what the recorder keeps for the host because of its bits on the
    // CPU alone is part of the trace. Such traces are replayed on the CPU by tier 0.
    bool cuda = false;
    bool on_device = false;  // replays run there; implies `cuda`
    // Whether loops may become regions; kernels are printed of those that run on a device alone.
    bool has_regions() const { return !cuda || on_device; }
};

// What calls must not do while this is set. The driver stops in front of it, with the error that `refuse`
// sets.
struct CallLimits {
    enum What : uint8_t { LeavingToPython = 1, Recording = 2 };
    uint8_t forbidden = 0;  // of What
    void (*refuse)(void* ctx, What what) = nullptr;
    void* ctx = nullptr;
};

class FunctionState {
  public:
    // For all functions of the code and the globals of `func`, a plain Python function (bindings unwrap
    // methods): closures that are made anew share what was recorded. nullptr with a Python error set on bad
    // input.
    static std::unique_ptr<FunctionState> create(PyObject* func, const FunctionOptions& options);
    ~FunctionState();
    // A call of `func`, which has the code that the state was made for, or had.
    PyObject* call(PyObject* func, PyObject* const* args, size_t nargsf, PyObject* kwnames);
    // A call that the interpreter has made a frame for, at whose beginning it is (STATOR=all). Consumes it.
    PyObject* run(Frame& frame);
    // Whether such a call is known to be plain Python's: then nothing was done but counting it.
    bool passes(const Frame& frame);

    const Counters& counters() const;
    std::vector<const Trace*> traces() const;  // in order of recording
    std::vector<RegionInfo> regions() const;
    std::vector<Remark> remarks() const;
    void reset();  // drops traces and counters
    // Whether any of the following does.
    bool wants_attention() const;
    bool wants_sweep() const;
    void
    sweep();  // drops what is known of functions that nobody else has any more; no call may be in progress
    // Calls may come here no more while plain Python is known to serve them (`wants_python`), until
    // `look_again` opens a look: a few calls that are judged one after the other. Said once, by who can do
    // that.
    void let_python_serve();
    bool wants_python() const;
    bool ever_looks_again() const;  // false: it cannot be decoded
    bool looked_in_vain() const;    // the last look found nothing new
    void look_again();
    const CallLimits* limit(const CallLimits* limits);   // sets them, returns those before
    int traverse(visitproc visit, void* arg) const;      // for the owner's tp_traverse
    int traverse_own(visitproc visit, void* arg) const;  // without what its parts keep (drive/parts.h)
    // While one of these lives nothing of the state is dropped, as while a call is in progress.
    class InUse {
      public:
        explicit InUse(const FunctionState& state);
        ~InUse();
        InUse(const InUse&) = delete;

      private:
        const FunctionState& state_;
    };
    struct Impl;
    Impl* impl() const { return impl_.get(); }
    FunctionState();

  private:
    std::unique_ptr<Impl> impl_;
};

// Where replays of a trace waited for the device.
struct DeviceWait {
    enum What : uint8_t { Branch, HostCall, Number, Python, Return };
    What what;
    std::string call;  // HostCall, Number: the function
    std::string file, function;
    int line = 0;
    int64_t count = 0;
};

// The GPU's side of a trace; only with FunctionOptions::cuda.
struct CudaInfo {
    struct Kernel {
        std::string name;
        int segment = 0;
        std::vector<int> nests;  // of the segment's program
        std::string schedule;    // as text
    };
    std::string source, error;
    std::string arch;  // of the device that runs it; "" without one
    std::vector<Kernel> kernels;
    std::vector<std::string> programs;  // loop IR of each segment, as it is scheduled for a GPU
};

// A trace as inspection sees it (f.traces, f.graph(), dumps).
struct TraceInfo {
    std::string name;   // step#1
    std::string place;  // "demo.py:4" where it is entered: function entry, loop body, resume point
    std::string graph_recorded, graph;  // printed before and after the passes
    std::vector<std::pair<std::string, std::string>>
        passes;                         // name, graph after it, for those that changed something
    std::vector<std::string> guards;    // Python terms
    std::vector<std::string> programs;  // loop IR per segment
    int64_t entries = 0, exits = 0;
    double recorded_ms = 0, prepared_ms = 0;
    std::vector<std::shared_ptr<kernels::CompileRequest>>
        compile_requests;  // one per segment: llvm/asm on demand
    std::shared_ptr<const CudaInfo> cuda;
    std::vector<DeviceWait> waits;
};
TraceInfo describe(const Trace& trace);

// A loop compiled as a whole, as inspection sees it.
struct RegionInfo {
    std::string name;   // "step@12"
    std::string place;  // "demo.py:12"
    std::string graph;  // printed
    int64_t entries = 0;
    int64_t checks = 0;       // times that it left in the middle for Python to do a statement
    int64_t refused = 0;      // times that it was not entered, though its code was there
    std::string why_refused;  // the last time: what it expected and found
    int64_t python_calls = 0, allocations = 0;  // what its code asked Python and the C library for
    struct Exit {
        std::string file, label;
        int line;
        int64_t taken;
    };
    std::vector<Exit> exits;
    struct LeftOut {
        std::string file, function, detail;
        int line;
    };
    std::vector<LeftOut> left_out;  // instructions that Python does
    bool ready = false;
    std::string error;       // why there is no code
    bool on_device = false;  // it runs on a GPU
    std::shared_ptr<kernels::RegionRequest> request;
};

// What a report over a whole program tells of a function.
struct FunctionReport {
    std::string file, function;
    int line = 0;
    Counters counters;
    bool retired = false;
    // What a call took at least when it was compared with plain Python, ns; 0: it never was (drive/judge.h).
    int64_t served_ns = 0, plain_ns = 0;
    std::vector<Remark> remarks;
    std::vector<RegionInfo> regions;
    // Lines of the source that are in its traces, and whether only as calls of the host's own functions.
    std::vector<std::tuple<std::string, std::string, int, bool>> lines;
};
// Of all functions, with those that went away while somebody was watching (profile/doing.h).
std::vector<FunctionReport> function_reports();
// Functions that are served because nothing was to be doubted about it are compared with plain Python, too.
void compare_all_functions();

Counters global_counters();  // over all functions, those that are gone included
void reset_global_counters();
// STATOR_VERIFY: each call that a trace served from entry to return is repeated eagerly from the same
// arguments and compared; what differs is logged, kept as a replayable case, and eager's result is returned.
void set_verify(bool on);
// Off: functions that plain Python is faster for are served all the same (tests).
void set_retirement(bool on);
// Off: loops are replayed step by step (frontend/regions).
void set_regions(bool on);
// How a remark is logged; "" for one that is not worth a line.
void set_remark_text(std::string (*text)(const Remark&));

}  // namespace stator::frontend
