// See build_id.h. Where a library has no build id, size and time of its file have to do.
#include "jit/build_id.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace stator::jit {
namespace {

// The value of the GNU build-id note in a segment of notes, or "".
std::string find_build_id(const char* p, size_t size) {
    const auto padded = [](size_t n) { return (n + 3) & ~size_t{3}; };
    for (const char* end = p + size; p + sizeof(ElfW(Nhdr)) <= end;) {
        ElfW(Nhdr) note;
        std::memcpy(&note, p, sizeof note);
        const char* name = p + sizeof note;
        const char* value = name + padded(note.n_namesz);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
            return std::string(value, note.n_descsz);
        p = value + padded(note.n_descsz);
    }
    return "";
}

struct Search {
    uintptr_t address;  // somewhere in the library that is meant
    std::string found;
};
int search_library(dl_phdr_info* info, size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    const std::span headers(info->dlpi_phdr, info->dlpi_phnum);
    const bool inside = std::any_of(headers.begin(), headers.end(), [&](const ElfW(Phdr) & h) {
        return h.p_type == PT_LOAD && search.address - (info->dlpi_addr + h.p_vaddr) < h.p_memsz;
    });
    if (!inside) return 0;
    for (const ElfW(Phdr) & h : headers)
        if (h.p_type == PT_NOTE && search.found.empty())
            search.found =
                find_build_id(reinterpret_cast<const char*>(info->dlpi_addr + h.p_vaddr), h.p_memsz);
    return 1;
}

std::string of_file(const std::string& path) {
    struct stat st{};
    if (stat(path.c_str(), &st) != 0) return "";
    return std::to_string(st.st_size) + "." + std::to_string(st.st_mtim.tv_sec) + "." +
           std::to_string(st.st_mtim.tv_nsec);
}

std::string find_own_build_id() {
    Search search{reinterpret_cast<uintptr_t>(&find_own_build_id), ""};
    dl_iterate_phdr(search_library, &search);
    if (!search.found.empty()) return search.found;
    Dl_info info{};
    if (!dladdr(reinterpret_cast<void*>(&find_own_build_id), &info)) return "";
    return of_file(info.dli_fname);
}

// The note in an open file, or "".
std::string note_of(int fd) {
    const auto read = [&](void* to, size_t bytes, uint64_t at) {
        return pread(fd, to, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
    };
    ElfW(Ehdr) header;
    if (!read(&header, sizeof header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_phentsize != sizeof(ElfW(Phdr)))
        return "";
    std::vector<ElfW(Phdr)> segments(header.e_phnum);
    if (!read(segments.data(), segments.size() * sizeof(ElfW(Phdr)), header.e_phoff)) return "";
    for (const ElfW(Phdr) & s : segments) {
        constexpr uint64_t kMostBytes = 1 << 16;
        if (s.p_type != PT_NOTE || s.p_filesz > kMostBytes) continue;
        std::vector<char> notes(s.p_filesz);
        if (!read(notes.data(), notes.size(), s.p_offset)) continue;
        if (std::string id = find_build_id(notes.data(), notes.size()); !id.empty()) return id;
    }
    return "";
}

}  // namespace

const std::string& build_id() {
    static const auto* id = new std::string(find_own_build_id());
    return *id;
}

std::string build_id_of_file(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return "";
    const std::string id = note_of(fd);
    close(fd);
    return id.empty() ? of_file(path) : id;
}

}  // namespace stator::jit
