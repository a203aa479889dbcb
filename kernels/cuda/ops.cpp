// See cuda/ops.h. Two tables: ops of graph/ops.def, and functions known by the host's name.
#include "kernels/cuda/ops.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>

namespace stator::kernels::cuda {

namespace {

using graph::DType;
using graph::Op;

constexpr std::array<std::string_view, graph::kDTypeCount> kTypes = {
    "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "c64", "c128", "bf16"};

bool half(DType t) { return t == DType::F16 || t == DType::BF16; }
bool real_float(DType t) { return t == DType::F32 || t == DType::F64; }
DType part_of(DType t) { return t == DType::C64 ? DType::F32 : DType::F64; }
// The unsigned type of an integer's width, in which arithmetic wraps.
std::string unsigned_of(DType t) { return "u" + std::to_string(8 * graph::info(t).size); }
std::string type(DType t) { return std::string(value_type(t)); }
std::string call(std::string_view f, std::initializer_list<std::string_view> args) {
    std::string s(f);
    s += "(";
    bool first = true;
    for (std::string_view a : args) {
        if (!first) s += ", ";
        first = false;
        s += a;
    }
    return s + ")";
}

// What an op is printed from.
struct Args {
    Op op;
    DType t, r;  // operand 0's dtype, result's
    const std::vector<std::string>& in;
    Uses& uses;
    const std::string& operator[](size_t i) const { return in[i]; }
    bool boolean() const { return t == DType::Bool; }
    bool integer() const { return graph::is_integer(t); }
    bool complex() const { return graph::is_complex(t); }
    bool fast() const { return uses.fast && t == DType::F32; }
    std::string_view by(std::string_view f32, std::string_view f64) const {
        return t == DType::F32 ? f32 : f64;
    }
};

std::string infix(const Args& a, const char* op) { return "(" + a[0] + " " + op + " " + a[1] + ")"; }
std::string wrapping(const Args& a, const char* op) {
    std::string u = "(" + unsigned_of(a.t) + ")";
    return "(" + type(a.r) + ")(" + u + a[0] + " " + op + " " + u + a[1] + ")";
}
std::string complex_call(const Args& a, std::string_view f) {
    a.uses.insert("complex");
    return a.in.size() > 1 ? call(f, {a[0], a[1]}) : call(f, {a[0]});
}

std::string fast_call(const Args& a, std::string_view f, std::initializer_list<std::string_view> args) {
    a.uses.insert(f);
    return call(f, args);
}

std::string add(const Args& a) {
    if (a.boolean()) return infix(a, "|");
    if (a.complex()) return complex_call(a, "add");
    return a.integer() ? wrapping(a, "+") : call(a.by("__fadd_rn", "__dadd_rn"), {a[0], a[1]});
}
std::string subtract(const Args& a) {
    if (a.complex()) return complex_call(a, "subtract");
    return a.integer() ? wrapping(a, "-") : call(a.by("__fsub_rn", "__dsub_rn"), {a[0], a[1]});
}
std::string multiply(const Args& a) {
    if (a.boolean()) return infix(a, "&");
    if (a.complex()) return complex_call(a, "multiply");
    // u16 * u16 is an int product, which may overflow
    if (a.integer() && graph::info(a.t).size < 4)
        return "(" + type(a.r) + ")((u32)" + a[0] + " * (u32)" + a[1] + ")";
    return a.integer() ? wrapping(a, "*") : call(a.by("__fmul_rn", "__dmul_rn"), {a[0], a[1]});
}
std::string divide(const Args& a) {
    if (a.complex()) return complex_call(a, "divide");
    if (a.fast()) return fast_call(a, "quotient", {a[0], a[1]});
    return call(a.by("__fdiv_rn", "__ddiv_rn"), {a[0], a[1]});
}
std::string square(const Args& a) {
    std::vector<std::string> twice{a[0], a[0]};
    return multiply({Op::Multiply, a.t, a.r, twice, a.uses});
}
std::string reciprocal(const Args& a) {
    if (a.complex()) return {};
    if (a.fast()) return fast_call(a, "quotient", {"1.0f", a[0]});
    return call(a.by("__frcp_rn", "__drcp_rn"), {a[0]});
}
std::string negative(const Args& a) {
    if (a.complex()) return type(a.r) + "{-" + a[0] + ".re, -" + a[0] + ".im}";
    if (a.integer()) return "(" + type(a.r) + ")(0 - (" + unsigned_of(a.t) + ")" + a[0] + ")";
    return "(-" + a[0] + ")";
}
std::string absolute(const Args& a) {
    if (a.boolean() || graph::is_unsigned(a.t)) return a[0];
    if (a.integer()) return "(" + a[0] + " < 0 ? " + negative(a) + " : " + a[0] + ")";
    if (a.complex()) return complex_call(a, "absolute");
    return call(a.by("fabsf", "fabs"), {a[0]});
}
std::string square_root(const Args& a) {
    if (a.fast()) return fast_call(a, "root", {a[0]});
    return a.complex() ? "" : call(a.by("__fsqrt_rn", "__dsqrt_rn"), {a[0]});
}
std::string copysign_of(const Args& a) { return call(a.by("copysignf", "copysign"), {a[0], a[1]}); }
template <const char* const& f32, const char* const& f64>
std::string rounding(const Args& a) {
    return a.integer() || a.boolean() ? a[0] : a.complex() ? "" : call(a.by(f32, f64), {a[0]});
}
constexpr const char *kFloorF = "floorf", *kFloor = "floor", *kCeilF = "ceilf", *kCeil = "ceil",
                     *kTruncF = "truncf", *kTrunc = "trunc", *kRintF = "rintf", *kRint = "rint";

std::string extremum(const Args& a, std::string_view f) {
    if (a.complex()) return {};
    a.uses.insert(f);
    return call(f, {a[0], a[1]});
}
std::string maximum(const Args& a) { return extremum(a, "maximum"); }
std::string minimum(const Args& a) { return extremum(a, "minimum"); }
std::string fmax_of(const Args& a) {
    return real_float(a.t) ? call(a.by("fmaxf", "fmax"), {a[0], a[1]}) : maximum(a);
}
std::string fmin_of(const Args& a) {
    return real_float(a.t) ? call(a.by("fminf", "fmin"), {a[0], a[1]}) : minimum(a);
}

constexpr const char *kLess = "<", *kLessEqual = "<=", *kGreater = ">",
                     *kGreaterEqual = ">=", *kEqual = "==", *kNotEqual = "!=";
template <const char* const& op>
std::string compare(const Args& a) {
    if (!a.complex()) return infix(a, op);
    if (op != kEqual && op != kNotEqual) return {};
    const char* join = op == kEqual ? " && " : " || ";
    return "(" + a[0] + ".re " + op + " " + a[1] + ".re" + join + a[0] + ".im " + op + " " + a[1] + ".im)";
}

std::string truth(const Args& a, size_t i) {
    if (a.boolean()) return a[i];
    if (a.complex()) return "(" + a[i] + ".re != 0 || " + a[i] + ".im != 0)";
    return "(" + a[i] + " != 0)";
}
std::string logical_and(const Args& a) { return "(" + truth(a, 0) + " && " + truth(a, 1) + ")"; }
std::string logical_or(const Args& a) { return "(" + truth(a, 0) + " || " + truth(a, 1) + ")"; }
std::string logical_xor(const Args& a) { return "(" + truth(a, 0) + " != " + truth(a, 1) + ")"; }
std::string logical_not(const Args& a) { return "(!" + truth(a, 0) + ")"; }
std::string bit_and(const Args& a) { return "(" + type(a.r) + ")" + infix(a, "&"); }
std::string bit_or(const Args& a) { return "(" + type(a.r) + ")" + infix(a, "|"); }
std::string bit_xor(const Args& a) { return "(" + type(a.r) + ")" + infix(a, "^"); }
std::string invert(const Args& a) {
    return a.boolean() ? "(!" + a[0] + ")" : "(" + type(a.r) + ")(~" + a[0] + ")";
}
std::string shift(const Args& a, std::string_view f) {
    a.uses.insert("shift");
    return std::string(f) + "<" + type(a.t) + ", " + unsigned_of(a.t) + ">(" + a[0] + ", " + a[1] + ")";
}
std::string left_shift(const Args& a) { return shift(a, "left_shift"); }
std::string right_shift(const Args& a) { return shift(a, "right_shift"); }

std::string is_nan(const Args& a) {
    if (a.complex()) return "(" + a[0] + ".re != " + a[0] + ".re || " + a[0] + ".im != " + a[0] + ".im)";
    return a.integer() || a.boolean() ? "false" : "(" + a[0] + " != " + a[0] + ")";
}
std::string bits_without_sign(const Args& a) {
    return a.t == DType::F32 ? "(__float_as_uint(" + a[0] + ") & 0x7fffffffu)"
                             : "((u64)__double_as_longlong(" + a[0] + ") & 0x7fffffffffffffffull)";
}
std::string against_infinity(const Args& a, const char* op) {
    return "(" + bits_without_sign(a) + op + (a.t == DType::F32 ? "0x7f800000u)" : "0x7ff0000000000000ull)");
}
std::string is_inf(const Args& a) { return real_float(a.t) ? against_infinity(a, " == ") : ""; }
std::string is_finite(const Args& a) { return real_float(a.t) ? against_infinity(a, " < ") : ""; }
std::string sign_bit(const Args& a) {
    if (!real_float(a.t)) return {};
    return a.t == DType::F32 ? "(__float_as_int(" + a[0] + ") < 0)"
                             : "(__double_as_longlong(" + a[0] + ") < 0)";
}
std::string floor_divide(const Args& a) {
    if (a.boolean() || a.complex()) return {};
    a.uses.insert(a.integer() ? "integer_division" : "float_division");
    return call(a.integer() ? "floor_divide" : "float_floor_divide", {a[0], a[1]});
}
std::string remainder_of(const Args& a) {
    if (a.boolean() || a.complex()) return {};
    a.uses.insert(a.integer() ? "integer_division" : "float_division");
    return call(a.integer() ? "remainder_of" : "float_remainder", {a[0], a[1]});
}
std::string copy(const Args& a) { return a[0]; }

struct OpRow {
    Op op;
    std::string (*print)(const Args&);
};
constexpr OpRow kOps[] = {
    {Op::Copy, copy},
    {Op::Add, add},
    {Op::Subtract, subtract},
    {Op::Multiply, multiply},
    {Op::Divide, divide},
    {Op::FloorDivide, floor_divide},
    {Op::Remainder, remainder_of},
    {Op::Negative, negative},
    {Op::Absolute, absolute},
    {Op::Square, square},
    {Op::Reciprocal, reciprocal},
    {Op::Sqrt, square_root},
    {Op::Floor, rounding<kFloorF, kFloor>},
    {Op::Ceil, rounding<kCeilF, kCeil>},
    {Op::Trunc, rounding<kTruncF, kTrunc>},
    {Op::Rint, rounding<kRintF, kRint>},
    {Op::Maximum, maximum},
    {Op::Minimum, minimum},
    {Op::Fmax, fmax_of},
    {Op::Fmin, fmin_of},
    {Op::Copysign, copysign_of},
    {Op::Less, compare<kLess>},
    {Op::LessEqual, compare<kLessEqual>},
    {Op::Greater, compare<kGreater>},
    {Op::GreaterEqual, compare<kGreaterEqual>},
    {Op::Equal, compare<kEqual>},
    {Op::NotEqual, compare<kNotEqual>},
    {Op::LogicalAnd, logical_and},
    {Op::LogicalOr, logical_or},
    {Op::LogicalXor, logical_xor},
    {Op::LogicalNot, logical_not},
    {Op::BitwiseAnd, bit_and},
    {Op::BitwiseOr, bit_or},
    {Op::BitwiseXor, bit_xor},
    {Op::Invert, invert},
    {Op::LeftShift, left_shift},
    {Op::RightShift, right_shift},
    {Op::IsNan, is_nan},
    {Op::IsInf, is_inf},
    {Op::IsFinite, is_finite},
    {Op::SignBit, sign_bit},
};

// Functions of floats; %0, %1, ... stand for the operands. Python's own (py.*) are on f64.
struct FunctionRow {
    std::string_view name;
    std::string_view f32, f64;
    std::string_view needs = "";  // a piece of the prelude; where it ends in '_', the one for the dtype
};
constexpr FunctionRow kFunctions[] = {
    {"exp", "expf(%0)", "exp(%0)"},
    {"exp2", "exp2f(%0)", "exp2(%0)"},
    {"expm1", "expm1f(%0)", "expm1(%0)"},
    {"log", "logf(%0)", "log(%0)"},
    {"log2", "log2f(%0)", "log2(%0)"},
    {"log10", "log10f(%0)", "log10(%0)"},
    {"log1p", "log1pf(%0)", "log1p(%0)"},
    {"sin", "sinf(%0)", "sin(%0)"},
    {"cos", "cosf(%0)", "cos(%0)"},
    {"tan", "tanf(%0)", "tan(%0)"},
    {"arcsin", "asinf(%0)", "asin(%0)"},
    {"arccos", "acosf(%0)", "acos(%0)"},
    {"arctan", "atanf(%0)", "atan(%0)"},
    {"sinh", "sinhf(%0)", "sinh(%0)"},
    {"cosh", "coshf(%0)", "cosh(%0)"},
    {"tanh", "tanhf(%0)", "tanh(%0)"},
    {"arcsinh", "asinhf(%0)", "asinh(%0)"},
    {"arccosh", "acoshf(%0)", "acosh(%0)"},
    {"arctanh", "atanhf(%0)", "atanh(%0)"},
    {"cbrt", "cbrtf(%0)", "cbrt(%0)"},
    {"power", "powf(%0, %1)", "pow(%0, %1)"},
    {"float_power", "powf(%0, %1)", "pow(%0, %1)"},
    {"arctan2", "atan2f(%0, %1)", "atan2(%0, %1)"},
    {"hypot", "hypotf(%0, %1)", "hypot(%0, %1)"},
    {"fmod", "fmodf(%0, %1)", "fmod(%0, %1)"},
    {"nextafter", "nextafterf(%0, %1)", "nextafter(%0, %1)"},
    {"logaddexp", "log_sum(%0, %1)", "log_sum(%0, %1)", "logaddexp_"},
    {"fabs", "fabsf(%0)", "fabs(%0)"},
    {"sign", "sign_of(%0)", "sign_of(%0)", "sign"},
    {"heaviside", "(%0 != %0 ? %0 : %0 == 0 ? %1 : %0 < 0 ? 0.0f : 1.0f)",
     "(%0 != %0 ? %0 : %0 == 0 ? %1 : %0 < 0 ? 0.0 : 1.0)"},
    {"deg2rad", "__fmul_rn(%0, 0x1.1df46ap-6f)", "__dmul_rn(%0, 0x1.1df46a2529d39p-6)"},
    {"radians", "__fmul_rn(%0, 0x1.1df46ap-6f)", "__dmul_rn(%0, 0x1.1df46a2529d39p-6)"},
    {"rad2deg", "__fmul_rn(%0, 0x1.ca5dc2p+5f)", "__dmul_rn(%0, 0x1.ca5dc1a63c1f8p+5)"},
    {"degrees", "__fmul_rn(%0, 0x1.ca5dc2p+5f)", "__dmul_rn(%0, 0x1.ca5dc1a63c1f8p+5)"},
    {"ldexp", "ldexpf(%0, (i32)%1)", "ldexp(%0, (i32)%1)"},
    {"clip", "minimum(maximum(%0, %1), %2)", "minimum(maximum(%0, %1), %2)", "clip"},
    {"conjugate", "%0", "%0"},
    {"positive", "%0", "%0"},
    {"py.floor_divide", "", "float_floor_divide(%0, %1)", "float_division"},
    {"py.remainder", "", "float_remainder(%0, %1)", "float_division"},
    {"py.pow", "", "pow(%0, %1)"},
    {"py.fmod", "", "fmod(%0, %1)"},
    {"py.atan2", "", "atan2(%0, %1)"},
    {"py.exp", "", "exp(%0)"},
    {"py.expm1", "", "expm1(%0)"},
    {"py.sin", "", "sin(%0)"},
    {"py.cos", "", "cos(%0)"},
    {"py.tan", "", "tan(%0)"},
    {"py.asin", "", "asin(%0)"},
    {"py.acos", "", "acos(%0)"},
    {"py.atan", "", "atan(%0)"},
    {"py.sinh", "", "sinh(%0)"},
    {"py.cosh", "", "cosh(%0)"},
    {"py.tanh", "", "tanh(%0)"},
    {"py.asinh", "", "asinh(%0)"},
    {"py.acosh", "", "acosh(%0)"},
    {"py.atanh", "", "atanh(%0)"},
    {"py.log", "", "log(%0)"},
    {"py.log2", "", "log2(%0)"},
    {"py.log10", "", "log10(%0)"},
    {"py.cbrt", "", "cbrt(%0)"},
};
// The same of integers, whatever their width; complex numbers have theirs below.
constexpr FunctionRow kIntegerFunctions[] = {
    {"power", "integer_power(%0, %1)", "", "power"},
    {"fmod", "truncated_remainder(%0, %1)", "", "integer_division"},
    {"gcd", "gcd_of(%0, %1)", "", "gcd"},
    {"lcm", "lcm_of(%0, %1)", "", "gcd"},
    {"sign", "(%0 > 0) - (%0 < 0)", ""},
    {"clip", "minimum(maximum(%0, %1), %2)", "", "clip"},
    {"conjugate", "%0", ""},
    {"positive", "%0", ""},
    {"bitwise_count", "__popcll((u64)(%0 < 0 ? 0 - (u64)%0 : (u64)%0))", ""},
};
constexpr FunctionRow kComplexFunctions[] = {
    {"exp", "exp_c(%0)", "", "complex"},
    {"absolute", "absolute(%0)", "", "complex"},
    {"positive", "%0", ""},
};

template <size_t n>
const FunctionRow* row_of(const FunctionRow (&rows)[n], std::string_view name) {
    for (const FunctionRow& r : rows)
        if (r.name == name) return &r;
    return nullptr;
}

std::string fill(std::string_view pattern, const std::vector<std::string>& in) {
    std::string s;
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '%' && i + 1 < pattern.size()) {
            size_t k = static_cast<size_t>(pattern[++i] - '0');
            if (k >= in.size()) return {};
            s += in[k];
        } else {
            s += pattern[i];
        }
    }
    return s;
}

std::string function(std::string_view name, DType t, DType r, const std::vector<std::string>& in,
                     Uses& uses) {
    const FunctionRow* row = real_float(t)          ? row_of(kFunctions, name)
                             : graph::is_integer(t) ? row_of(kIntegerFunctions, name)
                             : graph::is_complex(t) ? row_of(kComplexFunctions, name)
                                                    : nullptr;
    if (!row) {  // an op of ops.def on operands that it does not generate on the CPU
        for (const OpRow& o : kOps)
            if (graph::info(o.op).host == name) return o.print({o.op, t, r, in, uses});
        if (name == "conjugate" && graph::is_complex(t))
            return type(r) + "{" + in[0] + ".re, -" + in[0] + ".im}";
        return {};
    }
    if (uses.fast && t == DType::F32 && name == "exp") return call("__expf", {in[0]});
    std::string text = fill(t == DType::F64 ? row->f64 : row->f32, in);
    if (!text.empty() && !row->needs.empty())
        uses.insert(std::string(row->needs) + (row->needs.ends_with('_') ? type(t) : ""));
    return graph::is_integer(t) && !text.empty() ? "(" + type(r) + ")(" + text + ")" : text;
}

std::string print_op(Op op, std::string_view name, DType t, DType r, const std::vector<std::string>& in,
                     Uses& uses) {
    if (op == Op::HostLoop) return function(name, t, r, in, uses);
    for (const OpRow& row : kOps)
        if (row.op == op) return row.print({op, t, r, in, uses});
    return {};
}

}  // namespace

