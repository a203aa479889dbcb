// The widest vectors that generated code may use on this processor, for tests: STATOR_TEST_VECTORS is 512,
// 256 or 128, and what comes with wider registers (AVX-512; AVX, AVX2 and FMA) then counts as not there.
#pragma once

namespace stator::kernels {

int vector_limit();  // in bits; 512 where the variable is not set

}  // namespace stator::kernels
