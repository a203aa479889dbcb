// Checkpoints of regions (graph/region/checkpoints.cpp): saving arrays, putting them back, flags of a whole
// stretch of code.
#include <llvm/IR/Intrinsics.h>

#include "kernels/llvm/regions/internal.h"
#include "kernels/region_abi.h"

namespace stator::kernels::emit {

using llvm::BasicBlock;
using llvm::Value;

Value* RegionEmitter::bytes_of(ValueId array) {
    Value* bytes = i64(graph::info(type(array).dtype).size);
    for (Value* n : value(array).extents) bytes = b_.CreateMul(bytes, n, "", true, true);
    return bytes;
}

Val RegionEmitter::save(const Inst& i) {
    BasicBlock *failed = new_block("unsaved"), *done = new_block("saved");
    for (size_t k = 0; k < i.in.size(); ++k) {
        Value* bytes = bytes_of(i.in[k]);
        Value* memory = ensure(cell(i.ints[0] + static_cast<int64_t>(k)), bytes, failed);
        b_.CreateMemCpy(memory, align_of(type(i.in[k]).dtype), value(i.in[k]).address,
                        align_of(type(i.in[k]).dtype), bytes);
    }
    BasicBlock* saved = b_.GetInsertBlock();
    b_.CreateBr(done);
    b_.SetInsertPoint(failed);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    auto* ok = b_.CreatePHI(b_.getInt1Ty(), 2);
    ok->addIncoming(b_.getTrue(), saved);
    ok->addIncoming(b_.getFalse(), failed);
    return {ok, true};
}

void RegionEmitter::restore(const Inst& i) {
    for (size_t k = 0; k < i.in.size(); ++k) {
        Value* memory = b_.CreateLoad(
            b_.getPtrTy(), cell(i.ints[0] + static_cast<int64_t>(k), offsetof(Cell, memory)), "memory");
        b_.CreateMemCpy(value(i.in[k]).address, align_of(type(i.in[k]).dtype), memory,
                        align_of(type(i.in[k]).dtype), bytes_of(i.in[k]));
    }
}

using Trust = RegionArgs::Trust;

Value* RegionEmitter::trust_field(size_t offset) {
    Value* memory = field(offsetof(RegionArgs, trust), b_.getPtrTy(), "trust");
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), memory, offset);
}

Val RegionEmitter::trust() {
    Value *since = trust_field(offsetof(Trust, since)), *left = trust_field(offsetof(Trust, left));
    b_.CreateStore(b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), since), i64(1)), since);
    Value* n = b_.CreateLoad(b_.getInt64Ty(), left);
    Value* yes = b_.CreateICmpEQ(n, i64(0));
    b_.CreateStore(b_.CreateSelect(yes, n, b_.CreateSub(n, i64(1))), left);
    return {yes, true};
}

// Twice as many and one more, up to 1,023, when less than four times as many have gone since; else one.
void RegionEmitter::distrust() {
    Value *since = trust_field(offsetof(Trust, since)), *penalty = trust_field(offsetof(Trust, penalty));
    Value* last = b_.CreateLoad(b_.getInt64Ty(), penalty);
    Value* more = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                           b_.CreateAdd(b_.CreateShl(last, i64(1)), i64(1)), i64(1023));
    Value* soon = b_.CreateICmpSLE(b_.CreateLoad(b_.getInt64Ty(), since),
                                   b_.CreateShl(b_.CreateAdd(last, i64(1)), i64(2)));
    Value* next = b_.CreateSelect(soon, more, i64(1));
    b_.CreateStore(next, penalty);
    b_.CreateStore(next, trust_field(offsetof(Trust, left)));
    b_.CreateStore(i64(0), since);
}

void RegionEmitter::watch() {
    watch_ = std::make_unique<FlagScope>(b_, f_);
    watch_->enter();
}

Val RegionEmitter::raised(const Inst& i) {
    Value* faults = b_.CreateAnd(watch_->read(), b_.getInt32(static_cast<uint32_t>(i.ints[0])));
    watch_->restore();
    return {b_.CreateICmpNE(faults, b_.getInt32(0)), true};
}

}  // namespace stator::kernels::emit
