// Dots. Where the order of the BLAS is known they are code of their own, with its bits: one result at a time,
// or, of a dot whose neighbours are found in the next iterations of its loop (regions/dots.h), a few vectors
// of results at a time, which wait on the stack until they are asked for. All else is a call.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/llvm/regions/internal.h"
#include "kernels/llvm/regions/region.h"

namespace stator::kernels::emit {

using graph::DotOrder;
using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr int kVectors = 4;  // of results, where there are so many; else one

// Of the vector that the next dot of a loop is going to read, the first bytes are asked for early: until a
// processor has seen by itself where it lies, a dot of a thousand elements is half done. Shorter ones are
// done before that memory comes.
constexpr int64_t kLine = 64, kAhead = 16 * kLine, kWorthAhead = 2048;  // bytes

// Strides for which NumPy calls the BLAS as it is: positive multiples of an element, in any C int.
int64_t odd_strides(int64_t size) { return ~((int64_t{1} << 31) - size); }

}  // namespace

Val RegionEmitter::dot(const Inst& i) {
    const RegionVal &x = value(i.in[0]), &y = value(i.in[1]);
    if (i.ints.size() < 2) return {dot_call(i), false};
    // np.dot takes vectors of one element for numbers.
    const bool numbers = r_.calls[static_cast<size_t>(i.ints[0])].name == "np.dot";
    const DotOperands d{
        &x, &y, x.extents[0], type(i.result).dtype, DotOrder::decode(i.ints[1]), numbers ? 2 : 1};
    const auto ahead = ahead_.find(here_);
    return {ahead == ahead_.end() ? dot_alone(i, d) : dot_ahead(i, d, ahead->second), false};
}

// NumPy's dot does not call the function for empty vectors.
Value* RegionEmitter::dot_call(const Inst& i) {
    const RegionVal &x = value(i.in[0]), &y = value(i.in[1]);
    llvm::Type* elt = element_type(c_, type(i.result).dtype);
    auto* cell = slot(elt, "dot");
    cell->setAlignment(llvm::Align(16));
    b_.CreateStore(llvm::Constant::getNullValue(elt), cell);
    BasicBlock *some = new_block("some"), *done = new_block("called");
    b_.CreateCondBr(b_.CreateICmpSGT(x.extents[0], i64(0)), some, done);
    b_.SetInsertPoint(some);
    ask_ahead(x, y, graph::info(type(i.result).dtype).size);
    llvm::Type *ptr = b_.getPtrTy(), *n = b_.getInt64Ty();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, n, ptr, n, ptr, n, ptr}, false);
    b_.CreateCall(type, call_function(static_cast<int>(i.ints[0])),
                  {x.address, x.strides[0], y.address, y.strides[0], cell, x.extents[0],
                   llvm::ConstantPointerNull::get(b_.getPtrTy())})
        ->setDoesNotThrow();
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    return b_.CreateLoad(elt, cell);
}

// Where the operands of the next dot here lie is guessed: as far from these as these are from those before.
void RegionEmitter::ask_ahead(const RegionVal& x, const RegionVal& y, int64_t size) {
    BasicBlock *ask = new_block("ask"), *asked = new_block("asked");
    b_.CreateCondBr(b_.CreateICmpUGE(x.extents[0], i64(kWorthAhead / size)), ask, asked);
    b_.SetInsertPoint(ask);
    for (const RegionVal* v : {&x, &y}) {
        llvm::Type* state = llvm::ArrayType::get(b_.getInt64Ty(), 2);
        auto* seen = slot(state, "seen");
        Builder behind(seen->getParent(), std::next(seen->getIterator()));
        behind.CreateStore(llvm::Constant::getNullValue(state), seen);
        b_.CreateCall(asking_function(), {v->address, seen});
    }
    b_.CreateBr(asked);
    b_.SetInsertPoint(asked);
}

