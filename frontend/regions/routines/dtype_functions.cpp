// Functions of whole vectors that every dtype of NumPy's has: argmax, argmin; and sums as they grow.
#include <cstring>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/regions/routines/library.h"
#include "kernels/tier0/flags.h"

namespace stator::frontend::regions {

namespace {

uint32_t run_position(void* data, int64_t* words) {
    const int64_t* w = words;
    char* const out = take_array(&w, 0).address;
    const ArrayWords in = take_array(&w, 1);
    if (in.extents[0] == 0) return kernels::kFaultHost;  // raises
    // Comparisons with NaN raise a flag that NumPy does not look at here.
    const kernels::tier0::KeepFlags keep;
    const auto find = *static_cast<PyArray_ArgFunc**>(data);
    npy_intp at = 0;
    if (find(in.address, in.extents[0], &at, nullptr) < 0) return kernels::kFaultHost;
    const auto found = static_cast<int64_t>(at);
    std::memcpy(out, &found, sizeof found);
    return 0;
}

struct RunningSum {
    kernels::HostLoop loop;
    int64_t bytes = 8;
};

// As ufunc.accumulate: the loop gets its own result as an operand.
uint32_t run_accumulate(void* data, int64_t* words) {
    const auto& r = *static_cast<const RunningSum*>(data);
    const int64_t* w = words;
    char* const out = take_array(&w, 1).address;
    const ArrayWords in = take_array(&w, 1);
    if (in.extents[0] == 0) return 0;
    const kernels::tier0::KeepFlags keep;
    std::memcpy(out, in.address, static_cast<size_t>(r.bytes));
    const int64_t n = in.extents[0] - 1, strides[] = {r.bytes, in.strides[0], r.bytes};
    char* args[] = {out, in.address + in.strides[0], out + r.bytes};
    if (n > 0) r.loop.fn(args, &n, strides, r.loop.data);
    return kernels::tier0::read_faults();
}

}  // namespace

LibraryRoutine position_routine(bool greatest, DType t) {
    const PyArray_ArrFuncs* functions = PyDataType_GetArrFuncs(numpy::descr_of(t));
    PyArray_ArgFunc* const find = greatest ? functions->argmax : functions->argmin;
    if (!find) return {};
    return {run_position, std::make_shared<PyArray_ArgFunc*>(find)};
}

LibraryRoutine running_sum_routine(DType t) {
    auto r = std::make_shared<RunningSum>();
    r->loop = numpy::find_loop({"add", {t, t, t}});
    r->bytes = graph::info(t).size;
    if (!r->loop.fn) return {};
    return {run_accumulate, r};
}

}  // namespace stator::frontend::regions
