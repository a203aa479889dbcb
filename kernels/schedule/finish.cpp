// Scheduling, part 4: the order of the nests, loop orders, merged axes, numbered symbolic integers, host
// loops.
//
// Invariant: merging axes never changes which elements are visited, nor their order in reduced axes.
#include <algorithm>

#include "kernels/loops/chunks.h"
#include "kernels/loops/host_phases.h"
#include "kernels/schedule/internal.h"

namespace stator::kernels::scheduling {

// Topological, drafts in order of their making; nests with visible stores only when nothing else is left to
// do.
std::vector<int> Scheduler::run_order() const {
    int n = static_cast<int>(drafts_.size());
    std::vector<int> order;
    std::vector<char> done(n, 0);
    auto ready = [&](int d) {
        return !done[d] &&
               std::all_of(drafts_[d].after.begin(), drafts_[d].after.end(), [&](int a) { return done[a]; });
    };
    while (static_cast<int>(order.size()) < n) {
        int next = -1;
        for (int d = 0; d < n && next < 0; ++d)
            if (!drafts_[d].commit && ready(d)) next = d;
        for (int d = 0; d < n && next < 0; ++d)
            if (ready(d)) next = d;
        done[next] = 1;
        order.push_back(next);
    }
    return order;
}

Int Scheduler::number(Sym s) {
    if (auto c = g_.syms.as_const(s)) return {*c, -1};
    auto [it, fresh] = sym_index_.try_emplace(s.id, static_cast<int>(p_.syms.size()));
    if (fresh) p_.syms.push_back(s);
    return {0, it->second};
}

// Axes of the space from outermost to innermost: parallel ones in the order of the result's memory, then
// reduced ones.
std::vector<int> Scheduler::loop_order(const Draft& d) const {
    std::vector<int> axes;
    auto put = [&](int a, bool reduced) {
        if (d.space.reduced[a] == reduced && std::find(axes.begin(), axes.end(), a) == axes.end())
            axes.push_back(a);
    };
    int n = static_cast<int>(d.space.extent.size());
    // Axes that the store does not name (none in practice) go outside.
    for (int a = 0; a < n; ++a)
        if (std::find(d.order.begin(), d.order.end(), a) == d.order.end()) put(a, false);
    for (int a : d.order) put(a, false);
    for (int a = 0; a < n; ++a) put(a, true);
    return axes;
}

bool Scheduler::mergeable(const SymAccess& a, int outer, int inner, Sym inner_extent) {
    const auto &o = a.axis[outer], &i = a.axis[inner];
    if (o.empty() && i.empty()) return true;
    if (o.size() != 1 || i.size() != 1 || o[0].dim != kDense || i[0].dim != kDense) return false;
    return o[0].factor == g_.syms.mul(i[0].factor, inner_extent);
}

// Merges neighbouring axes (outer a, inner b) into b wherever every access steps through both as through one.
void Scheduler::merge_axes(Draft& d, std::vector<int>& axes, std::vector<Sym>& extent) {
    for (size_t k = axes.size(); k-- > 1;) {
        int outer = axes[k - 1], inner = axes[k];
        if (d.space.reduced[outer] != d.space.reduced[inner]) continue;
        bool ok = true;
        for (auto& s : d.stmts)
            if (!s.access.axis.empty()) ok &= mergeable(s.access, outer, inner, extent[inner]);
        if (!ok) continue;
        extent[inner] = g_.syms.mul(extent[outer], extent[inner]);
        axes.erase(axes.begin() + static_cast<long>(k) - 1);
    }
}

// Puts the statements that are computed once, before all loops, in front.
void Scheduler::hoist_scalars(Draft& d) {
    int n = static_cast<int>(d.stmts.size());
    std::vector<char> front(n, 0);
    for (int i = 0; i < n; ++i) {
        const auto& in = d.stmts[i].stmt.in;
        front[i] = d.stmts[i].level == Level::Scalar &&
                   std::all_of(in.begin(), in.end(), [&](int k) { return front[k]; });
    }
    std::vector<int> at(n);
    int next = 0;
    for (int want : {1, 0})
        for (int i = 0; i < n; ++i)
            if (front[i] == want) at[i] = next++;
    std::vector<DraftStmt> sorted(n);
    for (int i = 0; i < n; ++i) {
        for (int& in : d.stmts[i].stmt.in) in = at[in];
        sorted[at[i]] = std::move(d.stmts[i]);
    }
    d.stmts = std::move(sorted);
}

std::shared_ptr<LoopNest> Scheduler::lower(Draft& d, NestInfo& info) {
    auto nest = std::make_shared<LoopNest>();
    std::vector<int> axes = loop_order(d);
    std::vector<Sym> extent = d.space.extent;
    merge_axes(d, axes, extent);
    Sym work = g_.syms.constant(1);
    for (int a : axes) {
        nest->axes.push_back({number(extent[a]), d.space.reduced[a] ? AxisKind::Reduce : AxisKind::Parallel});
        work = g_.syms.mul(work, extent[a]);
    }
    hoist_scalars(d);
    std::vector<std::pair<int, Access>> loads;
    auto numbered = [&](const std::vector<SymTerm>& terms) {
        std::vector<Term> out;
        for (auto& t : terms) out.push_back({t.dim, number(t.factor)});
        return out;
    };
    for (auto& s : d.stmts) {
        Stmt out = std::move(s.stmt);
        out.depth = s.level == Level::Scalar     ? 0
                    : s.level == Level::Parallel ? nest->parallel_axes()
                                                 : nest->full_depth();
        if (s.stmt.kind == StmtKind::Index || s.access.buffer >= 0) {
            out.access.buffer = s.access.buffer;
            out.access.offset = numbered(s.access.offset);
            for (int a : axes) out.access.axis.push_back(numbered(s.access.axis[a]));
        }
        if (out.kind == StmtKind::Load) loads.emplace_back(out.access.buffer, out.access);
        if (out.kind == StmtKind::Store)
            for (auto& l : loads) nest->in_place |= l.first == out.access.buffer;
        nest->stmts.push_back(std::move(out));
    }
    bool parallel = nest->parallel_axes() > 0;
    info.extent = parallel ? extent[axes[0]] : g_.syms.constant(1);
    info.splittable = parallel;
    info.work = work;
    info.commit = d.commit;
    return nest;
}

// Scratch and copies that nobody reads: everything that needed the value found its way into the nest that
// computes it.
void Scheduler::drop_dead_scratch() {
    std::vector<char> keep(p_.buffers.size(), 0);
    for (size_t b = 0; b < keep.size(); ++b) keep[b] = p_.buffers[b].kind != BufferKind::Scratch;
    for (auto& d : drafts_)
        for (auto& s : d.stmts)
            if (s.stmt.kind == StmtKind::Load) keep[s.access.buffer] = 1;
    std::vector<int> renumbered(keep.size(), -1);
    int next = 0;
    for (size_t b = 0; b < keep.size(); ++b)
        if (keep[b]) renumbered[b] = next++;
    for (auto& d : drafts_) {
        std::vector<int> at(d.stmts.size(), -1);
        std::vector<char> used(d.stmts.size(), 0);
        for (auto& s : d.stmts)
            if (s.stmt.kind != StmtKind::Store || keep[s.access.buffer])
                for (int in : s.stmt.in) used[in] = 1;
        std::vector<DraftStmt> kept;
        for (size_t i = 0; i < d.stmts.size(); ++i) {
            DraftStmt& s = d.stmts[i];
            if (s.stmt.kind == StmtKind::Store && !keep[s.access.buffer]) continue;
            if (s.stmt.kind == StmtKind::Compute && s.stmt.op == Op::Copy && !used[i]) continue;
            at[i] = static_cast<int>(kept.size());
            for (int& in : s.stmt.in) in = at[in];
            if (s.access.buffer >= 0) s.access.buffer = renumbered[s.access.buffer];
            kept.push_back(std::move(s));
        }
        d.stmts = std::move(kept);
    }
    std::vector<Buffer> buffers;
    for (size_t b = 0; b < keep.size(); ++b)
        if (keep[b]) buffers.push_back(std::move(p_.buffers[b]));
    p_.buffers = std::move(buffers);
}

void Scheduler::finish() {
    drop_dead_scratch();
    for (int i : run_order()) {
        NestInfo info{};
        auto nest = lower(drafts_[i], info);
        number(info.extent);
        p_.scratch_bytes =
            std::max({p_.scratch_bytes, plan_chunks(*nest).bytes, plan_host_phases(*nest).bytes});
        p_.code.push_back(std::move(nest));
        p_.nests.push_back(info);
    }
    collect_loops();
}

// Enters the host loops of all statements, whether generated code needs them or only tier 0, and the flags
// that may come back.
void Scheduler::collect_loops() {
    for (auto& nest : p_.code) {
        for (int i = 0; i < static_cast<int>(nest->stmts.size()); ++i) {
            LoopRef ref = host_loop_of(*nest, i);
            if (!ref.name.empty() && find_loop(p_, ref) < 0) p_.loops.push_back(std::move(ref));
            p_.fault_mask |= faults_of(*nest, i);
        }
    }
}

}  // namespace stator::kernels::scheduling
