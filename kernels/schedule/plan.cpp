// Scheduling, part 1: which nodes of the segment are needed, and which of them get memory of their own.
//
// Everything else is computed where it is used. A value gets memory when it is wanted outside, stored into,
// too expensive to compute more than once, or read too late: after a store overwrites what it is computed
// from. A node that can raise a floating-point flag is evaluated for each of its elements somewhere, used or
// not.
#include <algorithm>

#include "kernels/loops/native.h"
#include "kernels/schedule/internal.h"
#include "kernels/schedule/reduction_order.h"

namespace stator::kernels::scheduling {

namespace {
constexpr int kCheapCpu = 8, kCheapGpu = 40;
constexpr int kHostLoopCost = 40;
constexpr int kMathCost = 8;  // of a function on a GPU
constexpr int kMaxCost = 1000;
}  // namespace

bool Scheduler::visible(Id store) const {
    Id r = root(store);
    // A 0-d array that a program made is a number: each version has its own place, and none has memory.
    bool number = rank0(r) && node(r).op != Op::Library;
    return node(r).op == Op::Input || (r < rq_.begin && !number);
}

bool Scheduler::is_leaf(Id v) const {
    auto cls = graph::info(node(v).op).cls;
    return available_[v] || cls == OpClass::Const || (rank0(v) && !in_segment(v) && cls != OpClass::View);
}

void Scheduler::materialize(Id v) {
    if (is_leaf(v) || materialized_[v]) return;
    materialized_[v] = 1;
    std::fill(cost_.begin(), cost_.end(), -1);
}

// ---- need ----

void Scheduler::find_needed() {
    for (Id w : rq_.wanted)
        if (in_segment(w)) needed_[w] = 1;
    for (Id v = rq_.end - 1; v >= rq_.begin; --v) {
        auto cls = graph::info(node(v).op).cls;
        if (node(v).op == Op::Store && visible(v)) needed_[v] = 1;
        if ((cls == OpClass::Pointwise || cls == OpClass::Reduction) && can_fault(v)) needed_[v] = 1;
        if (!needed_[v] || available_[v]) continue;
        for (Id in : node(v).in)
            if (in_segment(in)) needed_[in] = 1;
    }
    // Views made before the segment are not in memory of their own: their users use them.
    for (Id v = 0; v < rq_.end; ++v) {
        bool used = in_segment(v) ? needed_[v] && !available_[v] : is_view(v) && !available_[v];
        if (!used) continue;
        const Node& n = node(v);
        for (size_t k = n.op == Op::Store ? 1 : 0; k < n.in.size(); ++k) users_[n.in[k]].push_back(v);
        if (n.op == Op::Store && (!rank0(v) || visible(v))) has_stores_[root(v)] = 1;
    }
}

// ---- properties of the expression that would be inlined ----

template <class F>
bool Scheduler::all_of_tree(Id v, std::set<Id>& seen, const F& f) {
    if (!seen.insert(v).second) return true;
    if (!f(v)) return false;
    if (!is_virtual(v) || node(v).op == Op::Store || graph::info(node(v).op).cls == OpClass::Reduction)
        return true;
    for (Id in : node(v).in)
        if (!all_of_tree(in, seen, f)) return false;
    return true;
}

int Scheduler::cheap() const { return gpu() ? kCheapGpu : kCheapCpu; }

int Scheduler::own_cost(const Node& n) const {
    if (graph::info(n.op).cls != OpClass::Pointwise || n.op == Op::Copy) return 0;
    if (gpu()) return n.op == Op::HostLoop ? kMathCost : 1;
    if (!generates(n.op, n.in.empty() ? n.dtype : node(n.in[0]).dtype, n.dtype)) return kHostLoopCost;
    return n.op == Op::Divide || n.op == Op::Sqrt || n.op == Op::Reciprocal ? 4 : 1;
}

int Scheduler::tree_cost(Id v) {
    if (!is_virtual(v)) return 0;
    if (cost_[v] >= 0) return cost_[v];
    int c = own_cost(node(v));
    if (node(v).op != Op::Store && graph::info(node(v).op).cls != OpClass::Reduction)
        for (Id in : node(v).in) c += tree_cost(in);
    return cost_[v] = std::min(c, kMaxCost);
}

bool Scheduler::tree_faults(Id v) {
    std::set<Id> seen;
    return !all_of_tree(v, seen, [&](Id u) {
        return !(is_virtual(u) && graph::info(node(u).op).cls == OpClass::Pointwise && can_fault(u));
    });
}

bool Scheduler::tree_native(Id v) {
    std::set<Id> seen;
    return all_of_tree(v, seen, [&](Id u) { return !is_virtual(u) || own_cost(node(u)) < kHostLoopCost; });
}

bool Scheduler::tree_dense(Id v) {
    std::set<Id> seen;
    return all_of_tree(v, seen, [&](Id u) {
        const Node& n = node(u);
        if (rank0(u)) return true;
        if (!is_virtual(u)) {
            const auto& perm = n.op == Op::Input ? g_.inputs[n.ints[0]].perm : n.perm;
            auto layout = n.op == Op::Input ? g_.inputs[n.ints[0]].layout : n.layout;
            return layout == graph::Layout::Contiguous && std::is_sorted(perm.begin(), perm.end());
        }
        auto cls = graph::info(n.op).cls;
        return cls == OpClass::Pointwise || n.op == Op::Full || n.op == Op::Store ||
               cls == OpClass::Reduction;
    });
}

bool Scheduler::nonempty(Sym extent) const { return g_.syms.bounds(extent).lo >= 1; }

// Whether `m`, as a function of the axes of `space`, meets every element of a value of that shape.
bool Scheduler::covers(const Map& m, const std::vector<Sym>& shape, const Space& space) const {
    std::set<int> used;
    for (size_t d = 0; d < m.size(); ++d) {
        if (unit(shape[d])) continue;
        bool full = m[d].axis >= 0 && (m[d].step == 1 || m[d].step == -1) &&
                    space.extent[m[d].axis] == shape[d] && used.insert(m[d].axis).second;
        if (!full) return false;
    }
    for (int a = 0; a < static_cast<int>(space.extent.size()); ++a)
        if (!used.count(a) && !nonempty(space.extent[a])) return false;
    return true;
}

// Whether some user of the scalar v, which raises flags and is computed from memory, may have no elements: v
// would not be computed there.
bool Scheduler::may_be_skipped(Id v) {
    std::set<Id> seen;
    bool memory =
        !all_of_tree(v, seen, [&](Id u) { return is_virtual(u) || (rank0(u) && !has_stores_[root(u)]); });
    return memory && tree_faults(v) && std::any_of(users_[v].begin(), users_[v].end(), [&](Id u) {
               auto shape = node(u).op == Op::Store ? store_shape(node(u)) : node(u).shape;
               return !std::all_of(shape.begin(), shape.end(), [&](Sym e) { return nonempty(e); });
           });
}

// ---- decisions ----

void Scheduler::plan_wanted() {
    for (Id w : rq_.wanted) {
        Id v = w;
        while (is_view(v) && !available_[v] && !(rank0(v) && node(v).box != graph::Box::Array))
            v = node(v).in[0];
        if (is_leaf(v)) continue;
        wanted_[v] = 1;
        if (node(v).op == Op::Store && !rank0(v)) wanted_[root(v)] = 1;
        materialize(v);
    }
}

void Scheduler::plan_stores() {
    for (Id v = rq_.begin; v < rq_.end; ++v)
        if (needed_[v] && node(v).op == Op::Store && !rank0(v)) materialize(root(v));
}

// A reshape counts elements in C order, so what it reshapes needs memory of its own: a view too, which
// elsewhere is read through the memory that it shows.
void Scheduler::plan_reshapes() {
    for (Id v = rq_.begin; v < rq_.end; ++v) {
        if (!needed_[v]) continue;
        for (Id in : node(v).in)
            for (Id w = in; is_view(w) && !available_[w]; w = node(w).in[0])
                if (node(w).op == Op::Reshape && !rank0(w) && !rank0(reshaped(w))) materialize(reshaped(w));
    }
    for (Id w : rq_.wanted)
        if (node(w).op == Op::Reshape && !available_[w]) materialize(reshaped(w));
}

// A reduction computes its operand on the fly when all of it is generated code, and when the run that is
// summed pairwise is one axis of every load.
bool Scheduler::fusable_reduce(Id reduce, Id operand) {
    if (gpu()) return true;
    if (!native_reduce(g_, reduce) || !tree_native(operand)) return false;
    if (node(reduce).op == Op::ArgReduce) return true;
    int run = trailing_run(g_, reduce);
    return run <= 1 || tree_dense(operand);
}

// Several axes that are reduced as one run have to merge, which takes memory whose extents have the same
// names: a view that cuts or renames them is copied first.
void Scheduler::plan_run(Id reduce) {
    if (gpu()) return;  // any order will do
    Id in = node(reduce).in[0];
    if (node(reduce).op != Op::Reduce || node(in).op != Op::View || located(in) >= 0 ||
        trailing_run(g_, reduce) <= 1)
        return;
    Map m = identity(node(in).shape);
    const auto &base = node(base_of(in, m)).shape, &shape = node(in).shape;
    bool same = base.size() == shape.size();
    for (size_t d = 1; same && d < shape.size(); ++d) same = base[d] == shape[d];
    if (!same) materialize(in);
}

// Decides whether the array expression v gets memory because of how it is used.
void Scheduler::plan_uses(Id v) {
    std::set<Id>
        contexts;  // users that would compute it again; pointwise users of the same shape count as one
    bool pointwise = false, must = false;
    std::vector<std::pair<Id, Id>> work;  // (user, operand): operand is v or a view of it
    for (Id u : users_[v]) work.emplace_back(u, v);
    for (size_t k = 0; k < work.size() && !must; ++k) {
        auto [u, operand] = work[k];
        if (!in_segment(u) || !needed_[u]) continue;
        if (node(u).op == Op::View && !materialized_[u]) {
            for (Id w : users_[u]) work.emplace_back(w, u);
            continue;
        }
        if (node(u).op == Op::View && materialized_[u]) {  // a copy of part of it
            Map m = identity(node(u).shape);
            Id base = u;
            while (base != v && node(base).op == Op::View) {
                m = compose(node(base), m);
                base = node(base).in[0];
            }
            must |= tree_faults(v) && !covers(m, node(v).shape, space_of(node(u).shape));
            contexts.insert(u);
            continue;
        }
        if (node(u).op == Op::Reduce || node(u).op == Op::ArgReduce) {
            must |= operand != v || !fusable_reduce(u, v);
            contexts.insert(u);
        } else if (operand == v) {
            pointwise = true;
        } else {
            Space space = space_of(node(operand).shape);
            Map m = identity(node(operand).shape);
            base_of(operand, m);
            std::set<int> axes;
            for (auto& dim : m) axes.insert(dim.axis);
            axes.erase(-1);
            bool replicated = axes.size() < space.extent.size();
            // A host loop sees the stride class of its operands, so views that it reads backwards stay views.
            bool backwards = std::any_of(m.begin(), m.end(), [](const DimMap& dim) { return dim.step < 0; });
            must |= backwards && own_cost(node(u)) >= kHostLoopCost;
            must |= (replicated && tree_cost(v) > 0) || !tree_native(v);
            if (!must && tree_faults(v)) {
                if (rank0(operand))
                    space = space_of(node(u).op == Op::Store ? store_shape(node(u)) : node(u).shape);
                must = !covers(m, node(v).shape, space);
            }
            contexts.insert(operand);
        }
    }
    int uses = static_cast<int>(contexts.size()) + pointwise;
    if (must || (uses > 1 && tree_cost(v) * (uses - 1) > cheap())) materialize(v);
}

// What a store needs: its value must not be read from the buffer while it is overwritten, and a store that
// others can see must be free of faults.
void Scheduler::plan_store_value(Id st) {
    const Node& n = node(st);
    Id value = n.in[1];
    if (rank0(st) && !visible(st)) return;
    Map at = compose(n, identity(store_shape(n)));
    std::vector<Read> reads;
    collect(value, rank0(value) ? Map{} : identity(node(value).shape), reads);
    bool alias = false;
    for (auto& r : reads) alias |= root(r.v) == root(st) && !(r.m == at && !rank0(value));
    if (!is_virtual(value)) {
        if (alias && !rank0(value)) snapshot_before_[value] = st;
        return;
    }
    bool twice = commits(st) && shadow_.count(root(st)) && !rank0(value) && tree_cost(value) > 0;
    if (alias || twice) return materialize(value);
    if (!commits(st) || !tree_faults(value)) return;
    // Computing it twice moves less memory than keeping it.
    bool again = alias_[st] < 0 && !rank0(value) && !is_view(value) && users_[value].size() == 1 &&
                 tree_cost(value) <= cheap() && tree_native(value);
    if (again)
        checked_first_[value] = 1;
    else
        materialize(value);
}

// Whether running the segment again from its start would not see what it stored to this buffer: every value
// that is read from it is the last one stored.
bool Scheduler::repeatable(Id r) {
    if (!rq_.stores_can_repeat) return false;
    auto [it, fresh] = repeatable_.try_emplace(r, true);
    if (!fresh) return it->second;
    Id last = graph::kNone;
    for (Id v = rq_.begin; v < rq_.end; ++v)
        if (needed_[v] && node(v).op == Op::Store && root(v) == r) last = v;
    for (Id v = 0; v < rq_.end; ++v)
        if (v != last && root(v) == r && !is_view(v) && !users_[v].empty()) it->second = false;
    return it->second;
}

// A value computed from a buffer must not be computed after a store to that buffer.
void Scheduler::plan_crossings(Id st) {
    Id r = root(st);
    for (Id v = 0; v < st; ++v) {
        auto late = [&](Id u) { return u > st && needed_[u]; };
        bool live = is_leaf(v) || needed_[v] || is_view(v);
        if (!live || snapshot_before_[v] >= 0 || std::none_of(users_[v].begin(), users_[v].end(), late))
            continue;
        if (!is_virtual(v)) {
            bool same = root(v) == r && (available_[v] || materialized_[v]) && (!rank0(v) || has_stores_[v]);
            if (same && !(node(v).op == Op::Empty)) snapshot_before_[v] = st;
            continue;
        }
        if (node(v).op == Op::Empty) continue;
        std::vector<Read> reads;
        collect(v, rank0(v) ? Map{} : identity(node(v).shape), reads);
        for (auto& read : reads)
            if (root(read.v) == r) {
                materialize(v);
                break;
            }
    }
}

bool Scheduler::whole(Id st) {
    const Node& n = node(st);
    auto shape = store_shape(n);
    Map at = compose(n, identity(shape));
    const auto& target = node(root(st)).shape;
    // Readers use the stored value in the memory's place, at its index maps.
    return shape == target && at == identity(target) && covers(at, target, space_of(shape));
}

// Whether something that can fault is computed from what the store leaves behind.
bool Scheduler::reaches_fault(Id st) {
    std::vector<char> reached(static_cast<size_t>(rq_.end), 0);
    reached[st] = 1;
    for (Id v = st + 1; v < rq_.end; ++v) {
        if (!needed_[v]) continue;
        for (Id in : node(v).in) reached[v] |= reached[in];
        if (reached[v] && node(v).op != Op::Store && can_fault(v)) return true;
    }
    return false;
}

// Where something that can fault depends on a store that cannot be repeated, it reads the value that was
// stored, if that covers the buffer and has memory of its own, or else a shadow of the buffer.
void Scheduler::plan_late_readers() {
    for (Id v = rq_.begin; v < rq_.end; ++v) {
        if (!needed_[v] || node(v).op != Op::Store || !commits(v) || !reaches_fault(v)) continue;
        Id value = node(v).in[1];
        // A reshape reads memory, which a scratch copy of the value may hold in another order.
        bool reshaped_later =
            std::any_of(users_[v].begin(), users_[v].end(), [&](Id u) { return node(u).op == Op::Reshape; });
        bool own = !is_leaf(value) && !is_view(value) && !has_stores_[root(value)] && !reshaped_later;
        bool constant = rank0(value) && is_leaf(value) && !has_stores_[value] && !reshaped_later;
        if (whole(v) && (own || constant)) {
            materialize(value);
            alias_[v] = value;
        } else {
            shadow_.emplace(root(v), -1);
        }
    }
    for (Id v = rq_.begin; v < rq_.end; ++v)
        if (alias_[v] >= 0 && shadow_.count(root(v)))
            alias_[v] = graph::kNone;  // a shadow holds every version
    plan_late_operands();
}

// What is computed behind a commit may use values that can fault, but not compute them.
void Scheduler::plan_late_operands() {
    std::vector<char> late(static_cast<size_t>(rq_.end), 0);
    for (Id v = rq_.begin; v < rq_.end; ++v) {
        if (!needed_[v]) continue;
        const Node& n = node(v);
        bool stores = n.op == Op::Store;
        for (Id in : n.in) late[v] |= late[in];
        if (late[v])
            for (size_t k = stores ? 1 : 0; k < n.in.size(); ++k) {
                Map unused = identity(node(n.in[k]).shape);
                Id base = base_of(n.in[k], unused);
                if (!late[base] && is_virtual(base) && tree_faults(base)) materialize(base);
            }
        if (stores && commits(v)) late[v] = alias_[v] < 0 && !shadow_.count(root(v));
    }
}

void Scheduler::plan_hazards() {
    plan_late_readers();
    for (Id v = rq_.begin; v < rq_.end; ++v)
        if (needed_[v] && node(v).op == Op::Store) {
            if (!rank0(v) || visible(v)) plan_crossings(v);
            plan_store_value(v);
        }
}

void Scheduler::plan() {
    find_needed();
    plan_wanted();
    plan_stores();
    plan_reshapes();
    for (Id v = rq_.begin; v < rq_.end; ++v) {
        if (!needed_[v] || is_leaf(v)) continue;
        auto cls = graph::info(node(v).op).cls;
        if (cls == OpClass::Reduction) plan_run(v);
        if (cls == OpClass::Reduction || node(v).op == Op::Store)
            materialize(v);
        else if (rank0(v) && cls == OpClass::Pointwise &&
                 (tree_cost(v) > cheap() || !tree_native(v) || may_be_skipped(v)))
            materialize(v);
        else if (!rank0(v) && cls != OpClass::View && node(v).op != Op::Empty)
            plan_uses(v);
    }
    plan_hazards();
}

}  // namespace stator::kernels::scheduling
