// The algorithm of sincos/sincos.h over vectors, for the files that are compiled for one instruction set
// each.
//
// libm distinguishes three ranges of |x|: below 0.855 the argument is taken as it is, up to 2.426 it is pi/2
// less |x|, beyond that it is reduced by a multiple of pi/2 in three steps (Cody and Waite). Here all lanes
// go all three ways and keep one. Then a table of sin and cos of k / 128 and two short polynomials give the
// result; sines of |a| < 0.126 are a Taylor polynomial instead. A cosine is a sine with the table's columns
// swapped.
//
// Every product whose sum follows is fused or not as in libm: the order and the kind of each operation are
// the result's last bit.
//
// No header of the standard library but <cstdint>: inline functions of theirs, compiled for an instruction
// set that not every processor has, could be the copies that the linker keeps.
#pragma once

#include <cstdint>

namespace stator::kernels::sincos {

// Row k: {sin, its tail, cos, its tail} of k / 128, for the sine of k / 128 + r in the first four columns as
// {A, B, C, D}: C + (A + s B - c C + s D), where s and c are sin r and 1 - cos r; for the cosine in the last
// four.
struct Table {
    double rows[112][8];
};
extern const Table kTable;

// What each file offers; kHas…: whether it was compiled for its instruction set.
extern const bool kHasAvx512, kHasAvx2;
int64_t sin_avx512(const double* x, double* out, int64_t n);
int64_t cos_avx512(const double* x, double* out, int64_t n);
int64_t sin_avx2(const double* x, double* out, int64_t n);
int64_t cos_avx2(const double* x, double* out, int64_t n);

// V: vector type D of doubles, I of int64, M of masks, and the operations on them.
template <class V>
struct Kernel {
    using D = typename V::D;
    using I = typename V::I;
    using M = typename V::M;

    // a + da for n quadrants: sine of it for even n, cosine for odd n, minus that where n & 2.
    static inline __attribute__((always_inline)) D of_reduced(D a, D da, I n) {
        const M cosine = V::test(n, 1);
        const D zero = V::all(0.0);
        const D sign_of_a = V::sign_bit(a);
        // |a| = row / 128 + r.
        const D big = V::all(0x1.8p45);
        const D absolute = V::absolute(a);
        const D u = V::add(big, absolute);
        const D dx = V::flip(da, V::select(V::less(a, zero), V::all(-0.0), zero));
        D r = V::sub(absolute, V::sub(u, big));
        r = V::select(cosine, V::add(r, dx), r);
        const D rest = V::select(cosine, zero, dx);
        const I row = V::index(V::bits(u), n);

        const D rr = V::mul(r, r);
        const D cube = V::mul(r, rr);
        const D p = V::fma(rr, V::all(8.33333214285722277379541354343671E-03),
                           V::all(-1.66666666666664880952546298448555E-01));
        const D s = V::select(cosine, V::fma(cube, p, r), V::add(r, V::fma(cube, p, rest)));
        const D q = V::fma(
            rr,
            V::fma(rr, V::all(1.38888874937825150453E-03), V::all(-4.16666666666664434524222570944589E-02)),
            V::all(4.99999999999999999999950396842453E-01));
        const D c = V::fma(r, rest, V::mul(rr, q));
        const auto columns = V::columns(&kTable.rows[0][0], row);
        D sum = V::fma(s, columns.b, columns.a);
        sum = V::fnma(c, columns.c, sum);
        sum = V::fma(s, columns.d, sum);
        D result = V::add(columns.c, sum);
        result = V::flip(result, V::select(cosine, zero, sign_of_a));

        // Sines of small angles.
        const D aa = V::mul(a, a);
        D t = V::fma(aa, V::all(-0x1.ADDFFC2FCDF59p-26), V::all(0x1.71DE27B9A7ED9p-19));
        t = V::fma(t, aa, V::all(-0x1.A01A019DB08B8p-13));
        t = V::fma(t, aa, V::all(0x1.1111111110ECEp-7));
        t = V::fma(t, aa, V::all(-0x1.5555555555555p-3));
        t = V::fma(V::fms(a, t, V::mul(V::all(0.5), da)), aa, da);
        const M taylor = V::and_not(V::less(absolute, V::all(0.126)), cosine);
        result = V::select(taylor, V::add(a, t), result);
        return V::flip(result, V::sign_where_two(n));
    }

    template <bool Cosine>
    static int64_t run(const double* x, double* out, int64_t n) {
        const D low = V::all(Cosine ? 0x1p-27 : 0x1p-26), high = V::all(0x1.921FBp26);
        int64_t i = 0;
        for (; i + V::kWidth <= n; i += V::kWidth) {
            const D v = V::load(x + i);
            const D absolute = V::absolute(v);
            // Before anything is computed, which might raise flags.
            if (!V::within(low, absolute, high)) break;

            // Reduced by multiples of pi/2.
            const D to_int = V::all(0x1.8p52);
            const D t = V::fma(v, V::all(0x1.45F306DC9C883p-1), to_int);
            const D xn = V::sub(t, to_int);
            const D y =
                V::fnma(xn, V::all(-0x1.DDE973C000000p-27), V::fnma(xn, V::all(0x1.921FB58000000p0), v));
            const D pp3 = V::all(-0x1.CB3B398000000p-55), pp4 = V::all(-0x1.d747f23e32ed7p-83);
            const D t2 = V::fnma(xn, pp3, y);
            D da = V::fnma(xn, pp3, V::sub(y, t2));
            D a = V::fnma(xn, pp4, t2);
            da = V::add(da, V::fnma(xn, pp4, V::sub(t2, a)));
            I quadrants = V::plus(V::bits(t), Cosine ? 1 : 0);

            // pi/2 - |x|.
            const D half_pi = V::all(0x1.921FB54442D18p0), its_tail = V::all(0x1.1A62633145C07p-54);
            const M second = V::less(absolute, V::all(0x1.368fdp1));
            const D left = V::sub(half_pi, absolute);
            if constexpr (Cosine) {
                const D sum = V::add(left, its_tail);
                a = V::select(second, sum, a);
                da = V::select(second, V::add(V::sub(left, sum), its_tail), da);
                quadrants = V::select(second, V::whole(0), quadrants);
            } else {
                a = V::select(second, left, a);
                da = V::select(second, its_tail, da);
                quadrants = V::select(second, V::cosine_with_sign_of(v), quadrants);
            }

            const M first = V::less(absolute, V::all(0x1.b6p-1));
            a = V::select(first, v, a);
            da = V::select(first, V::all(0.0), da);
            quadrants = V::select(first, V::whole(Cosine ? 1 : 0), quadrants);
            V::store(out + i, of_reduced(a, da, quadrants));
        }
        return i;
    }
};

}  // namespace stator::kernels::sincos
