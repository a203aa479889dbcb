// Runs a trace. The order of work: entry guards, symbolic integers, then the steps; results are boxed last.
//
// Invariants: nothing visible happens before all entry guards hold; a segment's fresh results are dropped
// when a fault that matters shows up, and its visible stores (commit nests) run only after its other nests
// were found harmless, unless faults can only be reported and running it again stores the same; no Python
// code runs between the entry guards and the first Library step.

#include <alloca.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "frontend/clock.h"
#include "frontend/cpython/collection.h"
#include "frontend/cpython/deferred.h"
#include "frontend/cpython/frame.h"
#include "frontend/hosts/call_pure.h"
#include "frontend/hosts/kept_warnings.h"
#include "frontend/hosts/numpy/benign.h"
#include "frontend/hosts/numpy/own_warnings.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/hosts/numpy/small_products.h"
#include "frontend/hosts/torch/threads.h"
#include "frontend/policy.h"
#include "frontend/profile/doing.h"
#include "frontend/replay/host_arrays.h"
#include "frontend/replay/launches.h"
#include "frontend/replay/materialize.h"
#include "frontend/replay/on_device.h"
#include "frontend/replay/trace.h"
#include "guards/check/functions.h"

namespace stator::frontend {

using graph::Id;
using graph::Node;
using graph::Op;

namespace {

char* scratch_allocate(int64_t bytes) {
    const auto* api = compiler();
    if (api && bytes >= (64 << 10))
        if (void* p = api->allocate(bytes)) return static_cast<char*>(p);
    return static_cast<char*>(::operator new(bytes ? bytes : 1, std::align_val_t{64}));
}

void scratch_release(char* p, int64_t bytes) {
    const auto* api = compiler();
    if (api && bytes >= (64 << 10)) return api->release(p, bytes);
    ::operator delete(p, std::align_val_t{64});
}

// By halves: what was just written as 8 bytes cannot be read as 16 without a stall.
void copy_scalar(char* to, const char* from) {
    uint64_t half[2];
    memcpy(&half[0], from, 8);
    memcpy(&half[1], from + 8, 8);
    memcpy(to, &half[0], 8);
    memcpy(to + 8, &half[1], 8);
}

struct ScratchList {
    struct Entry {
        char* p;
        int64_t bytes;
    };
    std::vector<Entry> entries;
    char* get(int64_t bytes) {
        entries.push_back({scratch_allocate(bytes), bytes});
        return entries.back().p;
    }
    ~ScratchList() {
        for (auto& e : entries) scratch_release(e.p, e.bytes);
    }
};

// Each thread keeps its chunk storage from call to call; nests never call each other.
char* chunk_scratch(int64_t bytes) {
    struct Storage {
        char* p = nullptr;
        int64_t size = 0;
        ~Storage() { ::operator delete(p, std::align_val_t{64}); }
    };
    [[gnu::tls_model("initial-exec")]] static thread_local Storage own;
    if (own.size < bytes) {
        ::operator delete(own.p, std::align_val_t{64});
        own.p = nullptr, own.size = 0;
        own.p = static_cast<char*>(::operator new(bytes, std::align_val_t{64}));
        own.size = bytes;
    }
    return own.p;
}

struct NestCall {
    const Segment* segment;
    const kernels::KernelArgs* args;
    int nest;
    bool compiled;
    uint32_t run(const kernels::KernelArgs& a, int64_t begin, int64_t end) const {
        if (compiled) return segment->code->nests[nest](&a, begin, end);
        return kernels::interpret(*segment->program, nest, a, begin, end);
    }
    // On a worker thread, which has chunk storage of its own.
    uint32_t run_range(int64_t begin, int64_t end) const {
        kernels::KernelArgs a = *args;
        if (segment->scratch_bytes > 0) a.scratch = chunk_scratch(segment->scratch_bytes);
        return run(a, begin, end);
    }
};

uint32_t run_range(void* call, int64_t begin, int64_t end) {
    return static_cast<const NestCall*>(call)->run_range(begin, end);
}

uint32_t run_in_parallel(const NestCall& call, int64_t extent, int64_t work) {
    void* const context = const_cast<NestCall*>(&call);
    uint32_t faults = 0;
    if (call.segment->on_torch && torch::parallel_for(extent, work, run_range, context, &faults))
        return faults;
    const auto* api = compiler();
    const int threads = api ? api->thread_count() : 1;
    if (threads == 1 || work < policy().parallel_work || extent <= 1) return call.run(*call.args, 0, extent);
    int64_t grain = std::max<int64_t>(1, (extent * (policy().parallel_work / 2)) / work);
    grain = std::max(grain, (extent + threads - 1) / threads / 4);
    // Ranges begin at whole cache lines of the innermost vector loop.
    if (grain > 64) grain = (grain + 63) & ~int64_t{63};
    return api->parallel_for(extent, grain, run_range, context);
}

uint32_t run_large_nest(const NestCall& call, const NestPlan& nest, int64_t extent, int64_t work) {
    PyThreadState* ts = PyEval_SaveThread();
    const uint32_t faults =
        nest.splittable ? run_in_parallel(call, extent, work) : call.run(*call.args, 0, extent);
    PyEval_RestoreThread(ts);
    return faults;
}

uint32_t run_nest(const Segment& s, const kernels::KernelArgs& args, int index, bool compiled,
                  const int64_t* exprs, int64_t* done) {
    const NestPlan& nest = s.nests[index];
    const int64_t extent = exprs[nest.extent], work = exprs[nest.work];
    *done += work;
    const NestCall call{&s, &args, index, compiled};
    const Timed timed(Activity::Kernels, [&] { return s.line_of(index); });
    return work < policy().release_gil_work ? call.run(args, 0, extent)
                                            : run_large_nest(call, nest, extent, work);
}

// Strides of a dense buffer; returns its size in bytes.
int64_t fill_contiguous(const BufferPlan& b, const int32_t* shape, const int64_t* exprs, int64_t* strides) {
    int64_t step = graph::info(b.dtype).size;
    for (int k = b.rank - 1; k >= 0; --k) {
        int axis = b.perm->empty() ? k : (*b.perm)[k];
        strides[axis] = step;
        step *= exprs[shape[axis]];
    }
    return step;
}

bool has_elements(const BufferPlan& b, const int32_t* shape, const int64_t* exprs) {
    for (int d = 0; d < b.rank; ++d)
        if (exprs[shape[d]] == 0) return false;
    return true;
}

// The array that may become the result, if nobody else holds it and it has the result's extents.
PyObject* donated(const ReplayState& st, const Segment& s, const BufferPlan& result) {
    const BufferPlan& donor = s.buffer_plans[static_cast<size_t>(result.donor)];
    PyObject* array = st.arrays[donor.slot];
    if (!array || Py_REFCNT(array) != 1) return nullptr;
    const int32_t *from = s.shapes.data() + donor.shape_base, *to = s.shapes.data() + result.shape_base;
    for (int d = 0; d < result.rank; ++d)
        if (st.exprs[from[d]] != st.exprs[to[d]]) return nullptr;
    return array;
}

// Allocates results and scratch and finds the memory of all buffers. False: some memory is missing.
bool find_buffers(ReplayState& st, const Segment& s, ScratchList& scratch, char** data, int64_t* strides) {
    for (const BufferPlan& plan : s.buffer_plans) {
        int64_t* own = strides + plan.stride_base;
        const int32_t* shape = s.shapes.data() + plan.shape_base;
        PyObject* array = nullptr;
        switch (plan.kind) {
            case kernels::BufferKind::Scratch: {
                *data++ = scratch.get(fill_contiguous(plan, shape, st.exprs, own));
                continue;
            }
            case kernels::BufferKind::Output: {
                if (plan.donor >= 0 && (array = donated(st, s, plan))) {
                    Py_XSETREF(st.arrays[plan.slot], Py_NewRef(array));
                    break;
                }
                int64_t dims[16];
                for (int d = 0; d < plan.rank; ++d) dims[d] = st.exprs[shape[d]];
                array = new_host_array(plan.host, plan.dtype, plan.rank, dims, *plan.perm, plan.own_dtype);
                if (!array) {
                    PyErr_Clear();
                    return false;
                }
                Py_XSETREF(st.arrays[plan.slot], array);
                break;
            }
            case kernels::BufferKind::Input:
                array = plan.input >= 0  ? st.entry->inputs[plan.input]
                        : plan.slot >= 0 ? st.arrays[plan.slot]
                                         : nullptr;
                if (!array) array = st.memory(plan.value);
                break;
        }
        if (!array) {
            log(LogTopic::Errors,
                "internal: " + st.trace.name + " has no memory for %" + std::to_string(plan.value));
            return false;
        }
        if (plan.host == graph::HostId::NumPy) [[likely]] {
            *data++ = numpy::locate(array, plan.rank, own);
            continue;
        }
        if (plan.input >= 0) {  // its guard has read it
            const guards::TensorView& t = st.entry->tensors[plan.input];
            for (int d = 0; d < plan.rank; ++d) own[d] = t.strides[d] * graph::info(plan.dtype).size;
            *data++ = t.data;
            continue;
        }
        *data = locate_host_array(plan.host, array, plan.rank, own);
        if (!*data++ && has_elements(plan, shape, st.exprs)) return false;
    }
    return true;
}

void fill_scalars(ReplayState& st, const Segment& s, char* scalars) {
    memcpy(scalars, s.scalar_image.data(), s.scalar_image.size());
    for (const ScalarPlan& plan : s.scalar_plans) {
        char* slot = scalars + 16 * plan.index;
        if (plan.kind == kernels::ScalarKind::Sym) {
            int_to_bits(st.exprs[plan.expr], plan.dtype, slot);
        } else if (plan.kind == kernels::ScalarKind::Input) {
            // A 0-d array counts as a scalar operand, but its value lies in the array.
            PyObject* array = plan.in_array ? st.memory(plan.value) : nullptr;
            if (array)
                memcpy(slot, locate_host_array(plan.host, array, 0, nullptr), graph::info(plan.dtype).size);
            else
                copy_scalar(slot, st.scalar(plan.value));
        }
    }
}

// Runs one segment. False: it has to be redone eagerly (nothing of it is visible).
bool run_segment(ReplayState& st, const Segment& s, Counters& counters) {
    if (s.reports) {
        if (!numpy::faults_only_report(s.reports)) return false;
        st.committed = true;
    }
    const size_t buffers = s.buffer_plans.size(), symbols = s.syms.size();
    auto** data = static_cast<char**>(alloca(sizeof(char*) * (buffers + 1)));
    auto* strides = static_cast<int64_t*>(alloca(sizeof(int64_t) * (s.stride_count + 1)));
    auto* syms = static_cast<int64_t*>(alloca(sizeof(int64_t) * (symbols + 1)));
    for (size_t i = 0; i < symbols; ++i) syms[i] = st.exprs[s.syms[i]];
    // Constants alone are read where they are.
    auto* scalars = const_cast<char*>(s.scalar_image.data());
    if (!s.scalar_plans.empty()) {
        scalars = static_cast<char*>(alloca(s.scalar_image.size()));
        fill_scalars(st, s, scalars);
    }
    ScratchList scratch;
    if (!find_buffers(st, s, scratch, data, strides)) return false;
    char* chunks = s.scratch_bytes > 0 ? chunk_scratch(s.scratch_bytes) : nullptr;
    const kernels::KernelArgs args{data, strides, syms, scalars, s.loops.data(), chunks};
    bool compiled = s.code->ready.load(std::memory_order_acquire);
    uint32_t faults = 0;
    auto checked = [&]() {
        if (s.quiet) return !(faults & kernels::kFaultHost);
        return faults == 0 || numpy::faults_that_matter(faults, st.errors_set, st.errors_ignored) == 0;
    };
    const int nests = static_cast<int>(s.nests.size());
    const int64_t begun = st.trace.timed && compiled ? now_ns() : 0;
    bool commits = false;
    for (int i = 0; i < nests; ++i) {
        if (s.nests[i].commit) {
            if (!checked()) return false;
            commits = st.committed = true;
        }
        // From a commit on nothing is done again, whatever flags are up: a comparison raises one on signaling
        // NaNs, of which NumPy does not tell.
        const uint32_t raised = run_nest(s, args, i, compiled, st.exprs, &st.trace.work);
        faults |= commits ? raised & kernels::kFaultHost : raised;
    }
    if (begun) st.trace.kernels_ns += now_ns() - begun;
    counters.kernels_launched += nests;
    if (!checked()) {
        if (log_enabled(LogTopic::Exits))
            log(LogTopic::Exits, st.trace.name + ": floating-point faults " + std::to_string(faults) +
                                     ", the segment runs again eagerly");
        return false;
    }
    for (const ScalarPlan& plan : s.scalar_plans)
        if (plan.kind == kernels::ScalarKind::Result) st.set_scalar(plan.value, scalars + 16 * plan.index);
    return true;
}

// References for the time of a call.
struct Held {
    PyObject** items;
    size_t count = 0;
    ~Held() {
        for (size_t i = 0; i < count; ++i) Py_DECREF(items[i]);
    }
};

// At the line of the program that makes the call. False: an error, which Python raises when it makes it.
bool tell(KeptWarnings& warnings, const Node& n, const Trace& t) {
    if (n.loc < 0 || static_cast<size_t>(n.loc) >= t.location_globals.size()) return false;
    const graph::Location& at = t.graph.locations[static_cast<size_t>(n.loc)];
    PyObject* globals = t.objects[static_cast<size_t>(t.location_globals[static_cast<size_t>(n.loc)])].get();
    return PyDict_CheckExact(globals) && warnings.tell(at.file.c_str(), at.line, globals);
}

// What `call` gives. The time that a routine of the library takes is added to the trace's, where replays are
// timed.
template <class Call>
PyRef timed_for(const ReplayState& st, Call call) {
    if (!st.trace.timed) return call();
    const int64_t begun = now_ns();
    PyRef result = call();
    st.trace.library_ns += now_ns() - begun;
    return result;
}

PyRef call_host(const Node& n, PyObject* callable, PyObject** argv, size_t nargs, PyObject* kwnames,
                const ReplayState& st) {
    if (n.host == graph::HostId::NumPy) {
        if (numpy::warns_by_itself(callable, argv, nargs, kwnames)) return {};
        numpy::StrictErrors strict(st.errors_set, st.errors_ignored);
        return timed_for(st, [&] { return call_pure(callable, argv, nargs, kwnames); });
    }
    // A function written in Python has a frame, which its warnings name.
    std::optional<KeptWarnings> warnings;
    if (!guards::is_function(callable)) warnings.emplace();
    PyRef result = timed_for(st, [&] { return call_pure(callable, argv, nargs, kwnames); });
    if (result && warnings && warnings->any()) [[unlikely]]
        if (!tell(*warnings, n, st.trace)) return {};
    warnings.reset();
    const size_t count = nargs + (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
    if (result && n.ints[3] == graph::kGivesPlain && n.box == graph::Box::Array &&
        !lies_apart(n.host, result.get(), argv, count))
        return {};
    return result;
}

// What a generator's method gives, which is called as it is unless arrays are looked at by functions in
// Python first.
PyRef draw(PyObject* callable, PyObject** argv, size_t count, size_t nargs, PyObject* kwnames) {
    for (size_t i = 0; i < count; ++i)
        if (numpy::is_plain_array(argv[i])) return call_pure(callable, argv, nargs, kwnames);
    const DeferredSignals deferred;
    return PyRef::steal(PyObject_Vectorcall(callable, argv, nargs, kwnames));
}

bool run_library(ReplayState& st, const TraceStep& step, Materializer& m) {
    const Node& n = st.trace.graph.nodes[step.node];
    m.reset();  // arguments are built from what is known now
    const graph::Recipe& args = st.trace.graph.recipes[n.ints[1]];
    Held held{static_cast<PyObject**>(alloca(sizeof(PyObject*) * (args.items.size() + 1)))};
    for (int32_t r : args.items) {
        PyObject* o = m.build(r);
        if (!o) {
            PyErr_Clear();
            return false;
        }
        held.items[held.count++] = o;
    }
    PyObject* kwnames =
        n.ints[2] >= 0 ? st.trace.objects[st.trace.graph.recipes[n.ints[2]].index].get() : nullptr;
    const size_t nargs = held.count - (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
    const Timed timed(Activity::Library, [&] { return st.trace.lines.of(step.node); });
    PyObject* callable = st.trace.objects[n.ints[0]].get();
    PyRef result;
    if (n.host == graph::HostId::NumPy && !kwnames)
        result = timed_for(st, [&] {
            return numpy::small_product(callable, held.items, nargs, st.errors_set, st.errors_ignored);
        });
    const bool draws = n.ints[3] == graph::kGivesDrawn;
    if (draws)
        result = timed_for(st, [&] { return draw(callable, held.items, held.count, nargs, kwnames); });
    else if (!result)
        result = call_host(n, callable, held.items, nargs, kwnames, st);
    m.reset();
    if (!result) {
        PyErr_Clear();
        return false;
    }
    st.committed |= graph::has_effects(n.ints[3]);
    if (n.ints[3] == graph::kGivesNothing) return true;
    return st.bind_result(step, std::move(result));
}

bool relation_holds(const ReplayState& st, const Node& n) {
    int64_t a = st.exprs[n.syms[0].id], b = st.exprs[n.syms[1].id];
    switch (static_cast<guards::Relation>(n.ints[0])) {
        case guards::Relation::Eq: return a == b;
        case guards::Relation::Ne: return a != b;
        case guards::Relation::Ge: return a >= b;
        case guards::Relation::Lt: return a < b;
    }
    return false;
}

Outcome leave(ReplayState& st, Outcome::Kind kind, int snapshot, bool exit) {
    Outcome out;
    out.kind = kind;
    out.snapshot = snapshot;
    out.exit = exit;
    if (snapshot < 0) return out;  // the entry: nothing to rebuild
    Materializer m(st);
    if (m.frames(snapshot, &out.frames)) {
        if (st.trace.lost) st.trace.lost->keep(st, snapshot, out.frames);
    } else {
        // Memory is short. Python starts over at the entry unless arguments were changed.
        out.frames.clear();
        out.kind = st.committed ? Outcome::Failed : Outcome::Redo;
        if (!st.committed)
            PyErr_Clear();
        else if (!PyErr_Occurred())
            PyErr_NoMemory();
    }
    return out;
}

Outcome return_value(ReplayState& st, Materializer& m) {
    m.reset();
    const graph::Graph& g = st.trace.graph;
    const graph::Recipe& end = g.recipes[g.end];
    const bool alone = end.kind == graph::RecipeKind::Value && g.end_cells.empty();
    Outcome out;
    out.value = alone ? m.build_value(end.index) : m.build(g.end);
    if (out.value && !g.end_cells.empty() && !m.fill_cells(g.end_cells)) Py_CLEAR(out.value);
    out.kind = out.value ? Outcome::Returned : Outcome::Redo;
    if (out.value) return out;
    if (st.committed)
        out.kind = Outcome::Failed;  // with the error: there was no memory for what it wrote
    else
        PyErr_Clear();
    return out;
}

// A segment on the GPU, whose results stay there.
bool run_on_device(ReplayState& st, int segment) {
    const Timed timed(Activity::Kernels, [&] { return st.trace.segments[segment].line_of(0); });
    return st.device->segment(segment);
}

bool run_on_gpu(ReplayState& st, int segment, Counters& counters) {
    const Timed timed(Activity::Kernels, [&] { return st.trace.segments[segment].line_of(0); });
    counters.kernels_launched += static_cast<int64_t>(st.trace.segments[segment].gpu.kernels.size());
    if (active_observer) [[unlikely]]
        active_observer->before(st, segment);
    const bool ok = st.gpu->segment(segment);
    if (ok && active_observer) [[unlikely]]
        active_observer->segment(st, segment);
    return ok;
}

// What Python may see has to be on the host, before `node` or (-1) at the end. False: the device failed.
bool to_host(ReplayState& st, Id node) {
    const bool ok = st.device->to_host();
    if (st.device->take_waited()) ++st.trace.device_waits[node];
    return ok;
}

// What Python is about to see or to decide by (`condition`, or none) is read from the GPU.
bool look(ReplayState& st, Id node, Id condition) {
    const bool ok = condition >= 0 ? st.gpu->read_number(condition) : st.gpu->numbers_to_host();
    if (st.gpu->take_waited()) ++st.trace.device_waits[node];
    return ok;
}

// Python goes on at the last snapshot, unless something that it names was written to since.
Outcome gpu_failed(ReplayState& st, int redo) {
    Trace& t = st.trace;
    log(LogTopic::Errors, t.name + " failed on the GPU and runs eagerly: " + st.gpu->error());
    const std::string error = st.gpu->error();
    if (st.gpu->lost()) t.device_error = error, t.device_code.reset();
    ++t.redone;
    if (!st.gpu->wrote() && (redo < 0 || st.gpu->numbers_to_host()))
        return leave(st, Outcome::Redo, redo, false);
    Outcome out;
    out.kind = Outcome::Failed;
    PyErr_Format(PyExc_RuntimeError, "stator: the GPU failed after arguments were changed: %s",
                 error.c_str());
    return out;
}

// The device failed: what was computed there is gone, and nothing of it was seen unless arguments were
// changed.
Outcome device_failed(ReplayState& st) {
    log(LogTopic::Errors, st.trace.name + " failed on the GPU and runs eagerly: " + st.device->error());
    st.trace.device_code.reset();
    Outcome out;
    out.kind = st.committed ? Outcome::Failed : Outcome::Redo;
    if (st.committed)
        PyErr_Format(PyExc_RuntimeError, "stator: the GPU failed after arguments were changed: %s",
                     st.device->error().c_str());
    return out;
}

// A replay that runs on the CPU, unwatched, pays nothing for the other kinds: it has its own copy of this, in
// the one place that asks for it. Outcomes are made where they are returned to: moving one costs as much as a
// small kernel.
template <bool kPlain>
[[gnu::always_inline]] inline Outcome run_steps(ReplayState& st, Counters& counters) {
    Trace& t = st.trace;
    const bool device = !kPlain && st.device, gpu = !kPlain && st.gpu, observed = !kPlain && active_observer;
    Materializer m(st);
    for (const TraceStep& step : t.steps) {
        const bool looks = step.kind == StepKind::Library || step.kind == StepKind::Guard;
        if (device && looks && !to_host(st, step.node)) return device_failed(st);
        if (gpu && looks) {
            const Id condition = step.kind == StepKind::Guard ? t.graph.nodes[step.node].in[0] : -1;
            if (!look(st, step.node, condition)) return gpu_failed(st, step.redo);
        }
        switch (step.kind) {
            case StepKind::Program:
                if (gpu && !t.segments[static_cast<size_t>(step.segment)].on_host) {
                    if (!run_on_gpu(st, step.segment, counters)) return gpu_failed(st, step.redo);
                    break;
                }
                if (device) {
                    if (run_on_device(st, step.segment)) break;
                    return device_failed(st);
                }
                if (observed) active_observer->before(st, step.segment);
                if (run_segment(st, t.segments[step.segment], counters)) {
                    if (observed) active_observer->segment(st, step.segment);
                    break;
                }
                ++t.redone;
                return leave(st, Outcome::Redo, step.redo, false);
            case StepKind::Library:
                if (run_library(st, step, m)) {
                    if (gpu && t.graph.nodes[step.node].ints[3] == graph::kGivesNothing) st.gpu->host_wrote();
                    if (gpu && t.graph.nodes[step.node].box != graph::Box::Array) ++t.device_waits[step.node];
                    break;
                }
                ++t.redone;
                return leave(st, Outcome::Redo, step.redo, false);
            case StepKind::ErrorState: {
                auto packed = static_cast<uint32_t>(t.graph.nodes[step.node].ints[0]);
                st.errors_set = packed & 15;
                st.errors_ignored = packed >> 4;
                break;
            }
            case StepKind::Guard: {
                const Node& n = t.graph.nodes[step.node];
                bool value = *st.scalar(n.in[0]) != 0;
                if (value == (n.ints[0] != 0)) {
                    if (gpu) st.gpu->passed_snapshot();
                    break;
                }
                ++t.exits;
                ++t.snapshot_exits[n.ints[1]];
                if (gpu && !look(st, step.node, -1)) return gpu_failed(st, step.redo);
                return leave(st, Outcome::Left, static_cast<int>(n.ints[1]), true);
            }
            case StepKind::SymGuard: {
                const Node& n = t.graph.nodes[step.node];
                if (relation_holds(st, n)) {
                    if (gpu) st.gpu->passed_snapshot();
                    break;
                }
                if (device && !to_host(st, step.node)) return device_failed(st);
                if (gpu && !look(st, step.node, -1)) return gpu_failed(st, step.redo);
                ++t.exits;
                ++t.snapshot_exits[n.ints[1]];
                return leave(st, Outcome::Left, static_cast<int>(n.ints[1]), true);
            }
        }
        if (device) continue;  // it refers to the host's arrays
        for (int32_t slot : step.drops) Py_CLEAR(st.arrays[slot]);
    }
    if (device && !to_host(st, -1)) return device_failed(st);
    if (gpu && !look(st, -1, -1)) return gpu_failed(st, -1);
    if (t.graph.end_kind == graph::EndKind::Leave) return leave(st, Outcome::Left, t.graph.end, false);
    if (observed) active_observer->returned(st);
    return return_value(st, m);
}

// On a GPU, or watched.
[[gnu::noinline, gnu::cold]] Outcome run_otherwise(ReplayState& st, Counters& counters) {
    if (active_observer) active_observer->began(st);
    if (!st.trace.device_code) return run_steps<false>(st, counters);
    const std::shared_ptr<kernels::DeviceCode> code = st.trace.device_code;
    if (st.trace.gpu >= 0) {
        GpuRun run(st, *compiler()->cuda, st.trace.device, *code);
        st.gpu = &run;
        return run_steps<false>(st, counters);
    }
    // A GPU has no floating-point flags: what would raise has to be computed where it does.
    if (numpy::faults_that_raise(kernels::kFaultDivide | kernels::kFaultOverflow | kernels::kFaultUnderflow |
                                 kernels::kFaultInvalid)) {
        have_cpu_code(st.trace);
        return run_steps<false>(st, counters);
    }
    DeviceRun run(st, *compiler()->cuda, st.trace.device, *code);
    st.device = &run;
    return run_steps<false>(st, counters);
}

// Gives back what a replay holds, when its outcome is there.
struct Release {
    const ReplayState& st;
    ~Release() {
        for (int i = 0; i < st.trace.slot_count; ++i) Py_XDECREF(st.arrays[i]);
        for (int i = 0; i < st.entry->owned_count; ++i) Py_DECREF(st.entry->owned[i]);
    }
};

int check_guards(const Trace& t, PyObject* const* slots, guards::EntryState& entry) {
    const Timed timed(Activity::Guards, [&] { return t.lines.entry; });
    return t.guards.check(slots, entry);
}

Outcome not_entered(int failed_guard) {
    Outcome out;
    out.failed_guard = failed_guard;
    return out;
}

}  // namespace

bool is_watched(const Trace& t) {
    return std::ranges::any_of(t.followed, [](const PyRef& code) {
        return is_watched(reinterpret_cast<PyCodeObject*>(code.get()));
    });
}

PyObject* compute_values(Trace& t, guards::EntryState& entry) {
    ReplayState st{t};
    st.entry = &entry;
    std::vector<int64_t> exprs(static_cast<size_t>(t.expr_count) + 1);
    std::vector<PyObject*> arrays(static_cast<size_t>(t.slot_count) + 1);
    std::vector<char> scalars(16 * (static_cast<size_t>(t.slot_count) + 1));
    st.exprs = exprs.data();
    st.arrays = arrays.data();
    st.scalars = scalars.data();
    const Release release{st};
    if (!st.evaluate_syms()) return nullptr;
    Counters not_counted;
    Outcome out = run_steps<true>(st, not_counted);
    return out.kind == Outcome::Returned ? out.value : nullptr;
}

Outcome replay(Trace& t, PyObject* const* slots, Counters& counters) {
    const Timed timed(Activity::Launch, [&] { return entry_line(t); });
    const int sources = t.source_count, inputs = t.input_count;
    if (is_watched(t)) [[unlikely]]
        return not_entered(-1);
    if (t.device_slot && !receive_device_code(t)) [[unlikely]]
        return not_entered(-1);
    if (t.gpu >= 0 && !t.device_code) [[unlikely]]
        return not_entered(-1);
    ReplayState st{t};
    guards::EntryState entry;
    entry.objects = static_cast<PyObject**>(alloca(sizeof(PyObject*) * (sources + 1)));
    entry.owned = static_cast<PyObject**>(alloca(sizeof(PyObject*) * (sources + 1)));
    entry.inputs = static_cast<PyObject**>(alloca(sizeof(PyObject*) * (inputs + 1)));
    entry.scalars = static_cast<char*>(alloca(16 * (inputs + 1)));
    entry.symbols = static_cast<int64_t*>(alloca(sizeof(int64_t) * (t.symbol_count + 1)));
    for (int i = 0; i < t.symbol_count; ++i) entry.symbols[i] = t.symbol_start[i];
    entry.owned_count = 0;
    if (t.reads_tensors)
        entry.tensors = static_cast<guards::TensorView*>(alloca(sizeof(guards::TensorView) * (inputs + 1)));
    // Finalizers, which the collector runs, may store to what is read here and stored at the end.
    std::optional<NoCollection> quiet;
    if (t.stores_what_it_read) {
        quiet.emplace();
        st.switches = thread_switches(PyThreadState_Get());
    }
    const int failed = check_guards(t, slots, entry);
    if (failed >= 0) return not_entered(failed);
    st.entry = &entry;
    st.exprs = static_cast<int64_t*>(alloca(sizeof(int64_t) * (t.expr_count + 1)));
    st.arrays = static_cast<PyObject**>(alloca(sizeof(PyObject*) * (t.slot_count + 1)));
    st.scalars = static_cast<char*>(alloca(16 * (t.slot_count + 1)));
    for (int i = 0; i < t.slot_count; ++i) st.arrays[i] = nullptr;
    const Release release{st};
    if (!st.evaluate_syms()) return not_entered(-1);
    if (t.has_relations) {
        const int broken = t.guards.check_relations({st.exprs, static_cast<size_t>(t.expr_count)});
        if (broken >= 0) return not_entered(broken);
    }
    ++t.entries;
    t.work = t.kernels_ns = t.library_ns = 0;
    if (active_profile) ++active_profile->replays;
    if (active_observer || t.device_code || t.gpu >= 0) [[unlikely]]
        return run_otherwise(st, counters);
    return run_steps<true>(st, counters);
}

}  // namespace stator::frontend
