// How the operands of a ufunc lie in memory, and so how its result does and how the loop goes over them: what
// NumPy's iterator would find, for operands with few elements and axes.
#pragma once

#include <cstdint>
#include <limits>

#include "frontend/host_calls/ufunc_loops.h"
#include "frontend/pyref.h"

namespace stator::frontend {

// From there on NumPy's loop takes longer than what surrounds it.
inline constexpr int64_t kMostAtOnce = 2048;
inline constexpr int kMostOperandAxes = 4;

// False also for arrays of which NumPy warns when they are written to (np.broadcast_arrays).
inline bool may_be_written(PyArrayObject* a) {
    constexpr int kWarnsOnWrite = std::numeric_limits<int>::min();  // NPY_ARRAY_WARN_ON_WRITE, NumPy's own
    return (PyArray_FLAGS(a) & (NPY_ARRAY_WRITEABLE | kWarnsOnWrite)) == NPY_ARRAY_WRITEABLE;
}

struct UfuncOperand {
    OperandKind kind = OperandKind::None;
    int rank = 0;  // 0: a number
    int64_t size = 1;
    int64_t itemsize = 0;
    bool c_contiguous = false, f_contiguous = false;
    const npy_intp* shape = nullptr;
    npy_intp strides[kMostOperandAxes] = {};  // bytes
    char* data = nullptr;

    UfuncOperand() = default;
    UfuncOperand(const UfuncOperand&) = delete;
    // False for what only NumPy takes: subclasses, other dtypes and byte orders, many axes or elements.
    bool read(PyObject* o);
    // Python's number in the loop's dtype. False where that is not as exact as the number.
    bool set_number(graph::DType to);
    // It was copied, in the order that it had.
    void make_dense(int64_t size_of_one);

  private:
    bool read_array(PyArrayObject* a);
    bool read_number(PyObject* o);

    PyObject* number_ = nullptr;
    alignas(16) char bits_[16];
};

struct Layout {
    int rank = 0;  // of the result; 0: a number
    npy_intp shape[kMostOperandAxes] = {};
    int64_t size = 1;
    npy_intp count = 1;                // elements in one call of the loop
    npy_intp steps[kMostInputs] = {};  // from one of them to the next, bytes

    // False where NumPy has to be asked: extents that do not fit, orders of axes that only its iterator can
    // bring together. `any_layout`: the loop may be called several times.
    bool find(const UfuncOperand* operands, int count_of_operands, bool any_layout);
    // Steps and rounds, once the operands lie as the loop takes them.
    void walk(const UfuncOperand* operands, int count_of_operands);
    // f(places of the operands and of the result) for each call of the loop.
    template <class F>
    void each_round(char* const* places, int inputs, npy_intp result_step, F f) const;

    // NumPy's iterator, which converts, gives axes of extent 1 other strides than its short way.
    bool is_fortran_with_short_axes() const;
    // Where the result lies as NumPy lays it out; null without an error where NumPy has to make it.
    PyRef new_array(graph::DType t, int64_t itemsize) const;
    // Whether the result may be computed elsewhere and copied there.
    bool fits_into(PyObject* out, graph::DType t, bool any_layout) const;
    void copy_into(PyObject* out, const char* elements) const;

  private:
    bool add_extents(const UfuncOperand& o);

    bool flat_ = true;      // one call of the loop over all elements
    bool fortran_ = false;  // the result is in Fortran's order
    int outer_ = 0;         // axes that calls of the loop go over
    npy_intp outer_steps_[kMostInputs][kMostOperandAxes] = {};
};

template <class F>
void Layout::each_round(char* const* places, int inputs, npy_intp result_step, F f) const {
    char* at[kMostInputs + 1];
    for (int i = 0; i <= inputs; ++i) at[i] = places[i];
    npy_intp index[kMostOperandAxes] = {};
    while (true) {
        f(at);
        int axis = outer_ - 1;
        for (; axis >= 0; --axis) {
            for (int i = 0; i < inputs; ++i) at[i] += outer_steps_[i][axis];
            if (++index[axis] < shape[axis]) break;
            for (int i = 0; i < inputs; ++i) at[i] -= outer_steps_[i][axis] * shape[axis];
            index[axis] = 0;
        }
        if (axis < 0) return;
        at[inputs] += count * result_step;
    }
}

}  // namespace stator::frontend
