// What a compiled object depends on, as bytes: the key of the object cache.
//
// Rule: everything the emitter reads, and nothing it does not. In particular no names of functions or values,
// graph ids, addresses or symbol names, so that the same computation in another function, process or session
// is a hit. A new field of the loop IR goes in here; the test changes each field in turn and expects another
// key.
#pragma once

#include <string>

#include "kernels/emit_options.h"
#include "kernels/loops/loop_ir.h"

namespace stator::jit {

std::string program_key(const kernels::Program& program);
// CPU, this build of stator and of its code generator, emission options.
std::string environment_key(const kernels::EmitOptions& options);

}  // namespace stator::jit
