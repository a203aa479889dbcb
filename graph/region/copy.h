// Second copies of some of a region's blocks, for passes that make versions of a loop.
#pragma once

#include <map>
#include <vector>

#include "graph/region/cfg.h"
#include "graph/region/region.h"

namespace stator::graph {

// Writes instructions on scalars into a list.
class RegionWriter {
  public:
    RegionWriter(Region& r, std::vector<Inst>& out) : r_(r), out_(out) {}
    ValueId constant(int64_t v, DType t = DType::I64);
    // `t`: of the result; the operands' dtype is that of the first.
    ValueId op(Op op, std::vector<ValueId> in, DType t = DType::I64);
    ValueId where(ValueId cond, ValueId a, ValueId b);  // of i64
    ValueId extent(ValueId array, int axis);
    // a // b of i64 that are not negative, below 2^53; the instruction for integers would need an exit.
    ValueId quotient(ValueId a, ValueId b);

  private:
    ValueId put(Inst i, DType t);
    Region& r_;
    std::vector<Inst>& out_;
};

// Copies blocks with everything that they define. Edges and values that lead out of them stay as they are;
// subclasses say what becomes of instructions.
class RegionCopy {
  public:
    virtual ~RegionCopy() = default;

  protected:
    explicit RegionCopy(Region& r) : r_(r) {}

    // The blocks in an order in which definitions come before uses (parameters aside), loops wholly or not at
    // all.
    void copy(const std::vector<BlockId>& blocks);
    // The next copy() makes another copy.
    void forget() {
        block_.clear();
        value_.clear();
        loop_.clear();
        exit_.clear();
    }
    // Where all edges into `header` from blocks that it does not dominate lead from now on: a block with its
    // parameters, which ends in a jump to it.
    BlockId add_entry(const RegionCfg& cfg, BlockId header);

    BlockId copied(BlockId b) const {
        const auto it = block_.find(b);
        return it == block_.end() ? b : it->second;
    }
    ValueId mapped(ValueId v) const {
        const auto it = value_.find(v);
        return it == value_.end() ? v : it->second;
    }
    void map_all(std::vector<ValueId>& list) const {
        for (ValueId& v : list) v = mapped(v);
    }
    int copied_loop(int l) const {
        const auto it = loop_.find(l);
        return it == loop_.end() ? l : it->second;
    }
    int copied_exit(int exit);

    // An operand that is the instruction's value in the copy; -1: it has one of its own.
    virtual ValueId stands_for(const Inst&, BlockId, size_t) { return -1; }
    // `copy` has its operands, its exit is the original's. False: it is left out.
    virtual bool edit(Inst& copy, BlockId from, size_t at) = 0;

    Region& r_;

  private:
    void copy_loops();
    void define(BlockId b);
    void fill(BlockId b);

    std::map<BlockId, BlockId> block_;
    std::map<ValueId, ValueId> value_;
    std::map<int, int> loop_, exit_;
};

}  // namespace stator::graph
