// The reference interpreter of reference.h.
#include "tests/unit/graph/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <map>
#include <stdexcept>

#include "graph/int_math.h"

namespace stator::graph::test {

namespace {

constexpr int kFlags = FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID;

int64_t count(const std::vector<int64_t>& shape) {
    int64_t n = 1;
    for (int64_t extent : shape) n *= extent;
    return n;
}

// Calls f(index) for every index of a shape, in C order.
template <class F>
void each(const std::vector<int64_t>& shape, F f) {
    std::vector<int64_t> index(shape.size(), 0);
    for (int64_t k = count(shape); k > 0; --k) {
        f(index);
        for (size_t d = shape.size(); d-- > 0;) {
            if (++index[d] < shape[d]) break;
            index[d] = 0;
        }
    }
}

int64_t offset(const std::vector<int64_t>& shape, const std::vector<int64_t>& index) {
    int64_t o = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
        if (index[d] < 0 || index[d] >= shape[d]) throw std::runtime_error("index out of range");
        o = o * shape[d] + index[d];
    }
    return o;
}

uint64_t of(double v) { return std::bit_cast<uint64_t>(v); }

uint64_t on_f64(Op op, double a, double b) {
    switch (op) {
        case Op::Add: return of(a + b);
        case Op::Subtract: return of(a - b);
        case Op::Multiply: return of(a * b);
        case Op::Divide: return of(a / b);
        case Op::Negative: return of(-a);
        case Op::Absolute: return of(std::fabs(a));
        case Op::Sqrt: return of(std::sqrt(a));
        case Op::Less: return std::isless(a, b);
        case Op::Equal: return a == b;
        case Op::Copy: return of(a);
        default: throw std::runtime_error("f64 op");
    }
}

uint64_t on_i64(Op op, int64_t a, int64_t b) {
    auto u = static_cast<uint64_t>(a), v = static_cast<uint64_t>(b);
    switch (op) {
        case Op::Add: return u + v;
        case Op::Subtract: return u - v;
        case Op::Multiply: return u * v;
        case Op::Negative: return 0 - u;
        case Op::BitwiseAnd: return u & v;
        case Op::BitwiseOr: return u | v;
        case Op::BitwiseXor: return u ^ v;
        case Op::Maximum: return static_cast<uint64_t>(std::max(a, b));
        case Op::Remainder:
            if (b == 0) std::feraiseexcept(FE_DIVBYZERO);
            return b == 0 || b == -1 ? 0 : static_cast<uint64_t>(floor_mod(a, b));
        case Op::Less: return a < b;
        case Op::Equal: return a == b;
        case Op::Copy: return u;
        default: throw std::runtime_error("i64 op");
    }
}

uint64_t on_bool(Op op, bool a, bool b) {
    switch (op) {
        case Op::LogicalAnd: return a && b;
        case Op::LogicalOr: return a || b;
        case Op::LogicalNot: return !a;
        case Op::Equal: return a == b;
        case Op::Copy: return a;
        default: throw std::runtime_error("b1 op");
    }
}

uint64_t convert(DType from, DType to, uint64_t v) {
    if (from == to) return v;
    auto i = static_cast<int64_t>(v);
    double f = std::bit_cast<double>(v);
    if (to == DType::Bool) return from == DType::F64 ? f != 0 : i != 0;
    if (to == DType::F64) return of(static_cast<double>(i));
    if (from == DType::Bool) return v;
    if (!(f >= -0x1p63 && f < 0x1p63)) {
        std::feraiseexcept(FE_INVALID);
        return uint64_t{1} << 63;
    }
    return static_cast<uint64_t>(static_cast<int64_t>(f));
}

class Interpreter {
  public:
    Interpreter(const Graph& g, const World& w)
        : g_(g), syms_(static_cast<size_t>(g.syms.size())), world_(w) {
        std::vector<Sym> wanted;
        for (const Node& n : g.nodes) {
            wanted.insert(wanted.end(), n.shape.begin(), n.shape.end());
            wanted.insert(wanted.end(), n.syms.begin(), n.syms.end());
        }
        if (!g.syms.eval(g.syms.closure(wanted), w.symbols, syms_))
            throw std::runtime_error("symbols overflow");
    }

    Outcome run() {
        std::feclearexcept(FE_ALL_EXCEPT);
        out_.inputs = world_.inputs;
        std::string end;
        for (size_t i = 0; i < g_.nodes.size() && end.empty(); ++i) {
            values_.emplace_back();
            end = step(static_cast<Id>(i));
        }
        if (end.empty()) end = "return " + recipe(g_.end);
        out_.text = end;
        out_.flags = std::fetestexcept(kFlags);
        return out_;
    }

  private:
    int64_t sym(Sym s) const { return syms_[static_cast<size_t>(s.id)]; }
    std::vector<int64_t> extents(std::span<const Sym> list) const {
        std::vector<int64_t> out;
        for (Sym s : list) out.push_back(sym(s));
        return out;
    }
    const Value& in(const Node& n, size_t k) const { return values_[static_cast<size_t>(n.in[k])]; }

    std::vector<int64_t> through(const Node& n, const std::vector<int64_t>& j) const {
        std::vector<int64_t> index;
        for (const AxisMap& a : view_axes(n))
            index.push_back(sym(a.start) + (a.axis < 0 ? 0 : a.step * j[static_cast<size_t>(a.axis)]));
        return index;
    }

