// Binds vectorcall arguments to a code object's parameter slots as CPython does, without pushing a frame.
#pragma once

#include <vector>

#include "frontend/pyref.h"

namespace stator::frontend {

class ArgBinder {
  public:
    // Reads the signature of a plain Python function (code flags, defaults, keyword-only defaults).
    explicit ArgBinder(PyObject* func);
    int slot_count() const { return slot_count_; }  // parameters incl. *args and **kwargs slots
    // The arguments are the slots as they stand: nothing has to be bound.
    bool direct(size_t nargsf, PyObject* kwnames) const {
        return simple_ && !kwnames && PyVectorcall_NARGS(nargsf) == argcount_;
    }
    // Fills slots[0..slot_count) with borrowed references; new objects (*args tuple, **kwargs dict) are
    // appended to `owned`. False, without an error set, when the arguments do not fit the signature: the
    // caller then calls the function itself, which raises the TypeError. Fast when all arguments are
    // positional and complete. Defaults are read from the function on each call (they may be reassigned).
    // `func` is any function of that code.
    bool bind(PyObject* func, PyObject* const* args, size_t nargsf, PyObject* kwnames, PyObject** slots,
              std::vector<PyRef>& owned) const;

  private:
    bool bind_keywords(PyObject* const* values, PyObject* kwnames, PyObject** slots, PyObject* extra) const;
    bool fill_defaults(PyObject* func, PyObject** slots, std::vector<PyRef>& owned) const;

    PyRef names_;  // co_varnames
    int slot_count_ = 0;
    bool simple_ = false;  // only positional-or-keyword parameters
    int argcount_ = 0, posonly_ = 0, kwonly_ = 0;
    bool varargs_ = false, varkw_ = false;
};

}  // namespace stator::frontend
