// LAPACK's drivers as SciPy wraps them (scipy.linalg.lapack.dgtsv): pure functions of arrays, unless they are
// asked to overwrite an argument.
#pragma once

#include "frontend/hosts/host.h"

namespace stator::frontend::numpy {

bool is_lapack(PyObject* callable);
ShadowRef lower_lapack(TraceBuilder& tb, const Call& call);

}  // namespace stator::frontend::numpy
