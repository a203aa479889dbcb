// Library routines: what regions call besides generated code (RegionCall::Library). Each is a function and
// the data that it is called with, made when the region is built.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/regions/value.h"
#include "kernels/region_abi.h"

namespace stator::frontend::regions {

struct LibraryRoutine {
    kernels::LibraryFn fn = nullptr;
    std::shared_ptr<void> data;
    bool through_python = false;  // it may let go of the GIL
};

// An array operand in a routine's words.
struct ArrayWords {
    char* address;
    const int64_t *extents, *strides;  // strides in bytes
    int rank;
};
inline ArrayWords take_array(const int64_t** words, int rank) {
    const int64_t* w = *words;
    *words += 1 + 2 * rank;
    return {reinterpret_cast<char*>(w[0]), w + 1, w + 1 + rank, rank};
}

// NumPy's loop of matmul on operands of these ranks and this dtype; no function when there is none
// (product_loop.cpp).
LibraryRoutine matmul_routine(DType t, int left, int right);

// Of two i64 (integer_power.cpp).
LibraryRoutine integer_power_routine();

// Appends to the list whose address is the first operand; `item` says what the others make (host_call.cpp).
LibraryRoutine append_routine(Value item);

// A reduction of a C-contiguous array along `axes` (ascending) by the ufunc's loop: add, maximum or minimum
// (reduction_loop.cpp).
LibraryRoutine reduction_routine(const std::string& ufunc, DType t, int rank, std::vector<int> axes);

// Where the greatest or the least element of a C-contiguous vector is, an i64 (dtype_functions.cpp).
LibraryRoutine position_routine(bool greatest, DType t);
// Where a number belongs in a C-contiguous vector that is sorted, an i64 (lookup.cpp).
LibraryRoutine search_routine(DType t, bool after);
// np.interp of a number x and two C-contiguous vectors xp and fp, all float64.
LibraryRoutine interpolation_routine();
// The sums of a vector's first elements.
LibraryRoutine running_sum_routine(DType t);

// A pure function of NumPy's, called through Python (host_call.cpp). Arguments are Values whose variable
// parts come in the words, keyword ones last.
struct HostFunction {
    PyRef callable, names;  // of keyword arguments: a tuple or nothing
    std::vector<Value> args;
    bool quiet_about_nothing = false;  // does not warn about empty operands in its own ways
    bool silent = false;               // never warns
};
// What a call gives: an array, or a number (rank -1).
struct HostResult {
    Kind kind = Kind::Empty;
    DType dtype = DType::F64;
    int rank = -1;
    bool owns = true;   // an array that shows no other one's memory
    bool flat = false;  // an array that shows all of a vector, which nobody else has
};
// False when regions do not know such objects.
bool describe_result(PyObject* o, HostResult* out);
LibraryRoutine host_routine(HostFunction f, HostResult result);
// A call that must not be done twice, because it draws random numbers. The result goes into the first
// operand.
LibraryRoutine draw_routine(HostFunction f, HostResult result);
// Whether `callable` is this method of the generator as its class has it in C: of a program's own nothing is
// known.
bool is_own_method(PyObject* callable, PyObject* generator, const std::string& method);
// The same without Python, where `method` of `generator`, whose class is in `module`, draws one number by a C
// function that can be called: else, and for what that does not take, `otherwise` (direct_draw.cpp).
LibraryRoutine direct_draw_routine(PyObject* generator, std::string_view module, const std::string& method,
                                   const HostFunction& f, const HostResult& gives, LibraryRoutine otherwise);
// Calls it on small arrays to see what it gives; false with a reason when that is nothing that regions know.
bool probe_host(const HostFunction& f, const std::vector<std::vector<int64_t>>& extents,
                const std::vector<int64_t>& ints, HostResult* out, std::string* why);

// What a region that runs is told when another thread has run while a routine had let go of the GIL: it
// leaves at its next poll, and reads anew what it had read.
class Disturbance {
  public:
    explicit Disturbance(kernels::RegionArgs* args) : outer_(std::exchange(running, &seen_)) {
        args->disturbed = &seen_;
    }
    ~Disturbance() { running = outer_; }
    Disturbance(const Disturbance&) = delete;
    static inline volatile int32_t* running = nullptr;  // of the region whose code runs in this thread

  private:
    volatile int32_t seen_ = 0, *outer_;
};

// How many of them have called a function of Python's so far.
int64_t& calls_through_python();
// Counts one, tells the region about other threads, and measures it while a region is metered: a call of
// LAPACK's takes as long in Python.
class CallThroughPython {
  public:
    CallThroughPython();
    ~CallThroughPython();
    CallThroughPython(const CallThroughPython&) = delete;
    static inline bool metered = false;
    static inline int64_t ns = 0;  // of all that were measured

  private:
    int64_t begun_;
    unsigned long switches_;
    volatile int32_t* region_;
};

// A function of the C library by its name in Region::calls, "math.sin" (build/numpy/math.cpp).
void* math_function(const std::string& name);

}  // namespace stator::frontend::regions
