// What NumPy's functions are made of: the interface against which each of them is written once.
//
// A function of the table (table.h) is a few steps: this ufunc, that reduction, a view. Traces
// (trace_steps.cpp) and loops (frontend/regions/build/numpy/region_steps.cpp) implement the steps, so that a
// function that is added to the table works in both, and wherever their values go: into `out=`, onto a GPU.
//
// What a function must keep to:
//
// * It does NumPy's own steps in NumPy's order, so that each rounding is NumPy's.
// * It decides by what is the same in every run of a trace or loop: ranks, dtypes, arguments that `fixed_int`
//   and its like have fixed. What hangs on extents it asks for with `require`.
// * A step that cannot be done returns nothing (a Ref that is false), and has said why. The function then
//   returns nothing itself; Python does the whole call.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dtype.h"
#include "guards/check/check.h"

namespace stator::frontend::numpy {

class Steps {
  public:
    // An argument of the call, or what a step has made: an array, a number, a tuple. An argument that was
    // left out is false, and so is one that is None where that means the same (table.h).
    struct Ref {
        int at = -1;
        explicit operator bool() const { return at >= 0; }
    };
    using Refs = std::span<const Ref>;
    using Axes = std::vector<int>;  // of an array, ascending

    // One axis of a view, in the order of the view's axes; dropped ones may stand anywhere.
    struct Axis {
        enum Kind : uint8_t {
            Whole,     // axis `of`
            Reversed,  // the same, from its end
            Part,      // `count` elements from `start` on
            Drop,      // the view lies at `start` of it
            New,       // of extent 1
        } kind = Whole;
        int of = -1;
        Ref start{}, count{};
    };

    virtual ~Steps() = default;

    // --- what is known, and stays so: asking may make a guard ---
    virtual bool is_none(Ref v) = 0;
    virtual bool is_array(Ref v) = 0;                  // exactly an ndarray whose elements kernels can read
    virtual graph::DType dtype(Ref v) = 0;             // of an array or a number
    virtual int rank(Ref v) = 0;                       // of an array
    virtual bool is_number(Ref v) = 0;                 // of Python's or NumPy's
    virtual bool is_int(Ref v) = 0;                    // a Python int
    virtual bool fixed_int(Ref v, int64_t* out) = 0;   // false: it is none, or no int
    virtual bool fixed_float(Ref v, double* out) = 0;  // of a float or an int
    virtual bool fixed_bool(Ref v, bool* out) = 0;
    virtual bool fixed_dtype(Ref v, graph::DType* out) = 0;  // what a dtype argument says; else declined
    // The name of a ufunc of NumPy's, "" of other objects.
    virtual std::string_view name_of_ufunc(Ref v) = 0;
    // A NumPy number of a dtype that kernels compute with, and a float.
    virtual bool is_numpy_float(Ref v) = 0;
    // Whether a fresh array like it lies in the order of C, in all runs.
    virtual bool in_order_of_c(Ref array) = 0;
    // Whether a result that lies as this array does lies in the order of C, or the step asks NumPy's.
    virtual bool is_straight(Ref array) = 0;
    // Whether its axes of extent 1, whose strides need not be looked at, are where they seem to be.
    virtual bool knows_unit_axes(Ref array) = 0;
    // Whether it is known how a fresh array like it lies (order="K"), in all runs.
    virtual bool like_is_known(Ref array) = 0;
    // Whether results may be made in the order that this argument says; not given: the function's own.
    virtual bool takes_order(Ref order) = 0;
    // The dtype of the call's result, which follows from those of these arrays.
    virtual bool result_dtype(Refs arrays, graph::DType* out) = 0;
    // The extents that an argument says: an int, or a tuple or list of them.
    virtual bool shape_of(Ref shape, std::vector<Ref>* out) = 0;
    virtual bool is_text(Ref v, std::string_view text) = 0;
    virtual bool is_list(Ref v) = 0;
    virtual bool items(Ref v, std::vector<Ref>* out) = 0;  // of a tuple or a list

    // --- integers ---
    virtual Ref integer(int64_t v) = 0;
    virtual Ref extent(Ref array, int axis) = 0;
    virtual Ref sum(Ref a, Ref b) = 0;
    virtual Ref difference(Ref a, Ref b) = 0;
    virtual Ref product(Ref a, Ref b) = 0;
    virtual Ref modulo(Ref a, Ref n) = 0;        // as Python's, for n above 0
    virtual Ref quotient(Ref a, int64_t n) = 0;  // a // n, for n above 1
    // Whether that is known to hold, in all runs; traces find out, and guard what they found.
    virtual bool is_so(guards::Relation r, Ref a, Ref b) = 0;
    // Whether that holds: where it does not, the trace or the loop is left before the call.
    virtual bool require(guards::Relation r, Ref a, Ref b) = 0;
    // Whether the axis has so many elements or more, in all runs.
    virtual bool has_at_least(Ref array, int axis, int64_t n) = 0;

