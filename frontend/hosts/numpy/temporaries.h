// Results that NumPy computes into an operand.
#pragma once

#include <cstdint>

#include "frontend/cpython/stepper.h"

namespace stator::frontend::numpy {

// NumPy computes the result of an operator into an operand that is a temporary, to which nothing but the
// stack refers, if it has the result's shape and dtype and so many bytes (NPY_MIN_ELIDE_BYTES of its
// temp_elide.c). The result then has the operand's strides, not those of a new array: `y * 2 + x` of a y in
// Fortran order and an x in C order is in Fortran order above this size, and in C order below.
constexpr int64_t kReusedBytes = 256 * 1024;

// NumPy does so for the evaluator only, and sees on the machine's stack that somebody else has called. Around
// an instruction that is stepped, this object sees to it that its result has the layout that eager's has.
class TemporaryReuse {
  public:
    // References to the operand on top of the stack and to the one below it that the caller has, beside the
    // stack's.
    struct Held {
        int top = 0, below = 0;
    };
    // To be made before the instruction is executed.
    TemporaryReuse(const Frame& f, const Insn& insn, Held held);
    // Behind it, with the result on top of the stack: replaces that where NumPy would have used the operand,
    // which has other strides. It stays as it is when there is no memory.
    void settle(Frame& f);
    // After that: which operand's strides the result has from kReusedBytes on, and others below; -1: it has
    // the same strides at any size.
    int operand() const { return other_strides_ ? operand_ : -1; }
    bool is_possible() const { return possible_; }  // with other operands, that is
    int64_t itemsize() const { return itemsize_; }

  private:
    static constexpr int kMaxRank = 8;
    int operand_ = -1;
    int rank_ = 0;
    bool possible_ = false, other_strides_ = false;
    int64_t itemsize_ = 0;
    int64_t strides_[kMaxRank];
};

// Whether the strides of the result are others where the operand is a temporary.
bool would_show(PyObject* operand, PyObject* result);

}  // namespace stator::frontend::numpy
