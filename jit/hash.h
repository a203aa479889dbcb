// MurmurHash3 x64 128 (Austin Appleby, public domain): names of cache files and checksums of their contents.
// Not for secrets: what a file stands for is compared in full, and only files of our own user are read.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace stator::jit {

struct Hash128 {
    uint64_t lo = 0, hi = 0;
    bool operator==(const Hash128&) const = default;
    std::string hex() const {
        static constexpr char digits[] = "0123456789abcdef";
        std::string s;
        for (const uint64_t word : {hi, lo})
            for (int shift = 60; shift >= 0; shift -= 4) s += digits[word >> shift & 15];
        return s;
    }
};

inline Hash128 hash128(std::string_view data) {
    constexpr uint64_t c1 = 0x87c37b91114253d5, c2 = 0x4cf5ad432745937f;
    const auto rotl = [](uint64_t x, int r) { return x << r | x >> (64 - r); };
    const auto mix = [](uint64_t k) {
        k = (k ^ k >> 33) * 0xff51afd7ed558ccd;
        k = (k ^ k >> 33) * 0xc4ceb9fe1a85ec53;
        return k ^ k >> 33;
    };
    uint64_t h1 = 0, h2 = 0;
    const size_t blocks = data.size() / 16;
    for (size_t i = 0; i < blocks; ++i) {
        uint64_t k[2];
        std::memcpy(k, data.data() + i * 16, 16);
        h1 ^= rotl(k[0] * c1, 31) * c2;
        h1 = (rotl(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= rotl(k[1] * c2, 33) * c1;
        h2 = (rotl(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    uint64_t tail[2] = {0, 0};
    std::memcpy(tail, data.data() + blocks * 16, data.size() % 16);
    h2 ^= rotl(tail[1] * c2, 33) * c1;
    h1 ^= rotl(tail[0] * c1, 31) * c2;
    h1 ^= data.size();
    h2 ^= data.size();
    h1 += h2;
    h2 += h1;
    h1 = mix(h1);
    h2 = mix(h2);
    h1 += h2;
    h2 += h1;
    return {h1, h2};
}

}  // namespace stator::jit
