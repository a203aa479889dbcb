// Runs a trace. The order of work: entry guards, symbolic integers, then the steps; results are boxed last.
//
// Invariants: nothing visible happens before all entry guards hold; a segment's fresh results are dropped
// when a fault that matters shows up, and its visible stores (commit nests) run only after its other nests
// were found harmless; no Python code runs between the entry guards and the first Library step.

#include <alloca.h>

#include <algorithm>
#include <cstring>

#include "frontend/hosts/numpy/runtime.h"
#include "frontend/replay/materialize.h"
#include "frontend/replay/trace.h"

namespace stator::frontend {

using graph::Id;
using graph::Node;
using graph::Op;

namespace {

// Work (elements) from which threads, and giving up the GIL, pay.
constexpr int64_t kParallelWork = 1 << 15;
constexpr int64_t kReleaseGil = 1 << 14;

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
    static thread_local Storage own;
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
    uint32_t run(int64_t begin, int64_t end) const {
        kernels::KernelArgs a = *args;
        a.scratch = chunk_scratch(segment->program->scratch_bytes);
        if (compiled) return segment->code->nests[nest](&a, begin, end);
        return kernels::interpret(*segment->program, nest, a, begin, end);
    }
};

uint32_t run_nest(const Segment& s, const kernels::KernelArgs& args, int index, bool compiled,
                  const int64_t* exprs) {
    const kernels::NestInfo& nest = s.program->nests[index];
    int64_t extent = exprs[nest.extent.id];
    int64_t work = exprs[nest.work.id];
    NestCall call{&s, &args, index, compiled};
    if (work < kReleaseGil) return call.run(0, extent);
    uint32_t faults = 0;
    const auto* api = compiler();
    PyThreadState* ts = PyEval_SaveThread();
    int threads = api ? api->thread_count() : 1;
    if (nest.splittable && threads > 1 && work >= kParallelWork && extent > 1) {
        int64_t grain = std::max<int64_t>(1, (extent * (kParallelWork / 2)) / work);
        grain = std::max(grain, (extent + threads - 1) / threads / 4);
        // Ranges begin at whole cache lines of the innermost vector loop.
        if (grain > 64) grain = (grain + 63) & ~int64_t{63};
        faults = api->parallel_for(
            extent, grain,
            [](void* ctx, int64_t b, int64_t e) { return static_cast<NestCall*>(ctx)->run(b, e); }, &call);
    } else {
        faults = call.run(0, extent);
    }
    PyEval_RestoreThread(ts);
    return faults;
}

void fill_contiguous(const kernels::Buffer& b, const int64_t* exprs, int64_t* strides) {
    int rank = static_cast<int>(b.shape.size());
    int64_t step = graph::info(b.dtype).size;
    for (int k = rank - 1; k >= 0; --k) {
        int axis = b.perm.empty() ? k : b.perm[k];
        strides[axis] = step;
        step *= exprs[b.shape[axis].id];
    }
}

int64_t element_count(const std::vector<graph::Sym>& shape, const int64_t* exprs) {
    int64_t n = 1;
    for (graph::Sym s : shape) n *= exprs[s.id];
    return n;
}

// Runs one segment. False: it has to be redone eagerly (nothing of it is visible).
bool run_segment(ReplayState& st, const Segment& s, Counters& counters) {
    const kernels::Program& p = *s.program;
    size_t nb = p.buffers.size();
    auto** data = static_cast<char**>(alloca(sizeof(char*) * (nb + 1)));
    auto* strides = static_cast<int64_t*>(alloca(sizeof(int64_t) * (p.stride_count + 1)));
    auto* syms = static_cast<int64_t*>(alloca(sizeof(int64_t) * (p.syms.size() + 1)));
    auto* scalars = static_cast<char*>(alloca(s.scalar_image.size()));
    ScratchList scratch;
    for (size_t i = 0; i < p.syms.size(); ++i) syms[i] = st.exprs[p.syms[i].id];
    for (size_t i = 0; i < nb; ++i) {
        const BufferPlan& plan = s.buffer_plans[i];
        int64_t* own = strides + plan.stride_base;
        PyObject* array = nullptr;
        switch (plan.kind) {
            case kernels::BufferKind::Scratch: {
                const kernels::Buffer& b = p.buffers[i];
                fill_contiguous(b, st.exprs, own);
                data[i] = scratch.get(element_count(b.shape, st.exprs) * graph::info(b.dtype).size);
                continue;
            }
            case kernels::BufferKind::Output: {
                const kernels::Buffer& b = p.buffers[i];
                int64_t dims[16];
                for (int d = 0; d < plan.rank; ++d) dims[d] = st.exprs[b.shape[d].id];
                array = numpy::new_array(b.dtype, plan.rank, dims, b.perm);
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
        data[i] = numpy::data(array);
        const int64_t* from = numpy::strides(array);
        for (int d = 0; d < plan.rank; ++d) own[d] = from[d];
    }
    memcpy(scalars, s.scalar_image.data(), s.scalar_image.size());
    for (size_t i = 0; i < p.scalars.size(); ++i) {
        const ScalarPlan& plan = s.scalar_plans[i];
        char* slot = scalars + 16 * i;
        if (plan.kind == kernels::ScalarKind::Sym) {
            int_to_bits(st.exprs[plan.expr], plan.dtype, slot);
        } else if (plan.kind == kernels::ScalarKind::Input) {
            // A 0-d array counts as a scalar operand, but its value lies in the array.
            PyObject* array = plan.in_array ? st.memory(plan.value) : nullptr;
            if (array)
                memcpy(slot, numpy::data(array), graph::info(plan.dtype).size);
            else
                memcpy(slot, st.scalar(plan.value), 16);
        }
    }
    kernels::KernelArgs args{data, strides, syms, scalars, s.loops.data(), nullptr};
    bool compiled = s.code->ready.load(std::memory_order_acquire);
    uint32_t faults = 0;
    auto checked = [&]() {
        return faults == 0 || numpy::faults_that_matter(faults, st.errors_set, st.errors_ignored) == 0;
    };
    for (int i = 0; i < static_cast<int>(p.nests.size()); ++i) {
        if (p.nests[i].commit) {
            if (!checked()) return false;
            st.committed = true;
        }
        faults |= run_nest(s, args, i, compiled, st.exprs);
        ++counters.kernels_launched;
    }
    if (!checked()) {
        if (log_enabled(LogTopic::Exits))
            log(LogTopic::Exits, st.trace.name + ": floating-point faults " + std::to_string(faults) +
                                     ", the segment runs again eagerly");
        return false;
    }
    for (size_t i = 0; i < p.scalars.size(); ++i)
        if (p.scalars[i].kind == kernels::ScalarKind::Result)
            st.set_scalar(p.scalars[i].value, scalars + 16 * i);
    return true;
}

bool run_library(ReplayState& st, Id id, Materializer& m) {
    const Node& n = st.trace.graph.nodes[id];
    m.reset();  // arguments are built from what is known now
    const graph::Recipe& args = st.trace.graph.recipes[n.ints[1]];
    std::vector<PyRef> held;
    std::vector<PyObject*> argv;
    for (int32_t r : args.items) {
        held.push_back(PyRef::steal(m.build(r)));
        if (!held.back()) {
            PyErr_Clear();
            return false;
        }
        argv.push_back(held.back().get());
    }
    PyObject* kwnames =
        n.ints[2] >= 0 ? st.trace.objects[st.trace.graph.recipes[n.ints[2]].index].get() : nullptr;
    size_t nargs = argv.size() - (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    numpy::StrictErrors strict(st.errors_set, st.errors_ignored);
    PyRef result =
        PyRef::steal(PyObject_Vectorcall(st.trace.objects[n.ints[0]].get(), argv.data(), nargs, kwnames));
    if (!result) {
        PyErr_Clear();
        return false;
    }
    return st.bind_result(id, std::move(result));
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
    if (!m.frames(snapshot, &out.frames)) {
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

Outcome run_steps(ReplayState& st, Counters& counters) {
    Trace& t = st.trace;
    Materializer m(st);
    for (const TraceStep& step : t.steps) {
        switch (step.kind) {
            case StepKind::Program:
                if (run_segment(st, t.segments[step.segment], counters)) break;
                ++t.redone;
                return leave(st, Outcome::Redo, step.redo, false);
            case StepKind::Library:
                if (run_library(st, step.node, m)) break;
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
                if (value == (n.ints[0] != 0)) break;
                ++t.exits;
                ++t.snapshot_exits[n.ints[1]];
                return leave(st, Outcome::Left, static_cast<int>(n.ints[1]), true);
            }
            case StepKind::SymGuard: {
                const Node& n = t.graph.nodes[step.node];
                if (relation_holds(st, n)) break;
                ++t.exits;
                ++t.snapshot_exits[n.ints[1]];
                return leave(st, Outcome::Left, static_cast<int>(n.ints[1]), true);
            }
        }
    }
    if (t.graph.end_kind == graph::EndKind::Leave) return leave(st, Outcome::Left, t.graph.end, false);
    Outcome out;
    m.reset();
    const graph::Recipe& end = t.graph.recipes[t.graph.end];
    out.value = end.kind == graph::RecipeKind::Value ? m.build_value(end.index) : m.build(t.graph.end);
    if (!out.value) {
        PyErr_Clear();
        out.kind = Outcome::Redo;
        return out;
    }
    out.kind = Outcome::Returned;
    return out;
}

}  // namespace

Outcome replay(Trace& t, PyObject* const* slots, Counters& counters) {
    Outcome out;
    size_t sources = t.guards.source_count();
    size_t inputs = t.graph.inputs.size();
    ReplayState st{t};
    guards::EntryState entry;
    entry.objects = static_cast<PyObject**>(alloca(sizeof(PyObject*) * (sources + 1)));
    entry.owned = static_cast<PyObject**>(alloca(sizeof(PyObject*) * (sources + 1)));
    entry.inputs = static_cast<PyObject**>(alloca(sizeof(PyObject*) * (inputs + 1)));
    entry.scalars = static_cast<char*>(alloca(16 * (inputs + 1)));
    entry.symbols = static_cast<int64_t*>(alloca(sizeof(int64_t) * (t.symbol_count + 1)));
    memcpy(entry.symbols, t.symbol_start.data(), sizeof(int64_t) * t.symbol_count);
    entry.owned_count = 0;
    int failed = t.guards.check(slots, entry);
    if (failed >= 0) {
        out.failed_guard = failed;
        return out;
    }
    st.entry = &entry;
    st.exprs = static_cast<int64_t*>(alloca(sizeof(int64_t) * (t.expr_count + 1)));
    st.arrays = static_cast<PyObject**>(alloca(sizeof(PyObject*) * (t.slot_count + 1)));
    st.scalars = static_cast<char*>(alloca(16 * (t.slot_count + 1)));
    memset(st.arrays, 0, sizeof(PyObject*) * (t.slot_count + 1));
    bool ok = st.evaluate_syms();
    if (ok) {
        failed = t.guards.check_relations({st.exprs, static_cast<size_t>(t.expr_count)});
        ok = failed < 0;
        out.failed_guard = failed;
    }
    if (ok) {
        ++t.entries;
        out = run_steps(st, counters);
    }
    for (int i = 0; i < t.slot_count; ++i) Py_XDECREF(st.arrays[i]);
    for (int i = 0; i < entry.owned_count; ++i) Py_DECREF(entry.owned[i]);
    return out;
}

}  // namespace stator::frontend
