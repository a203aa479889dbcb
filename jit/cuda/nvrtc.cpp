// Compiling with NVRTC, and what was compiled before. See nvrtc.h for the rules.
#include "jit/cuda/nvrtc.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "jit/compiler.h"
#include "jit/core.h"
#include "jit/cuda/nvrtc_library.h"
#include "jit/fork.h"
#include "jit/object_cache.h"
#include "kernels/cuda/contracted.h"

namespace stator::jit {
namespace {

using Clock = std::chrono::steady_clock;

// Takes a third off the compile time and leaves registers and 16-byte accesses as they are. It leaves arrays
// of a thread in memory even where all indices are known: sources for it have none.
constexpr const char* kFast[] = {"--Ofast-compile=mid", "--fmad=false"};
constexpr const char* kAlways[] = {
    "--std=c++17",
    "--minimal",                   // no built-in headers for what kernels do not use: 5 ms
    "--ptxas-options=-v",          // registers and spills, in the log
    "--no-cache",                  // NVRTC's own cache on disk; ours is used instead
    "--modify-stack-limit=false",  // else the limit of the whole process changes while other threads run
};
// Options that came after CUDA 11.2; an older NVRTC is asked again without them.
constexpr std::string_view kRecent[] = {"minimal", "no-cache", "modify-stack-limit", "Ofast-compile"};

constexpr size_t kMemoryEntries = 1024;

struct State {
    std::mutex mutex;  // of the library and everything below; held while NVRTC compiles
    NvrtcLibrary library;
    bool tried = false, open = false;
    std::string opened_as, error;  // the option `nvrtc` then in force; why it is not open
    bool drop_recent = false;      // this NVRTC does not know the options of kRecent

    std::mutex memory_mutex;
    std::unordered_map<std::string, std::shared_ptr<const CudaBinary>> memory;
};
State& state() {
    static State* s = new State;
    return *s;
}

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

// "--fmad=false" and "-fmad=true" are the same option.
std::string_view option_name(std::string_view option) {
    option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
    const std::string_view name = option.substr(0, option.find('='));
    if (name == "Ofc") return "Ofast-compile";
    if (name == "arch") return "gpu-architecture";
    return name;
}

std::string join(const std::vector<std::string>& parts, const char* separator) {
    std::string s;
    for (const std::string& part : parts) s += (s.empty() ? "" : separator) + part;
    return s;
}

// With the lock held.
bool ensure_open(std::string* error) {
    State& s = state();
    const std::string& wanted = options().nvrtc;
    if (!s.tried || s.opened_as != wanted) {
        s.library = {};
        s.drop_recent = false;
        s.open = open_nvrtc(&s.library, &s.error);
        s.tried = true;
        s.opened_as = wanted;
    }
    if (!s.open && error) *error = s.error;
    return s.open;
}

std::string version_text(const NvrtcInfo& info) {
    return std::to_string(info.major) + "." + std::to_string(info.minor);
}

// The number in "sm_90", "sm_90a", "compute_100f"; 0 for anything else.
int arch_number(std::string_view arch) {
    for (const std::string_view prefix : {"sm_", "compute_"}) {
        if (!arch.starts_with(prefix)) continue;
        const std::string_view rest = arch.substr(prefix.size());
        int number = 0;
        const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
        const std::string_view suffix(end, static_cast<size_t>(rest.data() + rest.size() - end));
        return status == std::errc{} && (suffix.empty() || suffix == "a" || suffix == "f") ? number : 0;
    }
    return 0;
}

bool check_arch(const NvrtcInfo& info, const std::string& arch, std::string* error) {
    const int number = arch_number(arch);
    if (number && (info.archs.empty() || std::ranges::find(info.archs, number) != info.archs.end()))
        return true;
    std::vector<std::string> known;
    for (const int a : info.archs) known.push_back("sm_" + std::to_string(a));
    *error = "'" + arch + "' is not an architecture that NVRTC " + version_text(info) + " compiles for (" +
             join(known, ", ") + "); give one of these, or install a newer nvidia-cuda-nvrtc for a newer GPU";
    return false;
}

class Program {
  public:
    explicit Program(const NvrtcTable& call) : call_(call) {}
    Program(const Program&) = delete;
    ~Program() {
        if (program_) call_.DestroyProgram(&program_);
    }
    int create(const std::string& source, const std::string& name) {
        return call_.CreateProgram(&program_, source.c_str(), name.c_str(), 0, nullptr, nullptr);
    }
    int compile(const std::vector<std::string>& options) {
        std::vector<const char*> pointers;
        for (const std::string& option : options) pointers.push_back(option.c_str());
        return call_.CompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
    }
    std::string log() { return text(call_.GetProgramLogSize, call_.GetProgramLog); }
    std::string ptx() { return text(call_.GetPTXSize, call_.GetPTX); }
    std::string cubin() { return bytes(call_.GetCUBINSize, call_.GetCUBIN); }

