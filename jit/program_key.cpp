// See program_key.h. Fields are written in the order of their declaration, lists with their length in front,
// so two different programs never give the same bytes.
#include "jit/program_key.h"

#include <type_traits>

#include "jit/build_id.h"
#include "jit/codegen.h"
#include "jit/machine.h"

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

}  // namespace

std::string program_key(const Program& p) {
    Writer w;
    w << p.buffers << p.scalars << p.loops << p.stride_count << p.scratch_bytes << p.fault_mask
      << p.code.size();
    for (size_t i = 0; i < p.code.size(); ++i) w << p.nests[i].splittable << p.nests[i].commit << *p.code[i];
    return w.take();
}

std::string environment_key(const EmitOptions& options) {
    return "cpu " + machine().identity + "\nstator " + build_id() + "\ncode generator " + codegen_build_id() +
           "\n" + describe(options) + "\n";
}

}  // namespace stator::jit