    // --- values ---
    // An integer as a NumPy number of this dtype.
    virtual Ref number(Ref integer, graph::DType t) = 0;
    virtual Ref real(double v) = 0;  // as a NumPy number
    virtual Ref ufunc(std::string_view name, std::initializer_list<Ref> in) = 0;
    // The call is this ufunc's: its loop sees the operands as they lie, and `out` is its own.
    virtual Ref whole_ufunc(std::string_view name, Refs in, Ref out) = 0;
    virtual Ref cast(Ref v, graph::DType t) = 0;
    // ufunc.reduce of `v`, converted to `t`, along `axes`, which are dropped. `v` has the extents of the
    // argument `like` and lies in memory as that does.
    virtual Ref reduce(std::string_view ufunc, Ref v, const Axes& axes, Ref like, graph::DType t) = 0;
    // ufunc.accumulate of a vector.
    virtual Ref accumulate(std::string_view ufunc, Ref vector) = 0;
    // The index of the greatest or least element of an argument: in the order of C, or along an axis.
    virtual Ref position(bool greatest, Ref array, std::optional<int> axis) = 0;
    // Where a number of the dtype of a sorted vector belongs in it: before elements that equal it, or after.
    virtual Ref place(Ref sorted, Ref key, bool after) = 0;
    // What np.interp gives for a float64 number and float64 vectors.
    virtual Ref interpolated(Ref x, Ref xp, Ref fp) = 0;
    virtual Ref count_true(Ref bools) = 0;  // as np.count_nonzero counts
    // What the call gives has the extents of `array` without these axes, or with extent 1 along them: also
    // where NumPy does the whole call.
    virtual void note_reduction(Ref array, const Axes& axes, bool keepdims) = 0;
    virtual Ref select(Ref condition, Ref x, Ref y) = 0;  // np.where
    // x.dot(y) of vectors that are arguments.
    virtual Ref dot(Ref x, Ref y) = 0;
    // The reduced axes again, with extent 1.
    virtual Ref keep_axes(Ref v, const Axes& axes) = 0;
    virtual Ref view(Ref array, const std::vector<Axis>& axes) = 0;
    // The elements of an argument in the order of C with other extents, all of which are arguments, too (of
    // which one may be -1), or none.
    virtual Ref reshape(Ref array, Refs extents) = 0;
    virtual Ref ravel(Ref array) = 0;
    virtual Ref flat_copy(Ref array) = 0;
    // The elements of an argument as a vector that only the function sees, and such a vector that it has made
    // as a view with the extents of that argument.
    virtual Ref flattened(Ref array) = 0;
    virtual Ref shaped_like(Ref made, Ref argument) = 0;
    // The extents that arrays (or numbers) broadcast to.
    virtual bool broadcast(Refs in, std::vector<Ref>* extents) = 0;
    // An array that the function makes and fills by `store`.
    virtual Ref fresh(graph::DType t, Refs extents) = 0;
    // One that is full of a number, converted as assignment converts it, or (not given) of anything.
    virtual Ref filled(graph::DType t, Refs extents, Ref number) = 0;
    // The vector start, start + step, ... of so many elements. Start and step are NumPy numbers of dtype `t`.
    virtual Ref progression(graph::DType t, Ref start, Ref step, Ref count) = 0;
    virtual Ref copied(Ref array, graph::DType t) = 0;
    virtual Ref positions(Ref like, int axis) = 0;  // the index along an axis, at each point of an array
    virtual bool only_extents_of(Ref array) = 0;    // its elements are not going to be read
    virtual bool store(Ref into, const std::vector<Axis>& part, Ref value) = 0;
    // An operand that is going to be read several times.
    virtual Ref computed_once(Ref v) = 0;

    virtual Ref decline(std::string why) = 0;

    // --- made of these ---
    // An axis argument as an index from 0 on; false (declined) for one out of range.
    bool axis(Ref v, int rank, int* out);
    // One axis or a tuple of them (with `lists`, or a list), or all if it was not given.
    bool axes(Ref v, int rank, Axes* out, bool lists = false);
    bool flag(Ref v, bool* out);  // a bool; what was not given leaves `out` as it is
    // What `*args` are, which may be given as one tuple or list.
    std::vector<Ref> listed(Ref rest);
    bool default_order(Ref order);  // not given, or "C"; else declined
    Ref permuted(Ref array, const Axes& order);
    Ref count(Ref array, const Axes& axes);  // how many elements one result of a reduction is made of
    std::vector<Axis> whole(Ref array);
};

}  // namespace stator::frontend::numpy
