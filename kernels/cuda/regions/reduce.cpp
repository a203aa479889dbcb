// Dots, reductions and matrix products of regions in CUDA C++.
//
// None depends on how many threads there are. Sums of floats have NumPy's order (pairwise, eight
// accumulators, blocks of 128) and so its bits. Dots and matrix products, whose order is the BLAS library's
// own on the host, are sums of fused products in an order that depends on extents alone, each of which rounds
// once. Of the rest (integers, maxima, minima) the order does not show; products of floats take that of dots.
#include <algorithm>

#include "kernels/cuda/regions/internal.h"

namespace stator::kernels::cuda {

namespace {

std::string text(int64_t n) { return std::to_string(n); }

constexpr std::string_view kReduce = ".reduce";

}  // namespace

// How a ufunc combines; false: there is no code for it.
bool RegionPrinter::combiner(std::string_view ufunc, DType t, Reduction* out) {
    LoopNest nest;
    nest.stmts.push_back({StmtKind::Load, t});
    Stmt s{StmtKind::Reduce, t};
    s.in.push_back(0);
    s.name = ufunc;
    nest.stmts.push_back(s);
    return cuda::reduction(nest, 1, true, out, uses_);
}

bool RegionPrinter::sums_pairwise(std::string_view ufunc, DType t) const {
    return ufunc == "add" && (t == DType::F32 || t == DType::F64);
}

// A struct of what `fold` does with one element: start, step, combine.
std::string RegionPrinter::folded(const std::string& how, const std::string& n) {
    uses_.insert("fold");
    teams_ = true;
    return "fold(ctl, left_by, team, teams, " + how + ", " + n + ")";
}

// What warps left for others is read until the next barrier: another area is next.
void RegionPrinter::turn_areas(const std::string& n) {
    lines_.line("if (" + n + " > kAlone) { u8* const was = left_by; left_by = left_next, left_next = was; }");
}

void RegionPrinter::dot(const Inst& i) {
    if (solo_ >= 0) return fail("a dot in a loop of one thread");
    const ValueId x = i.in[0], y = i.in[1];
    const DType t = type(i.result).dtype;
    const std::string name(value_type(t)), n = extent(x, 0);
    Reduction sum;
    if (!combiner("add", t, &sum)) return fail("a dot of " + std::string(graph::info(t).text));
    set(i.result, folded("products<" + name + ">{" + address(x) + ", " + address(y) + ", " + stride(x, 0) +
                             ", " + stride(y, 0) + ", 0}",
                         n));
    turn_areas(n);
}

void RegionPrinter::reduce(const Inst& i) {
    if (solo_ >= 0) return fail("a reduction in a loop of one thread");
    const ValueId x = i.in[0];
    const DType t = type(i.result).dtype;
    const std::string& ufunc = r_.calls[static_cast<size_t>(i.ints[0])].name;
    const std::string name(value_type(t)), n = extent(x, 0);
    Reduction how;
    if (!combiner(ufunc, t, &how))
        return fail("'" + ufunc + "' as a reduction of " + std::string(graph::info(t).text));
    std::string value;
    if (sums_pairwise(ufunc, t)) {
        uses_.insert("pairwise");
        teams_ = true;
        value = "pairwise<" + name + ">(ctl, left_by, team, teams, " + address(x) + ", " + stride(x, 0) +
                ", " + n + ")";
    } else {
        const std::string op = combine_struct(how, t);
        value = folded(
            "elements<" + name + ", " + op + ">{" + address(x) + ", " + stride(x, 0) + ", " + how.start + "}",
            n);
    }
    lines_.open("");
    lines_.line("const " + name + " all = " + value + ";");
    set(i.result, n + " > 0 ? " + how.combine + "(" + scalar(i.in[1]) + ", all) : " + scalar(i.in[1]));
    lines_.close();
    turn_areas(n);
}

// The combining function as a type.
std::string RegionPrinter::combine_struct(const Reduction& how, DType t) {
    const std::string name = how.combine + "_of_" + std::string(value_type(t)), type(value_type(t));
    uses_.functions[name] = "struct " + name + " {\n    static __device__ __forceinline__ " + type + " of(" +
                            type + " a, " + type + " b) { return " + how.combine + "(a, b); }\n};\n";
    return name;
}

// ---- library routines ----

void RegionPrinter::library(const Inst& i) {
    const std::string& name = r_.calls[static_cast<size_t>(i.ints[0])].name;
    if (solo_ >= 0) return fail("a library routine in a loop of one thread");
    if (i.op == RegionOp::Library && name == "matmul")
        product(i);
    else if (i.op == RegionOp::Library && name.ends_with(kReduce) && i.ints.size() > 2)
        reduce_axes(i, name.substr(0, name.size() - kReduce.size()));
    else
        return fail("the call of '" + name + "'" + (i.line > 0 ? " in line " + text(i.line) : ""));
    meet_about_flags(i);
}

// Offsets of a point among some axes of an array, the last one fastest: `rest` is its number.
void RegionPrinter::walk_axes(const std::vector<int>& axes, const std::function<std::string(int)>& extent_of,
                              const std::function<void(int, const std::string&)>& at) {
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
        const std::string d = text(*axis), n = extent_of(*axis);
        lines_.line("const i64 v" + d + " = quotient_of(rest, " + n + "), u" + d + " = rest - v" + d + " * " +
                    n + ";");
        lines_.line("rest = v" + d + ";");
        at(*axis, "u" + d);
    }
}

