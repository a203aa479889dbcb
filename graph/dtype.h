// Element types of array and scalar values, with NumPy's names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stator::graph {

// bfloat16 is torch's: no ufunc has it. It is moved, and converted to be computed with in single precision.
//
// Columns: enumerator, text in printed graphs, bytes per element, kind character as in numpy.dtype.kind,
// NumPy's type number on LP64 platforms or -1 (long is 64 bits; longlong is mapped to I64 by the host
// adapter).
#define STATOR_DTYPES(X)         \
    X(Bool, "b1", 1, 'b', 0)     \
    X(I8, "i8", 1, 'i', 1)       \
    X(U8, "u8", 1, 'u', 2)       \
    X(I16, "i16", 2, 'i', 3)     \
    X(U16, "u16", 2, 'u', 4)     \
    X(I32, "i32", 4, 'i', 5)     \
    X(U32, "u32", 4, 'u', 6)     \
    X(I64, "i64", 8, 'i', 7)     \
    X(U64, "u64", 8, 'u', 8)     \
    X(F16, "f16", 2, 'f', 23)    \
    X(F32, "f32", 4, 'f', 11)    \
    X(F64, "f64", 8, 'f', 12)    \
    X(C64, "c64", 8, 'c', 14)    \
    X(C128, "c128", 16, 'c', 15) \
    X(BF16, "bf16", 2, 'x', -1)

enum class DType : uint8_t {
#define X(id, text, size, kind, num) id,
    STATOR_DTYPES(X)
#undef X
};

struct DTypeInfo {
    std::string_view text;
    int size;  // bytes
    char kind;
    int numpy_type;
};

inline constexpr DTypeInfo kDTypes[] = {
#define X(id, text, size, kind, num) {text, size, kind, num},
    STATOR_DTYPES(X)
#undef X
};
inline constexpr int kDTypeCount = sizeof(kDTypes) / sizeof(kDTypes[0]);

namespace detail {

inline constexpr int kNumPyTypes = 24;  // above all numbers of the table

struct ByNumPyType {
    int8_t dtype[kNumPyTypes];
    constexpr ByNumPyType() : dtype{} {
        for (int8_t& t : dtype) t = -1;
        for (int i = 0; i < kDTypeCount; ++i)
            if (kDTypes[i].numpy_type >= 0) dtype[kDTypes[i].numpy_type] = static_cast<int8_t>(i);
    }
};
inline constexpr ByNumPyType kByNumPyType;

}  // namespace detail

// The dtype of NumPy's type number. Nothing for others: NumPy numbers all dtypes that extensions define -1.
constexpr std::optional<DType> dtype_numbered(int numpy_type) {
    if (numpy_type < 0 || numpy_type >= detail::kNumPyTypes) return std::nullopt;
    const int8_t found = detail::kByNumPyType.dtype[numpy_type];
    return found < 0 ? std::nullopt : std::optional(static_cast<DType>(found));
}

constexpr const DTypeInfo& info(DType t) { return kDTypes[static_cast<int>(t)]; }
constexpr bool is_float(DType t) { return info(t).kind == 'f'; }
constexpr bool is_complex(DType t) { return info(t).kind == 'c'; }
constexpr bool is_signed(DType t) { return info(t).kind == 'i'; }
constexpr bool is_unsigned(DType t) { return info(t).kind == 'u'; }
constexpr bool is_integer(DType t) { return is_signed(t) || is_unsigned(t); }

}  // namespace stator::graph