std::string_view value_type(DType t) { return kTypes[static_cast<size_t>(t)]; }
std::string_view memory_type(DType t) { return t == DType::Bool ? "u8" : value_type(t); }

std::string convert(DType from, DType to, const std::string& x, Uses& uses) {
    if (from == to) return x;
    if (graph::is_complex(from) || graph::is_complex(to)) {
        uses.insert("complex");
        if (!graph::is_complex(from)) return type(to) + "{" + convert(from, part_of(to), x, uses) + ", 0}";
        if (to == DType::Bool) return "(" + x + ".re != 0 || " + x + ".im != 0)";
        if (!graph::is_complex(to)) return convert(part_of(from), to, x + ".re", uses);
        std::string part = type(part_of(to));
        return type(to) + "{(" + part + ")" + x + ".re, (" + part + ")" + x + ".im}";
    }
    if (half(from)) {
        uses.insert(value_type(from));
        return convert(DType::F32, to, "to_f32(" + x + ")", uses);
    }
    if (to == DType::F16) {
        uses.insert("f16");
        if (from == DType::F32 || from == DType::F64) return "to_f16(" + x + ")";
        return "to_f16((f32)" + x + ")";
    }
    if (to == DType::BF16) {
        uses.insert("bf16");
        return from == DType::F32 ? "to_bf16(" + x + ")" : "to_bf16((f32)" + x + ")";
    }
    if (to == DType::Bool) return "(" + x + " != 0)";
    return "(" + type(to) + ")" + x;
}

