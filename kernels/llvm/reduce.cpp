// Reductions with NumPy's bits (schedule/reduction_order.h tells the order of axes).
//
// Runs, per accumulator and contiguous run of n elements:
//   float add            pairwise: n < 8 from -0.0 one by one; n <= 128 eight accumulators r0..r7 that are
//   combined as
//                        ((r0+r1)+(r2+r3))+((r4+r5)+(r6+r7)), the rest one by one; larger n in halves, the
//                        left one rounded down to a multiple of 8. The recursion is a loop with a stack here,
//                        and the leaves compute the operand on the fly.
//   float multiply       from left to right
//   float maximum, minimum  the lanes of NumPy's SIMD loop, which decide between zeros of different sign, and
//                        give the positive quiet NaN if one of them is any NaN; the rest one by one, which
//                        keeps a NaN as it is
//   integers, logic      any order: wide accumulators
//   other dtypes         the host's loop over memory
// Sequential reductions run along the last kept axis in chunks, one accumulator per element in scratch.
#include "kernels/llvm/internal.h"

#include <algorithm>
#include <numeric>

namespace stator::kernels::emit {

using llvm::BasicBlock;
using llvm::Value;

namespace {

struct Row {
    std::string_view name;
    Op op, bool_op;
    bool absorbs;  // x op x is x: accumulators may start as copies of one another
};
constexpr Row kRows[] = {
    {"add", Op::Add, Op::LogicalOr, false},
    {"multiply", Op::Multiply, Op::LogicalAnd, false},
    {"maximum", Op::Maximum, Op::LogicalOr, true},
    {"minimum", Op::Minimum, Op::LogicalAnd, true},
    {"logical_and", Op::LogicalAnd, Op::LogicalAnd, true},
    {"logical_or", Op::LogicalOr, Op::LogicalOr, true},
};
const Row& row_of(const Stmt& s) {
    for (const Row& r : kRows)
        if (r.name == s.name) return r;
    llvm_unreachable("schedule/reduction_order.h admits no other reductions");
}

// Nobody knows which of two zeros the host's loop takes (schedule/schedule.cpp).
bool of_unknown_order(const Stmt& s) { return s.slot == 0; }

bool by_host(const Stmt& s) {
    return s.dtype == DType::F16 || graph::is_complex(s.dtype) || of_unknown_order(s);
}

std::vector<int> lanes_from(int first, int count, int step = 1) {
    std::vector<int> v(static_cast<size_t>(count));
    for (int k = 0; k < count; ++k) v[static_cast<size_t>(k)] = first + k * step;
    return v;
}

}  // namespace

// ---- operands and accumulators ----

llvm::Type* NestEmitter::accumulator_type(const Stmt& s) {
    return s.dtype == DType::Bool ? b_.getInt1Ty() : element_type(c_, s.dtype);
}

// The statements inside all loops that reduction i needs.
std::vector<int> NestEmitter::tree_of(int i) const {
    std::vector<char> need(static_cast<size_t>(i) + 1, 0);
    need[static_cast<size_t>(i)] = 1;
    std::vector<int> tree;
    for (int k = i; k >= 0; --k) {
        const Stmt& s = n_.stmts[k];
        if (!need[static_cast<size_t>(k)]) continue;
        if (k < i && (s.depth == 0 || dep_[k] != n_.full_depth() - 1)) continue;
        if (k < i) tree.push_back(k);
        size_t operands = k == i ? 1 : s.in.size();  // not the start value
        for (size_t j = 0; j < operands; ++j) need[static_cast<size_t>(s.in[j])] = 1;
    }
    std::reverse(tree.begin(), tree.end());
    return tree;
}

Val NestEmitter::operand_of(int i, int lanes, Value* index) {
    const Stmt& s = n_.stmts[i];
    std::vector<Val> vals(n_.stmts.size());
    emit_body(lanes, index, tree_of(i), vals);
    Val x = operand(s.in[0], lanes, vals);
    DType t = n_.stmts[s.in[0]].dtype;
    if (s.kind != StmtKind::Reduce || s.dtype != DType::Bool) return x;
    OpContext c{b_, o_, lanes, faults_};
    return compute(c, Op::Cast, t, DType::Bool, {t == DType::Bool ? Val{as_mask(c, x), true} : x});
}

Val NestEmitter::combine(const Stmt& s, int lanes, Val acc, Val x) {
    OpContext c{b_, o_, lanes, faults_};
    bool logic = s.dtype == DType::Bool;
    return compute(c, logic ? row_of(s).bool_op : row_of(s).op, s.dtype, s.dtype, {acc, x});
}

// Combines the lanes of a vector in any order.
Value* NestEmitter::horizontal(const Stmt& s, Value* acc, int lanes) {
    bool logic = s.dtype == DType::Bool;
    for (; lanes > 1; lanes /= 2) {
        Value* low = b_.CreateShuffleVector(acc, lanes_from(0, lanes / 2));
        Value* high = b_.CreateShuffleVector(acc, lanes_from(lanes / 2, lanes / 2));
        if (lanes == 2) {
            low = b_.CreateExtractElement(acc, b_.getInt64(0));
            high = b_.CreateExtractElement(acc, b_.getInt64(1));
        }
        acc = combine(s, lanes / 2, {low, logic}, {high, logic}).v;
    }
    return acc;
}

// The start value of reduction i; for ReduceStart::First the element where all reduced indices are 0.
Val NestEmitter::start_value(int i) {
    const Stmt& s = n_.stmts[i];
    OpContext c{b_, o_, 1, faults_};
    bool logic = s.dtype == DType::Bool;
    if (s.start == ReduceStart::Identity) {
        Val v = outer_[s.in[1]];
        return logic ? Val{as_mask(c, v), true} : v;
    }
    for (int k = n_.parallel_axes(); k < n_.full_depth(); ++k) {
        index_of_[order_[static_cast<size_t>(k)]] = i64(0);
        if (k + 1 < n_.full_depth()) emit_level(k);
    }
    prepare_rows(false);
    return operand_of(i, 1, i64(0));
}

// ---- loops ----

// Loops over order_[from, to) around `inside`.
void NestEmitter::loops(int from, int to, const std::function<void()>& inside) {
    if (from >= to) return inside();
    int axis = order_[static_cast<size_t>(from)];
    auto [begin, end] = range(axis);
    if (skip_first_ == axis) begin = first_index();
    Loop l = open_loop(begin, end, "r");
    index_of_[axis] = l.index;
    emit_level(from);
    loops(from + 1, to, inside);
    close_loop(l, i64(1));
}

// Where the innermost reduced axis starts when the very first element is the accumulator's start.
Value* NestEmitter::first_index() {
    Value* later = nullptr;
    for (int a = n_.parallel_axes(); a + 1 < n_.full_depth(); ++a) {
        Value* here = b_.CreateICmpNE(index_of_[a], i64(0));
        later = later ? b_.CreateOr(later, here) : here;
    }
    return later ? b_.CreateSelect(later, i64(0), i64(1)) : i64(1);
}

// ---- runs ----

// One element after the other.
Value* NestEmitter::run_scalar(int i, Value* acc, Value* begin, Value* end) {
    const Stmt& s = n_.stmts[i];
    bool logic = s.dtype == DType::Bool;
    BasicBlock *from = b_.GetInsertBlock(), *head = block("one"), *exit = block("sum");
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), head, exit);
    b_.SetInsertPoint(head);
    llvm::PHINode *k = b_.CreatePHI(b_.getInt64Ty(), 2), *a = b_.CreatePHI(acc->getType(), 2);
    k->addIncoming(begin, from);
    a->addIncoming(acc, from);
    Value* r = combine(s, 1, {a, logic}, operand_of(i, 1, k)).v;
    Value* next = b_.CreateAdd(k, i64(1));
    BasicBlock* latch = b_.GetInsertBlock();
    k->addIncoming(next, latch);
    a->addIncoming(r, latch);
    b_.CreateCondBr(b_.CreateICmpSLT(next, end), head, exit);
    b_.SetInsertPoint(exit);
    llvm::PHINode* out = b_.CreatePHI(acc->getType(), 2);
    out->addIncoming(acc, from);
    out->addIncoming(r, latch);
    return out;
}

