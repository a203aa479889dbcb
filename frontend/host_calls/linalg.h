// Determinants, inverses and solutions of small systems, norms and products: np.linalg.det of a 4x4 matrix
// takes 3.3 us, of which LAPACK takes 0.2. NumPy's own loop is called, which calls LAPACK or the BLAS; what
// it finds singular is left to NumPy.
#pragma once

#include <Python.h>

namespace stator::frontend {

void find_linalg();
bool is_linalg(PyObject* function);
bool keeps_cases(PyObject* function);  // what is not answered at once may be worth a trace
// NULL without an error where NumPy has to be asked.
PyObject* answer_linalg(PyObject* function, PyObject* const* args, Py_ssize_t count);

}  // namespace stator::frontend
