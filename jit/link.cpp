// See link.h. Code, constants and data are three runs of pages of one mapping. Symbols that the object only
// refers to may be further away than 32 bits reach: each of them gets a slot behind the code that holds its
// address, with a jump through it in front.
#include "jit/link.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "jit/runtime_symbols.h"

namespace stator::jit {
namespace {

struct Unknown : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct Damaged : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// jmp *2(%rip); two bytes of padding; the address.
constexpr unsigned char kStub[] = {0xff, 0x25, 2, 0, 0, 0, 0xcc, 0xcc};
constexpr uint64_t kStubBytes = sizeof kStub + sizeof(uint64_t);

struct Mapping {
    char* base = nullptr;
    size_t bytes = 0;
    Mapping() = default;
    Mapping(const Mapping&) = delete;
    ~Mapping() {
        if (base) munmap(base, bytes);
    }
};

class Linker {
  public:
    explicit Linker(std::string_view object) : object_(object), mapping_(std::make_shared<Mapping>()) {}

    void run(const std::vector<std::string>& symbols, Linked& out) {
        read_headers();
        place();
        map();
        for (size_t i = 0; i < sections_.size(); ++i)
            if (sections_[i].sh_type == SHT_RELA) relocate(sections_[i]);
        protect();
        describe(out);
        for (const std::string& name : symbols) {
            const auto at = std::find_if(symbols_.begin(), symbols_.end(), [&](const Elf64_Sym& s) {
                return is_defined(s) && name_of(s) == name && ELF64_ST_BIND(s.st_info) != STB_LOCAL;
            });
            if (at == symbols_.end()) throw Damaged("it has no symbol " + name);
            out.addresses.push_back(reinterpret_cast<void*>(address(*at)));
        }
        out.owner = mapping_;
    }

  private:
    enum Run : uint8_t { Code, Constants, Data, kRuns };

    template <class T>
    T read(uint64_t offset) const {
        T t;
        if (offset > object_.size() || object_.size() - offset < sizeof t) throw Damaged("it ends early");
        std::memcpy(&t, object_.data() + offset, sizeof t);
        return t;
    }
    template <class T>
    std::vector<T> table(const Elf64_Shdr& s) const {
        if (s.sh_entsize != sizeof(T)) throw Damaged("a table's entries are of another size");
        std::vector<T> all;
        for (uint64_t at = 0; at + sizeof(T) <= s.sh_size; at += sizeof(T))
            all.push_back(read<T>(s.sh_offset + at));
        return all;
    }
    std::string_view text(const Elf64_Shdr& strings, uint64_t offset) const {
        const uint64_t begin = strings.sh_offset + offset;
        const size_t end = begin < object_.size() ? object_.find('\0', begin) : object_.npos;
        if (end == object_.npos) throw Damaged("a name does not end");
        return object_.substr(begin, end - begin);
    }
    std::string_view name_of(const Elf64_Sym& s) const { return text(strings_, s.st_name); }

    void read_headers() {
        const auto header = read<Elf64_Ehdr>(0);
        if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
            header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL ||
            header.e_machine != EM_X86_64 || header.e_shentsize != sizeof(Elf64_Shdr))
            throw Damaged("not a relocatable object for x86-64");
        for (uint64_t i = 0; i < header.e_shnum; ++i)
            sections_.push_back(read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
        if (header.e_shstrndx >= sections_.size()) throw Damaged("it has no names of sections");
        section_names_ = sections_[header.e_shstrndx];
        for (const Elf64_Shdr& s : sections_) {
            if (s.sh_type != SHT_SYMTAB) continue;
            symbols_ = table<Elf64_Sym>(s);
            if (s.sh_link >= sections_.size()) throw Damaged("it has no names of symbols");
            strings_ = sections_[s.sh_link];
        }
    }

