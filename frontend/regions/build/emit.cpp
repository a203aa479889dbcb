// How the builder writes instructions down. Equal pure instructions of a block are one: Python computes an
// index once to read and once to store, and a view that is stored to itself is recognized by that.

#include <algorithm>
#include <bit>
#include <cstring>

#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

using graph::RegionOp;

bool is_pure(RegionOp op) {
    switch (op) {
        case RegionOp::Load:
        case RegionOp::Store:
        case RegionOp::Nest:
        case RegionOp::Pack:
        case RegionOp::NestStore:
        case RegionOp::Poll:
        case RegionOp::Scratch:
        case RegionOp::Dot:
        case RegionOp::Reduce:
        case RegionOp::Library:
        case RegionOp::Made: return false;
        default: return true;
    }
}

}  // namespace

// With `may_leave`: -1 when it is new and there is no way out of here.
ValueId Builder::emit(graph::Inst inst, graph::RegionType type, bool may_leave) {
    inst.line = code().insns[static_cast<size_t>(pc_)].line;
    std::string key;  // numbers as they lie in memory: this is where most of the time of building goes
    if (is_pure(inst.op)) {
        const auto add = [&](int64_t n) { key.append(reinterpret_cast<const char*>(&n), sizeof n); };
        add(static_cast<int64_t>(inst.op) | static_cast<int64_t>(inst.pointwise) << 8 |
            static_cast<int64_t>(inst.operand) << 24 | static_cast<int64_t>(type.dtype) << 32 |
            static_cast<int64_t>(type.rank + 1) << 40 | static_cast<int64_t>(inst.in.size()) << 48);
        for (ValueId v : inst.in) add(v);
        for (int64_t i : inst.ints) {
            if (inst.op != RegionOp::View) {
                add(i);
                continue;
            }
            for (const graph::ViewAxis& a : r_->views[static_cast<size_t>(i)])
                for (int n : {int{a.kind}, int{a.axis}, a.start, a.count, a.step}) add(n);
        }
        if (auto it = same_.find(key); it != same_.end()) return it->second;
    }
    if (may_leave && (inst.exit = exit_here()) < 0) return -1;
    inst.result = r_->add(type);
    const ValueId id = inst.result;
    r_->blocks[static_cast<size_t>(block_)].insts.push_back(std::move(inst));
    if (!key.empty()) same_.emplace(std::move(key), id);
    return id;
}

void Builder::emit_effect(graph::Inst inst) {
    inst.line = code().insns[static_cast<size_t>(pc_)].line;
    r_->blocks[static_cast<size_t>(block_)].insts.push_back(std::move(inst));
}

ValueId Builder::const_int(int64_t v) {
    graph::Inst inst;
    inst.op = RegionOp::Const;
    inst.ints = {v};
    const ValueId id = emit(std::move(inst), {DType::I64, -1});
    consts_[id] = v;
    return id;
}

ValueId Builder::const_float(double v) {
    graph::Inst inst;
    inst.op = RegionOp::Const;
    inst.ints = {std::bit_cast<int64_t>(v)};
    return emit(std::move(inst), {DType::F64, -1});
}

ValueId Builder::const_bool(bool v) {
    graph::Inst inst;
    inst.op = RegionOp::Const;
    inst.ints = {v};
    return emit(std::move(inst), {DType::Bool, -1});
}

std::optional<int64_t> Builder::known_int(ValueId id) const {
    auto it = consts_.find(id);
    if (it == consts_.end()) return std::nullopt;
    return it->second;
}

