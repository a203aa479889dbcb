// See region_loops.h.
#include <stdint.h>

void c_seidel(double* restrict a, int64_t steps, int64_t n) {
    for (int64_t t = 0; t < steps; ++t)
        for (int64_t i = 1; i < n - 1; ++i)
            for (int64_t j = 1; j < n - 1; ++j) {
                a[i * n + j] += a[i * n + j - 1];
                a[i * n + j] /= 9.0;
            }
}

void c_nussinov(int32_t* restrict table, int64_t n) {
    for (int64_t i = n - 1; i >= 0; --i)
        for (int64_t j = i + 1; j < n; ++j)
            for (int64_t k = i + 1; k < j; ++k) {
                const int32_t sum = table[i * n + k] + table[(k + 1) * n + j];
                if (sum > table[i * n + j]) table[i * n + j] = sum;
            }
}

int64_t c_crc16(const uint8_t* data, int64_t n, int64_t poly) {
    int64_t crc = 0xffff;
    for (int64_t i = 0; i < n; ++i) {
        int64_t byte = data[i];
        for (int k = 0; k < 8; ++k) {
            if ((crc & 1) ^ (byte & 1))
                crc = (crc >> 1) ^ poly;
            else
                crc >>= 1;
            byte >>= 1;
        }
    }
    return crc;
}
