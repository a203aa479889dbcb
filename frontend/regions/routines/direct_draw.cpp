// One random number without Python between: the C functions that NumPy's and Python's methods call
// themselves.
//
// NumPy's distributions are functions of its extension module `numpy.random._generator` (declared in
// numpy/random/distributions.h), which take the generator's `bitgen_t`, the documented C interface of bit
// generators; both are found in the process, so that the numbers are those of whatever NumPy is there.
// Python's Random.random is the Mersenne Twister MT19937 (Matsumoto and Nishimura 1998) in 53 bits, on the
// state in its object. What is not as expected (arguments that NumPy refuses, a lock that another thread has)
// goes through Python, before anything was drawn.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "frontend/cpython/frame.h"
#include "frontend/cpython/functions.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"
#include "frontend/regions/routines/library.h"
#include "guards/check/functions.h"

namespace stator::frontend::regions {

namespace {

// numpy/random/bitgen.h
struct BitGenerator {
    void* state;
    uint64_t (*next_uint64)(void*);
    uint32_t (*next_uint32)(void*);
    double (*next_double)(void*);
    uint64_t (*next_raw)(void*);
};

// What NumPy's extension module has; a null pointer for what it does not.
struct Distributions {
    double (*standard_normal)(BitGenerator*) = nullptr;
    double (*standard_exponential)(BitGenerator*) = nullptr;
    double (*normal)(BitGenerator*, double loc, double scale) = nullptr;
    double (*exponential)(BitGenerator*, double scale) = nullptr;
    double (*uniform)(BitGenerator*, double low, double range) = nullptr;
    void (*integers)(BitGenerator*, uint64_t low, uint64_t range, npy_intp count, bool masked,
                     uint64_t* out) = nullptr;
};

const Distributions& distributions() {
    return once([] {
        Distributions all;
        const PyRef module = module_named("numpy.random._generator");
        const PyRef file = PyRef::steal(module ? PyObject_GetAttrString(module.get(), "__file__") : nullptr);
        PyErr_Clear();
        const char* path = file && PyUnicode_Check(file.get()) ? PyUnicode_AsUTF8(file.get()) : nullptr;
        PyErr_Clear();
        void* library = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
        if (!library) return all;
        const auto find = [&]<class F>(F*& out, const char* name) {
            out = reinterpret_cast<F*>(dlsym(library, name));
        };
        find(all.standard_normal, "random_standard_normal");
        find(all.standard_exponential, "random_standard_exponential");
        find(all.normal, "random_normal");
        find(all.exponential, "random_exponential");
        find(all.uniform, "random_uniform");
        find(all.integers, "random_bounded_uint64_fill");
        return all;
    });
}

// Modules/_randommodule.c
struct PythonRandom {
    static constexpr int kWords = 624, kMiddle = 397;
    PyObject_HEAD int index;
    uint32_t state[kWords];

