// What the parts of the LLVM emitter share. llvm/emit.cpp tells the idea.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/llvm/emit.h"
#include "kernels/loops/chunks.h"
#include "kernels/loops/host_phases.h"
#include "kernels/loops/native.h"

namespace stator::kernels::emit {

using graph::DType;
using graph::Op;
using Builder = llvm::IRBuilder<>;

// A value of a statement for `lanes` iterations: a scalar or a vector of the dtype's element type. Values of
// b1 are either bytes as in memory (0 is false, anything else true), or masks (i1).
struct Val {
    llvm::Value* v = nullptr;
    bool mask = false;
};

// ---- llvm/ops.cpp: one op on values ----

struct OpContext {
    Builder& b;
    const EmitOptions& options;
    int lanes;                      // 1 = scalar
    llvm::Value* faults = nullptr;  // i32 slot that collects Fault bits found by generated code
};

llvm::Type* element_type(llvm::LLVMContext& c, DType t);  // in memory and in registers; b1 is i8
llvm::Type* lanes_type(llvm::Type* element, int lanes);
llvm::Value* as_mask(OpContext& c, Val v);
llvm::Value* as_bytes(OpContext& c, Val v);  // memory form of a b1 value
Val splat(OpContext& c, Val scalar);
Val compute(OpContext& c, Op op, DType operand, DType result, const std::vector<Val>& in);
// An index (i64 lanes) as a value of dtype t, by C's conversion.
Val from_index(OpContext& c, llvm::Value* index, DType t);

// ---- llvm/emit.cpp, llvm/access.cpp, llvm/chunks.cpp, llvm/reduce.cpp: one nest ----

struct Loop {
    llvm::BasicBlock *head, *exit;
    llvm::PHINode* index;
    llvm::Value* end;
};

// A body emits the statements for iterations [index, index + lanes) of the innermost axis.
using BodyFn = std::function<void(int lanes, llvm::Value* index)>;

struct HostOperand {
    llvm::Value *address, *stride;
};

// How an access moves along one axis.
enum class StrideClass : uint8_t { None, Unit, Constant, Runtime };
struct Step {
    StrideClass cls = StrideClass::None;
    int64_t elements = 0;          // Unit, Constant
    llvm::Value* bytes = nullptr;  // all but None
};

class NestEmitter {
  public:
    NestEmitter(llvm::Module& m, const Program& p, const LoopNest& nest, int index,
                const EmitOptions& options);
    void emit();

  private:
    // frame of the function
    void prologue();
    void epilogue();
    void empty_check();
    void mxcsr(unsigned intrinsic);
    void clear_flags();
    llvm::Value* read_flags();  // Fault bits now raised
    bool uses_fp() const;

    // integers and addresses
    llvm::Value* i64(int64_t v) { return b_.getInt64(static_cast<uint64_t>(v)); }
    llvm::Value* num(const Int& i);
    llvm::Value* times(llvm::Value* v, const Int& factor);
    llvm::Value* term_bytes(const Access& a, const Term& t);
    llvm::Value* buffer_base(int buffer);
    Step step(const Access& a, int axis, DType t);
    llvm::Value* sum_terms(const Access& a, const std::vector<Term>& terms);  // bytes; nullptr when none
    llvm::Value* row_base(const Stmt& s, int except);
    llvm::Value* element(llvm::Value* base, const Step& st, llvm::Value* index, DType t);
    Val load(const Stmt& s, llvm::Value* base, const Step& st, int lanes, llvm::Value* index);
    void store(const Stmt& s, Val v, llvm::Value* base, const Step& st, int lanes, llvm::Value* index);
    llvm::Value* load_vector(llvm::Type* elt, llvm::Value* p, int lanes, int align);
    llvm::Value* load_strided(DType t, llvm::Value* base, const Step& st, int lanes, llvm::Value* index);
    llvm::Value* scalar_slot(int slot);
    int align_of(DType t) const;

    // statements
    bool hoistable(int i) const;
    void analyse();
    Val eval_here(int i, int lanes, llvm::Value* index, std::vector<Val>& vals);
    Val operand(int i, int lanes, std::vector<Val>& vals);
    void emit_scalar_stmt(int i);  // at the current loop level
    void emit_level(int level);    // statements whose deepest loop is order_[level]
    void emit_axes(int axis);
    void emit_inner();
    void emit_body(int lanes, llvm::Value* index, const std::vector<int>& stmts, std::vector<Val>& vals);
    void prepare_rows(bool after);
    std::pair<llvm::Value*, llvm::Value*> range(int axis);
    int pick_lanes(const std::vector<int>& stmts);
    Val index_value(const Stmt& s, int lanes, llvm::Value* index);

