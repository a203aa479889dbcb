// Machine code: from a program to LLVM IR to an object. The only part of jit/ that sees LLVM, in a library of
// its own (codegen.h), of which this is the inside.
//
// Rules. Objects name no address of the process: the only external symbols are the few of
// runtime_symbols.h. Everything here may be called from any thread; code generation is serialized by one
// lock. An error of LLVM, fatal ones included, comes back as text and leaves the engine usable. `fork_lock`
// makes the locks safe to copy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/region/region.h"
#include "jit/codegen.h"
#include "jit/link.h"
#include "kernels/llvm/emit.h"
#include "kernels/program.h"

namespace stator::jit {

struct Cpu {
    std::string name;         // LLVM's name, "znver4"
    std::string features;     // "+avx2,-avx512f,..." sorted by name
    std::string description;  // "znver4, 512-bit vectors (AVX-512)"
};
const Cpu& host_cpu();       // of this process; found out once
const char* llvm_version();  // "22.1.8"

// Generates code for a program.
Object emit_object(const kernels::Program& program, const kernels::EmitOptions& options);
// The same for a region.
Object emit_object(const graph::Region& region, const kernels::EmitOptions& options,
                   const FirstObject& first = {});
// The same from LLVM IR as text (tests).
Object emit_object_from_ir(std::string_view ir);
// What `emit_object` passes through, as text, for dumps. `assembly` may be null.
std::string emit_text(const kernels::Program& program, const kernels::EmitOptions& options,
                      std::string* llvm_ir, std::string* assembly);

std::string emit_text(const graph::Region& region, const kernels::EmitOptions& options, std::string* llvm_ir,
                      std::string* assembly);

Linked link_by_orc(std::string_view object, const std::vector<std::string>& symbols);

// What the first emit_object would have to do first, and a sample of it, as far as nobody waits for other
// code meanwhile. Gives what is wrong, or "".
std::string open_codegen(bool (*is_awaited)());

// Taken by the fork handler, in this order, so that a child finds the locks free and LLVM between two jobs.
void fork_lock();
void fork_unlock();

}  // namespace stator::jit
