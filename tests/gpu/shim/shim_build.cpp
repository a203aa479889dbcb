// See shim_build.h. SHIM_SOURCE_DIR is the folder of the headers.
#include "shim_build.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <regex>
#include <sstream>

namespace shim {
namespace {

namespace fs = std::filesystem;

// What the header is compiled with ahead of time and the source afterwards must be the same. Contraction off:
// a product and a sum round as CUDA's intrinsics do. Locals that nobody set hold garbage. Words of 16 bytes
// are moved as a whole, which is checked.
constexpr const char* kFlags[] = {"-std=gnu++17",
                                  "-O1",
                                  "-ffp-contract=off",
                                  "-fPIC",
                                  "-fvisibility=hidden",
                                  "-fno-strict-aliasing",
                                  "-fwrapv",
                                  "-fno-exceptions",
                                  "-fno-ipa-reference",
                                  "-fno-tree-sra",
                                  "-fno-math-errno",
                                  "-fno-trapping-math",
                                  "-ftrivial-auto-var-init=pattern",
                                  "-fsanitize=thread,alignment,bounds",
                                  "-fno-sanitize-recover=all",
                                  "--param=tsan-instrument-func-entry-exit=0",
                                  "-U_FORTIFY_SOURCE",
                                  "-w"};

uint64_t hash_text(const std::string& text, uint64_t h = 0xcbf29ce484222325) {
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return h;
}

std::string hex(uint64_t h) {
    char text[20];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
    return text;
}

std::string read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

std::string compiler() {
    const char* chosen = std::getenv("CXX");
    return chosen && *chosen ? chosen : "g++";
}

bool spawn(const std::vector<std::string>& command, const fs::path& messages) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 2, 1);
    pid_t child = 0;
    const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    int status = 1;
    if (failed) return false;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0;
}

std::vector<std::string> command_line(const std::vector<std::string>& more) {
    std::vector<std::string> all = {compiler()};
    for (const char* flag : kFlags) all.emplace_back(flag);
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

// The folder with the precompiled header and what is linked to every module; "" when it cannot be made.
std::string prepare_folder(const fs::path& cache, std::string* error) {
    static const uint64_t key = [] {
        uint64_t h = hash_text(compiler());
        for (const char* flag : kFlags) h = hash_text(flag, h);
        for (const char* name : {"shim_abi.h", "cuda_shim.h", "cuda_shim_types.h", "cuda_shim_math.h",
                                 "cuda_shim_sync.h", "shim_module.cpp"})
            h = hash_text(read_file(fs::path(SHIM_SOURCE_DIR) / name), h);
        return h;
    }();
    const fs::path folder = cache / ("header-" + hex(key));
    const fs::path done = folder / "done", log = folder / ("log" + std::to_string(getpid()));
    if (fs::exists(done)) return folder;
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    for (const char* name :
         {"shim_abi.h", "cuda_shim.h", "cuda_shim_types.h", "cuda_shim_math.h", "cuda_shim_sync.h"})
        fs::copy_file(fs::path(SHIM_SOURCE_DIR) / name, folder / name, fs::copy_options::overwrite_existing,
                      ignored);
    // Other processes may be making the same files: each is made beside and moved into its place whole.
    const std::string mine = "." + std::to_string(getpid());
    const fs::path header = folder / "cuda_shim.h", gch = folder / "cuda_shim.h.gch",
                   object = folder / "module.o";
    if (!spawn(command_line({"-x", "c++-header", header, "-o", gch.string() + mine}), log) ||
        !spawn({compiler(), "-std=c++20", "-O2", "-fPIC", "-U_FORTIFY_SOURCE", "-c",
                fs::path(SHIM_SOURCE_DIR) / "shim_module.cpp", "-o", object.string() + mine},
               log)) {
        *error = "the shim's own files do not compile:\n" + read_file(log);
        return "";
    }
    fs::rename(gch.string() + mine, gch, ignored);
    fs::rename(object.string() + mine, object, ignored);
    std::ofstream(done.string()) << "\n";
    fs::remove(log, ignored);
    return folder;
}

// The index behind the parenthesis that closes the one at `open`.
size_t behind_parentheses(const std::string& s, size_t open) {
    int depth = 0;
    for (size_t i = open; i < s.size(); ++i) {
        if (s[i] == '(') ++depth;
        if (s[i] == ')' && --depth == 0) return i + 1;
    }
    return s.size();
}

}  // namespace

