// What the recorder knows about the Python objects in a frame's slots.
//
// A Shadow stands for one Python object: two slots that hold the same object hold the same ShadowRef, and a
// store through one is seen through the other. A shadow begins `Lazy` when the object was there at trace
// entry: nothing is guarded until something depends on it. `TraceBuilder::resolve` turns Lazy into a concrete
// kind and adds the guards.
#pragma once

#include <memory>
#include <vector>

#include "frontend/pyref.h"
#include "graph/graph.h"
#include "guards/source.h"

namespace stator::frontend {

enum class ShadowKind : uint8_t {
    Null,      // empty slot
    Lazy,      // read at entry from `source`, nothing assumed yet
    Object,    // a constant (from the code, or guarded by identity): `obj`
    Opaque,    // guarded on its exact type only (attribute base, container): `source`
    Array,     // an array or tensor: a view of a buffer
    Scalar,    // float, bool, complex or NumPy scalar: graph value `value`, boxed as `box`
    Int,       // Python int: `sym`
    Tuple,     // items; built in this trace or unpacked from a guarded tuple (then `source` is set)
    List,      // items; built in this trace and not yet escaped
    Slice,     // three items
    Method,    // items = {function, self}
    Dict,      // built in this trace and not yet escaped: items = key, value, ... (keys are constant strings)
    Made,      // an object made in this trace: items = {callable, tuple of keywords, values ...}
    Cell,      // items = {contents}, a Null shadow when empty; with `source` the cell was there at entry, and
               // has no items before it is read or written
    Function,  // made in this trace: items as graph::FunctionItem says, Null where it has none
    Iter,      // an iterator made in this trace over items[0], which gives `length` items: those of a further
               // tuple in items[1] where items[0] does not say them itself
    Instance,  // an object of a class in Python, made in this trace: items = name, value, ... of the
               // attributes that it has itself, in the order of their first stores; `obj` is another one of
               // its class
};

struct Shadow;
using ShadowRef = std::shared_ptr<Shadow>;

// One step from a buffer to a view of it; the same meaning as graph nodes `view` and `reshape`.
struct ViewStep {
    bool reshape = false;
    std::vector<int> map;           // per input axis: result axis, or -1
    std::vector<int64_t> step;      // per input axis
    std::vector<graph::Sym> start;  // per input axis
    std::vector<graph::Sym> shape;  // of the result
};

// How a tensor lies in the memory of another object of the trace, which is not a view itself.
struct Placement {
    ShadowRef origin;
    std::vector<graph::Sym> strides;  // in elements
    graph::Sym offset;
};

struct Shadow {
    ShadowKind kind = ShadowKind::Null;
    guards::SourceId source = guards::kNoSource;
    guards::SourceId example = guards::kNoSource;  // Instance: where guards on its class find `obj`
    PyRef obj;                               // Object; for Lazy and Opaque: the object seen while recording
    graph::Id value = graph::kNone;          // Scalar; Opaque: an array only for the host, made in this trace
    graph::Box box = graph::Box::Array;      // Scalar
    graph::DType dtype = graph::DType::F64;  // Array, Scalar
    graph::Sym sym;                          // Int
    std::vector<ShadowRef> items;
    bool used = false;          // Made: was entered, so another object would not do for it
    bool written = false;       // Cell with `source`: the trace changed its contents
    int number = -1;            // Cell without `source`: which one of the trace's
    int given = 0, length = 0;  // Iter
    bool walks = false;         // Iter: over a dict

    // Array
    graph::HostId host = graph::HostId::NumPy;
    // Views of tensors, and tuples of other types: what makes the object again, as items of a Make recipe.
    std::vector<ShadowRef> maker;
    std::vector<int64_t> strides;  // bytes, as seen while recording
    bool writeable = true;
    int buffer = -1;             // index into TraceBuilder's buffers
    std::vector<ViewStep> path;  // from the buffer; empty = the buffer's own array object
    std::vector<graph::Sym> shape;
    std::vector<graph::Sym> shape_by_now;  // TraceBuilder::shape(): under the names its extents have by now
    graph::Layout layout = graph::Layout::Contiguous;
    std::vector<int> perm;
    std::shared_ptr<Placement> placement;  // of a view that is a library call's result
    int input = -1;                        // graph input when this is the very object read at entry
    ShadowRef base;                        // views: the shadow of the array viewed
    graph::Id cached = graph::kNone;       // graph value of this view at version `cached_version`
    graph::Id cached_version = graph::kNone;
};

// The type of the tuple that a Tuple shadow stands for: its maker is the type itself (torch.Size), or
// `tuple.__new__`, which is given the type first (named tuples).
inline PyObject* tuple_type(const Shadow& s) {
    if (s.maker.empty()) return reinterpret_cast<PyObject*>(&PyTuple_Type);
    PyObject* callable = s.maker[0]->obj.get();
    return PyType_Check(callable) ? callable : s.maker[2]->obj.get();
}

}  // namespace stator::frontend