    uint64_t element(const Value& v, int64_t k) const {
        return v.data[v.shape.empty() ? 0 : static_cast<size_t>(k)];
    }

    void pointwise(const Node& n, Value& out) {
        for (int64_t k = 0; k < count(out.shape); ++k) {
            uint64_t a = element(in(n, 0), k), b = n.in.size() > 1 ? element(in(n, 1), k) : 0;
            DType t = g_.node(n.in[0]).dtype;
            if (n.op == Op::Where)
                out.data.push_back(a ? b : element(in(n, 2), k));
            else if (n.op == Op::Cast)
                out.data.push_back(convert(t, n.dtype, a));
            else if (t == DType::F64)
                out.data.push_back(on_f64(n.op, std::bit_cast<double>(a), std::bit_cast<double>(b)));
            else if (t == DType::I64)
                out.data.push_back(on_i64(n.op, static_cast<int64_t>(a), static_cast<int64_t>(b)));
            else
                out.data.push_back(on_bool(n.op, a, b));
        }
    }

    void store(Id id, const Node& n, Value& out) {
        out = in(n, 0);
        const Value& v = in(n, 1);
        int64_t k = 0;
        each(extents(store_region(g_, n)), [&](const std::vector<int64_t>& j) {
            out.data[static_cast<size_t>(offset(out.shape, through(n, j)))] = element(v, k++);
        });
        const Node& root = g_.node(buffer_root(g_, id));
        if (root.op == Op::Input) out_.inputs[static_cast<size_t>(root.ints[0])] = out;
    }

    bool relation(const Node& n) const {
        int64_t a = sym(n.syms[0]), b = sym(n.syms[1]);
        return n.ints[0] == 0 ? a == b : n.ints[0] == 1 ? a != b : n.ints[0] == 2 ? a >= b : a < b;
    }

    std::string exit(int64_t snapshot) {
        if (snapshot < 0) return "entry";
        std::string text = "exit";
        for (const SnapFrame& f : g_.snapshots[static_cast<size_t>(snapshot)].frames) {
            text += fmt::format(" unit {}", f.unit);
            for (int32_t r : f.slots) text += " " + recipe(r);
        }
        for (const CellContents& c : g_.snapshots[static_cast<size_t>(snapshot)].cells)
            text += " cell " + recipe(c.contents);
        return text;
    }

    // Empty, or how the trace ended here.
    std::string step(Id id) {
        const Node& n = g_.node(id);
        Value& out = values_.back();
        out.shape = extents(n.shape);
        switch (n.op) {
            case Op::Input: out = world_.inputs[static_cast<size_t>(n.ints[0])]; break;
            case Op::Const: out.data = {static_cast<uint64_t>(n.ints[0])}; break;
            case Op::SymScalar: out.data = {static_cast<uint64_t>(sym(n.syms[0]))}; break;
            case Op::Full: out.data.assign(static_cast<size_t>(count(out.shape)), in(n, 0).data[0]); break;
            case Op::View:
                each(out.shape, [&](const std::vector<int64_t>& j) {
                    out.data.push_back(
                        in(n, 0).data[static_cast<size_t>(offset(in(n, 0).shape, through(n, j)))]);
                });
                break;
            case Op::Reshape: out.data = in(n, 0).data; break;
            case Op::Store: store(id, n, out); break;
            case Op::Reduce:
                out.data = {0};
                for (uint64_t v : in(n, 0).data) out.data[0] += v;
                break;
            case Op::Guard:
                if ((in(n, 0).data[0] != 0) != (n.ints[0] != 0)) return exit(n.ints[1]);
                break;
            case Op::SymGuard:
                if (!relation(n)) return exit(n.ints[1]);
                break;
            default: pointwise(n, out);
        }
        return {};
    }

    std::string value(Id id) {
        const Node& n = g_.node(id);
        std::string text = std::string(info(n.dtype).text) + fmt::format("box{}[", static_cast<int>(n.box));
        for (int64_t extent : values_[static_cast<size_t>(id)].shape) text += fmt::format("{},", extent);
        text += "]{";
        for (uint64_t v : values_[static_cast<size_t>(id)].data) {
            bool nan = n.dtype == DType::F64 && std::isnan(std::bit_cast<double>(v));
            text += nan ? "nan " : fmt::format("{:x} ", v);
        }
        if (n.box == Box::Array)
            text += fmt::format("}} object {}", objects_.try_emplace(id, objects_.size()).first->second);
        return text;
    }

    std::string recipe(int32_t index) {
        const Recipe& r = g_.recipes[static_cast<size_t>(index)];
        std::string text = fmt::format("{}(", static_cast<int>(r.kind));
        if (r.kind == RecipeKind::Value || r.kind == RecipeKind::View) text += value(r.index);
        for (int32_t item : r.items) text += recipe(item) + " ";
        return text + ")";
    }

    const Graph& g_;
    std::vector<int64_t> syms_;
    const World& world_;
    std::vector<Value> values_;
    std::map<Id, size_t> objects_;
    Outcome out_{};
};

}  // namespace

Outcome interpret(const Graph& g, const World& world) { return Interpreter(g, world).run(); }

}  // namespace stator::graph::test
