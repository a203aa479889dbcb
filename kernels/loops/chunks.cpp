// Chunk storage by linear scan; see loops/chunks.h.
#include "kernels/loops/chunks.h"

#include <map>

namespace stator::kernels {

ChunkPlan plan_chunks(const LoopNest& nest) {
    int n = static_cast<int>(nest.stmts.size()), full = nest.full_depth(), parallel = nest.parallel_axes();
    bool run = false;
    for (const Stmt& s : nest.stmts)
        run |= s.kind == StmtKind::ArgReduce || (s.kind == StmtKind::Reduce && s.order == RunOrder::Run);
    std::vector<int> last(n, -1);
    for (int i = 0; i < n; ++i)
        for (int in : nest.stmts[i].in) last[in] = i;

    ChunkPlan plan;
    plan.offset.assign(n, -1);
    std::map<int64_t, std::vector<int64_t>> free_slots;  // bytes -> offsets
    auto bytes_of = [&](const Stmt& s) {
        // Values computed once per call, or once per run, are single elements.
        bool single = s.depth == 0 || (run && s.depth == parallel && parallel < full);
        return single ? kChunkAlign : kChunkElements * graph::info(s.dtype).size;
    };
    // Reductions take their operands when the whole chunk has been computed.
    std::vector<char> reduced(n, 0);
    for (const Stmt& s : nest.stmts)
        if (s.kind == StmtKind::Reduce || s.kind == StmtKind::ArgReduce) reduced[s.in[0]] = 1;
    auto dies = [&](int i) {
        return nest.stmts[i].depth == full && full > 0 && !reduced[i];
    };  // within one chunk
    for (int i = 0; i < n; ++i) {
        const Stmt& s = nest.stmts[i];
        if (s.kind != StmtKind::Store && s.kind != StmtKind::SetScalar) {
            auto& list = free_slots[bytes_of(s)];
            if (s.depth == full && full > 0 && !list.empty()) {
                plan.offset[i] = list.back();
                list.pop_back();
            } else {
                plan.offset[i] = plan.bytes;
                plan.bytes += bytes_of(s);
            }
        }
        for (size_t k = 0; k < s.in.size(); ++k) {
            int in = s.in[k];
            bool again = false;
            for (size_t j = 0; j < k; ++j) again |= s.in[j] == in;
            if (last[in] == i && !again && dies(in))
                free_slots[bytes_of(nest.stmts[in])].push_back(plan.offset[in]);
        }
    }
    return plan;
}

}  // namespace stator::kernels
