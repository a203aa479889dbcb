// The LLVM emitter: every nest of a program becomes one function.
//
// Shape of a function: save and clear the floating-point status, statements that run once, return when there
// is nothing to iterate over, loops over the outer axes, and the innermost axis as a span: a loop over whole
// vectors and, where the rest is not covered by a last overlapping vector, a scalar loop. No lane is ever
// computed that does not exist: a dead lane could raise a flag. Statements that do not move along an axis are
// emitted outside its loop. Nests with statements that the host computes walk the innermost axis in chunks
// (llvm/chunks.cpp); reductions are in llvm/reduce.cpp.
//
// The IR is what the machine should do: explicit vectors, hoisted invariants, no pass needed after it.
// Vectors may be several registers wide; LLVM splits them, which is the unrolling.
#include "kernels/llvm/internal.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

namespace stator::kernels {

std::unique_ptr<llvm::Module> emit_llvm(llvm::LLVMContext& context, const Program& program,
                                        const EmitOptions& options) {
    auto module = std::make_unique<llvm::Module>(options.prefix, context);
    for (size_t i = 0; i < program.code.size(); ++i)
        emit::NestEmitter(*module, program, *program.code[i], static_cast<int>(i), options).emit();
    return module;
}

namespace emit {

using llvm::BasicBlock;
using llvm::Value;

namespace {
// MXCSR status bits: invalid 1, denormal 2, divide 4, overflow 8, underflow 16, precision 32.
constexpr uint32_t kStatus = 0x1d;  // those that are reported
constexpr uint32_t kAllStatus = 0x3f;
constexpr int kWorthAligning = 4;  // vectors in a span
}  // namespace

NestEmitter::NestEmitter(llvm::Module& m, const Program& p, const LoopNest& nest, int index,
                         const EmitOptions& options)
    : m_(m), c_(m.getContext()), p_(p), n_(nest), o_(options), b_(c_), index_(index) {}

// ---- frame ----

BasicBlock* NestEmitter::block(const char* name) { return BasicBlock::Create(c_, name, f_); }

llvm::AllocaInst* NestEmitter::slot(llvm::Type* t, const char* name) {
    Builder entry(&f_->getEntryBlock(), f_->getEntryBlock().begin());
    return entry.CreateAlloca(t, nullptr, name);
}

bool NestEmitter::uses_fp() const {
    for (size_t i = 0; i < n_.stmts.size(); ++i) {
        const Stmt& s = n_.stmts[i];
        bool computes = s.kind == StmtKind::Compute || s.kind == StmtKind::Reduce;
        if (calls_host(n_, static_cast<int>(i))) return true;
        if (!computes) continue;
        auto inexact = [](DType t) { return graph::is_float(t) || graph::is_complex(t); };
        if (inexact(s.dtype)) return true;
        for (int in : s.in)
            if (inexact(n_.stmts[in].dtype)) return true;
    }
    return false;
}

void NestEmitter::prologue() {
    llvm::Type *ptr = b_.getPtrTy(), *i64 = b_.getInt64Ty();
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {ptr, i64, i64}, false);
    f_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                o_.prefix + "_nest" + std::to_string(index_), m_);
    f_->addFnAttr(llvm::Attribute::NoUnwind);
    args_ = f_->getArg(0);
    begin_ = f_->getArg(1);
    end_ = f_->getArg(2);
    b_.SetInsertPoint(block("entry"));
    done_ = block("done");
    auto field = [&](size_t offset, const char* name) {
        return b_.CreateLoad(ptr, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), args_, offset), name);
    };
    buffers_ = field(offsetof(KernelArgs, buffers), "buffers");
    strides_ = field(offsetof(KernelArgs, strides), "strides");
    syms_ = field(offsetof(KernelArgs, syms), "syms");
    scalars_ = field(offsetof(KernelArgs, scalars), "scalars");
    loops_ = field(offsetof(KernelArgs, loops), "loops");
    scratch_ = field(offsetof(KernelArgs, scratch), "scratch");
    faults_ = slot(b_.getInt32Ty(), "faults");
    b_.CreateStore(b_.getInt32(0), faults_);
    fp_ = uses_fp() && !o_.fastmath;
    // Everything that the loops refer to is read here, where it dominates them.
    for (const Stmt& s : n_.stmts) {
        if (s.access.axis.empty()) continue;
        if (s.access.buffer >= 0) buffer_base(s.access.buffer);
        auto read = [&](const std::vector<Term>& terms) {
            for (const Term& t : terms) term_bytes(s.access, t);
        };
        read(s.access.offset);
        for (auto& terms : s.access.axis) read(terms);
    }
    for (const Axis& a : n_.axes) num(a.extent);
    if (o_.fastmath) {
        llvm::FastMathFlags fast;
        fast.setAllowContract(true);
        fast.setAllowReassoc(true);
        b_.setFastMathFlags(fast);
    }
    if (!fp_) return;
    f_->addFnAttr(llvm::Attribute::StrictFP);
    b_.setIsFPConstrained(true);
    b_.setDefaultConstrainedExcept(llvm::fp::ebStrict);
    b_.setDefaultConstrainedRounding(llvm::RoundingMode::Dynamic);
    csr_ = slot(b_.getInt32Ty(), "csr");
    mxcsr(llvm::Intrinsic::x86_sse_stmxcsr);
    saved_csr_ = b_.CreateLoad(b_.getInt32Ty(), csr_, "saved");
    // Setting MXCSR costs more than looking at it, and usually nothing is pending.
    Value* pending = b_.CreateICmpNE(b_.CreateAnd(saved_csr_, b_.getInt32(kStatus)), b_.getInt32(0));
    BasicBlock *clear = block("clear"), *start = block("start");
    b_.CreateCondBr(pending, clear, start);
    b_.SetInsertPoint(clear);
    clear_flags();
    b_.CreateBr(start);
    b_.SetInsertPoint(start);
}

