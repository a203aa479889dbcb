// From a finished recording to a Trace: passes, segments, schedules, compile requests.

#include "frontend/replay/trace.h"

#include <algorithm>

#include <cstring>

#include "frontend/cpython/deferred.h"
#include "frontend/hosts/numpy/benign.h"
#include "frontend/replay/host_arrays.h"
#include "frontend/replay/materialize.h"
#include "frontend/replay/on_device.h"

namespace stator::frontend {

using graph::Id;
using graph::kNone;
using graph::Node;
using graph::Op;
using graph::OpClass;
using graph::RecipeKind;

namespace {

// Which values must exist as objects because a recipe builds something from them. View chains are rebuilt
// from their base object, so only the base counts.
void want_recipe(const graph::Graph& g, int32_t r, std::vector<bool>& wanted) {
    if (r < 0) return;
    const graph::Recipe& x = g.recipes[r];
    if (x.kind == RecipeKind::Value) wanted[x.index] = true;
    for (int32_t item : x.items) want_recipe(g, item, wanted);
}

std::vector<bool> wanted_values(const graph::Graph& g) {
    std::vector<bool> wanted(g.nodes.size(), false);
    auto want_cells = [&](const std::vector<graph::CellContents>& cells) {
        for (const auto& c : cells) want_recipe(g, c.contents, wanted);
    };
    for (const auto& s : g.snapshots) {
        for (const auto& f : s.frames) {
            for (int32_t r : f.slots) want_recipe(g, r, wanted);
            want_recipe(g, f.func, wanted);  // its defaults
        }
        want_cells(s.cells);
    }
    if (g.end_kind == graph::EndKind::Return) want_recipe(g, g.end, wanted), want_cells(g.end_cells);
    for (const Node& n : g.nodes) {
        if (n.op == Op::Library) want_recipe(g, static_cast<int32_t>(n.ints[1]), wanted);
        if (n.op == Op::Guard) wanted[n.in[0]] = true;
    }
    return wanted;
}

bool cuts(const Node& n) {
    OpClass c = graph::info(n.op).cls;
    return c == OpClass::Library || (c == OpClass::Guard && !(n.op == Op::SymGuard && n.ints[1] < 0));
}

constexpr uint32_t kReported =
    kernels::kFaultDivide | kernels::kFaultOverflow | kernels::kFaultUnderflow | kernels::kFaultInvalid;

struct Cutter {
    Trace& t;
    const FunctionOptions& options;
    std::vector<bool> wanted;
    std::vector<Id> available;
    bool gpu = false;           // its programs run on a GPU only
    bool handled_here = false;  // an np.errstate of the trace does something about faults
    bool redo_is_here = true;   // nothing was computed since the place to go back to
    std::vector<Id> last_use;   // last node that reads each value; wanted-by-end counts as the end

    // A value computed in [begin, end) has to be kept when a later segment reads it. Views are followed to
    // what they look at: the later segment re-applies them.
    void find_uses() {
        const auto& g = t.graph;
        last_use.assign(g.nodes.size(), kNone);
        for (Id i = 0; i < static_cast<Id>(g.nodes.size()); ++i)
            for (Id v : g.nodes[i].in) {
                last_use[v] = i;
                for (Id w = v; graph::info(g.nodes[w].op).cls == OpClass::View;) {
                    w = g.nodes[w].in[0];
                    last_use[w] = std::max(last_use[w], i);
                }
            }
    }

    void add_segment(Segment s, int redo) {
        for (const auto& nest : s.program->nests) s.has_commit |= nest.commit;
        for (const auto& ref : s.program->loops) s.loops.push_back(numpy::find_loop(ref));
        t.segments.push_back(std::move(s));
        t.steps.push_back({StepKind::Program, static_cast<int>(t.segments.size()) - 1, kNone, redo});
    }

