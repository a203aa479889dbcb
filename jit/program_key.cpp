// See program_key.h. Fields are written in the order of their declaration, lists with their length in front,
// so two different programs never give the same bytes.
#include "jit/program_key.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>

#include "jit/orc.h"

namespace stator::jit {
namespace {

using namespace kernels;

class Writer {
  public:
    template <class T>
        requires(std::is_integral_v<T> || std::is_enum_v<T>)
    Writer& operator<<(T v) {
        const auto wide = static_cast<int64_t>(v);
        // Almost all numbers are small: one byte, and an escape for the rest.
        if (wide >= 0 && wide < 0xff) {
            out_ += static_cast<char>(wide);
        } else {
            out_ += static_cast<char>(0xff);
            out_.append(reinterpret_cast<const char*>(&wide), sizeof wide);
        }
        return *this;
    }
    Writer& operator<<(const std::string& s) {
        *this << s.size();
        out_ += s;
        return *this;
    }
    template <class T>
    Writer& operator<<(const std::vector<T>& v) {
        *this << v.size();
        for (const T& x : v) *this << x;
        return *this;
    }
    Writer& operator<<(const Int& i) { return *this << i.value << i.sym + 1; }
    Writer& operator<<(const Term& t) { return *this << t.dim + 1 << t.factor; }
    Writer& operator<<(const Access& a) { return *this << a.buffer + 1 << a.space << a.offset << a.axis; }
    Writer& operator<<(const Axis& a) { return *this << a.extent << a.kind; }
    Writer& operator<<(const Stmt& s) {  // without `node`
        return *this << s.kind << s.dtype << s.depth << s.op << s.name << s.in << s.access << s.slot + 1
                     << s.order << s.start;
    }
    Writer& operator<<(const LoopNest& n) { return *this << n.axes << n.stmts << n.index_bits << n.in_place; }
    Writer& operator<<(const Buffer& b) {  // without `value` and `shape`, which loop IR does not refer to
        return *this << b.kind << b.dtype << b.layout << b.perm << b.stride_base << b.written;
    }
    Writer& operator<<(const Scalar& s) { return *this << s.kind << s.dtype << s.bits[0] << s.bits[1]; }
    Writer& operator<<(const LoopRef& l) { return *this << l.name << l.types; }
    std::string take() { return std::move(out_); }

  private:
    std::string out_;
};

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

// The linker's build-id is a hash of the library's contents. Without one, size and time of the file have to
// do.
std::string find_own_build_id() {
    Search search{reinterpret_cast<uintptr_t>(&find_own_build_id), ""};
    dl_iterate_phdr(search_library, &search);
    if (!search.found.empty()) return search.found;
    Dl_info info{};
    struct stat st{};
    if (!dladdr(reinterpret_cast<void*>(&find_own_build_id), &info) || stat(info.dli_fname, &st) != 0)
        return "";
    return std::to_string(st.st_size) + "." + std::to_string(st.st_mtim.tv_sec) + "." +
           std::to_string(st.st_mtim.tv_nsec);
}

}  // namespace

std::string program_key(const Program& p) {
    Writer w;
    w << p.buffers << p.scalars << p.loops << p.stride_count << p.scratch_bytes << p.fault_mask
      << p.code.size();
    for (size_t i = 0; i < p.code.size(); ++i) w << p.nests[i].splittable << p.nests[i].commit << *p.code[i];
    return w.take();
}

std::string environment_key(const EmitOptions& options) {
    return std::string("llvm ") + llvm_version() + "\ncpu " + machine().cpu + " " + machine().features +
           "\nstator " + build_id() + "\n" + describe(options) + "\n";
}

const std::string& build_id() {
    static const auto* id = new std::string(find_own_build_id());
    return *id;
}

}  // namespace stator::jit
