// Floating-point status flags (MXCSR) in generated code.
#pragma once

#include "kernels/llvm/internal.h"

namespace stator::kernels::emit {

// What a function that reports flags does around its work. All of them insert at the builder's place.
class FlagScope {
  public:
    FlagScope(Builder& b, llvm::Function* f);
    void strict();        // arithmetic from here on raises the flags that it should
    void enter();         // saves the caller's MXCSR and clears what is pending
    llvm::Value* read();  // Fault bits raised so far, an i32
    void restore();       // the caller's MXCSR

  private:
    void access(unsigned intrinsic);
    void branch_unless_zero(llvm::Value* v, const std::function<void()>& then);

    Builder& b_;
    llvm::Function* f_;
    llvm::AllocaInst* csr_;
    llvm::Value* saved_ = nullptr;
};

}  // namespace stator::kernels::emit
