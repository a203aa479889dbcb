// CPython 3.13: the first version with what raw/since_v313.h says, the last one with plain slots.
#pragma once

#include "internal/pycore_ceval.h"
#include "internal/pycore_code.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"
#include "internal/pycore_setobject.h"

#include "frontend/cpython/raw/monitoring.h"
#include "frontend/cpython/raw/plain_slots.h"

namespace stator::frontend::raw {

inline constexpr int kMinor = 13;
using IFrame = struct _PyInterpreterFrame;

inline PyCodeObject* code(IFrame* f) { return _PyFrame_GetCode(f); }
inline PyObject* function(IFrame* f) { return f->f_funcobj; }

inline int* c_recursion(PyThreadState* ts) { return &ts->c_recursion_remaining; }

inline int exception_group_match(IFrame*, PyObject* value, PyObject* types, PyObject** match,
                                 PyObject** rest) {
    return _PyEval_ExceptionGroupMatch(value, types, match, rest);
}

}  // namespace stator::frontend::raw

#include "frontend/cpython/raw/since_v313.h"
