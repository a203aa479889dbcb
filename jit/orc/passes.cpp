// The little of LLVM's middle end that regions need.
//
// Kernels of traces are emitted as they shall be; regions are what a program says, with redundant loads,
// invariants inside of loops and trivial blocks. The passes are created one by one and the analyses they ask
// for are registered by hand: llvm::PassBuilder knows every pass there is and would link all of them.
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/BlockFrequencyInfo.h>
#include <llvm/Analysis/BranchProbabilityInfo.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Config/llvm-config.h>
#if LLVM_VERSION_MAJOR >= 20
#include <llvm/Analysis/LastRunTrackingAnalysis.h>
#endif
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/MemoryDependenceAnalysis.h>
#include <llvm/Analysis/MemorySSA.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ProfileSummaryInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScopedNoAliasAA.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "jit/orc/internal.h"
#include "kernels/llvm/regions/region.h"

namespace stator::jit {
namespace {

struct Managers {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::ModuleAnalysisManager modules;

    explicit Managers(llvm::TargetMachine& tm) {
        functions.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
        loops.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
        modules.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
        functions.registerPass([] { return llvm::AssumptionAnalysis(); });
        functions.registerPass([] { return llvm::DominatorTreeAnalysis(); });
        functions.registerPass([] { return llvm::PostDominatorTreeAnalysis(); });
        functions.registerPass([] { return llvm::LoopAnalysis(); });
        functions.registerPass([] { return llvm::ScalarEvolutionAnalysis(); });
        functions.registerPass([] { return llvm::MemorySSAAnalysis(); });
        functions.registerPass([] { return llvm::MemoryDependenceAnalysis(); });
        functions.registerPass([] { return llvm::OptimizationRemarkEmitterAnalysis(); });
        functions.registerPass([] { return llvm::BranchProbabilityAnalysis(); });
        functions.registerPass([] { return llvm::BlockFrequencyAnalysis(); });
#if LLVM_VERSION_MAJOR >= 20
        functions.registerPass([] { return llvm::LastRunTrackingAnalysis(); });
#endif
        functions.registerPass([&tm] { return tm.getTargetIRAnalysis(); });
        functions.registerPass([&tm] {
            // No library function is known by name: generated code calls none of them.
            llvm::TargetLibraryInfoImpl none(tm.getTargetTriple());
            none.disableAllFunctions();
            return llvm::TargetLibraryAnalysis(none);
        });
        functions.registerPass([] { return llvm::BasicAA(); });
        functions.registerPass([] { return llvm::ScopedNoAliasAA(); });
        functions.registerPass([] {
            llvm::AAManager aa;
            aa.registerFunctionAnalysis<llvm::BasicAA>();
            aa.registerFunctionAnalysis<llvm::ScopedNoAliasAA>();
            return aa;
        });
        modules.registerPass([] { return llvm::ProfileSummaryAnalysis(); });
        modules.registerPass([this] { return llvm::FunctionAnalysisManagerModuleProxy(functions); });
        functions.registerPass([this] { return llvm::ModuleAnalysisManagerFunctionProxy(modules); });
        functions.registerPass([this] { return llvm::LoopAnalysisManagerFunctionProxy(loops); });
        loops.registerPass([this] { return llvm::FunctionAnalysisManagerLoopProxy(functions); });
    }
};

// Invariants leave loops of scalars only. A loop around statements over arrays (functions of this module)
// takes longer for any one of them than for the addresses it computes; these would only live across all of
// its calls, hundreds at a time in a large region, where sharing out registers takes a fifth of the whole
// compile.
struct ScalarMotion : llvm::PassInfoMixin<ScalarMotion> {
    llvm::LICMPass motion{llvm::LICMOptions()};

