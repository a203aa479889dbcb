// See distributions.h.
#include "frontend/regions/routines/distributions.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <span>
#include <string>

#include "frontend/hosts/numpy/generators.h"
#include "frontend/once.h"

namespace stator::frontend::regions {

namespace {

using enum Domain;
using Call = Distribution::Call;

constexpr Parameter kLoc{"loc", Any, 0.0}, kScale{"scale", NonNegative, 1.0};

// numpy/random/_generator.pyx. What draws arrays is not here.
constexpr Distribution kGenerator[] = {
    {"beta", Call::Floats, "random_beta", {{{"a", Positive}, {"b", Positive}}}},
    {"binomial", Call::Binomial, "random_binomial", {{{"n", Trials}, {"p", Fraction}}}},
    {"choice", Call::Bounded, "random_bounded_uint64_fill", {{{"a"}}}},
    {"chisquare", Call::Floats, "random_chisquare", {{{"df", Positive}}}},
    {"exponential", Call::Floats, "random_exponential", {{kScale}}},
    {"gamma", Call::Floats, "random_gamma", {{{"shape", NonNegative}, kScale}}},
    {"geometric", Call::Count, "random_geometric", {{{"p", Fraction}}}},
    {"gumbel", Call::Floats, "random_gumbel", {{kLoc, kScale}}},
    {"integers", Call::Bounded, "random_bounded_uint64_fill", {{{"low"}, {"high"}}}},
    {"laplace", Call::Floats, "random_laplace", {{kLoc, kScale}}},
    {"logistic", Call::Floats, "random_logistic", {{kLoc, kScale}}},
    {"lognormal", Call::Floats, "random_lognormal", {{{"mean", Any, 0.0}, {"sigma", NonNegative, 1.0}}}},
    {"logseries", Call::Count, "random_logseries", {{{"p", Fraction}}}},
    {"negative_binomial", Call::Count, "random_negative_binomial", {{{"n", Trials}, {"p", Fraction}}}},
    {"noncentral_chisquare",
     Call::Floats,
     "random_noncentral_chisquare",
     {{{"df", Positive}, {"nonc", NonNegative}}}},
    {"f", Call::Floats, "random_f", {{{"dfnum", Positive}, {"dfden", Positive}}}},
    {"normal", Call::Floats, "random_normal", {{kLoc, kScale}}},
    {"pareto", Call::Floats, "random_pareto", {{{"a", Positive}}}},
    {"poisson", Call::Count, "random_poisson", {{{"lam", Rate, 1.0}}}},
    {"power", Call::Floats, "random_power", {{{"a", Positive}}}},
    {"random", Call::Double},
    {"rayleigh", Call::Floats, "random_rayleigh", {{kScale}}},
    {"standard_cauchy", Call::Floats, "random_standard_cauchy"},
    {"standard_exponential", Call::Floats, "random_standard_exponential"},
    {"standard_gamma", Call::Floats, "random_standard_gamma", {{{"shape", NonNegative}}}},
    {"standard_normal", Call::Floats, "random_standard_normal"},
    {"standard_t", Call::Floats, "random_standard_t", {{{"df", Positive}}}},
    {"triangular", Call::Ordered, "random_triangular", {{{"left"}, {"mode"}, {"right"}}}},
    {"uniform", Call::Range, "random_uniform", {{{"low", Any, 0.0}, {"high", Any, 1.0}}}},
    {"vonmises", Call::Floats, "random_vonmises", {{{"mu"}, {"kappa", NonNegative}}}},
    {"wald", Call::Floats, "random_wald", {{{"mean", Positive}, {"scale", Positive}}}},
    {"weibull", Call::Floats, "random_weibull", {{{"a", NonNegative}}}},
    {"zipf", Call::Count, "random_zipf", {{{"a", AboveOne}}}},
};

// numpy/random/mtrand.pyx
constexpr Distribution kRandomState[] = {
    {"binomial", Call::Binomial, "random_binomial", {{{"n", Trials}, {"p", Fraction}}}},
    {"choice", Call::MaskedBounded, "random_bounded_uint64_fill", {{{"a"}}}},
    {"exponential", Call::LegacyExponential, nullptr, {{kScale}}},
    {"gumbel", Call::Floats, "random_gumbel", {{kLoc, kScale}}},
    {"laplace", Call::Floats, "random_laplace", {{kLoc, kScale}}},
    {"logistic", Call::Floats, "random_logistic", {{kLoc, kScale}}},
    {"normal", Call::LegacyNormal, nullptr, {{kLoc, kScale}}},
    {"poisson", Call::Count, "random_poisson", {{{"lam", Rate, 1.0}}}},
    {"rand", Call::Double},
    {"randint", Call::MaskedBounded, "random_bounded_uint64_fill", {{{"low"}, {"high"}}}},
    {"randn", Call::LegacyGauss},
    {"random", Call::Double},
    {"random_sample", Call::Double},
    {"rayleigh", Call::Floats, "random_rayleigh", {{kScale}}},
    {"standard_exponential", Call::LegacyExponential},
    {"standard_normal", Call::LegacyGauss},
    {"triangular", Call::Ordered, "random_triangular", {{{"left"}, {"mode"}, {"right"}}}},
    {"uniform", Call::Range, "random_uniform", {{{"low", Any, 0.0}, {"high", Any, 1.0}}}},
};

// The function of that name in NumPy's extension module; nullptr where it has none.
void* symbol_of(const char* name) {
    void* const library = once([]() -> void* {
        const PyRef module = module_named("numpy.random._generator");
        const PyRef file = PyRef::steal(module ? PyObject_GetAttrString(module.get(), "__file__") : nullptr);
        PyErr_Clear();
        const char* path = file && PyUnicode_Check(file.get()) ? PyUnicode_AsUTF8(file.get()) : nullptr;
        PyErr_Clear();
        return path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    });
    return library ? dlsym(library, name) : nullptr;
}

bool takes(Domain domain, double v) {
    // NumPy's own limits are those of int64, also for what it computes from several arguments.
    constexpr double kMostRate = 1e15, kMostTrials = 1e6, kLeastFraction = 1e-6;
    if (!std::isfinite(v)) return false;
    switch (domain) {
        case Any: return true;
        case NonNegative: return !std::signbit(v);
        case Positive: return v > 0;
        case Fraction: return v >= kLeastFraction && v < 1;
        case AboveOne: return v > 1 && v < kMostRate;
        case Rate: return !std::signbit(v) && v < kMostRate;
        case Trials: return v >= 1 && v <= kMostTrials && std::trunc(v) == v;
    }
    return false;
}

template <class R, class... Doubles>
R call_with(void* f, BitGenerator* bits, Doubles... arguments) {
    return reinterpret_cast<R (*)(BitGenerator*, Doubles...)>(f)(bits, arguments...);
}

template <class R>
R call(void* f, BitGenerator* bits, const double* a, size_t count) {
    if (count == 0) return call_with<R>(f, bits);
    return count == 1 ? call_with<R>(f, bits, a[0]) : call_with<R>(f, bits, a[0], a[1]);
}

// What it has computed from n and p of the last call is kept, as each generator does, whose own it need not
// be: other arguments begin anew.
int64_t binomial(void* f, BitGenerator* bits, double p, int64_t n) {
    alignas(16) static char memory[1024];  // a binomial_t (numpy/random/distributions.h); under the GIL
    return reinterpret_cast<int64_t (*)(BitGenerator*, double, int64_t, void*)>(f)(bits, p, n, memory);
}

double uniform(const LegacyState& s) { return s.bits->next_double(s.bits->state); }

double gauss(LegacyState& s) {
    if (s.has_gauss) {
        s.has_gauss = 0;
        return std::exchange(s.gauss, 0.0);
    }
    double x, y, r;
    do {
        x = 2.0 * uniform(s) - 1.0;
        y = 2.0 * uniform(s) - 1.0;
        r = x * x + y * y;
    } while (r >= 1.0 || r == 0.0);
    const double f = std::sqrt(-2.0 * std::log(r) / r);
    s.gauss = f * x;
    s.has_gauss = 1;
    return f * y;
}

// Arguments that every method of such parameters takes.
double sample_of(Domain domain, size_t parameter, int round) {
    switch (domain) {
        case Fraction: return 0.15 + 0.3 * round;
        case AboveOne: return 1.5 + 0.75 * round;
        case Trials: return 3.0 + 100.0 * round;
        default: return 0.4 + 1.7 * round + 0.9 * static_cast<double>(parameter);
    }
}

// The same of bounds: an upper one, or both.
double bound_of(size_t count, size_t parameter, int round) {
    return count > 1 && parameter == 0 ? -4.0 : 1e7 * (round + 1);
}

size_t count_of(const Distribution& d) {
    return static_cast<size_t>(
        std::ranges::count_if(d.parameters, [](const Parameter& p) { return p.name != nullptr; }));
}

// What a generator says of its state.
PyRef told_state(PyObject* generator, bool legacy) {
    if (legacy) return PyRef::steal(PyObject_CallMethod(generator, "get_state", nullptr));
    const PyRef bits = PyRef::steal(PyObject_GetAttrString(generator, "_bit_generator"));
    return PyRef::steal(bits ? PyObject_GetAttrString(bits.get(), "state") : nullptr);
}

// Arguments that are tried, and the same for NumPy's method.
struct Sample {
    std::array<double, Distribution::kMost> values = {};
    PyRef tuple;

