// sincos/lanes.h for AVX-512 (F, DQ).
#include "kernels/sincos/lanes.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>

namespace stator::kernels::sincos {

namespace {

struct Avx512 {
    using D = __m512d;
    using I = __m512i;
    using M = __mmask8;
    static constexpr int kWidth = 8;

    static D load(const double* p) { return _mm512_loadu_pd(p); }
    static void store(double* p, D v) { _mm512_storeu_pd(p, v); }
    static D all(double v) { return _mm512_set1_pd(v); }
    static I whole(int64_t v) { return _mm512_set1_epi64(v); }
    static D add(D a, D b) { return _mm512_add_pd(a, b); }
    static D sub(D a, D b) { return _mm512_sub_pd(a, b); }
    static D mul(D a, D b) { return _mm512_mul_pd(a, b); }
    static D fma(D a, D b, D c) { return _mm512_fmadd_pd(a, b, c); }
    static D fms(D a, D b, D c) { return _mm512_fmsub_pd(a, b, c); }
    static D fnma(D a, D b, D c) { return _mm512_fnmadd_pd(a, b, c); }
    static D absolute(D a) { return _mm512_abs_pd(a); }
    static D sign_bit(D a) { return _mm512_and_pd(a, _mm512_set1_pd(-0.0)); }
    static D flip(D a, D sign) { return _mm512_xor_pd(a, sign); }
    static I bits(D a) { return _mm512_castpd_si512(a); }
    static I plus(I a, int64_t b) { return _mm512_add_epi64(a, _mm512_set1_epi64(b)); }
    static M test(I a, int64_t bit) { return _mm512_test_epi64_mask(a, _mm512_set1_epi64(bit)); }
    static M less(D a, D b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
    static bool within(D low, D a, D high) {
        return _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(low, a, _CMP_LE_OQ), a, high, _CMP_LT_OQ) == 0xff;
    }
    static M and_not(M a, M b) { return static_cast<M>(a & ~b); }
    static D select(M m, D a, D b) { return _mm512_mask_blend_pd(m, b, a); }
    static I select(M m, I a, I b) { return _mm512_mask_blend_epi64(m, b, a); }
    static D sign_where_two(I n) {
        return _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_and_si512(n, _mm512_set1_epi64(2)), 62));
    }
    // Quadrant 1 for positive numbers, 3 for negative ones: a cosine with the sign of v.
    static I cosine_with_sign_of(D v) {
        const I sign = _mm512_srli_epi64(_mm512_castpd_si512(v), 63);
        return _mm512_or_si512(_mm512_slli_epi64(sign, 1), _mm512_set1_epi64(1));
    }
    // Of row u's columns those for even or odd n.
    static I index(I u, I n) {
        const I row = _mm512_slli_epi64(_mm512_and_si512(u, _mm512_set1_epi64(127)), 3);
        return _mm512_or_si512(row, _mm512_slli_epi64(_mm512_and_si512(n, _mm512_set1_epi64(1)), 2));
    }
    struct Columns {
        D a, b, c, d;
    };
    // Whole rows and a transposition: gathers take several times as long where the processor guards them.
    static Columns columns(const double* table, I index) {
        alignas(64) int64_t at[8];
        _mm512_store_si512(at, index);
        const auto rows = [&](int low, int high) {
            return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_load_pd(table + at[low])),
                                      _mm256_load_pd(table + at[high]), 1);
        };
        const D r04 = rows(0, 4), r15 = rows(1, 5), r26 = rows(2, 6), r37 = rows(3, 7);
        const D ac01 = _mm512_unpacklo_pd(r04, r15), bd01 = _mm512_unpackhi_pd(r04, r15);
        const D ac23 = _mm512_unpacklo_pd(r26, r37), bd23 = _mm512_unpackhi_pd(r26, r37);
        const I first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
        const I second = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
        return {_mm512_permutex2var_pd(ac01, first, ac23), _mm512_permutex2var_pd(bd01, first, bd23),
                _mm512_permutex2var_pd(ac01, second, ac23), _mm512_permutex2var_pd(bd01, second, bd23)};
    }
};

}  // namespace

extern const bool kHasAvx512 = true;
int64_t sin_avx512(const double* x, double* out, int64_t n) { return Kernel<Avx512>::run<false>(x, out, n); }
int64_t cos_avx512(const double* x, double* out, int64_t n) { return Kernel<Avx512>::run<true>(x, out, n); }

}  // namespace stator::kernels::sincos
#else
namespace stator::kernels::sincos {
extern const bool kHasAvx512 = false;
int64_t sin_avx512(const double*, double*, int64_t) { return 0; }
int64_t cos_avx512(const double*, double*, int64_t) { return 0; }
}  // namespace stator::kernels::sincos
#endif
