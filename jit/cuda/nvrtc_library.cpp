// Finding and opening libnvrtc.
#include "jit/cuda/nvrtc_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "jit/core.h"

namespace stator::jit {
namespace {

// Newest first: a newer NVRTC knows more architectures, and its cubins do not depend on the driver's version
// beyond the major one.
constexpr const char* kSonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
// Below site-packages: the wheels of CUDA 13 and of CUDA 12.
constexpr const char* kWheelFolders[] = {"", "/nvidia/cu13/lib", "/nvidia/cuda_nvrtc/lib"};
constexpr const char* kInstall = "install it with `pip install \"stator[cuda]\"`";

struct Folders {
    std::mutex mutex;
    std::vector<std::string> list;
};
Folders& folders() {
    static Folders* f = new Folders;
    return *f;
}

std::string identity_of(const std::string& path) {
    struct stat st;
    if (stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return "";
    return path.substr(path.rfind('/') + 1) + " " + std::to_string(st.st_size) + " " +
           std::to_string(st.st_mtim.tv_sec) + "." + std::to_string(st.st_mtim.tv_nsec);
}

// The folder above the one this library is in: stator/libstator_core.so lies in site-packages/stator.
std::string own_site_packages() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<const void*>(&set_nvrtc_folders), &info) || !info.dli_fname) return "";
    std::string path = info.dli_fname;
    for (int i = 0; i < 2; ++i) {
        const size_t slash = path.rfind('/');
        if (slash == path.npos || slash == 0) return "";
        path.resize(slash);
    }
    return path;
}

void add_toolkits(std::vector<NvrtcCandidate>& out) {
    glob_t found{};
    if (glob("/usr/local/cuda*/lib64/libnvrtc.so*", 0, nullptr, &found) == 0)
        for (size_t i = found.gl_pathc; i > 0; --i) out.push_back({found.gl_pathv[i - 1], true});
    globfree(&found);
}

// "" when every function is there.
std::string fill(void* handle, NvrtcTable& table) {
#define F(name, result, parameters)                                                    \
    table.name = reinterpret_cast<result(*) parameters>(dlsym(handle, "nvrtc" #name)); \
    if (!table.name) return "nvrtc" #name;
    NVRTC_FUNCTIONS(F)
#undef F
    return "";
}

std::string path_of(const NvrtcTable& table, const std::string& fallback) {
    Dl_info info;
    return dladdr(reinterpret_cast<const void*>(table.Version), &info) && info.dli_fname ? info.dli_fname
                                                                                         : fallback;
}

// "" when the candidate can be used.
// NVRTC opens libnvrtc-builtins by its name alone when it first compiles. NVIDIA's packages up to CUDA 13.0,
// which torch brings, do not say that it lies beside NVRTC. The loader takes one of that name that is open
// already.
void open_builtins_beside(const std::string& path) {
    glob_t found{};
    const std::string pattern = path.substr(0, path.rfind('/') + 1) + "libnvrtc-builtins.so*";
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; ++i) dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
}

std::string try_open(const NvrtcCandidate& candidate, NvrtcLibrary* out) {
    void* handle = dlopen(candidate.name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char* reason = dlerror();
        return reason ? reason : "dlopen failed";
    }
    NvrtcLibrary lib;
    if (const std::string missing = fill(handle, lib.call); !missing.empty()) {
        dlclose(handle);
        return "it has no function " + missing + " (CUDA 11.2 or newer is needed)";
    }
    int archs = 0;
    if (lib.call.Version(&lib.info.major, &lib.info.minor) != 0 || lib.call.GetNumSupportedArchs(&archs) != 0)
        return "it does not answer nvrtcVersion";
    lib.info.archs.resize(static_cast<size_t>(std::max(archs, 0)));
    if (archs > 0 && lib.call.GetSupportedArchs(lib.info.archs.data()) != 0) lib.info.archs.clear();
    lib.info.path = path_of(lib.call, candidate.name);
    if (candidate.is_path) open_builtins_beside(candidate.name);
    *out = std::move(lib);
    return "";
}

}  // namespace

void set_nvrtc_folders(std::vector<std::string> list) {
    Folders& f = folders();
    std::lock_guard lock(f.mutex);
    f.list = std::move(list);
}

std::vector<NvrtcCandidate> nvrtc_candidates() {
    std::vector<NvrtcCandidate> out;
    if (const std::string& chosen = options().nvrtc; !chosen.empty())
        return {{chosen, chosen.find('/') != chosen.npos}};
    std::vector<std::string> places;
    {
        Folders& f = folders();
        std::lock_guard lock(f.mutex);
        places = f.list;
    }
    if (const std::string own = own_site_packages(); !own.empty()) places.push_back(own);
    for (const std::string& place : places)
        for (const char* below : kWheelFolders)
            for (const char* soname : kSonames) {
                std::string path = place + below + "/" + soname;
                if (!identity_of(path).empty()) out.push_back({std::move(path), true});
            }
    for (const char* soname : kSonames) out.push_back({soname, false});
    add_toolkits(out);
    return out;
}

bool open_nvrtc(NvrtcLibrary* out, std::string* error) {
    std::string tried;
    for (const NvrtcCandidate& candidate : nvrtc_candidates()) {
        const std::string problem = try_open(candidate, out);
        if (problem.empty()) return true;
        // The loader's "no such file" for each name it was asked for is noise; anything else is worth
        // reading.
        const bool absent = problem.find("No such file") != problem.npos;
        tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", candidate.name,
                             absent ? "not found" : problem);
    }
    if (const std::string& chosen = options().nvrtc; !chosen.empty())
        *error = fmt::format(
            "NVRTC, which compiles CUDA kernels, could not be opened as STATOR_NVRTC says ({}); "
            "unset it, or set it to the path of a libnvrtc.so",
            tried);
    else
        *error = fmt::format(
            "NVRTC, which compiles CUDA kernels, was not found: {}, or set STATOR_NVRTC to the path of a "
            "libnvrtc.so (tried {})",
            kInstall, tried);
    return false;
}

std::string nvrtc_identity() {
    for (const NvrtcCandidate& candidate : nvrtc_candidates()) {
        if (!candidate.is_path) return "";  // only the loader knows which file this is
        if (std::string identity = identity_of(candidate.name); !identity.empty()) return identity;
    }
    return "";
}

}  // namespace stator::jit
