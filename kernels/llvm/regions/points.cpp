// Bodies of nests, at one point or at neighbours that share vectors.
//
// Behind a `when` lanes whose point it does not hold for compute one of the others' once more, so they raise
// no flag that this one does not raise, and they store nothing; where it holds for none, all of it is jumped
// over. Both parts of complex numbers are loaded, and stored, as one vector of twice the lanes.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <numeric>

#include "kernels/llvm/regions/nest.h"

namespace stator::kernels::emit {

namespace {

llvm::FixedVectorType* vector_of(llvm::Type* t, int lanes) {
    return llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes));
}

// Before LLVM 20 the alignment is no argument of these two.
void compress_store(llvm::IRBuilder<>& b, Value* bits, Value* to, llvm::Align align, Value* mask) {
#if LLVM_VERSION_MAJOR >= 20
    b.CreateMaskedCompressStore(bits, to, align, mask);
#else
    llvm::CallInst* call = b.CreateMaskedCompressStore(bits, to, mask);
    call->addParamAttr(1, llvm::Attribute::getWithAlignment(b.getContext(), align));
#endif
}

Value* expand_load(llvm::IRBuilder<>& b, llvm::Type* type, Value* from, llvm::Align align, Value* mask,
                   Value* others) {
#if LLVM_VERSION_MAJOR >= 20
    return b.CreateMaskedExpandLoad(type, from, align, mask, others);
#else
    llvm::CallInst* call = b.CreateMaskedExpandLoad(type, from, mask, others);
    call->addParamAttr(0, llvm::Attribute::getWithAlignment(b.getContext(), align));
    return call;
#endif
}

}  // namespace

void RegionNest::body(Points p) {
    if (sum_) return sum(p);
    BasicBlock* next = nullptr;
    complex_.clear();
    for (size_t k = 0; k < body_.insts.size(); ++k) {
        if (!in_phase(k)) continue;
        if (body_.insts[k].op == RegionOp::NestWhen) {
            next = when(k, p);
            continue;
        }
        const LoopCall* call = loop_call(k);
        if (call && call == &loop_calls_[std::min(phase_, loop_calls_.size() - 1)] &&
            phase_ < loop_calls_.size()) {
            pass_operands(*call, p);
            break;
        }
        const Val v = call ? loop_result(*call, p) : evaluate(k, p);
        if (body_.insts[k].result >= 0) vals_[static_cast<size_t>(body_.insts[k].result)] = v;
    }
    std::fill(vals_.begin(), vals_.end(), Val{});
    if (!next) return;
    if (count_ && phase_ == loop_calls_.size()) {
        Value* passed = i64(1);
        if (p.lanes > 1) {
            Value* bits = b_.CreateBitCast(p.mask, b_.getIntNTy(static_cast<unsigned>(p.lanes)));
            passed =
                b_.CreateZExtOrTrunc(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits), b_.getInt64Ty());
        }
        b_.CreateStore(b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), count_), passed), count_);
    }
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
}

// Goes on where it holds; gives the block behind all that depends on it.
BasicBlock* RegionNest::when(size_t at, Points& p) {
    OpContext c = e_.ops(p.lanes);
    Value* holds = as_mask(c, operand(body_.insts[at].in[0], p));
    BasicBlock *some = e_.new_block("when"), *next = e_.new_block("when.end");
    complex_.clear();
    if (p.lanes == 1) {
        b_.CreateCondBr(holds, some, next);
        b_.SetInsertPoint(some);
        return next;
    }
    if (p.mask) holds = b_.CreateAnd(p.mask, holds);
    Value* bits = b_.CreateBitCast(holds, b_.getIntNTy(static_cast<unsigned>(p.lanes)));
    b_.CreateCondBr(b_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType())), some, next);
    b_.SetInsertPoint(some);
    Value* first = b_.CreateZExtOrTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b_.getTrue()),
                                        b_.getInt64Ty());
    p.mask = holds;
    p.living = b_.CreateAdd(p.index, first);
    std::set<ValueId> later;
    for (size_t k = at + 1; k < body_.insts.size(); ++k)
        later.insert(body_.insts[k].in.begin(), body_.insts[k].in.end());
    for (const ValueId used : later) {
        Val& v = vals_[static_cast<size_t>(used)];
        if (!v.v || !v.v->getType()->isVectorTy()) continue;
        Value* one = b_.CreateExtractElement(v.v, first);
        v.v = b_.CreateSelect(holds, v.v, b_.CreateVectorSplat(static_cast<unsigned>(p.lanes), one));
    }
    return next;
}

