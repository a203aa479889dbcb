// A relocatable object of LLVM's x86-64 code generator becomes code in memory, without LLVM.
//
// An object from the cache has to be callable in a fraction of a millisecond, and opening LLVM for its linker
// takes several. What such an object holds is little: code, constants, calls of kernels/tier0/host_call.h and
// of block moves. Whatever else one might hold is refused here (`unknown`) and left to ORC
// (jit/orc/link.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jit/kernel_symbols.h"

namespace stator::jit {

struct Linked {
    std::vector<void*> addresses;  // of the symbols that were asked for, in their order
    LinkedObject parts;
    std::shared_ptr<void> owner;  // unmaps the code when dropped
    std::string error;            // not empty: nothing was linked
    bool unknown = false;         // the error is that this linker does not know something
};
Linked link_object(std::string_view object, const std::vector<std::string>& symbols);

}  // namespace stator::jit
