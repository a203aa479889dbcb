// The runtime for Python's ctypes.
#include <string.h>

#include "shim_build.h"
#include "shim_machine.h"
#include "shim_memory.h"
#include "shim_runtime.h"

namespace {

int give(const std::string& text, char* out, size_t room) {
    if (room) {
        strncpy(out, text.c_str(), room - 1);
        out[room - 1] = '\0';
    }
    return text.empty() ? 0 : 1;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void* shim_open(const char* path, char* message, size_t room) {
    std::string error;
    void* loaded = shim::open_module(path, &error);
    give(error, message, room);
    return loaded;
}
EXPORT void shim_close(void* loaded) { shim::close_module(static_cast<shim::Loaded*>(loaded)); }
EXPORT const shim::Kernel* shim_kernel(void* loaded, int i) {
    const shim::Module& module = shim::module_of(static_cast<shim::Loaded*>(loaded));
    return i < module.count ? &module.kernels[i] : nullptr;
}
EXPORT int shim_run(void* loaded, const char* name, const shim::Launch* launch, void** parameters,
                    char* message, size_t room) {
    auto* l = static_cast<shim::Loaded*>(loaded);
    const shim::Kernel* kernel = shim::find_kernel(l, name);
    if (!kernel) return give(std::string("there is no kernel '") + name + "' in this module", message, room);
    return give(shim::run(l, *kernel, *launch, parameters), message, room);
}
EXPORT unsigned long long shim_wide_accesses(int writes) { return shim::wide_accesses(writes != 0); }
EXPORT void* shim_allocate(size_t size, size_t alignment, size_t misalign, int left) {
    return shim::allocate(size, alignment, misalign, left != 0);
}
EXPORT int shim_release(void* p) {
    const shim::Block* block = shim::find_block(p);
    if (block) shim::machine().global.forget(block->pages, block->page_bytes);
    return shim::release(static_cast<char*>(p));
}
EXPORT int shim_read_only(void* p, int on) {
    shim::Block* block = shim::find_block(p);
    if (!block || !block->live) return 0;
    block->read_only = on != 0;
    return 1;
}
EXPORT int shim_check_margins(void* p, char* message, size_t room) {
    const shim::Block* block = shim::find_block(p);
    return block ? give(shim::check_margins(*block), message, room) : 0;
}
EXPORT int shim_build(const char* source, const char* cache_folder, char* path, size_t path_room,
                      char* message, size_t room) {
    std::string error;
    give(shim::build_module(source, cache_folder, &error), path, path_room);
    return give(error, message, room);
}