Val RegionNest::operand(ValueId v, const Points& p) {
    OpContext c = e_.ops(p.lanes);
    const Val inside = vals_[static_cast<size_t>(v)];
    return splat(c, inside.v ? inside : e_.value(v).scalar);
}

Val RegionNest::evaluate(size_t at, const Points& p) {
    const Inst& i = body_.insts[at];
    std::vector<Val> in;
    switch (i.op) {
        case RegionOp::Const: return e_.constant(i);
        case RegionOp::Pointwise: {
            for (const ValueId v : i.in) in.push_back(operand(v, p));
            OpContext c = e_.ops(p.lanes);
            return compute(c, i.pointwise, i.operand, e_.type(i.result).dtype, in);
        }
        case RegionOp::Fma:
            for (const ValueId v : i.in) in.push_back(operand(v, p));
            return e_.fma(in);
        case RegionOp::Call: {
            for (const ValueId v : i.in) in.push_back(operand(v, p));
            return e_.call(i, in);
        }
        case RegionOp::NestLoad: return load(i, p);
        case RegionOp::NestStore: store(at, p); return {};
        case RegionOp::NestIndex: return position(i, p);
        case RegionOp::NestWithin: return within(i, p);
        case RegionOp::NestTake: return take(i, p);
        case RegionOp::NestScatter: scatter(i, p); return {};
        case RegionOp::NestAppend: append(at, p); return {};
        case RegionOp::NestNext: return next(i, p);
        default: llvm_unreachable("not an instruction of a nest");
    }
}

// ---- elements at the point ----

int RegionNest::unit(ValueId array) const {
    return graph::info(e_.type(array).dtype).size * (is_part(array) ? 2 : 1);
}

Value* RegionNest::element(ValueId array, Value* index) {
    if (fixed(array)) return row_begin(array);
    return in_row(array, b_.getInt8Ty(), b_.CreateMul(index, inner_stride(array), "", true, true));
}

Val RegionNest::load(const Inst& i, const Points& at) {
    const DType t = e_.type(i.in[0]).dtype;
    llvm::Type* elt = element_type(e_.c_, t);
    const llvm::Align align = RegionEmitter::align_of(t);
    if (at.lanes == 1 || fixed(i.in[0]))
        return {b_.CreateAlignedLoad(elt, element(i.in[0], at.index), align), false};
    if (is_gathered(i.in[0])) return gather(i.in[0], at);
    if (is_part(i.in[0])) return load_part(i, at);
    // Vectors are used only where elements are adjacent, whatever the stride is called.
    Value* p = in_row(i.in[0], elt, at.index);
    llvm::Type* type = vector_of(elt, at.lanes);
    if (!at.mask) return {b_.CreateAlignedLoad(type, p, align), false};
    Value* one = b_.CreateAlignedLoad(elt, in_row(i.in[0], elt, at.living), align);
    Value* others = b_.CreateVectorSplat(static_cast<unsigned>(at.lanes), one);
    return {b_.CreateMaskedLoad(type, p, align, at.mask, others), false};
}

// Elements that are not adjacent, one by one: instructions that gather are no faster.
Val RegionNest::gather(ValueId array, const Points& at) {
    const DType t = e_.type(array).dtype;
    llvm::Type* elt = element_type(e_.c_, t);
    Value* first = element(array, at.index);
    Value* v = llvm::PoisonValue::get(vector_of(elt, at.lanes));
    for (int lane = 0; lane < at.lanes; ++lane) {
        Value* p = b_.CreateGEP(b_.getInt8Ty(), first, b_.CreateMul(inner_stride(array), i64(lane)));
        Value* one = b_.CreateAlignedLoad(elt, p, RegionEmitter::align_of(t));
        v = b_.CreateInsertElement(v, one, static_cast<uint64_t>(lane));
    }
    return {v, false};
}

void RegionNest::spread(ValueId array, Value* bits, const Points& at) {
    Value* first = element(array, at.index);
    for (int lane = 0; lane < at.lanes; ++lane) {
        Value* p = b_.CreateGEP(b_.getInt8Ty(), first, b_.CreateMul(inner_stride(array), i64(lane)));
        b_.CreateAlignedStore(b_.CreateExtractElement(bits, static_cast<uint64_t>(lane)), p,
                              RegionEmitter::align_of(e_.type(array).dtype));
    }
}