    // What is computed from Python's numbers alone stays on the CPU: kernels get it by value, and a branch on
    // it waits for nothing.
    void host_numbers(Id begin, Id end, int redo) {
        auto& g = t.graph;
        kernels::SegmentRequest request{begin, end, available, {}};
        std::vector<bool> used(static_cast<size_t>(end - begin), false);
        for (Id i = begin; i < end; ++i) {
            // Everything else, stores above all, is not this program's.
            if (!g.nodes[i].host_number || g.nodes[i].op == Op::Input) request.available.push_back(i);
            for (Id v : g.nodes[i].in)
                if (v >= begin && !g.nodes[i].host_number) used[static_cast<size_t>(v - begin)] = true;
        }
        for (Id i = begin; i < end; ++i) {
            const bool computed =
                g.nodes[i].host_number && graph::info(g.nodes[i].op).cls == OpClass::Pointwise;
            if (computed && (used[static_cast<size_t>(i - begin)] || wanted[i] || last_use[i] >= end))
                request.wanted.push_back(i);
        }
        if (request.wanted.empty()) return;
        for (Id v : request.wanted) available.push_back(v);
        Segment s;
        s.on_host = true;
        s.program = std::make_shared<kernels::Program>(kernels::schedule(g, request));
        add_segment(std::move(s), redo);
    }

    void program(Id begin, Id end, int redo) {
        auto& g = t.graph;
        if (gpu) host_numbers(begin, end, redo);
        kernels::SegmentRequest request{begin, end, available, {}};
        // Where faults are made to raise, stores wait for them: code for one way is enough. What is done
        // again includes segments before this one, which may read what this one overwrites.
        if (gpu) request.target = kernels::Target::Gpu;
        request.stores_can_repeat =
            !gpu && redo_is_here && !handled_here && numpy::faults_only_report(kReported);
        bool work = false;
        for (Id i = begin; i < end; ++i) {
            const Node& n = g.nodes[i];
            OpClass c = graph::info(n.op).cls;
            // A rank-0 view that leaves the trace is a scalar read from memory; other views are rebuilt from
            // their base.
            // One that a later segment uses is read here, before anything is stored there.
            bool scalar_read = c == OpClass::View && n.shape.empty() &&
                               (wanted[i] || (n.box != graph::Box::Array && last_use[i] >= end));
            if (c == OpClass::Input || (c == OpClass::View && !scalar_read) || n.op == Op::Const ||
                n.op == Op::SymScalar || c == OpClass::Guard || n.host_number)
                continue;
            bool visible_store = n.op == Op::Store && g.nodes[graph::buffer_root(g, i)].op == Op::Input;
            if (wanted[i] || last_use[i] >= end || visible_store) request.wanted.push_back(i);
            work = true;
        }
        for (Id i = begin; i < end; ++i)
            if (g.nodes[i].op == Op::Input) request.available.push_back(i);
        for (Id i = begin; i < end; ++i)
            if (g.nodes[i].op == Op::Input) available.push_back(i);
        for (Id v : request.wanted) available.push_back(v);
        if (!work) return;
        redo_is_here = false;
        Segment s;
        s.program = std::make_shared<kernels::Program>(kernels::schedule(g, request));
        if (s.program->repeats && (s.program->fault_mask & ~kReported)) {  // a host function may fail
            request.stores_can_repeat = false;
            s.program = std::make_shared<kernels::Program>(kernels::schedule(g, request));
        }
        if (gpu) {
            s.gpu_program = s.program;
        } else if (options.cuda) {
            request.target = kernels::Target::Gpu;
            s.gpu_program = std::make_shared<kernels::Program>(kernels::schedule(g, request));
        }
        s.quiet = true;
        for (Id i = begin; i < end; ++i) {
            const OpClass c = graph::info(g.nodes[i].op).cls;
            const bool computes = c == OpClass::Pointwise || c == OpClass::Reduction;
            if (computes && g.nodes[i].host == graph::HostId::NumPy) s.quiet = false;
        }
        add_segment(std::move(s), redo);
    }

