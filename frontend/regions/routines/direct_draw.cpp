// One random number without Python between: by the C functions that NumPy's methods call themselves
// (distributions.h), or as Python's Random.random does, which is the Mersenne Twister MT19937 (Matsumoto and
// Nishimura 1998) in 53 bits, on the state in its object. What is not as expected (arguments that NumPy
// refuses, a lock that another thread has) goes through Python, before anything was drawn.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "frontend/cpython/frame.h"
#include "frontend/cpython/functions.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"
#include "frontend/regions/routines/distributions.h"
#include "frontend/regions/routines/library.h"
#include "guards/check/functions.h"

namespace stator::frontend::regions {

namespace {

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

struct DirectDraw {
    std::optional<Drawing> numpys;  // nothing: Python's random()
    bool bound;  // the generator is the callable's own, else its address is the first operand
    struct Argument {
        bool given = false, whole = false;
        int place = 0;  // among the operands
    };
    std::array<Argument, Distribution::kMost> args = {};
    LibraryRoutine through_python;
    PyTypeObject* type;            // of the generator
    PyGetSetDescrObject* bits_of;  // how it tells its bit generator
    PyRef own;                     // the callable's
    // What the last one that was drawn from draws with. Of the generator itself nothing is kept: a program
    // may see it go.
    PyRef bit_generator, lock;
    Bits from;
    Py_ssize_t legacy = 0;  // where a generator has its LegacyState
    // How often threads had taken turns when the lock was last seen free.
    std::optional<unsigned long> free_at;

