// What a host adapter offers the recorder: which callables and operators mean which graph values. A host is
// an array library; values of several can meet in one trace.
//
// Every entry point is asked *after* the operation ran eagerly: `result` is what the host returned. It
// returns the result's shadow, or nullptr with TraceBuilder::reason set when the operation is not modelled:
// the recorder then makes it an opaque step. The recorder compares type, dtype, extents and strides of every
// shadow with the real result, so a wrong model is found while recording and never replayed.
#pragma once

#include <span>
#include <utility>

#include "frontend/trace_builder/trace_builder.h"

namespace stator::frontend {

struct Call {
    PyObject* callable;  // ufunc, builtin, method descriptor, type, or a Python-level function of the host
    std::span<const Operand> args;  // positional, then keyword arguments; a bound self comes first
    PyObject* kwnames;              // tuple or nullptr
    PyObject* result;
};

struct Host {
    const char* name;
    graph::HostId id;
    bool (*init)(std::string* error);  // "NumPy 2.0 or later is needed, found 1.26.4: ..."
    // Whether calls of this object are modelled by lower_call, so that the recorder does not inline its
    // bytecode.
    bool (*knows)(PyObject* callable);
    ShadowRef (*lower_call)(TraceBuilder&, const Call&);
    // Operators when at least one operand is this host's array or scalar. `op` is CPython's NB_* / Py_LT..
    // code.
    ShadowRef (*lower_binary)(TraceBuilder&, int nb_op, const Operand& a, const Operand& b, PyObject* result);
    ShadowRef (*lower_compare)(TraceBuilder&, int py_op, const Operand& a, const Operand& b,
                               PyObject* result);
    enum class Unary { Negative, Positive, Invert, Absolute };
    ShadowRef (*lower_unary)(TraceBuilder&, Unary op, const Operand& a, PyObject* result);
    ShadowRef (*lower_subscript)(TraceBuilder&, const Operand& a, const Operand& key, PyObject* result);
    // Asked *before* the store happens (it may need old contents' metadata); false = opaque.
    bool (*lower_store)(TraceBuilder&, const Operand& a, const Operand& key, const Operand& value);
    ShadowRef (*lower_attr)(TraceBuilder&, const Operand& a, PyObject* name,
                            PyObject* result);  // x.T, x.shape, x.dtype
    // `a.shape = value` and its like, asked when it has happened. `sole`: nothing else in the trace views the
    // array's memory. The shadow then shows the same object with its new extents. Null where there is no such
    // thing.
    bool (*lower_set_attr)(TraceBuilder&, const Operand& a, PyObject* name, const Operand& value,
                           bool sole) = nullptr;
    // A method of an array as an unbound callable that lower_call knows, given `array.name`; nullptr when
    // unknown.
    PyObject* (*method)(PyObject* array, PyObject* name);       // borrowed
    ShadowRef (*lower_truth)(TraceBuilder&, const Operand& a);  // a b1 scalar shadow for `if a:`
    bool (*is_array)(PyObject* obj);
    bool (*is_scalar)(PyObject* obj);  // NumPy scalar object
};

const Host& numpy_host();
const Host& torch_host();  // knows nothing while torch is not imported
const Host& cupy_host();   // the same of CuPy

// The host of these operands: torch's or CuPy's if one of them (or an item of one) is an array of that, else
// NumPy's, which also stands for Python's own numbers.
const Host& host_of(std::span<const Operand> operands);
inline const Host& host_of(const Operand& o) { return host_of(std::span(&o, 1)); }
// The host that knows the callable, nullptr when none does.
const Host* host_that_knows(PyObject* callable);

// While alive, nodes follow the rules of this host's library.
class HostScope {
  public:
    HostScope(TraceBuilder& tb, const Host& host) : tb_(tb), outer_(std::exchange(tb.host, host.id)) {}
    ~HostScope() { tb_.host = outer_; }
    HostScope(const HostScope&) = delete;

  private:
    TraceBuilder& tb_;
    graph::HostId outer_;
};

}  // namespace stator::frontend
