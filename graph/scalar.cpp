// Scalar constants as bits, numbers and text.
//
// Invariant: parse_scalar(scalar_text(bits)) gives the same bits for every dtype and every bit pattern.
#include "graph/scalar.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace stator::graph {

float half_to_float(uint16_t h) {
    uint32_t sign = uint32_t{h & 0x8000u} << 16, exponent = (h >> 10) & 31, fraction = h & 0x3ff;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) {
        float magnitude = std::ldexp(static_cast<float>(fraction), -24);
        return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
    }
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t to_half(double d, bool* exact) {
    uint64_t bits = std::bit_cast<uint64_t>(d), magnitude = bits & 0x7fffffffffffffffu;
    auto sign = static_cast<uint16_t>(bits >> 48 & 0x8000u);
    uint16_t h;
    if (magnitude > 0x7ff0000000000000u) {
        uint64_t fraction = magnitude >> 42 & 0x3ff;
        h = static_cast<uint16_t>(0x7c00u | (fraction ? fraction : 1));
    } else if (std::fabs(d) >= 65520.0) {  // rounds to infinity
        h = 0x7c00u;
    } else if (std::fabs(d) < 0x1p-14) {  // a multiple of 2^-24
        h = static_cast<uint16_t>(std::nearbyint(std::ldexp(std::fabs(d), 24)));
    } else {
        uint64_t rounded = magnitude + ((uint64_t{1} << 41) - 1) + (magnitude >> 42 & 1);
        h = static_cast<uint16_t>((rounded >> 42) - (1008u << 10));
    }
    h |= sign;
    if (exact) *exact = std::isnan(d) || half_to_float(h) == d;
    return h;
}

