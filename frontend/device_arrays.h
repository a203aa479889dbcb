// Where the elements of an array of the host lie, for copying them to a device and back.
#pragma once

#include <cstdint>

namespace stator::frontend {

struct ElementLayout {
    int rank, itemsize;
    const int64_t *shape, *strides;  // strides in bytes
    int64_t bytes_of_elements() const;
};

// The stretch of memory that the elements lie in, and where in it the first one is.
struct Stretch {
    char* begin;
    int64_t bytes, first;
};
Stretch stretch_of(char* data, const ElementLayout& layout);

// Copies the elements, and nothing that lies between them, from a copy of the stretch.
void copy_elements(const Stretch& to, const char* stretch, const ElementLayout& layout);

}  // namespace stator::frontend