// Stores MXCSR to csr_, or loads it from there.
void NestEmitter::mxcsr(unsigned intrinsic) {
    Value* at = csr_;
    b_.CreateIntrinsic(static_cast<llvm::Intrinsic::ID>(intrinsic), llvm::ArrayRef<llvm::Type*>(),
                       llvm::ArrayRef<Value*>(at));
}

void NestEmitter::clear_flags() {
    b_.CreateStore(b_.CreateAnd(saved_csr_, b_.getInt32(~kAllStatus)), csr_);
    mxcsr(llvm::Intrinsic::x86_sse_ldmxcsr);
}

Value* NestEmitter::read_flags() {
    mxcsr(llvm::Intrinsic::x86_sse_stmxcsr);
    Value* csr = b_.CreateLoad(b_.getInt32Ty(), csr_, "csr");
    Value* dou = b_.CreateAnd(b_.CreateLShr(csr, b_.getInt32(2)), b_.getInt32(7));
    return b_.CreateOr(dou, b_.CreateShl(b_.CreateAnd(csr, b_.getInt32(1)), b_.getInt32(3)));
}

void NestEmitter::epilogue() {
    b_.SetInsertPoint(done_);
    Value* faults = b_.CreateLoad(b_.getInt32Ty(), faults_);
    if (fp_) {
        faults = b_.CreateOr(faults, read_flags());
        Value* now = b_.CreateLoad(b_.getInt32Ty(), csr_);
        Value* changed = b_.CreateAnd(b_.CreateXor(now, saved_csr_), b_.getInt32(kStatus));
        BasicBlock *restore = block("restore"), *ret = block("return");
        b_.CreateCondBr(b_.CreateICmpNE(changed, b_.getInt32(0)), restore, ret);
        b_.SetInsertPoint(restore);
        b_.CreateStore(saved_csr_, csr_);
        mxcsr(llvm::Intrinsic::x86_sse_ldmxcsr);
        b_.CreateBr(ret);
        b_.SetInsertPoint(ret);
    }
    b_.CreateRet(faults);
}

