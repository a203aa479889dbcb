// Objects in the frame at a loop's header: which kind of input each can be.
#pragma once

#include "frontend/pyref.h"
#include "graph/dtype.h"

namespace stator::frontend::regions {

struct EntryKind {
    enum Kind : uint8_t { Other, Int, Float, Bool, Scalar, Array, RangeIter, ArrayIter, Tuple } kind = Other;
    graph::DType dtype = graph::DType::F64;
    int rank = 0;
    bool contiguous = false;  // C order
    bool ordered = false;     // strides do not grow from one axis to the next
};
EntryKind classify(PyObject* o);

}  // namespace stator::frontend::regions