std::string constant(DType t, uint64_t low, uint64_t high, Uses& uses) {
    char text[80];
    auto float_text = [&](DType part, uint64_t bits) -> std::string {
        if (part == DType::F32) {
            float f;
            auto word = static_cast<uint32_t>(bits);
            memcpy(&f, &word, 4);
            bool finite = (word & 0x7f800000u) != 0x7f800000u;
            if (finite)
                snprintf(text, sizeof text, "%af", static_cast<double>(f));
            else
                snprintf(text, sizeof text, "__uint_as_float(0x%xu)", word);
            return text;
        }
        double d;
        memcpy(&d, &bits, 8);
        bool finite = (bits & 0x7ff0000000000000u) != 0x7ff0000000000000u;
        if (finite)
            snprintf(text, sizeof text, "%a", d);
        else
            snprintf(text, sizeof text, "__longlong_as_double((i64)0x%llxull)",
                     static_cast<unsigned long long>(bits));
        return text;
    };
    switch (t) {
        case DType::Bool: return low ? "true" : "false";
        case DType::F32:
        case DType::F64: return float_text(t, low);
        case DType::F16:
            uses.insert("f16");
            snprintf(text, sizeof text, "f16{0x%04x}", static_cast<unsigned>(low & 0xffff));
            return text;
        case DType::BF16:
            uses.insert("bf16");
            snprintf(text, sizeof text, "bf16{0x%04x}", static_cast<unsigned>(low & 0xffff));
            return text;
        case DType::C64:
            uses.insert("complex");
            return "c64{" + float_text(DType::F32, low & 0xffffffffu) + ", " +
                   float_text(DType::F32, low >> 32) + "}";
        case DType::C128:
            uses.insert("complex");
            return "c128{" + float_text(DType::F64, low) + ", " + float_text(DType::F64, high) + "}";
        default: break;
    }
    if (graph::is_unsigned(t)) {
        uint64_t mask =
            graph::info(t).size == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * graph::info(t).size) - 1;
        return "(" + type(t) + ")" + std::to_string(low & mask) + "ull";
    }
    auto value = static_cast<int64_t>(low);
    if (value == INT64_MIN) return "(i64)0x8000000000000000ull";
    return "(" + type(t) + ")" + std::to_string(value) + "ll";
}