// Of an address and of what was seen here so far: the address before, and its distance from the one before
// that. Where vectors do not follow each other evenly nothing is asked for.
llvm::Function* RegionEmitter::asking_function() {
    llvm::Function*& f = dots_["ask ahead"];
    if (f) return f;
    llvm::Type *ptr = b_.getPtrTy(), *word = b_.getInt64Ty();
    f = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr}, false),
                               llvm::Function::InternalLinkage, o_.prefix + "_ask", m_);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->addFnAttr(llvm::Attribute::NoInline);
    f->addFnAttr(kScalarWork);
    f->setOnlyAccessesArgMemory();  // what else it asks for, it does not read
    const Builder::InsertPointGuard here(b_);
    llvm::Function* const caller = std::exchange(f_, f);
    Value *at = f->getArg(0), *seen = f->getArg(1);
    BasicBlock *entry = new_block("entry"), *line = new_block("line"), *done = new_block("done");
    b_.SetInsertPoint(entry);
    Value *last = seen, *step = b_.CreateConstInBoundsGEP1_64(word, seen, 1);
    Value* now = b_.CreatePtrToInt(at, word);
    Value* distance = b_.CreateSub(now, b_.CreateLoad(word, last));
    Value* even = b_.CreateICmpEQ(distance, b_.CreateLoad(word, step));
    b_.CreateStore(now, last);
    b_.CreateStore(distance, step);
    Value* first = b_.CreateGEP(b_.getInt8Ty(), at, distance);
    b_.CreateCondBr(b_.CreateAnd(even, b_.CreateICmpNE(distance, i64(0))), line, done);
    b_.SetInsertPoint(line);
    auto* offset = b_.CreatePHI(word, 2);
    constexpr int kRead = 0, kKeep = 3, kData = 1;
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ptr},
                       {b_.CreateGEP(b_.getInt8Ty(), first, offset), b_.getInt32(kRead), b_.getInt32(kKeep),
                        b_.getInt32(kData)});
    Value* next = b_.CreateAdd(offset, i64(kLine));
    offset->addIncoming(i64(0), entry);
    offset->addIncoming(next, line);
    b_.CreateCondBr(b_.CreateICmpULT(next, i64(kAhead)), line, done);
    b_.SetInsertPoint(done);
    b_.CreateRetVoid();
    f_ = caller;
    return f;
}

// Whether the order is known for these lengths and strides.
Value* RegionEmitter::keeps_order(const DotOperands& d) {
    const int64_t size = graph::info(d.dtype).size;
    Value *dx = d.x->strides[0], *dy = d.y->strides[0], *both = b_.CreateOr(dx, dy);
    Value* length =
        b_.CreateICmpULT(b_.CreateSub(d.n, i64(d.shortest)), i64(DotOrder::kLongest - d.shortest + 1));
    Value* plain = b_.CreateICmpEQ(b_.CreateAnd(both, i64(odd_strides(size))), i64(0));
    Value* moving = b_.CreateAnd(b_.CreateICmpNE(dx, i64(0)), b_.CreateICmpNE(dy, i64(0)));
    Value* apart = b_.CreateOr(b_.CreateICmpNE(dx, i64(size)), b_.CreateICmpNE(dy, i64(size)));
    return b_.CreateAnd(b_.CreateAnd(length, plain), b_.CreateAnd(moving, apart));
}

Value* RegionEmitter::dot_alone(const Inst& i, const DotOperands& d) {
    BasicBlock *own = new_block("dot"), *other = new_block("call"), *done = new_block("dotted");
    b_.CreateCondBr(keeps_order(d), own, other);
    b_.SetInsertPoint(own);
    auto* mine = b_.CreateCall(dot_function(d.dtype, d.order, 1, 1),
                               {d.x->address, d.x->strides[0], d.y->address, d.y->strides[0], d.n});
    b_.CreateBr(done);
    b_.SetInsertPoint(other);
    Value* called = dot_call(i);
    BasicBlock* from = b_.GetInsertBlock();
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    auto* result = b_.CreatePHI(mine->getType(), 2);
    result->addIncoming(mine, own);
    result->addIncoming(called, from);
    return result;
}

