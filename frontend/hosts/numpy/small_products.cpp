#include "frontend/hosts/numpy/small_products.h"

#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/hosts/numpy/product_core.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/once.h"
#include "frontend/policy.h"
#include "kernels/tier0/flags.h"

namespace stator::frontend::numpy {

namespace {

// What multiplies: `@` and np.matmul take any strides; np.dot has the same bits of vectors and of dense
// matrices that are added up over more than one element. Matrices with gaps it copies, in orders of its own,
// or hands to other routines of the BLAS; single elements it takes for numbers, of which a product that is
// -0.0 stays so.
struct Callables {
    PyObject *operator_, *matmul, *dot, *method;
    kernels::HostLoop loops[2];

    Callables() : operator_(nullptr), matmul(nullptr), dot(nullptr), method(nullptr), loops{} {
        const PyRef operators = module_named("operator");
        const PyRef numpy = module_named("numpy");
        if (operators && numpy) {
            operator_ = PyObject_GetAttrString(operators.get(), "matmul");
            const Ufunc* u = find_ufunc("matmul");
            matmul = u ? u->object : nullptr;
            dot = PyObject_GetAttrString(numpy.get(), "dot");
            method = PyDict_GetItemString(PyArray_Type.tp_dict, "dot");
        }
        if (!dot || !is_numpys_own(dot)) dot = method;
        loops[0] = find_core_loop({"matmul", {DType::F64, DType::F64, DType::F64}});
        loops[1] = find_core_loop({"matmul", {DType::F32, DType::F32, DType::F32}});
        PyErr_Clear();
    }
};

ProductCore core_of(PyArrayObject* a, bool is_right) {
    const bool matrix = PyArray_NDIM(a) == 2;
    return {PyArray_DIMS(a), PyArray_STRIDES(a), matrix || is_right, matrix || !is_right};
}

bool fits(PyObject* o, int type) {
    if (!PyArray_CheckExact(o)) return false;
    auto* a = reinterpret_cast<PyArrayObject*>(o);
    const int rank = PyArray_NDIM(a);
    return PyArray_TYPE(a) == type && (rank == 1 || rank == 2) && PyArray_ISALIGNED(a) &&
           PyArray_ISNOTSWAPPED(a);
}

// Whether np.dot hands it to the BLAS as np.matmul does.
bool is_dense(PyArrayObject* a) {
    if (PyArray_NDIM(a) == 2) return PyArray_ISONESEGMENT(a);
    return PyArray_STRIDE(a, 0) > 0 && PyArray_STRIDE(a, 0) % PyArray_ITEMSIZE(a) == 0;
}

}  // namespace

PyRef small_product(PyObject* callable, PyObject* const* argv, size_t nargs, uint32_t set, uint32_t ignored) {
    const Callables& known = once([] { return Callables(); });
    const bool any_strides = callable == known.operator_ || callable == known.matmul;
    if (nargs != 2 || (!any_strides && callable != known.dot && callable != known.method)) return {};
    if (!PyArray_CheckExact(argv[0])) return {};
    auto* left = reinterpret_cast<PyArrayObject*>(argv[0]);
    const int type = PyArray_TYPE(left);
    if ((type != NPY_DOUBLE && type != NPY_FLOAT) || !fits(argv[0], type) || !fits(argv[1], type)) return {};
    auto* right = reinterpret_cast<PyArrayObject*>(argv[1]);
    if (!any_strides && !(is_dense(left) && is_dense(right))) return {};
    const kernels::HostLoop& loop = known.loops[type == NPY_FLOAT];
    const ProductCore a = core_of(left, false), b = core_of(right, true);
    const int64_t most = policy().small_product_work;
    if (!any_strides && a.columns == 1) return {};
    if (!loop.fn || a.columns != b.rows || a.rows == 0 || a.columns == 0 || b.columns == 0 || a.rows > most ||
        a.columns > most || b.columns > most || a.rows * a.columns > most / b.columns)
        return {};
    const DType dtype = type == NPY_DOUBLE ? DType::F64 : DType::F32;
    const bool has_rows = PyArray_NDIM(left) == 2, has_columns = PyArray_NDIM(right) == 2;
    const int64_t size = PyArray_ITEMSIZE(left);
    int64_t shape[2], strides[2];
    int rank = 0;
    if (has_rows) shape[rank] = a.rows, strides[rank++] = (has_columns ? b.columns : 1) * size;
    if (has_columns) shape[rank] = b.columns, strides[rank++] = size;
    PyRef made;
    char number[16] = {};
    if (rank > 0) {
        made = PyRef::steal(new_array(dtype, rank, shape, {}));
        if (!made) return PyErr_Clear(), PyRef();
    }
    const ProductCall product(a, b, ProductCore(shape, strides, has_rows, has_columns));
    uint32_t faults;
    {
        const kernels::tier0::KeepFlags keep;
        product.run(loop, PyArray_BYTES(left), PyArray_BYTES(right), made ? data(made.get()) : number);
        faults = kernels::tier0::read_faults();
    }
    if (faults && faults_that_matter(faults, set, ignored)) return {};
    if (!made) made = PyRef::steal(box_scalar(graph::Box::NpScalar, dtype, number));
    if (!made) PyErr_Clear();
    return made;
}

}  // namespace stator::frontend::numpy