// Leaves when some axis has no iterations: statements outside its loop might read elements that do not exist.
void NestEmitter::empty_check() {
    Value* some = nullptr;
    for (size_t a = 0; a < n_.axes.size(); ++a) {
        bool ranged = a == 0 && n_.axes[0].kind == AxisKind::Parallel;
        if (n_.axes[a].kind == AxisKind::Reduce) continue;
        Value* here =
            ranged ? b_.CreateICmpSLT(begin_, end_) : b_.CreateICmpSGT(num(n_.axes[a].extent), i64(0));
        some = some ? b_.CreateAnd(some, here) : here;
    }
    if (!some) return;
    BasicBlock* run = block("run");
    b_.CreateCondBr(some, run, done_);
    b_.SetInsertPoint(run);
}

// ---- what goes where ----

bool NestEmitter::hoistable(int i) const {
    const Stmt& s = n_.stmts[i];
    return s.kind == StmtKind::Load || s.kind == StmtKind::Index || s.kind == StmtKind::Scalar ||
           (s.kind == StmtKind::Compute && (!calls_host(n_, i) || s.depth == 0));
}

// The order of the loops, and how deep in them each statement moves; what cannot be hoisted stays innermost.
void NestEmitter::analyse() {
    int axes = n_.full_depth(), parallel = n_.parallel_axes();
    size_t n = n_.stmts.size();
    bool sequential = false;
    for (const Stmt& s : n_.stmts)
        sequential |= s.kind == StmtKind::Reduce && s.order == RunOrder::Sequential;
    for (int a = 0; a < axes; ++a)
        if (!(sequential && a == parallel - 1)) order_.push_back(a);
    if (sequential)
        order_.push_back(parallel - 1);  // reductions element by element run along the last kept axis
    inner_ = axes ? order_.back() : -1;
    std::vector<int> position(static_cast<size_t>(axes));
    for (int k = 0; k < axes; ++k) position[static_cast<size_t>(order_[static_cast<size_t>(k)])] = k;
    dep_.assign(n, -1);
    after_.assign(n, 0);
    for (size_t i = 0; i < n; ++i) {
        const Stmt& s = n_.stmts[i];
        after_[i] = s.kind == StmtKind::Reduce || s.kind == StmtKind::ArgReduce ||
                    (parallel < axes && s.depth > 0 && s.depth == parallel);
        for (size_t a = 0; a < s.access.axis.size(); ++a)
            if (!s.access.axis[a].empty()) dep_[i] = std::max(dep_[i], position[a]);
        for (int in : s.in) {
            dep_[i] = std::max(dep_[i], dep_[static_cast<size_t>(in)]);
            after_[i] |= after_[static_cast<size_t>(in)];
        }
        if (!hoistable(static_cast<int>(i))) dep_[i] = s.depth == 0 ? -1 : axes - 1;
    }
}

// ---- statements ----

Val NestEmitter::operand(int i, int lanes, std::vector<Val>& vals) {
    OpContext c{b_, o_, lanes, faults_};
    Val v = vals[i].v ? vals[i] : outer_[i];
    return splat(c, v);
}

