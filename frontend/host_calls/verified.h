// STATOR_VERIFY: what stator answers NumPy is asked as well, and has to give the same.
#pragma once

#include "frontend/host_calls/tally.h"
#include "frontend/pyref.h"

namespace stator::frontend {

// Whether answers are compared. Those that would change one of their arguments are NumPy's then.
bool host_calls_are_verified();

// While alive, calls of this thread are NumPy's.
class ByNumPy {
  public:
    ByNumPy();
    ~ByNumPy();
    ByNumPy(const ByNumPy&) = delete;

  private:
    bool outer_;
};
bool is_by_numpy();

// The one that the program gets: NumPy's, with a report and a kept case where ours is another. Takes both
// references; `theirs` is NULL with an exception set where NumPy raises.
PyObject* compare_with_numpys(PyObject* ours, PyObject* theirs, PyRef function, PyObject* const* args,
                              Py_ssize_t count);

// What a report calls it: NumPy's function, or an operator's text.
inline PyRef named(PyObject* function) { return PyRef::borrow(function); }
inline PyRef named(const char* text) { return PyRef::steal(PyUnicode_FromString(text)); }

// What was answered (NULL: nothing was), counted, and once NumPy's own call, which `numpys` makes, has given
// the same.
template <class Name, class F>
PyObject* answered(PyObject* ours, Tally& tally, Name function, PyObject* const* args, Py_ssize_t count,
                   F numpys) {
    if (!ours) return nullptr;
    ++tally.answered;
    if (!host_calls_are_verified()) return ours;
    const ByNumPy by_numpy;
    return compare_with_numpys(ours, numpys(), named(function), args, count);
}

// Tests: answers are spoiled before they are compared.
void spoil_host_calls(bool on);

}  // namespace stator::frontend
