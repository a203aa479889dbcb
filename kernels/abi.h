// What generated code, tier 0 and the replayer agree on. Plain C layout, no Python, no LLVM.
//
// A Program (program.h) is what a segment of a graph becomes: buffers, symbolic integers, scalars and a list
// of loop nests. To run one, the replayer fills a KernelArgs and calls every nest's entry in order. An entry
// works on the half-open range [begin, end) of the nest's outermost loop, so that ranges can be given to
// threads; nests that must not be split say so in the Program. The value returned is a set of fault bits.
#pragma once

#include <cstdint>

namespace stator::kernels {

// Floating-point flags in the bit order of NumPy's NPY_FPE_* (divide 1, overflow 2, underflow 4, invalid 8),
// and the faults of integer code.
enum Fault : uint32_t {
    kFaultDivide = 1,
    kFaultOverflow = 2,
    kFaultUnderflow = 4,
    kFaultInvalid = 8,
    kFaultHost = 16,  // a host function failed; a Python error may be set
};

// NumPy's PyUFuncGenericFunction. args: one pointer per operand, inputs first; dims: {n}; strides in bytes.
using HostLoopFn = void (*)(char** args, const int64_t* dims, const int64_t* strides, void* data);
struct HostLoop {
    HostLoopFn fn = nullptr;
    void* data = nullptr;
};

struct KernelArgs {
    char* const* buffers;    // address of element (0, 0, ...) of each Program::buffers entry
    const int64_t* strides;  // bytes; buffer b's start at Program::buffers[b].stride_base, one per axis
    const int64_t* syms;     // values of Program::syms
    char* scalars;           // 16-byte slots: scalar inputs, constants and results (Program::scalars)
    const HostLoop* loops;   // Program::loops, resolved in this process
    char* scratch;           // Program::scratch_bytes of chunk storage, 64-byte aligned; one per thread
};

using NestFn = uint32_t (*)(const KernelArgs* args, int64_t begin, int64_t end);

}  // namespace stator::kernels