    Sample(const Drawing& d, int round) : tuple(PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(d.count)))) {
        for (size_t k = 0; tuple && k < d.count; ++k) {
            const bool whole = d.what->is_whole();
            const bool integer = whole || (d.what->call == Call::Binomial && k == 0);
            values[k] =
                whole ? bound_of(d.count, k, round) : sample_of(d.what->parameters[k].domain, k, round);
            PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(k),
                             integer ? PyLong_FromDouble(values[k]) : PyFloat_FromDouble(values[k]));
        }
    }
};

// Whether one number by NumPy's method is the same as ours from another generator in the same state.
bool draws_one_alike(const Drawing& d, PyObject* method, const Bits& from, const Sample& sample) {
    const PyRef got = PyRef::steal(sample.tuple ? PyObject_CallObject(method, sample.tuple.get()) : nullptr);
    if (!got) return false;
    uint64_t its = 0, mine = 1;
    if (d.what->is_whole() || d.what->is_count()) {
        const PyRef index = PyRef::steal(PyNumber_Index(got.get()));
        its = static_cast<uint64_t>(index ? PyLong_AsLongLong(index.get()) : -1);
    } else {
        const double v = PyFloat_AsDouble(got.get());
        std::memcpy(&its, &v, sizeof its);
    }
    char* const out = reinterpret_cast<char*>(&mine);
    const double* const a = sample.values.data();
    const auto low = static_cast<int64_t>(d.count > 1 ? a[0] : 0.0),
               high = static_cast<int64_t>(d.count > 1 ? a[1] : a[0]);
    const bool done = d.what->is_whole() ? d.draw_whole(from, low, high, out) : d.draw(from, a, out);
    return done && !PyErr_Occurred() && mine == its;
}

