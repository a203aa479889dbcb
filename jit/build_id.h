// Build ids: a hash of a library's contents, which the linker notes in it. Part of the object cache's keys.
#pragma once

#include <string>

namespace stator::jit {

const std::string& build_id();  // of the library that this is part of
std::string build_id_of_file(
    const std::string& path);  // of a library that need not be open; "" if there is none

}  // namespace stator::jit
