// Arithmetic and comparisons of small arrays: `a * b`, 500 ns in NumPy, of which the loop takes 5.
//
// The slots of ndarray's type are ours. (Types that inherit from it have had theirs from its methods, which
// are as they were.) An operation is done here when it reports no floating-point fault and gives no NaN,
// whose sign and payload hang on how NumPy's loop was compiled; otherwise its result is dropped and NumPy
// asked.
#include <cstring>

#include "frontend/host_calls/backoff.h"
#include "frontend/host_calls/layout.h"
#include "frontend/host_calls/operands.h"
#include "frontend/host_calls/slots.h"
#include "frontend/host_calls/verified.h"
#include "frontend/hosts/numpy/small_products.h"
#include "frontend/profile/doing.h"
#include "kernels/tier0/flags.h"

namespace stator::frontend {

namespace {

namespace tier0 = kernels::tier0;

PyArray_Descr* g_bool;
PyObject* g_matmul;
PyNumberMethods g_array_numbers;  // as they were
richcmpfunc g_array_compare;

struct Add {
    static constexpr const char* kText = "+";
    static constexpr auto kSlot = &PyNumberMethods::nb_add;
    static constexpr auto kInPlace = &PyNumberMethods::nb_inplace_add;
    static double of(double x, double y) { return x + y; }
};
struct Subtract {
    static constexpr const char* kText = "-";
    static constexpr auto kSlot = &PyNumberMethods::nb_subtract;
    static constexpr auto kInPlace = &PyNumberMethods::nb_inplace_subtract;
    static double of(double x, double y) { return x - y; }
};
struct Multiply {
    static constexpr const char* kText = "*";
    static constexpr auto kSlot = &PyNumberMethods::nb_multiply;
    static constexpr auto kInPlace = &PyNumberMethods::nb_inplace_multiply;
    static double of(double x, double y) { return x * y; }
};
struct Divide {
    static constexpr const char* kText = "/";
    static constexpr auto kSlot = &PyNumberMethods::nb_true_divide;
    static constexpr auto kInPlace = &PyNumberMethods::nb_inplace_true_divide;
    static double of(double x, double y) { return x / y; }
};

// Two operands of which one at least is an array, and both are read from doubles. The smaller one of two
// arrays may lack leading axes: it is read again for each of them.
struct Operands {
    SmallArray like;  // what the result is laid out as
    int64_t inner = 0;
    struct Side {
        const double* data = nullptr;
        int step = 1;            // from one element to the next
        int64_t next_round = 0;  // from one round of `inner` elements to the next
    } x, y;
    double number = 0;

    Operands(PyObject* a, PyObject* b) {
        const SmallArray left = small_array(a), right = small_array(b);
        if (left && right) {
            const bool left_is_larger = left.rank() >= right.rank();
            const SmallArray& smaller = left_is_larger ? right : left;
            const SmallArray& larger = left_is_larger ? left : right;
            if (!larger.ends_like(smaller)) return;
            like = larger;
            inner = smaller.size;
            x = {left.data(), 1, left_is_larger ? inner : 0};
            y = {right.data(), 1, left_is_larger && left.rank() > right.rank() ? 0 : inner};
        } else if (left && read_number(b, &number) != NumberKind::None) {
            like = left, inner = left.size;
            x.data = left.data();
            y = {&number, 0, 0};
        } else if (right && read_number(a, &number) != NumberKind::None) {
            like = right, inner = right.size;
            x = {&number, 0, 0};
            y.data = right.data();
        }
    }
    Operands(const Operands&) = delete;
    explicit operator bool() const { return static_cast<bool>(like); }

