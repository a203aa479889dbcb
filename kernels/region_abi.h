// How compiled regions (graph/region/region.h) are called. Plain C types only: no Python, no LLVM.
#pragma once

#include <cstdint>

#include "kernels/abi.h"

namespace stator::kernels {

// A pure function of scalars, by number of operands and dtype; the only ones so far.
using ScalarFn1 = double (*)(double);
using ScalarFn2 = double (*)(double, double);
// NumPy's PyArray_DotFunc.
using DotFn = void (*)(void* a, int64_t a_stride, void* b, int64_t b_stride, void* out, int64_t n,
                       void* ignored);

// A library routine. `words` holds what the instruction's operands are, in order: of an array its address,
// extents and strides; of a scalar two words with its bits in memory. Behind them `made` has how many arrays
// are to be kept, their addresses, and room for the result's address and extents. Gives the Fault bits that
// were raised; with kFaultHost it did nothing that shows.
using LibraryFn = uint32_t (*)(void* data, int64_t* words);

struct RegionCallTarget {
    void* fn = nullptr;    // ScalarFn1 / ScalarFn2, HostLoopFn, DotFn or LibraryFn
    void* data = nullptr;  // HostLoopFn's, LibraryFn's
};

struct RegionArgs {
    char* const* arrays;  // per array input, in order of inputs: address of element (0, 0, ...)
    const int64_t* dims;  // per array input: extents, then strides in bytes
    const char* scalars;  // 16-byte slots: scalar inputs in order
    // The exit's values, 16-byte slots: one for a scalar (in its dtype's form in memory); for an array its
    // address, extents and strides (int64), a slot each.
    char* out;
    const RegionCallTarget* calls;
    const volatile int32_t* breaker;  // the interpreter wants attention when *breaker & breaker_mask
    int32_t breaker_mask;
    // Memory for `scratch`: cell ints[0] of the instruction keeps what it got last time (graph::scratch_cells
    // says how many there are). Cells start zeroed.
    struct ScratchCell {
        char* memory = nullptr;
        int64_t bytes = 0;
    }* scratch;
    // What `trust` and `distrust` remember from one call to the next; starts zeroed.
    struct Trust {
        int64_t left = 0;     // entries without checkpoints still to come
        int64_t penalty = 0;  // how many there were to be the last time
        int64_t since = 0;    // entries since then
    }* trust;
    bool (*grow)(ScratchCell* cell, int64_t bytes);  // false: no memory; 64-byte aligned otherwise
    // Where code for now finds `breaker` anew at each header: to be led elsewhere, out of the loop, when
    // there is better code (RegionSlot). Optimized code does not look at it.
    const volatile int32_t* volatile* breaker_cell = nullptr;
    // Not 0 when another thread has run meanwhile, in a library routine: what was read at entry may have
    // changed. Polls of regions that call library routines look at it.
    const volatile int32_t* disturbed = nullptr;
    // Of regions that count (graph::Block::steps): polls of the outermost loop leave where this is
    // not 0, and `steps` becomes the number of the interpreter's instructions that the code stood for.
    const volatile int32_t* leave = nullptr;
    int64_t* steps = nullptr;
};

// Runs the region; returns the exit taken.
using RegionFn = int32_t (*)(const RegionArgs* args);

}  // namespace stator::kernels
