// Shared by the lowerings of this folder.
//
// Rules every lowering follows:
//  * A function of CuPy means generated code only where that has the bits of the kernel that CuPy itself
//    compiles for it (the texts are CuPy's `routine`s); everything else is CuPy's own call on whole operands.
//  * Loops are chosen as CuPy chooses them, from the ufunc's own list of types; dtype and shape of what comes
//    out are compared with what CuPy returned.
//  * Results have no scalars: what has no axes is an array too, and stays on the device until Python looks.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "frontend/hosts/host.h"
#include "frontend/hosts/numpy/lower.h"
#include "guards/check/cupy_api.h"

namespace stator::frontend::cupy {

using graph::DType;
using graph::Id;
using graph::kNone;
using graph::Op;
using graph::Sym;
using guards::is_cupy_array;
using guards::Relation;
using numpy::Arg;

// A function of the table.
struct Function {
    std::string_view name;
    bool fresh = false;  // its result never shares memory with an argument
    bool pure = true;    // CuPy's own call can be made again in a replay
};
const Function* find_function(PyObject* callable);
// cupy.NAME (borrowed), nullptr when there is none.
PyObject* function_named(const char* name);

// --- ufuncs.cpp ---
bool is_ufunc_name(std::string_view name);
bool read_operand(TraceBuilder& tb, const Operand& o, Arg* out);
// Whether CuPy's conversion of an element is the one that generated code does.
bool converts(DType from, DType to);
Id converted(TraceBuilder& tb, const Arg& a, DType to);
// The value of cupy.NAME(*args) in the loop that CuPy would choose.
Id compute(TraceBuilder& tb, std::string_view name, std::span<const Operand> args);
// `v` as the array that CuPy returned: dtype and shape are compared with it.
ShadowRef finish(TraceBuilder& tb, Id v, size_t nodes_before, PyObject* result);

// Each of these: nullptr, also without a reason, when it is not modelled.
ShadowRef lower_ufunc(TraceBuilder& tb, std::string_view name, const Call& call);
ShadowRef lower_reduction(TraceBuilder& tb, std::string_view name, const Call& call);  // reductions.cpp
ShadowRef lower_array(TraceBuilder& tb, std::string_view name, const Call& call);      // arrays.cpp
ShadowRef lower_view(TraceBuilder& tb, std::string_view name, const Call& call);       // views.cpp
ShadowRef lower_query(TraceBuilder& tb, std::string_view name, const Call& call);      // attributes.cpp

// --- views.cpp ---
ShadowRef lower_subscript(TraceBuilder& tb, const Operand& a, const Operand& key, PyObject* result);
// --- stores.cpp ---
ShadowRef lower_in_place(TraceBuilder& tb, std::string_view name, const Operand& a, const Operand& b);
// ufunc(..., out=): the output's shadow.
ShadowRef lower_into(TraceBuilder& tb, std::string_view name, std::span<const Operand> in,
                     const Operand& out);
bool lower_store(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& value);
// --- attributes.cpp ---
ShadowRef lower_attr(TraceBuilder& tb, const Operand& a, PyObject* name, PyObject* result);
// --- library.cpp ---
ShadowRef lower_library(TraceBuilder& tb, const Call& call, bool fresh);

}  // namespace stator::frontend::cupy
