// One random number without Python between: by the C functions that NumPy's methods call themselves
// (distributions.h), or as the methods of Python's Random draw (python_random.h). What is not as expected
// (arguments that NumPy refuses, a lock that another thread has) goes through Python, before anything was
// drawn.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "frontend/cpython/frame.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/regions/routines/distributions.h"
#include "frontend/regions/routines/library.h"
#include "frontend/regions/routines/python_random.h"
#include "guards/check/functions.h"

namespace stator::frontend::regions {

namespace {

// Where an argument is among the operands.
struct Argument {
    bool given = false, whole = false;
    int place = 0;

    int64_t integer(const int64_t* words) const { return words[2 * place]; }
    double number(const int64_t* words, double standard) const {
        if (!given) return standard;
        if (whole) return static_cast<double>(integer(words));
        double d;
        std::memcpy(&d, words + 2 * place, sizeof d);
        return d;
    }
};

// Of both kinds of generators: which one a call draws from, and what it does otherwise.
struct Drawn {
    bool bound;  // the generator is the callable's own, else its address is the first operand
    PyRef own;   // the callable's
    LibraryRoutine through_python;
    std::array<Argument, Distribution::kMost> args = {};

    PyObject* generator(const int64_t** words) const {
        if (bound) return own.get();
        auto* const given = reinterpret_cast<PyObject*>(**words);
        *words += 2;
        return given;
    }
};

struct DirectDraw : Drawn {
    Drawing drawing;
    PyTypeObject* type;            // of the generator
    PyGetSetDescrObject* bits_of;  // how it tells its bit generator
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
        if (drawing.what->is_legacy()) legacy = legacy_offset(generator);
    }
    if (!drawing.what->is_legacy()) return true;
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
    if (drawing.what->is_whole()) {
        const int64_t first = args[0].integer(words);
        return args[1].given ? drawing.draw_whole(from, first, args[1].integer(words), out)
                             : drawing.draw_whole(from, 0, first, out);
    }
    std::array<double, Distribution::kMost> numbers;
    for (size_t k = 0; k < drawing.count; ++k)
        numbers[k] = args[k].number(words, drawing.what->parameters[k].standard);
    return drawing.draw(from, numbers.data(), out);
}

uint32_t run_direct_draw(void* data, int64_t* words) {
    auto& d = *static_cast<DirectDraw*>(data);
    const int64_t* at = words;
    char* const out = take_array(&at, 0).address;
    PyObject* const generator = d.generator(&at);
    if (generator && d.open(generator) && d.is_free() && d.run(out, at)) return 0;
    return d.through_python.fn(d.through_python.data.get(), words);
}

struct PythonDraw : Drawn {
    PythonsDraw drawing;

