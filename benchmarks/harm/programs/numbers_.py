"""Numbers that outgrow 64 bits, complex scalars, hashes in 32 bits, fractions and primes."""

from fractions import Fraction

import numpy as np


def congruential(state, count):
    """A generator of random numbers with 128 bits of state, results into an array."""
    mask, out = (1 << 128) - 1, np.empty(count, np.uint32)
    for i in range(count):
        state = (state * 0x2360ED051FC65DA44385DF649FCCF645 + 0x5851F42D4C957F2D) & mask
        out[i] = state >> 96
    return out


def power_modulo(base, exponent, modulus):
    """Square and multiply on ints of 200 bits."""
    result = 1
    while exponent:
        if exponent & 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent >>= 1
    return result


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def digits_of_e(count):
    """A spigot over a list of ints."""
    cells, out = [1] * (count + 10), []
    for _ in range(count):
        carry = 0
        for i in range(len(cells) - 1, -1, -1):
            value = cells[i] * 10 + carry
            cells[i] = value % (i + 2)
            carry = value // (i + 2)
        out.append(carry)
    return out


def continued(z, depth):
    """A continued fraction of NumPy complex scalars with Python ints."""
    value = z
    for n in range(depth, 0, -1):
        value = n / z - 1.0 / (value + n / z)
    return value


def newton(z, count):
    """Newton's iteration on a NumPy complex scalar until it holds still."""
    for _ in range(count):
        step = (z * z * z - 1) / (3 * z * z)
        z = z - step
        if abs(step) < 1e-12:
            break
    return z


def escape(c, most):
    """How soon a Python complex leaves the circle."""
    z, n = 0j, 0
    while n < most and z.real * z.real + z.imag * z.imag < 4.0:
        z = z * z + c
        n += 1
    return n


def bessel_down(x, count):
    """A recurrence downwards into a complex array."""
    out = np.zeros(count + 2, complex)
    out[count] = 1e-30
    for n in range(count, 0, -1):
        out[n - 1] = (2 * n + 1) / x * out[n] - out[n + 1]
    return out / out[0]


def hash_words(words):
    """A 32-bit hash of NumPy scalars that wraps around."""
    with np.errstate(over="ignore"):
        h = np.uint32(2166136261)
        for w in words:
            h = (h ^ w) * np.uint32(16777619)
            h ^= h >> np.uint32(13)
    return h


def crc(data, table):
    """CRC-32 with a table of Python ints."""
    c = 0xFFFFFFFF
    for byte in data:
        c = table[(c ^ byte) & 255] ^ c >> 8
    return c ^ 0xFFFFFFFF


def harmonic(n):
    total = Fraction(0)
    for k in range(1, n):
        total += Fraction(1, k)
    return total


def sieve(limit):
    """Primes with a list of bools and slices."""
    flags = [True] * (limit + 1)
    flags[:2] = [False, False]
    for p in range(2, int(limit**0.5) + 1):
        if flags[p]:
            flags[p * p :: p] = [False] * len(flags[p * p :: p])
    return [k for k, f in enumerate(flags) if f]


def collatz(limit):
    longest = best = 0
    for start in range(1, limit):
        n, steps = start, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        if steps > longest:
            longest, best = steps, start
    return best, longest


def make(jit):
    rng = np.random.default_rng(2)
    words = rng.integers(0, 2**32, 200, np.uint32)
    data = rng.bytes(1000)
    table = []
    for k in range(256):
        for _ in range(8):
            k = k >> 1 ^ (0xEDB88320 if k & 1 else 0)
        table.append(k)
    prime = (1 << 127) - 1
    return [
        ("big_generator", congruential, lambda k: ((12345 + k) << 90, 2000)),
        ("big_power", power_modulo, lambda k: (3 + k, prime - 2 - k, prime)),
        ("big_fibonacci", fibonacci, lambda k: (900,)),
        ("digits_of_e", digits_of_e, lambda k: (30,)),
        ("complex_fraction", continued, lambda k: (np.complex128(3 + 0.1j * (k % 5)), 60)),
        ("complex_newton", newton, lambda k: (np.complex128(1 + 0.3j * (k % 7)), 40)),
        ("complex_escape", escape, lambda k: (-0.7 + 0.27j + 0.001j * (k % 10), 300)),
        ("complex_array", bessel_down, lambda k: (np.complex128(12.0 + k % 3), 80)),
        ("hash_uint32", hash_words, lambda k: (words,)),
        ("crc_table", crc, lambda k: (data, table)),
        ("fractions", harmonic, lambda k: (40,)),
        ("sieve_list", sieve, lambda k: (3000,)),
        ("collatz", collatz, lambda k: (150,)),
    ]