namespace {

// A call of a function that computes what `text` says of operands a, b, ...; it is made where it is missing.
std::string call_of(const std::string& name, DType t, DType r, const std::vector<std::string>& in,
                    const std::function<std::string(const std::vector<std::string>&)>& text, Uses& uses) {
    std::vector<std::string> names;
    std::string parameters, arguments;
    for (size_t k = 0; k < in.size(); ++k) {
        names.push_back(std::string(1, static_cast<char>('a' + k)));
        parameters += (k ? ", " : "") + type(t) + " " + names[k];
        arguments += (k ? ", " : "") + in[k];
    }
    std::string f = "call_" + name + "_" + type(t);
    std::replace(f.begin(), f.end(), '.', '_');
    uses.functions[f] = "__device__ __noinline__ " + type(r) + " " + f + "(" + parameters + ") { return " +
                        text(names) + "; }\n";
    return f + "(" + arguments + ")";
}

}  // namespace

std::string compute(const LoopNest& nest, int i, const std::vector<std::string>& in, bool called,
                    Uses& uses) {
    const Stmt& s = nest.stmts[i];
    DType t = nest.stmts[s.in[0]].dtype;
    for (int operand : s.in) {
        DType u = nest.stmts[operand].dtype;
        if (half(u)) uses.insert(value_type(u));
        if (graph::is_complex(u)) uses.insert("complex");
    }
    if (s.op == Op::Cast) return convert(t, s.dtype, in[0], uses);
    if (s.op == Op::Where)
        return "(" + convert(t, DType::Bool, in[0], uses) + " ? " + in[1] + " : " + in[2] + ")";
    // As a call where that is wanted, and the op is one that is dear.
    auto print_or_call = [&](const auto& print, const std::vector<std::string>& operands) {
        const bool same =
            std::all_of(s.in.begin(), s.in.end(), [&](int k) { return nest.stmts[k].dtype == t; });
        if (!called || !same || code_weight(nest, i) < 2 || print(operands).empty()) return print(operands);
        const std::string_view name = s.op == Op::HostLoop ? s.name : graph::info(s.op).text;
        return call_of(std::string(name), half(t) ? DType::F32 : t, half(s.dtype) ? DType::F32 : s.dtype,
                       operands, print, uses);
    };
    if (s.op == Op::Copy || !half(t)) {
        auto print = [&](const std::vector<std::string>& operands) {
            return print_op(s.op, s.name, t, s.dtype, operands, uses);
        };
        return print_or_call(print, in);
    }
    // The sign is a bit of its own.
    if (s.op == Op::Negative) return type(t) + "{(u16)(" + in[0] + ".bits ^ 0x8000)}";
    if (s.op == Op::Absolute) return type(t) + "{(u16)(" + in[0] + ".bits & 0x7fff)}";
    // Half precision is computed in f32 and rounded after each op, as the hosts do it; not so where the
    // result depends on how fine the numbers are.
    if (s.name == "nextafter") return {};
    std::vector<std::string> wide;
    for (size_t k = 0; k < in.size(); ++k) {
        wide.push_back(half(nest.stmts[s.in[k]].dtype) ? "to_f32(" + in[k] + ")" : in[k]);
    }
    bool back = half(s.dtype);
    auto print = [&](const std::vector<std::string>& operands) {
        return print_op(s.op, s.name, DType::F32, back ? DType::F32 : s.dtype, operands, uses);
    };
    std::string text = print_or_call(print, wide);
    return text.empty() || !back ? text : convert(DType::F32, s.dtype, text, uses);
}

