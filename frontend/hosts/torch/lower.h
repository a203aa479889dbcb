// Shared by the lowerings of this folder.
//
// Rules every lowering follows:
//  * A function of torch means generated code only where that has the bits of torch's own CPU kernels in
//  every
//    layout; everything else is torch's own call on whole operands (lower_library).
//  * What a lowering expects of dtype and shape is compared with what torch returned; where they differ it
//    fails, and torch's own call is recorded.
//  * Views are affine maps in the graph; where they leave the trace, torch makes them again by the same call,
//    because `_base` and the kind of view show.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "frontend/hosts/host.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/torch/runtime.h"
#include "frontend/hosts/torch/sizes.h"
#include "guards/check/torch_api.h"

namespace stator::frontend::torch {

using graph::DType;
using graph::Id;
using graph::kNone;
using graph::Op;
using graph::Sym;
using guards::is_tensor;
using guards::Relation;

// A function of the table: `name` without the underscore of its in-place form.
struct Function {
    std::string_view name;
    bool in_place = false;
    bool fresh = false;  // its result never shares memory with an argument
};
const Function* find_function(PyObject* callable);
// A builtin function of this module (borrowed), nullptr when there is none.
PyObject* builtin(const char* module, std::string_view name);
// The form of the function that gives a fresh result (borrowed), nullptr when there is none.
PyObject* pure_form(std::string_view name);

// --- pointwise.cpp ---
// The function's value on these operands as generated code computes it; kNone when it is not generated.
Id compute(TraceBuilder& tb, std::string_view name, std::span<const Operand> args, PyObject* kwnames);
// `v` as the tensor that torch returned.
ShadowRef finish(TraceBuilder& tb, Id v, size_t nodes_before, PyObject* result);
// A number or 0-d value in another dtype; kNone where generated code does not convert as torch does.
Id converted(TraceBuilder& tb, Id v, DType to);
// An operand as a value of dtype `to`.
Id read_value(TraceBuilder& tb, const Operand& o, DType to);
// A guard that a number is not larger than the dtype's largest, for functions that raise where it is
// (c10::checked_convert). Other operands fit. Item stores and `where` let halves become infinite.
bool fits_number(TraceBuilder& tb, const Operand& o, DType to);

// --- views.cpp ---
// nullptr, also without a reason, when it is not modelled.
ShadowRef lower_view(TraceBuilder& tb, std::string_view name, const Call& call);
// The same for what torch has to make: a view of a tensor with gaps, of which it is known how it lies.
ShadowRef lower_library_view(TraceBuilder& tb, std::string_view name, const Call& call);
// split and chunk into equal parts.
ShadowRef lower_parts(TraceBuilder& tb, std::string_view name, const Call& call);
ShadowRef lower_subscript(TraceBuilder& tb, const Operand& a, const Operand& key, PyObject* result);

// --- stores.cpp ---
ShadowRef lower_in_place(TraceBuilder& tb, std::string_view name, const Call& call);
bool lower_store(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& value);

// --- attributes.cpp ---
ShadowRef lower_attr(TraceBuilder& tb, const Operand& a, PyObject* name, PyObject* result);
// Methods and builtins that tell about metadata: size(), dim(), len(x).
ShadowRef lower_query(TraceBuilder& tb, std::string_view name, const Call& call);
bool is_query(std::string_view name);

// --- direct.cpp ---
// The builtin that a function written in Python comes down to with these arguments, and what that is given.
struct DirectCall {
    PyObject* callable = nullptr;  // borrowed
    std::vector<Operand> args;
};
bool direct_form(TraceBuilder& tb, std::string_view name, const Call& call, DirectCall* out);

// --- extents.cpp ---
// The shape of the call's result in terms of its operands' extents; false when it does not follow from them.
bool result_extents(TraceBuilder& tb, std::string_view name, const Call& call, Shape* out);

// --- modules.cpp ---
ShadowRef lower_attention_module(TraceBuilder& tb, const Call& call);

// --- library.cpp ---
// `f`: what the callable is, where that says something about the result.
ShadowRef lower_library(TraceBuilder& tb, const Call& call, const Function* f = nullptr);
// Whether all arguments can be given to a later call again, and none makes it write or draw random numbers.
bool can_repeat(TraceBuilder& tb, const Call& call);

}  // namespace stator::frontend::torch
