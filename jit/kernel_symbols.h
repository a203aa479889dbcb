// Makes compiled kernels visible to tools: a line in /tmp/perf-PID.map for perf (STATOR_PERF=1), and gdb's
// JIT interface (STATOR_GDB=1). Knows ELF, not LLVM.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stator::jit {

struct LinkedObject {
    struct Range {
        std::string name;
        uint64_t address;
        uint64_t size;
    };
    std::vector<Range> functions;  // named as in the object
    std::vector<Range> sections;
};

// Does what the options ask for. Functions `prefix`_x appear as `name`_x. The result undoes the registration
// with gdb when dropped, and may be null; perf keeps no record that could be undone.
std::shared_ptr<void> publish_symbols(const LinkedObject& linked, std::string_view object,
                                      std::string_view prefix, std::string_view name);

}  // namespace stator::jit
