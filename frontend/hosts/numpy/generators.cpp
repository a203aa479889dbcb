// See generators.h.
#include "frontend/hosts/numpy/generators.h"

#include <algorithm>

namespace stator::frontend::numpy {

namespace {

// Of both of NumPy's classes, and of one alone.
constexpr std::string_view kNumPys[] = {"beta",
                                        "binomial",
                                        "chisquare",
                                        "choice",
                                        "exponential",
                                        "f",
                                        "gamma",
                                        "geometric",
                                        "gumbel",
                                        "laplace",
                                        "logistic",
                                        "lognormal",
                                        "normal",
                                        "pareto",
                                        "poisson",
                                        "power",
                                        "random",
                                        "rayleigh",
                                        "standard_cauchy",
                                        "standard_exponential",
                                        "standard_gamma",
                                        "standard_normal",
                                        "standard_t",
                                        "triangular",
                                        "uniform",
                                        "vonmises",
                                        "wald",
                                        "weibull"};
constexpr std::string_view kGenerator[] = {"integers", "logseries", "negative_binomial",
                                           "noncentral_chisquare", "zipf"};
constexpr std::string_view kRandomState[] = {"rand", "randint", "randn", "random_sample"};
// Not triangular: what it gives for equal bounds is the bound itself, of whatever kind, after a draw. Nor
// expovariate, which draws before it fails: Python would do it again, and draw once more.
// Nor uniform, which is followed as other Python functions are.
constexpr std::string_view kRandom[] = {"gauss", "normalvariate", "randint", "random", "randrange"};

}  // namespace

bool GeneratorClass::has(PyObject* generator) {
    if (!type_) {
        PyObject* m = PyDict_GetItemString(PyImport_GetModuleDict(), module);  // borrowed
        if (!m || !PyModule_Check(m)) return false;
        type_ = Py_XNewRef(PyDict_GetItemString(PyModule_GetDict(m), name));
    }
    return reinterpret_cast<PyObject*>(Py_TYPE(generator)) == type_;
}

bool GeneratorClass::draws(std::string_view method) const {
    const auto has = [&](auto methods) { return std::ranges::find(methods, method) != methods.end(); };
    return has(methods_) || has(more_methods_);
}

PyObject* GeneratorClass::sample() {
    if (!sample_) {
        const PyRef m = module_named(module);
        PyRef made = PyRef::steal(m ? PyObject_CallMethod(m.get(), maker_, "i", 0) : nullptr);
        PyErr_Clear();
        if (!sample_) sample_ = made.release();
    }
    return sample_;
}

GeneratorClass* generator_class(PyObject* generator) {
    static GeneratorClass all[] = {{"numpy.random", "Generator", "default_rng", kNumPys, kGenerator},
                                   {"numpy.random", "RandomState", "RandomState", kNumPys, kRandomState},
                                   {"random", "Random", "Random", kRandom}};
    for (GeneratorClass& c : all)
        if (c.has(generator)) return &c;
    return nullptr;
}

bool draws_are_possible() {
    PyObject* modules = PyImport_GetModuleDict();
    return PyDict_GetItemString(modules, "numpy.random") || PyDict_GetItemString(modules, "random");
}

}  // namespace stator::frontend::numpy