// Results are kept for consecutive places of the axis: `first` is that of the first one, as the counter (and
// not an index that wraps) sees it, so that none is used a second time when indices begin again.
Value* RegionEmitter::dot_ahead(const Inst& i, const DotOperands& operands, const DotAhead& ahead) {
    DotOperands d = operands;
    if (ahead.moving == 0) std::swap(d.x, d.y);  // y moves
    const Results& kept = results_.at(&ahead);
    llvm::Type *elt = element_type(c_, d.dtype), *word = b_.getInt64Ty();
    const int64_t size = graph::info(d.dtype).size;
    const int lanes = std::max(1, o_.vector_bits / 8 / static_cast<int>(size));
    auto* results = slot(llvm::ArrayType::get(elt, static_cast<uint64_t>(kVectors * lanes)), "dots");
    results->setAlignment(llvm::Align(64));
    BasicBlock *miss = new_block("miss"), *compare = new_block("compare"), *fill = new_block("fill"),
               *one = new_block("one"), *ready = new_block("ready"), *done = new_block("ahead");

    Value* counter = number(ahead.counter);
    if (ahead.index.sign < 0) counter = b_.CreateNeg(counter);
    Value* hit = b_.CreateSub(counter, b_.CreateLoad(word, kept.first));
    BasicBlock* begin = b_.GetInsertBlock();
    b_.CreateCondBr(b_.CreateICmpULT(hit, b_.CreateLoad(word, kept.count)), ready, miss);

    // How many are wanted, and whether there are so many places.
    b_.SetInsertPoint(miss);
    const RegionVal& whole = value(ahead.whole);
    const auto axis = static_cast<size_t>(ahead.axis);
    Value *extent = whole.extents[axis], *at = number(ahead.at);
    Value* way = number(ahead.step);
    if (ahead.index.sign < 0) way = b_.CreateNeg(way);
    Value *up = b_.CreateICmpEQ(way, i64(1)), *down = b_.CreateICmpEQ(way, i64(-1));
    Value* room = b_.CreateSelect(up, b_.CreateSub(extent, at), b_.CreateAdd(at, i64(1)));
    if (ahead.left >= 0) room = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, room, number(ahead.left));
    Value* many = b_.CreateAnd(b_.CreateICmpSGT(room, i64((kVectors - 1) * lanes)),
                               b_.CreateICmpSGE(extent, i64(kVectors * lanes)));
    Value* count = b_.CreateSelect(many, i64(kVectors * lanes), i64(lanes));
    Value* enough = b_.CreateAnd(b_.CreateICmpSGT(room, i64(1)), b_.CreateICmpSGE(extent, count));
    Value* adjacent = b_.CreateICmpEQ(whole.strides[axis], i64(size));
    Value* wanted =
        b_.CreateAnd(b_.CreateAnd(enough, adjacent), b_.CreateAnd(b_.CreateOr(up, down), keeps_order(d)));
    // Each place of the axis has elements of its own.
    for (size_t a = 0; a < whole.strides.size(); ++a)
        if (a != axis)
            wanted = b_.CreateAnd(
                wanted, b_.CreateICmpSGE(
                            b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, whole.strides[a], b_.getFalse()),
                            b_.CreateMul(extent, i64(size))));
    b_.CreateCondBr(wanted, compare, one);

    b_.SetInsertPoint(compare);
    // Those in front of the current place were asked for already and are not again.
    Value* first =
        b_.CreateSelect(up, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, b_.CreateSub(extent, count)),
                        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax,
                                                 b_.CreateSub(b_.CreateAdd(at, i64(1)), count), i64(0)));
    Value* before = b_.CreateSub(at, first);
    Value* more = b_.CreateSelect(up, b_.CreateSub(b_.CreateSub(count, i64(1)), before), before);
    Value* start = b_.CreateGEP(elt, d.y->address, b_.CreateNeg(before));
    const auto range = [&](Value* p, Value* stride, Value* width) {
        Value* low = b_.CreatePtrToInt(p, word);
        Value* last = b_.CreateAdd(low, b_.CreateMul(b_.CreateSub(d.n, i64(1)), stride));
        return std::pair(low, b_.CreateAdd(last, b_.CreateMul(width, i64(size))));
    };
    const auto [x_low, x_high] = range(d.x->address, d.x->strides[0], i64(1));
    const auto [y_low, y_high] = range(start, d.y->strides[0], count);
    Value* apart = b_.CreateAnd(compared_apart(ahead.from_staying, ahead, more, x_low, x_high),
                                compared_apart(ahead.from_moving, ahead, more, y_low, y_high));
    b_.CreateCondBr(apart, fill, one);

    b_.SetInsertPoint(fill);
    b_.CreateStore(b_.CreateSub(counter, before), kept.first);
    b_.CreateStore(count, kept.count);
    BasicBlock *wide = new_block("wide"), *narrow = new_block("narrow"), *filled = new_block("filled");
    b_.CreateCondBr(many, wide, narrow);
    for (const auto& [block, vectors] : {std::pair(wide, kVectors), std::pair(narrow, 1)}) {
        b_.SetInsertPoint(block);
        b_.CreateCall(dot_function(d.dtype, d.order, lanes, vectors),
                      {d.x->address, d.x->strides[0], start, d.y->strides[0], d.n, results});
        b_.CreateBr(filled);
    }
    b_.SetInsertPoint(filled);
    b_.CreateBr(ready);

    b_.SetInsertPoint(ready);
    auto* place = b_.CreatePHI(word, 2);
    place->addIncoming(hit, begin);
    place->addIncoming(before, filled);
    Value* found = b_.CreateLoad(elt, b_.CreateGEP(elt, results, place));
    b_.CreateBr(done);

    b_.SetInsertPoint(one);
    Value* alone = dot_alone(i, operands);
    BasicBlock* from = b_.GetInsertBlock();
    b_.CreateBr(done);

    b_.SetInsertPoint(done);
    auto* result = b_.CreatePHI(elt, 2);
    result->addIncoming(found, ready);
    result->addIncoming(alone, from);
    return result;
}