Val NestEmitter::index_value(const Stmt& s, int lanes, Value* index) {
    Value* sum = i64(0);
    auto scaled = [&](Value* v, const Term& t) { return times(v, t.factor); };
    for (const Term& t : s.access.offset) sum = b_.CreateAdd(sum, num(t.factor));
    for (int a = 0; a < static_cast<int>(s.access.axis.size()); ++a)
        for (const Term& t : s.access.axis[a])
            if (a != inner_ || !index) sum = b_.CreateAdd(sum, scaled(index_of_[a], t));
    OpContext c{b_, o_, lanes, faults_};
    if (!index) return from_index(c, sum, s.dtype);
    Value* at = index;
    if (lanes > 1) {
        at = b_.CreateVectorSplat(static_cast<unsigned>(lanes), index);
        at = b_.CreateAdd(at, b_.CreateStepVector(at->getType()));
        sum = b_.CreateVectorSplat(static_cast<unsigned>(lanes), sum);
    }
    for (const Term& t : s.access.axis[inner_]) {
        Value* f = num(t.factor);
        if (lanes > 1) f = b_.CreateVectorSplat(static_cast<unsigned>(lanes), f);
        sum = b_.CreateAdd(sum, b_.CreateMul(at, f));
    }
    return from_index(c, sum, s.dtype);
}

// One statement for `lanes` iterations at `index` of the innermost axis; index null: at the current outer
// indices.
Val NestEmitter::eval_here(int i, int lanes, Value* index, std::vector<Val>& vals) {
    const Stmt& s = n_.stmts[i];
    OpContext c{b_, o_, lanes, faults_};
    switch (s.kind) {
        case StmtKind::Scalar: {
            DType t = s.dtype;
            return {b_.CreateAlignedLoad(element_type(c_, t), scalar_slot(s.slot), llvm::Align(8)), false};
        }
        case StmtKind::Index: return index_value(s, lanes, index);
        case StmtKind::Load:
            if (!index) return load(s, row_base(s, -1), Step{}, 1, nullptr);
            return load(s, row_[i], step_[i], lanes, index);
        case StmtKind::Compute: {
            std::vector<Val> in;
            for (int k : s.in) in.push_back(operand(k, lanes, vals));
            return compute(c, s.op, s.in.empty() ? s.dtype : n_.stmts[s.in[0]].dtype, s.dtype, in);
        }
        case StmtKind::Store:
            if (!index)
                store(s, operand(s.in[0], 1, vals), row_base(s, -1), Step{}, 1, nullptr);
            else
                store(s, operand(s.in[0], lanes, vals), row_[i], step_[i], lanes, index);
            return {};
        case StmtKind::SetScalar: {
            Value* v = operand(s.in[0], 1, vals).v;
            if (s.dtype == DType::Bool) v = as_bytes(c, operand(s.in[0], 1, vals));
            b_.CreateAlignedStore(v, scalar_slot(s.slot), llvm::Align(8));
            return {};
        }
        default: llvm_unreachable("reductions are emitted elsewhere");
    }
}

void NestEmitter::emit_scalar_stmt(int i) {
    const Stmt& s = n_.stmts[i];
    if (calls_host(n_, i)) return host_call(i, nullptr, i64(1));
    if (s.kind == StmtKind::SetScalar && n_.parallel_axes() > 0) {
        BasicBlock *set = block("set"), *next = block("next");
        b_.CreateCondBr(b_.CreateICmpEQ(begin_, i64(0)), set, next);
        b_.SetInsertPoint(set);
        eval_here(i, 1, nullptr, outer_);
        b_.CreateBr(next);
        b_.SetInsertPoint(next);
        return;
    }
    outer_[i] = eval_here(i, 1, nullptr, outer_);
}

void NestEmitter::emit_level(int level) {
    for (int i = 0; i < static_cast<int>(n_.stmts.size()); ++i)
        if (n_.stmts[i].depth > 0 && dep_[i] == level && !after_[i]) emit_scalar_stmt(i);
}

void NestEmitter::emit_body(int lanes, Value* index, const std::vector<int>& stmts, std::vector<Val>& vals) {
    for (int i : stmts) vals[i] = eval_here(i, lanes, index, vals);
}

// ---- loops ----

Loop NestEmitter::open_loop(Value* begin, Value* end, const char* name) {
    Loop l{block(name), nullptr, nullptr, end};
    BasicBlock* from = b_.GetInsertBlock();
    l.exit = block("exit");
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), l.head, l.exit);
    b_.SetInsertPoint(l.head);
    l.index = b_.CreatePHI(b_.getInt64Ty(), 2, name);
    l.index->addIncoming(begin, from);
    return l;
}

