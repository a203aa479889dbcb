// What the orc*.cpp files share and nobody else sees.
#pragma once

#include <llvm/TargetParser/Triple.h>

#include <mutex>

namespace stator::jit {

void initialize_llvm();             // registers the native target, once
const llvm::Triple& host_triple();  // of this process
std::mutex& codegen_mutex();

}  // namespace stator::jit