// One part of complex numbers: both are loaded together, once.
Val RegionNest::load_part(const Inst& i, const Points& at) {
    const auto [whole, part] = e_.part_of_.at(i.in[0]);
    const DType t = e_.type(i.in[0]).dtype;
    llvm::Type* elt = element_type(e_.c_, t);
    const llvm::Align align = RegionEmitter::align_of(t);
    Value* row = b_.CreateConstGEP1_64(elt, row_begin(i.in[0]), static_cast<uint64_t>(-int64_t{part}));
    const auto place = [&](Value* index) { return b_.CreateGEP(elt, row, b_.CreateShl(index, i64(1))); };
    Value*& both = complex_[whole];
    if (!both) {
        llvm::Type* type = vector_of(elt, 2 * at.lanes);
        both = at.mask ? static_cast<Value*>(b_.CreateMaskedLoad(type, place(at.index), align,
                                                                 interleaved(at.mask, at.mask),
                                                                 llvm::Constant::getNullValue(type)))
                       : b_.CreateAlignedLoad(type, place(at.index), align);
    }
    std::vector<int> of_part;
    for (int k = 0; k < at.lanes; ++k) of_part.push_back(2 * k + part);
    Value* v = b_.CreateShuffleVector(both, of_part);
    if (!at.mask) return {v, false};
    Value* p = b_.CreateConstGEP1_64(elt, place(at.living), static_cast<uint64_t>(part));
    Value* one = b_.CreateVectorSplat(static_cast<unsigned>(at.lanes), b_.CreateAlignedLoad(elt, p, align));
    return {b_.CreateSelect(at.mask, v, one), false};
}

Value* RegionNest::interleaved(Value* even, Value* odd) {
    const auto n = static_cast<int>(llvm::cast<llvm::FixedVectorType>(even->getType())->getNumElements());
    std::vector<int> order;
    for (int k = 0; k < n; ++k) order.insert(order.end(), {k, n + k});
    return b_.CreateShuffleVector(even, odd, order);
}

bool RegionNest::pairs_with(size_t at, size_t other) const {
    if (other >= body_.insts.size()) return false;
    const Inst &a = body_.insts[at], &b = body_.insts[other];
    if (a.op != b.op || (a.op != RegionOp::NestStore && a.op != RegionOp::NestAppend)) return false;
    if (!is_part(a.in[0]) || !is_part(b.in[0])) return false;
    const auto x = e_.part_of_.at(a.in[0]), y = e_.part_of_.at(b.in[0]);
    return x.first == y.first && x.second == 0 && y.second == 1;
}

// The first of a pair is stored with the second.
void RegionNest::store(size_t k, const Points& at) {
    const Inst& i = body_.insts[k];
    const DType t = e_.type(i.in[0]).dtype;
    OpContext c = e_.ops(at.lanes);
    const Val v = operand(i.in[1], at);
    Value* bits = t == DType::Bool ? as_bytes(c, v) : v.v;
    if (at.lanes == 1) {
        b_.CreateAlignedStore(bits, element(i.in[0], at.index), RegionEmitter::align_of(t));
        return;
    }
    ValueId array = i.in[0];
    if (is_gathered(array)) return spread(array, bits, at);
    Value* index = at.index;
    Value* mask = at.mask;
    if (is_part(array)) {
        if (pairs_with(k, k + 1)) return;
        array = body_.insts[k - 1].in[0];
        bits = interleaved(operand(body_.insts[k - 1].in[1], at).v, bits);
        if (mask) mask = interleaved(mask, mask);
        index = b_.CreateShl(index, i64(1));
    }
    Value* p = in_row(array, element_type(e_.c_, t), index);
    if (mask)
        b_.CreateMaskedStore(bits, p, RegionEmitter::align_of(t), mask);
    else
        b_.CreateAlignedStore(bits, p, RegionEmitter::align_of(t));
}

