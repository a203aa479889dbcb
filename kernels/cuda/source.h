// The CUDA printer: a program's nests become CUDA C++ kernels, as the GPU schedule groups and shapes them.
//
// The source depends on nothing but its prelude and CUDA's built-ins, so that NVRTC compiles it without
// headers and any shim that gives those built-ins a meaning compiles it for the CPU. Extents, strides and
// addresses are parameters: a new size needs no new kernel. What depends on alignment is decided in the
// kernel, from the addresses it gets. All index arithmetic is in 64 bits.
#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/schedule.h"
#include "kernels/loops/loop_ir.h"

namespace stator::kernels {

// What one parameter of a kernel is. Pointers and 64-bit integers, but for scalars, which have the size of
// their dtype (b1: one byte).
enum class CudaParamKind : uint8_t {
    Buffer,   // address of Program::buffers[index]
    Extent,   // value of Program::syms[index]
    Stride,   // KernelArgs::strides[index], in bytes
    Scalar,   // value of Program::scalars[index]
    Result,   // address where Program::scalars[index] lies or goes; element size of its dtype
    Partial,  // address of Launch::partial_bytes of memory that the phases of one kernel share
    Slices,   // Launch::slices
    Phase,    // Launch::phase
    Staged,   // 1 when Launch::staged
    Shift,    // Launch::tile_shift
};
struct CudaParam {
    CudaParamKind kind;
    int index = -1;
    int bytes = 8;
    bool operator==(const CudaParam&) const = default;
};

struct CudaKernel {
    std::string name;
    int unit = 0;  // which of the programs it belongs to
    GpuKernel schedule;
    std::vector<CudaParam> params;
};

struct CudaSource {
    std::string text;  // the prelude and all kernels
    std::vector<CudaKernel> kernels;
    std::string error;  // why there is no code; names the op and its dtypes
    // What NVRTC is to be given beside its usual options: what arrays' own library compiles its kernels with.
    std::vector<std::string> options;
};

// One source for several programs of one graph, in the order in which they run (null: one that runs
// elsewhere). `prefix` begins the names of the kernels; with `fastmath` results may differ in their last
// bits. Never fails otherwise than by `error`.
CudaSource emit_cuda(const std::vector<const Program*>& programs, const graph::Graph& g,
                     const std::string& prefix, bool fastmath);

// Whether the scalar lies in memory of the device when a program begins: it was computed there before. Others
// are given by value, as they are when the program begins; 0-d arrays too, which the program may store to.
bool on_device(const Scalar& s, const graph::Graph& g);

}  // namespace stator::kernels
