// Objects in the frame at a loop's header: which kind of input each can be.
#pragma once

#include "frontend/pyref.h"
#include "graph/dtype.h"

namespace stator::frontend::regions {

struct EntryKind {
    enum Kind : uint8_t {
        Other,
        Int,
        Float,
        Bool,
        Complex,
        Scalar,
        ComplexScalar,
        Array,
        RangeIter,
        ArrayIter,
        Compound,
        Tuple,
        List,
        Slice
    } kind = Other;
    graph::DType dtype = graph::DType::F64;
    int rank = 0;
    bool contiguous = false;  // C order
    bool ordered = false;     // strides do not grow from one axis to the next, whatever their signs
    bool backward = false;    // a vector whose stride is negative
};
EntryKind classify(PyObject* o);
// From here on a count of enumerate's might leave 64 bits: nothing has so many items otherwise.
inline constexpr int64_t kFarCount = int64_t{1} << 62;
// What enumerate, zip, reversed, or an iterator of a sequence tell of themselves: (iterator, number),
// (iterators...), (sequence, position).
PyRef iterator_state(PyObject* o);
// Objects that are what they were in the next call. Others (instances) are handed on without being looked at.
bool keeps_identity(PyObject* o);

}  // namespace stator::frontend::regions
