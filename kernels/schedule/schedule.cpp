// The scheduler: one segment of a graph becomes a list of loop nests over buffers.
//
// Four steps. *Plan* (schedule/plan.cpp) finds the needed nodes and decides which values get memory; all
// others are computed where they are used. What remains to be done are sinks: values that get memory, stores,
// reductions, scalar results, and computations that matter only for their floating-point flags. *Place*
// (here) takes the sinks in program order and puts each into the last nest with the same iteration space
// whose predecessors allow it, else into a new nest. *Build* (schedule/build.cpp) makes the statements.
// *Finish* (schedule/finish.cpp) orders the nests (stores that others can see as late as possible), chooses
// loop orders, merges axes and numbers symbolic integers.
//
// Hazards. A version of a buffer is read in nests that run before the store that makes the next version, or
// in the same nest at exactly the element that is stored. Values that would be computed from a version too
// late get memory of their own (plan), old versions that are read late are copied first (snapshot). A segment
// that faults is run again, so nothing that can fault may wait for a store that others see: it reads the
// stored value or a copy of the buffer (shadow).
#include <algorithm>

#include "kernels/schedule/internal.h"
#include "kernels/schedule/reduction_order.h"

namespace stator::kernels {

Program schedule(graph::Graph& g, const SegmentRequest& request) {
    return scheduling::Scheduler(g, request).run();
}

namespace scheduling {

Scheduler::Scheduler(Graph& g, const SegmentRequest& rq) : g_(g), rq_(rq) {
    size_t n = g.nodes.size();
    for (auto* flags : {&available_, &needed_, &materialized_, &wanted_, &has_stores_, &checked_first_})
        flags->assign(n, 0);
    users_.resize(n);
    snapshot_before_.assign(n, graph::kNone);
    alias_.assign(n, graph::kNone);
    for (auto* ints : {&cost_, &buffer_, &made_by_, &slot_}) ints->assign(n, -1);
    for (Id v : rq.available) available_[v] = 1;
    for (Id v = 0; v < rq.end; ++v) {
        if (g.nodes[v].op == Op::Input) available_[v] = 1;
        if (available_[v] && g.nodes[v].op == Op::Store) available_[root(v)] = 1;
    }
    for (Id v = 0; v < rq.end; ++v)  // a view of available memory is read through that memory
        if (is_view(v) && available_[node(v).in[0]] && !rank0(v) && node(v).op == Op::View) available_[v] = 0;
}

Program Scheduler::run() {
    plan();
    for (Id v = 0; v < rq_.end; ++v)
        if (snapshot_before_[v] >= 0) snapshots_.emplace(snapshot_before_[v], v);
    for (Id v = 0; v < rq_.begin; ++v)  // views from before that are reshaped here
        if (is_view(v) && materialized_[v]) sink_value(v);
    for (Id v = rq_.begin; v < rq_.end; ++v)
        if (needed_[v] && !available_[v]) sink(v);
    finish();
    return std::move(p_);
}

// ---- placing ----

// The located values that computing v at m reads.
void Scheduler::collect(Id v, const Map& m, std::vector<Read>& out) {
    std::set<std::pair<Id, Map>> seen;
    collect(v, m, out, seen);
}

void Scheduler::collect(Id v, const Map& m, std::vector<Read>& out, std::set<std::pair<Id, Map>>& seen) {
    if (!seen.emplace(v, m).second) return;
    const Node& n = node(v);
    if (alias_[v] >= 0) return collect(alias_[v], rank0(alias_[v]) ? Map{} : m, out, seen);
    if (!is_virtual(v) || buffer_[v] >= 0 || slot_[v] >= 0) {
        out.push_back({v, m});
        return;
    }
    auto descend = [&](Id in, const Map& at) { collect(in, rank0(in) ? Map{} : at, out, seen); };
    if (n.op == Op::View) {
        descend(n.in[0], compose(n, m));
    } else if (n.op == Op::Reshape) {
        descend(n.in[0], Map(node(n.in[0]).shape.size(), DimMap{-2, 0, {}}));
    } else if (n.op == Op::Store) {
        descend(n.in[1], m);
    } else {
        for (Id in : n.in) descend(in, m);
    }
}

// Whether something is read that a commit, or a nest behind one, has made.
bool Scheduler::reads_late(const std::vector<Read>& reads) const {
    return std::any_of(reads.begin(), reads.end(), [&](const Read& r) {
        int made = made_by_[r.v];
        return made >= 0 && (drafts_[made].commit || drafts_[made].late);
    });
}

bool Scheduler::reads_ready(int draft, const std::vector<Read>& reads) {
    for (auto& r : reads) {
        if (made_by_[r.v] < draft) continue;
        if (made_by_[r.v] > draft || !drafts_[draft].memo.count({r.v, r.m})) return false;
    }
    return true;
}

// Whether two stores to one buffer provably touch different elements.
bool Scheduler::disjoint(Id a, Id b) {
    const Node &x = node(a), &y = node(b);
    if (x.op != Op::Store || y.op != Op::Store) return false;
    auto sx = store_shape(x), sy = store_shape(y);
    auto& t = g_.syms;
    auto range = [&](const Node& n, const std::vector<Sym>& shape,
                     int d) -> std::optional<std::pair<Sym, Sym>> {
        int64_t rank = n.ints[0], axis = n.ints[1 + d], step = n.ints[1 + rank + d];
        Sym start = n.syms[d], one = t.constant(1);
        if (axis < 0) return std::pair(start, t.add(start, one));
        Sym last = t.add(start, t.mul(t.constant(step), t.sub(shape[axis], one)));
        return step > 0 ? std::pair(start, t.add(last, one)) : std::pair(last, t.add(start, one));
    };
    for (int d = 0; d < static_cast<int>(x.ints[0]); ++d) {
        auto rx = range(x, sx, d), ry = range(y, sy, d);
        if (t.prove_ge(rx->first, ry->second).value_or(false) ||
            t.prove_ge(ry->first, rx->second).value_or(false))
            return true;
    }
    return false;
}

bool Scheduler::store_ready(int draft, int buffer, const Map& map, Id store) {
    for (int r = draft; r < static_cast<int>(drafts_.size()); ++r)
        for (auto& [b, m] : drafts_[r].reads)
            if (b == buffer && (r > draft || m != map)) return false;
    for (auto& [w, v] : writers_[buffer])
        if (w > draft || (w == draft && !disjoint(v, store))) return false;
    return true;
}

void Scheduler::order_after(int draft, const std::vector<Read>& reads, int written_buffer) {
    auto& after = drafts_[draft].after;
    auto need = [&](int d) {
        if (d >= 0 && d != draft) after.insert(d);
    };
    for (auto& r : reads) need(made_by_[r.v]);
    if (written_buffer < 0) return;
    for (auto& [w, v] : writers_[written_buffer]) need(w);
    for (int r = 0; r < static_cast<int>(drafts_.size()); ++r)
        for (auto& [b, m] : drafts_[r].reads)
            if (b == written_buffer) need(r);
}

// The last nest that can take the sink, or a new one. For stores, buffer hazards count too.
int Scheduler::place(const Space& space, const std::vector<Read>& reads, bool commit, Id store,
                     const Map* store_map, int buffer) {
    int found = -1;
    bool late = !commit && reads_late(reads);
    for (int j = static_cast<int>(drafts_.size()) - 1; j >= 0 && found < 0; --j) {
        if (!(drafts_[j].space == space) || drafts_[j].commit != commit || drafts_[j].late != late) continue;
        if (!reads_ready(j, reads)) continue;
        if (buffer >= 0 && !store_ready(j, buffer, *store_map, store)) continue;
        found = j;
    }
    if (found < 0) {
        drafts_.emplace_back();
        found = static_cast<int>(drafts_.size()) - 1;
        drafts_[found].space = space;
        drafts_[found].commit = commit;
        drafts_[found].late = late;
    }
    order_after(found, reads, buffer);
    return found;
}

// A nest whose reductions v is computed from, element by element: v goes behind them. `m` becomes the map of
// v over the axes of that nest.
int Scheduler::place_after(Id v, Map& m) {
    Space space = space_of(node(v).shape);
    if (!tree_native(v)) return -1;
    for (int j = static_cast<int>(drafts_.size()) - 1; j >= 0; --j) {
        Draft& d = drafts_[j];
        if (d.after_memo.empty() || d.commit) continue;
        std::vector<int> kept;
        std::vector<Sym> extent;
        for (int a = 0; a < static_cast<int>(d.space.extent.size()); ++a)
            if (!d.space.reduced[a]) kept.push_back(a), extent.push_back(d.space.extent[a]);
        if (extent != space.extent) continue;
        Map at = identity(node(v).shape);
        for (DimMap& dim : at)
            if (dim.axis >= 0) dim.axis = kept[dim.axis];
        std::vector<Read> reads;
        collect(v, at, reads);
        bool ready = true, used = false;
        for (auto& r : reads) {
            bool here = d.after_memo.count({r.v, r.m}) > 0;
            used |= here;
            ready &= here || made_by_[r.v] < j;
        }
        if (!ready || !used || d.late != reads_late(reads)) continue;
        m = at;
        order_after(j, reads, -1);
        return j;
    }
    return -1;
}

// ---- sinks ----

void Scheduler::sink(Id v) {
    const Node& n = node(v);
    auto cls = graph::info(n.op).cls;
    for (auto [it, end] = snapshots_.equal_range(v); it != end; ++it) sink_snapshot(it->second);
    if (n.op == Op::Store && (!rank0(v) || visible(v))) return sink_store(v);
    if (cls == OpClass::Reduction) return sink_reduce(v);
    if (materialized_[v]) return rank0(v) ? sink_scalar(v) : sink_value(v);
    if (checked_first_[v] || (cls == OpClass::Pointwise && users_[v].empty() && can_fault(v))) sink_flags(v);
}

void Scheduler::sink_value(Id v) {
    if (is_view(v) && buffer_[v] >= 0) return;
    int buffer = new_buffer(wanted_[v] ? BufferKind::Output : BufferKind::Scratch, v);
    int made = -1;
    if (node(v).op != Op::Empty) {
        std::vector<Read> reads;
        Map m = identity(node(v).shape);
        materialized_[v] = 0;  // look through v itself
        made = place_after(v, m);
        behind_ = made >= 0;
        if (!behind_) {
            collect(v, m, reads);
            made = place(space_of(node(v).shape), reads, false);
        }
        Draft& d = drafts_[made];
        int value = eval(d, v, m);
        materialized_[v] = 1;
        store(d, buffer, m, value, inner_level(), v);
        behind_ = false;
    }
    buffer_[v] = buffer;
    made_by_[v] = made;
    store_buffer_[v] = buffer;
    writers_[buffer].emplace_back(made, v);
}

void Scheduler::sink_snapshot(Id v) {
    if (rank0(v) && !has_stores_[root(v)]) return;
    int old = located(v);
    if (old < 0) return;
    std::vector<Read> reads{{v, identity(node(v).shape)}};
    int made = place(space_of(node(v).shape), reads, false);
    Draft& d = drafts_[made];
    int value = rank0(v) ? eval_scalar(d, v) : eval(d, v, reads[0].m);
    int buffer = new_buffer(BufferKind::Scratch, v);
    p_.buffers[buffer].layout = graph::Layout::Contiguous;
    store(d, buffer, reads[0].m, value, Level::Full, v);
    buffer_[v] = buffer;
    made_by_[v] = made;
    writers_[buffer].emplace_back(made, v);
}

// Statement i as readers of the memory it is stored to see it: a host loop, whose bits may depend on strides,
// must not see those of where the value came from.
int Scheduler::stored_value(Draft& d, Id v, int i) {
    if (d.stmts[i].stmt.kind == StmtKind::Compute) return i;
    DraftStmt copy;
    copy.stmt.kind = StmtKind::Compute;
    copy.stmt.dtype = node(v).dtype;
    copy.stmt.op = Op::Copy;
    copy.stmt.in = {i};
    copy.stmt.node = v;
    copy.level = Level::Full;
    return add(d, std::move(copy));
}

// Evaluates the value of store v and stores it to `buffer`, which is v's or a shadow of it; returns the
// draft.
int Scheduler::put(Id v, int buffer, bool commit) {
    Id value = node(v).in[1];
    auto shape = store_shape(node(v));
    Map id = identity(shape), at = compose(node(v), id);
    std::vector<Read> reads;
    collect(value, rank0(value) ? Map{} : id, reads);
    int made = place(space_of(shape), reads, commit, v, &at, buffer);
    Draft& d = drafts_[made];
    int i = rank0(value) ? eval_scalar(d, value) : eval(d, value, id);
    store(d, buffer, at, i, Level::Full, v);
    writers_[buffer].emplace_back(made, v);
    if (whole(v)) d.memo[{v, at}] = stored_value(d, v, i);
    return made;
}

// What may fault after a store that cannot be repeated must not read what was stored: it reads a copy, made
// here.
int Scheduler::shadow_of(Id v) {
    int& shadow = shadow_.at(root(v));
    if (shadow >= 0) return shadow;
    Id old = node(v).in[0];
    Map m = identity(node(old).shape);
    std::vector<Read> reads{{old, m}};
    int made = place(space_of(node(old).shape), reads, false);
    int value = rank0(old) ? eval_scalar(drafts_[made], old) : eval(drafts_[made], old, m);
    shadow = new_buffer(BufferKind::Scratch, old);
    store(drafts_[made], shadow, m, value, Level::Full, old);
    writers_[shadow].emplace_back(made, old);
    return shadow;
}

void Scheduler::sink_store(Id v) {
    Id r = root(v);
    if (!store_buffer_.count(r)) located(r);
    int buffer = store_buffer_.at(r), made = -1;
    bool commit = commits(v);
    p_.repeats |= !gpu() && visible(v) && !commit;
    if (commit && alias_[v] < 0 && shadow_.count(r)) {
        buffer_[v] = shadow_of(v);
        made = put(v, buffer_[v], false);
        for (auto& [w, node] : writers_[buffer_[v]]) made = std::max(made, w);
        put(v, buffer, true);
    } else {
        made = put(v, buffer, commit);
        buffer_[v] = buffer;
        if (!whole(v)) made = std::max(made, made_by_[node(v).in[0]]);
    }
    made_by_[v] = made;
}

void Scheduler::sink_scalar(Id v) {
    std::vector<Read> reads;
    materialized_[v] = 0;
    Map m;
    int made = place_after(v, m);
    behind_ = made >= 0;
    if (!behind_) {
        collect(v, {}, reads);
        made = place({}, reads, false);
    }
    Draft& d = drafts_[made];
    int value = eval_scalar(d, v);
    materialized_[v] = 1;
    set_scalar(d, value, behind_ ? Level::Parallel : Level::Scalar, v);
    behind_ = false;
    made_by_[v] = made;
}

void Scheduler::sink_flags(Id v) {
    Map m = identity(node(v).shape);
    int made = place_after(v, m);
    behind_ = made >= 0;
    if (!behind_) {
        std::vector<Read> reads;
        collect(v, m, reads);
        made = place(space_of(node(v).shape), reads, false);
    }
    if (rank0(v))
        eval_scalar(drafts_[made], v);
    else
        eval(drafts_[made], v, m);
    behind_ = false;
}

namespace {
// The number one in the representation of a dtype.
void one_bits(graph::DType t, uint64_t& lo) {
    using graph::DType;
    lo = 1;
    if (t == DType::F16) lo = 0x3c00;
    if (t == DType::BF16) lo = 0x3f80;
    if (t == DType::F32 || t == DType::C64) lo = 0x3f800000;
    if (t == DType::F64 || t == DType::C128) lo = 0x3ff0000000000000;
}
}  // namespace

void Scheduler::sink_reduce(Id v) {
    const Node& n = node(v);
    Id in = n.in[0];
    const auto& shape = node(in).shape;
    bool arg = n.op == Op::ArgReduce;
    Space space = space_of(shape);
    Map out;  // of the result, over the axes of the operand
    int axis = 0;
    for (int dim = 0; dim < static_cast<int>(shape.size()); ++dim) {
        bool reduced = arg ? n.ints[0] < 0 || n.ints[0] == dim
                           : std::find(n.ints.begin() + 1, n.ints.end(), dim) != n.ints.end();
        bool is_unit = unit(shape[dim]);
        if (!reduced)
            out.push_back(is_unit ? DimMap{-1, 0, g_.syms.constant(0)}
                                  : DimMap{axis, 1, g_.syms.constant(0)});
        else if (!is_unit)
            space.reduced[axis] = 1;
        if (!is_unit) ++axis;
    }
    bool run = space.reduced.empty() || space.reduced.back();
    if (std::find(space.reduced.begin(), space.reduced.end(), 1) == space.reduced.end()) {
        space.extent.push_back(g_.syms.constant(1));  // only axes of extent 1 are reduced
        space.reduced.push_back(1);
        run = true;
    }
    run |= arg;
    space.sequential = !run;
    space.dense = !gpu() && tree_dense(in);
    std::vector<Read> reads;
    collect(in, rank0(in) ? Map{} : identity(shape), reads);
    int made = place(space, reads, false);
    Draft& d = drafts_[made];
    DraftStmt s;
    s.stmt.kind = arg ? StmtKind::ArgReduce : StmtKind::Reduce;
    s.stmt.dtype = n.dtype;
    s.stmt.name = n.name;
    s.stmt.node = v;
    s.stmt.in = {rank0(in) ? eval_scalar(d, in) : eval(d, in, identity(shape))};
    s.stmt.order = run ? RunOrder::Run : RunOrder::Sequential;
    s.stmt.start = ReduceStart::First;
    // Which of two zeros is the greatest depends on how wide the host's vectors are: what a run is reduced
    // with.
    const bool extremum = n.name == "maximum" || n.name == "minimum";
    if (!arg && !gpu() && extremum && graph::is_float(n.dtype)) s.stmt.slot = extremum_bits();
    s.level = Level::Parallel;
    if (!arg && n.name != "maximum" && n.name != "minimum") {
        uint64_t bits = 0;
        if (n.name == "multiply" || n.name == "logical_and") one_bits(n.dtype, bits);
        s.stmt.start = ReduceStart::Identity;
        s.stmt.in.push_back(scalar_stmt(d, const_slot(n.dtype, bits, 0)));
    }
    int value = add(d, std::move(s));
    d.after_memo[{v, out}] = value;
    if (rank0(v)) {
        set_scalar(d, value, Level::Parallel, v);
    } else {
        int buffer = new_buffer(wanted_[v] ? BufferKind::Output : BufferKind::Scratch, v);
        store(d, buffer, out, value, Level::Parallel, v);
        buffer_[v] = buffer;
        store_buffer_[v] = buffer;
        writers_[buffer].emplace_back(made, v);
    }
    made_by_[v] = made;
}

}  // namespace scheduling
}  // namespace stator::kernels
