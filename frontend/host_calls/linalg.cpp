#include "frontend/host_calls/linalg.h"

#include <iterator>
#include <string>

#include "frontend/host_calls/operands.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/hosts/numpy/runtime.h"
#include "kernels/tier0/flags.h"

namespace stator::frontend {

namespace {

constexpr int kMostRows = 16;  // above, LAPACK takes longer than NumPy's Python

struct Loop {
    PyUFuncGenericFunction run = nullptr;
    void* data = nullptr;
    explicit operator bool() const { return run != nullptr; }
};

PyObject *g_det, *g_inv, *g_solve;
Loop g_det_loop, g_inv_loop, g_solve_vector_loop, g_solve_matrix_loop;

// The loop of one of numpy.linalg's ufuncs in which everything is float64.
Loop loop_named(const char* name) {
    const PyRef module = module_named("numpy.linalg._umath_linalg");
    const PyRef found = PyRef::steal(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
    PyErr_Clear();
    if (!found || !PyObject_TypeCheck(found.get(), &PyUFunc_Type)) return {};
    auto* u = reinterpret_cast<PyUFuncObject*>(found.get());
    for (int i = 0; i < u->ntypes; ++i) {
        bool match = u->functions[i] != nullptr;
        for (int k = 0; k < u->nargs; ++k) match &= u->types[i * u->nargs + k] == NPY_DOUBLE;
        if (match)
            return {u->functions[i],
                    u->data ? const_cast<void*>(static_cast<const void*>(u->data[i])) : nullptr};
    }
    return {};
}

PyObject* function_named(const char* name) {
    const PyRef module = module_named("numpy.linalg");
    PyObject* found = module ? PyObject_GetAttrString(module.get(), name) : nullptr;  // kept for ever
    PyErr_Clear();
    return found && numpy::is_dispatcher(found) ? found : nullptr;
}

SmallArray square(PyObject* o) {
    const SmallArray a = small_array(o);
    return a && a.rank() == 2 && a.shape()[0] == a.shape()[1] && a.shape()[0] <= kMostRows ? a : SmallArray{};
}

// False: it has reported something, such as a singular matrix.
bool run(const Loop& loop, char** data, npy_intp n, npy_intp columns, const npy_intp* core_steps,
         int operands, int core_step_count) {
    npy_intp dims[] = {1, n, columns};
    npy_intp steps[16] = {};  // of the outer loop, which has one round; then of the matrices
    for (int i = 0; i < core_step_count; ++i) steps[operands + i] = core_steps[i];
    kernels::tier0::clear_flags();
    loop.run(data, dims, steps, loop.data);
    const bool good = kernels::tier0::read_faults() == 0;
    kernels::tier0::clear_flags();
    return good;
}

constexpr npy_intp kItem = sizeof(double);

char* bytes(PyObject* array) { return PyArray_BYTES(reinterpret_cast<PyArrayObject*>(array)); }
char* bytes(const SmallArray& a) { return PyArray_BYTES(a.array); }

PyObject* det(const SmallArray& a) {
    double out[2] = {};
    char* data[] = {bytes(a), reinterpret_cast<char*>(out)};
    const npy_intp n = a.shape()[0], steps[] = {n * kItem, kItem};
    if (!run(g_det_loop, data, n, 0, steps, 2, 2)) return nullptr;
    return numpy::box_scalar(graph::Box::NpScalar, numpy::DType::F64, data[1]);
}

PyObject* inv(const SmallArray& a) {
    PyObject* result = new_like(a, g_float64, kItem);
    if (!result) return nullptr;
    char* data[] = {bytes(a), bytes(result)};
    const npy_intp n = a.shape()[0], steps[] = {n * kItem, kItem, n * kItem, kItem};
    if (run(g_inv_loop, data, n, 0, steps, 2, 4)) return result;
    Py_DECREF(result);
    return nullptr;
}

PyObject* solve(const SmallArray& a, PyObject* right) {
    const SmallArray b = small_array(right);
    const npy_intp n = a.shape()[0];
    if (!b || b.rank() > 2 || b.shape()[0] != n) return nullptr;
    PyObject* result = new_like(b, g_float64, kItem);
    if (!result) return nullptr;
    char* data[] = {bytes(a), bytes(b), bytes(result)};
    const npy_intp columns = b.rank() == 2 ? b.shape()[1] : 1;
    const npy_intp of_vectors[] = {n * kItem, kItem, kItem, kItem};
    const npy_intp of_matrices[] = {n * kItem, kItem, columns * kItem, kItem, columns * kItem, kItem};
    const bool good = b.rank() == 1 ? run(g_solve_vector_loop, data, n, 0, of_vectors, 3, 4)
                                    : run(g_solve_matrix_loop, data, n, columns, of_matrices, 3, 6);
    if (good) return result;
    Py_DECREF(result);
    return nullptr;
}

}  // namespace

void find_linalg() {
    if ((g_det_loop = loop_named("det"))) g_det = function_named("det");
    if ((g_inv_loop = loop_named("inv"))) g_inv = function_named("inv");
    g_solve_vector_loop = loop_named("solve1");
    g_solve_matrix_loop = loop_named("solve");
    if (g_solve_vector_loop && g_solve_matrix_loop) g_solve = function_named("solve");
}

bool is_linalg(PyObject* function) {
    return function && (function == g_det || function == g_inv || function == g_solve);
}

PyObject* answer_linalg(PyObject* function, PyObject* const* args, Py_ssize_t count) {
    if (count != (function == g_solve ? 2 : 1)) return nullptr;
    const SmallArray a = square(args[0]);
    if (!a) return nullptr;
    if (function == g_det) return det(a);
    return function == g_inv ? inv(a) : solve(a, args[1]);
}

}  // namespace stator::frontend