// Whether numbers drawn by the method of `one` and by ours from `other`, which is in the same state, are the
// same and leave the same state.
bool draws_alike(const Drawing& d, PyObject* one, PyObject* other) {
    constexpr int kRounds = 3, kDraws = 24;
    const bool legacy = d.what->is_legacy();
    const PyRef bit_generator = PyRef::steal(PyObject_GetAttrString(other, "_bit_generator"));
    const Bits from{bit_generator ? bits_of(bit_generator.get()) : nullptr,
                    legacy ? legacy_state_at(other, legacy_offset(other)) : nullptr};
    const PyRef method = PyRef::steal(PyObject_GetAttrString(one, d.what->method));
    if (!from.bits || (legacy && !from.legacy) || !method) return false;
    for (int round = 0; round < kRounds; ++round) {
        const Sample sample(d, round);
        for (int n = 0; n < kDraws; ++n)
            if (!draws_one_alike(d, method.get(), from, sample)) return false;
    }
    const PyRef its = told_state(one, legacy), mine = told_state(other, legacy);
    const PyRef text = PyRef::steal(its ? PyObject_Repr(its.get()) : nullptr);
    const PyRef same = PyRef::steal(mine ? PyObject_Repr(mine.get()) : nullptr);
    return text && same && PyUnicode_Compare(text.get(), same.get()) == 0;
}

// Asked once for each: numbers of new generators of the same class are compared.
bool is_as_numpy_draws(const Drawing& d, const char* maker) {
    static std::map<const Distribution*, bool> known;  // under the GIL
    if (const auto it = known.find(d.what); it != known.end()) return it->second;
    const PyRef random = module_named("numpy.random");
    const auto made = [&] {
        return PyRef::steal(random ? PyObject_CallMethod(random.get(), maker, "i", 7) : nullptr);
    };
    const PyRef one = made(), other = made();
    const bool alike =
        (d.function || !d.what->symbol) && one && other && draws_alike(d, one.get(), other.get());
    PyErr_Clear();
    return known[d.what] = alike;
}

}  // namespace

std::optional<Drawing> drawing_of(PyObject* generator, std::string_view method) {
    numpy::GeneratorClass* const source = numpy::generator_class(generator);
    if (!source || source->module != std::string_view("numpy.random")) return std::nullopt;
    const bool newer = source->name == std::string_view("Generator");
    const std::span<const Distribution> all =
        newer ? std::span<const Distribution>(kGenerator) : kRandomState;
    const auto d = std::ranges::find(all, method, &Distribution::method);
    if (d == all.end()) return std::nullopt;
    const Drawing drawing{&*d, d->symbol ? symbol_of(d->symbol) : nullptr, count_of(*d)};
    if (!is_as_numpy_draws(drawing, newer ? "default_rng" : "RandomState")) return std::nullopt;
    return drawing;
}