    static bool has_statements(const llvm::Loop& loop) {
        for (const llvm::BasicBlock* block : loop.blocks())
            for (const llvm::Instruction& i : *block) {
                const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
                const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
                if (callee && callee->hasLocalLinkage() && !callee->hasFnAttribute(kernels::kScalarWork))
                    return true;
            }
        return false;
    }
    llvm::PreservedAnalyses run(llvm::Loop& loop, llvm::LoopAnalysisManager& am,
                                llvm::LoopStandardAnalysisResults& ar, llvm::LPMUpdater& updater) {
        if (has_statements(loop)) return llvm::PreservedAnalyses::all();
        return motion.run(loop, am, ar, updater);
    }
};

llvm::FunctionPassManager pipeline() {
    llvm::FunctionPassManager f;
    f.addPass(llvm::SimplifyCFGPass());
    f.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
    llvm::LoopPassManager rotate;
    rotate.addPass(llvm::LoopRotatePass());
    rotate.addPass(ScalarMotion());
    f.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(rotate), /*UseMemorySSA=*/true));
    // Short loops of a known number of iterations, like the bits of a byte.
    llvm::LoopPassManager unroll;
    unroll.addPass(llvm::LoopFullUnrollPass(/*OptLevel=*/2));
    f.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(unroll)));
    f.addPass(llvm::GVNPass());
    llvm::LoopPassManager motion;
    motion.addPass(ScalarMotion());
    f.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(motion), /*UseMemorySSA=*/true));
    f.addPass(llvm::InstCombinePass());
    f.addPass(llvm::SimplifyCFGPass());
    return f;
}

// A choice of a few instructions depends on data as a rule, and a branch that is guessed wrong costs more
// than all of it (the bits of a checksum: eight times). Without the mark the x86 backend makes branches where
// a choice is on the longest path of a loop.
void keep_selects(llvm::Function& f) {
    llvm::MDNode* mark = llvm::MDNode::get(f.getContext(), {});
    for (llvm::BasicBlock& block : f)
        for (llvm::Instruction& i : block)
            if (llvm::isa<llvm::SelectInst>(i)) i.setMetadata(llvm::LLVMContext::MD_unpredictable, mark);
}

// x ^ (c ? y : 0), which is what the optimizer makes of c ? x ^ y : x, again as that: then x ^ y need not
// wait for the condition, which is often the last to be known (the bits of a checksum: three cycles instead
// of four). The backend would do the same as the optimizer, were the result not hidden from it.
void choose_last(llvm::Function& f) {
    using llvm::Instruction;
    std::vector<llvm::BinaryOperator*> found;
    const auto choice = [](llvm::Value* v) {
        auto* select = llvm::dyn_cast<llvm::SelectInst>(v);
        const auto zero = [](llvm::Value* arm) {
            const auto* c = llvm::dyn_cast<llvm::ConstantInt>(arm);
            return c && c->isZero();
        };
        return select && select->hasOneUse() && zero(select->getTrueValue()) != zero(select->getFalseValue())
                   ? select
                   : nullptr;
    };
    for (llvm::BasicBlock& block : f)
        for (Instruction& i : block) {
            auto* op = llvm::dyn_cast<llvm::BinaryOperator>(&i);
            if (!op || !op->getType()->isIntegerTy() || op->getType()->isIntegerTy(1)) continue;
            if (op->getOpcode() != Instruction::Xor && op->getOpcode() != Instruction::Or &&
                op->getOpcode() != Instruction::Add)
                continue;
            if (choice(op->getOperand(0)) || choice(op->getOperand(1))) found.push_back(op);
        }
    for (llvm::BinaryOperator* op : found) {
        const unsigned at = choice(op->getOperand(1)) ? 1 : 0;
        llvm::SelectInst* select = choice(op->getOperand(at));
        if (!select) continue;  // both were
        llvm::IRBuilder<> b(op);
        llvm::Value* x = op->getOperand(1 - at);
        const auto* first = llvm::dyn_cast<llvm::ConstantInt>(select->getTrueValue());
        const bool zero_first = first && first->isZero();
        llvm::Value* y = zero_first ? select->getFalseValue() : select->getTrueValue();
        llvm::Type* t = op->getType();
        auto* hide = llvm::InlineAsm::get(llvm::FunctionType::get(t, {t}, false), "", "=r,0", false);
        llvm::Value* both = b.CreateCall(hide, {b.CreateBinOp(op->getOpcode(), x, y)});
        op->replaceAllUsesWith(
            b.CreateSelect(select->getCondition(), zero_first ? x : both, zero_first ? both : x));
        op->eraseFromParent();
        select->eraseFromParent();
    }
}

}  // namespace

void optimize_region(llvm::Module& module, llvm::TargetMachine& tm) {
    Managers managers(tm);
    (void)managers.modules.getResult<llvm::ProfileSummaryAnalysis>(module);
    llvm::FunctionPassManager passes = pipeline();
    // Statements over arrays are written as they shall be (kernels/llvm/regions/nest.cpp).
    for (llvm::Function& f : module)
        if (!f.isDeclaration() && !f.hasLocalLinkage()) {
            passes.run(f, managers.functions);
            choose_last(f);
            keep_selects(f);
        }
}

}  // namespace stator::jit