    // f(element of the result, x, y) for each
    template <class F>
    void each(F f) const {
        const double *xs = x.data, *ys = y.data;
        for (int64_t begin = 0; begin < like.size; begin += inner, xs += x.next_round, ys += y.next_round) {
            if (x.step == 0) {
                for (int64_t i = 0; i < inner; ++i) f(begin + i, *xs, ys[i]);
            } else if (y.step == 0) {
                for (int64_t i = 0; i < inner; ++i) f(begin + i, xs[i], *ys);
            } else {
                for (int64_t i = 0; i < inner; ++i) f(begin + i, xs[i], ys[i]);
            }
        }
    }
};

// False: NumPy has to do it.
template <class Op>
Backoff g_backoff;
template <class Op>
Tally* g_tally;
Tally *g_powers, *g_negatives, *g_comparisons, *g_products;

template <class Op>
bool compute(const Operands& o, double* out) {
    tier0::clear_flags();
    bool nan = false;
    o.each([&](int64_t i, double x, double y) {
        out[i] = Op::of(x, y);
        nan |= out[i] != out[i];
    });
    const bool good = !nan && tier0::faults_of(_mm_getcsr()) == 0;
    g_backoff<Op>.note(good);
    return good;
}

// A new array; NULL without an error where NumPy has to do it.
template <class Op>
PyObject* computed(PyObject* a, PyObject* b) {
    const Operands o(a, b);
    PyObject* result = o ? new_like(o.like, g_float64, sizeof(double)) : nullptr;
    if (!result) return nullptr;
    if (compute<Op>(o, static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(result)))))
        return result;
    Py_DECREF(result);
    return nullptr;
}

// Functions that answer stand beside those that are in NumPy's place: these have to end in a jump to NumPy's
// own, not in a call. NumPy looks at the stack before it computes into a temporary, and finds no frame but
// Python's and its own then (test_temporaries.py).
struct Answered {
    bool done = false;
    PyObject* result = nullptr;
};

template <class Op>
[[gnu::noinline]] Answered answer_binary(PyObject* a, PyObject* b) {
    const Timed timed(Activity::Answering, kFramesLine);
    PyObject* result = computed<Op>(a, b);
    if (!result) return {};
    PyObject* const args[] = {a, b};
    return {true, answered(result, *g_tally<Op>, Op::kText, args, 2,
                           [&] { return (g_array_numbers.*Op::kSlot)(a, b); })};
}

template <class Op>
PyObject* binary(PyObject* a, PyObject* b) {
    if (host_calls_are_on() && !g_backoff<Op>.skips())
        if (const Answered answer = answer_binary<Op>(a, b); answer.done) return answer.result;
    return (g_array_numbers.*Op::kSlot)(a, b);
}

// The result is computed beside the array first: faults leave it as it was, and `b` may overlap it.
template <class Op>
[[gnu::noinline]] bool answer_in_place(PyObject* a, PyObject* b) {
    const Timed timed(Activity::Answering, kFramesLine);
    auto* array = reinterpret_cast<PyArrayObject*>(a);
    if (!small_array(a) || !may_be_written(array)) return false;
    double out[kMostElements];
    const Operands o(a, b);
    if (!o || PyArray_SIZE(array) != o.like.size || o.like.array != array || !compute<Op>(o, out))
        return false;
    std::memcpy(o.like.data(), out, sizeof(double) * static_cast<size_t>(o.like.size));
    ++g_tally<Op>->answered;
    return true;
}

template <class Op>
PyObject* in_place(PyObject* a, PyObject* b) {
    if (host_calls_are_on() && !host_calls_are_verified() && answer_in_place<Op>(a, b)) return Py_NewRef(a);
    return (g_array_numbers.*Op::kInPlace)(a, b);
}

// `x ** 2`, which NumPy takes for the square. Other exponents are its own.
[[gnu::noinline]] Answered answer_power(PyObject* a, PyObject* b, PyObject* modulus) {
    double exponent = 0;
    const bool plain = modulus == Py_None && (PyLong_CheckExact(b) || PyFloat_CheckExact(b));
    if (!plain || read_number(b, &exponent) == NumberKind::None || exponent != 2) return {};
    const Timed timed(Activity::Answering, kFramesLine);
    PyObject* result = computed<Multiply>(a, a);
    if (!result) return {};
    PyObject* const args[] = {a, b};
    return {true, answered(result, *g_powers, "**", args, 2,
                           [&] { return g_array_numbers.nb_power(a, b, modulus); })};
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
    if (host_calls_are_on())
        if (const Answered answer = answer_power(a, b, modulus); answer.done) return answer.result;
    return g_array_numbers.nb_power(a, b, modulus);
}

