// IEEE half precision in integer code, rounding to nearest even, with the flags NumPy raises.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/abi.h"

namespace stator::kernels::tier0 {

inline float half_to_float(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
    const uint32_t exponent = h >> 10 & 0x1f;
    uint32_t fraction = h & 0x3ff;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    if (fraction == 0) return std::bit_cast<float>(sign);
    int shift = 0;
    while (!(fraction & 0x400)) fraction <<= 1, ++shift;
    return std::bit_cast<float>(sign | static_cast<uint32_t>(113 - shift) << 23 | (fraction & 0x3ff) << 13);
}

// `bits` is a binary floating-point number with `fraction_bits` bits of fraction and the given exponent bias.
template <class Bits, int kFraction, int kBias>
uint16_t round_to_half(Bits bits, uint32_t& faults) {
    constexpr int kWidth = sizeof(Bits) * 8;
    constexpr Bits kMaxExponent = (Bits{1} << (kWidth - 1 - kFraction)) - 1;
    const auto sign = static_cast<uint16_t>(bits >> (kWidth - 16) & 0x8000);
    const Bits biased = bits >> kFraction & kMaxExponent;
    Bits fraction = bits & ((Bits{1} << kFraction) - 1);
    if (biased == kMaxExponent) {
        if (!fraction) return sign | 0x7c00;
        const auto payload = static_cast<uint16_t>(fraction >> (kFraction - 10));
        return static_cast<uint16_t>(sign | 0x7c00 | (payload ? payload : 1));
    }
    const int exponent = static_cast<int>(biased) - kBias;
    if (exponent > 15) return faults |= kFaultOverflow, sign | 0x7c00;
    if (biased == 0 && fraction == 0) return sign;
    // `fraction` with its leading 1, to be shifted right until a half's ten bits (fewer when subnormal)
    // remain.
    if (biased != 0) fraction |= Bits{1} << kFraction;
    int shift = kFraction - 10;
    uint16_t result = 0;
    if (exponent >= -14) {
        result = static_cast<uint16_t>((exponent + 14) << 10);  // the leading 1 adds the exponent's last unit
    } else {
        shift += -14 - exponent;
        if (shift >= kWidth) shift = kWidth - 1;
        if (fraction & ((Bits{1} << shift) - 1)) faults |= kFaultUnderflow;  // tiny and inexact
    }
    const Bits half_unit = Bits{1} << (shift - 1), rest = fraction & ((Bits{1} << shift) - 1);
    result = static_cast<uint16_t>(result + (fraction >> shift));
    if (rest > half_unit || (rest == half_unit && (result & 1))) ++result;
    if (result == 0x7c00) faults |= kFaultOverflow;
    return sign | result;
}

inline uint16_t float_to_half(float x, uint32_t& faults) {
    return round_to_half<uint32_t, 23, 127>(std::bit_cast<uint32_t>(x), faults);
}
inline uint16_t double_to_half(double x, uint32_t& faults) {
    return round_to_half<uint64_t, 52, 1023>(std::bit_cast<uint64_t>(x), faults);
}

}  // namespace stator::kernels::tier0
