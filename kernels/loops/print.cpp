// Programs as text, for dumps and goldens. Nothing unstable is printed: constants by value, symbols by name.
#include <cinttypes>
#include <cstdio>

#include "graph/scalar.h"
#include "kernels/loops/loop_ir.h"

namespace stator::kernels {

namespace {

constexpr const char* kBufferKinds[] = {"input", "output", "scratch"};
constexpr const char* kScalarKinds[] = {"input", "const", "sym", "result"};
constexpr const char* kLayouts[] = {"contiguous", "inner-dense", "strided"};
constexpr const char* kStmtKinds[] = {"load", "scalar", "index", "", "store", "set", "reduce", "argreduce"};

struct Printer {
    const Program& p;
    const graph::Graph& g;
    std::string out;

    std::string num(const Int& i) const {
        return i.sym < 0 ? std::to_string(i.value) : g.syms.str(p.syms[i.sym]);
    }
    std::string text(graph::DType t) const { return std::string(graph::info(t).text); }
    std::string shape(const std::vector<graph::Sym>& s) const {
        std::string r;
        for (size_t i = 0; i < s.size(); ++i) r += (i ? ", " : "") + g.syms.str(s[i]);
        return "[" + r + "]";
    }
    static std::string factor(const std::string& f) {
        return f.find(' ') == std::string::npos ? f : "(" + f + ")";
    }

    // One summand: elements (kDense) are plain, strides of dimension d are written Sd.
    std::string term(const Term& t, const std::string& index) const {
        std::string f = num(t.factor), s;
        if (!(t.factor.is(1) && (!index.empty() || t.dim != kDense))) s = factor(f);
        auto times = [&](const std::string& x) { s += (s.empty() ? "" : "*") + x; };
        if (!index.empty()) times(index);
        if (t.dim != kDense) times("S" + std::to_string(t.dim));
        return s;
    }
    std::string access(const Access& a) const {
        std::string s;
        auto put = [&](const Term& t, const std::string& index) {
            s += (s.empty() ? "" : " + ") + term(t, index);
        };
        for (auto& t : a.offset) put(t, "");
        for (size_t k = 0; k < a.axis.size(); ++k)
            for (auto& t : a.axis[k]) put(t, "i" + std::to_string(k));
        std::string name = a.buffer < 0 ? "" : "b" + std::to_string(a.buffer);
        return name + "[" + (s.empty() ? "0" : s) + "]";
    }
    std::string value(graph::Id v) const {
        if (v < 0) return "";
        const auto& n = g.node(v);
        if (n.op == graph::Op::Input && !g.inputs[n.ints[0]].source.empty())
            return " " + g.inputs[n.ints[0]].source;
        return " %" + std::to_string(v);
    }

    void buffer(size_t i) {
        const Buffer& b = p.buffers[i];
        out += "  b" + std::to_string(i) + " = " + kBufferKinds[static_cast<int>(b.kind)] + value(b.value) +
               " : " + text(b.dtype) + shape(b.shape) + " " + kLayouts[static_cast<int>(b.layout)];
        for (size_t k = 0; k < b.perm.size(); ++k) out += (k ? "," : " perm=") + std::to_string(b.perm[k]);
        out += b.written ? " written\n" : "\n";
    }
    void scalar(size_t i) {
        const Scalar& s = p.scalars[i];
        out += "  c" + std::to_string(i) + " = " + kScalarKinds[static_cast<int>(s.kind)];
        if (s.kind == ScalarKind::Const) {
            std::vector<int64_t> bits{static_cast<int64_t>(s.bits[0])};
            if (s.dtype == graph::DType::C128) bits.push_back(static_cast<int64_t>(s.bits[1]));
            out += " " + graph::scalar_text(s.dtype, graph::normalize_bits(s.dtype, bits));
        } else if (s.kind == ScalarKind::Sym) {
            out += " " + g.syms.str(g.node(s.value).syms[0]);
        } else {
            out += value(s.value);
        }
        out += " : " + text(s.dtype) + "\n";
    }
    void stmt(const LoopNest& n, int i) {
        const Stmt& s = n.stmts[i];
        bool value = s.kind != StmtKind::Store && s.kind != StmtKind::SetScalar;
        out += std::string(4 + 2 * static_cast<size_t>(s.depth), ' ');
        if (value) out += "v" + std::to_string(i) + " = ";
        if (s.kind == StmtKind::Compute)
            out += graph::info(s.op).text;
        else
            out += kStmtKinds[static_cast<int>(s.kind)];
        if (!s.name.empty()) out += "." + s.name;
        if (s.access.buffer >= 0 || s.kind == StmtKind::Index) out += " " + access(s.access);
        if (s.slot >= 0) out += " c" + std::to_string(s.slot);
        for (size_t k = 0; k < s.in.size(); ++k)
            out += (k || s.slot >= 0 || s.access.buffer >= 0 ? ", v" : " v") + std::to_string(s.in[k]);
        if (s.kind == StmtKind::Reduce) out += s.order == RunOrder::Run ? " run" : " sequential";
        out += value ? " : " + text(s.dtype) + "\n" : "\n";
    }
    void nest(size_t i) {
        const LoopNest& n = *p.code[i];
        out += "  nest " + std::to_string(i);
        for (size_t a = 0; a < n.axes.size(); ++a)
            out += (n.axes[a].kind == AxisKind::Parallel ? " i" : " reduce i") + std::to_string(a) + "<" +
                   factor(num(n.axes[a].extent));
        if (p.nests[i].commit) out += " commit";
        if (!p.nests[i].splittable) out += " whole";
        if (n.in_place) out += " in-place";
        out += " {\n";
        for (int k = 0; k < static_cast<int>(n.stmts.size()); ++k) stmt(n, k);
        out += "  }\n";
    }
};

}  // namespace

std::string print(const Program& p, const graph::Graph& g) {
    Printer pr{p, g, "program {\n"};
    for (size_t i = 0; i < p.buffers.size(); ++i) pr.buffer(i);
    for (size_t i = 0; i < p.scalars.size(); ++i) pr.scalar(i);
    for (size_t i = 0; i < p.nests.size(); ++i) pr.nest(i);
    return pr.out + "}\n";
}

}  // namespace stator::kernels
