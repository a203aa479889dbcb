// Reductions of all elements of an array with gaps (a[i : i + 3, j : j + 3].sum()), as NumPy does them: its
// iterator gathers what lies apart in a buffer, in the order of memory, and gives the ufunc's loop the buffer
// (numpy::longest_gathered_run). Where that order is not the one of C, or all of it does not fit in the
// buffer, NumPy does it itself.
#include "frontend/regions/routines/gapped_reduction.h"

#include <array>
#include <cstring>

#include "frontend/cpython/collection.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/hosts/numpy/sum_order.h"
#include "kernels/tier0/flags.h"

namespace stator::frontend::regions {

namespace {

// Elements that fit in NumPy's buffer.
constexpr int64_t kMostGathered = 8192;

struct GappedReduction {
    kernels::HostLoop loop;
    PyRef ufunc;
    int rank = 0;
    DType dtype = DType::F64;
    bool from_first = false;  // no identity
    bool any_order = false;   // the result does not depend on how the loop is called
};

bool in_order_of_c(const ArrayWords& a) {
    int64_t last = INT64_MAX;
    for (int axis = 0; axis < a.rank; ++axis) {
        if (a.extents[axis] == 1) continue;
        if (a.strides[axis] <= 0 || a.strides[axis] >= last) return false;
        last = a.strides[axis];
    }
    return true;
}

// Whether it is as one axis with this distance between elements: NumPy does not gather those. (Loops of
// maximum and minimum choose another one of 0.0 and -0.0 where elements are adjacent.)
bool is_one_run(const ArrayWords& a, int64_t* stride) {
    int64_t length = 1;
    *stride = 0;
    for (int axis = a.rank; axis-- > 0;) {
        if (a.extents[axis] == 1) continue;
        if (length == 1)
            *stride = a.strides[axis];
        else if (a.strides[axis] != *stride * length)
            return false;
        length *= a.extents[axis];
    }
    return true;
}

// By way of Python.
uint32_t call_numpy(const GappedReduction& r, const ArrayWords& in, char* out) {
    const CallThroughPython counted;
    const NoCollection quiet;
    PyArray_Descr* descr = numpy::descr_of(r.dtype);
    Py_INCREF(descr);
    const PyRef array = PyRef::steal(PyArray_NewFromDescr(
        &PyArray_Type, descr, r.rank, in.extents, in.strides, in.address, NPY_ARRAY_ALIGNED, nullptr));
    PyRef result;
    if (array) {
        const numpy::StrictErrors strict(0, 0);
        result = PyRef::steal(PyObject_CallMethod(r.ufunc.get(), "reduce", "OO", array.get(), Py_None));
    }
    if (!result || !PyArray_CheckScalar(result.get())) {
        if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
        PyErr_Clear();
        return kernels::kFaultHost;
    }
    char bits[16];
    numpy::scalar_bits(result.get(), bits);
    std::memcpy(out, bits, static_cast<size_t>(graph::info(r.dtype).size));
    return 0;
}

template <class T>
void gather_row(const char* from, int64_t n, int64_t stride, char* to) {
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * int64_t{sizeof(T)}, from + i * stride, sizeof(T));
}

uint32_t run_gapped(void* data, int64_t* words) {
    const auto& r = *static_cast<const GappedReduction*>(data);
    const int64_t* w = words;
    char* const out = take_array(&w, 0).address;
    const ArrayWords in = take_array(&w, r.rank);
    const int64_t bytes = graph::info(r.dtype).size, columns = in.extents[r.rank - 1];
    int64_t total = 1;
    for (int axis = 0; axis < r.rank; ++axis) total *= in.extents[axis];
    if (r.from_first && total == 0) return kernels::kFaultHost;
    std::memset(out, 0, static_cast<size_t>(bytes));
    if (total == 0) return 0;
    const bool fits = columns <= kMostGathered && (total <= kMostGathered || r.any_order);
    if (!fits || !(r.any_order || in_order_of_c(in))) return call_numpy(r, in, out);

    static std::array<char, kMostGathered * 8> gathered;  // the GIL is held until the end
    const kernels::tier0::KeepFlags keep;
    if (int64_t step = 0; total <= kMostGathered && is_one_run(in, &step)) {
        const int64_t at = r.from_first ? 1 : 0, n = total - at;
        if (r.from_first) std::memcpy(out, in.address, static_cast<size_t>(bytes));
        char* args[] = {out, in.address + at * step, out};
        const int64_t strides[] = {0, step, 0};
        if (n > 0) r.loop.fn(args, &n, strides, r.loop.data);
        return kernels::tier0::read_faults();
    }
    int64_t held = 0;
    bool first = r.from_first;
    const auto reduce = [&] {
        int64_t at = 0;
        if (first) std::memcpy(out, gathered.data(), static_cast<size_t>(bytes)), at = 1, first = false;
        int64_t n = held - at;
        char* args[] = {out, gathered.data() + at * bytes, out};
        const int64_t strides[] = {0, bytes, 0};
        if (n > 0) r.loop.fn(args, &n, strides, r.loop.data);
        held = 0;
    };
    std::array<int64_t, 8> index = {};
    const char* row = in.address;
    const int64_t stride = in.strides[r.rank - 1];
    for (bool more = true; more;) {
        if (held + columns > kMostGathered) reduce();
        char* const to = gathered.data() + held * bytes;
        if (bytes == 8)
            gather_row<uint64_t>(row, columns, stride, to);
        else
            gather_row<uint32_t>(row, columns, stride, to);
        held += columns;
        more = false;
        for (int axis = r.rank - 1; axis-- > 0 && !more;) {
            more = ++index[static_cast<size_t>(axis)] < in.extents[axis];
            row += in.strides[axis];
            if (more) break;
            row -= in.strides[axis] * in.extents[axis];
            index[static_cast<size_t>(axis)] = 0;
        }
    }
    reduce();
    return kernels::tier0::read_faults();
}

}  // namespace

LibraryRoutine gapped_reduction_routine(const std::string& ufunc, DType t, int rank) {
    const bool any_order = !graph::is_float(t);
    const int64_t bytes = graph::info(t).size;
    if (rank < 2 || rank > 8 || (bytes != 8 && bytes != 4)) return {};
    if (!any_order && numpy::longest_gathered_run() < kMostGathered) return {};
    auto r = std::make_shared<GappedReduction>();
    r->loop = numpy::find_loop({ufunc, {t, t, t}});
    const numpy::Ufunc* u = numpy::find_ufunc(ufunc);
    if (!r->loop.fn || !u) return {};
    r->ufunc = PyRef::borrow(u->object);
    r->rank = rank;
    r->dtype = t;
    r->from_first = ufunc != "add";
    r->any_order = any_order;
    return {run_gapped, r, true};
}

}  // namespace stator::frontend::regions