    bool open(PyObject* generator);
    bool is_free();
    bool run(char* out, const int64_t* words) const;
};

bool DirectDraw::open(PyObject* generator) {
    if (Py_TYPE(generator) != type) return false;
    if (!numpys) return true;
    const PyRef now = PyRef::steal(bits_of->d_getset->get(generator, bits_of->d_getset->closure));
    if (!now) return PyErr_Clear(), false;
    if (now.get() != bit_generator.get()) {
        PyRef its_lock = PyRef::steal(PyObject_GetAttrString(now.get(), "lock"));
        BitGenerator* const bits = regions::bits_of(now.get());
        if (!bits || !its_lock) return PyErr_Clear(), false;
        from.bits = bits;
        bit_generator = PyRef::borrow(now.get());
        lock = std::move(its_lock);
        free_at.reset();
        if (numpys->what->is_legacy()) legacy = legacy_offset(generator);
    }
    if (!numpys->what->is_legacy()) return true;
    from.legacy = legacy_state_at(generator, legacy);
    return from.legacy && from.legacy->bits->state == from.bits->state;
}

// Whether no other thread is in the middle of a draw from the generator. One that is holds the generator's
// lock and has let go of the GIL; with one thread nobody can. Nothing here gives the GIL away, so that the
// lock need not be kept: whether it can be had is enough, and that holds for as long as no other thread has
// run.
bool DirectDraw::is_free() {
    PyThreadState* const ts = PyThreadState_Get();
    if (!has_other_threads(ts)) return true;
    const unsigned long switches = thread_switches(ts);
    if (free_at == switches) return true;
    const PyRef got = PyRef::steal(PyObject_CallMethod(lock.get(), "acquire", "i", 0));
    if (got.get() != Py_True) return PyErr_Clear(), false;
    const PyRef done = PyRef::steal(PyObject_CallMethod(lock.get(), "release", nullptr));
    if (!done) return PyErr_Clear(), false;
    free_at = switches;
    return true;
}

// False when Python has to look at the arguments; nothing was drawn then.
bool DirectDraw::run(char* out, const int64_t* words) const {
    const auto word = [&](const Argument& a) { return words + 2 * a.place; };
    if (numpys->what->is_whole()) {
        const int64_t first = *word(args[0]);
        return args[1].given ? numpys->draw_whole(from, first, *word(args[1]), out)
                             : numpys->draw_whole(from, 0, first, out);
    }
    std::array<double, Distribution::kMost> numbers;
    for (size_t k = 0; k < numpys->count; ++k) {
        const Argument& a = args[k];
        if (!a.given)
            numbers[k] = numpys->what->parameters[k].standard;
        else if (a.whole)
            numbers[k] = static_cast<double>(*word(a));
        else
            std::memcpy(&numbers[k], word(a), sizeof(double));
    }
    return numpys->draw(from, numbers.data(), out);
}

uint32_t run_direct_draw(void* data, int64_t* words) {
    auto& d = *static_cast<DirectDraw*>(data);
    const int64_t* at = words;
    char* const out = take_array(&at, 0).address;
    PyObject* generator = d.own.get();
    if (!d.bound) generator = reinterpret_cast<PyObject*>(*at), at += 2;
    if (generator && d.open(generator)) {
        if (!d.numpys) {
            const double drawn = reinterpret_cast<PythonRandom*>(generator)->random();
            std::memcpy(out, &drawn, sizeof drawn);
            return 0;
        }
        if (d.is_free() && d.run(out, at)) return 0;
    }
    return d.through_python.fn(d.through_python.data.get(), words);
}

// Whether the call is one number by arguments that are numbers of eight bytes, each for a parameter.
bool assign_arguments(const HostFunction& f, DirectDraw* d) {
    const size_t first = d->bound ? 0 : 1, count = f.args.size() - first;
    if (!d->numpys) return count == 0;
    // Keyword arguments come last.
    const size_t named = f.names ? static_cast<size_t>(PyTuple_GET_SIZE(f.names.get())) : 0;
    const auto& parameters = d->numpys->what->parameters;
    for (size_t k = 0; k < count; ++k) {
        size_t at = k;
        if (k >= count - named) {
            PyObject* name = PyTuple_GET_ITEM(f.names.get(), static_cast<Py_ssize_t>(k - (count - named)));
            const auto called = [&](const Parameter& p) {
                return p.name && PyUnicode_CompareWithASCIIString(name, p.name) == 0;
            };
            at = static_cast<size_t>(std::ranges::find_if(parameters, called) - parameters.begin());
        }
        const Value& v = f.args[first + k];
        const bool number = v.kind == Kind::Scalar;
        const bool whole = v.kind == Kind::Int || (number && v.dtype == DType::I64);
        if (at >= d->numpys->count || (!whole && v.kind != Kind::Float && !(number && v.dtype == DType::F64)))
            return false;
        d->args[at] = {true, whole, static_cast<int>(k)};
    }
    if (d->numpys->what->is_whole())
        return d->args[0].given && d->args[0].whole && (d->args[1].whole || !d->args[1].given);
    for (size_t k = 0; k < d->numpys->count; ++k)
        if (!d->args[k].given && parameters[k].standard == Parameter::kRequired) return false;
    return true;
}

// Whether what the call gives is as long as what is drawn.
bool gives_as_drawn(const HostResult& gives, const std::optional<Drawing>& drawing) {
    if (!drawing) return gives.kind == Kind::Float;
    switch (drawing->what->call) {
        case Distribution::Call::Bounded: return gives.kind == Kind::Scalar && gives.dtype == DType::I64;
        case Distribution::Call::MaskedBounded:
        case Distribution::Call::Count: return gives.kind == Kind::Int;
        default: return gives.kind == Kind::Float;
    }
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
    if (gives.kind == Kind::Array || !is_own_method(f.callable.get(), generator, method)) return otherwise;
    auto d = std::make_shared<DirectDraw>();
    if (module == "random") {
        if (method != "random" || !random_is_as_expected()) return otherwise;
    } else if (d->numpys = drawing_of(generator, method); !d->numpys) {
        return otherwise;
    }
    d->bound = f.args.empty() || f.args[0].kind != Kind::Passed;
    if (!assign_arguments(f, d.get()) || !gives_as_drawn(gives, d->numpys)) return otherwise;
    d->type = Py_TYPE(generator);
    if (d->numpys) {
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