void NestEmitter::close_loop(Loop& l, Value* step) {
    Value* next = b_.CreateAdd(l.index, step);
    l.index->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, l.end), l.head, l.exit);
    b_.SetInsertPoint(l.exit);
}

// Iterations [begin, end) of the innermost axis: vectors of `lanes`, then of fewer lanes, then single ones.
// With `overlap` the last of the smaller vectors is moved back to end at `end`, computing some iterations
// twice with the same results, and single iterations remain only where there are fewer than one such vector
// in all. `first_step` (null: `lanes`) is how far the first vector moves on, at most `lanes`: that aligns the
// others.
void NestEmitter::span(Value* begin, Value* end, int lanes, bool overlap, const BodyFn& body,
                       Value* first_step) {
    BasicBlock* after = block("after");
    Value* at = begin;
    int small = std::min(lanes, tail_lanes_);
    for (int step : {lanes, small}) {
        if (step == 1 || (step == small && at != begin && lanes == small)) continue;
        bool clip = overlap && step == small;
        BasicBlock *enter = b_.GetInsertBlock(), *vec = block("vector"), *rest = block("rest");
        Value* last = b_.CreateSub(end, i64(step));
        if (clip) {
            Value* fits = b_.CreateICmpSLE(begin, last);
            b_.CreateCondBr(b_.CreateAnd(fits, b_.CreateICmpSLT(at, end)), vec, rest);
        } else {
            b_.CreateCondBr(b_.CreateICmpSLE(at, last), vec, rest);
        }
        b_.SetInsertPoint(vec);
        llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2, "i");
        i->addIncoming(at, enter);
        Value* move = i64(step);
        if (first_step && step == lanes && !clip) {
            llvm::PHINode* varying = b_.CreatePHI(b_.getInt64Ty(), 2, "move");
            varying->addIncoming(first_step, enter);
            move = varying;
        }
        body(step, clip ? b_.CreateSelect(b_.CreateICmpSLT(i, last), i, last) : static_cast<Value*>(i));
        Value* next = b_.CreateAdd(i, move);
        BasicBlock* latch = b_.GetInsertBlock();
        if (auto* varying = llvm::dyn_cast<llvm::PHINode>(move)) varying->addIncoming(i64(step), latch);
        i->addIncoming(next, latch);
        b_.CreateCondBr(clip ? b_.CreateICmpSLT(next, end) : b_.CreateICmpSLE(next, last), vec, rest);
        b_.SetInsertPoint(rest);
        llvm::PHINode* t = b_.CreatePHI(b_.getInt64Ty(), 2, "t");
        t->addIncoming(at, enter);
        t->addIncoming(next, latch);
        at = t;
    }
    Loop l = open_loop(at, end, "scalar");
    body(1, l.index);
    close_loop(l, i64(1));
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
}

// How many iterations one vector body does: registers of the widest type, several of them for short bodies.
int NestEmitter::pick_lanes(const std::vector<int>& stmts) {
    int widest = 1, weight = 0;
    bool packed = false;
    for (int i : stmts) {
        const Stmt& s = n_.stmts[i];
        if (s.kind == StmtKind::Store)
            packed = true;
        else
            ++weight;
        widest = std::max(widest, graph::info(s.dtype).size);
    }
    if (!packed && weight == 0) return 1;
    int lanes = o_.vector_bits / 8 / widest;
    int registers = o_.has_avx512 ? 32 : 16;
    int unroll = weight * 4 <= registers ? 4 : weight * 2 <= registers ? 2 : 1;
    tail_lanes_ = std::min(lanes, 16);
    return std::max(1, lanes * unroll);
}

