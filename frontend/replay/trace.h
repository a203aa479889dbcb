// A recorded trace made ready to run: the optimized graph cut into steps, with everything a replay needs
// looked up once.
//
// Steps run in order. A `Program` step runs one segment's loop nests; `Guard` compares a computed condition;
// `SymGuard` a relation that is known only after a library call; `Library` calls a host function on whole
// operands; `ErrorState` says how flags are handled from there on. Each Program and Library step knows the
// snapshot to which a fault or error goes back (-1: the trace's entry).
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/cpython/resume_frame.h"
#include "frontend/function.h"
#include "frontend/least_cost.h"
#include "frontend/profile/doing.h"
#include "frontend/replay/lost.h"
#include "frontend/replay/on_gpu.h"
#include "frontend/trace_builder/trace_builder.h"
#include "graph/graph.h"
#include "guards/check/check.h"
#include "kernels/api/compiler.h"
#include "kernels/cuda/source.h"
#include "kernels/program.h"

namespace stator::frontend {

// Where a segment finds its operands, looked up once.
struct BufferPlan {
    kernels::BufferKind kind;
    graph::DType dtype;
    int rank;
    int stride_base;
    int shape_base;  // into Segment::shapes
    const std::vector<int>* perm;
    bool own_dtype = false;  // Output
    graph::HostId host = graph::HostId::NumPy;
    int input = -1;        // graph input whose array holds the memory, or
    int slot = -1;         // value slot of the array (Output: where it goes)
    graph::Id value = -1;  // neither: look it up (a store's newest version)
    int donor = -1;        // Output: the buffer whose array may become the result
};
struct ScalarPlan {
    kernels::ScalarKind kind;
    int index = -1;
    int input = -1, slot = -1;  // Input, Result
    int expr = -1;              // Sym
    bool in_array = false;      // Input: the value lies in a 0-d array
    graph::HostId host = graph::HostId::NumPy;
    graph::DType dtype;
    graph::Id value = -1;
};

struct NestPlan {
    int32_t extent, work;  // expressions
    bool splittable, commit;
};

struct Segment {
    std::vector<BufferPlan> buffer_plans;
    std::vector<ScalarPlan> scalar_plans;  // those not constant
    std::vector<char> scalar_image;        // 16 bytes per scalar, constants filled in
    std::vector<int32_t> shapes, syms;     // expressions: extents of all buffers, Program::syms
    std::vector<NestPlan> nests;
    int stride_count = 0;
    int64_t scratch_bytes = 0;
    uint32_t reports = 0;  // faults that must not raise: stores may have happened before they are known
    std::shared_ptr<kernels::Program> program;
    std::shared_ptr<kernels::Program> gpu_program;  // FunctionOptions::cuda
    std::shared_ptr<kernels::CodeSlot> code;
    std::shared_ptr<kernels::CompileRequest> request;
    std::vector<kernels::HostLoop> loops;
    SegmentLaunch gpu;     // Trace::gpu
    bool on_host = false;  // the same: it computes numbers of Python's on the CPU
    bool has_commit = false;
    bool on_torch = false;                      // it works on tensors of torch, with torch's threads
    bool quiet = false;                         // no operation of it reports floating-point faults
    std::vector<const SourceLine*> nest_lines;  // TraceLines
    // Until its code is there it is interpreted (tier 0). None is asked for where kernels of a GPU do the
    // work.
    bool has_request = false;
    bool awaits_code() const {
        return has_request && !code->ready.load(std::memory_order_acquire) && !code->failed.load();
    }
    const SourceLine* line_of(int nest) const {
        return static_cast<size_t>(nest) < nest_lines.size() ? nest_lines[static_cast<size_t>(nest)]
                                                             : nullptr;
    }
};

// Lines of a trace for those who watch (profile/doing.h), found when the first of them comes.
struct TraceLines {
    const SourceLine* entry = nullptr;  // where it is entered; nullptr: nothing has been looked for
    std::vector<const SourceLine*> nodes;
    const SourceLine* of(graph::Id node) const {
        return static_cast<size_t>(node) < nodes.size() ? nodes[static_cast<size_t>(node)] : nullptr;
    }
};

enum class StepKind : uint8_t { Program, Guard, SymGuard, Library, ErrorState };
struct TraceStep {
    StepKind kind;
    int segment = -1;            // Program
    graph::Id node = -1;         // all others
    int redo = -1;               // snapshot to go back to
    std::vector<int32_t> drops;  // value slots whose arrays nothing needs from here on
    // Library: what depends on the symbols that its result binds.
    std::vector<std::pair<int32_t, int32_t>> bound;  // expression, symbol
    std::vector<int32_t> exprs;
};

struct Place;

struct Trace {
    std::string name;
    Place* place = nullptr;
    graph::Graph graph;
    std::shared_ptr<const graph::Graph> shared_graph;  // what compile requests refer to
    std::shared_ptr<const graph::Graph> recorded;      // before the passes
    std::shared_ptr<LostPlans> lost;                   // or nullptr: no snapshot lacks a variable
    guards::GuardProgram guards;
    std::vector<PyRef> objects;
    std::vector<int32_t> location_globals;  // per location of the graph, in `objects`
    std::vector<PyRef> followed;            // code of the functions that are parts of it
    std::vector<Segment> segments;
    int gpu = -1;  // ordinal of the GPU on which all its arrays live: its programs are for there only
    graph::HostId gpu_host = graph::HostId::NumPy;  // whose arrays they are
    std::vector<bool> named;                        // per node: a recipe refers to its value
    std::vector<graph::Id> python_numbers;          // values of rank 0 that kernels compute and Python sees
    std::string device_error;                       // why device_code is gone
    std::shared_ptr<kernels::CudaSource> cuda;      // FunctionOptions::cuda: the kernels of all segments
    kernels::DeviceState* device = nullptr;         // FunctionOptions::on_device
    std::shared_ptr<kernels::DeviceCode> device_code;
    // While its kernels are made: calls that it would serve are plain ones, and nothing else is recorded.
    std::shared_ptr<kernels::DeviceSlot> device_slot;
    // How often replays waited for the device before a node, or (-1) at the end of the trace.
    std::map<graph::Id, int64_t> device_waits;
    std::vector<std::optional<kernels::Launch>> last_launches;  // of each kernel there
    std::vector<TraceStep> steps;
    std::vector<int> slot_indices;  // entry slots that the guard program reads
    std::vector<int> value_slots;   // per node: where a replay keeps its array or scalar, -1 = nowhere
    int slot_count = 0;
    // Expressions that a replay needs: constants, symbols, and what is computed from them, operands first.
    std::vector<std::pair<int32_t, int64_t>> const_exprs;
    std::vector<std::pair<int32_t, int32_t>> symbol_exprs;
    std::vector<int32_t> expr_ids;
    std::vector<int64_t> symbol_start;  // per symbol: its value until something binds it
    int expr_count = 0;
    int symbol_count = 0;
    int source_count = 0, input_count = 0;
    bool has_relations = false;
    bool stores_what_it_read = false;  // attributes, when it ends or is left
    bool reads_tensors = false;
    int array_ops = 0, scalar_ops = 0, array_inputs = 0;  // as recorded
    // Of the last replay: elements that kernels have touched; what compiled kernels took, and routines of
    // libraries, ns.
    int64_t work = 0, kernels_ns = 0, library_ns = 0;
    LeastCost least_cost;  // of its replays that were timed
    bool timed = false;    // the times are wanted
    int library_ops = 0;   // of these, calls of the host's own functions
    int64_t entries = 0, exits = 0, redone = 0;
    double recorded_ms = 0, prepared_ms = 0;  // passes, schedules; code may be made later, on another thread
    std::vector<int64_t> snapshot_exits;
    TraceLines lines;
    bool awaits_code() const {
        if (device_slot && !device_slot->settled()) return true;
        return std::any_of(segments.begin(), segments.end(),
                           [](const Segment& s) { return s.awaits_code(); });
    }
};
// Whether monitoring wants to see some function that is a part of it: then it is not entered.
bool is_watched(const Trace& t);
// Finds the trace's lines.
const SourceLine* entry_line(Trace& t);

// Runs the passes, cuts the graph into steps, schedules and requests compilation. nullptr with `why` when the
// graph is defective (an internal error; the caller stays eager), or, with `reason`, when the trace's arrays
// live on a GPU that has no kernels for them. Requests go to `postponed`, if there is one and nobody waits.
std::unique_ptr<Trace> make_trace(TraceBuilder&& builder, std::string name, const FunctionOptions& options,
                                  std::vector<kernels::CompileRequest>* postponed, Reason* reason,
                                  std::string* why);

// A trace that gives the tuple which the graph returns: without guards, stores or code of its own. nullptr
// when the graph is defective.
std::unique_ptr<Trace> make_values(graph::Graph g, const std::vector<PyRef>& objects);
// What it gives, or nullptr, maybe with a Python error. Floating-point faults are ignored.
PyObject* compute_values(Trace& values, guards::EntryState& entry);

// The kernels of a trace that waits for them, or what it does without. False: it waits still, or for ever
// (Trace::device_error).
bool receive_device_code(Trace& t);

// Has code made for the CPU of a trace that has code for a GPU.
void have_cpu_code(Trace& t);

struct Outcome {
    enum Kind : uint8_t {
        NotEntered,  // a guard failed at entry: nothing happened
        Returned,    // `value` is the function's result
        Left,        // Python goes on in `frames`
        Redo,        // the same, because a segment has to run again eagerly; frames empty = at the entry
        Failed,      // frames could not be rebuilt after arguments were changed: a Python error is set
    } kind = NotEntered;
    PyObject* value = nullptr;
    std::vector<ResumeFrame> frames;
    bool exit = false;  // through a guard in the middle
    int snapshot = -1;
    int failed_guard = -1;  // NotEntered
};

// Fills in TraceStep::drops: plain Python lets go of its intermediate arrays, and their memory serves again.
void plan_lifetimes(Trace& t);

// Fills in BufferPlan::donor, by TraceStep::drops.
void plan_donors(Trace& t);

// slots[i] for every i in trace.slot_indices must be valid (borrowed). Never leaves a Python error set.
Outcome replay(Trace& trace, PyObject* const* slots, Counters& counters);

}  // namespace stator::frontend
