// libfakecuda.so: modules, functions, launches.
#include <elf.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "../shim/shim_build.h"
#include "fake_image.h"
#include "fake_state.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace fake {
namespace {

namespace fs = std::filesystem;

// An image comes without its size: a module ends with its section headers.
size_t elf_size(const char* image) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
    return header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
}

// Modules of one image must not share their variables, so each is a file of its own for the loader.
shim::Loaded* load_bytes(const std::string& bytes, std::string* error) {
    std::string path = (fs::temp_directory_path() / "stator_fake_XXXXXX").string();
    const int fd = mkstemp(path.data());
    if (fd < 0) return *error = "no temporary file", nullptr;
    const bool written = write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    close(fd);
    shim::Loaded* loaded = written ? shim::open_module(path.c_str(), error) : nullptr;
    unlink(path.c_str());
    return loaded;
}

int capability_of(const std::string& arch) {  // "sm_90a" -> 90
    const size_t digits = arch.find_first_of("0123456789");
    return digits == arch.npos ? 0 : std::atoi(arch.c_str() + digits);
}

int load_cubin(const char* image, shim::Loaded** loaded, std::string* error) {
    const char* arch = image + std::strlen(kCubinMark);
    const char* module = std::strchr(arch, '\n') + 1;
    const int made_for = capability_of(arch), device = state().major * 10 + state().minor;
    if (made_for / 10 != device / 10 || made_for > device) return kNoBinaryForGpu;
    *loaded = load_bytes(std::string(module, elf_size(module)), error);
    return *loaded ? kSuccess : kInvalidImage;
}

int load_ptx(const std::string& ptx, shim::Loaded** loaded, std::string* error) {
    const size_t target = ptx.find(".target "), mark = ptx.find(kSourceMark);
    if (target == ptx.npos || mark == ptx.npos) return *error = "not a PTX of libfakenvrtc.so", kInvalidImage;
    if (capability_of(ptx.substr(target + 8, 16)) > state().major * 10 + state().minor)
        return kNoBinaryForGpu;
    std::string source;
    size_t at = mark + std::strlen(kSourceMark);
    while (at < ptx.size()) {
        const size_t end = std::min(ptx.find('\n', at), ptx.size());
        source += ptx.substr(at + 2, end - at - 2) + "\n";
        at = end + 1;
    }
    const char* chosen = std::getenv("SHIM_CACHE_DIR");
    const std::string module = shim::build_module(source, chosen && *chosen ? chosen : SHIM_CACHE_DIR, error);
    if (module.empty()) return kInvalidImage;
    std::ifstream in(module, std::ios::binary);
    *loaded = load_bytes(std::string(std::istreambuf_iterator<char>(in), {}), error);
    return *loaded ? kSuccess : kInvalidImage;
}

