// Determinants, inverses and solutions of small systems, norms and products: np.linalg.det of a 4x4 matrix
// takes 3.3 us, of which LAPACK takes 0.2. NumPy's own loop is called, which calls LAPACK or the BLAS; what
// it finds singular is left to NumPy.
#include "frontend/host_calls/at_once.h"

#include <cmath>
#include <utility>

#include "frontend/host_calls/layout.h"
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

constexpr npy_intp kItem = sizeof(double);

// A vector or matrix of float64 with few rows, which lies anyhow: the loops copy it for LAPACK.
struct Matrix {
    char* data = nullptr;
    int rank = 0;
    npy_intp shape[2] = {1, 1}, steps[2] = {};

    explicit Matrix(PyObject* o) {
        if (!o || !PyArray_CheckExact(o)) return;
        auto* a = reinterpret_cast<PyArrayObject*>(o);
        rank = PyArray_NDIM(a);
        if (PyArray_DESCR(a) != g_float64 || !PyArray_ISALIGNED(a) || rank < 1 || rank > 2) return;
        for (int i = 0; i < rank; ++i) {
            shape[i] = PyArray_DIM(a, i), steps[i] = PyArray_STRIDE(a, i);
            if (shape[i] < 1 || shape[i] > kMostRows) return;
        }
        data = PyArray_BYTES(a);
    }
    explicit operator bool() const { return data != nullptr; }
    bool is_square() const { return data && rank == 2 && shape[0] == shape[1]; }
    // The result of such a shape, which NumPy makes C-contiguous.
    PyObject* new_result() const {
        return numpy::new_small_array(g_float64, rank, shape, shape[0] * shape[1] * kItem);
    }
};

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

char* bytes(PyObject* array) { return PyArray_BYTES(reinterpret_cast<PyArrayObject*>(array)); }

PyObject* det(PyObject* const* args, Py_ssize_t count) {
    const Matrix a(count == 1 ? args[0] : nullptr);
    if (!a.is_square()) return nullptr;
    double out[2] = {};
    char* data[] = {a.data, reinterpret_cast<char*>(out)};
    if (!run(g_det_loop, data, a.shape[0], 0, a.steps, 2, 2)) return nullptr;
    return numpy::box_scalar(graph::Box::NpScalar, numpy::DType::F64, data[1]);
}

PyObject* inv(PyObject* const* args, Py_ssize_t count) {
    const Matrix a(count == 1 ? args[0] : nullptr);
    if (!a.is_square()) return nullptr;
    PyObject* result = a.new_result();
    if (!result) return nullptr;
    char* data[] = {a.data, bytes(result)};
    const npy_intp n = a.shape[0], steps[] = {a.steps[0], a.steps[1], n * kItem, kItem};
    if (run(g_inv_loop, data, n, 0, steps, 2, 4)) return result;
    Py_DECREF(result);
    return nullptr;
}

PyObject* solve(PyObject* const* args, Py_ssize_t count) {
    const Matrix a(count == 2 ? args[0] : nullptr), b(count == 2 ? args[1] : nullptr);
    const npy_intp n = a.shape[0];
    if (!a.is_square() || !b || b.shape[0] != n) return nullptr;
    PyObject* result = b.new_result();
    if (!result) return nullptr;
    char* data[] = {a.data, b.data, bytes(result)};
    const npy_intp columns = b.shape[1];
    const npy_intp of_vectors[] = {a.steps[0], a.steps[1], b.steps[0], kItem};
    const npy_intp of_matrices[] = {a.steps[0], a.steps[1], b.steps[0], b.steps[1], columns * kItem, kItem};
    const bool good = b.rank == 1 ? run(g_solve_vector_loop, data, n, 0, of_vectors, 3, 4)
                                  : run(g_solve_matrix_loop, data, n, columns, of_matrices, 3, 6);
    if (good) return result;
    Py_DECREF(result);
    return nullptr;
}

// The root of the array's product with itself, as a vector in the order of its memory.
PyObject* norm(PyObject* const* args, Py_ssize_t count) {
    UfuncOperand x;
    if (count != 1 || !PyArray_CheckExact(args[0]) || !x.read(args[0]) ||
        x.kind != kind_of(numpy::DType::F64))
        return nullptr;
    if (x.size < 2 || !(x.c_contiguous || x.f_contiguous)) return nullptr;
    const int64_t size = x.size, stride = kItem;
    const numpy::ProductCore left(&size, &stride, false, true), right(&size, &stride, true, false),
        out(nullptr, nullptr, false, false);
    double square[2] = {};
    kernels::tier0::clear_flags();
    numpy::ProductCall(left, right, out).run(g_product, x.data, x.data, reinterpret_cast<char*>(square));
    const double root = std::sqrt(square[0]);
    const bool good = kernels::tier0::read_faults() == 0;
    kernels::tier0::clear_flags();
    if (!good) return nullptr;
    return numpy::box_scalar(graph::Box::NpScalar, numpy::DType::F64, reinterpret_cast<const char*>(&root));
}

PyObject* dot(PyObject* const* args, Py_ssize_t count) {
    return numpy::small_product(g_dot, args, static_cast<size_t>(count), 0, 0).release();
}

void find_linalg() {
    g_product = numpy::find_core_loop({"matmul", {numpy::DType::F64, numpy::DType::F64, numpy::DType::F64}});
    if (g_product.fn) g_norm = function_named("norm");
    PyObject* numpys_dot = numpy::numpy_function("dot");
    if (numpys_dot && numpy::is_dispatcher(numpys_dot)) g_dot = numpys_dot;
    if ((g_det_loop = loop_named("det"))) g_det = function_named("det");
    if ((g_inv_loop = loop_named("inv"))) g_inv = function_named("inv");
    g_solve_vector_loop = loop_named("solve1");
    g_solve_matrix_loop = loop_named("solve");
    if (g_solve_vector_loop && g_solve_matrix_loop) g_solve = function_named("solve");
}

}  // namespace

AtOnce linalg_at_once(PyObject* function) {
    static const bool found = (find_linalg(), true);
    const std::pair<PyObject*, AtOnce> rows[] = {
        {g_det, det}, {g_inv, inv}, {g_solve, solve}, {g_norm, norm}, {g_dot, dot}};
    for (const auto& [callable, answer] : rows)
        if (found && callable && callable == function) return answer;
    return nullptr;
}

}  // namespace stator::frontend
