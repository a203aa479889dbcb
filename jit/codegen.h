// The door to libstator_codegen.so, which is LLVM and what of stator uses it. Opening it costs milliseconds,
// so it is opened when something has to be compiled: what the object cache has needs none of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/region/region.h"
#include "jit/link.h"
#include "kernels/emit_options.h"
#include "kernels/program.h"

namespace stator::jit {

struct Object {
    std::string bytes;           // a relocatable ELF file
    double emit_seconds = 0;     // program to LLVM IR
    double codegen_seconds = 0;  // LLVM IR to object
    std::string error;           // not empty: no object
};

// Code for now, of a region that is large: generated without optimization, before the object that is
// returned.
struct FirstObject {
    int64_t from = INT64_MAX;  // instructions of LLVM IR, as the region stands, from which on it is wanted
    std::function<bool(Object)> take;  // gets it as soon as it is there, with no lock held; false: no other
};

struct CodegenApi {
    Object (*emit_program)(const kernels::Program& program, const kernels::EmitOptions& options);
    Object (*emit_region)(const graph::Region& region, const kernels::EmitOptions& options,
                          const FirstObject& first);
    // What these pass through, as text, for dumps; "" or an error. `assembly` may be null.
    std::string (*program_text)(const kernels::Program& program, const kernels::EmitOptions& options,
                                std::string* llvm_ir, std::string* assembly);
    std::string (*region_text)(const graph::Region& region, const kernels::EmitOptions& options,
                               std::string* llvm_ir, std::string* assembly);
    Linked (*link)(std::string_view object, const std::vector<std::string>& symbols);  // by ORC
    const char* (*llvm_version)();
    const char* (*cpu_description)();
    const std::string& (*build_id)();
    void (*warm_up)(bool (*is_awaited)());  // see open_codegen
    // Around a fork: the child finds locks free and LLVM between two jobs.
    void (*fork_lock)();
    void (*fork_unlock)();
};

// Opens the library; null and why not when that fails.
const CodegenApi* codegen(std::string* error = nullptr);
const CodegenApi* opened_codegen();  // null when it was not opened so far

// Of the library that codegen() opens, known without opening it: changes with every change of its code.
const std::string& codegen_build_id();

void codegen_before_fork();
void codegen_after_fork();

}  // namespace stator::jit

// What libstator_codegen.so exports. Programs that link its parts statically (tests) have it as it is.
extern "C" __attribute__((weak, visibility("default"))) const stator::jit::CodegenApi* stator_codegen_api();