// NumPy drops axes of extent 1, merges neighbouring axes that are reduced, and adds up runs of what is left
// innermost, one after the other. Long runs are a warp's, short ones a thread's.
void RegionPrinter::reduce_axes(const Inst& i, const std::string& ufunc) {
    const ValueId out = i.in[0], in = i.in[1];
    const DType t = type(out).dtype;
    const std::string name(value_type(t));
    Reduction how;
    if (!combiner(ufunc, t, &how)) return fail("'" + ufunc + "' along axes");
    const bool pairwise = sums_pairwise(ufunc, t);
    uses_.insert(pairwise ? "pairwise" : "fold");
    teams_ = true;
    const std::vector<int> reduced(i.ints.begin() + 2, i.ints.end());
    std::vector<int> kept, outer;
    for (int d = 0; d < type(in).rank; ++d)
        if (!std::binary_search(reduced.begin(), reduced.end(), d)) kept.push_back(d);
    lines_.open("");
    lines_.line("i64 run = 1, rounds = 1, kept = 1;");
    lines_.line("bool inner = true;");
    for (int d = type(in).rank; d-- > 0;) {
        const std::string n = extent(in, d), o = "o" + text(d);
        if (std::binary_search(kept.begin(), kept.end(), d)) {
            lines_.line("kept *= " + n + ", inner = inner && " + n + " == 1;");
            continue;
        }
        lines_.line("const i64 " + o + " = inner ? 1 : " + n + ";");
        lines_.line("rounds *= " + o + ", run *= inner ? " + n + " : 1;");
    }
    lines_.line("const bool shared = run >= 8;");
    lines_.line("const i64 worker = shared ? team_number() : (i64)blockIdx.x * blockDim.x + threadIdx.x;");
    lines_.line("const i64 workers = (i64)gridDim.x * (shared ? blockDim.x / 32 : blockDim.x);");
    lines_.open("for (i64 at = worker; at < kept; at += workers)");
    lines_.line("const u8* from = " + address(in) + ";");
    lines_.line("u8* to = " + address(out) + ";");
    lines_.open("");
    lines_.line("i64 rest = at;");
    walk_axes(
        kept, [&](int d) { return extent(in, d); },
        [&](int d, const std::string& index) {
            const auto own = std::find(kept.begin(), kept.end(), d) - kept.begin();
            lines_.line("from += " + index + " * " + stride(in, d) + ", to += " + index + " * " +
                        stride(out, static_cast<int>(own)) + ";");
        });
    lines_.close();
    lines_.line(name + " all = " + (ufunc == "add" ? "0" : how.start) + ";");
    lines_.open("for (i64 round = 0; round < rounds; ++round)");
    lines_.line("const u8* row = from;");
    lines_.open("");
    lines_.line("i64 rest = round;");
    walk_axes(
        reduced, [&](int d) { return "o" + text(d); },
        [&](int d, const std::string& index) {
            lines_.line("row += " + index + " * " + stride(in, d) + ";");
        });
    lines_.close();
    const std::string size = text(graph::info(t).size);
    lines_.line("all = " + how.combine + "(all, " +
                (pairwise ? "run_sum<" + name + ">(row, " + size + ", run, shared)"
                          : "fold_run(elements<" + name + ", " + combine_struct(how, t) + ">{row, " + size +
                                ", " + how.start + "}, run, shared)") +
                ");");
    lines_.close();
    lines_.line("if (!shared || lane == 0) " + stored(t, "to", "all"));
    if (graph::is_float(t) && ufunc == "add") lines_.line("bad |= nonfinite(all);");
    lines_.close();
    lines_.close();
}

