// Machine code: from LLVM IR to an object, and from an object to callable entries. The only part of jit/ that
// sees LLVM.
//
// The two halves are separate on purpose: `emit_object` needs a target machine and takes milliseconds,
// `load_object` only links (0.1 ms) and is all that a hit in the object cache costs.
//
// Rules. Objects name no address of the process: the only external symbols are the few of kRuntimeSymbols
// (orc.cpp). Everything here may be called from any thread; code generation is serialized by one lock. An
// error of LLVM, fatal ones included, comes back as text and leaves the engine usable. `fork_lock` makes the
// locks safe to copy.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/region.h"
#include "kernels/abi.h"
#include "kernels/emit_llvm.h"
#include "kernels/program.h"
#include "kernels/region_abi.h"

namespace stator::jit {

struct Machine {
    std::string cpu;          // LLVM's name, "znver4"
    std::string features;     // "+avx2,-avx512f,..." sorted by name
    std::string description;  // "znver4, 512-bit vectors (AVX-512)"
    int vector_bits = 128;    // widest vectors worth using
    bool avx2 = false;
    bool avx512 = false;  // F, BW, DQ and VL
};
const Machine& machine();    // of this process; found out once
const char* llvm_version();  // "22.1.8"

kernels::EmitOptions emit_options(std::string prefix, bool fastmath);

struct Object {
    std::string bytes;           // a relocatable ELF file
    double emit_seconds = 0;     // program to LLVM IR
    double codegen_seconds = 0;  // LLVM IR to object
    std::string error;           // not empty: no object
};
// Generates code for a program.
Object emit_object(const kernels::Program& program, const kernels::EmitOptions& options);
// The same for a region.
Object emit_object(const graph::Region& region, const kernels::EmitOptions& options);
// The same from LLVM IR as text (tests).
Object emit_object_from_ir(std::string_view ir);
// What `emit_object` passes through, as text, for dumps. `assembly` may be null.
std::string emit_text(const kernels::Program& program, const kernels::EmitOptions& options,
                      std::string* llvm_ir, std::string* assembly);

std::string emit_text(const graph::Region& region, const kernels::EmitOptions& options, std::string* llvm_ir,
                      std::string* assembly);

struct Loaded {
    std::vector<kernels::NestFn> entries;  // <prefix>_nest0, <prefix>_nest1, ...
    kernels::RegionFn region = nullptr;    // <prefix>_region
    std::shared_ptr<void> owner;           // unloads the code when dropped
    int64_t code_bytes = 0;
    std::string error;  // not empty: nothing was loaded
};
// Links an object into the process. `name` is what perf shows (STATOR_PERF), for instance "step#1".
Loaded load_object(std::string_view object, const std::string& prefix, int nests, const std::string& name);
// The same for the object of a region.
Loaded load_region(std::string_view object, const std::string& prefix, const std::string& name);

void open_session();  // what the first load_object would have to do first
void open_codegen();  // the same for what emitting objects needs

// Taken by the fork handler, in this order, so that a child finds the locks free and LLVM between two jobs.
void fork_lock();
void fork_unlock();

}  // namespace stator::jit
