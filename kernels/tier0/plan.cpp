// See tier0/plan.h.
#include "kernels/tier0/plan.h"

namespace stator::kernels::tier0 {
namespace {

bool writes(const Stmt& s) { return s.kind == StmtKind::Store || s.kind == StmtKind::SetScalar; }
bool reduces(const Stmt& s) { return s.kind == StmtKind::Reduce || s.kind == StmtKind::ArgReduce; }

Phase phase_of(const LoopNest& nest, const Plan& plan, const Stmt& s) {
    const bool reduced = plan.parallel < plan.axes;
    if (s.depth == plan.axes && plan.axes > 0 && s.depth > plan.parallel) return Phase::Inside;
    bool late = reduces(s) || (reduced && s.depth == plan.parallel && writes(s));
    for (const int in : s.in)
        late |= nest.stmts[in].depth <= plan.parallel && plan.steps[in].phase == Phase::After;
    if (late) return Phase::After;
    return s.depth == 0 ? Phase::Once : Phase::Before;
}

std::shared_ptr<const Plan> make_plan(const Program& program, const LoopNest& nest) {
    auto plan = std::make_shared<Plan>();
    const ChunkPlan chunks = plan_chunks(nest);
    const int n = static_cast<int>(nest.stmts.size());
    plan->parallel = nest.parallel_axes();
    plan->axes = nest.full_depth();
    plan->steps.resize(static_cast<size_t>(n));
    std::vector<int> uses(static_cast<size_t>(n), 0);
    for (int i = 0; i < n; ++i) {
        const Stmt& s = nest.stmts[i];
        Step& step = plan->steps[i];
        step.stmt = i;
        step.size = graph::info(s.dtype).size;
        step.slot = chunks.offset[i];
        step.reduces = reduces(s);
        step.phase = phase_of(nest, *plan, s);
        if (const LoopRef ref = host_loop_of(nest, i); !ref.name.empty()) step.loop = find_loop(program, ref);
        step.faults = faults_of(nest, i) & ~uint32_t{kFaultHost};
        for (const int in : s.in) ++uses[in];
        if (s.kind == StmtKind::Store) {
            const Stmt& value = nest.stmts[s.in[0]];
            if (!nest.in_place && value.kind == StmtKind::Compute && value.depth == s.depth &&
                value.dtype == s.dtype)
                plan->steps[s.in[0]].sole_store = i;
            for (int j = 0; j < i; ++j)
                if (nest.stmts[j].kind == StmtKind::Load && nest.stmts[j].access.buffer == s.access.buffer)
                    plan->steps[j].must_copy = true;
        }
        plan->phase[static_cast<int>(step.phase)].push_back(i);
        if (step.reduces) plan->reductions.push_back(i);
        plan->runs |=
            s.kind == StmtKind::ArgReduce || (s.kind == StmtKind::Reduce && s.order == RunOrder::Run);
    }
    for (int i = 0; i < n; ++i)
        if (uses[i] != 1) plan->steps[i].sole_store = -1;
    return plan;
}

}  // namespace

std::shared_ptr<const Plan> plan_for(const Program& program, const LoopNest& nest) {
    if (auto kept = nest.tier0.plan.load()) return std::static_pointer_cast<const Plan>(kept);
    std::shared_ptr<const Plan> plan = make_plan(program, nest);
    nest.tier0.plan.store(plan);
    return plan;
}

}  // namespace stator::kernels::tier0
