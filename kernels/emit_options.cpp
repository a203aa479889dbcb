#include "kernels/emit_options.h"

#include <string>

namespace stator::kernels {

std::string describe(const EmitOptions& o) {
    return "vector_bits=" + std::to_string(o.vector_bits) + " avx2=" + std::to_string(o.has_avx2) +
           " avx512=" + std::to_string(o.has_avx512) + " halves=" + std::to_string(o.halves_512) +
           " fastmath=" + std::to_string(o.fastmath);
}

}  // namespace stator::kernels
