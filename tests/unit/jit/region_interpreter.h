// Runs regions step by step: what compiled ones are compared with. Knows i64, f64, i32 and b1 scalars,
// arrays of i64, and no nests or calls.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "graph/region/region.h"

namespace stator::jit {

struct InterpretedArray {
    int64_t* data;
    std::vector<int64_t> extents;
};

class RegionInterpreter {
  public:
    explicit RegionInterpreter(const graph::Region& r) : r_(r), values_(r.types.size(), 0) {}

    // Scalars and arrays in the order of inputs. Gives the exit; its values are in `left`.
    int run(const std::vector<int64_t>& scalars, const std::vector<InterpretedArray>& arrays) {
        size_t s = 0, a = 0;
        array_.assign(r_.types.size(), nullptr);
        for (const graph::RegionInput& in : r_.inputs) {
            if (r_.types[index(in.value)].is_array())
                array_[index(in.value)] = &arrays.at(a++);
            else
                values_[index(in.value)] = scalars.at(s++);
        }
        graph::BlockId at = 0;
        for (;;) {
            if (--budget == 0) return -1;
            const graph::Block& b = r_.blocks[index(at)];
            for (const graph::Inst& i : b.insts)
                if (!step(i)) return leave(i.exit);
            if (b.end.kind == graph::Terminator::Leave) return leave(b.end.exit);
            const bool then = b.end.kind == graph::Terminator::Jump || values_[index(b.end.cond)];
            at = go(then ? b.end.then : b.end.other);
        }
    }
    std::vector<int64_t> left;
    int budget = 20000;  // blocks; -1 instead of an exit when it is used up

  private:
    static size_t index(int i) { return static_cast<size_t>(i); }
    int64_t in(const graph::Inst& i, size_t k) const { return values_[index(i.in[k])]; }

    int leave(int exit) {
        left.clear();
        for (const graph::ValueId v : r_.exits[index(exit)].values) left.push_back(values_[index(v)]);
        return exit;
    }
    graph::BlockId go(const graph::Edge& e) {
        std::vector<int64_t> args;
        for (const graph::ValueId v : e.args) args.push_back(values_[index(v)]);
        const auto& params = r_.blocks[index(e.to)].params;
        for (size_t k = 0; k < params.size(); ++k) values_[index(params[k])] = args[k];
        return e.to;
    }
    int64_t* element(const graph::Inst& i, size_t indices) {
        const InterpretedArray& a = *array_[index(i.in[0])];
        int64_t at = 0;
        for (size_t d = 0; d < indices; ++d) at = at * a.extents[d] + in(i, d + 1);
        return a.data + at;
    }
    // False: leaves.
    bool step(const graph::Inst& i) {
        int64_t v = 0;
        bool ok = true;
        switch (i.op) {
            case graph::RegionOp::Const: v = i.ints[0]; break;
            case graph::RegionOp::Pointwise: v = pointwise(i); break;
            case graph::RegionOp::CheckedAdd: ok = !__builtin_add_overflow(in(i, 0), in(i, 1), &v); break;
            case graph::RegionOp::CheckedSub: ok = !__builtin_sub_overflow(in(i, 0), in(i, 1), &v); break;
            case graph::RegionOp::CheckedMul: ok = !__builtin_mul_overflow(in(i, 0), in(i, 1), &v); break;
            case graph::RegionOp::FloorDiv:
            case graph::RegionOp::FloorMod: {
                const int64_t n = in(i, 0), d = in(i, 1);
                if (d == 0 || (d == -1 && n == INT64_MIN && i.op == graph::RegionOp::FloorDiv)) return false;
                const int64_t r = d == -1 ? 0 : n % d, q = d == -1 ? -n : n / d;
                const bool down = r != 0 && (r ^ d) < 0;
                v = i.op == graph::RegionOp::FloorDiv ? q - down : r + (down ? d : 0);
                break;
            }
            case graph::RegionOp::Guard: ok = in(i, 0) == i.ints[0]; break;
            case graph::RegionOp::Index: {
                const int64_t at = in(i, 0), n = in(i, 1);
                ok = at >= -n && at < n;
                v = at < 0 ? at + n : at;
                break;
            }
            case graph::RegionOp::Poll: break;
            case graph::RegionOp::Extent:
                v = array_[index(i.in[0])]->extents[index(static_cast<int>(i.ints[0]))];
                break;
            case graph::RegionOp::Load: v = *element(i, i.in.size() - 1); break;
            case graph::RegionOp::Store: *element(i, i.in.size() - 2) = in(i, i.in.size() - 1); break;
            default: std::abort();
        }
        if (ok && i.result >= 0) values_[index(i.result)] = v;
        return ok;
    }
    int64_t pointwise(const graph::Inst& i) {
        const int64_t a = in(i, 0), b = i.in.size() > 1 ? in(i, 1) : 0;
        const auto u = [](int64_t x) { return static_cast<uint64_t>(x); };
        switch (i.pointwise) {
            case graph::Op::Add: return static_cast<int64_t>(u(a) + u(b));
            case graph::Op::Subtract: return static_cast<int64_t>(u(a) - u(b));
            case graph::Op::Multiply: return static_cast<int64_t>(u(a) * u(b));
            case graph::Op::Maximum: return std::max(a, b);
            case graph::Op::Minimum: return std::min(a, b);
            case graph::Op::BitwiseAnd: return a & b;
            case graph::Op::Less: return a < b;
            case graph::Op::LessEqual: return a <= b;
            case graph::Op::Greater: return a > b;
            case graph::Op::GreaterEqual: return a >= b;
            case graph::Op::Equal: return a == b;
            case graph::Op::LogicalAnd: return a && b;
            default: std::abort();
        }
    }

    const graph::Region& r_;
    std::vector<int64_t> values_;
    std::vector<const InterpretedArray*> array_;
};

}  // namespace stator::jit