    bool run(PyObject* generator, char* out, const int64_t* words) const;
};

bool PythonDraw::run(PyObject* generator, char* out, const int64_t* words) const {
    if (!generator || Py_TYPE(generator) != drawing.type) return false;
    if (!drawing.is_whole())
        return drawing.draw(generator, {args[0].number(words, 0.0), args[1].number(words, 1.0)}, out);
    const int64_t first = args[0].integer(words);
    if (!args[1].given) return drawing.draw_whole(generator, 0, first, out);
    int64_t end = args[1].integer(words);
    if (drawing.method == PythonsMethod::RandInt && end == std::numeric_limits<int64_t>::max()) return false;
    return drawing.draw_whole(generator, first, end + (drawing.method == PythonsMethod::RandInt), out);
}

uint32_t run_python_draw(void* data, int64_t* words) {
    const auto& d = *static_cast<PythonDraw*>(data);
    const int64_t* at = words;
    char* const out = take_array(&at, 0).address;
    PyObject* const generator = d.generator(&at);
    if (d.run(generator, out, at)) return 0;
    return d.through_python.fn(d.through_python.data.get(), words);
}

// Nothing for what is no number of eight bytes.
std::optional<Argument> argument(const Value& v, size_t place) {
    const bool number = v.kind == Kind::Scalar;
    const bool whole = v.kind == Kind::Int || (number && v.dtype == DType::I64);
    if (!whole && v.kind != Kind::Float && !(number && v.dtype == DType::F64)) return std::nullopt;
    return Argument{true, whole, static_cast<int>(place)};
}

// Whether the call is one number by arguments that are numbers, each for a parameter.
bool assign_arguments(const HostFunction& f, DirectDraw* d) {
    const size_t first = d->bound ? 0 : 1, count = f.args.size() - first;
    // Keyword arguments come last.
    const size_t named = f.names ? static_cast<size_t>(PyTuple_GET_SIZE(f.names.get())) : 0;
    const auto& parameters = d->drawing.what->parameters;
    for (size_t k = 0; k < count; ++k) {
        size_t at = k;
        if (k >= count - named) {
            PyObject* name = PyTuple_GET_ITEM(f.names.get(), static_cast<Py_ssize_t>(k - (count - named)));
            const auto called = [&](const Parameter& p) {
                return p.name && PyUnicode_CompareWithASCIIString(name, p.name) == 0;
            };
            at = static_cast<size_t>(std::ranges::find_if(parameters, called) - parameters.begin());
        }
        const auto one = argument(f.args[first + k], k);
        if (at >= d->drawing.count || !one) return false;
        d->args[at] = *one;
    }
    if (d->drawing.what->is_whole())
        return d->args[0].given && d->args[0].whole && (d->args[1].whole || !d->args[1].given);
    if (d->drawing.what->call == Distribution::Call::Binomial && !d->args[0].whole) return false;
    for (size_t k = 0; k < d->drawing.count; ++k)
        if (!d->args[k].given && parameters[k].standard == Parameter::kRequired) return false;
    return true;
}

bool assign_arguments(const HostFunction& f, PythonDraw* d) {
    const size_t first = d->bound ? 0 : 1, count = f.args.size() - first;
    const auto fewest = [](PythonsMethod m) -> size_t {
        return m == PythonsMethod::RandInt ? 2 : m == PythonsMethod::RandRange ? 1 : 0;
    };
    const size_t most = d->drawing.method == PythonsMethod::Random ? 0 : 2;
    if (f.names || count < fewest(d->drawing.method) || count > most) return false;
    for (size_t k = 0; k < count; ++k) {
        const Kind kind = f.args[first + k].kind;  // NumPy's numbers give NumPy's
        if (kind != Kind::Int && (kind != Kind::Float || d->drawing.is_whole())) return false;
        d->args[k] = *argument(f.args[first + k], k);
    }
    return true;
}

// Whether what the call gives is as long as what is drawn.
bool gives_as_drawn(const HostResult& gives, const Distribution& d) {
    switch (d.call) {
        case Distribution::Call::Bounded:  // choice gives an int
            return gives.kind == Kind::Int || (gives.kind == Kind::Scalar && gives.dtype == DType::I64);
        case Distribution::Call::MaskedBounded:
        case Distribution::Call::Binomial:
        case Distribution::Call::Count: return gives.kind == Kind::Int;
        default: return gives.kind == Kind::Float;
    }
}

bool is_bound(const HostFunction& f) { return f.args.empty() || f.args[0].kind != Kind::Passed; }

LibraryRoutine numpys_draw_routine(PyObject* generator, const std::string& method, const HostFunction& f,
                                   const HostResult& gives, LibraryRoutine otherwise) {
    if (!is_own_method(f.callable.get(), generator, method)) return otherwise;
    const auto drawing = drawing_of(generator, method);
    if (!drawing || !gives_as_drawn(gives, *drawing->what)) return otherwise;
    auto d = std::make_shared<DirectDraw>();
    d->drawing = *drawing;
    d->bound = is_bound(f);
    if (!assign_arguments(f, d.get())) return otherwise;
    d->type = Py_TYPE(generator);
    for (const char* name : {"bit_generator", "_bit_generator"}) {
        PyObject* descr = PyDict_GetItemString(d->type->tp_dict, name);
        if (descr && Py_TYPE(descr) == &PyGetSetDescr_Type)
            d->bits_of = reinterpret_cast<PyGetSetDescrObject*>(descr);
    }
    if (!d->bits_of || !d->bits_of->d_getset->get) return otherwise;
    if (d->bound) d->own = PyRef::borrow(generator);
    if (d->bound && !d->open(generator)) return otherwise;
    d->through_python = std::move(otherwise);
    return {run_direct_draw, std::move(d), true};
}

LibraryRoutine pythons_draw_routine(PyObject* generator, const std::string& method, const HostFunction& f,
                                    const HostResult& gives, LibraryRoutine otherwise) {
    const auto drawing = pythons_draw_of(generator, method);
    if (!drawing || gives.kind != (drawing->is_whole() ? Kind::Int : Kind::Float)) return otherwise;
    auto d = std::make_shared<PythonDraw>();
    d->drawing = *drawing;
    d->bound = is_bound(f);
    if (!assign_arguments(f, d.get())) return otherwise;
    if (d->bound) d->own = PyRef::borrow(generator);
    d->through_python = std::move(otherwise);
    return {run_python_draw, std::move(d), true};
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

// Whether it is the function that the class has in Python, plain or as a method of this generator.
static bool is_own_function(PyObject* callable, PyObject* generator, const std::string& method) {
    const PyRef name = PyRef::steal(PyUnicode_FromString(method.c_str()));
    PyObject* own = name ? _PyType_Lookup(Py_TYPE(generator), name.get()) : nullptr;
    PyErr_Clear();
    if (!own || !guards::is_function(own)) return false;
    return callable == own || (PyMethod_Check(callable) && PyMethod_GET_SELF(callable) == generator &&
                               PyMethod_GET_FUNCTION(callable) == own);
}

LibraryRoutine direct_draw_routine(PyObject* generator, std::string_view module, const std::string& method,
                                   const HostFunction& f, const HostResult& gives, LibraryRoutine otherwise) {
    if (gives.kind == Kind::Array) return otherwise;
    if (module != "random") return numpys_draw_routine(generator, method, f, gives, std::move(otherwise));
    const bool own = is_own_method(f.callable.get(), generator, method) ||
                     is_own_function(f.callable.get(), generator, method);
    return own ? pythons_draw_routine(generator, method, f, gives, std::move(otherwise)) : otherwise;
}

}  // namespace stator::frontend::regions
