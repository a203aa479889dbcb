// LLVM IR from a region (graph/region/region.h): one exported function <prefix>_region of type RegionFn
// (region_abi.h). As in llvm/emit.h, the code holds no address of the process.
#pragma once

#include <memory>

#include "graph/region/region.h"
#include "kernels/emit_options.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace stator::kernels {

// The name of RegionArgs::breaker in it. Polls are the volatile loads from there.
inline constexpr char kBreakerName[] = "breaker";
// Attribute of functions of its own that are no statements over arrays.
inline constexpr char kScalarWork[] = "stator-scalar-work";

// The region must be one that graph::verify accepts.
std::unique_ptr<llvm::Module> emit_llvm_region(llvm::LLVMContext& context, const graph::Region& region,
                                               const EmitOptions& options);

}  // namespace stator::kernels
