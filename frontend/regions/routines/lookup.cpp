// np.searchsorted and np.interp of one number, step by step as NumPy does them: in vectors that are not
// sorted the way decides what is found.
//
// Sources: numpy/_core/src/npysort/binsearch.cpp (binsearch), numpy/_core/src/multiarray/compiled_base.c
// (binary_search_with_guess, arr_interp) of NumPy 2.0 to 2.5.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "frontend/regions/routines/library.h"
#include "kernels/tier0/flags.h"

namespace stator::frontend::regions {

namespace {

// NaNs come last.
template <class T>
bool is_less(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
    return a < b;
}

template <class T, bool After>
uint32_t run_search(void*, int64_t* words) {
    const int64_t* w = words;
    char* const out = take_array(&w, 0).address;
    const ArrayWords in = take_array(&w, 1);
    const T* const sorted = reinterpret_cast<const T*>(in.address);
    T key;
    std::memcpy(&key, w, sizeof key);
    const kernels::tier0::KeepFlags keep;  // comparisons with NaN raise one that NumPy does not look at
    int64_t low = 0, high = in.extents[0];
    while (low < high) {
        const int64_t middle = low + ((high - low) >> 1);
        const bool before = After ? !is_less(key, sorted[middle]) : is_less(sorted[middle], key);
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    std::memcpy(out, &low, sizeof low);
    return 0;
}

// The last place whose element is not above `key`: -1 in front of all, `n` behind the last. The search begins
// beside place 0.
int64_t last_not_above(double key, const double* all, int64_t n) {
    constexpr int64_t kInCache = 8;  // LIKELY_IN_CACHE_SIZE
    if (key > all[n - 1]) return n;
    if (key < all[0]) return -1;
    if (n <= 4) {
        int64_t i = 1;
        while (i < n && key >= all[i]) ++i;
        return i - 1;
    }
    int64_t low = 0, high = n, guess = 1;
    if (key < all[guess]) {
        if (key < all[guess - 1]) {
            high = guess - 1;
            if (guess > kInCache && key >= all[guess - kInCache]) low = guess - kInCache;
        } else {
            return guess - 1;
        }
    } else {
        if (key < all[guess + 1]) return guess;
        if (key < all[guess + 2]) return guess + 1;
        low = guess + 2;
        if (guess < n - kInCache - 1 && key < all[guess + kInCache]) high = guess + kInCache;
    }
    while (low < high) {
        const int64_t middle = low + ((high - low) >> 1);
        if (key >= all[middle])
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

double interpolate(double x, const double* xp, const double* fp, int64_t n) {
    if (n == 1) return fp[0];
    if (std::isnan(x)) return x;
    const int64_t j = last_not_above(x, xp, n);
    if (j == -1) return fp[0];
    if (j >= n - 1) return fp[n - 1];
    if (xp[j] == x) return fp[j];
    const double slope = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j]);
    double y = slope * (x - xp[j]) + fp[j];
    if (std::isnan(y)) {  // from the other side
        y = slope * (x - xp[j + 1]) + fp[j + 1];
        if (std::isnan(y) && fp[j] == fp[j + 1]) y = fp[j];
    }
    return y;
}

uint32_t run_interpolation(void*, int64_t* words) {
    const int64_t* w = words;
    char* const out = take_array(&w, 0).address;
    double x;
    std::memcpy(&x, w, sizeof x);
    w += 2;
    const ArrayWords xp = take_array(&w, 1), fp = take_array(&w, 1);
    if (xp.extents[0] == 0 || xp.extents[0] != fp.extents[0]) return kernels::kFaultHost;  // raises
    const kernels::tier0::KeepFlags keep;  // np.interp is no ufunc: nobody looks at its flags
    const double y = interpolate(x, reinterpret_cast<const double*>(xp.address),
                                 reinterpret_cast<const double*>(fp.address), xp.extents[0]);
    std::memcpy(out, &y, sizeof y);
    return 0;
}

template <class T>
LibraryRoutine search(bool after) {
    return {after ? run_search<T, true> : run_search<T, false>, nullptr};
}

}  // namespace

LibraryRoutine search_routine(DType t, bool after) {
    switch (t) {
        case DType::F64: return search<double>(after);
        case DType::F32: return search<float>(after);
        case DType::I8: return search<int8_t>(after);
        case DType::I16: return search<int16_t>(after);
        case DType::I32: return search<int32_t>(after);
        case DType::I64: return search<int64_t>(after);
        case DType::U8: return search<uint8_t>(after);
        case DType::U16: return search<uint16_t>(after);
        case DType::U32: return search<uint32_t>(after);
        case DType::U64: return search<uint64_t>(after);
        default: return {};
    }
}

// Compilers may round slope * distance + value once where the machine can. Whether NumPy's does is asked of
// NumPy, with numbers for which it shows.
static bool rounds_as_numpy() {
    const double xp[] = {0.1, 0.7}, fp[] = {0.3, 1.9};
    const PyRef numpy = PyRef::steal(PyImport_ImportModule("numpy._core.multiarray"));  // C code only
    bool same = static_cast<bool>(numpy);
    for (int k = 1; same && k < 40; ++k) {
        const double x = 0.1 + 0.015 * k;
        const PyRef y = PyRef::steal(
            PyObject_CallMethod(numpy.get(), "interp", "d(dd)(dd)", x, xp[0], xp[1], fp[0], fp[1]));
        same = y && PyFloat_Check(y.get()) && PyFloat_AS_DOUBLE(y.get()) == interpolate(x, xp, fp, 2);
    }
    if (PyErr_Occurred()) PyErr_Clear();
    return same;
}

LibraryRoutine interpolation_routine() {
    // No static object's initialization: another thread would wait for that with the GIL.
    static int known = 0;
    if (known == 0) known = rounds_as_numpy() ? 1 : -1;
    return known > 0 ? LibraryRoutine{run_interpolation, nullptr} : LibraryRoutine{};
}

}  // namespace stator::frontend::regions