// A loop over vectors of `lanes` while they fit; `acc` is a vector, body maps (acc, index) to the new one.
// Returns the accumulator and the index behind the last vector.
std::pair<Value*, Value*> NestEmitter::vectors(Value* acc, Value* begin, Value* end, int lanes,
                                               const std::function<Value*(Value*, Value*)>& body) {
    BasicBlock *from = b_.GetInsertBlock(), *head = block("vector"), *exit = block("combine");
    Value* last = b_.CreateSub(end, i64(lanes));
    b_.CreateCondBr(b_.CreateICmpSLE(begin, last), head, exit);
    b_.SetInsertPoint(head);
    llvm::PHINode *k = b_.CreatePHI(b_.getInt64Ty(), 2), *a = b_.CreatePHI(acc->getType(), 2);
    k->addIncoming(begin, from);
    a->addIncoming(acc, from);
    Value* r = body(a, k);
    Value* next = b_.CreateAdd(k, i64(lanes));
    BasicBlock* latch = b_.GetInsertBlock();
    k->addIncoming(next, latch);
    a->addIncoming(r, latch);
    b_.CreateCondBr(b_.CreateICmpSLE(next, last), head, exit);
    b_.SetInsertPoint(exit);
    llvm::PHINode *out = b_.CreatePHI(acc->getType(), 2), *at = b_.CreatePHI(b_.getInt64Ty(), 2);
    out->addIncoming(acc, from);
    out->addIncoming(r, latch);
    at->addIncoming(begin, from);
    at->addIncoming(next, latch);
    return {out, at};
}