    uint32_t next() {
        constexpr uint32_t kMatrix = 0x9908b0dfU, kUpper = 0x80000000U, kLower = 0x7fffffffU;
        if (index >= kWords) {
            for (int k = 0; k < kWords; ++k) {
                const uint32_t y = (state[k] & kUpper) | (state[(k + 1) % kWords] & kLower);
                state[k] = state[(k + kMiddle) % kWords] ^ (y >> 1) ^ (y & 1U ? kMatrix : 0U);
            }
            index = 0;
        }
        uint32_t y = state[index++];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680U;
        y ^= (y << 15) & 0xefc60000U;
        return y ^ (y >> 18);
    }
    double random() {
        const uint32_t a = next() >> 5, b = next() >> 6;
        return (a * 67108864.0 + b) * (1.0 / 9007199254740992.0);
    }
};

// Whether a Python's object of such a state is what its getstate() says, and what follows is what random()
// says.
bool random_is_as_expected() {
    return once([] {
        const PyRef module = module_named("random");
        const PyRef one =
            PyRef::steal(module ? PyObject_CallMethod(module.get(), "Random", "i", 1) : nullptr);
        const PyRef told = PyRef::steal(one ? PyObject_CallMethod(one.get(), "getstate", nullptr) : nullptr);
        bool same = told && PyTuple_Check(told.get()) && PyTuple_GET_SIZE(told.get()) == 3 &&
                    Py_TYPE(one.get())->tp_basicsize >= static_cast<Py_ssize_t>(sizeof(PythonRandom));
        PyObject* words = same ? PyTuple_GET_ITEM(told.get(), 1) : nullptr;
        same = words && PyTuple_Check(words) && PyTuple_GET_SIZE(words) == PythonRandom::kWords + 1;
        const auto* it = reinterpret_cast<PythonRandom*>(one.get());
        for (int k = 0; same && k <= PythonRandom::kWords; ++k) {
            const unsigned long word = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(words, k));
            same = word == (k < PythonRandom::kWords ? it->state[k] : static_cast<unsigned long>(it->index));
        }
        if (same) {
            PythonRandom copy = *it;
            for (int k = 0; same && k < PythonRandom::kWords; ++k) {
                const PyRef next = PyRef::steal(PyObject_CallMethod(one.get(), "random", nullptr));
                same =
                    next && PyFloat_CheckExact(next.get()) && PyFloat_AS_DOUBLE(next.get()) == copy.random();
            }
        }
        PyErr_Clear();
        return same;
    });
}

enum class Draw : uint8_t {
    Python,
    Double,
    StandardNormal,
    StandardExponential,
    Normal,
    Exponential,
    Uniform,
    Integers
};

struct DirectDraw {
    Draw draw;
    bool bound;  // the generator is the callable's own, else its address is the first operand
    struct Argument {
        Kind kind = Kind::Empty;  // Int or Float; Empty: it has its standard
        int place = 0;            // among the operands
    };
    std::array<Argument, 2> args = {};
    LibraryRoutine through_python;
    PyTypeObject* type;            // of the generator
    PyGetSetDescrObject* bits_of;  // how it tells its bit generator
    PyRef own;                     // the callable's
    // What the last one that was drawn from draws with. Of the generator itself nothing is kept: a program
    // may see it go.
    PyRef bit_generator, lock;
    BitGenerator* bits = nullptr;

    bool open(PyObject* from);
    bool run(PyObject* from, char* out, const int64_t* words) const;
};

bool DirectDraw::open(PyObject* from) {
    if (Py_TYPE(from) != type) return false;
    if (draw == Draw::Python) return true;
    const PyRef now = PyRef::steal(bits_of->d_getset->get(from, bits_of->d_getset->closure));
    if (!now) return PyErr_Clear(), false;
    if (now.get() == bit_generator.get()) return true;
    const PyRef capsule = PyRef::steal(PyObject_GetAttrString(now.get(), "capsule"));
    PyRef its_lock = PyRef::steal(PyObject_GetAttrString(now.get(), "lock"));
    constexpr const char* kName = "BitGenerator";
    if (!capsule || !its_lock || !PyCapsule_IsValid(capsule.get(), kName)) return PyErr_Clear(), false;
    bits = static_cast<BitGenerator*>(PyCapsule_GetPointer(capsule.get(), kName));
    bit_generator = PyRef::borrow(now.get());
    lock = std::move(its_lock);
    return true;
}

// Whoever has it may have let go of the GIL. With one thread nobody can.
class Locked {
  public:
    explicit Locked(PyObject* lock) : lock_(has_other_threads(PyThreadState_Get()) ? lock : nullptr) {
        if (!lock_) return;
        const PyRef got = PyRef::steal(PyObject_CallMethod(lock_, "acquire", "i", 0));
        if (!got) PyErr_Clear();
        if (got.get() != Py_True) lock_ = nullptr, failed_ = true;
    }
    ~Locked() {
        if (!lock_) return;
        const PyRef done = PyRef::steal(PyObject_CallMethod(lock_, "release", nullptr));
        if (!done) PyErr_Clear();
    }
    Locked(const Locked&) = delete;
    bool failed() const { return failed_; }