ValueId Builder::pointwise(graph::Op op, DType operand, DType result, std::vector<ValueId> in) {
    if (operand == DType::I64 && result == DType::I64 && in.size() == 2) {
        const auto a = known_int(in[0]), b = known_int(in[1]);
        const auto wrap = [](uint64_t v) { return static_cast<int64_t>(v); };
        if (a && b) {
            const auto x = static_cast<uint64_t>(*a), y = static_cast<uint64_t>(*b);
            if (op == graph::Op::Add) return const_int(wrap(x + y));
            if (op == graph::Op::Subtract) return const_int(wrap(x - y));
            if (op == graph::Op::Multiply) return const_int(wrap(x * y));
            if (op == graph::Op::Maximum) return const_int(std::max(*a, *b));
            if (op == graph::Op::Minimum) return const_int(std::min(*a, *b));
        }
        if (b && *b == 0 && (op == graph::Op::Add || op == graph::Op::Subtract)) return in[0];
        if (a && *a == 0 && op == graph::Op::Add) return in[1];
        if (op == graph::Op::Multiply && ((a && *a == 1) || (b && *b == 1)))
            return a && *a == 1 ? in[1] : in[0];
    }
    graph::Inst inst;
    inst.op = RegionOp::Pointwise;
    inst.pointwise = op;
    inst.operand = operand;
    inst.in = std::move(in);
    return emit(std::move(inst), {result, -1});
}

ValueId Builder::cast(ValueId v, DType from, DType to) {
    return from == to ? v : pointwise(graph::Op::Cast, from, to, {v});
}

// -1 when there is no way out of here.
ValueId Builder::checked(RegionOp op, DType t, ValueId a, ValueId b) {
    if (const auto x = known_int(a), y = known_int(b); x && y && t == DType::I64) {
        int64_t r;
        if (op == RegionOp::CheckedAdd && !__builtin_add_overflow(*x, *y, &r)) return const_int(r);
        if (op == RegionOp::CheckedSub && !__builtin_sub_overflow(*x, *y, &r)) return const_int(r);
        if (op == RegionOp::CheckedMul && !__builtin_mul_overflow(*x, *y, &r)) return const_int(r);
    }
    graph::Inst inst;
    inst.op = op;
    inst.operand = t;
    inst.in = {a, b};
    return emit(std::move(inst), {t, -1}, true);
}

int Builder::call_index(const graph::RegionCall& c) {
    for (size_t i = 0; i < r_->calls.size(); ++i)
        if (r_->calls[i] == c) return static_cast<int>(i);
    r_->calls.push_back(c);
    return static_cast<int>(r_->calls.size()) - 1;
}

ValueId Builder::call(const graph::RegionCall& c, DType operand, DType result, std::vector<ValueId> in) {
    graph::Inst inst;
    inst.op = RegionOp::Call;
    inst.operand = operand;
    inst.ints = {call_index(c)};
    inst.in = std::move(in);
    return emit(std::move(inst), {result, -1});
}

ValueId Builder::extent(ValueId array, int axis) {
    if (auto it = extents_.find({array, axis}); it != extents_.end()) return it->second;
    const auto input = input_of_.find(array);
    const EntryInput* in =
        input == input_of_.end() ? nullptr : &out_->inputs[static_cast<size_t>(input->second)];
    const int64_t now = in && in->is_memory() ? in->extents[static_cast<size_t>(axis)] : -1;
    if (now == 0 || now == 1) return extents_[{array, axis}] = const_int(now);
    graph::Inst inst;
    inst.op = RegionOp::Extent;
    inst.in = {array};
    inst.ints = {axis};
    const ValueId id = emit(std::move(inst), {DType::I64, -1});
    extents_[{array, axis}] = id;
    if (now > 1) plural_[id] = now;
    return id;
}

bool Builder::guard(ValueId cond, bool expected) {
    graph::Inst inst;
    inst.op = RegionOp::Guard;
    inst.in = {cond};
    inst.ints = {expected};
    std::string key = expected ? "if " : "unless ";  // no other is of such a length
    key.append(reinterpret_cast<const char*>(&cond), sizeof cond);
    if (same_.count(key)) return true;
    inst.exit = exit_here();
    if (inst.exit < 0) return false;
    emit_effect(std::move(inst));
    same_.emplace(key, cond);
    return true;
}

bool Builder::finite(ValueId v, DType t, const std::vector<ValueId>& made_of) {
    if (!graph::is_float(t)) return true;
    graph::Inst inst;
    inst.op = RegionOp::Finite;
    inst.operand = t;
    inst.in = {v};
    inst.in.insert(inst.in.end(), made_of.begin(), made_of.end());
    inst.exit = exit_here();
    if (inst.exit < 0) return false;
    emit_effect(std::move(inst));
    out_->raises = true;
    return true;
}

}  // namespace stator::frontend::regions
