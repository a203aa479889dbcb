// The loops of the regions beside this file in C, compiled for this machine with -O3 -ffp-contract=off: what
// regions are measured against.
#pragma once

#include <cstdint>

extern "C" {
void c_seidel(double* a, int64_t steps, int64_t n);
void c_nussinov(int32_t* table, int64_t n);
int64_t c_crc16(const uint8_t* data, int64_t n, int64_t poly);
}