    void run() {
        auto& g = t.graph;
        find_uses();
        Id begin = 0;
        int redo = -1;
        Id count = static_cast<Id>(g.nodes.size());
        for (Id i = 0; i <= count; ++i) {
            if (i < count && !cuts(g.nodes[i])) continue;
            program(begin, i, redo);
            if (i == count) break;
            const Node& n = g.nodes[i];
            if (n.op == Op::Library) {
                t.steps.push_back({StepKind::Library, -1, i, redo});
                available.push_back(i);
                redo_is_here = false;
            } else if (n.op == Op::ErrorState) {
                t.steps.push_back({StepKind::ErrorState, -1, i, redo});
                handled_here = (n.ints[0] & 15 & ~(n.ints[0] >> 4)) != 0;
            } else {
                if (n.op == Op::Guard) t.steps.push_back({StepKind::Guard, -1, i, redo});
                if (n.op == Op::SymGuard) t.steps.push_back({StepKind::SymGuard, -1, i, redo});
                redo = static_cast<int>(n.ints[1]);
                redo_is_here = true;
            }
            begin = i + 1;
        }
    }
};

void number_slots(Trace& t) {
    t.value_slots.assign(t.graph.nodes.size(), -1);
    auto give = [&](Id v) {
        if (v >= 0 && t.value_slots[v] < 0) t.value_slots[v] = t.slot_count++;
    };
    for (const Segment& s : t.segments) {
        for (const auto& b : s.program->buffers)
            if (b.kind == kernels::BufferKind::Output) give(b.value);
        for (const auto& sc : s.program->scalars)
            if (sc.kind == kernels::ScalarKind::Result || sc.kind == kernels::ScalarKind::Input)
                give(sc.value);
        if (!s.gpu_program) continue;
        for (const auto& b : s.gpu_program->buffers)
            if (b.kind == kernels::BufferKind::Output) give(b.value);
        for (const auto& sc : s.gpu_program->scalars)
            if (sc.kind == kernels::ScalarKind::Result || sc.kind == kernels::ScalarKind::Input)
                give(sc.value);
    }
    for (const TraceStep& step : t.steps)
        if (step.kind == StepKind::Library)
            give(step.node);
        else if (step.kind == StepKind::Guard)
            give(t.graph.nodes[step.node].in[0]);
    for (const auto& r : t.graph.recipes)
        if (r.kind == RecipeKind::Value) give(r.index);
}

void plan_segment(Trace& t, Segment& s) {
    const auto& g = t.graph;
    auto input_of = [&](Id v) {
        if (g.nodes[v].op == Op::Store) {
            Id root = graph::buffer_root(g, v);
            if (g.nodes[root].op == Op::Input) v = root;
        }
        return g.nodes[v].op == Op::Input ? static_cast<int>(g.nodes[v].ints[0]) : -1;
    };
    for (const auto& b : s.program->buffers) {
        BufferPlan plan;
        plan.kind = b.kind;
        plan.dtype = b.dtype;
        plan.rank = static_cast<int>(b.shape.size());
        plan.stride_base = b.stride_base;
        plan.shape_base = static_cast<int>(s.shapes.size());
        plan.perm = &b.perm;
        for (graph::Sym extent : b.shape) s.shapes.push_back(extent.id);
        if (b.kind != kernels::BufferKind::Scratch) {
            plan.value = b.value;
            const Node& root = g.nodes[graph::buffer_root(g, b.value)];
            plan.own_dtype = root.own_dtype;
            plan.host = root.host;
            plan.input = b.kind == kernels::BufferKind::Input ? input_of(b.value) : -1;
            plan.slot = t.value_slots[b.value];
        }
        s.on_torch |= plan.host == graph::HostId::Torch;
        s.buffer_plans.push_back(plan);
    }
    s.scalar_image.assign(16 * (s.program->scalars.size() + 1), 0);
    for (size_t i = 0; i < s.program->scalars.size(); ++i) {
        const auto& sc = s.program->scalars[i];
        ScalarPlan plan;
        plan.kind = sc.kind;
        plan.index = static_cast<int>(i);
        plan.dtype = sc.dtype;
        plan.value = sc.value;
        char* image = s.scalar_image.data() + 16 * i;
        if (sc.kind == kernels::ScalarKind::Const) memcpy(image, sc.bits, 16);
        if (sc.kind == kernels::ScalarKind::Sym) {
            graph::Sym sym = g.nodes[sc.value].syms[0];
            if (auto c = g.syms.as_const(sym))
                int_to_bits(*c, sc.dtype, image), plan.kind = kernels::ScalarKind::Const;
            plan.expr = sym.id;
        }
        if (sc.kind == kernels::ScalarKind::Input || sc.kind == kernels::ScalarKind::Result) {
            plan.input = sc.kind == kernels::ScalarKind::Input ? input_of(sc.value) : -1;
            plan.slot = t.value_slots[sc.value];
            plan.in_array =
                sc.kind == kernels::ScalarKind::Input && g.nodes[sc.value].box == graph::Box::Array;
            plan.host = g.nodes[graph::buffer_root(g, sc.value)].host;
        }
        if (plan.kind != kernels::ScalarKind::Const) s.scalar_plans.push_back(plan);
    }
    for (graph::Sym sym : s.program->syms) s.syms.push_back(sym.id);
    for (const auto& nest : s.program->nests)
        s.nests.push_back({nest.extent.id, nest.work.id, nest.splittable, nest.commit});
    s.stride_count = s.program->stride_count;
    s.scratch_bytes = s.program->scratch_bytes;
    s.reports = s.program->repeats ? s.program->fault_mask : 0;
}

// The expressions that a replay needs: whatever shapes, views, programs, recipes and relations mention.
void plan_symbols(Trace& t, std::vector<graph::Sym> wanted) {
    const auto& g = t.graph;
    auto all = [&](const std::vector<graph::Sym>& list) {
        wanted.insert(wanted.end(), list.begin(), list.end());
    };
    for (const Node& n : g.nodes) all(n.shape), all(n.syms);
    for (const auto& r : g.recipes)
        if (r.sym) wanted.push_back(r.sym);
    for (const Segment& s : t.segments) {
        all(s.program->syms);
        for (const auto& b : s.program->buffers) all(b.shape);
        for (const auto& nest : s.program->nests) wanted.push_back(nest.extent), wanted.push_back(nest.work);
        if (!s.gpu_program) continue;
        all(s.gpu_program->syms);
        for (const auto& b : s.gpu_program->buffers) all(b.shape);
    }
    for (int32_t id : g.syms.closure(wanted)) {
        const auto& e = g.syms.expr(graph::Sym{id});
        if (e.kind == graph::SymKind::Const)
            t.const_exprs.emplace_back(id, e.value);
        else if (e.kind == graph::SymKind::Symbol)
            t.symbol_exprs.emplace_back(id, static_cast<int32_t>(e.value));
        else
            t.expr_ids.push_back(id);
    }
    for (int i = 0; i < t.symbol_count; ++i) t.symbol_start.push_back(g.syms.symbol_info(i).lo);
}

// Which expressions wait for a library call, which binds the extents of its result or an int that it gives:
// they are evaluated at the last of those that they need, and not at entry, where a divisor might be
// anything.
void plan_bindings(Trace& t) {
    const auto& table = t.graph.syms;
    std::vector<int> last(static_cast<size_t>(table.size()), -1);  // step, per expression
    for (size_t k = 0; k < t.steps.size(); ++k) {
        TraceStep& step = t.steps[k];
        if (step.kind != StepKind::Library) continue;
        for (graph::Sym s : t.graph.nodes[step.node].syms)
            if (table.expr(s).kind == graph::SymKind::Symbol)
                last[static_cast<size_t>(s.id)] = static_cast<int>(k);
        for (const auto& [id, symbol] : t.symbol_exprs)
            if (last[static_cast<size_t>(id)] == static_cast<int>(k)) step.bound.emplace_back(id, symbol);
    }
    std::vector<int32_t> at_entry;
    for (int32_t id : t.expr_ids) {  // operands first
        const auto& e = table.expr(graph::Sym{id});
        int& at = last[static_cast<size_t>(id)];
        for (graph::Sym operand : {e.a, e.b})
            if (operand) at = std::max(at, last[static_cast<size_t>(operand.id)]);
        for (const auto& term : e.terms) at = std::max(at, last[static_cast<size_t>(term.atom.id)]);
        (at < 0 ? at_entry : t.steps[static_cast<size_t>(at)].exprs).push_back(id);
    }
    t.expr_ids = std::move(at_entry);
}

// What plain Python does for the same result. Views cost it something, and copies that promotion asks for
// mostly nothing.
void count_operations(Trace& t, const graph::Graph& g) {
    for (const Node& n : g.nodes) {
        OpClass c = graph::info(n.op).cls;
        bool array = !n.shape.empty() || n.box == graph::Box::Array;
        if (c == OpClass::Input) t.array_inputs += array;
        t.library_ops += c == OpClass::Library;
        if (c == OpClass::View || n.op == Op::Copy || n.op == Op::Cast)
            ++t.scalar_ops;
        else if (c == OpClass::Pointwise || c == OpClass::Reduction || c == OpClass::Library)
            ++(array || c == OpClass::Reduction ? t.array_ops : t.scalar_ops);
    }
}

void request_code(Trace& t, const FunctionOptions& options, std::vector<kernels::CompileRequest>* postponed) {
    const kernels::CompilerApi* api = compiler();
    for (Segment& s : t.segments) {
        s.code = std::make_shared<kernels::CodeSlot>();
        s.request = std::make_shared<kernels::CompileRequest>();
        s.request->name = t.name;
        s.request->program = s.program;
        s.request->graph = t.shared_graph;
        s.request->slot = s.code;
        s.request->fastmath = options.fastmath;
        s.request->wait = !options.async;
        if (!api || (options.cuda && !s.on_host)) continue;
        s.has_request = true;
        if (postponed && options.async)
            postponed->push_back(*s.request);
        else
            api->compile(*s.request);
    }
}

void print_cuda(Trace& t, bool fastmath) {
    std::vector<const kernels::Program*> programs;
    for (const Segment& s : t.segments) programs.push_back(s.gpu_program.get());
    std::string prefix;
    for (char c : t.name) prefix += isalnum(static_cast<unsigned char>(c)) ? c : '_';
    t.cuda = std::make_shared<kernels::CudaSource>(kernels::emit_cuda(programs, t.graph, prefix, fastmath));
    t.last_launches.resize(t.cuda->kernels.size());
}

}  // namespace

// Numbers that are computed from Python's alone, and from nothing on the GPU.
static void mark_host_numbers(graph::Graph& g) {
    for (Node& n : g.nodes) {
        const bool given = n.op == Op::Const || n.op == Op::SymScalar ||
                           ((n.op == Op::Input || n.op == Op::Library) && n.box != graph::Box::Array);
        const bool computed =
            graph::info(n.op).cls == OpClass::Pointwise &&
            std::all_of(n.in.begin(), n.in.end(), [&](Id v) { return g.nodes[v].host_number; });
        // An operation of the GPU's library on numbers gives an array there; its conversions are the
        // kernels'.
        const bool array = computed && graph::on_gpu(n.host);
        n.host_number = n.shape.empty() && (given || computed) && !array;
    }
}

// What recipes refer to, and what of it are numbers that are computed on the GPU.
static void name_values(Trace& t) {
    t.named.assign(t.graph.nodes.size(), false);
    for (const auto& r : t.graph.recipes)
        if (r.kind == RecipeKind::Value) t.named[static_cast<size_t>(r.index)] = true;
    for (const Segment& s : t.segments) {
        if (s.on_host) continue;
        for (const auto& sc : s.program->scalars) {
            const bool number = t.graph.nodes[sc.value].box != graph::Box::Array;
            if (sc.kind == kernels::ScalarKind::Result && number && t.named[static_cast<size_t>(sc.value)])
                t.python_numbers.push_back(sc.value);
        }
    }
}

// A trace of NumPy's arrays for which there are no kernels after all.
void have_cpu_code(Trace& t) {
    const kernels::CompilerApi* api = compiler();
    for (Segment& s : t.segments) {
        if (!api || s.has_request) continue;
        s.has_request = true;
        api->compile(*s.request);
    }
}

static void run_on_cpu(Trace& t, const std::string& why) {
    log(LogTopic::Errors, t.name + " runs on the CPU: " + why);
    have_cpu_code(t);
}

// A GPU has no floating-point flags: what an np.errstate of the trace would do something about is not seen
// there.
static bool handles_faults(const graph::Graph& g) {
    return std::any_of(g.nodes.begin(), g.nodes.end(), [](const Node& n) {
        return n.op == Op::ErrorState && (n.ints[0] & 15 & ~(n.ints[0] >> 4)) != 0;
    });
}

// From the optimized graph to steps whose operands are looked up. `relations`: symbols that guards compare.
static void plan(Trace& t, const FunctionOptions& options, std::vector<graph::Sym> relations) {
    Cutter cutter{t, options, wanted_values(t.graph), {}, {}};
    cutter.gpu = t.gpu >= 0;
    if (cutter.gpu) mark_host_numbers(t.graph);
    cutter.run();
    number_slots(t);
    t.shared_graph = std::make_shared<const graph::Graph>(t.graph);
    t.expr_count = t.graph.syms.size();
    t.symbol_count = t.graph.syms.symbol_count();
    t.input_count = static_cast<int>(t.graph.inputs.size());
    for (const graph::Input& in : t.graph.inputs) t.reads_tensors |= in.host != graph::HostId::NumPy;
    for (Segment& s : t.segments) plan_segment(t, s);
    plan_symbols(t, std::move(relations));
    plan_bindings(t);
}

std::unique_ptr<Trace> make_values(graph::Graph g, const std::vector<PyRef>& objects) {
    try {
        auto t = std::make_unique<Trace>();
        t->name = g.name + " (variables)";
        t->graph = std::move(g);
        t->objects = objects;
        std::string why = graph::verify(t->graph);
        if (why.empty()) {
            graph::run_passes(t->graph);
            plan(*t, {}, {});
            for (Segment& s : t->segments) s.code = std::make_shared<kernels::CodeSlot>(), s.quiet = true;
            return t;
        }
        log(LogTopic::Errors, "stator: internal error, variables of a traceback are missing: " + why);
    } catch (const std::exception& e) {
        log(LogTopic::Errors,
            std::string("stator: internal error, variables of a traceback are missing: ") + e.what());
    }
    return nullptr;
}

static std::unique_ptr<Trace> build_trace(TraceBuilder& b, std::string name, const FunctionOptions& asked,
                                          std::vector<kernels::CompileRequest>* postponed, Reason* reason,
                                          std::string* why) {
    FunctionOptions options = asked;
    if (b.device >= 0) options.cuda = true, options.on_device = false;
    auto t = std::make_unique<Trace>();
    t->name = name;
    t->gpu = b.device;
    b.graph.name = name;
    // What fails here is cleared and left out: a handler's exception would be lost with it.
    const DeferredSignals deferred;
    b.finish();
    t->recorded = std::make_shared<const graph::Graph>(b.graph);
    if (t->gpu < 0) t->lost = LostPlans::of(t->recorded, b.objects);
    for (graph::Snapshot& s : b.graph.snapshots)
        for (graph::SnapFrame& f : s.frames) f.lost.clear();
    count_operations(*t, b.graph);
    *why = graph::verify(b.graph);
    if (!why->empty()) return nullptr;
    // Passes may drop relations that others imply; the guard program keeps them all.
    std::vector<graph::Sym> relation_syms;
    for (const Node& n : b.graph.nodes)
        if (n.op == Op::SymGuard) relation_syms.insert(relation_syms.end(), n.syms.begin(), n.syms.end());
    graph::run_passes(b.graph);
    t->graph = std::move(b.graph);
    t->guards = std::move(b.guards);
    t->objects = std::move(b.objects);
    t->location_globals = std::move(b.location_globals);
    t->followed = std::move(b.followed);
    t->guards.finish(t->graph.syms, static_cast<int>(t->graph.inputs.size()));
    t->source_count = t->guards.source_count();
    t->has_relations = t->guards.has_relations();
    plan(*t, options, std::move(relation_syms));
    const auto reads = [](const std::vector<graph::CellContents>& cells) {
        return std::ranges::any_of(cells, [](const graph::CellContents& c) { return c.read >= 0; });
    };
    t->stores_what_it_read =
        reads(t->graph.end_cells) ||
        std::ranges::any_of(t->graph.snapshots, [&](const graph::Snapshot& s) { return reads(s.cells); });
    plan_lifetimes(*t);
    plan_donors(*t);
    t->snapshot_exits.assign(t->graph.snapshots.size(), 0);
    for (int i = 0; i < t->source_count; ++i) {
        const auto& src = t->guards.source(i);
        if (src.kind == guards::SourceKind::Slot) t->slot_indices.push_back(src.index);
    }
    request_code(*t, options, postponed);
    if (options.cuda) print_cuda(*t, options.fastmath);
    // Who wants nothing to be left to Python waits.
    const bool later = options.async && !options.fullgraph;
    if (t->gpu >= 0) {
        name_values(*t);
        *reason = Reason::NoKernels;
        return load_on_gpu(*t, later, why) ? std::move(t) : nullptr;
    }
    if (!options.on_device) return t;
    std::string error = "its np.errstate handles what a GPU does not notice";
    if (handles_faults(t->graph) || !load_on_device(*t, later, &error)) run_on_cpu(*t, error);
    return t;
}

bool receive_device_code(Trace& t) {
    if (!t.device_slot->settled()) return false;
    const std::shared_ptr<kernels::DeviceSlot> slot = std::move(t.device_slot);
    t.device_code = slot->code;
    if (t.device_code) return true;
    if (t.gpu >= 0) return t.device_error = slot->error, false;
    run_on_cpu(t, slot->error);
    return true;
}

std::unique_ptr<Trace> make_trace(TraceBuilder&& b, std::string name, const FunctionOptions& options,
                                  std::vector<kernels::CompileRequest>* postponed, Reason* reason,
                                  std::string* why) {
    *reason = Reason::None;
    try {
        return build_trace(b, std::move(name), options, postponed, reason, why);
    } catch (const std::exception& e) {  // an internal error must never end the program
        *why = e.what();
        return nullptr;
    }
}

}  // namespace stator::frontend