// Addresses of the statements inside the innermost loop (`after`: of those behind a reduction) at its index
// 0. How far the first vector of a span moves on so that the stores of the others do not cross cache lines;
// null when nothing is stored densely.
Value* NestEmitter::aligning_step(const std::vector<int>& stmts, Value* begin, Value* end, int lanes) {
    for (int i : stmts) {
        const Stmt& s = n_.stmts[i];
        if (s.kind != StmtKind::Store || step_[i].cls != StrideClass::Unit) continue;
        int size = graph::info(s.dtype).size, bytes = std::min(64, lanes * size);
        if (bytes <= size) return nullptr;
        Value* address = b_.CreatePtrToInt(element(row_[i], step_[i], begin, s.dtype), b_.getInt64Ty());
        Value* missing = b_.CreateAnd(b_.CreateNeg(address), i64(bytes - 1));
        Value* crooked = b_.CreateICmpNE(missing, i64(0));
        Value* enough = b_.CreateICmpSGE(b_.CreateSub(end, begin), i64(kWorthAligning * lanes));
        return b_.CreateSelect(b_.CreateAnd(crooked, enough), b_.CreateUDiv(missing, i64(size)), i64(lanes));
    }
    return nullptr;
}

void NestEmitter::prepare_rows(bool after) {
    for (int i = 0; i < static_cast<int>(n_.stmts.size()); ++i) {
        const Stmt& s = n_.stmts[i];
        if ((s.kind != StmtKind::Load && s.kind != StmtKind::Store) || s.depth == 0) continue;
        if (after_[i] != after || (!after && dep_[i] != n_.full_depth() - 1)) continue;
        row_[i] = row_base(s, inner_);
        step_[i] = step(s.access, inner_, s.dtype);
    }
}

// The range of iterations of an axis in this call.
std::pair<Value*, Value*> NestEmitter::range(int axis) {
    if (axis == 0 && n_.axes[0].kind == AxisKind::Parallel) return {begin_, end_};
    return {i64(0), num(n_.axes[static_cast<size_t>(axis)].extent)};
}

void NestEmitter::emit_inner() {
    prepare_rows(false);
    if (phases_.count > 0) return emit_chunked();
    std::vector<int> stmts;
    for (int i = 0; i < static_cast<int>(n_.stmts.size()); ++i)
        if (n_.stmts[i].depth > 0 && dep_[i] == n_.full_depth() - 1) stmts.push_back(i);
    auto [begin, end] = range(inner_);
    int lanes = pick_lanes(stmts);
    Value* first = n_.in_place || lanes == tail_lanes_ ? nullptr : aligning_step(stmts, begin, end, lanes);
    auto body = [&](int count, Value* index) {
        std::vector<Val> vals(n_.stmts.size());
        emit_body(count, index, stmts, vals);
    };
    span(begin, end, lanes, !n_.in_place, body, first);
}

void NestEmitter::emit_axes(int axis) {
    if (axis == inner_) return emit_inner();
    auto [begin, end] = range(axis);
    Loop l = open_loop(begin, end, "i");
    index_of_[axis] = l.index;
    emit_level(axis);
    emit_axes(axis + 1);
    close_loop(l, i64(1));
}

void NestEmitter::emit() {
    prologue();
    analyse();
    size_t n = n_.stmts.size();
    outer_.assign(n, {});
    row_.assign(n, nullptr);
    step_.assign(n, {});
    index_of_.assign(n_.axes.size(), nullptr);
    phases_ = plan_host_phases(n_);
    spilled_.assign(n, nullptr);
    bool reduces = n_.parallel_axes() < n_.full_depth();
    for (int i = 0; i < static_cast<int>(n); ++i) {
        if (n_.stmts[i].depth == 0 && !after_[i]) emit_scalar_stmt(i);
    }
    if (n_.full_depth() > 0) {
        empty_check();
        if (reduces) {
            emit_reduction();
        } else {
            emit_level(-1);
            emit_axes(0);
        }
    }
    b_.CreateBr(done_);
    epilogue();
}

}  // namespace emit
}  // namespace stator::kernels