bool Drawing::draw(const Bits& from, const double* arguments, char* out) const {
    for (size_t k = 0; k < count; ++k)
        if (!takes(what->parameters[k].domain, arguments[k])) return false;
    void* const f = const_cast<void*>(function);
    double drawn = 0;
    switch (what->call) {
        case Call::Double: drawn = from.bits->next_double(from.bits->state); break;
        case Call::Floats: drawn = call<double>(f, from.bits, arguments, count); break;
        case Call::Count: {
            const auto whole = call<int64_t>(f, from.bits, arguments, count);
            std::memcpy(out, &whole, sizeof whole);
            return true;
        }
        case Call::Range: {
            const double range = arguments[1] - arguments[0];
            if (!takes(NonNegative, range)) return false;
            drawn = call_with<double>(f, from.bits, arguments[0], range);
            break;
        }
        case Call::Ordered: {
            const double left = arguments[0], mode = arguments[1], right = arguments[2];
            if (left > mode || mode > right || left == right || !std::isfinite(right - left)) return false;
            drawn = call_with<double>(f, from.bits, left, mode, right);
            break;
        }
        case Call::Binomial: {
            const int64_t whole = binomial(f, from.bits, arguments[1], static_cast<int64_t>(arguments[0]));
            std::memcpy(out, &whole, sizeof whole);
            return true;
        }
        case Call::LegacyGauss: drawn = gauss(*from.legacy); break;
        case Call::LegacyNormal: {
            const double standard = gauss(*from.legacy);
            drawn = arguments[0] + arguments[1] * standard;
            break;
        }
        case Call::LegacyExponential: {
            const double standard = -std::log(1.0 - uniform(*from.legacy));
            drawn = count > 0 ? arguments[0] * standard : standard;
            break;
        }
        case Call::Bounded:
        case Call::MaskedBounded: return false;
    }
    std::memcpy(out, &drawn, sizeof drawn);
    return true;
}

bool Drawing::draw_whole(const Bits& from, int64_t low, int64_t high, char* out) const {
    if (high <= low) return false;
    using Fill =
        void (*)(BitGenerator*, uint64_t low, uint64_t range, Py_ssize_t count, bool masked, uint64_t* out);
    uint64_t one;
    const auto first = static_cast<uint64_t>(low), last = static_cast<uint64_t>(high) - 1;
    reinterpret_cast<Fill>(const_cast<void*>(function))(from.bits, first, last - first, 1,
                                                        what->call == Call::MaskedBounded, &one);
    std::memcpy(out, &one, sizeof one);
    return true;
}

BitGenerator* bits_of(PyObject* bit_generator) {
    constexpr const char* kName = "BitGenerator";
    const PyRef capsule = PyRef::steal(PyObject_GetAttrString(bit_generator, "capsule"));
    if (!capsule || !PyCapsule_IsValid(capsule.get(), kName)) return PyErr_Clear(), nullptr;
    return static_cast<BitGenerator*>(PyCapsule_GetPointer(capsule.get(), kName));
}

LegacyState* legacy_state_at(PyObject* random_state, Py_ssize_t offset) {
    if (offset == 0) return nullptr;
    auto* const state = reinterpret_cast<LegacyState*>(reinterpret_cast<char*>(random_state) + offset);
    return state->bits + 1 == reinterpret_cast<BitGenerator*>(state) ? state : nullptr;
}

// A RandomState has a copy of what its bit generator's capsule has, and next to it the LegacyState that
// points to the copy: such a pointer into the object itself is found at one place only.
Py_ssize_t legacy_offset(PyObject* random_state) {
    const PyRef bit_generator = PyRef::steal(PyObject_GetAttrString(random_state, "_bit_generator"));
    const BitGenerator* const bits = bit_generator ? bits_of(bit_generator.get()) : nullptr;
    PyErr_Clear();
    if (!bits) return 0;
    const Py_ssize_t end = Py_TYPE(random_state)->tp_basicsize - static_cast<Py_ssize_t>(sizeof(LegacyState));
    for (auto at = static_cast<Py_ssize_t>(sizeof(PyObject) + sizeof(BitGenerator)); at <= end;
         at += static_cast<Py_ssize_t>(sizeof(void*))) {
        const LegacyState* const state = legacy_state_at(random_state, at);
        if (state && std::memcmp(state->bits, bits, sizeof *bits) == 0) return at;
    }
    return 0;
}

}  // namespace stator::frontend::regions
