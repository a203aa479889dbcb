// Until when a replay has to keep the arrays in its value slots.
//
// A step needs what its operands, its arguments and the snapshots it may leave through name. Stores into a
// fresh buffer happen in place, so a value keeps the slots of all versions before it.
#include "frontend/replay/trace.h"

namespace stator::frontend {

using graph::Id;
using graph::Op;
using graph::OpClass;

namespace {

class Lifetimes {
  public:
    explicit Lifetimes(Trace& t) : t_(t), g_(t.graph), last_(static_cast<size_t>(t.slot_count), 0) {}

    void run() {
        const int count = static_cast<int>(t_.steps.size());
        for (at_ = 0; at_ < count; ++at_) step(t_.steps[static_cast<size_t>(at_)]);
        if (g_.end_kind == graph::EndKind::Return)
            recipe(g_.end), cells(g_.end_cells);
        else
            snapshot(g_.end);
        for (size_t slot = 0; slot < last_.size(); ++slot)
            if (last_[slot] < count)
                t_.steps[static_cast<size_t>(last_[slot])].drops.push_back(static_cast<int32_t>(slot));
    }

  private:
    void value(Id v) {
        while (v >= 0) {
            const int slot = t_.value_slots[static_cast<size_t>(v)];
            if (slot >= 0) last_[static_cast<size_t>(slot)] = at_;
            const OpClass c = graph::info(g_.node(v).op).cls;
            if (c != OpClass::View && c != OpClass::Effect) break;
            v = g_.node(v).in[0];
        }
    }

    void recipe(int32_t r) {
        if (r < 0) return;
        const graph::Recipe& x = g_.recipes[static_cast<size_t>(r)];
        if (x.kind == graph::RecipeKind::Value || x.kind == graph::RecipeKind::View) value(x.index);
        for (int32_t item : x.items) recipe(item);
    }

    void cells(const std::vector<graph::CellContents>& all) {
        for (const auto& c : all) recipe(c.cell), recipe(c.contents);
    }

    void snapshot(int index) {
        if (index < 0) return;
        const graph::Snapshot& s = g_.snapshots[static_cast<size_t>(index)];
        for (const auto& f : s.frames) {
            recipe(f.func);
            for (int32_t r : f.slots) recipe(r);
        }
        for (int32_t r : s.contexts) recipe(r);
        cells(s.cells);
    }

    void step(const TraceStep& s) {
        snapshot(s.redo);
        if (s.kind == StepKind::Program) {
            const Segment& segment = t_.segments[static_cast<size_t>(s.segment)];
            for (const BufferPlan& b : segment.buffer_plans) value(b.value);
            for (const ScalarPlan& x : segment.scalar_plans) value(x.value);
            return;
        }
        const graph::Node& n = g_.node(s.node);
        if (s.kind == StepKind::Library) value(s.node), recipe(static_cast<int32_t>(n.ints[1]));
        for (Id v : n.in) value(v);
        if (s.kind == StepKind::Guard || s.kind == StepKind::SymGuard) snapshot(static_cast<int>(n.ints[1]));
    }

    Trace& t_;
    const graph::Graph& g_;
    std::vector<int> last_;  // per slot: the last step that needs it; the number of steps: the end
    int at_ = 0;
};

}  // namespace

void plan_lifetimes(Trace& t) {
    if (t.steps.size() > 1) Lifetimes(t).run();
}

}  // namespace stator::frontend
