// Nests of regions in CUDA C++: the points of all axes, in C order, are dealt out to the threads of the grid
// one by one, so that neighbouring threads have neighbouring points.
//
// A nest that must not raise a floating-point flag looks at what it computes. A GPU has no flags: an
// operation raised one when its result is infinite or NaN and no operand explains that. Where it is not worth
// while to be exact, any number that is not finite counts: Python then does the statement again.
#include <algorithm>

#include "kernels/cuda/regions/internal.h"

namespace stator::kernels::cuda {

using graph::Op;

namespace {

std::string text(int64_t n) { return std::to_string(n); }

// Operations whose flags follow from operands and result alone.
bool has_exact_flags(Op op) {
    switch (op) {
        case Op::Add:
        case Op::Subtract:
        case Op::Multiply:
        case Op::Divide:
        case Op::Square:
        case Op::Reciprocal:
        case Op::Sqrt: return true;
        default: return false;
    }
}

// As f64, in which the checks of conversions compute.
std::string wide(DType t, const std::string& x) {
    return "(f64)" + (t == DType::F16 ? "to_f32(" + x + ")" : x);
}

}  // namespace

// Empty along one axis, a nest may have negative extents along others.
std::string RegionPrinter::some(const Inst& nest) const {
    std::string all;
    for (const ValueId n : nest.in) all += (all.empty() ? "" : " && ") + scalar(n) + " > 0";
    return all.empty() ? "true" : all;
}

std::string RegionPrinter::total(const Inst& nest, uint32_t without) const {
    std::string product = "1";
    for (size_t d = 0; d < nest.in.size(); ++d)
        if (!(without >> d & 1)) product += " * " + scalar(nest.in[d]);
    return product;
}

// The indices of point number `at` of all axes but some, which are named only.
std::vector<std::string> RegionPrinter::point(const Inst& nest, uint32_t without) {
    std::vector<std::string> index(nest.in.size());
    size_t first = 0;
    while (first < index.size() && (without >> first & 1)) ++first;
    std::string rest = "at";
    for (size_t d = nest.in.size(); d-- > 0;) {
        const std::string n = text(static_cast<int64_t>(d)), extent = scalar(nest.in[d]);
        index[d] = "i" + n;
        if (without >> d & 1) continue;
        if (d == first) {
            index[d] = rest;
            continue;
        }
        lines_.line("const i64 q" + n + " = quotient_of(" + rest + ", " + extent + "), i" + n + " = " + rest +
                    " - q" + n + " * " + extent + ";");
        rest = "q" + n;
    }
    return index;
}

void RegionPrinter::nest(const Inst& i) {
    const bool leader = solo_ >= 0 || spread_.in_order(i);
    const uint32_t serial = leader ? 0 : spread_.serial_axes(i);
    lines_.open("if (" + some(i) + (leader ? " && leader" : "") + ")");
    lines_.line("const i64 total = " + total(i, serial) + ";");
    const std::vector<Inst>& body = r_.nests[static_cast<size_t>(i.ints[0])].insts;
    const bool numbered =
        std::any_of(body.begin(), body.end(), [](const Inst& n) { return n.op == RegionOp::NestNext; });
    if (numbered) lines_.line("i64 passed = 0;");
    lines_.open(leader ? "for (i64 at = 0; at < total; ++at)"
                       : "for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += "
                         "(i64)gridDim.x * blockDim.x)");
    const std::vector<std::string> index = point(i, serial);
    for (size_t d = 0; d < i.in.size(); ++d)
        if (serial >> d & 1)
            lines_.open("for (i64 " + index[d] + " = 0; " + index[d] + " < " + scalar(i.in[d]) + "; ++" +
                        index[d] + ")");
    nest_body(i, index, numbered ? BodyText{"", "passed", "++passed;"} : BodyText{});
    for (size_t d = 0; d < i.in.size(); ++d)
        if (serial >> d & 1) lines_.close();
    lines_.close();
    lines_.close();
    meet_about_flags(i);
}

// Two words take turns: some threads may still read one when others are in the next nest.
void RegionPrinter::meet_about_flags(const Inst& nest) {
    if (nest.exit < 0) return;
    lines_.line("if (bad) atomicOr(&ctl->bad[turn], 1u);");
    lines_.line("grid_meet(ctl);");
    leave_if("ctl->bad[turn]", nest.exit);
    lines_.line("turn ^= 1;");
}

void RegionPrinter::nest_body(const Inst& nest, const std::vector<std::string>& at, const BodyText& text) {
    in_nest_ = true;
    int scopes = 0;  // opened by what the rest depends on
    std::vector<std::pair<ValueId, std::string>> pointers;
    const auto pointer = [&](ValueId array) {
        for (const auto& [known, name] : pointers)
            if (known == array) return name;
        const std::string name = "e" + std::to_string(array);
        std::string from = address(array);
        for (int d = 0; d < type(array).rank; ++d)
            from += " + " + at[static_cast<size_t>(d)] + " * " + stride(array, d);
        lines_.line("u8* const " + name + " = " + from + ";");
        pointers.emplace_back(array, name);
        return name;
    };
    const std::vector<Inst>& insts = r_.nests[static_cast<size_t>(nest.ints[0])].insts;
    bool decided = false;
    for (const Inst& i : insts) {
        if (decided) break;
        std::vector<std::string> in;
        for (const ValueId v : i.in) in.push_back(scalar(v));
        std::string value;
        switch (i.op) {
            case RegionOp::Const: value = constant(i); break;
            case RegionOp::Pointwise:
            case RegionOp::Call: value = compute(i, in); break;
            case RegionOp::Fma: value = fma(i, in); break;
            case RegionOp::NestLoad: value = loaded(type(i.in[0]).dtype, pointer(i.in[0])); break;
            case RegionOp::NestTake: value = loaded(type(i.in[0]).dtype, element(i, i.in.size() - 1)); break;
            case RegionOp::NestNext:
                value = loaded(type(i.in[0]).dtype,
                               address(i.in[0]) + " + " + text.number + " * " + stride(i.in[0], 0));
                break;
            case RegionOp::NestIndex: value = at[static_cast<size_t>(i.ints[0])]; break;
            case RegionOp::NestStore:
                lines_.line(stored(type(i.in[0]).dtype, pointer(i.in[0]), in[1]));
                continue;
            case RegionOp::NestScatter:
                lines_.line(stored(type(i.in[0]).dtype, element(i, i.in.size() - 2), in.back()));
                continue;
            case RegionOp::NestAppend:
                lines_.line(stored(type(i.in[0]).dtype,
                                   address(i.in[0]) + " + " + text.number + " * " + stride(i.in[0], 0),
                                   in[1]));
                continue;
            case RegionOp::NestWhen:
                if (!text.holds.empty()) {
                    lines_.line(text.holds + " = " + in[0] + ";");
                    decided = true;
                    continue;
                }
                lines_.open("if (" + in[0] + ")");
                ++scopes;
                continue;
            case RegionOp::NestWithin:
                // The nest leaves: what it would do at this point is nobody's business any more.
                lines_.line("const i64 " + scalar(i.result) + " = " + in[0] + " < 0 ? " + in[0] + " + " +
                            in[1] + " : " + in[0] + ";");
                lines_.line("const bool y" + std::to_string(i.result) + " = (u64)" + scalar(i.result) +
                            " < (u64)" + in[1] + ";");
                lines_.line("bad |= !y" + std::to_string(i.result) + ";");
                lines_.open("if (y" + std::to_string(i.result) + ")");
                ++scopes;
                continue;
            default: fail("'" + std::string(graph::text(i.op)) + "' in a statement"); continue;
        }
        lines_.line("const " + std::string(value_type(type(i.result).dtype)) + " " + scalar(i.result) +
                    " = " + value + ";");
        if (nest.exit < 0) continue;
        if (const std::string f = fault(i, in); !f.empty()) lines_.line("bad |= " + f + ";");
    }
    if (!text.last.empty()) lines_.line(text.last);
    while (scopes-- > 0) lines_.close();
    in_nest_ = false;
}

// Whether the instruction may have raised a flag; "" when it cannot.
std::string RegionPrinter::fault(const Inst& i, const std::vector<std::string>& in) {
    const std::string r = scalar(i.result);
    const bool call = i.op == RegionOp::Call;
    if (i.op == RegionOp::Fma) return "faulty(" + r + ", " + in[0] + ", " + in[1] + ", " + in[2] + ")";
    if (i.op != RegionOp::Pointwise && !call) return {};
    if (!call && graph::info(i.pointwise).faults == "-") return {};
    const DType from = type(i.in.back()).dtype, to = type(i.result).dtype;
    if (!call && i.pointwise == Op::Cast) {
        if (!graph::is_float(from) || to == DType::Bool) return {};
        if (graph::is_float(to))
            return graph::info(to).size < graph::info(from).size
                       ? "faulty(" + wide(to, r) + ", " + wide(from, in[0]) + ", " + wide(from, in[0]) + ")"
                       : "";
        const int bits = 8 * graph::info(to).size - graph::is_signed(to) - (to == DType::U64);
        const std::string x = wide(from, in[0]);
        const std::string low =
            graph::is_signed(to) ? "-" + text(int64_t{1} << (bits - 1)) + ".0 * 2" : "0.0";
        return "!(" + x + " >= " + low + " && " + x + " < " + text(int64_t{1} << (bits - 1)) + ".0 * 2)";
    }
    if (!graph::is_float(from) && !graph::is_float(to)) {
        const bool divides = call || i.pointwise == Op::FloorDivide || i.pointwise == Op::Remainder;
        if (divides) fail("a division of integers in a statement");
        return {};
    }
    if (!call && has_exact_flags(i.pointwise)) return "faulty(" + r + ", " + in[0] + ", " + in.back() + ")";
    std::string any = graph::is_float(to) ? "nonfinite(" + r + ")" : "";
    for (size_t k = 0; k < in.size(); ++k)
        if (graph::is_float(type(i.in[k]).dtype))
            any += (any.empty() ? "nonfinite(" : " | nonfinite(") + in[k] + ")";
    return any;
}

}  // namespace stator::kernels::cuda