[[gnu::noinline]] Answered answer_negative(PyObject* a) {
    const Timed timed(Activity::Answering, kFramesLine);
    const SmallArray x = small_array(a);
    PyObject* result = x ? new_like(x, g_float64, sizeof(double)) : nullptr;
    if (!result) return {};
    auto* out = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(result)));
    for (int64_t i = 0; i < x.size; ++i) out[i] = -x.data()[i];
    return {true, answered(result, *g_negatives, "-", &a, 1, [&] { return g_array_numbers.nb_negative(a); })};
}

PyObject* negative(PyObject* a) {
    if (host_calls_are_on())
        if (const Answered answer = answer_negative(a); answer.done) return answer.result;
    return g_array_numbers.nb_negative(a);
}

template <class Compare>
void compare_all(const Operands& o, npy_bool* out, Compare compare) {
    o.each([&](int64_t i, double x, double y) { out[i] = compare(x, y); });
}

// Comparisons of NumPy report no faults; those that the processor sees in NaNs are cleared.
PyObject* compare(PyObject* a, PyObject* b, int op) {
    if (host_calls_are_on()) {
        const Timed timed(Activity::Answering, kFramesLine);
        if (const Operands o(a, b); o) {
            if (PyObject* result = new_like(o.like, g_bool, 1)) {
                auto* out = static_cast<npy_bool*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(result)));
                switch (op) {
                    case Py_LT: compare_all(o, out, [](double x, double y) { return x < y; }); break;
                    case Py_LE: compare_all(o, out, [](double x, double y) { return x <= y; }); break;
                    case Py_EQ: compare_all(o, out, [](double x, double y) { return x == y; }); break;
                    case Py_NE: compare_all(o, out, [](double x, double y) { return x != y; }); break;
                    case Py_GT: compare_all(o, out, [](double x, double y) { return x > y; }); break;
                    case Py_GE: compare_all(o, out, [](double x, double y) { return x >= y; }); break;
                }
                tier0::clear_flags();
                PyObject* const args[] = {a, b};
                return answered(result, *g_comparisons, "<=>", args, 2,
                                [&] { return g_array_compare(a, b, op); });
            }
        }
    }
    return g_array_compare(a, b, op);
}

// `a @ b`: NumPy's own loop (hosts/numpy/small_products.h).
[[gnu::noinline]] Answered answer_product(PyObject* a, PyObject* b) {
    const Timed timed(Activity::Answering, kFramesLine);
    PyObject* const args[] = {a, b};
    PyRef result = numpy::small_product(g_matmul, args, 2, 0, 0);
    if (!result) return {};
    return {true, answered(result.release(), *g_products, "@", args, 2,
                           [&] { return g_array_numbers.nb_matrix_multiply(a, b); })};
}

PyObject* multiply_matrices(PyObject* a, PyObject* b) {
    if (host_calls_are_on())
        if (const Answered answer = answer_product(a, b); answer.done) return answer.result;
    return g_array_numbers.nb_matrix_multiply(a, b);
}

template <class Op>
void take(PyNumberMethods& methods) {
    methods.*Op::kSlot = binary<Op>;
    methods.*Op::kInPlace = in_place<Op>;
    g_tally<Op> = &new_tally(std::string("a ") + Op::kText + " b");
}

}  // namespace

void take_operators() {
    g_bool = numpy::descr_of(numpy::DType::Bool);
    PyNumberMethods& methods = *PyArray_Type.tp_as_number;
    g_array_numbers = methods;
    g_array_compare = PyArray_Type.tp_richcompare;
    take<Add>(methods);
    take<Subtract>(methods);
    take<Multiply>(methods);
    take<Divide>(methods);
    g_powers = &new_tally("a ** 2");
    g_negatives = &new_tally("-a");
    g_comparisons = &new_tally("a < b");
    g_products = &new_tally("a @ b");
    methods.nb_power = power;
    methods.nb_negative = negative;
    if (const PyRef operators = module_named("operator"))
        g_matmul = PyObject_GetAttrString(operators.get(), "matmul");
    PyErr_Clear();
    if (g_matmul) methods.nb_matrix_multiply = multiply_matrices;
    PyArray_Type.tp_richcompare = compare;
}

}  // namespace stator::frontend