std::string contracted(const Stmt& s, const std::string& x, const std::string& y, bool product_first,
                       const std::string& other) {
    const bool minus = s.op == Op::Subtract;
    return call(s.dtype == DType::F32 ? "__fmaf_rn" : "__fma_rn",
                {(minus && !product_first ? "-" : "") + x, y, (minus && product_first ? "-" : "") + other});
}

int code_weight(const LoopNest& nest, int i) {
    const Stmt& s = nest.stmts[i];
    if (s.kind != StmtKind::Compute) return 0;
    bool divides = s.op == Op::Divide || s.op == Op::Sqrt || s.op == Op::Reciprocal ||
                   s.op == Op::FloorDivide || s.op == Op::Remainder;
    if (divides && graph::is_complex(s.dtype)) return s.dtype == DType::C64 ? 4 : 6;
    // Both are made of fmod, which is a loop.
    if ((s.op == Op::FloorDivide || s.op == Op::Remainder) && graph::is_float(s.dtype))
        return s.dtype == DType::F64 ? 8 : 6;
    if (divides) return graph::info(s.dtype).size == 8 ? 2 : 1;
    if (s.op != Op::HostLoop) return 0;
    constexpr std::string_view kStraight[] = {"exp",       "exp2",     "expm1",     "log",     "log2",
                                              "log10",     "log1p",    "tanh",      "fabs",    "sign",
                                              "clip",      "deg2rad",  "rad2deg",   "radians", "degrees",
                                              "conjugate", "positive", "heaviside", "hypot",   "cbrt"};
    bool straight = false;
    for (std::string_view name : kStraight) straight |= s.name == name;
    bool narrow = s.dtype != DType::F64 && s.dtype != DType::C128;
    return straight ? (narrow ? 1 : 2) : narrow ? 4 : 6;
}

