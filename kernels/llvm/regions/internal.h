// What the parts of the region emitter share. llvm/regions/region.cpp tells the idea.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/dot_order.h"
#include "graph/region/cfg.h"
#include "kernels/llvm/flags.h"
#include "kernels/llvm/internal.h"
#include "kernels/llvm/regions/region.h"
#include "kernels/region_abi.h"
#include "kernels/regions/dots.h"

namespace stator::kernels::emit {

using graph::BlockId;
using graph::Inst;
using graph::Region;
using graph::RegionOp;
using graph::RegionType;
using graph::ValueId;

// A value of a region: a scalar, or an array as address, extents and strides in bytes.
struct RegionVal {
    Val scalar;
    llvm::Value* address = nullptr;
    std::vector<llvm::Value*> extents, strides;
    bool dense = false;  // may well be C-contiguous, as far as how it was made tells
};

class RegionEmitter {
  public:
    RegionEmitter(llvm::Module& m, const Region& r, const EmitOptions& options);
    void emit();

  private:
    friend class RegionNest;

    // llvm/regions/region.cpp: frame and control flow
    void prologue();
    void inputs();
    void input_array(const graph::RegionInput& in, int index, int& dim);
    void parameters(BlockId id);
    RegionVal parameter(RegionType t);
    void block(BlockId id);
    void terminator(const graph::Block& b);
    void arguments(const graph::Edge& e, llvm::BasicBlock* from);
    void pass(const RegionVal& parameter, const RegionVal& v, RegionType t, llvm::BasicBlock* from);
    llvm::BasicBlock* exit_block(int exit);
    struct ExitStore {
        size_t slot;
        llvm::Value* value;
        bool mask;
        auto operator<=>(const ExitStore&) const = default;
    };
    std::vector<ExitStore> exit_stores(int exit) const;
    void emit_stores(const std::vector<ExitStore>& stores);
    void emit_exits();
    void emit_exit_group(const std::vector<int>& group, const std::vector<ExitStore>& common);
    // Goes on where `bad` (i1) is false, leaves through the exit where it holds.
    void leave_if(llvm::Value* bad, int exit);

    // llvm/regions/insts.cpp: instructions
    void inst(const Inst& inst);
    llvm::Value* nest(const Inst& inst);  // llvm/regions/nest.cpp; a pack's count
    Val constant(const Inst& inst);
    Val pointwise(const Inst& inst);
    Val fma(const std::vector<Val>& in);
    Val checked(const Inst& inst);
    Val floor_division(const Inst& inst);
    Val index(const Inst& inst);
    Val call(const Inst& inst, const std::vector<Val>& operands);
    Val reduce(const Inst& inst);
    // llvm/regions/dots.cpp
    struct DotOperands {
        const RegionVal *x, *y;
        llvm::Value* n;
        DType dtype;
        graph::DotOrder order;
        int64_t shortest;  // for which the order is known
    };
    Val dot(const Inst& inst);
    llvm::Value* dot_call(const Inst& inst);
    void ask_ahead(const RegionVal& x, const RegionVal& y, int64_t size);
    llvm::Function* asking_function();
    llvm::Value* dot_alone(const Inst& inst, const DotOperands& d);
    llvm::Value* dot_ahead(const Inst& inst, const DotOperands& d, const DotAhead& ahead);
    llvm::Value* keeps_order(const DotOperands& d);  // i1
    llvm::Value* compared_apart(const std::vector<DotAhead::Apart>& stores, const DotAhead& ahead,
                                llvm::Value* more, llvm::Value* low, llvm::Value* high);
    llvm::Function* dot_function(DType t, const graph::DotOrder& order, int lanes, int vectors);
    void forget_dots(BlockId from, const graph::Edge& to);
    void dense_strides(RegionVal& v, DType t);  // of a C-contiguous array, from its extents
    RegionVal library(const Inst& inst);        // llvm/regions/library.cpp
    void finite(const Inst& inst);
    llvm::Value* not_finite(llvm::Value* x);
    llvm::Function* raised_function(llvm::Type* t);
    void poll(const Inst& inst);
    llvm::Value* wanted();  // i1: the interpreter wants attention
    RegionVal view(const Inst& inst);
    RegionVal part(const Inst& inst);
    using Cell = RegionArgs::ScratchCell;
    llvm::Value* cell(int64_t number, size_t offset = 0);
    llvm::Value* ensure(llvm::Value* cell, llvm::Value* bytes, llvm::BasicBlock* failed);
    llvm::Value* free_cell(const Inst& inst);
    // llvm/regions/checkpoints.cpp
    Val save(const Inst& inst);
    void restore(const Inst& inst);
    llvm::Value* trust_field(size_t offset);
    Val trust();
    void distrust();
    void watch();
    Val raised(const Inst& inst);
    llvm::Value* bytes_of(ValueId array);  // C-contiguous
    RegionVal scratch(const Inst& inst);
    llvm::Value* times(llvm::Value* stride, llvm::Value* step);
    std::vector<int64_t> shared_cells() const;
    void find_roots();
    void tag(llvm::Instruction* access, ValueId array);  // with what it cannot overlap
    llvm::Value* step(llvm::Value* p, llvm::Value* index, llvm::Value* stride, DType t);
    llvm::Value* element(const Inst& inst, size_t indices);

