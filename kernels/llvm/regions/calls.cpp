// Loops of ufuncs in nests. A call for each element would cost ten times what the function does, so the
// innermost axis is walked in chunks, and a chunk in phases: one for each call, which computes the call's
// operands for all points into buffers, then the loop runs once for all of them; and a last one for the rest,
// stores among it. What a phase needs of what came before is computed again, but for results of calls.
//
// Behind a `when` only some points come to a call. Buffers hold theirs without gaps, as NumPy's selection
// would.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "kernels/llvm/regions/nest.h"

namespace stator::kernels::emit {

bool RegionNest::calls_loop(const Inst& i) const {
    return i.op == RegionOp::Call &&
           e_.r_.calls[static_cast<size_t>(i.ints[0])].kind == graph::RegionCall::UfuncLoop;
}

bool RegionNest::is_fixed(ValueId v) const {
    return std::all_of(body_.insts.begin(), body_.insts.end(),
                       [&](const Inst& i) { return i.result != v || i.op == RegionOp::Const; });
}

void RegionNest::find_loop_calls() {
    const auto buffer = [&](DType t, int64_t elements) {
        auto* memory =
            e_.slot(llvm::ArrayType::get(element_type(e_.c_, t), static_cast<uint64_t>(elements)), "buffer");
        memory->setAlignment(llvm::Align(64));
        return memory;
    };
    for (size_t k = 0; k < body_.insts.size(); ++k) {
        const Inst& i = body_.insts[k];
        some_points_ |= i.op == RegionOp::NestWhen;
        if (!calls_loop(i)) continue;
        const auto& types = e_.r_.calls[static_cast<size_t>(i.ints[0])].types;
        LoopCall call{k, {}, buffer(types.back(), kChunk + kSlack), nullptr};
        for (size_t n = 0; n < i.in.size(); ++n) {
            const bool fixed = is_fixed(i.in[n]);
            call.in.push_back({buffer(types[n], fixed ? 1 : kChunk + kSlack), fixed});
        }
        call.count = e_.slot(b_.getInt64Ty(), "points");
        loop_calls_.push_back(std::move(call));
    }
    if (!loop_calls_.empty()) find_needed();
}

// Marks what makes v, back to results of calls that are in a phase of their own.
void RegionNest::need(ValueId v, std::vector<char>& list) const {
    for (size_t k = 0; k < body_.insts.size(); ++k) {
        if (body_.insts[k].result != v || list[k]) continue;
        list[k] = 1;
        if (!calls_loop(body_.insts[k]))
            for (const ValueId u : body_.insts[k].in) need(u, list);
    }
}

void RegionNest::find_needed() {
    const size_t last = loop_calls_.size(), n = body_.insts.size();
    needed_.assign(last + 1, std::vector<char>(n, 0));
    const auto mark = [&](std::vector<char>& list, size_t at) {
        list[at] = 1;
        for (const ValueId v : body_.insts[at].in) need(v, list);
    };
    for (size_t k = 0; k < n; ++k) {
        const Inst& i = body_.insts[k];
        if (i.op == RegionOp::NestWhen)
            for (size_t phase = 0; phase <= last; ++phase)
                if (phase == last || k < loop_calls_[phase].at) mark(needed_[phase], k);
        if (i.result < 0 && i.op != RegionOp::NestWhen) mark(needed_[last], k);
    }
    for (size_t c = 0; c < last; ++c) mark(needed_[c], loop_calls_[c].at);
    // A call behind which nothing is kept in step would read another point's result.
    for (size_t phase = 0; phase <= last; ++phase)
        for (size_t c = 0; c < phase; ++c) needed_[phase][loop_calls_[c].at] = 1;
    // Nobody needs the value, but the flags that making it raises.
    for (size_t k = 0; k < n; ++k)
        if (std::none_of(needed_.begin(), needed_.end(), [&](const auto& list) { return list[k]; }))
            mark(needed_[last], k);
}

bool RegionNest::in_phase(size_t at) const { return needed_.empty() || needed_[phase_][at]; }

const RegionNest::LoopCall* RegionNest::loop_call(size_t at) const {
    const auto it =
        std::find_if(loop_calls_.begin(), loop_calls_.end(), [&](const LoopCall& c) { return c.at == at; });
    return it == loop_calls_.end() ? nullptr : &*it;
}

void RegionNest::chunk(Value* begin, Value* end) {
    chunk_begin_ = begin;
    for (phase_ = 0; phase_ <= loop_calls_.size(); ++phase_) {
        for (size_t c = 0; some_points_ && c <= phase_ && c < loop_calls_.size(); ++c)
            b_.CreateStore(i64(0), loop_calls_[c].count);
        if (nest_.in.empty())
            body({1, begin});
        else
            stretch(begin, end);
        if (phase_ == loop_calls_.size()) break;
        const LoopCall& call = loop_calls_[phase_];
        Value* n = some_points_ ? static_cast<Value*>(b_.CreateLoad(b_.getInt64Ty(), call.count))
                                : b_.CreateSub(end, begin);
        run_loop(call, n);
    }
}

// Where the operand or result for the points at hand is.
Value* RegionNest::buffered(const LoopCall& call, Value* buffer, DType t, const Points& p) {
    Value* at = some_points_ ? static_cast<Value*>(b_.CreateLoad(b_.getInt64Ty(), call.count))
                             : b_.CreateSub(p.index, chunk_begin_);
    return b_.CreateGEP(element_type(e_.c_, t), buffer, at);
}

// Whether vectors can be stored without the lanes that a mask leaves out: AVX-512, for words of four and
// eight bytes.
bool RegionNest::squeezes() const {
    return e_.o_.has_avx512 && std::all_of(loop_calls_.begin(), loop_calls_.end(), [&](const LoopCall& c) {
               const auto& types = e_.r_.calls[static_cast<size_t>(body_.insts[c.at].ints[0])].types;
               return std::all_of(types.begin(), types.end(),
                                  [](DType t) { return graph::info(t).size >= 4; });
           });
}

void RegionNest::count_points(const LoopCall& call, const Points& p) {
    if (!some_points_) return;
    Value* more = i64(p.lanes);
    if (p.mask) {
        Value* bits = b_.CreateBitCast(p.mask, b_.getIntNTy(static_cast<unsigned>(p.lanes)));
        more = b_.CreateZExtOrTrunc(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits), b_.getInt64Ty());
    }
    Value* n = b_.CreateLoad(b_.getInt64Ty(), call.count);
    b_.CreateStore(b_.CreateAdd(n, more, "", true, true), call.count);
}

