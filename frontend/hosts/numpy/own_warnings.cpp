// See own_warnings.h. Operands without elements are looked at elsewhere (quiet_about_nothing).
#include "frontend/hosts/numpy/own_warnings.h"

#include <atomic>
#include <memory>
#include <unordered_map>
#include <utility>

#include "frontend/hosts/numpy/lower.h"

namespace stator::frontend::numpy {

namespace {

struct Arguments {
    PyObject* const* argv;
    size_t nargs;
    PyObject* kwnames;

    // Argument `name`, the `position`th; nullptr when it is not given.
    [[nodiscard]] PyObject* get(size_t position, const char* name) const {
        if (position < nargs) return argv[position];
        const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
        for (Py_ssize_t k = 0; k < named; ++k)
            if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, k), name) == 0)
                return argv[nargs + static_cast<size_t>(k)];
        return nullptr;
    }
};

constexpr size_t kOnlyNamed = ~size_t{0};

bool is_given(PyObject* o) { return o && o != Py_None; }

// How many elements each result of a reduction is made of; -1: not known.
double reduced_count(PyObject* array, PyObject* axis) {
    if (!is_array(array)) return -1;
    auto* a = reinterpret_cast<PyArrayObject*>(array);
    if (!is_given(axis)) return static_cast<double>(PyArray_SIZE(a));
    double count = 1;
    const bool several = PyTuple_CheckExact(axis);
    const Py_ssize_t axes = several ? PyTuple_GET_SIZE(axis) : 1;
    for (Py_ssize_t k = 0; k < axes; ++k) {
        PyObject* item = several ? PyTuple_GET_ITEM(axis, k) : axis;
        if (!PyLong_Check(item)) return -1;
        int overflow = 0;
        long long d = PyLong_AsLongLongAndOverflow(item, &overflow);
        const int rank = PyArray_NDIM(a);
        if (d < 0) d += rank;
        if (overflow || d < 0 || d >= rank) return -1;
        count *= static_cast<double>(PyArray_DIM(a, static_cast<int>(d)));
    }
    return count;
}

// "Mean of empty slice": a mask may leave nothing.
bool mean_warns(const Arguments& a) { return a.get(kOnlyNamed, "where") != nullptr; }

// "Degrees of freedom <= 0 for slice"
bool variance_warns(const Arguments& a) {
    if (a.get(kOnlyNamed, "where")) return true;
    PyObject* freedom = a.get(4, "ddof");
    if (PyObject* correction = a.get(kOnlyNamed, "correction")) freedom = correction;
    if (!is_given(freedom)) return false;
    double ddof = 0;
    if (PyLong_Check(freedom) || PyFloat_Check(freedom)) {
        ddof = PyFloat_AsDouble(freedom);
        if (PyErr_Occurred()) return PyErr_Clear(), true;
    } else {
        return true;
    }
    return !(reduced_count(a.get(0, "a"), a.get(1, "axis")) > ddof);
}

// "Arrays of 2-dimensional vectors are deprecated"
bool cross_warns(const Arguments& a) {
    for (PyObject* o : {a.get(0, "a"), a.get(1, "b")}) {
        // Of a list of numbers, which is what it is compared with.
        if (o && (PyList_CheckExact(o) || PyTuple_CheckExact(o)) && Py_SIZE(o) == 3 &&
            !PySequence_Check(PySequence_Fast_GET_ITEM(o, 0)))
            continue;
        if (!o || !is_array(o)) return true;
        auto* array = reinterpret_cast<PyArrayObject*>(o);
        for (int d = 0; d < PyArray_NDIM(array); ++d)
            if (PyArray_DIM(array, d) == 2) return true;
    }
    return false;
}

// "`axes` should not be `None` if `s` is not `None`" and "Passing an array containing `None` values to `s`"
bool transform_warns(const Arguments& a) { return is_given(a.get(1, "s")); }

// "Passing None into shape arguments as an alias for () is deprecated", and an error later
bool shape_warns(const Arguments& a) { return a.get(0, "shape") == Py_None; }

using Check = bool (*)(const Arguments&);

using Checks = std::unordered_map<PyObject*, Check>;

// Adds functions of a module to `checks`. Not all are found when an exception other than of a missing
// attribute came up, a signal handler's say.
class Finder {
  public:
    Finder(const char* module, Checks* checks) : module_(module_named(module)), checks_(checks) {}
    void add(const char* type, const char* name, Check check) {
        PyRef at = module_;
        if (at && type) at = PyRef::steal(PyObject_GetAttrString(at.get(), type));
        PyRef f = PyRef::steal(at ? PyObject_GetAttrString(at.get(), name) : nullptr);
        found_ = found_ && (f || PyErr_ExceptionMatches(PyExc_AttributeError));
        PyErr_Clear();
        if (f) checks_->emplace(f.release(), check);
    }
    [[nodiscard]] bool found() const { return found_; }

  private:
    PyRef module_;
    Checks* checks_;
    bool found_ = true;
};

bool find_in_numpy(Checks* all) {
    Finder numpy("numpy", all);
    for (const char* type : {static_cast<const char*>(nullptr), "ndarray"}) {
        numpy.add(type, "mean", mean_warns);
        numpy.add(type, "var", variance_warns);
        numpy.add(type, "std", variance_warns);
    }
    numpy.add(nullptr, "cross", cross_warns);
    for (const char* name : {"zeros", "empty", "ndarray"}) numpy.add(nullptr, name, shape_warns);
    return numpy.found();
}

bool find_in_fft(Checks* all) {
    Finder fft("numpy.fft", all);
    for (const char* name : {"fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"})
        fft.add(nullptr, name, transform_warns);
    return fft.found();
}

// Looked up once. Not as the initializer of a static variable: looking up may hand the GIL to another thread,
// which would wait for this one with the GIL held.
const Checks* once_found(std::atomic<const Checks*>* made, bool (*find)(Checks*)) {
    if (const Checks* m = made->load(std::memory_order_acquire)) return m;
    auto fresh = std::make_unique<Checks>();
    const Checks* none = nullptr;
    if (find(fresh.get()) && made->compare_exchange_strong(none, fresh.get())) (void)fresh.release();
    return made->load(std::memory_order_acquire);
}

bool fft_is_imported() {
    static PyObject* const name = PyUnicode_InternFromString("numpy.fft");
    return PyDict_GetItem(PyImport_GetModuleDict(), name) != nullptr;
}

}  // namespace

bool warns_by_itself(PyObject* callable, PyObject* const* argv, size_t nargs, PyObject* kwnames) {
    static std::atomic<const Checks*> in_numpy{nullptr}, in_fft{nullptr};
    const auto warns = [&](const Checks* all) {
        if (!all) return true;  // next time
        const auto found = all->find(callable);
        return found != all->end() && found->second({argv, nargs, kwnames});
    };
    if (warns(once_found(&in_numpy, find_in_numpy))) return true;
    // Importing it takes a millisecond, and NumPy does so when somebody asks for a function of it.
    return fft_is_imported() && warns(once_found(&in_fft, find_in_fft));
}

}  // namespace stator::frontend::numpy