  private:
    using SizeFn = int (*)(NvrtcProgram, size_t*);
    using DataFn = int (*)(NvrtcProgram, char*);
    std::string bytes(SizeFn size_of, DataFn get) {
        size_t size = 0;
        if (size_of(program_, &size) != 0 || size == 0) return "";
        std::string data(size, '\0');
        return get(program_, data.data()) == 0 ? data : "";
    }
    std::string text(SizeFn size_of, DataFn get) {
        std::string data = bytes(size_of, get);
        data.resize(std::strlen(data.c_str()));  // its size counts the zero at the end
        return data;
    }

    const NvrtcTable& call_;
    NvrtcProgram program_ = nullptr;
};

std::vector<std::string> without_recent(std::vector<std::string> options) {
    std::erase_if(options, [](const std::string& option) {
        return std::ranges::find(kRecent, option_name(option)) != std::end(kRecent);
    });
    return options;
}

// With the lock held and the library open.
bool compile_locked(const std::string& source, const std::string& name, const std::string& arch,
                    std::vector<std::string> options, CudaBinary* out, std::string* error) {
    State& s = state();
    const NvrtcTable& call = s.library.call;
    if (!check_arch(s.library.info, arch, error)) return false;
    const auto failure = [&](const char* what, int code) {
        *error = "NVRTC " + version_text(s.library.info) + " could not " + what + " '" + name + "' (" +
                 call.GetErrorString(code) + ")";
        return false;
    };
    for (bool drop = s.drop_recent;; drop = true) {
        if (drop) options = without_recent(std::move(options));
        Program program(call);
        if (const int code = program.create(source, name + ".cu")) return failure("take the source of", code);
        const int code = program.compile(options);
        if (code == kNvrtcInvalidOption && !drop) continue;
        s.drop_recent = drop && code != kNvrtcInvalidOption;
        out->log = program.log();
        if (code != 0) {
            failure("compile", code);
            *error += " for " + arch + " with " + join(options, " ") + "\n" + out->log;
            return false;
        }
        out->ptx = program.ptx();
        out->cubin = program.cubin();
        out->options = std::move(options);
        if (out->cubin.empty() && arch.starts_with("sm_")) return failure("give a cubin of", 0);
        return true;
    }
}

// Entries of the object cache: three lengths, then cubin, PTX, log and options (each ending with a newline).
std::string pack(const CudaBinary& binary) {
    const std::string options = join(binary.options, "\n");
    const std::string* parts[] = {&binary.cubin, &binary.ptx, &binary.log, &options};
    std::string data;
    for (const std::string* part : parts) {
        const uint64_t size = part->size();
        data.append(reinterpret_cast<const char*>(&size), sizeof size);
    }
    for (const std::string* part : parts) data += *part;
    return data;
}

std::shared_ptr<CudaBinary> unpack(std::string_view data) {
    uint64_t sizes[4];
    if (data.size() < sizeof sizes) return nullptr;
    std::memcpy(sizes, data.data(), sizeof sizes);
    data.remove_prefix(sizeof sizes);
    std::string options;
    auto binary = std::make_shared<CudaBinary>();
    std::string* parts[] = {&binary->cubin, &binary->ptx, &binary->log, &options};
    for (int i = 0; i < 4; ++i) {
        if (sizes[i] > data.size()) return nullptr;
        parts[i]->assign(data.substr(0, sizes[i]));
        data.remove_prefix(sizes[i]);
    }
    for (size_t at = 0; at < options.size();) {
        const size_t end = std::min(options.find('\n', at), options.size());
        binary->options.push_back(options.substr(at, end - at));
        at = end + 1;
    }
    binary->kernels = parse_ptxas_log(binary->log);
    return binary;
}

std::shared_ptr<const CudaBinary> find_in_memory(const std::string& key) {
    State& s = state();
    std::lock_guard lock(s.memory_mutex);
    const auto it = s.memory.find(key);
    return it == s.memory.end() ? nullptr : it->second;
}

void remember(const std::string& key, std::shared_ptr<const CudaBinary> binary) {
    State& s = state();
    std::lock_guard lock(s.memory_mutex);
    if (s.memory.size() >= kMemoryEntries) s.memory.clear();  // what is in use is loaded already
    s.memory[key] = std::move(binary);
}

// What an entry depends on beside the source: which NVRTC, for what, how. False: there is no NVRTC.
bool cache_key(const std::string& source, const std::string& arch, const std::vector<std::string>& options,
               std::string* key, std::string* error) {
    std::string identity = nvrtc_identity();
    if (identity.empty()) {  // found by the loader, if at all
        std::lock_guard lock(state().mutex);
        if (!ensure_open(error)) return false;
        identity = version_text(state().library.info);
    }
    *key = "cuda-1\n" + identity + "\n" + arch + "\n" + join(options, "\n") + "\n\n" + source;
    return true;
}

void report(const std::string& name, const std::string& arch, const CudaBinary& binary) {
    if (!logs(options(), LogArtifact::Kernels)) return;
    log_line(LogArtifact::Kernels, name + ": " +
                                       (binary.from_cache ? "from the object cache" : "compiled by NVRTC") +
                                       " for " + arch + ", " + std::to_string(binary.kernels.size()) +
                                       " kernels, " + std::to_string(binary.cubin.size()) + " bytes, " +
                                       std::to_string(binary.seconds * 1e3) + " ms");
}

bool compile_checked(const std::string& source, const std::string& name, const std::string& arch,
                     const std::vector<std::string>& extra, CudaBinary* out, std::string* error) {
    const auto start = Clock::now();
    const std::vector<std::string> wanted = cuda_options(source, arch, extra);
    std::string key;
    if (!cache_key(source, arch, wanted, &key, error)) return false;

    const auto serve = [&](const std::shared_ptr<const CudaBinary>& binary) {
        *out = *binary;
        out->from_cache = true;
        out->seconds = seconds_since(start);
        report(name, arch, *out);
        return true;
    };
    if (const auto known = find_in_memory(key)) return serve(known);
    const std::shared_ptr<ObjectCache> disk = object_cache();
    if (const std::optional<std::string> entry = disk->load(key))
        if (const auto binary = unpack(*entry)) {
            remember(key, binary);
            return serve(binary);
        }

    auto binary = std::make_shared<CudaBinary>();
    std::shared_ptr<const CudaBinary> known;  // another thread was first
    {
        std::lock_guard lock(state().mutex);
        known = find_in_memory(key);
        if (!known) {
            if (!ensure_open(error) || !compile_locked(source, name, arch, wanted, binary.get(), error))
                return false;
            binary->kernels = parse_ptxas_log(binary->log);
            binary->seconds = seconds_since(start);
            remember(key, binary);
        }
    }
    if (known) return serve(known);
    *out = *binary;
    report(name, arch, *out);
    disk->store(key, pack(*binary));
    return true;
}

}  // namespace

std::vector<std::string> cuda_options(std::string_view source, const std::string& arch,
                                      const std::vector<std::string>& extra) {
    std::vector<std::string> all = {"--gpu-architecture=" + arch};
    const auto add = [&](const char* option) {
        for (const std::string& e : extra)
            if (option_name(e) == option_name(option)) return;
        all.emplace_back(option);
    };
    for (const char* option : kAlways) add(option);
    if (!kernels::cuda::calls_contracted(source))
        for (const char* option : kFast) add(option);
    all.insert(all.end(), extra.begin(), extra.end());
    return all;
}

bool compile_cuda(const std::string& source, const std::string& name, const std::string& arch,
                  const std::vector<std::string>& extra_options, CudaBinary* out, std::string* error) {
    handle_fork();
    try {
        CudaBinary fresh;
        if (!compile_checked(source, name, arch, extra_options, &fresh, error)) return false;
        *out = std::move(fresh);
        return true;
    } catch (const std::exception& e) {
        *error = "compiling '" + name + "' for " + arch + ": " + e.what();
        return false;
    }
}

const NvrtcInfo* nvrtc_info(std::string* error) {
    handle_fork();
    State& s = state();
    std::lock_guard lock(s.mutex);
    return ensure_open(error) ? &s.library.info : nullptr;
}

bool cuda_arch_for(int major, int minor, std::string* arch, std::string* error) {
    const NvrtcInfo* info = nvrtc_info(error);
    if (!info) return false;
    const int wanted = major * 10 + minor;
    const auto& archs = info->archs;
    if (archs.empty() || std::ranges::find(archs, wanted) != archs.end()) {
        *arch = "sm_" + std::to_string(wanted);
        return true;
    }
    int best = 0;
    for (const int a : archs)
        if (a < wanted) best = std::max(best, a);
    if (best == 0) {
        check_arch(*info, "sm_" + std::to_string(wanted), error);
        return false;
    }
    // A cubin of the same major version runs as well, and the driver need not compile anything.
    *arch = (best / 10 == major ? "sm_" : "compute_") + std::to_string(best);
    return true;
}

void nvrtc_before_fork() {
    state().mutex.lock();
    state().memory_mutex.lock();
}

void nvrtc_after_fork() {
    state().memory_mutex.unlock();
    state().mutex.unlock();
}

void reset_nvrtc() {
    State& s = state();
    std::lock_guard lock(s.mutex);
    s.tried = s.open = false;
    std::lock_guard memory_lock(s.memory_mutex);
    s.memory.clear();
}

}  // namespace stator::jit
