// See codegen.h. The library is never closed.
#include "jit/codegen.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "jit/build_id.h"
#include "jit/compiler.h"
#include "jit/core.h"

namespace stator::jit {
namespace {

std::atomic<const CodegenApi*> opened{nullptr};

struct Opening {
    std::mutex mutex;  // held while it is being opened
    bool tried = false;
    std::string problem;
};
Opening& opening() {
    static auto* o = new Opening;
    return *o;
}

// Beside this one.
std::string path() {
    Dl_info info{};
    if (!dladdr(reinterpret_cast<void*>(&opening), &info) || !info.dli_fname) return "libstator_codegen.so";
    const std::string own = info.dli_fname;
    return own.substr(0, own.rfind('/') + 1) + "libstator_codegen.so";
}

const CodegenApi* open(std::string& problem) {
    if (stator_codegen_api) return stator_codegen_api();
    void* library = dlopen(path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char* why = dlerror();
        problem = std::string("the code generator cannot be opened: ") + (why ? why : path().c_str());
        return nullptr;
    }
    const auto entry = reinterpret_cast<const CodegenApi* (*)()>(dlsym(library, "stator_codegen_api"));
    // One that was replaced since its build id was read would be cached under the other's name.
    if (!entry || entry()->build_id() != codegen_build_id()) {
        problem = path() + " is of another build: reinstall stator, or start the program again";
        return nullptr;
    }
    // The process's exit handlers run latest first: this one before the destructors of LLVM's global objects,
    // in front of which the compile thread has to be idle.
    std::atexit([] { compile_queue().stop(); });
    return entry();
}

}  // namespace

const CodegenApi* opened_codegen() { return opened.load(std::memory_order_acquire); }

const CodegenApi* codegen(std::string* error) {
    if (const CodegenApi* api = opened_codegen()) return api;
    Opening& o = opening();
    std::lock_guard lock(o.mutex);
    if (!o.tried) {
        o.tried = true;
        opened.store(open(o.problem), std::memory_order_release);
        if (!o.problem.empty()) log_warning(o.problem);
    }
    if (error) *error = o.problem;
    return opened_codegen();
}

const std::string& codegen_build_id() {
    static const auto* id = new std::string(stator_codegen_api ? build_id() : build_id_of_file(path()));
    return *id;
}

void codegen_before_fork() {
    opening().mutex.lock();
    if (const CodegenApi* api = opened_codegen()) api->fork_lock();
}

void codegen_after_fork() {
    if (const CodegenApi* api = opened_codegen()) api->fork_unlock();
    opening().mutex.unlock();
}

}  // namespace stator::jit
