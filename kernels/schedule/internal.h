// What the parts of the scheduler share: plan (what gets memory), sinks and their nests, build (statements)
// and finish (loop order, coalescing, self-contained loop IR). schedule/schedule.cpp tells the idea.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/loops/loop_ir.h"

namespace stator::kernels::scheduling {

using graph::Graph;
using graph::Id;
using graph::Node;
using graph::Op;
using graph::OpClass;
using graph::Sym;

// Index into one dimension of a value as a function of a nest's axes: start + step * i_axis (axis -1: start
// alone). Axes of extent 1 are never named.
struct DimMap {
    int axis = -1;
    int64_t step = 0;
    Sym start;
    auto key() const { return std::tuple(axis, step, start.id); }
    bool operator==(const DimMap& o) const { return key() == o.key(); }
    bool operator<(const DimMap& o) const { return key() < o.key(); }
};
using Map = std::vector<DimMap>;

// The iteration space of a nest: its extents in logical order without those that are the constant 1.
struct Space {
    std::vector<Sym> extent;
    std::vector<char> reduced;
    bool sequential = false;  // reductions element by element and others do not share a nest
    // Axes that are reduced as one run have to merge, which takes operands without gaps: others would keep
    // them apart.
    bool dense = false;
    bool operator==(const Space& o) const {
        return extent == o.extent && reduced == o.reduced && sequential == o.sequential && dense == o.dense;
    }
};

enum class Level : uint8_t { Scalar, Parallel, Full };

// An access before symbolic integers are numbered; axis lists follow Space::extent.
struct SymTerm {
    int dim;
    Sym factor;
    bool operator==(const SymTerm&) const = default;
};
struct SymAccess {
    int buffer = -1;
    std::vector<SymTerm> offset;
    std::vector<std::vector<SymTerm>> axis;
};

struct DraftStmt {
    Stmt stmt;
    Level level = Level::Full;
    SymAccess access;
};

// A nest under construction.
struct Draft {
    Space space;
    bool commit = false;
    bool late = false;  // behind a commit: nothing that can fault goes here
    std::vector<DraftStmt> stmts;
    std::map<std::pair<Id, Map>, int> memo;        // value at an index map -> statement
    std::map<std::pair<Id, Map>, int> after_memo;  // the same behind a reduction, reductions included
    std::map<int, int> scalar_memo;                // Program::scalars slot -> statement
    std::set<int> after;                           // drafts that must run before this one
    std::vector<std::pair<int, Map>> reads;        // (buffer, map): write-after-read hazards
    std::vector<int> order;                        // loop order wished by the first store, outermost first
    bool has_order = false;
};

// A located value or scalar result that an expression reads, and where.
struct Read {
    Id v;
    Map m;
};

class Scheduler {
  public:
    Scheduler(Graph& g, const SegmentRequest& rq);
    Program run();

  private:
    // ---- schedule/plan.cpp: which nodes are needed, and which of them get memory ----
    void find_needed();
    void plan();
    void plan_wanted();
    void plan_stores();
    void plan_reshapes();
    void plan_run(Id reduce);
    void plan_uses(Id v);
    void plan_hazards();
    void plan_store_value(Id store);
    void plan_late_readers();
    void plan_late_operands();
    bool repeatable(Id root);
    bool whole(Id store);  // covers its buffer, element by element
    bool reaches_fault(Id store);
    void plan_crossings(Id store);
    void materialize(Id v);
    bool fusable_reduce(Id reduce, Id operand);
    int own_cost(const Node& n) const;
    int tree_cost(Id v);
    bool tree_faults(Id v);
    bool tree_native(Id v);
    bool tree_dense(Id v);  // every array leaf is contiguous in C order and read where the value is
    bool nonempty(Sym extent) const;
    bool may_be_skipped(Id v);
    bool covers(const Map& m, const std::vector<Sym>& shape, const Space& space) const;
    template <class F>
    bool all_of_tree(Id v, std::set<Id>& seen, const F& f);

    // ---- schedule/schedule.cpp: sinks and their nests ----
    void sink(Id v);
    void sink_value(Id v);
    void sink_store(Id v);
    void sink_reduce(Id v);
    void sink_scalar(Id v);
    void sink_flags(Id v);
    void sink_snapshot(Id v);
    void collect(Id v, const Map& m, std::vector<Read>& out);
    void collect(Id v, const Map& m, std::vector<Read>& out, std::set<std::pair<Id, Map>>& seen);
    int place(const Space& space, const std::vector<Read>& reads, bool commit, Id store = graph::kNone,
              const Map* store_map = nullptr, int buffer = -1);
    int put(Id store, int buffer, bool commit);
    int stored_value(Draft& d, Id store, int stmt);
    int shadow_of(Id store);
    int place_after(Id v, Map& m);
    bool reads_late(const std::vector<Read>& reads) const;
    bool reads_ready(int draft, const std::vector<Read>& reads);
    bool store_ready(int draft, int buffer, const Map& map, Id store);
    bool disjoint(Id a, Id b);
    void order_after(int draft, const std::vector<Read>& reads, int written_buffer);