std::vector<KernelSignature> kernels_of(const std::string& source) {
    std::vector<KernelSignature> kernels;
    const std::string mark = "__global__";
    for (size_t at = source.find(mark); at != source.npos; at = source.find(mark, at)) {
        at += mark.size();
        // The first name that a parenthesis follows is the kernel's, attributes aside.
        KernelSignature kernel;
        for (size_t open = source.find('(', at); open != source.npos; open = source.find('(', at)) {
            const size_t end = source.find_last_not_of(" \t\n", open - 1) + 1;
            size_t begin = end;
            while (begin > at &&
                   (std::isalnum(static_cast<unsigned char>(source[begin - 1])) || source[begin - 1] == '_'))
                --begin;
            const std::string name = source.substr(begin, end - begin);
            at = behind_parentheses(source, open);
            if (name.rfind("__", 0) != 0) {
                kernel.name = name;
                break;
            }
            if (name == "__launch_bounds__")
                kernel.launch_bounds =
                    source.substr(open + 1, std::min(source.find(',', open), at - 1) - open - 1);
        }
        if (!kernel.name.empty()) kernels.push_back(kernel);
    }
    return kernels;
}

std::string prepare_source(const std::string& source) {
    static const std::regex dynamic(
        R"(extern\s+__shared__\s+(?:__align__\s*\(\s*\d+\s*\)\s*)?(?:alignas\s*\(\s*\d+\s*\)\s*)?([A-Za-z_][\w :]*?)\s+(\w+)\s*\[\s*\]\s*;)");
    std::string text, rest = source;
    for (std::smatch m; std::regex_search(rest, m, dynamic); rest = m.suffix()) {
        text += m.prefix();
        // Another name of the pointer, which works in functions as at file scope.
        text += "extern " + m[1].str() + "* " + m[2].str() +
                " __asm__(\"shim_dynamic_shared\") __attribute__((visibility(\"hidden\")));";
    }
    text += rest + "\nSHIM_KERNELS(";
    for (const KernelSignature& k : kernels_of(source))
        text += "SHIM_KERNEL(" + k.name + ", (" + (k.launch_bounds.empty() ? "0" : k.launch_bounds) + "))";
    return text + ")\n";
}

std::string build_module(const std::string& source, const std::string& cache_folder, std::string* error) {
    static std::mutex* mutex = new std::mutex;
    const fs::path cache(cache_folder);
    std::string folder;
    {
        std::lock_guard lock(*mutex);
        folder = prepare_folder(cache, error);
    }
    if (folder.empty()) return "";
    const std::string prepared = prepare_source(source);
    const std::string name = hex(hash_text(prepared)) + hex(hash_text(prepared, hash_text(folder)));
    const fs::path module = cache / (name + ".so");
    if (fs::exists(module)) return module;
    const std::string mine = (cache / name).string() + "." + std::to_string(getpid()) + "." +
                             std::to_string(reinterpret_cast<uintptr_t>(&prepared));
    const std::string log = mine + ".log", text = mine + ".cu", object = mine + ".o", made = mine + ".so";
    std::ofstream(text) << prepared;
    std::error_code ignored;
    const bool fine =
        spawn(command_line({"-include", folder + "/cuda_shim.h", "-x", "c++", "-c", text, "-o", object}),
              log) &&
        spawn({compiler(), "-shared", "-o", made, object, folder + "/module.o"}, log);
    if (fine)
        fs::rename(made, module, ignored);
    else
        *error = "g++ could not compile the kernels for the CPU:\n" + read_file(log);
    for (const std::string& file : {log, text, object, made}) fs::remove(file, ignored);
    return fine ? module.string() : "";
}

}  // namespace shim