// Reductions that do not depend on the order.
Value* NestEmitter::run_lanes(int i, Value* acc, Value* begin, Value* end) {
    const Stmt& s = n_.stmts[i];
    bool logic = s.dtype == DType::Bool, absorbs = row_of(s).absorbs || logic;
    int lanes = pick_lanes(tree_of(i));
    if (lanes > 1) {
        llvm::Type* wide = lanes_type(acc->getType(), lanes);
        uint64_t identity = s.name == "multiply";
        Value* start = absorbs ? b_.CreateVectorSplat(static_cast<unsigned>(lanes), acc)
                               : static_cast<Value*>(llvm::ConstantInt::get(wide, identity));
        auto [sum, next] = vectors(start, begin, end, lanes, [&](Value* a, Value* k) {
            return combine(s, lanes, {a, logic}, operand_of(i, lanes, k)).v;
        });
        acc = combine(s, 1, {acc, logic}, {horizontal(s, sum, lanes), logic}).v;
        begin = next;
    }
    return run_scalar(i, acc, begin, end);
}

// Float maximum and minimum as NumPy's SIMD loop: steps of eight registers, then of one, then the lanes of
// the accumulator, then the rest.
Value* NestEmitter::run_extremum(int i, Value* acc, Value* begin, Value* end) {
    const Stmt& s = n_.stmts[i];
    // As wide as NumPy's, which may do without what this processor has.
    const int bits = s.slot > 0 ? s.slot : o_.vector_bits;
    int lanes = bits / 8 / graph::info(s.dtype).size;
    bool light = tree_of(i).size() <= 4;
    auto f = [&](Value* a, Value* b, int n) { return combine(s, n, {a, false}, {b, false}).v; };
    auto eight = [&](Value* a, Value* k) {
        Value* v[8];
        Value* all = light ? operand_of(i, 8 * lanes, k).v : nullptr;
        for (int j = 0; j < 8; ++j)
            v[j] = light ? b_.CreateShuffleVector(all, lanes_from(j * lanes, lanes))
                         : operand_of(i, lanes, b_.CreateAdd(k, i64(j * lanes))).v;
        Value* low = f(f(v[0], v[1], lanes), f(v[2], v[3], lanes), lanes);
        Value* high = f(f(v[4], v[5], lanes), f(v[6], v[7], lanes), lanes);
        return f(a, f(low, high, lanes), lanes);
    };
    Value* a = b_.CreateVectorSplat(static_cast<unsigned>(lanes), acc);
    Value* at = begin;
    std::tie(a, at) = vectors(a, at, end, 8 * lanes, eight);
    std::tie(a, at) = vectors(a, at, end, lanes,
                              [&](Value* x, Value* k) { return f(x, operand_of(i, lanes, k).v, lanes); });
    // The order in which lanes meet: with AVX-512 the upper half first, down to 128 bits, as GCC's reduce
    // intrinsics.
    int swap_above = bits == 512 ? 16 / graph::info(s.dtype).size : lanes;
    for (int n = lanes; n > 1; n /= 2) {
        Value* low = n == 2 ? b_.CreateExtractElement(a, b_.getInt64(0))
                            : b_.CreateShuffleVector(a, lanes_from(0, n / 2));
        Value* high = n == 2 ? b_.CreateExtractElement(a, b_.getInt64(1))
                             : b_.CreateShuffleVector(a, lanes_from(n / 2, n / 2));
        a = n > swap_above ? f(high, low, n / 2) : f(low, high, n / 2);
    }
    Value* nan = b_.CreateAnd(b_.CreateFCmpUNO(a, a), b_.CreateICmpSLT(begin, end));
    a = b_.CreateSelect(nan, llvm::ConstantFP::getNaN(a->getType()), a);
    return run_scalar(i, a, at, end);
}

