// libfakenvrtc.so: NVRTC's functions over the shim, so that stator can be run from end to end without a GPU.
//
// A "cubin" is a line that names the architecture, then a kernel module for the CPU; a "PTX" carries the
// source in comments. libfakecuda.so takes both. Options are checked as NVRTC checks them; the log reads as
// ptxas's does.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../shim/shim_build.h"
#include "fake_image.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum { kSuccess = 0, kInvalidInput = 3, kInvalidProgram = 4, kInvalidOption = 5, kCompilation = 6 };
constexpr int kArchs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
constexpr const char* kOptions[] = {"gpu-architecture",
                                    "arch",
                                    "std",
                                    "minimal",
                                    "ptxas-options",
                                    "no-cache",
                                    "modify-stack-limit",
                                    "Ofast-compile",
                                    "Ofc",
                                    "fmad",
                                    "maxrregcount",
                                    "use_fast_math",
                                    "lineinfo",
                                    "D",
                                    "prec-div",
                                    "prec-sqrt",
                                    "ftz"};

constexpr const char* kOnlyFromCuda12[] = {"minimal", "no-cache", "modify-stack-limit", "Ofast-compile"};

struct Program {
    std::string source, name, log, cubin, ptx;
    bool compiled = false;
};

// FAKE_NVRTC_VERSION=11.8 makes it an old one.
int major_version() {
    const char* version = std::getenv("FAKE_NVRTC_VERSION");
    return version && *version ? std::atoi(version) : 13;
}

std::string cache_folder() {
    const char* chosen = std::getenv("SHIM_CACHE_DIR");
    return chosen && *chosen ? chosen : SHIM_CACHE_DIR;
}

int fail(Program& p, int code, const std::string& log) {
    p.log = log;
    return code;
}

std::string ptx_of(const Program& p, const std::string& arch,
                   const std::vector<shim::KernelSignature>& kernels) {
    std::string ptx = "//\n// Not PTX: the source, for libfakecuda.so\n//\n.version 9.0\n.target " + arch +
                      "\n.address_size 64\n";
    for (const auto& kernel : kernels) ptx += ".visible .entry " + kernel.name + "(\n)\n";
    ptx += fake::kSourceMark;
    size_t at = 0;
    while (at < p.source.size()) {
        const size_t end = std::min(p.source.find('\n', at), p.source.size());
        ptx += "//" + p.source.substr(at, end - at) + "\n";
        at = end + 1;
    }
    return ptx;
}

int give_size(const std::string& text, size_t* size, bool zero) {
    if (!size) return kInvalidInput;
    *size = text.empty() ? 0 : text.size() + (zero ? 1 : 0);
    return kSuccess;
}

}  // namespace

EXPORT const char* nvrtcGetErrorString(int code) {
    switch (code) {
        case kSuccess: return "NVRTC_SUCCESS";
        case kInvalidInput: return "NVRTC_ERROR_INVALID_INPUT";
        case kInvalidProgram: return "NVRTC_ERROR_INVALID_PROGRAM";
        case kInvalidOption: return "NVRTC_ERROR_INVALID_OPTION";
        case kCompilation: return "NVRTC_ERROR_COMPILATION";
        default: return "NVRTC_ERROR unknown";
    }
}
EXPORT int nvrtcVersion(int* major, int* minor) {
    const char* version = std::getenv("FAKE_NVRTC_VERSION");
    if (!version || std::sscanf(version, "%d.%d", major, minor) != 2) *major = 13, *minor = 0;
    return kSuccess;
}
EXPORT int nvrtcGetNumSupportedArchs(int* count) { return *count = std::size(kArchs), kSuccess; }
EXPORT int nvrtcGetSupportedArchs(int* archs) {
    std::copy(std::begin(kArchs), std::end(kArchs), archs);
    return kSuccess;
}
EXPORT int nvrtcCreateProgram(void** program, const char* source, const char* name, int headers,
                              const char* const*, const char* const*) {
    if (!program || !source || headers != 0) return kInvalidInput;
    *program = new Program{source, name ? name : "default_program", "", "", ""};
    return kSuccess;
}
EXPORT int nvrtcDestroyProgram(void** program) {
    if (!program || !*program) return kInvalidProgram;
    delete static_cast<Program*>(*program);
    *program = nullptr;
    return kSuccess;
}
// For tests: the options of the last compilation, each followed by a space.
static std::string last_options;
EXPORT const char* fake_nvrtc_options() { return last_options.c_str(); }

EXPORT int nvrtcCompileProgram(void* program, int count, const char* const* options) {
    if (!program) return kInvalidProgram;
    Program& p = *static_cast<Program*>(program);
    last_options.clear();
    for (int i = 0; i < count; ++i) last_options += std::string(options[i]) + " ";
    std::string arch = "compute_75";
    for (int i = 0; i < count; ++i) {
        std::string option = options[i];
        option.erase(0, option.find_first_not_of('-'));
        const std::string name = option.substr(0, option.find('='));
        bool known = false;
        for (const char* k : kOptions) known |= name == k;
        for (const char* k : kOnlyFromCuda12) known &= name != k || major_version() >= 12;
        if (!known)
            return fail(p, kInvalidOption,
                        std::string("nvrtc: error: unrecognized option ") + options[i] + " found\n");
        if (name == "gpu-architecture" || name == "arch") arch = option.substr(option.find('=') + 1);
    }
    if (p.source.find("#include") != p.source.npos)
        return fail(p, kCompilation, p.name + ": error: the fake has no headers\n");
    std::string error;
    const std::string module = shim::build_module(p.source, cache_folder(), &error);
    if (module.empty()) return fail(p, kCompilation, error);
    const auto kernels = shim::kernels_of(p.source);
    p.ptx = ptx_of(p, arch, kernels);
    p.log = "ptxas info    : 0 bytes gmem\n";
    for (const auto& kernel : kernels)
        p.log += "ptxas info    : Compiling entry function '" + kernel.name + "' for '" + arch +
                 "'\nptxas info    : Function properties for " + kernel.name +
                 "\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                 "ptxas info    : Used 32 registers, used 1 barriers\n";
    if (arch.rfind("sm_", 0) == 0) {
        std::ifstream in(module, std::ios::binary);
        p.cubin = fake::kCubinMark + arch + "\n" + std::string(std::istreambuf_iterator<char>(in), {});
    }
    p.compiled = true;
    return kSuccess;
}

#define GETTERS(Name, field, zero)                                                                       \
    EXPORT int nvrtcGet##Name##Size(void* program, size_t* size) {                                       \
        return program ? give_size(static_cast<Program*>(program)->field, size, zero) : kInvalidProgram; \
    }                                                                                                    \
    EXPORT int nvrtcGet##Name(void* program, char* out) {                                                \
        if (!program || !out) return kInvalidInput;                                                      \
        const std::string& text = static_cast<Program*>(program)->field;                                 \
        std::memcpy(out, text.c_str(), text.size() + (zero ? 1 : 0));                                    \
        return kSuccess;                                                                                 \
    }
GETTERS(PTX, ptx, true)
GETTERS(CUBIN, cubin, false)
GETTERS(ProgramLog, log, true)