// Reads the caller's memory without faulting where there is none.
bool read_host(void* to, const void* from, size_t bytes) {
    const iovec local{to, bytes}, remote{const_cast<void*>(from), bytes};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

Function* find_function(void* handle, Device& device, const char* name, int* code) {
    State& s = state();
    const auto it = s.functions.find(handle);
    const char* problem = nullptr;
    *code = kInvalidHandle;
    if (it == s.functions.end())
        problem = "not a function of the driver's";
    else if (!it->second->module->live)
        problem = "the function's module was unloaded";
    else if (it->second->module->device != &device)
        problem = "the function's module is of another device than the current context";
    if (problem) return s.violate(std::string(name) + ": " + problem), nullptr;
    *code = kSuccess;
    return it->second.get();
}

// Copies the parameters and checks those that are pointers; a violation says what is wrong.
bool take_parameters(const shim::Kernel& kernel, void** parameters, Device& device, Stream& stream,
                     std::vector<std::vector<char>>& values, std::vector<const shim::Block*>& blocks) {
    State& s = state();
    const auto violate = [&](int i, const std::string& what) {
        s.violate(std::string("cuLaunchKernel: parameter ") + std::to_string(i) + " of '" + kernel.name +
                  "' " + what);
        return false;
    };
    for (int i = 0; i < kernel.parameters; ++i) {
        void* from = nullptr;
        std::vector<char> value(static_cast<size_t>(kernel.sizes[i]));
        if (!read_host(&from, parameters + i, sizeof from) || !read_host(value.data(), from, value.size()))
            return violate(i, "cannot be read: too few parameters?");
        if (kernel.pointers[i]) {
            uint64_t address = 0;
            std::memcpy(&address, value.data(), sizeof address);
            // One past the end is where the pointer of an empty part may be.
            Allocation* a = address ? s.allocation(address) : nullptr;
            if (!a && address) a = s.allocation(address - 1);
            if (address && !a && s.unified) {
                values.push_back(std::move(value));
                continue;
            }
            if (address && !a) return violate(i, "is a pointer, but not to device memory");
            if (a && !a->live) return violate(i, "points to memory that was freed");
            if (a && a->device != &device) return violate(i, "points to memory of another device");
            if (a) s.use(*a, stream, "cuLaunchKernel");
            if (a) blocks.push_back(shim::find_block(reinterpret_cast<void*>(address)));
        }
        values.push_back(std::move(value));
    }
    return true;
}

int launch(Entry& e, void* function, const unsigned* grid, const unsigned* block, unsigned shared,
           int cluster, void* stream, void** parameters) {
    if (e.early) return e.early;
    State& s = state();
    int code = kSuccess;
    Function* f = find_function(function, *e.device, "cuLaunchKernel", &code);
    if (!f) return code;
    Stream* on = s.stream(stream, *e.device, "cuLaunchKernel");
    if (!on) return kInvalidHandle;
    if (shared > static_cast<unsigned>(f->max_dynamic_shared)) {
        s.violate("cuLaunchKernel: more dynamic shared memory than the function was prepared for");
        return kInvalidValue;
    }
    std::vector<std::vector<char>> values;
    std::vector<const shim::Block*> blocks;  // what the kernel is given, and nothing else, is open to it
    if (f->kernel->parameters && !parameters) {
        s.violate("cuLaunchKernel: no parameters");
        return kInvalidValue;
    }
    if (!take_parameters(*f->kernel, parameters, *e.device, *on, values, blocks))
        return e.device->sticky = kIllegalAddress, kSuccess;
    std::vector<void*> pointers;
    for (auto& value : values) pointers.push_back(value.data());
    pointers.push_back(nullptr);
    shim::Launch l;
    for (int i = 0; i < 3; ++i) l.grid[i] = grid[i], l.block[i] = block[i];
    l.shared_bytes = shared;
    l.cluster = cluster;
    l.order = s.order;
    l.seed = s.seed;
    for (const shim::Block* block : blocks) shim::set_access(*block, true);
    const std::string problem = shim::run(f->module->loaded, *f->kernel, l, pointers.data());
    for (const shim::Block* block : blocks) shim::set_access(*block, false);
    if (problem.empty()) return kSuccess;
    s.violate(problem);
    if (problem.rfind("kernel '", 0) != 0) return kInvalidValue;  // the launch's own fault
    e.device->sticky = kIllegalAddress;                           // as on a GPU, the next call tells
    return kSuccess;
}

struct LaunchAttribute {
    int id;
    int padding;
    unsigned cluster[16];
};
struct LaunchConfig {
    unsigned grid[3], block[3], shared;
    void* stream;
    LaunchAttribute* attributes;
    unsigned count;
};

}  // namespace
}  // namespace fake

using namespace fake;

