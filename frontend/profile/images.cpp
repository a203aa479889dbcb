// See images.h. The maps are read from /proc: the dynamic loader's own list is behind a lock that a fork
// would leave locked in the child.
#include "frontend/profile/images.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "frontend/clock.h"
#include "frontend/cpython/walk.h"
#include "frontend/policy.h"

namespace stator::frontend {

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// By the path that is mapped there.
Native kind_of(std::string_view path, std::string_view python, std::string_view own) {
    if (path.empty()) return Native::Generated;
    if (path == own || has(path, "/libstator_")) return Native::Stator;
    if (path == python || has(path, "/libpython")) return Native::Python;
    if (has(path, "openblas") || has(path, "libblas") || has(path, "liblapack") || has(path, "libmkl"))
        return Native::LinearAlgebra;
    if (has(path, "/numpy/random/")) return Native::RandomNumbers;
    if (has(path, "/numpy/fft/")) return Native::Fourier;
    if (has(path, "/numpy/") || has(path, "/numpy.libs/")) return Native::NumPy;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    // Extension modules; plain libraries may serve anyone.
    if (has(name, ".cpython-") || has(name, ".abi3.so")) return Native::Other;
    return Native::Unknown;
}

std::string_view file_of(const void* address) {
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

// As /proc has it.
std::string resolved(std::string_view path) {
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(std::string(path).c_str(), nullptr),
                                                           std::free);
    return real ? real.get() : std::string(path);
}

}  // namespace

Images::Images() {
    const void* evaluator = evaluator_function();
    Dl_info info;
    ElfW(Sym)* symbol = nullptr;
    if (dladdr1(evaluator, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) && symbol) {
        evaluator_[0] = reinterpret_cast<uintptr_t>(evaluator);
        evaluator_[1] = evaluator_[0] + symbol->st_size;
        // From 3.14 on each instruction may be a function of its own, of which nothing but the first is
        // exported.
        constexpr size_t kWithAllInstructions = 16384;
        tail_calls_ = symbol->st_size < kWithAllInstructions;
    }
    read_maps();
}

void Images::read_maps() {
    static const std::string python = resolved(file_of(evaluator_function())),
                             own = resolved(file_of(reinterpret_cast<const void*>(&kind_of)));
    read_at_ = now_ns();
    const std::unique_ptr<FILE, decltype(&std::fclose)> maps(std::fopen("/proc/self/maps", "re"),
                                                             std::fclose);
    if (!maps) return;
    ranges_.clear();
    char line[4096];
    while (std::fgets(line, sizeof line, maps.get())) {
        unsigned long begin = 0, end = 0;
        char rights[8] = {};
        int path = 0;
        if (std::sscanf(line, "%lx-%lx %7s %*s %*s %*s %n", &begin, &end, rights, &path) < 3) continue;
        if (rights[2] != 'x') continue;
        std::string_view name(line + path);
        while (!name.empty() && (name.back() == '\n' || name.back() == ' ')) name.remove_suffix(1);
        ranges_.push_back({begin, end, kind_of(name, python, own)});
    }
}

const Images::Range* Images::find(uintptr_t address) const {
    const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                        [](uintptr_t a, const Range& r) { return a < r.begin; });
    if (after == ranges_.begin() || address >= after[-1].end) return nullptr;
    return &after[-1];
}

Native Images::of(const void* pointer) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    if (address >= evaluator_[0] && address < evaluator_[1]) return Native::Evaluator;
    const Range* r = find(address);
    if (r && r->what == Native::Python && tail_calls_) return Native::Evaluator;
    return r ? r->what : Native::Unknown;
}

Native Images::worker(const void* const* stack, int words) {
    // What is running is code: if it is unknown, it is new.
    if (words > 0 && !find(reinterpret_cast<uintptr_t>(stack[0])) &&
        now_ns() - read_at_ > policy().images_read_each)
        read_maps();
    if (words > 0 && !find(reinterpret_cast<uintptr_t>(stack[0]))) return Native::Generated;
    for (int i = 0; i < words; ++i)
        if (const Native n = of(stack[i]); n != Native::Unknown && n != Native::Python) return n;
    return Native::Evaluator;
}

}  // namespace stator::frontend
