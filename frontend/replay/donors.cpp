// Results that take the place of an operand which nothing needs any more: no allocation, and memory that is
// in the cache. For tensors only, whose operations report no faults: once a nest has begun, nothing is done
// again.
//
// An array may give its place to a result when it is a plain tensor made in this trace, the step is the last
// one to look at it, no other tensor shows its memory, and the one nest of the segment reads each of its
// elements where it writes that of the result. That nobody else holds the object and that it has the result's
// extents is seen when it runs.
#include <algorithm>
#include <set>
#include <string_view>

#include "frontend/replay/trace.h"
#include "kernels/loops/loop_ir.h"

namespace stator::frontend {

using graph::Id;
using graph::Node;
using graph::Op;
using graph::OpClass;

namespace {

// Functions of torch whose results have memory of exactly their size.
constexpr std::string_view kExact[] = {"linear", "matmul",  "mm",      "bmm",     "addmm",     "gelu", "silu",
                                       "relu",   "softmax", "sigmoid", "tanh",    "exp",       "sqrt", "log",
                                       "erf",    "sin",     "cos",     "baddbmm", "layer_norm"};

bool is_plain_result(const Node& n) {
    if (n.host != graph::HostId::Torch || n.box != graph::Box::Array || n.shape.empty()) return false;
    if (n.op != Op::Library) return graph::info(n.op).cls == OpClass::Pointwise;
    return n.ints[3] == graph::kGivesFresh && std::ranges::find(kExact, n.name) != std::end(kExact);
}

// Whether what the recipe makes has the value's memory, or a view of it, in it.
bool reaches(const graph::Graph& g, int32_t recipe, Id root) {
    if (recipe < 0) return false;
    const graph::Recipe& r = g.recipes[static_cast<size_t>(recipe)];
    if (r.kind == graph::RecipeKind::Value || r.kind == graph::RecipeKind::View)
        if (graph::buffer_root(g, r.index) == root) return true;
    return std::ranges::any_of(r.items, [&](int32_t item) { return reaches(g, item, root); });
}

// Whether Python may see the value's object: it would find that what a function returned is a view of what it
// computed.
class Leaving {
  public:
    Leaving(const graph::Graph& g, Id root) : g_(g), root_(root) {}
    bool answer() const {
        if (g_.end_kind == graph::EndKind::Return && (recipe(g_.end) || cells(g_.end_cells))) return true;
        return std::ranges::any_of(g_.snapshots, [&](const graph::Snapshot& s) {
            return cells(s.cells) || std::ranges::any_of(s.frames, [&](const graph::SnapFrame& f) {
                       return std::ranges::any_of(f.slots, [&](int32_t r) { return recipe(r); });
                   });
        });
    }

  private:
    bool recipe(int32_t index) const { return reaches(g_, index, root_); }
    bool cells(const std::vector<graph::CellContents>& all) const {
        return std::ranges::any_of(
            all, [&](const graph::CellContents& c) { return recipe(c.cell) || recipe(c.contents); });
    }
    const graph::Graph& g_;
    Id root_;
};

// Whether a call was given the value and may have returned a view of it.
bool is_shown_by_others(const graph::Graph& g, Id root) {
    return std::ranges::any_of(g.nodes, [&](const Node& n) {
        if (n.op != Op::Library || n.ints[3] == graph::kGivesFresh || n.ints[3] == graph::kGivesDrawn)
            return false;
        return std::ranges::any_of(n.in, [&](Id v) { return graph::buffer_root(g, v) == root; });
    });
}

// Whether the version of the value's tensor was counted up: a result in its place would have that version.
bool is_bumped(const graph::Graph& g, Id root) {
    return std::ranges::any_of(g.nodes, [&](const Node& n) {
        return n.op == Op::Library && n.ints[3] == graph::kGivesNothing &&
               reaches(g, static_cast<int32_t>(n.ints[1]), root);
    });
}

// Whether the nest reads `operand` only at the very elements of `result` that it writes, and needs nothing of
// it after that: executors may read an operand again for each use.
bool reads_where_it_writes(const kernels::LoopNest& nest, int operand, int result) {
    const kernels::Stmt* store = nullptr;
    for (const kernels::Stmt& s : nest.stmts) {
        if (s.kind != kernels::StmtKind::Store || s.access.buffer != result) continue;
        if (store) return false;
        store = &s;
    }
    if (!store) return false;
    kernels::Access there = store->access;
    there.buffer = operand;
    bool read = false;
    for (const kernels::Stmt& s : nest.stmts) {
        const bool after = &s > store;
        if (after && std::ranges::any_of(s.in, [&](int v) {
                return nest.stmts[static_cast<size_t>(v)].access.buffer == operand;
            }))
            return false;
        if (s.access.buffer != operand) continue;
        if (s.kind != kernels::StmtKind::Load || after || s.depth != store->depth || s.access != there)
            return false;
        read = true;
    }
    return read;
}

bool fits(const kernels::Buffer& operand, const kernels::Buffer& result) {
    return operand.kind == kernels::BufferKind::Input && operand.layout == graph::Layout::Contiguous &&
           operand.dtype == result.dtype && operand.shape.size() == result.shape.size() &&
           operand.perm == result.perm;
}

void plan_segment_donors(Trace& t, const TraceStep& step, Segment& s, std::set<Id>& given) {
    kernels::Program& p = *s.program;
    if (!s.quiet || s.has_commit || (p.fault_mask & kernels::kFaultHost) || p.code.size() != 1) return;
    for (size_t out = 0; out < p.buffers.size(); ++out) {
        BufferPlan& result = s.buffer_plans[out];
        if (result.kind != kernels::BufferKind::Output || result.host != graph::HostId::Torch) continue;
        for (size_t in = 0; in < p.buffers.size() && result.donor < 0; ++in) {
            const BufferPlan& operand = s.buffer_plans[in];
            if (!fits(p.buffers[in], p.buffers[out]) || operand.slot < 0 || operand.input >= 0) continue;
            const bool taken = std::ranges::any_of(
                s.buffer_plans, [&](const BufferPlan& b) { return b.donor == static_cast<int>(in); });
            const bool last = std::ranges::find(step.drops, operand.slot) != step.drops.end();
            if (taken || !last || !is_plain_result(t.graph.nodes[static_cast<size_t>(operand.value)]) ||
                is_shown_by_others(t.graph, operand.value) ||
                !reads_where_it_writes(*p.code[0], static_cast<int>(in), static_cast<int>(out)))
                continue;
            // The object is what a function returned, was written to, or took the place of such a one.
            const Id root = graph::buffer_root(t.graph, result.value);
            const bool shows = t.graph.nodes[static_cast<size_t>(operand.value)].op == Op::Library ||
                               given.contains(operand.value) || is_bumped(t.graph, operand.value);
            if (shows && Leaving(t.graph, root).answer()) continue;
            if (shows) given.insert(root);
            result.donor = static_cast<int>(in);
            p.code[0]->in_place = true;
        }
    }
}

}  // namespace

void plan_donors(Trace& t) {
    std::set<Id> given;  // values whose objects show that they are no fresh results
    for (const TraceStep& step : t.steps)
        if (step.kind == StepKind::Program)
            plan_segment_donors(t, step, t.segments[static_cast<size_t>(step.segment)], given);
}

}  // namespace stator::frontend