// At most 128 elements from `at`.
Value* NestEmitter::pairwise_leaf(int i, Value* at, Value* n) {
    const Stmt& s = n_.stmts[i];
    llvm::Type* t = element_type(c_, s.dtype);
    BasicBlock *few = b_.GetInsertBlock(), *many = block("eight"), *rest = block("few");
    b_.CreateCondBr(b_.CreateICmpSLT(n, i64(8)), rest, many);
    b_.SetInsertPoint(many);
    Value* end = b_.CreateAdd(at, n);
    auto [r, behind] =
        vectors(operand_of(i, 8, at).v, b_.CreateAdd(at, i64(8)), end, 8,
                [&](Value* a, Value* k) { return combine(s, 8, {a, false}, operand_of(i, 8, k)).v; });
    Value* sum = r;
    for (int lanes = 8; lanes > 2; lanes /= 2)
        sum = b_.CreateFAdd(b_.CreateShuffleVector(sum, lanes_from(0, lanes / 2, 2)),
                            b_.CreateShuffleVector(sum, lanes_from(1, lanes / 2, 2)));
    sum = b_.CreateFAdd(b_.CreateExtractElement(sum, b_.getInt64(0)),
                        b_.CreateExtractElement(sum, b_.getInt64(1)));
    BasicBlock* done = b_.GetInsertBlock();
    b_.CreateBr(rest);
    b_.SetInsertPoint(rest);
    llvm::PHINode *acc = b_.CreatePHI(t, 2), *k = b_.CreatePHI(b_.getInt64Ty(), 2);
    acc->addIncoming(llvm::ConstantFP::get(t, -0.0), few);
    acc->addIncoming(sum, done);
    k->addIncoming(at, few);
    k->addIncoming(behind, done);
    return run_scalar(i, acc, k, b_.CreateAdd(at, n));
}

// The sum of n elements from index 0; the stack holds the lengths of right halves (-1: done) and sums of left
// ones.
Value* NestEmitter::run_pairwise(int i, Value* n) {
    llvm::Type *i64t = b_.getInt64Ty(), *t = element_type(c_, n_.stmts[i].dtype);
    llvm::AllocaInst *right = slot(llvm::ArrayType::get(i64t, 64), "right"),
                     *left = slot(llvm::ArrayType::get(t, 64), "left");
    BasicBlock *from = b_.GetInsertBlock(), *descend = block("descend"), *push = block("push"),
               *leaf = block("leaf"), *ascend = block("ascend"), *top = block("top"), *pop = block("pop"),
               *turn = block("turn"), *finish = block("finish");
    b_.CreateBr(descend);
    b_.SetInsertPoint(descend);
    llvm::PHINode *at = b_.CreatePHI(i64t, 3), *len = b_.CreatePHI(i64t, 3), *sp = b_.CreatePHI(i64t, 3);
    b_.CreateCondBr(b_.CreateICmpSGT(len, i64(128)), push, leaf);

    b_.SetInsertPoint(push);
    Value* half = b_.CreateAnd(b_.CreateLShr(len, i64(1)), i64(~int64_t{7}));
    b_.CreateStore(b_.CreateSub(len, half), b_.CreateGEP(i64t, right, sp));
    Value* deeper = b_.CreateAdd(sp, i64(1));
    b_.CreateBr(descend);

    b_.SetInsertPoint(leaf);
    Value* sum = pairwise_leaf(i, at, len);
    Value* behind = b_.CreateAdd(at, len);
    BasicBlock* leaf_end = b_.GetInsertBlock();
    b_.CreateBr(ascend);

    b_.SetInsertPoint(ascend);
    llvm::PHINode *s = b_.CreatePHI(t, 2), *level = b_.CreatePHI(i64t, 2);
    b_.CreateCondBr(b_.CreateICmpEQ(level, i64(0)), finish, top);

    b_.SetInsertPoint(top);
    Value* below = b_.CreateSub(level, i64(1));
    Value *right_slot = b_.CreateGEP(i64t, right, below), *left_slot = b_.CreateGEP(t, left, below);
    Value* todo = b_.CreateLoad(i64t, right_slot);
    b_.CreateCondBr(b_.CreateICmpSLT(todo, i64(0)), pop, turn);

    b_.SetInsertPoint(pop);
    Value* both = b_.CreateFAdd(b_.CreateLoad(t, left_slot), s);
    b_.CreateBr(ascend);

    b_.SetInsertPoint(turn);
    b_.CreateStore(s, left_slot);
    b_.CreateStore(i64(-1), right_slot);
    b_.CreateBr(descend);

    auto edge = [](llvm::PHINode* phi, Value* v, BasicBlock* block) { phi->addIncoming(v, block); };
    edge(at, i64(0), from), edge(len, n, from), edge(sp, i64(0), from);
    edge(at, at, push), edge(len, half, push), edge(sp, deeper, push);
    edge(at, behind, turn), edge(len, todo, turn), edge(sp, level, turn);
    edge(s, sum, leaf_end), edge(level, sp, leaf_end);
    edge(s, both, pop), edge(level, below, pop);
    b_.SetInsertPoint(finish);
    return s;
}

