#include "kernels/vector_limit.h"

#include <cstdlib>

namespace stator::kernels {

int vector_limit() {
    static const int bits = [] {
        const char* text = std::getenv("STATOR_TEST_VECTORS");
        const int given = text ? std::atoi(text) : 0;
        return given == 128 || given == 256 ? given : 512;
    }();
    return bits;
}

}  // namespace stator::kernels
