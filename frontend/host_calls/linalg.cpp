#include "frontend/host_calls/linalg.h"

#include <cmath>

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
        if (!PyArray_CheckExact(o)) return;
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

PyObject* det(const Matrix& a) {
    double out[2] = {};
    char* data[] = {a.data, reinterpret_cast<char*>(out)};
    if (!run(g_det_loop, data, a.shape[0], 0, a.steps, 2, 2)) return nullptr;
    return numpy::box_scalar(graph::Box::NpScalar, numpy::DType::F64, data[1]);
}

PyObject* inv(const Matrix& a) {
    PyObject* result = a.new_result();
    if (!result) return nullptr;
    char* data[] = {a.data, bytes(result)};
    const npy_intp n = a.shape[0], steps[] = {a.steps[0], a.steps[1], n * kItem, kItem};
    if (run(g_inv_loop, data, n, 0, steps, 2, 4)) return result;
    Py_DECREF(result);
    return nullptr;
}

PyObject* solve(const Matrix& a, PyObject* right) {
    const Matrix b(right);
    const npy_intp n = a.shape[0];
    if (!b || b.shape[0] != n) return nullptr;
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
PyObject* norm(PyObject* of) {
    UfuncOperand x;
    if (!PyArray_CheckExact(of) || !x.read(of) || x.kind != kind_of(numpy::DType::F64)) return nullptr;
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
    const Matrix a(args[0]);
    if (!a.is_square()) return nullptr;
    if (function == g_det) return det(a);
    return function == g_inv ? inv(a) : solve(a, args[1]);
}

}  // namespace stator::frontend
