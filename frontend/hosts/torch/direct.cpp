// Functions of torch.nn.functional that are written in Python and end in one call of a builtin: replays call
// that.
#include <algorithm>

#include "frontend/hosts/torch/lower.h"
#include "frontend/once.h"
#include "guards/check/functions.h"

namespace stator::frontend::torch {

namespace {

struct Row {
    std::string_view name;
    const char* module;  // of the builtin of the same name
    std::vector<const char*> parameters;
    size_t passed;  // how many of these go on to the builtin; the others have to have their defaults
};

const std::vector<Row>& rows() {
    static const auto* all = new std::vector<Row>{
        {"layer_norm", "torch", {"input", "normalized_shape", "weight", "bias", "eps"}, 5},
        {"rms_norm", "torch", {"input", "normalized_shape", "weight", "eps"}, 4},
        {"group_norm", "torch", {"input", "num_groups", "weight", "bias", "eps"}, 5},
        {"softmax", "torch", {"input", "dim", "_stacklevel", "dtype"}, 2},
        {"log_softmax", "torch", {"input", "dim", "_stacklevel", "dtype"}, 2},
        {"relu", "torch", {"input", "inplace"}, 1},
        {"silu", "torch._C._nn", {"input", "inplace"}, 1},
        {"mish", "torch._C._nn", {"input", "inplace"}, 1},
        {"hardswish", "torch._C._nn", {"input", "inplace"}, 1},
        {"leaky_relu", "torch._C._nn", {"input", "negative_slope", "inplace"}, 2},
        {"elu", "torch._C._nn", {"input", "alpha", "inplace"}, 2},
        {"selu", "torch", {"input", "inplace"}, 1},
        {"celu", "torch", {"input", "alpha", "inplace"}, 2},
    };
    return *all;
}

bool has_default(TraceBuilder& tb, const Operand* o, std::string_view parameter) {
    if (!o) return true;
    if (!tb.require_constant(o->shadow, o->obj)) return false;
    return parameter == "_stacklevel" || o->obj == Py_None || o->obj == Py_False;
}

}  // namespace

bool direct_form(TraceBuilder& tb, std::string_view name, const Call& call, DirectCall* out) {
    if (!guards::is_function(call.callable)) return false;
    const auto row = std::ranges::find(rows(), name, &Row::name);
    const Operand* p[8] = {};
    if (row == rows().end() || !numpy::bind(tb, call, std::span(row->parameters), p)) return false;
    size_t given = 0, i = 0;
    for (const char* parameter : row->parameters) {
        if (i >= row->passed && !has_default(tb, p[i], parameter)) return false;
        if (i < row->passed && p[i] && given++ != i) return false;  // one before it was left out
        ++i;
    }
    if (name == "softmax" || name == "log_softmax")
        if (given != 2 || p[1]->obj == Py_None) return false;
    out->callable = builtin(row->module, row->name);
    for (i = 0; i < given; ++i) out->args.push_back(*p[i]);
    return out->callable && given > 0;
}

}  // namespace stator::frontend::torch
