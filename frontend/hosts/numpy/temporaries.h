// Results that NumPy computes into an operand.
#pragma once

#include <cstdint>

#include "frontend/cpython/stepper.h"
#include "frontend/pyref.h"
#include "graph/dtype.h"

namespace stator::frontend::numpy {

// NumPy computes the result of an operator into an operand that is a temporary, to which nothing but the
// stack refers, if it has the result's shape and dtype and so many bytes (NPY_MIN_ELIDE_BYTES of its
// temp_elide.c). The result then has the operand's strides, not those of a new array: `y * 2 + x` of a y in
// Fortran order and an x in C order is in Fortran order above this size, and in C order below. And where the
// operand is the right one of `a * b`, what is computed is `b * a`, which are other bits where the loop for
// complex products is fused (complex_forms.h).
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
    // To be made before the instruction is executed, whose operands it exchanges on the stack where NumPy
    // would and it shows.
    TemporaryReuse(Frame& f, const Insn& insn, Held held);
    // Of `a + b` within a call of the evaluator's, of which a is a temporary and b none.
    TemporaryReuse(PyObject* a, PyObject* b);
    // Behind it, with the result on top of the stack: replaces that where NumPy would have used the operand,
    // which has other strides. It stays as it is when there is no memory.
    void settle(Frame& f);
    // The same for a result that is not on the stack.
    PyRef settled(PyRef result);
    // After that: which operand's strides the result has from kReusedBytes on, and others below; -1: it has
    // the same strides at any size.
    int operand() const { return other_strides_ || exchanges_ ? operand_ : -1; }
    int operands() const { return operands_; }  // how many there are, on top of the stack
    // Whether from kReusedBytes on the result is that of the operands exchanged, and has other bits.
    bool exchanges() const { return exchanges_; }
    // Whether it would be if the right operand were the only temporary.
    bool may_exchange() const { return may_exchange_; }
    bool is_possible() const { return possible_; }  // with other operands, that is
    int64_t itemsize() const { return itemsize_; }

  private:
    void take_strides(PyObject* array);

    static constexpr int kMaxRank = 64;  // NumPy's own limit
    int operand_ = -1, operands_ = 0;
    int rank_ = 0;
    bool possible_ = false, other_strides_ = false, exchanges_ = false, may_exchange_ = false;
    int64_t itemsize_ = 0;
    int64_t strides_[kMaxRank];
};

// Whether the product of two arrays of the dtype, of which the right one is such a temporary, has the bits of
// the product the other way round, and these are others.
bool exchanges_operands(graph::DType t);

// Whether the strides of the result are others where the operand is a temporary.
bool would_show(PyObject* operand, PyObject* result);

}  // namespace stator::frontend::numpy