void RegionNest::append(size_t k, const Points& at) {
    const Inst& i = body_.insts[k];
    const DType t = e_.type(i.in[0]).dtype;
    OpContext c = e_.ops(at.lanes);
    const Val v = operand(i.in[1], at);
    Value* bits = t == DType::Bool ? as_bytes(c, v) : v.v;
    Value* number = b_.CreateLoad(b_.getInt64Ty(), count_);
    const auto place = [&](ValueId array) {
        return b_.CreateGEP(b_.getInt8Ty(), e_.value(array).address,
                            b_.CreateMul(number, inner_stride(array)));
    };
    if (at.lanes == 1) {
        b_.CreateAlignedStore(bits, place(i.in[0]), RegionEmitter::align_of(t));
        return;
    }
    ValueId array = i.in[0];
    Value* mask = at.mask;
    if (is_part(array)) {
        if (pairs_with(k, k + 1)) return;
        array = body_.insts[k - 1].in[0];
        bits = interleaved(operand(body_.insts[k - 1].in[1], at).v, bits);
        mask = interleaved(mask, mask);
    }
    compress(bits, place(array), RegionEmitter::align_of(t), mask);
}

// Stores the lanes that count next to each other. AVX-512 compresses in registers here: straight into memory
// it is microcode on Zen 4, where Mandelbrot's shrinking arrays were slower than NumPy's.
void RegionNest::compress(Value* bits, Value* to, llvm::Align align, Value* mask) {
    if (!e_.o_.has_avx512) {
        compress_store(b_, bits, to, align, mask);
        return;
    }
    auto* type = llvm::cast<llvm::FixedVectorType>(bits->getType());
    llvm::Type* elt = type->getElementType();
    const unsigned size = elt->getScalarSizeInBits(), wide = std::max(size, 32U);
    const unsigned lanes = type->getNumElements(), most = std::min(lanes, 512 / wide);
    for (unsigned from = 0; from < lanes; from += most) {
        std::vector<int> part(most);
        std::iota(part.begin(), part.end(), static_cast<int>(from));
        Value *v = b_.CreateShuffleVector(bits, part), *counts = b_.CreateShuffleVector(mask, part);
        if (size < wide) v = b_.CreateZExt(v, llvm::FixedVectorType::get(b_.getInt32Ty(), most));
        v = b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_compress, {v->getType()},
                               {v, llvm::Constant::getNullValue(v->getType()), counts});
        if (size < wide) v = b_.CreateTrunc(v, llvm::FixedVectorType::get(elt, most));
        llvm::Type* word = b_.getIntNTy(most);
        Value* n = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, b_.CreateBitCast(counts, word));
        n = b_.CreateZExt(n, b_.getInt64Ty());
        Value* first = b_.CreateTrunc(b_.CreateNot(b_.CreateShl(i64(-1), n)), word);
        b_.CreateMaskedStore(v, to, align, b_.CreateBitCast(first, counts->getType()));
        to = b_.CreateGEP(elt, to, n);
    }
}

// What `append` stored. Lanes whose point does not count get the first element that one of the others takes.
Val RegionNest::next(const Inst& i, const Points& at) {
    const DType t = e_.type(i.in[0]).dtype;
    llvm::Type* elt = element_type(e_.c_, t);
    const llvm::Align align = RegionEmitter::align_of(t);
    Value* number = b_.CreateLoad(b_.getInt64Ty(), count_);
    const auto place = [&](ValueId array) {
        return b_.CreateGEP(b_.getInt8Ty(), e_.value(array).address,
                            b_.CreateMul(number, inner_stride(array)));
    };
    if (at.lanes == 1) return {b_.CreateAlignedLoad(elt, place(i.in[0]), align), false};
    const auto expanded = [&](llvm::Type* type, Value* from, Value* mask, Value* others) {
        return expand_load(b_, type, from, align, mask, others);
    };
    if (!is_part(i.in[0])) {
        Value* from = place(i.in[0]);
        Value* first = b_.CreateAlignedLoad(elt, from, align);
        return {expanded(vector_of(elt, at.lanes), from, at.mask,
                         b_.CreateVectorSplat(static_cast<unsigned>(at.lanes), first)),
                false};
    }
    // Both parts of complex numbers are read together, once.
    const auto [whole, part] = e_.part_of_.at(i.in[0]);
    Value* from = b_.CreateConstGEP1_64(elt, place(i.in[0]), static_cast<uint64_t>(-int64_t{part}));
    Value*& both = complex_[whole];
    if (!both) {
        llvm::Type* type = vector_of(elt, 2 * at.lanes);
        both = expanded(type, from, interleaved(at.mask, at.mask), llvm::Constant::getNullValue(type));
    }
    std::vector<int> of_part;
    for (int k = 0; k < at.lanes; ++k) of_part.push_back(2 * k + part);
    Value* first =
        b_.CreateAlignedLoad(elt, b_.CreateConstGEP1_64(elt, from, static_cast<uint64_t>(part)), align);
    return {b_.CreateSelect(at.mask, b_.CreateShuffleVector(both, of_part),
                            b_.CreateVectorSplat(static_cast<unsigned>(at.lanes), first)),
            false};
}