  private:
    PyObject* lock_;
    bool failed_ = false;
};

double number(Kind kind, const int64_t* word) {
    if (kind == Kind::Int) return static_cast<double>(*word);
    double d;
    std::memcpy(&d, word, sizeof d);
    return d;
}

bool is_scale(double d) { return d >= 0 && !std::signbit(d); }

// False when Python has to look at the arguments; nothing was drawn then.
bool DirectDraw::run(PyObject* from, char* out, const int64_t* words) const {
    const Distributions& d = distributions();
    const auto arg = [&](size_t k, double standard) {
        const Argument& a = args[k];
        return a.kind == Kind::Empty ? standard : number(a.kind, words + 2 * a.place);
    };
    double drawn = 0;
    switch (draw) {
        case Draw::Python: drawn = reinterpret_cast<PythonRandom*>(from)->random(); break;
        case Draw::Double: drawn = bits->next_double(bits->state); break;
        case Draw::StandardNormal: drawn = d.standard_normal(bits); break;
        case Draw::StandardExponential: drawn = d.standard_exponential(bits); break;
        case Draw::Normal: {
            const double loc = arg(0, 0.0), scale = arg(1, 1.0);
            if (!is_scale(scale)) return false;
            drawn = d.normal(bits, loc, scale);
            break;
        }
        case Draw::Exponential: {
            const double scale = arg(0, 1.0);
            if (!is_scale(scale)) return false;
            drawn = d.exponential(bits, scale);
            break;
        }
        case Draw::Uniform: {
            const double low = arg(0, 0.0), range = arg(1, 1.0) - low;
            if (!is_scale(range) || !std::isfinite(range)) return false;
            drawn = d.uniform(bits, low, range);
            break;
        }
        case Draw::Integers: {
            const bool both = args[1].kind != Kind::Empty;
            const int64_t first = words[2 * args[0].place];
            const int64_t low = both ? first : 0, high = both ? words[2 * args[1].place] : first;
            if (high <= low) return false;
            uint64_t one;
            d.integers(bits, static_cast<uint64_t>(low),
                       static_cast<uint64_t>(high) - 1 - static_cast<uint64_t>(low), 1, false, &one);
            std::memcpy(out, &one, sizeof one);
            return true;
        }
    }
    std::memcpy(out, &drawn, sizeof drawn);
    return true;
}

uint32_t run_direct_draw(void* data, int64_t* words) {
    auto& d = *static_cast<DirectDraw*>(data);
    const int64_t* at = words;
    char* const out = take_array(&at, 0).address;
    PyObject* from = d.own.get();
    if (!d.bound) from = reinterpret_cast<PyObject*>(*at), at += 2;
    if (from && d.open(from)) {
        if (d.draw == Draw::Python) return d.run(from, out, at), 0;
        const Locked locked(d.lock.get());
        if (!locked.failed() && d.run(from, out, at)) return 0;
    }
    return d.through_python.fn(d.through_python.data.get(), words);
}

std::span<const char* const> parameters_of(Draw draw) {
    static constexpr const char *kNormal[] = {"loc", "scale"}, *kScale[] = {"scale"},
                                *kBounds[] = {"low", "high"};
    switch (draw) {
        case Draw::Normal: return kNormal;
        case Draw::Exponential: return kScale;
        case Draw::Uniform:
        case Draw::Integers: return kBounds;
        default: return {};
    }
}

std::optional<Draw> draw_named(std::string_view module, bool is_generator, std::string_view method) {
    if (module == "random")
        return method == "random" && random_is_as_expected() ? std::optional(Draw::Python) : std::nullopt;
    if (method == "random" || method == "random_sample" || method == "rand") return Draw::Double;
    if (!is_generator) return std::nullopt;  // RandomState has distributions of its own
    const Distributions& d = distributions();
    const auto if_there = [](auto* f, Draw draw) { return f ? std::optional(draw) : std::nullopt; };
    if (method == "standard_normal") return if_there(d.standard_normal, Draw::StandardNormal);
    if (method == "standard_exponential") return if_there(d.standard_exponential, Draw::StandardExponential);
    if (method == "normal") return if_there(d.normal, Draw::Normal);
    if (method == "exponential") return if_there(d.exponential, Draw::Exponential);
    if (method == "uniform") return if_there(d.uniform, Draw::Uniform);
    if (method == "integers") return if_there(d.integers, Draw::Integers);
    return std::nullopt;
}

}  // namespace