    // ---- schedule/build.cpp: index maps and statements ----
    auto& memo(Draft& d) const { return behind_ ? d.after_memo : d.memo; }
    Level inner_level() const { return behind_ ? Level::Parallel : Level::Full; }
    bool unit(Sym s) const { return g_.syms.as_const(s) == std::optional<int64_t>(1); }
    Space space_of(const std::vector<Sym>& shape) const;
    Map identity(const std::vector<Sym>& shape) const;
    Map compose(const Node& view, const Map& m);
    std::vector<Sym> store_shape(const Node& n) const;
    Id base_of(Id v, Map& m);  // through views, composing the map
    Id reshaped(Id v);  // what a reshape reads: the value below it and further reshapes that has memory
    int eval(Draft& d, Id v, const Map& m);
    int eval_scalar(Draft& d, Id v);
    int eval_compute(Draft& d, Id v, const Map& m, Level level);
    int eval_arange(Draft& d, Id v, const Map& m);
    int add(Draft& d, DraftStmt s);
    int scalar_stmt(Draft& d, int slot);
    int load(Draft& d, Id v, int buffer, const Map& m, const std::vector<Sym>& shape);
    void store(Draft& d, int buffer, const Map& m, int value, Level level, Id v);
    void set_scalar(Draft& d, int value, Level level, Id v);
    SymAccess access(const Draft& d, int buffer, const Map& m, const std::vector<Sym>& shape);
    int leaf_slot(Id v);  // Program::scalars slot of an input, constant or symbol
    int const_slot(graph::DType t, uint64_t lo, uint64_t hi);
    int located(Id v);  // buffer the value is read from, -1 when computed where it is used
    int new_buffer(BufferKind kind, Id v);

    // ---- schedule/finish.cpp ----
    void finish();
    void drop_dead_scratch();
    std::vector<int> run_order() const;
    static void hoist_scalars(Draft& d);
    std::shared_ptr<LoopNest> lower(Draft& d, NestInfo& info);
    std::vector<int> loop_order(const Draft& d) const;
    void merge_axes(Draft& d, std::vector<int>& axes, std::vector<Sym>& extent);
    bool mergeable(const SymAccess& a, int outer, int inner, Sym inner_extent);
    Int number(Sym s);
    void collect_loops();

    const Node& node(Id v) const { return g_.nodes[v]; }
    bool rank0(Id v) const { return node(v).shape.empty(); }
    Id root(Id v) const { return graph::buffer_root(g_, v); }
    bool in_segment(Id v) const { return v >= rq_.begin && v < rq_.end; }
    bool visible(Id store) const;  // the stored-to buffer exists outside this segment
    bool gpu() const { return rq_.target == Target::Gpu; }
    int cheap() const;  // arithmetic worth repeating rather than storing
    bool can_fault(Id v) const { return !gpu() && graph::can_fault(g_, v); }
    bool commits(Id store) { return !gpu() && visible(store) && !repeatable(root(store)); }
    bool is_leaf(Id v) const;  // constant, symbol, or available before the segment
    bool is_view(Id v) const { return graph::info(node(v).op).cls == OpClass::View; }
    bool is_virtual(Id v) const { return !is_leaf(v) && !materialized_[v]; }

    Graph& g_;
    const SegmentRequest& rq_;
    Program p_;
    std::vector<Draft> drafts_;
    bool behind_ = false;  // statements are being built behind a reduction

    // per graph node
    std::vector<char> available_, needed_, materialized_, wanted_, has_stores_;
    std::vector<char> checked_first_;     // computed once for its flags, and again where a commit stores it
    std::map<Id, bool> repeatable_;       // by root
    std::vector<std::vector<Id>> users_;  // needed users (not through a store's operand 0)
    std::vector<Id> snapshot_before_;     // the store before which an old version is copied, kNone
    std::multimap<Id, Id> snapshots_;     // store -> old versions copied before it
    std::vector<Id> alias_;           // the value that a store's readers use in place of its memory, kNone
    std::map<Id, int> shadow_;        // roots of which late readers use a copy -> that buffer, -1 until made
    std::vector<int> cost_;           // memo of tree_cost, -1
    std::vector<int> buffer_;         // where the value is read from, -1
    std::vector<int> made_by_;        // draft that completes it, -1 = before the program
    std::vector<int> slot_;           // Program::scalars slot, -1
    std::map<Id, int> store_buffer_;  // by root: the buffer that stores go to
    std::map<int, std::vector<std::pair<int, Id>>> writers_;  // buffer -> (draft, node)
    std::unordered_map<int32_t, int> sym_index_;
};

}  // namespace stator::kernels::scheduling