// The host's loop over `count` elements of memory, with one accumulator or (sequential) one for each.
void NestEmitter::run_host(int i, Value* acc, Value* acc_stride, Value* begin, Value* count) {
    const Stmt& s = n_.stmts[i];
    auto* pointers = llvm::ArrayType::get(b_.getPtrTy(), 3);
    auto* numbers = llvm::ArrayType::get(b_.getInt64Ty(), 3);
    llvm::AllocaInst *args = slot(pointers, "args"), *strides = slot(numbers, "strides");
    HostOperand x = host_operand(s.in[0], begin);
    Value* address[] = {acc, x.address, acc};
    Value* stride[] = {acc_stride, x.stride, acc_stride};
    for (uint64_t k = 0; k < 3; ++k) {
        b_.CreateStore(address[k], b_.CreateConstInBoundsGEP2_64(pointers, args, 0, k));
        b_.CreateStore(stride[k], b_.CreateConstInBoundsGEP2_64(numbers, strides, 0, k));
    }
    call_loop(find_loop(p_, host_loop_of(n_, i)), args, count, strides, 15);
}

Val NestEmitter::reduce_run(int i) {
    const Stmt& s = n_.stmts[i];
    bool logic = s.dtype == DType::Bool, first = s.start == ReduceStart::First;
    llvm::AllocaInst* acc = slot(accumulator_type(s), "acc");
    b_.CreateStore(start_value(i).v, acc);
    int last = n_.full_depth() - 1;
    loops(n_.parallel_axes(), last, [&] {
        prepare_rows(false);
        auto [begin, end] = range(inner_);
        if (first) begin = first_index();
        if (by_host(s)) return run_host(i, acc, i64(0), begin, b_.CreateSub(end, begin));
        Value* a = b_.CreateLoad(accumulator_type(s), acc);
        if (!graph::is_float(s.dtype))
            a = run_lanes(i, a, begin, end);
        else if (s.name == "add")
            a = b_.CreateFAdd(a, run_pairwise(i, end));
        else if (row_of(s).absorbs)
            a = run_extremum(i, a, begin, end);
        else
            a = run_scalar(i, a, begin, end);
        b_.CreateStore(a, acc);
    });
    return {b_.CreateLoad(accumulator_type(s), acc), logic};
}

// ---- positions ----

// The operand of reduction i as masks (b1) or plain values.
Val NestEmitter::arg_operand(int i, int lanes, Value* index) {
    OpContext c{b_, o_, lanes, faults_};
    Val x = operand_of(i, lanes, index);
    return n_.stmts[n_.stmts[i].in[0]].dtype == DType::Bool ? Val{as_mask(c, x), true} : x;
}