bool is_own_method(PyObject* callable, PyObject* generator, const std::string& method) {
    const PyRef name = PyRef::steal(PyUnicode_FromString(method.c_str()));
    PyObject* own = name ? _PyType_Lookup(Py_TYPE(generator), name.get()) : nullptr;
    PyErr_Clear();
    if (!own || guards::is_function(own)) return false;
    if (callable == own) return true;
    if (PyMethod_Check(callable))
        return PyMethod_GET_SELF(callable) == generator && PyMethod_GET_FUNCTION(callable) == own;
    return PyCFunction_Check(callable) && Py_IS_TYPE(own, &PyMethodDescr_Type) &&
           PyCFunction_GET_SELF(callable) == generator &&
           reinterpret_cast<PyCFunctionObject*>(callable)->m_ml ==
               reinterpret_cast<PyMethodDescrObject*>(own)->d_method;
}

LibraryRoutine direct_draw_routine(PyObject* generator, std::string_view module, const std::string& method,
                                   const HostFunction& f, const HostResult& gives, LibraryRoutine otherwise) {
    if (gives.kind == Kind::Array) return otherwise;
    if (!is_own_method(f.callable.get(), generator, method)) return otherwise;
    const bool is_generator = std::string_view(Py_TYPE(generator)->tp_name).ends_with("Generator");
    const auto draw = draw_named(module, is_generator, method);
    if (!draw) return otherwise;
    auto d = std::make_shared<DirectDraw>();
    d->draw = *draw;
    d->bound = f.args.empty() || f.args[0].kind != Kind::Passed;
    // Keyword arguments come last.
    const size_t first = d->bound ? 0 : 1, count = f.args.size() - first;
    const size_t named = f.names ? static_cast<size_t>(PyTuple_GET_SIZE(f.names.get())) : 0;
    const std::span<const char* const> parameters = parameters_of(*draw);
    for (size_t k = 0; k < count; ++k) {
        size_t at = k;
        if (k >= count - named) {
            PyObject* name = PyTuple_GET_ITEM(f.names.get(), static_cast<Py_ssize_t>(k - (count - named)));
            at = static_cast<size_t>(
                std::ranges::find_if(
                    parameters,
                    [&](const char* p) { return PyUnicode_CompareWithASCIIString(name, p) == 0; }) -
                parameters.begin());
        }
        const Kind kind = f.args[first + k].kind;
        if (at >= parameters.size() || (kind != Kind::Int && kind != Kind::Float)) return otherwise;
        d->args[at] = {kind, static_cast<int>(k)};
    }
    const bool whole = *draw == Draw::Integers;
    if (whole && (d->args[0].kind != Kind::Int || d->args[1].kind == Kind::Float ||
                  gives.kind != Kind::Scalar || gives.dtype != DType::I64))
        return otherwise;
    if (!whole && gives.kind != Kind::Float) return otherwise;
    d->type = Py_TYPE(generator);
    if (*draw != Draw::Python) {
        for (const char* name : {"bit_generator", "_bit_generator"}) {
            PyObject* descr = PyDict_GetItemString(d->type->tp_dict, name);
            if (descr && Py_TYPE(descr) == &PyGetSetDescr_Type)
                d->bits_of = reinterpret_cast<PyGetSetDescrObject*>(descr);
        }
        if (!d->bits_of || !d->bits_of->d_getset->get) return otherwise;
    }
    if (d->bound) d->own = PyRef::borrow(generator);
    if (d->bound && !d->open(generator)) return otherwise;
    d->through_python = std::move(otherwise);
    return {run_direct_draw, std::move(d), true};
}

}  // namespace stator::frontend::regions
