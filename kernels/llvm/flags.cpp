// MXCSR: setting it costs more than looking at it, and usually nothing is pending; so both ways are branches.
#include "kernels/llvm/flags.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

namespace stator::kernels::emit {

using llvm::BasicBlock;
using llvm::Value;

namespace {
// Status bits: invalid 1, denormal 2, divide 4, overflow 8, underflow 16, precision 32.
constexpr uint32_t kStatus = 0x1d;  // those that are reported
constexpr uint32_t kAllStatus = 0x3f;
}  // namespace

FlagScope::FlagScope(Builder& b, llvm::Function* f) : b_(b), f_(f) {
    Builder entry(&f->getEntryBlock(), f->getEntryBlock().begin());
    csr_ = entry.CreateAlloca(b.getInt32Ty(), nullptr, "csr");
}

void FlagScope::access(unsigned intrinsic) {
    Value* at = csr_;
    b_.CreateIntrinsic(static_cast<llvm::Intrinsic::ID>(intrinsic), llvm::ArrayRef<llvm::Type*>(),
                       llvm::ArrayRef<Value*>(at));
}

void FlagScope::branch_unless_zero(Value* v, const std::function<void()>& then) {
    llvm::LLVMContext& c = b_.getContext();
    BasicBlock *set = BasicBlock::Create(c, "csr.set", f_), *next = BasicBlock::Create(c, "csr.next", f_);
    b_.CreateCondBr(b_.CreateICmpNE(v, b_.getInt32(0)), set, next);
    b_.SetInsertPoint(set);
    then();
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
}

void FlagScope::strict() {
    f_->addFnAttr(llvm::Attribute::StrictFP);
    b_.setIsFPConstrained(true);
    b_.setDefaultConstrainedExcept(llvm::fp::ebStrict);
    b_.setDefaultConstrainedRounding(llvm::RoundingMode::Dynamic);
}

void FlagScope::enter() {
    access(llvm::Intrinsic::x86_sse_stmxcsr);
    saved_ = b_.CreateLoad(b_.getInt32Ty(), csr_, "saved");
    branch_unless_zero(b_.CreateAnd(saved_, b_.getInt32(kStatus)), [&] {
        b_.CreateStore(b_.CreateAnd(saved_, b_.getInt32(~kAllStatus)), csr_);
        access(llvm::Intrinsic::x86_sse_ldmxcsr);
    });
}

Value* FlagScope::read() {
    access(llvm::Intrinsic::x86_sse_stmxcsr);
    Value* csr = b_.CreateLoad(b_.getInt32Ty(), csr_, "csr");
    Value* divide_over_under = b_.CreateAnd(b_.CreateLShr(csr, b_.getInt32(2)), b_.getInt32(7));
    return b_.CreateOr(divide_over_under, b_.CreateShl(b_.CreateAnd(csr, b_.getInt32(1)), b_.getInt32(3)));
}

void FlagScope::restore() {
    access(llvm::Intrinsic::x86_sse_stmxcsr);
    Value* changed = b_.CreateXor(b_.CreateLoad(b_.getInt32Ty(), csr_), saved_);
    branch_unless_zero(b_.CreateAnd(changed, b_.getInt32(kStatus)), [&] {
        b_.CreateStore(saved_, csr_);
        access(llvm::Intrinsic::x86_sse_ldmxcsr);
    });
}

}  // namespace stator::kernels::emit
