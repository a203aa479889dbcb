// sincos/lanes.h for AVX2 with FMA.
#include "kernels/sincos/lanes.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

namespace stator::kernels::sincos {

namespace {

struct Avx2 {
    using D = __m256d;
    using I = __m256i;
    using M = __m256d;  // all bits of a lane, or none
    static constexpr int kWidth = 4;

    static D load(const double* p) { return _mm256_loadu_pd(p); }
    static void store(double* p, D v) { _mm256_storeu_pd(p, v); }
    static D all(double v) { return _mm256_set1_pd(v); }
    static I whole(int64_t v) { return _mm256_set1_epi64x(v); }
    static D add(D a, D b) { return _mm256_add_pd(a, b); }
    static D sub(D a, D b) { return _mm256_sub_pd(a, b); }
    static D mul(D a, D b) { return _mm256_mul_pd(a, b); }
    static D fma(D a, D b, D c) { return _mm256_fmadd_pd(a, b, c); }
    static D fms(D a, D b, D c) { return _mm256_fmsub_pd(a, b, c); }
    static D fnma(D a, D b, D c) { return _mm256_fnmadd_pd(a, b, c); }
    static D absolute(D a) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a); }
    static D sign_bit(D a) { return _mm256_and_pd(a, _mm256_set1_pd(-0.0)); }
    static D flip(D a, D sign) { return _mm256_xor_pd(a, sign); }
    static I bits(D a) { return _mm256_castpd_si256(a); }
    static I plus(I a, int64_t b) { return _mm256_add_epi64(a, _mm256_set1_epi64x(b)); }
    static M test(I a, int64_t bit) {
        const I mask = _mm256_set1_epi64x(bit);
        return _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_and_si256(a, mask), mask));
    }
    static M less(D a, D b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
    static bool within(D low, D a, D high) {
        return _mm256_movemask_pd(_mm256_and_pd(_mm256_cmp_pd(low, a, _CMP_LE_OQ),
                                                _mm256_cmp_pd(a, high, _CMP_LT_OQ))) == 0xf;
    }
    static M and_not(M a, M b) { return _mm256_andnot_pd(b, a); }
    static D select(M m, D a, D b) { return _mm256_blendv_pd(b, a, m); }
    static I select(M m, I a, I b) { return _mm256_blendv_epi8(b, a, _mm256_castpd_si256(m)); }
    static D sign_where_two(I n) {
        return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_and_si256(n, _mm256_set1_epi64x(2)), 62));
    }
    // Quadrant 1 for positive numbers, 3 for negative ones: a cosine with the sign of v.
    static I cosine_with_sign_of(D v) {
        const I sign = _mm256_srli_epi64(_mm256_castpd_si256(v), 63);
        return _mm256_or_si256(_mm256_slli_epi64(sign, 1), _mm256_set1_epi64x(1));
    }
    // Of row u's columns those for even or odd n.
    static I index(I u, I n) {
        const I row = _mm256_slli_epi64(_mm256_and_si256(u, _mm256_set1_epi64x(127)), 3);
        return _mm256_or_si256(row, _mm256_slli_epi64(_mm256_and_si256(n, _mm256_set1_epi64x(1)), 2));
    }
    struct Columns {
        D a, b, c, d;
    };
    // Whole rows and a transposition: gathers take several times as long where the processor guards them.
    static Columns columns(const double* table, I index) {
        alignas(32) int64_t at[4];
        _mm256_store_si256(reinterpret_cast<I*>(at), index);
        const D r0 = _mm256_load_pd(table + at[0]), r1 = _mm256_load_pd(table + at[1]);
        const D r2 = _mm256_load_pd(table + at[2]), r3 = _mm256_load_pd(table + at[3]);
        const D ac01 = _mm256_unpacklo_pd(r0, r1), bd01 = _mm256_unpackhi_pd(r0, r1);
        const D ac23 = _mm256_unpacklo_pd(r2, r3), bd23 = _mm256_unpackhi_pd(r2, r3);
        return {_mm256_permute2f128_pd(ac01, ac23, 0x20), _mm256_permute2f128_pd(bd01, bd23, 0x20),
                _mm256_permute2f128_pd(ac01, ac23, 0x31), _mm256_permute2f128_pd(bd01, bd23, 0x31)};
    }
};

}  // namespace

extern const bool kHasAvx2 = true;
int64_t sin_avx2(const double* x, double* out, int64_t n) { return Kernel<Avx2>::run<false>(x, out, n); }
int64_t cos_avx2(const double* x, double* out, int64_t n) { return Kernel<Avx2>::run<true>(x, out, n); }

}  // namespace stator::kernels::sincos
#else
namespace stator::kernels::sincos {
extern const bool kHasAvx2 = false;
int64_t sin_avx2(const double*, double*, int64_t) { return 0; }
int64_t cos_avx2(const double*, double*, int64_t) { return 0; }
}  // namespace stator::kernels::sincos
#endif
