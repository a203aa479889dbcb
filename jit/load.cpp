// See load.h. What link.h does not know ORC links, and LLVM is opened for it.
#include "jit/load.h"

#include <utility>

#include "jit/codegen.h"
#include "jit/kernel_symbols.h"
#include "jit/link.h"

namespace stator::jit {
namespace {

Linked link(std::string_view object, const std::vector<std::string>& symbols) {
    Linked linked = link_object(object, symbols);
    if (!linked.unknown) return linked;
    const CodegenApi* api = codegen();
    return api ? api->link(object, symbols) : linked;
}

Loaded load(std::string_view object, const std::string& prefix, const std::vector<std::string>& symbols,
            const std::string& name, std::vector<void*>& addresses) {
    Loaded out;
    if (symbols.empty()) return out;
    Linked linked = link(object, symbols);
    out.error = std::move(linked.error);
    if (!out.error.empty()) return out;
    addresses = std::move(linked.addresses);
    for (const auto& section : linked.parts.sections) out.code_bytes += static_cast<int64_t>(section.size);
    // The registration with gdb goes before the code does.
    struct Kept {
        std::shared_ptr<void> code, published;
    };
    out.owner = std::make_shared<Kept>(
        Kept{std::move(linked.owner), publish_symbols(linked.parts, object, prefix, name)});
    return out;
}

}  // namespace

Loaded load_object(std::string_view object, const std::string& prefix, int nests, const std::string& name) {
    std::vector<std::string> symbols;
    for (int i = 0; i < nests; ++i) symbols.push_back(prefix + "_nest" + std::to_string(i));
    std::vector<void*> addresses;
    Loaded out = load(object, prefix, symbols, name, addresses);
    for (void* a : addresses) out.entries.push_back(reinterpret_cast<kernels::NestFn>(a));
    return out;
}

Loaded load_region(std::string_view object, const std::string& prefix, const std::string& name) {
    std::vector<void*> addresses;
    Loaded out = load(object, prefix, {prefix + "_region"}, name, addresses);
    if (out.error.empty()) out.region = reinterpret_cast<kernels::RegionFn>(addresses.at(0));
    return out;
}

}  // namespace stator::jit
