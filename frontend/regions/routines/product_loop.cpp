// Matrix products by the inner loop of NumPy's matmul, called as NumPy's generalized ufuncs call it.
#include <algorithm>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/product_core.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/regions/routines/library.h"
#include "kernels/tier0/flags.h"

namespace stator::frontend::regions {

namespace {

struct Matmul {
    kernels::HostLoop loop;
    int left, right;  // ranks
};

// An operand as a stack of matrices.
struct Stack {
    ArrayWords a;
    int batch = 0;  // axes in front of the core
    numpy::ProductCore core;
    char* at = nullptr;

    Stack(const ArrayWords& words, bool has_rows, bool has_columns)
        : a(words),
          batch(words.rank - has_rows - has_columns),
          core(words.extents + batch, words.strides + batch, has_rows, has_columns),
          at(words.address) {}
    // Along an axis of the result's stack, which has `axes`.
    int64_t step(int axis, int axes) const {
        const int own = axis - (axes - batch);
        return own < 0 || a.extents[own] == 1 ? 0 : a.strides[own];
    }
};

uint32_t run_matmul(void* data, int64_t* words) {
    const auto& m = *static_cast<const Matmul*>(data);
    const int64_t* w = words;
    const bool rows = m.left > 1, columns = m.right > 1;
    const int batch = std::max({m.left - 2, m.right - 2, 0});
    Stack out(take_array(&w, batch + rows + columns), rows, columns);
    Stack a(take_array(&w, m.left), rows, true), b(take_array(&w, m.right), true, columns);
    if (a.core.columns != b.core.rows) return kernels::kFaultHost;
    const numpy::ProductCall product(a.core, b.core, out.core);
    int64_t count = 1, index[NPY_MAXDIMS] = {};
    for (int d = 0; d < batch; ++d) count *= out.a.extents[d];
    const kernels::tier0::KeepFlags keep;
    for (int64_t k = 0; k < count; ++k) {
        product.run(m.loop, a.at, b.at, out.at);
        for (int d = batch - 1; d >= 0; --d) {
            const bool wraps = ++index[d] == out.a.extents[d];
            const int64_t by = wraps ? 1 - index[d] : 1;
            for (Stack* s : {&a, &b, &out}) s->at += by * s->step(d, batch);
            if (!wraps) break;
            index[d] = 0;
        }
    }
    return kernels::tier0::read_faults();
}

}  // namespace

LibraryRoutine matmul_routine(DType t, int left, int right) {
    const kernels::HostLoop loop = numpy::find_core_loop({"matmul", {t, t, t}});
    if (!loop.fn) return {};
    return {run_matmul, std::make_shared<Matmul>(Matmul{loop, left, right})};
}

}  // namespace stator::frontend::regions
