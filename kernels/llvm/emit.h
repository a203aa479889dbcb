// LLVM IR from loop IR: explicit vector code for the widest registers, one exported function per nest with
// the NestFn signature (abi.h), named <prefix>_nest<i>.
//
// The code reads buffers, strides, symbols, scalars and host loops through KernelArgs only and holds no
// address of the process, so that objects can be cached on disk. It clears the floating-point status flags on
// entry, returns those raised as Fault bits, and restores the caller's MXCSR.
#pragma once

#include <memory>

#include "kernels/emit_options.h"
#include "kernels/loops/loop_ir.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace stator::kernels {

std::unique_ptr<llvm::Module> emit_llvm(llvm::LLVMContext& context, const Program& program,
                                        const EmitOptions& options);

}  // namespace stator::kernels
