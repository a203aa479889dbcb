// Floating-point status around calls of host loops, as Fault bits.
//
// Both status registers count: loops compute with SSE and AVX (MXCSR), but the C library's feraiseexcept,
// with which NumPy's integer loops report a division by zero, sets some flags in the x87 status word. Host
// loops may also clear flags, so what a node raises is read directly after its own call.
#pragma once

#include <xmmintrin.h>

#include <cstdint>

#include "kernels/abi.h"

namespace stator::kernels::tier0 {

inline constexpr unsigned kInvalidFlag = 0x01, kDivideFlag = 0x04, kOverflowFlag = 0x08,
                          kUnderflowFlag = 0x10;
inline constexpr unsigned kStickyFlags = 0x3f;

inline unsigned x87_flags() {
    uint16_t word;
    asm volatile("fnstsw %0" : "=a"(word));
    return word & kStickyFlags;
}

inline void clear_flags() {
    if (const unsigned csr = _mm_getcsr(); csr & kStickyFlags) _mm_setcsr(csr & ~kStickyFlags);
    if (x87_flags()) asm volatile("fnclex");
}

// Bits of either status register.
inline uint32_t faults_of(unsigned flags) {
    struct Row {
        unsigned flag;
        uint32_t fault;
    };
    constexpr Row kRows[] = {{kDivideFlag, kFaultDivide},
                             {kOverflowFlag, kFaultOverflow},
                             {kUnderflowFlag, kFaultUnderflow},
                             {kInvalidFlag, kFaultInvalid}};
    uint32_t faults = 0;
    for (const Row& r : kRows)
        if (flags & r.flag) faults |= r.fault;
    return faults;
}

inline uint32_t read_faults() { return faults_of(_mm_getcsr() | x87_flags()); }

// Leaves the caller's MXCSR, sticky flags included, as it was.
class KeepFlags {
  public:
    KeepFlags() : csr_(_mm_getcsr()) { clear_flags(); }
    KeepFlags(const KeepFlags&) = delete;
    ~KeepFlags() {
        _mm_setcsr(csr_);
        if (x87_flags()) asm volatile("fnclex");
    }

  private:
    unsigned csr_;
};

}  // namespace stator::kernels::tier0
