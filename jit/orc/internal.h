// What the orc*.cpp files share and nobody else sees.
#pragma once

#include <llvm/TargetParser/Triple.h>

#include <mutex>

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace stator::jit {

void initialize_llvm();             // registers the native target, once
const llvm::Triple& host_triple();  // of this process
std::mutex& codegen_mutex();

// Passes of the middle end, for the module of a region (jit/orc/passes.cpp). Functions that observe
// floating-point flags are left as they are.
void optimize_region(llvm::Module& module, llvm::TargetMachine& tm);

}  // namespace stator::jit
