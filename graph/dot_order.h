// In which order a dot of two vectors adds up its products, as a BLAS does it where strides are not one.
//
// Products are taken in steps of `block`. Those of a step that go to one of the `sums` accumulators (number k
// goes to k % sums) are added to each other first and then to the accumulator; what is left over goes to the
// first one, product by product. The result is the sum of the accumulators, all of which begin as 0.
#pragma once

#include <cstdint>

namespace stator::graph {

struct DotOrder {
    enum Fused : uint8_t { None, First, Second };

    int block = 0;            // 0: not known
    int sums = 1;             // 1 or 2; block is `sums` or twice that
    Fused fused = None;       // which product of a step is not rounded
    bool fused_rest = false;  // those left over are not rounded
    bool wide = false;        // accumulators of f32 are f64; products, and their sum within a step, are f32

    // Of vectors that are longer nothing is known: a BLAS may share them out to threads.
    static constexpr int64_t kLongest = 8192;

    int terms() const { return block / sums; }  // of a step, for each accumulator
    friend bool operator==(const DotOrder&, const DotOrder&) = default;

    // As a number for Inst::ints; 0 is an order that is not known.
    int64_t encode() const {
        return block | sums << 4 | fused << 8 | (fused_rest ? 1 << 12 : 0) | (wide ? 1 << 13 : 0);
    }
    static DotOrder decode(int64_t bits) {
        return {static_cast<int>(bits & 15), static_cast<int>(bits >> 4 & 15),
                static_cast<Fused>(bits >> 8 & 15), (bits >> 12 & 1) != 0, (bits >> 13 & 1) != 0};
    }
    bool valid() const {
        return (sums == 1 || sums == 2) && (terms() == 1 || terms() == 2) && block == sums * terms() &&
               fused <= Second && (fused != Second || terms() == 2);
    }
};

}  // namespace stator::graph
