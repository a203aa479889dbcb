// The differences between LLVM 19, 20, 21 and 22 that jit/orc*.cpp meets, one function for each, so that the
// code itself is written once, against LLVM 22. Adding a version: build, and give each error a branch here.
#pragma once

#include <llvm/Config/llvm-config.h>

#if LLVM_VERSION_MAJOR < 19 || LLVM_VERSION_MAJOR > 22
#error "stator knows LLVM 19 to 22; add what differs to jit/orc/llvm_compat.h and widen this check"
#endif

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#if __has_include(<llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>)  // in Core.h up to LLVM 19
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#endif
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#if LLVM_VERSION_MAJOR >= 21
#include <llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>
#endif
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <memory>
#include <string>

namespace stator::jit::compat {

// A triple is a string up to LLVM 20, for the module and for the target machine, and a Triple afterwards.
inline void set_triple(llvm::Module& module, const llvm::Triple& triple) {
#if LLVM_VERSION_MAJOR >= 21
    module.setTargetTriple(triple);
#else
    module.setTargetTriple(triple.str());
#endif
}

inline const llvm::Target* lookup_target(const llvm::Triple& triple, std::string& error) {
#if LLVM_VERSION_MAJOR >= 22
    return llvm::TargetRegistry::lookupTarget(triple, error);
#else
    return llvm::TargetRegistry::lookupTarget(triple.str(), error);
#endif
}

inline std::unique_ptr<llvm::TargetMachine> create_target_machine(
    const llvm::Target& target, const llvm::Triple& triple, llvm::StringRef cpu, llvm::StringRef features,
    const llvm::TargetOptions& options, llvm::CodeGenOptLevel level) {
#if LLVM_VERSION_MAJOR >= 21
    const llvm::Triple& name = triple;
#else
    const std::string name = triple.str();
#endif
    return std::unique_ptr<llvm::TargetMachine>(target.createTargetMachine(
        name, cpu, features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small, level, /*JIT=*/true));
}

// A symbol's name is a StringRef up to LLVM 19 and an interned string afterwards.
inline llvm::StringRef symbol_name(const llvm::jitlink::Symbol& symbol) {
#if LLVM_VERSION_MAJOR >= 20
    return *symbol.getName();
#else
    return symbol.getName();
#endif
}

}  // namespace stator::jit::compat
