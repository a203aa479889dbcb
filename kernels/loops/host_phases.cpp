// Phases of generated code and host calls; see loops/host_phases.h.
#include "kernels/loops/host_phases.h"

#include <algorithm>
#include <map>

#include "kernels/loops/chunks.h"
#include "kernels/loops/native.h"

namespace stator::kernels {

bool calls_host(const LoopNest& nest, int i) {
    const Stmt& s = nest.stmts[i];
    if (s.kind != StmtKind::Compute) return false;
    graph::DType operand = s.in.empty() ? s.dtype : nest.stmts[s.in[0]].dtype;
    return !generates(s.op, operand, s.dtype);
}

namespace {

bool inner_host(const LoopNest& nest, int i) { return nest.stmts[i].depth > 0 && calls_host(nest, i); }
bool is_load(const Stmt& s) { return s.kind == StmtKind::Load || s.kind == StmtKind::Index; }

// A host call may read memory itself, except where its stride class could differ from eager's: NumPy's
// iterator turns negative strides around when there is more than one axis.
bool direct_load(const LoopNest& nest, const Stmt& s) {
    if (s.kind != StmtKind::Load || nest.in_place) return false;
    const auto& terms = s.access.axis.back();
    bool forward = terms.empty() || (terms.size() == 1 && terms[0].dim == kDense && terms[0].factor.sym < 0 &&
                                     terms[0].factor.value > 0);
    return forward || nest.axes.size() == 1;
}

void assign_phases(const LoopNest& nest, HostPhases& plan) {
    int n = static_cast<int>(nest.stmts.size());
    for (int i = 0; i < n; ++i) {
        const Stmt& s = nest.stmts[i];
        if (s.depth == 0 || is_load(s)) continue;
        bool host = calls_host(nest, i);
        for (int in : s.in) {
            bool host_operand = inner_host(nest, in);
            plan.phase[i] = std::max(plan.phase[i], plan.phase[in] + (host_operand && !host));
        }
        plan.count = std::max(plan.count, plan.phase[i] + 1 + host);
    }
    if (!nest.in_place) return;
    for (int i = 0; i < n; ++i)  // nothing may be loaded again after it was stored
        if (nest.stmts[i].kind == StmtKind::Store) plan.phase[i] = plan.count - 1;
}

// Stores that a host call can write for: the only use, next in line, and not read in this nest.
void assign_stores(const LoopNest& nest, HostPhases& plan) {
    int n = static_cast<int>(nest.stmts.size());
    std::vector<int> uses(n, 0);
    for (const Stmt& s : nest.stmts)
        for (int in : s.in) ++uses[in];
    for (int i = 0; i < n && !nest.in_place; ++i) {
        const Stmt& s = nest.stmts[i];
        if (s.kind == StmtKind::Store && inner_host(nest, s.in[0]) && uses[s.in[0]] == 1)
            plan.into[s.in[0]] = i;
    }
}

}  // namespace

HostPhases plan_host_phases(const LoopNest& nest) {
    int n = static_cast<int>(nest.stmts.size());
    HostPhases plan;
    plan.phase.assign(n, 0);
    plan.slot.assign(n, -1);
    plan.into.assign(n, -1);
    bool any = false;
    for (int i = 0; i < n; ++i) any |= inner_host(nest, i);
    if (!any) return plan;
    assign_phases(nest, plan);
    assign_stores(nest, plan);

    // When a value is made and last needed, in half phases: generated code, then host calls.
    std::vector<int> made(n), last(n, -1);
    std::vector<char> kept(n, 0);
    for (int i = 0; i < n; ++i) made[i] = 2 * plan.phase[i] + inner_host(nest, i);
    for (int i = 0; i < n; ++i) {
        const Stmt& s = nest.stmts[i];
        if (s.depth == 0) continue;
        bool host = inner_host(nest, i);
        if (host && plan.into[i] < 0) kept[i] = 1, last[i] = std::max(last[i], made[i]);
        for (int in : s.in) {
            const Stmt& v = nest.stmts[in];
            if (v.depth == 0 || (host && direct_load(nest, v)) || (!host && is_load(v))) continue;
            if (host || plan.phase[in] != plan.phase[i]) kept[in] = 1;
            last[in] = std::max(last[in], made[i]);
            if (is_load(v)) made[in] = 0;
        }
    }
    std::map<int64_t, std::vector<std::pair<int, int64_t>>> slots;  // bytes -> (free after, offset)
    std::vector<int> order;
    for (int i = 0; i < n; ++i)
        if (kept[i] && !(inner_host(nest, i) && plan.into[i] >= 0)) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return made[a] < made[b]; });
    for (int i : order) {
        int64_t bytes = kChunkElements * graph::info(nest.stmts[i].dtype).size;
        auto& list = slots[bytes];
        auto it = std::find_if(list.begin(), list.end(), [&](auto& s) { return s.first < made[i]; });
        if (it == list.end()) {
            list.emplace_back(0, plan.bytes);
            plan.bytes += bytes;
            it = list.end() - 1;
        }
        it->first = last[i];
        plan.slot[i] = it->second;
    }
    return plan;
}

}  // namespace stator::kernels
