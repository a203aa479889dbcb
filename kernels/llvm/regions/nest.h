// Nests of regions: what their loops (llvm/regions/nest.cpp, which tells the idea) and their bodies
// (llvm/regions/points.cpp) share.
#pragma once

#include <optional>

#include "kernels/llvm/flags.h"
#include "kernels/llvm/regions/internal.h"

namespace stator::kernels::emit {

using llvm::BasicBlock;
using llvm::Value;

constexpr int64_t kFloatFaults = kFaultDivide | kFaultOverflow | kFaultUnderflow | kFaultInvalid;

class RegionNest {
  public:
    RegionNest(RegionEmitter& e, const Inst& nest)
        : e_(e), b_(e.b_), nest_(nest), body_(e.r_.nests[static_cast<size_t>(nest.ints[0])]) {}
    Value* emit();  // a pack's count; else null

  private:
    struct Row {  // of an array, at the current indices of the outer axes
        ValueId array;
        Value* address;
        bool stored = false;
        bool alike = false;  // others have the same strides
        // Bytes from `address` on, where other arrays' rows are as far from theirs: one sum for all. Else
        // null.
        Value* offset = nullptr;
    };
    // The points at hand, neighbours along the innermost axis.
    struct Points {
        int lanes;
        Value* index;             // of the first
        Value* mask = nullptr;    // for which of them it is done (i1 each); null: all
        Value* living = nullptr;  // with a mask: the index of one of those
    };
    struct LoopBlocks {
        BasicBlock *head, *exit;
        llvm::PHINode* index;
        Value *end, *step;
    };

    std::string key(const std::vector<ValueId>& free, const std::vector<Value*>& arguments);
    llvm::Function* function(const std::vector<ValueId>& free, const std::vector<Value*>& arguments);
    bool takes_next() const;
    void give_count(llvm::Function* f);
    void swap_in(llvm::Function* f, const std::vector<ValueId>& free, const std::vector<Value*>& arguments);
    std::vector<ValueId> free_values() const;
    static std::vector<Value**> parts(RegionVal& v);
    bool may_be_one_row() const;
    void put_together();
    void loops(size_t axis);
    void row();
    void stretch(Value* begin, Value* end);
    Value* inner_stride(ValueId array);
    bool fixed(ValueId array);  // does not move along the innermost axis
    bool moves_most();
    int vector_bits() const { return narrow_ ? 256 : e_.o_.vector_bits; }
    int pick_lanes();
    int gathered_lanes();
    bool is_gathered(ValueId array) { return gathers_ && inner_stride(array) != i64(unit(array)); }
    bool masks_tails(int lanes) const;
    bool may_repeat() const;
    void overlapping(Value* begin, Value* n, Value* end, int lanes);
    Value* vectors(Value* begin, Value* end, int lanes, bool& done);
    Value* adjacent();  // i1: vectors may be used; null: never
    LoopBlocks open(Value* begin, Value* end, Value* step);
    void close(LoopBlocks& l);
    Row& row_of(ValueId array);
    void find_alike();
    void to_rows(size_t axis, Value* index);
    Value* row_begin(ValueId array);
    Value* in_row(ValueId array, llvm::Type* t, Value* index);  // address of a row's element
    // Whether flags that it raises are asked for, and whether that is behind this very nest.
    bool raises_flags() const { return nest_.ints.size() > 1 && (nest_.ints[1] & kFloatFaults); }
    bool reads_flags() const { return nest_.exit >= 0 && raises_flags(); }
    bool calls_out() const;  // functions that are not of the region

    // llvm/regions/sums.cpp: a store that stays at one place along some axes
    void find_sum();
    bool is_summed(size_t axis) const;
    void sum(const Points& p);
    void sum_over(size_t axis, const Points& p);

    // llvm/regions/calls.cpp: loops of ufuncs on many points at a time
    static constexpr int64_t kChunk = 256, kSlack = 64;  // elements; what a vector may write past them
    struct LoopCall {
        size_t at;  // in the body
        struct Operand {
            Value* buffer;
            bool fixed;  // one value for all points
        };
        std::vector<Operand> in;
        Value* out;
        llvm::AllocaInst* count;  // of points that came here
    };
    bool calls_loop(const Inst& i) const;
    void find_loop_calls();
    void find_needed();
    void need(ValueId v, std::vector<char>& list) const;
    bool is_fixed(ValueId v) const;
    void chunk(Value* begin, Value* end);
    void run_loop(const LoopCall& call, Value* n);
    bool in_phase(size_t at) const;
    Val loop_result(const LoopCall& call, const Points& p);
    void pass_operands(const LoopCall& call, const Points& p);
    Value* buffered(const LoopCall& call, Value* buffer, DType t, const Points& p);
    const LoopCall* loop_call(size_t at) const;
    void count_points(const LoopCall& call, const Points& p);
    bool squeezes() const;

    // llvm/regions/points.cpp: the body at one or several points
    void body(Points p);
    BasicBlock* when(size_t at, Points& p);
    Val evaluate(size_t at, const Points& p);
    Val operand(ValueId v, const Points& p);
    Val load(const Inst& i, const Points& p);
    Val load_part(const Inst& i, const Points& p);
    Val gather(ValueId array, const Points& p);
    void spread(ValueId array, Value* bits, const Points& p);
    void store(size_t at, const Points& p);
    void append(size_t at, const Points& p);
    void compress(Value* bits, Value* to, llvm::Align align, Value* mask);
    Val next(const Inst& i, const Points& p);
    Val within(const Inst& i, const Points& p);
    Val take(const Inst& i, const Points& p);
    void scatter(const Inst& i, const Points& p);
    Val position(const Inst& i, const Points& p);
    Value* element(ValueId array, Value* index);
    Value* element_at(const Inst& i, size_t indices, const Points& p);
    bool is_part(ValueId array) const { return e_.part_of_.contains(array); }
    int unit(ValueId array) const;  // bytes from one element to the next where they are adjacent
    // That the store is the first or the second of two that write both parts of complex numbers.
    bool pairs_with(size_t at, size_t other) const;
    Value* interleaved(Value* even, Value* odd);
    Value* i64(int64_t v) { return e_.i64(v); }

    RegionEmitter& e_;
    Builder& b_;
    const Inst& nest_;
    const graph::NestBody& body_;
    FlagScope* flags_ = nullptr;
    bool narrow_ = false;               // less than the widest vectors
    std::set<ValueId> strided_;         // arrays whose elements along the innermost axis are not adjacent
    std::vector<Value*> extents_, at_;  // by axis; at_: current index, null for the innermost
    std::vector<Row> rows_;
    std::vector<Val> vals_;              // by ValueId, of the body; for the points at hand
    std::map<ValueId, Value*> complex_;  // loaded for the points at hand, both parts, by the complex array
    llvm::AllocaInst* count_ = nullptr;  // Pack, NestNext: the points that passed
    std::vector<LoopCall> loop_calls_;
    // Phase k of a chunk computes the operands of loop call k for all of its points; the last one does the
    // rest. By phase: which instructions of the body it needs.
    std::vector<std::vector<char>> needed_;
    size_t phase_ = 0;
    bool some_points_ = false;  // a `when` decides which come to a call
    bool gathers_ = false;      // elements that share a vector may lie anywhere
    Value* chunk_begin_ = nullptr;
    struct Sum {
        size_t load, store;  // in the body
        llvm::AllocaInst* value;
    };
    std::optional<Sum> sum_;
};

}  // namespace stator::kernels::emit
