// What generated code may call by name.
#pragma once

#include <span>
#include <string_view>

namespace stator::jit {

struct RuntimeSymbol {
    const char* name;
    void* address;
};
std::span<const RuntimeSymbol> runtime_symbols();
void* find_runtime_symbol(std::string_view name);  // nullptr: code may not refer to it

}  // namespace stator::jit