// Whether this and `more` iterations behind it store outside of [low, high) only.
Value* RegionEmitter::compared_apart(const std::vector<DotAhead::Apart>& stores, const DotAhead& ahead,
                                     Value* more, Value* low, Value* high) {
    Value* all = b_.getTrue();
    for (const DotAhead::Apart& s : stores) {
        const RegionVal& a = value(s.array);
        Value* p = b_.CreatePtrToInt(a.address, b_.getInt64Ty());
        Value* q = p;  // of the last iteration
        for (size_t d = 0; d < s.indices.size(); ++d) {
            const LoopIndex& x = s.indices[d];
            Value* index = i64(x.constant);
            for (const auto& [v, factor] : x.terms)
                index = b_.CreateAdd(index, b_.CreateMul(number(v), i64(factor)));
            index = b_.CreateAdd(index, b_.CreateMul(number(ahead.counter), i64(x.sign)));
            Value* last =
                b_.CreateAdd(index, b_.CreateMul(b_.CreateMul(number(ahead.step), i64(x.sign)), more));
            if (x.wraps >= 0) {
                Value* negative = b_.CreateICmpSLT(index, i64(0));
                all = b_.CreateAnd(all, b_.CreateICmpSGE(b_.CreateXor(index, last), i64(0)));
                Value* wrap = b_.CreateSelect(negative, number(x.wraps), i64(0));
                index = b_.CreateAdd(index, wrap);
                last = b_.CreateAdd(last, wrap);
            }
            p = b_.CreateAdd(p, b_.CreateMul(index, a.strides[d]));
            q = b_.CreateAdd(q, b_.CreateMul(last, a.strides[d]));
        }
        Value* from = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, p, q);
        Value* to = b_.CreateAdd(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, p, q),
                                 i64(graph::info(type(s.array).dtype).size));
        all = b_.CreateAnd(all, b_.CreateOr(b_.CreateICmpSLE(to, low), b_.CreateICmpSGE(from, high)));
    }
    return all;
}