    // helpers
    llvm::Value* i64(int64_t v) { return b_.getInt64(static_cast<uint64_t>(v)); }
    const RegionVal& value(ValueId v) const { return values_[static_cast<size_t>(v)]; }
    RegionType type(ValueId v) const { return r_.types[static_cast<size_t>(v)]; }
    llvm::Value* number(ValueId v) const { return value(v).scalar.v; }  // of an i64 scalar
    OpContext ops(int lanes = 1) { return OpContext{b_, o_, lanes, faults_}; }
    llvm::BasicBlock* new_block(const char* name);
    llvm::AllocaInst* slot(llvm::Type* t, const char* name);
    llvm::Value* field(size_t offset, llvm::Type* t, const char* name);
    llvm::Value* call_function(int call);
    llvm::Value* call_data(int call);
    llvm::Value* in_memory(DType t, Val v);  // its form in memory
    static llvm::Align align_of(DType t);
    llvm::MDNode* unlikely();

    llvm::Module& m_;
    llvm::LLVMContext& c_;
    const Region& r_;
    const EmitOptions& o_;
    Builder b_;
    llvm::Function* f_ = nullptr;
    llvm::Value *args_ = nullptr, *arrays_ = nullptr, *dims_ = nullptr, *scalars_ = nullptr, *out_ = nullptr,
                *calls_ = nullptr, *breaker_ = nullptr, *mask_ = nullptr, *disturbed_ = nullptr,
                *scratch_ = nullptr, *grow_ = nullptr;
    llvm::Value *leave_ = nullptr, *steps_at_ = nullptr, *steps_ = nullptr;  // of regions that count
    llvm::Value* faults_ = nullptr;
    std::unique_ptr<FlagScope> watch_;  // of the `watch` instruction, of which there is one at most
    graph::RegionCfg cfg_;
    std::vector<RegionVal> values_;
    std::vector<llvm::BasicBlock*> blocks_;  // by BlockId: where edges go
    std::vector<llvm::BasicBlock*> exits_;   // by number, null until used
    // By ValueId of an array: which memory it lies in, -1 when that is open (arrays that a loop exchanges).
    std::vector<int> root_;
    std::vector<llvm::MDNode*> in_scope_, out_of_scope_;  // by root
    std::map<ValueId, std::pair<ValueId, int>> part_of_;  // of a `part`: the complex array, and which
    std::set<llvm::Value*> wide_;  // strides that are an element's size only by accident (an extent of 1)
    std::map<std::string, llvm::Function*> nests_;  // by what they do
    std::map<std::pair<BlockId, size_t>, DotAhead> ahead_;
    struct Results {                                     // of dots that were computed ahead
        llvm::Value *first = nullptr, *count = nullptr;  // slots
    };
    std::map<const DotAhead*, Results> results_;
    std::map<std::string, llvm::Function*> dots_;  // by what they do
    std::pair<BlockId, size_t> here_;              // what is being emitted
};

}  // namespace stator::kernels::emit