// Two passes: the extremum in any order (NaN wins), then the first element that is equal to it or NaN.
Val NestEmitter::arg_reduce(int i) {
    Stmt value = n_.stmts[i];
    value.dtype = n_.stmts[value.in[0]].dtype;
    value.name = value.name == "argmax" ? "maximum" : "minimum";
    bool logic = value.dtype == DType::Bool;
    llvm::AllocaInst* best = slot(accumulator_type(value), "best");
    int parallel = n_.parallel_axes(), last = n_.full_depth() - 1;
    for (int k = parallel; k <= last; ++k) {
        index_of_[order_[static_cast<size_t>(k)]] = i64(0);
        if (k < last) emit_level(k);
    }
    prepare_rows(false);
    b_.CreateStore(arg_operand(i, 1, i64(0)).v, best);
    int lanes = std::max(1, pick_lanes(tree_of(i)));
    loops(parallel, last, [&] {
        prepare_rows(false);
        auto [begin, end] = range(inner_);
        Value *a = b_.CreateLoad(accumulator_type(value), best), *at = begin;
        if (lanes > 1) {
            Value* wide = b_.CreateVectorSplat(static_cast<unsigned>(lanes), a);
            std::tie(wide, at) = vectors(wide, begin, end, lanes, [&](Value* acc, Value* k) {
                return combine(value, lanes, {acc, logic}, arg_operand(i, lanes, k)).v;
            });
            a = horizontal(value, wide, lanes);
        }
        b_.CreateStore(a, best);
        Loop l = open_loop(at, end, "rest");
        Value* so_far = b_.CreateLoad(accumulator_type(value), best);
        b_.CreateStore(combine(value, 1, {so_far, logic}, arg_operand(i, 1, l.index)).v, best);
        close_loop(l, i64(1));
    });
    return {find_first(i, {b_.CreateLoad(accumulator_type(value), best), logic}, lanes), false};
}

// The flat position, in C order of the reduced axes, of the first element that is `target` or NaN.
Value* NestEmitter::find_first(int i, Val target, int lanes) {
    DType t = n_.stmts[n_.stmts[i].in[0]].dtype;
    llvm::AllocaInst* position = slot(b_.getInt64Ty(), "position");
    BasicBlock* found = block("found");
    b_.CreateStore(i64(0), position);
    auto leave_where = [&](int n, Value* base, Value* k) {
        OpContext c{b_, o_, n, faults_};
        Val x = arg_operand(i, n, k);
        Value* m = compute(c, Op::Equal, t, DType::Bool, {x, splat(c, target)}).v;
        if (graph::is_float(t)) m = b_.CreateOr(m, compute(c, Op::IsNan, t, DType::Bool, {x}).v);
        BasicBlock *hit = block("hit"), *miss = block("miss");
        b_.CreateCondBr(n > 1 ? b_.CreateOrReduce(m) : m, hit, miss);
        b_.SetInsertPoint(hit);
        Value* lane = i64(0);
        if (n > 1) {
            Value* bits = b_.CreateBitCast(m, b_.getIntNTy(static_cast<unsigned>(n)));
            lane = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b_.getTrue());
            lane = b_.CreateZExtOrTrunc(lane, b_.getInt64Ty());
        }
        b_.CreateStore(b_.CreateAdd(base, b_.CreateAdd(k, lane)), position);
        b_.CreateBr(found);
        b_.SetInsertPoint(miss);
    };
    loops(n_.parallel_axes(), n_.full_depth() - 1, [&] {
        prepare_rows(false);
        auto [begin, end] = range(inner_);
        Value *base = b_.CreateLoad(b_.getInt64Ty(), position), *at = begin, *unused = i64(0);
        if (lanes > 1)
            std::tie(unused, at) = vectors(unused, begin, end, lanes, [&](Value* a, Value* k) {
                leave_where(lanes, base, k);
                return a;
            });
        Loop l = open_loop(at, end, "rest");
        leave_where(1, base, l.index);
        close_loop(l, i64(1));
        b_.CreateStore(b_.CreateAdd(base, end), position);
    });
    b_.CreateStore(i64(0), position);  // not reached: a non-empty operand has an extremum
    b_.CreateBr(found);
    b_.SetInsertPoint(found);
    return b_.CreateLoad(b_.getInt64Ty(), position);
}

// ---- nests ----

void NestEmitter::emit_runs() {
    int parallel = n_.parallel_axes();
    loops(0, parallel, [&] {
        int n = static_cast<int>(n_.stmts.size());
        for (int i = 0; i < n; ++i) {
            const Stmt& s = n_.stmts[i];
            if (s.kind == StmtKind::Reduce)
                outer_[i] = reduce_run(i);
            else if (s.kind == StmtKind::ArgReduce)
                outer_[i] = arg_reduce(i);
            else if (after_[i])
                outer_[i] = eval_here(i, 1, nullptr, outer_);
        }
    });
}