namespace {

DType part_of(DType t) { return t == DType::C64 ? DType::F32 : t == DType::C128 ? DType::F64 : t; }

uint64_t low_bytes(uint64_t v, int bytes) { return bytes == 8 ? v : v & ((uint64_t{1} << (8 * bytes)) - 1); }

template <class T>
std::string shortest(T v) {
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    std::string s = fmt::format("{}", v);
    if (s.find_first_of(".e") == std::string::npos) s += ".0";
    return s;
}

constexpr uint64_t quiet_nan(DType t) {
    return t == DType::F16 ? 0x7e00 : t == DType::F32 ? 0x7fc00000 : 0x7ff8000000000000;
}

std::string float_text(DType t, uint64_t bits) {
    bool is_nan = t == DType::F16   ? (bits & 0x7fff) > 0x7c00
                  : t == DType::F32 ? (bits & 0x7fffffff) > 0x7f800000
                                    : (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
    if (is_nan) return bits == quiet_nan(t) ? "nan" : fmt::format("bits({:#x})", bits);
    if (t == DType::F16) return shortest(half_to_float(static_cast<uint16_t>(bits)));
    if (t == DType::F32) return shortest(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    return shortest(std::bit_cast<double>(bits));
}

std::string_view trim(std::string_view s) {
    while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
    while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
    return s;
}

template <class T>
bool read_all(std::string_view s, T& v, int base = 10) {
    auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v, base);
    return error == std::errc() && end == s.data() + s.size();
}

template <class T>
bool read_float(std::string_view s, T& v) {
    // from_chars reports subnormals as out of range in some libraries; strtod does not.
    std::string z(s);
    char* end = nullptr;
    v = sizeof(T) == 4 ? static_cast<T>(std::strtof(z.c_str(), &end))
                       : static_cast<T>(std::strtod(z.c_str(), &end));
    return !z.empty() && *end == 0;
}

bool parse_float(DType t, std::string_view s, uint64_t& bits) {
    if (s == "nan") {
        bits = quiet_nan(t);
        return true;
    }
    if (s.starts_with("bits(0x") && s.ends_with(")")) return read_all(s.substr(7, s.size() - 8), bits, 16);
    if (t == DType::F64) {
        double v;
        bool ok = read_float(s, v);
        bits = std::bit_cast<uint64_t>(v);
        return ok;
    }
    float v;
    bool ok = read_float(s, v);
    bits = t == DType::F16 ? to_half(v) : std::bit_cast<uint32_t>(v);
    return ok;
}

}  // namespace

std::vector<int64_t> normalize_bits(DType t, std::vector<int64_t> ints) {
    int bytes = t == DType::C128 ? 8 : info(t).size;
    for (int64_t& v : ints) {
        uint64_t u = low_bytes(static_cast<uint64_t>(v), bytes);
        if (is_signed(t) && bytes < 8 && (u >> (8 * bytes - 1) & 1)) u |= ~uint64_t{0} << (8 * bytes);
        v = static_cast<int64_t>(u);
    }
    return ints;
}

std::string scalar_text(DType t, const std::vector<int64_t>& raw) {
    std::vector<int64_t> ints = normalize_bits(t, raw);
    auto bits = static_cast<uint64_t>(ints[0]);
    if (t == DType::Bool) return bits == 0 ? "False" : bits == 1 ? "True" : fmt::format("bits({:#x})", bits);
    if (is_signed(t)) return std::to_string(ints[0]);
    if (is_unsigned(t) || t == DType::BF16) return std::to_string(bits);
    if (is_float(t)) return float_text(t, bits);
    uint64_t re = t == DType::C64 ? bits & 0xffffffff : bits;
    uint64_t im = t == DType::C64 ? bits >> 32 : static_cast<uint64_t>(ints[1]);
    return fmt::format("({}, {})", float_text(part_of(t), re), float_text(part_of(t), im));
}

bool parse_scalar(DType t, std::string_view text, std::vector<int64_t>& ints) {
    text = trim(text);
    uint64_t bits = 0;
    bool ok;
    if (t == DType::Bool) {
        ok = text == "True" || text == "False" || (text.starts_with("bits(") && parse_float(t, text, bits));
        if (text == "True") bits = 1;
        ok = ok && bits < 256;
    } else if (is_signed(t)) {
        int64_t v = 0;
        ok = read_all(text, v);
        ok = ok && normalize_bits(t, {v})[0] == v;
        bits = static_cast<uint64_t>(v);
    } else if (is_unsigned(t) || t == DType::BF16) {
        ok = read_all(text, bits);
        ok = ok && low_bytes(bits, info(t).size) == bits;
    } else if (is_float(t)) {
        ok = parse_float(t, text, bits);
    } else {
        size_t comma = text.find(',');
        if (!text.starts_with('(') || !text.ends_with(')') || comma == std::string_view::npos) return false;
        uint64_t im = 0;
        ok = parse_float(part_of(t), trim(text.substr(1, comma - 1)), bits) &&
             parse_float(part_of(t), trim(text.substr(comma + 1, text.size() - comma - 2)), im);
        if (t == DType::C64) {
            bits |= im << 32;
        } else {
            ints = {static_cast<int64_t>(bits), static_cast<int64_t>(im)};
            return ok;
        }
    }
    ints = {static_cast<int64_t>(bits)};
    return ok;
}

Node make_const(DType t, double value) {
    Node n;
    n.op = Op::Const;
    n.dtype = t;
    auto f32 = static_cast<float>(value);
    switch (t) {
        case DType::F16: n.ints = {to_half(value)}; break;
        case DType::F32:
        case DType::C64: n.ints = {std::bit_cast<uint32_t>(f32)}; break;
        case DType::F64: n.ints = {std::bit_cast<int64_t>(value)}; break;
        case DType::C128: n.ints = {std::bit_cast<int64_t>(value), 0}; break;
        default: return make_const_int(t, static_cast<int64_t>(value));
    }
    return n;
}

Node make_const_int(DType t, int64_t value) {
    if (is_float(t) || is_complex(t)) return make_const(t, static_cast<double>(value));
    Node n;
    n.op = Op::Const;
    n.dtype = t;
    n.ints = t == DType::Bool ? std::vector<int64_t>{value != 0} : normalize_bits(t, {value});
    return n;
}

}  // namespace stator::graph
