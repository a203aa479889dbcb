// perf's map file and gdb's JIT interface.
//
// gdb reads a complete ELF file out of our memory, and finds sections by the addresses in its headers; those
// of a relocatable object are 0, so a copy of the object is patched with where each section was linked to.
// The two symbols gdb looks for, __jit_debug_descriptor and __jit_debug_register_code, must be in this
// library's symbol table under exactly these names.
#include "jit/kernel_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <mutex>

#include "jit/core.h"

// gdb's documented interface ("JIT Compilation Interface" in the GDB manual). Names and layout are gdb's.
extern "C" {
struct stator_jit_code_entry {
    stator_jit_code_entry* next;
    stator_jit_code_entry* prev;
    const char* symfile_addr;
    uint64_t symfile_size;
};
struct stator_jit_descriptor {
    uint32_t version;
    uint32_t action_flag;
    stator_jit_code_entry* relevant_entry;
    stator_jit_code_entry* first_entry;
};
__attribute__((weak, visibility("default"))) stator_jit_descriptor __jit_debug_descriptor = {1, 0, nullptr,
                                                                                             nullptr};
__attribute__((weak, noinline, visibility("default"))) void __jit_debug_register_code() {
    asm volatile("" ::: "memory");
}
}

namespace stator::jit {
namespace {

enum GdbAction : uint32_t { kRegister = 1, kUnregister = 2 };

std::mutex& mutex() {
    static auto* m = new std::mutex;
    return *m;
}

std::string display_name(std::string_view function, std::string_view prefix, std::string_view name) {
    if (function.starts_with(prefix)) return std::string(name) + std::string(function.substr(prefix.size()));
    return std::string(name) + ":" + std::string(function);
}

void write_perf_map(const LinkedObject& linked, std::string_view prefix, std::string_view name) {
    std::string text;
    for (const auto& f : linked.functions) {
        char line[64];
        std::snprintf(line, sizeof line, "%llx %llx ", static_cast<unsigned long long>(f.address),
                      static_cast<unsigned long long>(f.size));
        text += line + display_name(f.name, prefix, name) + "\n";
    }
    // CPython writes the same file when its own perf support is on: whole lines are appended, never
    // truncated.
    const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
    const int fd =
        open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0 || write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        static const bool said = [&] {
            log_warning("STATOR_PERF: cannot write " + path + " (" + std::strerror(errno) + ")");
            return true;
        }();
        (void)said;
    }
    if (fd >= 0) close(fd);
}

// The object with its sections' addresses filled in.
std::string relocate_headers(const LinkedObject& linked, std::string_view object) {
    std::string copy(object);
    Elf64_Ehdr header;
    if (copy.size() < sizeof header) return copy;
    std::memcpy(&header, copy.data(), sizeof header);
    const auto at = [&](int i) { return header.e_shoff + static_cast<uint64_t>(i) * sizeof(Elf64_Shdr); };
    if (header.e_shentsize != sizeof(Elf64_Shdr) || at(header.e_shnum) > copy.size()) return copy;
    Elf64_Shdr names;
    std::memcpy(&names, copy.data() + at(header.e_shstrndx), sizeof names);
    for (int i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section;
        std::memcpy(&section, copy.data() + at(i), sizeof section);
        const char* name = copy.data() + names.sh_offset + section.sh_name;
        for (const auto& range : linked.sections)
            if (range.name == name) section.sh_addr = range.address;
        std::memcpy(copy.data() + at(i), &section, sizeof section);
    }
    return copy;
}

struct GdbEntry {
    std::string symfile;
    stator_jit_code_entry entry{};
    GdbEntry(std::string file) : symfile(std::move(file)) {
        std::lock_guard lock(mutex());
        entry = {__jit_debug_descriptor.first_entry, nullptr, symfile.data(), symfile.size()};
        if (entry.next) entry.next->prev = &entry;
        __jit_debug_descriptor.first_entry = &entry;
        notify(kRegister);
    }
    ~GdbEntry() {
        std::lock_guard lock(mutex());
        (entry.prev ? entry.prev->next : __jit_debug_descriptor.first_entry) = entry.next;
        if (entry.next) entry.next->prev = entry.prev;
        notify(kUnregister);
    }
    void notify(GdbAction action) {
        __jit_debug_descriptor.relevant_entry = &entry;
        __jit_debug_descriptor.action_flag = action;
        __jit_debug_register_code();
    }
};

}  // namespace

std::shared_ptr<void> publish_symbols(const LinkedObject& linked, std::string_view object,
                                      std::string_view prefix, std::string_view name) {
    const Options& o = options();
    if (o.perf) write_perf_map(linked, prefix, name);
    if (o.gdb) return std::make_shared<GdbEntry>(relocate_headers(linked, object));
    return nullptr;
}

}  // namespace stator::jit
