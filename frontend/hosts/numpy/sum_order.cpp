// See sum_order.h. Sums a sequence on which every order of additions gives other bits, with NumPy and by the
// two known recipes. np.setbufsize changes the second one; a program that calls it with an old NumPy is not
// followed.
#include "frontend/hosts/numpy/sum_order.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"

namespace stator::frontend::numpy {

namespace {

// NumPy's pairwise summation (loops_utils.h.src): eight accumulators up to 128 elements, halves above.
double pairwise(const double* a, int64_t n) {
    if (n < 8) {
        double sum = -0.0;
        for (int64_t i = 0; i < n; i++) sum += a[i];
        return sum;
    }
    if (n <= 128) {
        double r[8];
        int64_t i = 8;
        for (int k = 0; k < 8; k++) r[k] = a[k];
        for (; i < n - n % 8; i += 8)
            for (int k = 0; k < 8; k++) r[k] += a[i + k];
        double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
        for (; i < n; i++) sum += a[i];
        return sum;
    }
    int64_t half = n / 2;
    half -= half % 8;
    return pairwise(a, half) + pairwise(a + half, n - half);
}

constexpr int64_t kBuffer = 8192;

// Values on which every order of additions gives other bits.
std::vector<double> telling_values(int64_t n) {
    std::vector<double> values(static_cast<size_t>(n));
    uint64_t state = 1;
    for (double& v : values) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        v = static_cast<double>(static_cast<int64_t>(state) >> 11) / 9007199254740992.0;
    }
    return values;
}

int64_t probe() {
    constexpr int64_t n = 3 * kBuffer + 1234;
    const std::vector<double> values = telling_values(n);
    const int64_t shape[] = {n};
    PyRef array = PyRef::steal(new_array(DType::F64, 1, shape, {}));
    if (!array) return PyErr_Clear(), 0;
    std::copy(values.begin(), values.end(), reinterpret_cast<double*>(data(array.get())));
    PyRef sum = PyRef::steal(PyObject_CallMethod(find_ufunc("add")->object, "reduce", "O", array.get()));
    if (!sum) return PyErr_Clear(), 0;
    double found = PyFloat_AsDouble(sum.get());
    if (found == 0.0 + pairwise(values.data(), n)) return std::numeric_limits<int64_t>::max();
    double blocks = 0;
    for (int64_t i = 0; i < n; i += kBuffer) blocks += pairwise(values.data() + i, std::min(kBuffer, n - i));
    return found == blocks ? kBuffer : 0;
}

// Whether NumPy adds up the first `columns` elements of each of `rows` rows, which are longer, as one run.
bool gathers(int64_t rows, int64_t columns) {
    const int64_t shape[] = {rows, columns + 3};
    PyRef array = PyRef::steal(new_array(DType::F64, 2, shape, {}));
    if (!array) return PyErr_Clear(), false;
    const std::vector<double> values = telling_values(rows * shape[1]);
    std::copy(values.begin(), values.end(), reinterpret_cast<double*>(data(array.get())));
    std::vector<double> run;
    for (int64_t i = 0; i < rows; ++i)
        run.insert(run.end(), values.begin() + i * shape[1], values.begin() + i * shape[1] + columns);
    const int64_t part[] = {rows, columns};
    PyRef view =
        PyRef::steal(new_view(array.get(), DType::F64, 2, part, strides(array.get()), data(array.get())));
    if (!view) return PyErr_Clear(), false;
    PyRef sum =
        PyRef::steal(PyObject_CallMethod(find_ufunc("add")->object, "reduce", "OO", view.get(), Py_None));
    if (!sum) return PyErr_Clear(), false;
    const double found = PyFloat_AsDouble(sum.get());
    return !PyErr_Occurred() && found == 0.0 + pairwise(run.data(), rows * columns);
}

}  // namespace

int64_t longest_gathered_run() {
    return once([]() -> int64_t {
        for (const auto& [rows, columns] :
             {std::pair{3, 3}, {5, 9}, {100, 17}, {8, 300}, {2700, 3}, {128, 64}})
            if (!gathers(rows, columns)) return PyErr_Clear(), 0;
        return kBuffer;
    });
}

int64_t longest_pairwise_run() {
    return once([] { return probe(); });
}

}  // namespace stator::frontend::numpy
