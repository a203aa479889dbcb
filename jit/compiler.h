// A program's way to machine code: memory, disk, LLVM, in this order; in the background or in place.
#pragma once

#include <memory>

#include "jit/compile_queue.h"
#include "jit/object_cache.h"
#include "kernels/api/compiler.h"

namespace stator::jit {

void compile(kernels::CompileRequest request);
void compile_region(kernels::RegionRequest request);
void wait_idle();
void artifacts(const kernels::CompileRequest& request, kernels::Artifacts& out);
void region_artifacts(const kernels::RegionRequest& request, kernels::Artifacts& out);
void stats(kernels::CompilerStats& out);
void reset();
void warm_up();  // opens in the background what the first compilation would have to wait for

CompileQueue& compile_queue();
std::shared_ptr<ObjectCache> object_cache();  // the one that the options in force name
void compiler_before_fork();
void compiler_after_fork();

}  // namespace stator::jit
