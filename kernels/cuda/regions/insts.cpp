// Instructions of regions in CUDA C++, less nests. An instruction without a row here has no code: the region
// then stays elsewhere.
#include <algorithm>

#include "kernels/cuda/regions/internal.h"

namespace stator::kernels::cuda {

namespace {

std::string text(int64_t n) { return std::to_string(n); }
std::string type_text(DType t) { return std::string(value_type(t)); }

// Scalar functions of the frontend's by the names under which cuda_ops knows them.
constexpr std::pair<std::string_view, std::string_view> kScalarFunctions[] = {
    {"pow", "py.pow"},
    {"py_mod", "py.remainder"},
    {"py_floordiv", "py.floor_divide"},
};

}  // namespace

void RegionPrinter::leave_if(const std::string& condition, int exit) {
    switch (leaving_) {
        case Leaving::Exit: return lines_.line("if (" + condition + ") goto " + exit_label(exit) + ";");
        case Leaving::Otherwise: return lines_.line("if (" + condition + ") goto " + otherwise_ + ";");
        case Leaving::Noted: return lines_.line("bad |= " + condition + ";");
        case Leaving::PassedOver:
            lines_.line("if (" + condition + ") bad |= 1u;");
            lines_.open("else");
            ++scopes_;
    }
}

void RegionPrinter::set(ValueId v, const std::string& value) { lines_.line(scalar(v) + " = " + value + ";"); }

void RegionPrinter::inst(BlockId b, size_t index) {
    const Inst& i = r_.blocks[static_cast<size_t>(b)].insts[index];
    std::vector<std::string> in;
    for (const ValueId v : i.in) in.push_back(scalar(v));
    switch (i.op) {
        case RegionOp::Const: return set(i.result, constant(i));
        case RegionOp::Pointwise:
        case RegionOp::Call: return set(i.result, compute(i, in));
        case RegionOp::CheckedAdd: return checked(i, "sum_overflows");
        case RegionOp::CheckedSub: return checked(i, "difference_overflows");
        case RegionOp::CheckedMul: return checked(i, "product_overflows");
        case RegionOp::FloorDiv:
        case RegionOp::FloorMod: return floor_division(i);
        case RegionOp::Fma: return set(i.result, fma(i, in));
        case RegionOp::Finite: return leave_if(nonfinite(i), i.exit);
        case RegionOp::Guard: return leave_if((i.ints[0] ? "!" : "") + in[0], i.exit);
        case RegionOp::Index:
            set(i.result, in[0] + " < 0 ? " + in[0] + " + " + in[1] + " : " + in[0]);
            return leave_if("(u64)" + scalar(i.result) + " >= (u64)" + in[1], i.exit);
        case RegionOp::Poll: return poll(b, index);
        case RegionOp::Extent: return set(i.result, extent(i.in[0], static_cast<int>(i.ints[0])));
        case RegionOp::View: return view(i);
        case RegionOp::Flatten: return flatten(i);
        case RegionOp::Reshape: return reshape(i);
        case RegionOp::Part: return part(i);
        case RegionOp::Load: return set(i.result, loaded(type(i.in[0]).dtype, element(i, i.in.size() - 1)));
        case RegionOp::Store:
            return lines_.line((solo_ < 0 ? "if (leader) " : "") +
                               stored(type(i.in[0]).dtype, element(i, i.in.size() - 2), in.back()));
        case RegionOp::Nest: return nest(i);
        case RegionOp::Pack: return pack(i);
        case RegionOp::Scratch: return scratch(b, index);
        case RegionOp::Dot: return dot(i);
        case RegionOp::Reduce: return reduce(i);
        case RegionOp::Library:
        case RegionOp::Made: return library(i);
        default: fail("'" + std::string(graph::text(i.op)) + "'");
    }
}

// ---- scalars ----

std::string RegionPrinter::constant(const Inst& i) {
    const uint64_t high = i.ints.size() > 1 ? static_cast<uint64_t>(i.ints[1]) : 0;
    return cuda::constant(type(i.result).dtype, static_cast<uint64_t>(i.ints[0]), high, uses_);
}

// By way of cuda_ops, which spells statements of loop nests.
std::string RegionPrinter::compute(const Inst& i, const std::vector<std::string>& in) {
    LoopNest nest;
    Stmt s{StmtKind::Compute, type(i.result).dtype};
    for (size_t k = 0; k < i.in.size(); ++k) {
        nest.stmts.push_back({StmtKind::Load, type(i.in[k]).dtype});
        s.in.push_back(static_cast<int>(k));
    }
    s.op = i.pointwise;
    std::string what(graph::info(i.pointwise).text);
    if (i.op == RegionOp::Call) {
        const graph::RegionCall& c = r_.calls[static_cast<size_t>(i.ints[0])];
        s.op = graph::Op::HostLoop;
        s.name = what = c.name;
        for (const auto& [name, known] : kScalarFunctions)
            if (c.kind == graph::RegionCall::Scalar && name == c.name) s.name = known;
    }
    // Products of complex numbers are contracted in some processes and not in others (complex_forms.h).
    const bool complex =
        std::any_of(i.in.begin(), i.in.end(), [&](ValueId v) { return graph::is_complex(type(v).dtype); });
    const bool to_integer = s.op == graph::Op::Cast && graph::is_float(type(i.in[0]).dtype) &&
                            graph::is_integer(s.dtype) && !in_nest_;
    nest.stmts.push_back(s);
    const std::string code =
        to_integer || complex ? "" : cuda::compute(nest, static_cast<int>(i.in.size()), in, false, uses_);
    if (code.empty()) fail(what + " of " + std::string(graph::info(i.operand).text));
    return code;
}

void RegionPrinter::checked(const Inst& i, const std::string& overflows) {
    const std::string a = scalar(i.in[0]), b = scalar(i.in[1]), r = scalar(i.result);
    const std::string t = type_text(type(i.result).dtype);
    const char* sign = i.op == RegionOp::CheckedAdd ? " + " : i.op == RegionOp::CheckedSub ? " - " : " * ";
    leave_if(overflows + "<" + t + ">(" + a + ", " + b + ")", i.exit);
    set(i.result, "(" + t + ")((u64)" + a + sign + "(u64)" + b + ")");
}

void RegionPrinter::floor_division(const Inst& i) {
    uses_.insert("integer_division");
    const bool quotient = i.op == RegionOp::FloorDiv;
    const DType t = type(i.result).dtype;
    const std::string a = scalar(i.in[0]), b = scalar(i.in[1]);
    leave_if(b + " == 0", i.exit);
    if (quotient && graph::is_signed(t))
        leave_if(b + " == -1 && " + a + " == least<" + type_text(t) + ">()", i.exit);
    set(i.result, (quotient ? "floor_divide(" : "remainder_of(") + a + ", " + b + ")");
}

// Whether it is time to stop has to be agreed upon, so the threads meet; how often that is looked at follows
// from how long it took so far.
void RegionPrinter::poll(BlockId b, size_t index) {
    const int exit = r_.blocks[static_cast<size_t>(b)].insts[index].exit;
    const std::string number = text(resume_point(b, index, exit));
    const bool alone = solo_ >= 0;
    const std::string left = alone ? "own_left" : "left", seen = alone ? "own_seen" : "seen";
    lines_.open("if (--" + left + " <= 0)");
    lines_.line(left + " = next_look(ctl, " + seen + ", begun, " + (alone ? "true" : "false") + ");");
    lines_.line("if (" + left + " <= 0) goto h" + number + ";");
    lines_.line(seen + " += " + left + ";");
    lines_.close();
    lines_.line("r" + number + ":;");
}

std::string RegionPrinter::fma(const Inst& i, const std::vector<std::string>& in) const {
    const char* function = type(i.result).dtype == DType::F32 ? "__fmaf_rn" : "__fma_rn";
    return std::string(function) + "(" + in[0] + ", " + in[1] + ", " + in[2] + ")";
}

std::string RegionPrinter::nonfinite(const Inst& i) {
    const std::string x = scalar(i.in[0]);
    const DType t = type(i.in[0]).dtype;
    if (graph::is_complex(t)) return "nonfinite(" + x + ".re) || nonfinite(" + x + ".im)";
    if (i.in.size() > 1) return "faulty(" + x + ", " + scalar(i.in[1]) + ", " + scalar(i.in.back()) + ")";
    return "nonfinite(" + (t == DType::F16 ? "to_f32(" + x + ")" : x) + ")";
}

// ---- arrays ----

std::string RegionPrinter::element(const Inst& i, size_t indices) {
    std::string at = address(i.in[0]);
    for (size_t d = 0; d < indices; ++d)
        at += " + " + scalar(i.in[d + 1]) + " * " + stride(i.in[0], static_cast<int>(d));
    return at;
}

// Complex numbers are aligned as their parts are.
std::string RegionPrinter::loaded(DType t, const std::string& address) const {
    const std::string type =
        graph::is_complex(t) ? t == DType::C64 ? "f32" : "f64" : std::string(memory_type(t));
    const auto at = [&](int k) { return "((const " + type + "*)(" + address + "))[" + text(k) + "]"; };
    if (graph::is_complex(t)) return std::string(value_type(t)) + "{" + at(0) + ", " + at(1) + "}";
    return "*(const " + type + "*)(" + address + ")" + (t == DType::Bool ? " != 0" : "");
}

std::string RegionPrinter::stored(DType t, const std::string& address, const std::string& value) const {
    if (!graph::is_complex(t))
        return "*(" + std::string(memory_type(t)) + "*)(" + address + ") = " + value + ";";
    const std::string type = t == DType::C64 ? "f32" : "f64";
    const auto at = [&](int k) { return "((" + type + "*)(" + address + "))[" + text(k) + "]"; };
    return at(0) + " = " + value + ".re, " + at(1) + " = " + value + ".im;";
}

void RegionPrinter::view(const Inst& i) {
    const ValueId a = i.in[0];
    const auto operand = [&](int k) { return scalar(i.in[static_cast<size_t>(k)]); };
    std::string from = address(a);
    int axis = 0;
    for (const graph::ViewAxis& x : r_.views[static_cast<size_t>(i.ints[0])]) {
        if (x.kind == graph::ViewAxis::New) {
            lines_.line(extent(i.result, axis) + " = " + operand(x.count) + ";");
            lines_.line(stride(i.result, axis++) + " = 0;");
            continue;
        }
        const std::string step = stride(a, x.axis);
        if (x.start) from += " + " + operand(x.start) + " * " + step;
        if (x.kind == graph::ViewAxis::Drop) continue;
        lines_.line(extent(i.result, axis) + " = " + (x.count ? operand(x.count) : extent(a, x.axis)) + ";");
        lines_.line(stride(i.result, axis++) + " = " + (x.step ? operand(x.step) + " * " : "") + step + ";");
    }
    lines_.line(address(i.result) + " = " + from + ";");
}

void RegionPrinter::flatten(const Inst& i) {
    std::string n = "1";
    for (int d = 0; d < type(i.in[0]).rank; ++d) n += " * " + extent(i.in[0], d);
    lines_.line(address(i.result) + " = " + address(i.in[0]) + ";");
    lines_.line(extent(i.result, 0) + " = " + n + ";");
    lines_.line(stride(i.result, 0) + " = " + text(graph::info(type(i.result).dtype).size) + ";");
}

void RegionPrinter::reshape(const Inst& i) {
    lines_.line(address(i.result) + " = " + address(i.in[0]) + ";");
    for (int d = 0; d < type(i.result).rank; ++d)
        lines_.line(extent(i.result, d) + " = " + scalar(i.in[static_cast<size_t>(d) + 1]) + ";");
    dense_strides(i.result);
}

void RegionPrinter::dense_strides(ValueId array) {
    std::string dense = text(graph::info(type(array).dtype).size);
    for (int d = type(array).rank; d-- > 0;) {
        lines_.line(stride(array, d) + " = " + dense + ";");
        dense = stride(array, d) + " * " + extent(array, d);
    }
}

// Complex numbers lie in memory as two floats.
void RegionPrinter::part(const Inst& i) {
    const ValueId whole = i.in[0];
    lines_.line(address(i.result) + " = " + address(whole) + " + " +
                text(graph::info(type(i.result).dtype).size * i.ints[0]) + ";");
    for (int d = 0; d < type(whole).rank; ++d)
        lines_.line(extent(i.result, d) + " = " + extent(whole, d) + ", " + stride(i.result, d) + " = " +
                    stride(whole, d) + ";");
}

// The first of the instruction's cells in which no array lies that it is to keep clear of. Where it is too
// small the launch ends and the next one goes on here.
void RegionPrinter::scratch(BlockId b, size_t index) {
    const Inst& i = r_.blocks[static_cast<size_t>(b)].insts[index];
    if (solo_ >= 0) return fail("memory in a loop of one thread");
    const RegionType t = type(i.result);
    const std::string size = text(graph::info(t.dtype).size);
    int number = -1;
    if (!is_known_early(i)) {
        number = resume_point(b, index, -1);
        lines_.line("r" + text(number) + ":;");
    }
    lines_.line("room = " + size + ";");
    for (int d = t.rank; d-- > 0;) {
        const std::string n = scalar(i.in[static_cast<size_t>(d)]);
        leave_if("product_overflows<i64>(room, " + n + ")", i.exit);
        lines_.line("room *= " + n + ";");
    }
    const int64_t last = i.ints[0] + (i.ints.size() > 1 ? i.ints[1] : 1) - 1;
    for (int64_t k = last; k >= i.ints[0]; --k) {
        std::string free;
        for (size_t n = static_cast<size_t>(t.rank); k < last && n < i.in.size(); ++n)
            free += (free.empty() ? "" : " && ") + std::string("(u64)(") + address(i.in[n]) + " - c" +
                    text(k) + ") >= (u64)k" + text(k);
        lines_.line((free.empty() ? "" : "if (" + free + ") ") + "cell = " + text(k) + ", memory = c" +
                    text(k) + ", has = k" + text(k) + ";");
    }
    if (number >= 0) grow_code(number);
    lines_.line(address(i.result) + " = memory;");
    for (int d = 0; d < t.rank; ++d)
        lines_.line(extent(i.result, d) + " = " + scalar(i.in[static_cast<size_t>(d)]) + ";");
    dense_strides(i.result);
}

}  // namespace stator::kernels::cuda
