#include "graph/region/memory.h"

#include <cstdlib>

namespace stator::graph {
namespace {

constexpr RegionType kI64{DType::I64, -1};
constexpr int64_t kFar = int64_t{1} << 60;

}  // namespace

RegionMemory::RegionMemory(const Region& r) : r_(r), maker_(r.types.size()) {
    for (const Block& b : r.blocks)
        for (const Inst& i : b.insts)
            if (i.result >= 0) maker_[static_cast<size_t>(i.result)] = i;
    for (const RegionInput& in : r.inputs) inputs_.insert(in.value);
}

void RegionMemory::made(const Inst& i) {
    maker_.resize(r_.types.size());
    if (i.result >= 0) maker_[static_cast<size_t>(i.result)] = i;
}

std::optional<int64_t> RegionMemory::constant(ValueId v) const {
    const Inst& i = maker(v);
    if (i.result != v || i.op != RegionOp::Const || r_.types[static_cast<size_t>(v)] != kI64)
        return std::nullopt;
    return i.ints[0];
}

ValueId RegionMemory::root(ValueId array) const {
    for (;;) {
        if (inputs_.contains(array)) return array;
        const Inst& i = maker(array);
        if (i.result != array) return -1;  // a parameter
        switch (i.op) {
            case RegionOp::Scratch: return array;
            case RegionOp::View:
            case RegionOp::Flatten:
            case RegionOp::Reshape:
            case RegionOp::Part: array = i.in[0]; break;
            default: return -1;
        }
    }
}

// An index as base + offset; base -1: a constant. `wrap`: the extent that is added to negative ones.
struct RegionMemory::Position {
    ValueId base = -1;
    int64_t offset = 0;
    ValueId wrap = -1;
};

RegionMemory::Position RegionMemory::position(ValueId v) const {
    const Inst& i = maker(v);
    if (const auto c = constant(v)) return {-1, *c, -1};
    if (i.result != v) return {v, 0, -1};
    if (i.op == RegionOp::Index) {
        Position p = position(i.in[0]);
        if (p.wrap >= 0) return {v, 0, -1};
        p.wrap = i.in[1];
        return p;
    }
    const bool pointwise = i.op == RegionOp::Pointwise && r_.types[static_cast<size_t>(v)] == kI64;
    const bool plus = i.op == RegionOp::CheckedAdd || (pointwise && i.pointwise == Op::Add),
               minus = i.op == RegionOp::CheckedSub || (pointwise && i.pointwise == Op::Subtract);
    if (plus || minus) {
        const auto k = constant(i.in[1]);
        Position p = position(i.in[0]);
        if (k && p.wrap < 0 && *k < kFar && *k > -kFar && p.offset < kFar && p.offset > -kFar) {
            p.offset += minus ? -*k : *k;
            return p;
        }
    }
    return {v, 0, -1};
}

// Two views of one array: at different places of some axis.
RegionMemory::Apart RegionMemory::disjoint(ValueId a, ValueId b) const {
    const Inst &x = maker(a), &y = maker(b);
    if (x.result != a || y.result != b || x.op != RegionOp::View || y.op != RegionOp::View ||
        x.in[0] != y.in[0])
        return {};
    for (const ViewAxis& p : r_.views[static_cast<size_t>(x.ints[0])])
        for (const ViewAxis& q : r_.views[static_cast<size_t>(y.ints[0])]) {
            if (p.kind != ViewAxis::Drop || q.kind != ViewAxis::Drop || p.axis != q.axis) continue;
            const Position i = position(x.in[static_cast<size_t>(p.start)]),
                           j = position(y.in[static_cast<size_t>(q.start)]);
            if (i.base != j.base || i.wrap != j.wrap || i.offset == j.offset) continue;
            if (i.wrap < 0) return {true};
            if (i.base < 0 && (i.offset < 0) == (j.offset < 0)) return {true};
            // Indices that differ by d are other elements of an axis longer than d, also when one of them
            // wraps.
            return {true, i.wrap, std::abs(i.offset - j.offset)};
        }
    return {};
}

RegionMemory::Apart RegionMemory::apart(ValueId a, ValueId b) const {
    const ValueId x = root(a), y = root(b);
    return x >= 0 && y >= 0 && x != y ? Apart{true} : disjoint(a, b);
}

}  // namespace stator::graph
