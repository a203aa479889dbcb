// What NumPy gives the inner loop of matmul: the extents and strides of its operands' matrices. Strides are 0
// along axes of extent 1 and along those that an operand does not have; the loop itself decides about BLAS by
// what it is given.
#pragma once

#include <cstdint>

#include "kernels/abi.h"

namespace stator::frontend::numpy {

struct ProductCore {
    int64_t rows = 1, columns = 1, row_stride = 0, column_stride = 0;  // strides in bytes

    // Of the axes that there are, in this order.
    ProductCore(const int64_t* extents, const int64_t* strides, bool has_rows, bool has_columns) {
        const auto axis = [&](int64_t* extent, int64_t* stride) {
            *extent = *extents++;
            *stride = *extent == 1 ? 0 : *strides;
            ++strides;
        };
        if (has_rows) axis(&rows, &row_stride);
        if (has_columns) axis(&columns, &column_stride);
    }
};

// How the loop is called for one product of a and b.
struct ProductCall {
    int64_t dims[4], steps[9];

    ProductCall(const ProductCore& a, const ProductCore& b, const ProductCore& out)
        : dims{1, a.rows, a.columns, b.columns}, steps{0,
                                                       0,
                                                       0,
                                                       a.row_stride,
                                                       a.column_stride,
                                                       b.row_stride,
                                                       b.column_stride,
                                                       out.row_stride,
                                                       out.column_stride} {}
    void run(const kernels::HostLoop& loop, char* a, char* b, char* out) const {
        char* args[] = {a, b, out};
        loop.fn(args, dims, steps, loop.data);
    }
};

}  // namespace stator::frontend::numpy
