// What CUDA code computes for each op, as text: one C++ expression over the names of its operands. The rules
// are those of llvm/ops.cpp: every operation rounds once and as IEEE says (the _rn intrinsics, which are
// never contracted), integers wrap, nothing has an undefined case. Functions are CUDA's own, as they are for
// the array libraries of the GPU.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "kernels/loops/loop_ir.h"

namespace stator::kernels::cuda {

// What a source needs in front of its kernels: pieces of the prelude by name (cuda/prelude.cpp has their
// texts), and functions that are called rather than copied in, by name.
struct Uses {
    std::set<std::string, std::less<>> pieces;
    std::map<std::string, std::string> functions;
    bool stores_words = false;
    bool fast = false;  // results may differ in the last bits: contraction, approximate division and exp
    void insert(std::string_view piece) { pieces.emplace(piece); }
};

std::string_view value_type(graph::DType t);   // in registers: "f32", "bool", "c64"
std::string_view memory_type(graph::DType t);  // in memory: the same, but u8 for b1

// The value of statement `i` of the nest from its operands' names. Empty when there is no code for it.
// `called`: dear functions are called, so that the kernel has one copy of each.
std::string compute(const LoopNest& nest, int i, const std::vector<std::string>& in, bool called, Uses& uses);
// The same of an Add or Subtract one of whose operands is the product x * y, with one rounding.
std::string contracted(const Stmt& s, const std::string& x, const std::string& y, bool product_first,
                       const std::string& other);
std::string convert(graph::DType from, graph::DType to, const std::string& x, Uses& uses);
std::string constant(graph::DType t, uint64_t low, uint64_t high, Uses& uses);

// A reduction: the type of its accumulator (f16 is summed in f32), where a thread starts, and one step.
struct Reduction {
    graph::DType accumulator;
    std::string start;      // neutral: combining it with x gives x
    std::string combine;    // name of a prelude function of two accumulators
    bool position = false;  // argmax and argmin: the accumulator is a value and its position
};
// `lanes`: threads of a warp exchange accumulators.
bool reduction(const LoopNest& nest, int i, bool lanes, Reduction* out, Uses& uses);

// About how much code one copy of statement `i` is: 0 for arithmetic, 1 for a function without branches.
int code_weight(const LoopNest& nest, int i);

// What `uses` names and needs, in order.
std::string prelude(const Uses& uses);

}  // namespace stator::kernels::cuda