namespace {

std::string arithmetic_of(DType t) {
    return real_float(t) ? type(t) : graph::is_complex(t) ? "complex" : "integer";
}

// The piece of the prelude by which lanes exchange values of a type.
std::string lane_piece(DType t) {
    switch (t) {
        case DType::I32:
        case DType::I64:
        case DType::U64:
        case DType::F32:
        case DType::F64:
        case DType::C64:
        case DType::C128: return "lane_" + type(t);
        default: return "lane_small";
    }
}

}  // namespace

bool reduction(const LoopNest& nest, int i, bool lanes, Reduction* out, Uses& uses) {
    const Stmt& s = nest.stmts[i];
    DType t = s.kind == StmtKind::ArgReduce ? nest.stmts[s.in[0]].dtype : s.dtype;
    out->accumulator = half(t) ? DType::F32 : t;
    t = out->accumulator;
    std::string_view name = s.name;
    auto lowest = [&](bool most) -> std::string {  // the least value, or the greatest
        if (t == DType::Bool) return most ? "true" : "false";
        if (t == DType::F32) return constant(t, most ? 0x7f800000u : 0xff800000u, 0, uses);
        if (t == DType::F64) return constant(t, most ? 0x7ff0000000000000u : 0xfff0000000000000u, 0, uses);
        int bits = 8 * graph::info(t).size;
        if (graph::is_unsigned(t)) return constant(t, most ? ~uint64_t{0} : 0, 0, uses);
        int64_t least = INT64_MIN >> (64 - bits);
        return constant(t, static_cast<uint64_t>(most ? ~least : least), 0, uses);
    };
    uint64_t one = t == DType::F32 || t == DType::C64    ? 0x3f800000u
                   : t == DType::F64 || t == DType::C128 ? 0x3ff0000000000000u
                                                         : 1;
    out->position = s.kind == StmtKind::ArgReduce;
    const std::string lane = lane_piece(t);
    if (out->position) {
        if (graph::is_complex(t)) return false;
        out->combine = name == "argmax" ? "first_max" : "first_min";
        out->start = "{" + constant(t, 0, 0, uses) + ", -1}";
        for (const std::string& piece : {lane, std::string("lane_position"), out->combine})
            uses.insert(piece);
        return true;
    }
    if (lanes) uses.insert(lane);
    if (name == "add") {
        // -0.0 is the neutral one of floats
        uint64_t zero = t == DType::F32 ? 0x80000000u : t == DType::F64 ? uint64_t{1} << 63 : 0;
        out->start = constant(t, zero, 0, uses), out->combine = "sum";
        uses.insert("sum_" + arithmetic_of(t));
    } else if (name == "multiply") {
        out->start = constant(t, one, 0, uses), out->combine = "product";
        uses.insert("product_" + arithmetic_of(t));
    } else if (name == "logical_and") {
        out->start = "true", out->combine = "both";
    } else if (name == "logical_or") {
        out->start = "false", out->combine = "either";
    } else if ((name == "maximum" || name == "minimum") && !graph::is_complex(t)) {
        out->start = lowest(name == "minimum"), out->combine = std::string(name);
    } else {
        return false;
    }
    if (out->combine != "sum" && out->combine != "product") uses.insert(out->combine);
    return true;
}

}  // namespace stator::kernels::cuda