    // loops
    Loop open_loop(llvm::Value* begin, llvm::Value* end, const char* name);
    void close_loop(Loop& loop, llvm::Value* step);
    void span(llvm::Value* begin, llvm::Value* end, int lanes, bool overlap, const BodyFn& body,
              llvm::Value* first_step = nullptr);
    llvm::Value* aligning_step(const std::vector<int>& stmts, llvm::Value* begin, llvm::Value* end,
                               int lanes);
    llvm::BasicBlock* block(const char* name);
    llvm::AllocaInst* slot(llvm::Type* t, const char* name);

    // host loops on chunks
    void emit_chunked();
    void chunk_phase(int phase, llvm::Value* begin, llvm::Value* end);
    void host_call(int i, llvm::Value* begin, llvm::Value* count);
    HostOperand host_operand(int i, llvm::Value* begin);
    void call_loop(int loop, llvm::Value* args, llvm::Value* count, llvm::Value* strides, uint32_t mask);
    llvm::Value* chunk_slot(int i);
    llvm::Value* spill(int i);

    // reductions
    void emit_reduction();
    void emit_runs();
    void emit_sequential();
    void reduce_chunk(int i, llvm::Value* acc, llvm::Value* begin, llvm::Value* stop);
    void loops(int from, int to, const std::function<void()>& inside);
    llvm::Value* first_index();
    std::vector<int> tree_of(int i) const;
    Val operand_of(int i, int lanes, llvm::Value* index);
    Val start_value(int i);
    Val combine(const Stmt& s, int lanes, Val acc, Val x);
    llvm::Value* horizontal(const Stmt& s, llvm::Value* acc, int lanes);
    Val reduce_run(int i);
    Val arg_reduce(int i);
    Val arg_operand(int i, int lanes, llvm::Value* index);
    llvm::Value* find_first(int i, Val target, int lanes);
    std::pair<llvm::Value*, llvm::Value*> vectors(
        llvm::Value* acc, llvm::Value* begin, llvm::Value* end, int lanes,
        const std::function<llvm::Value*(llvm::Value*, llvm::Value*)>& body);
    llvm::Value* run_pairwise(int i, llvm::Value* n);
    llvm::Value* pairwise_leaf(int i, llvm::Value* at, llvm::Value* n);
    llvm::Value* run_lanes(int i, llvm::Value* acc, llvm::Value* begin, llvm::Value* end);
    llvm::Value* run_extremum(int i, llvm::Value* acc, llvm::Value* begin, llvm::Value* end);
    llvm::Value* run_scalar(int i, llvm::Value* acc, llvm::Value* begin, llvm::Value* end);
    void run_host(int i, llvm::Value* acc, llvm::Value* acc_stride, llvm::Value* begin, llvm::Value* count);
    llvm::Type* accumulator_type(const Stmt& s);

    llvm::Module& m_;
    llvm::LLVMContext& c_;
    const Program& p_;
    const LoopNest& n_;
    const EmitOptions& o_;
    Builder b_;
    llvm::Function* f_ = nullptr;
    int index_;
    llvm::Value *args_, *begin_, *end_;
    llvm::Value *buffers_ = nullptr, *strides_ = nullptr, *syms_ = nullptr, *scalars_ = nullptr,
                *loops_ = nullptr, *scratch_ = nullptr;
    llvm::AllocaInst *csr_ = nullptr, *faults_ = nullptr;
    llvm::Value* saved_csr_ = nullptr;
    llvm::BasicBlock* done_ = nullptr;
    std::map<int, llvm::Value*> base_cache_;
    std::map<int, llvm::Value*> sym_cache_;
    std::map<std::pair<int, int>, llvm::Value*> stride_cache_;
    std::vector<int> order_;   // axes from the outermost loop to the innermost
    int inner_ = -1;           // order_.back()
    std::vector<int> dep_;     // per statement: deepest position in order_ it moves along, -1 = none
    std::vector<char> after_;  // per statement: needs the result of a reduction
    std::vector<llvm::Value*> index_of_;  // per axis: current index
    std::vector<Val> outer_;              // values of statements emitted above the innermost loop (scalars)
    std::vector<llvm::Value*> row_;       // per access statement: address at inner index 0
    std::vector<Step> step_;              // per access statement: along the innermost axis
    int tail_lanes_ = 1;                  // of the vectors behind the widest ones; set by pick_lanes
    int skip_first_ = -1;  // reduced axis whose very first iteration is the accumulator's start
    bool fp_ = false;

    HostPhases phases_;
    std::vector<llvm::Value*> spilled_;  // per statement: memory of a scalar value
};

}  // namespace stator::kernels::emit