// One reduction over a chunk of the innermost axis; accumulators in scratch.
void NestEmitter::reduce_chunk(int i, Value* acc, Value* begin, Value* stop) {
    const Stmt& s = n_.stmts[i];
    int parallel = n_.parallel_axes(), full = n_.full_depth();
    llvm::Type* t = element_type(c_, s.dtype);
    bool logic = s.dtype == DType::Bool, first = s.start == ReduceStart::First;
    auto address = [&](Value* index) { return b_.CreateGEP(t, acc, b_.CreateSub(index, begin)); };
    auto put = [&](Val v, int lanes, Value* index) {
        OpContext c{b_, o_, lanes, faults_};
        b_.CreateAlignedStore(logic ? as_bytes(c, v) : v.v, address(index),
                              llvm::Align(static_cast<uint64_t>(align_of(s.dtype))));
    };
    if (first) {
        for (int k = parallel - 1; k + 1 < full; ++k) {
            index_of_[order_[static_cast<size_t>(k)]] = i64(0);
            emit_level(k);
        }
        prepare_rows(false);
    }
    std::vector<int> tree = tree_of(i);
    int lanes = std::max(1, pick_lanes(tree));
    span(begin, stop, lanes, false, [&](int n, Value* index) {
        OpContext c{b_, o_, n, faults_};
        put(first ? operand_of(i, n, index) : splat(c, outer_[s.in[1]]), n, index);
    });
    skip_first_ = first ? order_[static_cast<size_t>(full - 2)] : -1;
    loops(parallel - 1, full - 1, [&] {
        prepare_rows(false);
        if (by_host(s))
            return run_host(i, acc, i64(graph::info(s.dtype).size), begin, b_.CreateSub(stop, begin));
        span(begin, stop, lanes, false, [&](int n, Value* index) {
            OpContext c{b_, o_, n, faults_};
            Val a{load_vector(t, address(index), n, align_of(s.dtype)), false};
            put(combine(s, n, logic ? Val{as_mask(c, a), true} : a, operand_of(i, n, index)), n, index);
        });
    });
    skip_first_ = -1;
}

void NestEmitter::emit_sequential() {
    int parallel = n_.parallel_axes(), n = static_cast<int>(n_.stmts.size());
    ChunkPlan plan = plan_chunks(n_);
    loops(0, parallel - 1, [&] {
        auto [begin, end] = range(inner_);
        Loop l = open_loop(begin, end, "chunk");
        Value* full = b_.CreateAdd(l.index, i64(kChunkElements));
        Value* stop = b_.CreateSelect(b_.CreateICmpSLT(full, end), full, end);
        std::vector<Value*> acc(static_cast<size_t>(n), nullptr);
        std::vector<int> after;
        for (int i = 0; i < n; ++i) {
            if (n_.stmts[i].kind == StmtKind::Reduce) {
                acc[static_cast<size_t>(i)] = b_.CreateConstInBoundsGEP1_64(
                    b_.getInt8Ty(), scratch_, static_cast<uint64_t>(plan.offset[static_cast<size_t>(i)]));
                reduce_chunk(i, acc[static_cast<size_t>(i)], l.index, stop);
            } else if (after_[i]) {
                after.push_back(i);
            }
        }
        prepare_rows(true);
        span(l.index, stop, pick_lanes(after), false, [&](int lanes, Value* index) {
            std::vector<Val> vals(static_cast<size_t>(n));
            for (int i = 0; i < n; ++i) {
                if (!acc[static_cast<size_t>(i)]) continue;
                llvm::Type* t = element_type(c_, n_.stmts[i].dtype);
                Value* p = b_.CreateGEP(t, acc[static_cast<size_t>(i)], b_.CreateSub(index, l.index));
                vals[static_cast<size_t>(i)] = {load_vector(t, p, lanes, align_of(n_.stmts[i].dtype)), false};
            }
            emit_body(lanes, index, after, vals);
        });
        close_loop(l, i64(kChunkElements));
    });
}

void NestEmitter::emit_reduction() {
    emit_level(-1);
    bool sequential = !order_.empty() && n_.axes[static_cast<size_t>(inner_)].kind == AxisKind::Parallel;
    if (sequential)
        emit_sequential();
    else
        emit_runs();
}

}  // namespace stator::kernels::emit