// A loop that begins anew knows nothing of what was computed ahead before.
void RegionEmitter::forget_dots(BlockId from, const graph::Edge& to) {
    for (const auto& [where, ahead] : ahead_)
        if (to.to == r_.loops[static_cast<size_t>(ahead.loop)].header &&
            !graph::encloses(r_, ahead.loop, r_.blocks[static_cast<size_t>(from)].loop))
            b_.CreateStore(i64(0), results_.at(&ahead).count);
}

// Dots of x and of `lanes` * `vectors` vectors that begin side by side at y. One result is returned; several
// are written to where the last argument says.
llvm::Function* RegionEmitter::dot_function(DType t, const DotOrder& order, int lanes, int vectors) {
    const std::string key = std::to_string(static_cast<int>(t)) + " " + std::to_string(order.encode()) + " " +
                            std::to_string(lanes) + " " + std::to_string(vectors);
    llvm::Function*& f = dots_[key];
    if (f) return f;
    llvm::Type *ptr = b_.getPtrTy(), *word = b_.getInt64Ty(), *elt = element_type(c_, t);
    std::vector<llvm::Type*> types = {ptr, word, ptr, word, word};
    const bool several = lanes * vectors > 1;
    if (several) types.push_back(ptr);
    f = llvm::Function::Create(llvm::FunctionType::get(several ? b_.getVoidTy() : elt, types, false),
                               llvm::Function::InternalLinkage,
                               o_.prefix + "_dot" + std::to_string(dots_.size()), m_);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->addFnAttr(llvm::Attribute::WillReturn);
    f->addFnAttr(llvm::Attribute::NoInline);
    f->addFnAttr(kScalarWork);
    f->setOnlyAccessesArgMemory();
    if (!several) f->setOnlyReadsMemory();

    const Builder::InsertPointGuard here(b_);
    llvm::Function* const caller = std::exchange(f_, f);
    const auto count = static_cast<size_t>(vectors), sums = static_cast<size_t>(order.sums);
    llvm::Type* vector = lanes_type(elt, lanes);
    llvm::Type* sum_type = order.wide ? lanes_type(b_.getDoubleTy(), lanes) : vector;
    const llvm::Align align(static_cast<uint64_t>(graph::info(t).size));
    Value *x = f->getArg(0), *dx = f->getArg(1), *y = f->getArg(2), *dy = f->getArg(3), *n = f->getArg(4);
    b_.SetInsertPoint(new_block("entry"));
    std::vector<Value*> acc(sums * count, llvm::Constant::getNullValue(sum_type));

    const auto move = [&](Value* p, Value* stride, int64_t times) {
        return b_.CreateGEP(b_.getInt8Ty(), p, b_.CreateMul(stride, i64(times)));
    };
    const auto multiply_add = [&](Value* a, Value* b, Value* c, bool fused) -> Value* {
        if (fused) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
        return b_.CreateFAdd(c, b_.CreateFMul(a, b));
    };
    const auto load_x = [&](Value* p) -> Value* {
        Value* v = b_.CreateAlignedLoad(elt, p, align);
        return lanes > 1 ? b_.CreateVectorSplat(static_cast<unsigned>(lanes), v) : v;
    };
    const auto load_y = [&](Value* p, size_t u) {
        return b_.CreateAlignedLoad(
            vector, b_.CreateConstInBoundsGEP1_64(vector, p, static_cast<uint64_t>(u)), align);
    };
    const auto add = [&](Value*& to, Value* v) {
        to = b_.CreateFAdd(to, order.wide ? b_.CreateFPExt(v, sum_type) : v);
    };
    // One step: to sums [0, terms * ...) elements of both.
    const auto step = [&](Value* px, Value* py, int block) {
        const auto used = static_cast<size_t>(block == 1 ? 1 : order.sums);
        const int terms = block / static_cast<int>(used);
        for (size_t s = 0; s < used; ++s) {
            const auto e = static_cast<int64_t>(s);
            Value *x0 = load_x(move(px, dx, e)), *x1 = nullptr;
            if (terms == 2) x1 = load_x(move(px, dx, e + order.sums));
            for (size_t u = 0; u < count; ++u) {
                Value*& to = acc[s * count + u];
                Value* y0 = load_y(move(py, dy, e), u);
                if (terms == 1) {
                    const bool fused = block == 1 ? order.fused_rest : order.fused == DotOrder::First;
                    if (order.wide)
                        add(to, b_.CreateFMul(x0, y0));
                    else
                        to = multiply_add(x0, y0, to, fused);
                    continue;
                }
                Value* y1 = load_y(move(py, dy, e + order.sums), u);
                if (order.fused == DotOrder::First)
                    add(to, multiply_add(x0, y0, b_.CreateFMul(x1, y1), true));
                else
                    add(to, multiply_add(x1, y1, b_.CreateFMul(x0, y0), order.fused == DotOrder::Second));
            }
        }
    };
    const auto loop = [&](Value* times, int block) {
        BasicBlock *head = new_block("step"), *exit = new_block("stepped"), *from = b_.GetInsertBlock();
        b_.CreateCondBr(b_.CreateICmpSGT(times, i64(0)), head, exit);
        b_.SetInsertPoint(head);
        const std::vector<Value*> start = acc;
        std::vector<llvm::PHINode*> in;
        auto *left = b_.CreatePHI(word, 2), *px = b_.CreatePHI(ptr, 2), *py = b_.CreatePHI(ptr, 2);
        for (Value*& a : acc) {
            in.push_back(b_.CreatePHI(sum_type, 2));
            a = in.back();
        }
        step(px, py, block);
        Value *next_x = move(px, dx, block), *next_y = move(py, dy, block),
              *fewer = b_.CreateSub(left, i64(1));
        left->addIncoming(times, from), left->addIncoming(fewer, head);
        px->addIncoming(x, from), px->addIncoming(next_x, head);
        py->addIncoming(y, from), py->addIncoming(next_y, head);
        for (size_t k = 0; k < acc.size(); ++k)
            in[k]->addIncoming(start[k], from), in[k]->addIncoming(acc[k], head);
        b_.CreateCondBr(b_.CreateICmpSGT(fewer, i64(0)), head, exit);
        b_.SetInsertPoint(exit);
        const auto behind = [&](Value* none, Value* some) {
            auto* phi = b_.CreatePHI(none->getType(), 2);
            phi->addIncoming(none, from);
            phi->addIncoming(some, head);
            return phi;
        };
        for (size_t k = 0; k < acc.size(); ++k) acc[k] = behind(start[k], acc[k]);
        Value *x_behind = behind(x, next_x), *y_behind = behind(y, next_y);
        x = x_behind, y = y_behind;
    };
    if (order.block > 1) {
        loop(b_.CreateUDiv(n, i64(order.block)), order.block);
        n = b_.CreateURem(n, i64(order.block));
    }
    loop(n, 1);
    std::vector<Value*> results;
    for (size_t u = 0; u < count; ++u) {
        Value* r = acc[u];
        if (sums == 2) r = b_.CreateFAdd(r, acc[count + u]);
        results.push_back(order.wide ? b_.CreateFPTrunc(r, vector) : r);
    }
    if (several) {
        for (size_t u = 0; u < count; ++u)
            b_.CreateAlignedStore(
                results[u], b_.CreateConstInBoundsGEP1_64(vector, f->getArg(5), static_cast<uint64_t>(u)),
                align);
        b_.CreateRetVoid();
    } else {
        b_.CreateRet(results[0]);
    }
    f_ = caller;
    return f;
}

}  // namespace stator::kernels::emit