Val RegionNest::position(const Inst& i, const Points& p) {
    const auto axis = static_cast<size_t>(i.ints[0]);
    if (axis + 1 != nest_.in.size()) return {at_[axis], false};
    if (p.lanes == 1) return {p.index, false};
    const auto splat = [&](Value* v) { return b_.CreateVectorSplat(static_cast<unsigned>(p.lanes), v); };
    Value* first = splat(p.index);
    Value* each = b_.CreateAdd(first, b_.CreateStepVector(first->getType()));
    return {p.mask ? b_.CreateSelect(p.mask, each, splat(p.living)) : each, false};
}

// ---- elements at computed indices ----

Val RegionNest::within(const Inst& i, const Points& p) {
    Value *at = operand(i.in[0], p).v, *n = operand(i.in[1], p).v;
    Value* zero = llvm::Constant::getNullValue(at->getType());
    Value* wrapped = b_.CreateSelect(b_.CreateICmpSLT(at, zero), b_.CreateAdd(at, n), at);
    Value* bad = b_.CreateICmpUGE(wrapped, n);
    Value* any = bad;
    if (p.lanes > 1) {
        Value* counted = p.mask ? b_.CreateAnd(bad, p.mask) : bad;
        Value* bits = b_.CreateBitCast(counted, b_.getIntNTy(static_cast<unsigned>(p.lanes)));
        any = b_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType()));
    }
    Value* fault =
        b_.CreateSelect(any, b_.getInt32(static_cast<uint32_t>(graph::kIndexFault)), b_.getInt32(0));
    b_.CreateStore(b_.CreateOr(b_.CreateLoad(b_.getInt32Ty(), e_.faults_), fault), e_.faults_);
    return {b_.CreateSelect(bad, zero, wrapped), false};
}

// Address of the element of in[0] at in[1], ..., for each lane.
Value* RegionNest::element_at(const Inst& i, size_t indices, const Points& p) {
    const RegionVal& a = e_.value(i.in[0]);
    Value* address = a.address;
    for (size_t d = 0; d < indices; ++d) {
        Value* index = operand(i.in[d + 1], p).v;
        Value* stride = a.strides[d];
        if (p.lanes > 1) stride = b_.CreateVectorSplat(static_cast<unsigned>(p.lanes), stride);
        address = b_.CreateGEP(b_.getInt8Ty(), address, b_.CreateMul(index, stride, "", false, true));
    }
    return address;
}

Val RegionNest::take(const Inst& i, const Points& p) {
    const DType t = e_.type(i.in[0]).dtype;
    llvm::Type* elt = element_type(e_.c_, t);
    const llvm::Align align = RegionEmitter::align_of(t);
    Value* address = element_at(i, i.in.size() - 1, p);
    if (p.lanes == 1) return {b_.CreateAlignedLoad(elt, address, align), false};
    return {b_.CreateMaskedGather(vector_of(elt, p.lanes), address, align), false};
}

// One after the other, since places may be the same.
void RegionNest::scatter(const Inst& i, const Points& p) {
    const DType t = e_.type(i.in[0]).dtype;
    OpContext c = e_.ops(p.lanes);
    const Val v = operand(i.in.back(), p);
    Value* bits = t == DType::Bool ? as_bytes(c, v) : v.v;
    Value* address = element_at(i, i.in.size() - 2, p);
    const llvm::Align align = RegionEmitter::align_of(t);
    if (p.lanes == 1) {
        b_.CreateAlignedStore(bits, address, align);
        return;
    }
    for (int lane = 0; lane < p.lanes; ++lane) {
        const auto k = static_cast<uint64_t>(lane);
        BasicBlock* next = nullptr;
        if (p.mask) {
            BasicBlock* there = e_.new_block("lane");
            next = e_.new_block("lane.end");
            b_.CreateCondBr(b_.CreateExtractElement(p.mask, k), there, next);
            b_.SetInsertPoint(there);
        }
        b_.CreateAlignedStore(b_.CreateExtractElement(bits, k), b_.CreateExtractElement(address, k), align);
        if (!next) continue;
        b_.CreateBr(next);
        b_.SetInsertPoint(next);
    }
}

}  // namespace stator::kernels::emit