EXPORT int cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options, void** values) {
    Entry e("cuModuleLoadDataEx", true, true);
    if (e.early) return e.early;
    const char* bytes = static_cast<const char*>(image);
    std::string error;
    shim::Loaded* loaded = nullptr;
    int code = kInvalidImage;
    if (std::strncmp(bytes, kCubinMark, std::strlen(kCubinMark)) == 0)
        code = load_cubin(bytes, &loaded, &error);
    else if (std::strncmp(bytes, "//", 2) == 0)
        code = load_ptx(bytes, &loaded, &error);
    for (unsigned i = 0; code != kSuccess && i + 1 < count; ++i)
        if (options[i] == 5 && options[i + 1] == 6)
            std::snprintf(static_cast<char*>(values[i]), reinterpret_cast<size_t>(values[i + 1]), "%s",
                          error.c_str());
    if (code != kSuccess) return code;
    auto m = std::make_unique<Module>(Module{e.device, loaded, ""});
    *module = m.get();
    state().modules[m.get()] = std::move(m);
    return kSuccess;
}
EXPORT int cuModuleUnload(void* module) {
    Entry e("cuModuleUnload", true, true);
    if (e.early) return e.early;
    State& s = state();
    const auto it = s.modules.find(module);
    const char* problem = it == s.modules.end() ? "not a module of the driver's"
                          : !it->second->live   ? "the module was unloaded before"
                          : it->second->device != e.device
                              ? "the module is of another device than the current context"
                              : nullptr;
    if (problem) return s.violate(std::string("cuModuleUnload: ") + problem), kInvalidHandle;
    it->second->live = false;
    shim::close_module(it->second->loaded);
    return kSuccess;
}
EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
    Entry e("cuModuleGetFunction", true, true);
    if (e.early) return e.early;
    State& s = state();
    const auto it = s.modules.find(module);
    if (it == s.modules.end() || !it->second->live) {
        s.violate("cuModuleGetFunction: not a module, or an unloaded one");
        return kInvalidHandle;
    }
    const shim::Kernel* kernel = shim::find_kernel(it->second->loaded, name);
    if (!kernel) return kNotFound;
    auto f = std::make_unique<Function>(Function{it->second.get(), kernel});
    *function = f.get();
    s.functions[f.get()] = std::move(f);
    return kSuccess;
}
EXPORT int cuFuncGetAttribute(int* value, int attribute, void* function) {
    Entry e("cuFuncGetAttribute", true, true);
    if (e.early) return e.early;
    int code = kSuccess;
    const Function* f = find_function(function, *e.device, "cuFuncGetAttribute", &code);
    if (!f) return code;
    const shim::Module& module = shim::module_of(f->module->loaded);
    constexpr long kAnchor = 64;  // shim_module.cpp's own bytes in the section
    switch (attribute) {
        case 0: *value = f->kernel->max_threads ? f->kernel->max_threads : 1024; break;
        case 1: *value = static_cast<int>(module.shared_end - module.shared_begin - kAnchor); break;
        case 4: *value = 32; break;
        case 8: *value = f->max_dynamic_shared; break;
        default: *value = 0;
    }
    return kSuccess;
}
EXPORT int cuFuncSetAttribute(void* function, int attribute, int value) {
    Entry e("cuFuncSetAttribute", true, true);
    if (e.early) return e.early;
    int code = kSuccess;
    Function* f = find_function(function, *e.device, "cuFuncSetAttribute", &code);
    if (!f) return code;
    if (attribute != 8) return kSuccess;
    if (value < 0 || value > (state().major >= 9 ? 227 : 163) << 10) return kInvalidValue;
    f->max_dynamic_shared = value;
    return kSuccess;
}
EXPORT int cuFuncGetParamInfo(void* function, size_t index, size_t* offset, size_t* size) {
    Entry e("cuFuncGetParamInfo", true, true);
    if (e.early) return e.early;
    int code = kSuccess;
    const Function* f = find_function(function, *e.device, "cuFuncGetParamInfo", &code);
    if (!f) return code;
    if (index >= static_cast<size_t>(f->kernel->parameters)) return kInvalidValue;
    *offset = 0;
    for (size_t i = 0; i <= index; ++i) {
        *size = static_cast<size_t>(f->kernel->sizes[i]);
        if (i < index) *offset += *size;
    }
    return kSuccess;
}
EXPORT int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, void* stream, void** parameters, void** extra) {
    if (state().idle) return kSuccess;
    Entry e("cuLaunchKernel", true, true);
    const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
    if (extra) state().violate("cuLaunchKernel: the fake takes no `extra`");
    return launch(e, function, grid, block, shared, 1, stream, parameters);
}
// All blocks run at the same time, as one cluster: so many as a multiprocessor holds, times multiprocessors.
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads, size_t) {
    Entry e("cuOccupancyMaxActiveBlocksPerMultiprocessor", true, true);
    if (e.early) return e.early;
    int code = kSuccess;
    const Function* f =
        find_function(function, *e.device, "cuOccupancyMaxActiveBlocksPerMultiprocessor", &code);
    if (!f) return code;
    const int most = f->kernel->max_threads ? f->kernel->max_threads : 1024;
    *blocks = threads >= 1 && threads <= most ? kBlocksAtOnce : 0;
    return kSuccess;
}
EXPORT int cuLaunchCooperativeKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                     unsigned by, unsigned bz, unsigned shared, void* stream,
                                     void** parameters) {
    Entry e("cuLaunchCooperativeKernel", true, true);
    const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
    if (gy != 1 || gz != 1) state().violate("cuLaunchCooperativeKernel: the fake takes grids of one axis");
    if (gx > static_cast<unsigned>(kBlocksAtOnce * kMultiprocessors)) {
        state().violate("cuLaunchCooperativeKernel: more blocks than run at the same time");
        return kTooManyBlocks;
    }
    return launch(e, function, grid, block, shared, static_cast<int>(gx), stream, parameters);
}
EXPORT int cuLaunchKernelEx(const LaunchConfig* config, void* function, void** parameters, void** extra) {
    Entry e("cuLaunchKernelEx", true, true);
    if (extra) state().violate("cuLaunchKernelEx: the fake takes no `extra`");
    int cluster = 1;
    for (unsigned i = 0; i < config->count; ++i) {
        const LaunchAttribute& attribute = config->attributes[i];
        if (attribute.id != 4) continue;
        cluster = static_cast<int>(attribute.cluster[0]);
        if (state().major < 9 || attribute.cluster[1] != 1 || attribute.cluster[2] != 1) {
            state().violate("cuLaunchKernelEx: a cluster, of a device of before 9.0 or not along x");
            return kInvalidValue;
        }
    }
    return launch(e, function, config->grid, config->block, config->shared, cluster, config->stream,
                  parameters);
}