void RegionNest::pass_operands(const LoopCall& call, const Points& p) {
    const Inst& i = body_.insts[call.at];
    const auto& types = e_.r_.calls[static_cast<size_t>(i.ints[0])].types;
    for (size_t n = 0; n < i.in.size(); ++n) {
        if (call.in[n].fixed) continue;
        Value *v = operand(i.in[n], p).v, *to = buffered(call, call.in[n].buffer, types[n], p);
        if (some_points_ && p.mask)
            compress(v, to, RegionEmitter::align_of(types[n]), p.mask);
        else
            b_.CreateAlignedStore(v, to, RegionEmitter::align_of(types[n]));
    }
    count_points(call, p);
}

Val RegionNest::loop_result(const LoopCall& call, const Points& p) {
    const DType t = e_.r_.calls[static_cast<size_t>(body_.insts[call.at].ints[0])].types.back();
    llvm::Type* type = element_type(e_.c_, t);
    if (p.lanes > 1) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(p.lanes));
    Value *from = buffered(call, call.out, t, p), *v;
    if (some_points_ && p.mask) {
        Value* zero = llvm::Constant::getNullValue(type);
        v = b_.CreateIntrinsic(llvm::Intrinsic::masked_expandload, {type}, {from, p.mask, zero});
    } else {
        v = b_.CreateAlignedLoad(type, from, RegionEmitter::align_of(t));
    }
    // Lanes without a result are to raise nothing that no living one does.
    if (p.mask) {
        Value* living = b_.CreateExtractElement(v, b_.CreateSub(p.living, p.index));
        v = b_.CreateSelect(p.mask, v, b_.CreateVectorSplat(static_cast<unsigned>(p.lanes), living));
    }
    count_points(call, p);
    return {v, false};
}

// Operands that are one number have stride 0, as NumPy passes them.
void RegionNest::run_loop(const LoopCall& call, Value* n) {
    const Inst& i = body_.insts[call.at];
    const auto target = static_cast<int>(i.ints[0]);
    const auto& types = e_.r_.calls[static_cast<size_t>(target)].types;
    // The function may clear flags that are pending.
    if (flags_)
        b_.CreateStore(b_.CreateOr(b_.CreateLoad(b_.getInt32Ty(), e_.faults_), flags_->read()), e_.faults_);
    BasicBlock *some = e_.new_block("loop"), *done = e_.new_block("loop.end");
    b_.CreateCondBr(b_.CreateICmpSGT(n, i64(0)), some, done);
    b_.SetInsertPoint(some);
    auto* pointers_type = llvm::ArrayType::get(b_.getPtrTy(), types.size());
    auto* strides_type = llvm::ArrayType::get(b_.getInt64Ty(), types.size());
    Value *pointers = e_.slot(pointers_type, "pointers"), *strides = e_.slot(strides_type, "strides"),
          *length = e_.slot(b_.getInt64Ty(), "length");
    b_.CreateStore(n, length);
    for (size_t k = 0; k < types.size(); ++k) {
        const bool is_operand = k < call.in.size(), fixed = is_operand && call.in[k].fixed;
        Value* buffer = is_operand ? call.in[k].buffer : call.out;
        if (fixed) {
            Val v = e_.value(i.in[k]).scalar;
            for (const Inst& c : body_.insts)
                if (c.result == i.in[k]) v = e_.constant(c);
            b_.CreateAlignedStore(e_.in_memory(types[k], v), buffer, RegionEmitter::align_of(types[k]));
        }
        b_.CreateStore(buffer, b_.CreateConstInBoundsGEP2_64(pointers_type, pointers, 0, k));
        b_.CreateStore(i64(fixed ? 0 : graph::info(types[k]).size),
                       b_.CreateConstInBoundsGEP2_64(strides_type, strides, 0, k));
    }
    llvm::Type* ptr = b_.getPtrTy();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr, ptr}, false);
    // The x87 status word, by which the C library reports some faults: NumPy's float32 exp has it report
    // overflows, depending on length and stride.
    const auto x87_faults = [&] {
        llvm::Module* m = b_.GetInsertBlock()->getModule();
        return b_.CreateCall(
            m->getOrInsertFunction("stator_x87_faults", llvm::FunctionType::get(b_.getInt32Ty(), false)));
    };
    if (flags_) x87_faults();
    b_.CreateCall(type, e_.call_function(target), {pointers, length, strides, e_.call_data(target)})
        ->setDoesNotThrow();
    if (flags_)
        b_.CreateStore(b_.CreateOr(b_.CreateLoad(b_.getInt32Ty(), e_.faults_), x87_faults()), e_.faults_);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
}

}  // namespace stator::kernels::emit
