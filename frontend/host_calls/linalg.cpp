#include "frontend/host_calls/linalg.h"

#include <cmath>

#include "frontend/host_calls/operands.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/hosts/numpy/product_core.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/hosts/numpy/small_products.h"
#include "kernels/tier0/flags.h"

namespace stator::frontend {

namespace {

constexpr int kMostRows = 16;  // above, LAPACK takes longer than NumPy's Python

struct Loop {
    PyUFuncGenericFunction run = nullptr;
    void* data = nullptr;
    explicit operator bool() const { return run != nullptr; }
};

PyObject *g_det, *g_inv, *g_solve, *g_norm, *g_dot;
kernels::HostLoop g_product;
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

// The root of the array's product with itself, as a vector in the order of its memory.
PyObject* norm(PyObject* of) {
    const SmallArray x = small_array(of);
    if (!x || x.size < 2) return nullptr;
    const int64_t size = x.size, stride = kItem;
    const numpy::ProductCore left(&size, &stride, false, true), right(&size, &stride, true, false),
        out(nullptr, nullptr, false, false);
    double square[2] = {};
    kernels::tier0::clear_flags();
    numpy::ProductCall(left, right, out).run(g_product, bytes(x), bytes(x), reinterpret_cast<char*>(square));
    const double root = std::sqrt(square[0]);
    const bool good = kernels::tier0::read_faults() == 0;
    kernels::tier0::clear_flags();
    if (!good) return nullptr;
    return numpy::box_scalar(graph::Box::NpScalar, numpy::DType::F64, reinterpret_cast<const char*>(&root));
}

}  // namespace

void find_linalg() {
    g_product = numpy::find_core_loop({"matmul", {numpy::DType::F64, numpy::DType::F64, numpy::DType::F64}});
    if (g_product.fn) g_norm = function_named("norm");
    PyObject* dot = numpy::numpy_function("dot");
    if (dot && numpy::is_dispatcher(dot)) g_dot = dot;
    if ((g_det_loop = loop_named("det"))) g_det = function_named("det");
    if ((g_inv_loop = loop_named("inv"))) g_inv = function_named("inv");
    g_solve_vector_loop = loop_named("solve1");
    g_solve_matrix_loop = loop_named("solve");
    if (g_solve_vector_loop && g_solve_matrix_loop) g_solve = function_named("solve");
}

bool is_linalg(PyObject* function) {
    return function && (function == g_det || function == g_inv || function == g_solve || function == g_norm ||
                        function == g_dot);
}

bool keeps_cases(PyObject* function) { return function == g_norm; }

PyObject* answer_linalg(PyObject* function, PyObject* const* args, Py_ssize_t count) {
    if (function == g_dot)
        return numpy::small_product(function, args, static_cast<size_t>(count), 0, 0).release();
    if (count != (function == g_solve ? 2 : 1)) return nullptr;
    if (function == g_norm) return norm(args[0]);
    const SmallArray a = square(args[0]);
    if (!a) return nullptr;
    if (function == g_det) return det(a);
    return function == g_inv ? inv(a) : solve(a, args[1]);
}

}  // namespace stator::frontend
