#include "graph/region/copy.h"

#include <utility>

namespace stator::graph {

// ---- writer ----

ValueId RegionWriter::put(Inst i, DType t) {
    i.result = r_.add({t, -1});
    out_.push_back(std::move(i));
    return out_.back().result;
}
ValueId RegionWriter::constant(int64_t v, DType t) {
    Inst i;
    i.ints = {v};
    return put(std::move(i), t);
}
ValueId RegionWriter::op(Op op, std::vector<ValueId> in, DType t) {
    Inst i;
    i.op = RegionOp::Pointwise;
    i.pointwise = op;
    i.operand = r_.types[static_cast<size_t>(in[0])].dtype;
    i.in = std::move(in);
    return put(std::move(i), t);
}
ValueId RegionWriter::where(ValueId cond, ValueId a, ValueId b) {
    Inst i;
    i.op = RegionOp::Pointwise;
    i.pointwise = Op::Where;
    i.operand = DType::I64;
    i.in = {cond, a, b};
    return put(std::move(i), DType::I64);
}
ValueId RegionWriter::extent(ValueId array, int axis) {
    Inst i;
    i.op = RegionOp::Extent;
    i.in = {array};
    i.ints = {axis};
    return put(std::move(i), DType::I64);
}

ValueId RegionWriter::quotient(ValueId a, ValueId b) {
    const ValueId x = op(Op::Cast, {a}, DType::F64), y = op(Op::Cast, {b}, DType::F64);
    return op(Op::Cast, {op(Op::Divide, {x, y}, DType::F64)});
}

// ---- copies ----

void RegionCopy::copy(const std::vector<BlockId>& blocks) {
    for (const BlockId b : blocks) {
        block_[b] = static_cast<BlockId>(r_.blocks.size());
        r_.blocks.emplace_back();
    }
    copy_loops();
    for (const BlockId b : blocks) define(b);
    for (const BlockId b : blocks) fill(b);
}

BlockId RegionCopy::add_entry(const RegionCfg& cfg, BlockId header) {
    const auto id = static_cast<BlockId>(r_.blocks.size());
    Block b;
    b.loop = r_.loops[static_cast<size_t>(r_.blocks[static_cast<size_t>(header)].loop)].parent;
    b.end.kind = Terminator::Jump;
    b.end.then.to = header;
    for (const ValueId p : r_.blocks[static_cast<size_t>(header)].params) {
        b.params.push_back(r_.add(r_.types[static_cast<size_t>(p)]));
        b.end.then.args.push_back(b.params.back());
    }
    for (const BlockId from : cfg.order)
        if (!cfg.dominates(header, from))
            for_edges(r_.blocks[static_cast<size_t>(from)], [&](Edge& e) {
                if (e.to == header) e.to = id;
            });
    r_.blocks.push_back(std::move(b));
    return id;
}

void RegionCopy::copy_loops() {
    const size_t n = r_.loops.size();
    for (size_t l = 0; l < n; ++l) {
        const LoopInfo loop = r_.loops[l];
        if (!block_.contains(loop.header)) continue;
        loop_[static_cast<int>(l)] = static_cast<int>(r_.loops.size());
        r_.loops.push_back({block_.at(loop.header), copied_loop(loop.parent), loop.line});
    }
}

void RegionCopy::define(BlockId b) {
    const auto fresh = [&](ValueId v) { value_[v] = r_.add(r_.types[static_cast<size_t>(v)]); };
    for (const ValueId p : r_.blocks[static_cast<size_t>(b)].params) fresh(p);
    for (size_t k = 0; k < r_.blocks[static_cast<size_t>(b)].insts.size(); ++k) {
        const Inst& i = r_.blocks[static_cast<size_t>(b)].insts[k];
        if (const ValueId same = stands_for(i, b, k); same >= 0)
            value_[i.result] = mapped(same);
        else if (i.result >= 0)
            fresh(i.result);
        if (has_body(i.op))
            for (const Inst& n : r_.nests[static_cast<size_t>(i.ints[0])].insts)
                if (n.result >= 0) fresh(n.result);
    }
}

void RegionCopy::fill(BlockId b) {
    Block to;
    const Block from = r_.blocks[static_cast<size_t>(b)];
    to.loop = copied_loop(from.loop);
    to.steps = from.steps;
    to.params = from.params;
    map_all(to.params);
    for (size_t k = 0; k < from.insts.size(); ++k) {
        if (stands_for(from.insts[k], b, k) >= 0) continue;
        Inst i = from.insts[k];
        map_all(i.in);
        if (i.result >= 0) i.result = mapped(i.result);
        if (has_body(i.op)) {
            NestBody body = r_.nests[static_cast<size_t>(i.ints[0])];
            for (Inst& n : body.insts) {
                map_all(n.in);
                if (n.result >= 0) n.result = mapped(n.result);
            }
            i.ints[0] = static_cast<int64_t>(r_.nests.size());
            r_.nests.push_back(std::move(body));
        }
        if (edit(i, b, k)) to.insts.push_back(std::move(i));
    }
    to.end = from.end;
    if (to.end.kind == Terminator::Branch) to.end.cond = mapped(to.end.cond);
    if (to.end.kind == Terminator::Leave) to.end.exit = copied_exit(to.end.exit);
    for_edges(to, [&](Edge& e) {
        e.to = copied(e.to);
        map_all(e.args);
    });
    r_.blocks[static_cast<size_t>(block_.at(b))] = std::move(to);
}

int RegionCopy::copied_exit(int exit) {
    const auto [it, is_new] = exit_.try_emplace(exit, static_cast<int>(r_.exits.size()));
    if (is_new) {
        RegionExit x = r_.exits[static_cast<size_t>(exit)];
        map_all(x.values);
        if (x.returns < 0) x.returns = exit;
        r_.exits.push_back(std::move(x));
    }
    return it->second;
}

}  // namespace stator::graph