    // Nothing unwinds through generated code.
    bool is_loaded(const Elf64_Shdr& s) const {
        return (s.sh_flags & SHF_ALLOC) && s.sh_size > 0 && text(section_names_, s.sh_name) != ".eh_frame";
    }
    static Run run_of(const Elf64_Shdr& s) {
        return s.sh_flags & SHF_EXECINSTR ? Code : s.sh_flags & SHF_WRITE ? Data : Constants;
    }

    void place() {
        offsets_.assign(sections_.size(), 0);
        const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
        uint64_t at = 0;
        for (int run = 0; run < kRuns; ++run) {
            begins_[run] = at;
            for (size_t i = 0; i < sections_.size(); ++i) {
                const Elf64_Shdr& s = sections_[i];
                if (!is_loaded(s) || run_of(s) != run) continue;
                if (s.sh_type != SHT_PROGBITS && s.sh_type != SHT_NOBITS)
                    throw Unknown("a section of type " + std::to_string(s.sh_type));
                if (s.sh_flags & SHF_TLS) throw Unknown("thread-local data");
                const uint64_t align = std::max<uint64_t>(s.sh_addralign, 1);
                if ((align & (align - 1)) != 0 || align > page) throw Unknown("an alignment");
                if (s.sh_size > kMost ||
                    (s.sh_type == SHT_PROGBITS &&
                     (s.sh_offset > object_.size() || object_.size() - s.sh_offset < s.sh_size)))
                    throw Damaged("a section is longer than it");
                at = (at + align - 1) & ~(align - 1);
                offsets_[i] = at;
                at += s.sh_size;
                if (at > kMost) throw Unknown("an object of this size");
            }
            if (run == Code) {
                stubs_ = at = (at + 15) & ~uint64_t{15};
                at += kStubBytes * symbols_.size();
            }
            at = (at + page - 1) & ~(page - 1);
        }
        begins_[kRuns] = at;
    }