// Each element of the result by one thread: neighbouring threads read neighbouring columns.
void RegionPrinter::product(const Inst& i) {
    const ValueId out = i.in[0], a = i.in[1], b = i.in[2];
    const DType t = type(out).dtype;
    const std::string name(value_type(t));
    const int left = type(a).rank, right = type(b).rank, rank = type(out).rank;
    const bool rows = left > 1, columns = right > 1;
    const int batch = rank - rows - columns;
    uses_.insert("matmul");
    std::vector<int> axes;
    std::string total = "1";
    for (int d = 0; d < rank; ++d) {
        axes.push_back(d);
        total += " * " + extent(out, d);
    }
    lines_.open("");
    lines_.line("const i64 total = " + total + ";");
    lines_.open(
        "for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (i64)gridDim.x * "
        "blockDim.x)");
    lines_.line("const u8 *x = " + address(a) + ", *y = " + address(b) + ";");
    lines_.line("u8* to = " + address(out) + ";");
    lines_.line("i64 rest = at;");
    walk_axes(
        axes, [&](int d) { return extent(out, d); },
        [&](int d, const std::string& index) {
            lines_.line("to += " + index + " * " + stride(out, d) + ";");
            if (d < batch) {
                // Stacks are broadcast: axes in front, and of extent 1.
                const int of_a = d - batch + left - 2, of_b = d - batch + right - 2;
                if (of_a >= 0 && left > 1)
                    lines_.line("if (" + extent(a, of_a) + " != 1) x += " + index + " * " + stride(a, of_a) +
                                ";");
                if (of_b >= 0 && right > 1)
                    lines_.line("if (" + extent(b, of_b) + " != 1) y += " + index + " * " + stride(b, of_b) +
                                ";");
            } else if (rows && d == batch) {
                lines_.line("x += " + index + " * " + stride(a, left - 2) + ";");
            } else {
                lines_.line("y += " + index + " * " + stride(b, right - 1) + ";");
            }
        });
    lines_.line("const " + name + " sum = product_sum<" + name + ">(x, " + stride(a, left - 1) + ", y, " +
                stride(b, columns ? right - 2 : 0) + ", " + extent(a, left - 1) + ");");
    lines_.line(stored(t, "to", "sum"));
    if (graph::is_complex(t))
        lines_.line("bad |= nonfinite(sum.re) || nonfinite(sum.im);");
    else if (graph::is_float(t))
        lines_.line("bad |= nonfinite(sum);");
    lines_.close();
    lines_.close();
}

}  // namespace stator::kernels::cuda
