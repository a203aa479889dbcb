// Nests of regions in CUDA C++: the points of all axes, in C order, are dealt out to the threads of the grid
// one by one, so that neighbouring threads have neighbouring points.
//
// A nest that must not raise a floating-point flag looks at what it computes. A GPU has no flags: an
// operation raised one when its result is infinite or NaN and no operand explains that. Where it is not worth
// while to be exact, any number that is not finite counts: Python then does the statement again.
#include <algorithm>

#include "kernels/emit_cuda_region_internal.h"

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

}  // namespace

void RegionPrinter::nest(const Inst& i) {
    const bool leader = solo_ >= 0 || spread_.in_order(i);
    const auto rank = static_cast<int>(i.in.size());
    std::string total = "1";
    for (const ValueId n : i.in) total += " * " + scalar(n);
    // Empty along one axis, a nest may have negative extents along others.
    std::string some;
    for (const ValueId n : i.in) some += (some.empty() ? "" : " && ") + scalar(n) + " > 0";
    lines_.open("if (" + (some.empty() ? std::string("true") : some) + (leader ? " && leader" : "") + ")");
    lines_.line("const i64 total = " + total + ";");
    lines_.open(leader ? "for (i64 at = 0; at < total; ++at)"
                       : "for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += "
                         "(i64)gridDim.x * blockDim.x)");
    std::vector<std::string> index(i.in.size(), "at");
    std::string rest = "at";
    for (int d = rank; d-- > 1;) {
        const std::string n = text(d), extent = scalar(i.in[static_cast<size_t>(d)]);
        lines_.line("const i64 q" + n + " = quotient_of(" + rest + ", " + extent + "), i" + n + " = " + rest +
                    " - q" + n + " * " + extent + ";");
        index[static_cast<size_t>(d)] = "i" + n;
        rest = "q" + n;
        index[0] = rest;
    }
    nest_body(i, index);
    lines_.close();
    lines_.close();
    if (i.exit < 0) return;
    // Two words take turns: some may still read one when others are in the next nest.
    lines_.line("if (bad) atomicOr(&ctl->bad[turn], 1u);");
    lines_.line("grid_meet(ctl);");
    leave_if("ctl->bad[turn]", i.exit);
    lines_.line("turn ^= 1;");
}

void RegionPrinter::nest_body(const Inst& nest, const std::vector<std::string>& at) {
    in_nest_ = true;
    std::vector<std::pair<ValueId, std::string>> pointers;
    const auto pointer = [&](ValueId array) {
        for (const auto& [known, name] : pointers)
            if (known == array) return name;
        const std::string name = "e" + text(array);
        std::string from = address(array);
        for (int d = 0; d < type(array).rank; ++d)
            from += " + " + at[static_cast<size_t>(d)] + " * " + stride(array, d);
        lines_.line("u8* const " + name + " = " + from + ";");
        pointers.emplace_back(array, name);
        return name;
    };
    for (const Inst& i : r_.nests[static_cast<size_t>(nest.ints[0])].insts) {
        std::vector<std::string> in;
        for (const ValueId v : i.in) in.push_back(scalar(v));
        std::string value;
        switch (i.op) {
            case RegionOp::Const: value = constant(i); break;
            case RegionOp::Pointwise:
            case RegionOp::Call: value = compute(i, in); break;
            case RegionOp::NestLoad: value = loaded(type(i.in[0]).dtype, pointer(i.in[0])); break;
            case RegionOp::NestIndex: value = at[static_cast<size_t>(i.ints[0])]; break;
            case RegionOp::NestStore:
                lines_.line(stored(type(i.in[0]).dtype, pointer(i.in[0]), in[1]));
                continue;
            default: fail("'" + std::string(graph::text(i.op)) + "' in a statement"); continue;
        }
        lines_.line("const " + std::string(value_type(type(i.result).dtype)) + " " + scalar(i.result) +
                    " = " + value + ";");
        if (nest.exit < 0) continue;
        if (const std::string f = fault(i, in); !f.empty()) lines_.line("bad |= " + f + ";");
    }
    in_nest_ = false;
}

// Whether the instruction may have raised a flag; "" when it cannot.
std::string RegionPrinter::fault(const Inst& i, const std::vector<std::string>& in) {
    const std::string r = scalar(i.result);
    const bool call = i.op == RegionOp::Call;
    if (i.op != RegionOp::Pointwise && !call) return {};
    if (!call && graph::info(i.pointwise).faults == "-") return {};
    const DType from = type(i.in.back()).dtype, to = type(i.result).dtype;
    if (!call && i.pointwise == Op::Cast) {
        if (!graph::is_float(from) || to == DType::Bool) return {};
        if (graph::is_float(to))
            return graph::info(to).size < graph::info(from).size
                       ? "faulty((f64)" + r + ", " + in[0] + ", " + in[0] + ")"
                       : "";
        const int bits = 8 * graph::info(to).size - graph::is_signed(to) - (to == DType::U64);
        const std::string low =
            graph::is_signed(to) ? "-" + text(int64_t{1} << (bits - 1)) + ".0 * 2" : "0.0";
        return "!(" + in[0] + " >= " + low + " && " + in[0] + " < " + text(int64_t{1} << (bits - 1)) +
               ".0 * 2)";
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
