// The one symbol that libstator_codegen.so exports. Nothing may throw through it.
#include "jit/build_id.h"
#include "jit/codegen.h"
#include "jit/orc/orc.h"

namespace stator::jit {
namespace {

const CodegenApi kApi = {
    .emit_program = emit_object,
    .emit_region = emit_object,
    .program_text = emit_text,
    .region_text = emit_text,
    .link = link_by_orc,
    .llvm_version = llvm_version,
    .cpu_description = [] { return host_cpu().description.c_str(); },
    .build_id = build_id,
    .warm_up = [](bool (*is_awaited)()) { (void)open_codegen(is_awaited); },
    .fork_lock = fork_lock,
    .fork_unlock = fork_unlock,
};

}  // namespace
}  // namespace stator::jit

extern "C" const stator::jit::CodegenApi* stator_codegen_api() { return &stator::jit::kApi; }