    void map() {
        void* memory =
            mmap(nullptr, begins_[kRuns], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw Damaged(std::string("no memory: ") + std::strerror(errno));
        mapping_->base = static_cast<char*>(memory);
        mapping_->bytes = begins_[kRuns];
        for (size_t i = 0; i < sections_.size(); ++i)
            if (const Elf64_Shdr& s = sections_[i]; is_loaded(s) && s.sh_type == SHT_PROGBITS)
                std::memcpy(mapping_->base + offsets_[i], object_.data() + s.sh_offset, s.sh_size);
    }

    void protect() {
        constexpr int kAccess[kRuns] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
        for (int run = 0; run < kRuns; ++run) {
            const uint64_t bytes = begins_[run + 1] - begins_[run];
            if (bytes > 0 && run != Data && mprotect(mapping_->base + begins_[run], bytes, kAccess[run]) != 0)
                throw Damaged(std::string("its pages cannot be protected: ") + std::strerror(errno));
        }
    }

    bool is_defined(const Elf64_Sym& s) const {
        return s.st_shndx != SHN_UNDEF && s.st_shndx < sections_.size() && is_loaded(sections_[s.st_shndx]);
    }
    uint64_t address(const Elf64_Sym& s) const {
        if (s.st_shndx == SHN_UNDEF) {
            void* found = find_runtime_symbol(name_of(s));
            if (!found) throw Damaged("it refers to " + std::string(name_of(s)));
            return reinterpret_cast<uint64_t>(found);
        }
        if (s.st_shndx == SHN_ABS) return s.st_value;
        if (!is_defined(s)) throw Unknown("a symbol in section " + std::to_string(s.st_shndx));
        if (s.st_value > sections_[s.st_shndx].sh_size) throw Damaged("a symbol lies outside its section");
        return reinterpret_cast<uint64_t>(mapping_->base) + offsets_[s.st_shndx] + s.st_value;
    }

    // Where the symbol's slot begins: the jump, then the address.
    uint64_t stub(size_t symbol) {
        char* at = mapping_->base + stubs_ + kStubBytes * symbol;
        const uint64_t target = address(symbols_[symbol]);
        std::memcpy(at, kStub, sizeof kStub);
        std::memcpy(at + sizeof kStub, &target, sizeof target);
        return reinterpret_cast<uint64_t>(at);
    }

    void relocate(const Elf64_Shdr& list) {
        if (list.sh_info >= sections_.size()) throw Damaged("relocations of no section");
        const Elf64_Shdr& target = sections_[list.sh_info];
        if (!is_loaded(target)) return;
        for (const Elf64_Rela& r : table<Elf64_Rela>(list)) {
            const size_t index = ELF64_R_SYM(r.r_info);
            if (index >= symbols_.size()) throw Damaged("a relocation names no symbol");
            const bool wide =
                ELF64_R_TYPE(r.r_info) == R_X86_64_64 || ELF64_R_TYPE(r.r_info) == R_X86_64_PC64;
            if (target.sh_type != SHT_PROGBITS || r.r_offset > target.sh_size ||
                target.sh_size - r.r_offset < (wide ? 8 : 4))
                throw Damaged("a relocation lies outside its section");
            char* place = mapping_->base + offsets_[list.sh_info] + r.r_offset;
            const auto here = reinterpret_cast<uint64_t>(place), addend = static_cast<uint64_t>(r.r_addend);
            const Elf64_Sym& symbol = symbols_[index];
            switch (ELF64_R_TYPE(r.r_info)) {
                case R_X86_64_NONE: break;
                case R_X86_64_64: store64(place, address(symbol) + addend); break;
                case R_X86_64_PC64: store64(place, address(symbol) + addend - here); break;
                case R_X86_64_PC32:
                case R_X86_64_PLT32:
                    store32(place,
                            (symbol.st_shndx == SHN_UNDEF ? stub(index) : address(symbol)) + addend - here);
                    break;
                case R_X86_64_GOTPCREL:
                case R_X86_64_GOTPCRELX:
                case R_X86_64_REX_GOTPCRELX:
                    store32(place, stub(index) + sizeof kStub + addend - here);
                    break;
                default: throw Unknown("a relocation of type " + std::to_string(ELF64_R_TYPE(r.r_info)));
            }
        }
    }
    static void store64(char* place, uint64_t v) { std::memcpy(place, &v, sizeof v); }
    static void store32(char* place, uint64_t v) {
        const auto wide = static_cast<int64_t>(v);
        const auto narrow = static_cast<int32_t>(wide);
        if (narrow != wide) throw Unknown("a distance of more than 32 bits");
        std::memcpy(place, &narrow, sizeof narrow);
    }

    void describe(Linked& out) const {
        const auto base = reinterpret_cast<uint64_t>(mapping_->base);
        for (size_t i = 0; i < sections_.size(); ++i)
            if (is_loaded(sections_[i]))
                out.parts.sections.push_back({std::string(text(section_names_, sections_[i].sh_name)),
                                              base + offsets_[i], sections_[i].sh_size});
        for (const Elf64_Sym& s : symbols_)
            if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && is_defined(s))
                out.parts.functions.push_back({std::string(name_of(s)), address(s), s.st_size});
    }

    static constexpr uint64_t kMost = uint64_t{1} << 30;

    std::string_view object_;
    std::shared_ptr<Mapping> mapping_;
    std::vector<Elf64_Shdr> sections_;
    Elf64_Shdr section_names_{}, strings_{};
    std::vector<Elf64_Sym> symbols_;
    std::vector<uint64_t> offsets_;  // of sections in the mapping
    uint64_t begins_[kRuns + 1] = {}, stubs_ = 0;
};

}  // namespace

Linked link_object(std::string_view object, const std::vector<std::string>& symbols) {
    Linked out;
    try {
        Linker(object).run(symbols, out);
    } catch (const Unknown& e) {
        out = {};
        out.error = e.what();
        out.unknown = true;
    } catch (const Damaged& e) {
        out = {};
        out.error = e.what();
    }
    return out;
}

}  // namespace stator::jit
