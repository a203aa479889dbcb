#include "frontend/device_arrays.h"

#include <cstring>
#include <vector>

namespace stator::frontend {

int64_t ElementLayout::bytes_of_elements() const {
    int64_t n = itemsize;
    for (int d = 0; d < rank; ++d) n *= shape[d];
    return n;
}

Stretch stretch_of(char* data, const ElementLayout& l) {
    int64_t low = 0, high = l.itemsize;
    for (int d = 0; d < l.rank; ++d) {
        if (l.shape[d] == 0) return {data, 0, 0};
        (l.strides[d] < 0 ? low : high) += (l.shape[d] - 1) * l.strides[d];
    }
    return {data + low, high - low, -low};
}

void copy_elements(const Stretch& to, const char* stretch, const ElementLayout& l) {
    std::vector<int64_t> at(static_cast<size_t>(l.rank), 0);
    for (int64_t left = l.bytes_of_elements() / l.itemsize; left > 0; --left) {
        int64_t offset = to.first;
        for (int d = 0; d < l.rank; ++d) offset += at[static_cast<size_t>(d)] * l.strides[d];
        memcpy(to.begin + offset, stretch + offset, static_cast<size_t>(l.itemsize));
        for (int d = l.rank - 1; d >= 0 && ++at[static_cast<size_t>(d)] == l.shape[d]; --d)
            at[static_cast<size_t>(d)] = 0;
    }
}

}  // namespace stator::frontend
