// See python_random.h.
#include "frontend/regions/routines/python_random.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "frontend/hosts/numpy/generators.h"
#include "frontend/once.h"

namespace stator::frontend::regions {

namespace {

// Modules/_randommodule.c
struct Twister {
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
    // `count` random bits, 1 to 64 (getrandbits).
    uint64_t bits(int count) {
        if (count <= 32) return next() >> (32 - count);
        const uint64_t low = next(), high = next() >> (64 - count);
        return high << 32 | low;
    }
    // A number in [0, n) (_randbelow_with_getrandbits).
    uint64_t below(uint64_t n) {
        const int count = std::bit_width(n);
        uint64_t drawn = bits(count);
        while (drawn >= n) drawn = bits(count);
        return drawn;
    }
    // Kinderman and Monahan (1977), as Lib/random.py has it.
    double normal() {
        static const double magic = 4 * std::exp(-0.5) / std::sqrt(2.0);
        for (;;) {
            const double u = random(), v = 1.0 - random(), z = magic * (u - 0.5) / v;
            if (z * z / 4.0 <= -std::log(v)) return z;
        }
    }
};

// The number that waits for the next gauss(), an attribute of the object.
PyObject* gauss_name() {
    return once([] { return PyUnicode_InternFromString("gauss_next"); });
}

// The object's attributes, where the waiting number is the only one: any other may stand for a method.
PyObject* attributes_of(PyObject* generator) {
    const PyRef dict = PyRef::steal(PyObject_GenericGetDict(generator, nullptr));
    if (!dict) return PyErr_Clear(), nullptr;
    PyObject* const d = dict.get();  // the object has it
    return PyDict_GET_SIZE(d) == 1 && PyDict_Contains(d, gauss_name()) == 1 ? d : nullptr;
}

bool draw_gauss(Twister& twister, PyObject* attributes, double* drawn) {
    PyObject* const waiting = PyDict_GetItemWithError(attributes, gauss_name());
    if (!waiting) return PyErr_Clear(), false;
    if (PyFloat_CheckExact(waiting)) {
        *drawn = PyFloat_AS_DOUBLE(waiting);
        return PyDict_SetItem(attributes, gauss_name(), Py_None) == 0 || (PyErr_Clear(), false);
    }
    if (waiting != Py_None) return false;
    // Nothing fails any more once something has been drawn: the object that will wait is there first.
    const PyRef next = PyRef::steal(PyFloat_FromDouble(0.0));
    if (!next || PyDict_SetItem(attributes, gauss_name(), next.get()) != 0) return PyErr_Clear(), false;
    constexpr double kTwoPi = 2.0 * 3.14159265358979323846;
    const double angle = twister.random() * kTwoPi;
    const double radius = std::sqrt(-2.0 * std::log(1.0 - twister.random()));
    reinterpret_cast<PyFloatObject*>(next.get())->ob_fval = std::sin(angle) * radius;
    *drawn = std::cos(angle) * radius;
    return true;
}

// Whether objects keep the state where getstate() says, and what follows is what random() says.
bool state_is_as_known() {
    return once([] {
        const PyRef module = module_named("random");
        const PyRef one =
            PyRef::steal(module ? PyObject_CallMethod(module.get(), "Random", "i", 1) : nullptr);
        const PyRef told = PyRef::steal(one ? PyObject_CallMethod(one.get(), "getstate", nullptr) : nullptr);
        bool same = told && PyTuple_Check(told.get()) && PyTuple_GET_SIZE(told.get()) == 3 &&
                    Py_TYPE(one.get())->tp_basicsize >= static_cast<Py_ssize_t>(sizeof(Twister));
        PyObject* words = same ? PyTuple_GET_ITEM(told.get(), 1) : nullptr;
        same = words && PyTuple_Check(words) && PyTuple_GET_SIZE(words) == Twister::kWords + 1;
        const auto* it = reinterpret_cast<Twister*>(one.get());
        for (int k = 0; same && k <= Twister::kWords; ++k) {
            const unsigned long word = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(words, k));
            same = word == (k < Twister::kWords ? it->state[k] : static_cast<unsigned long>(it->index));
        }
        if (same) {
            // The words are made anew meanwhile.
            Twister copy = *it;
            for (int k = 0; same && k < Twister::kWords; ++k) {
                const PyRef next = PyRef::steal(PyObject_CallMethod(one.get(), "random", nullptr));
                same =
                    next && PyFloat_CheckExact(next.get()) && PyFloat_AS_DOUBLE(next.get()) == copy.random();
            }
        }
        PyErr_Clear();
        return same;
    });
}

// Bounds and parameters that are tried, and the arguments of the method for them.
struct Trial {
    std::array<double, 2> numbers;
    int64_t low, high;
    PyRef arguments;

    Trial(PythonsMethod method, int round)
        : numbers{0.5 - round, 1.25 + round}, low(-3 * round), high(low + 1 + (int64_t{7} << (20 * round))) {
        const long long last = method == PythonsMethod::RandInt ? high - 1 : high;
        arguments = PyRef::steal(method == PythonsMethod::Random ? PyTuple_New(0)
                                 : method >= PythonsMethod::RandInt
                                     ? Py_BuildValue("(LL)", static_cast<long long>(low), last)
                                     : Py_BuildValue("(dd)", numbers[0], numbers[1]));
    }
};

// Whether numbers drawn by Python from `one` and by us from `other`, which is in the same state, are the same
// and leave the same state.
bool draws_alike(const PythonsDraw& d, const char* method, PyObject* one, PyObject* other) {
    constexpr int kRounds = 3, kDraws = 16;
    const PyRef function = PyRef::steal(PyObject_GetAttrString(one, method));
    for (int round = 0; function && round < kRounds; ++round) {
        const Trial sample(d.method, round);
        for (int n = 0; n < kDraws; ++n) {
            const PyRef got = PyRef::steal(
                sample.arguments ? PyObject_CallObject(function.get(), sample.arguments.get()) : nullptr);
            uint64_t its = 0, mine = 1;
            char* const out = reinterpret_cast<char*>(&mine);
            const bool done = d.is_whole() ? d.draw_whole(other, sample.low, sample.high, out)
                                           : d.draw(other, sample.numbers, out);
            if (!done || !got) return false;
            if (d.is_whole()) {
                if (!PyLong_CheckExact(got.get())) return false;
                its = static_cast<uint64_t>(PyLong_AsLongLong(got.get()));
            } else {
                if (!PyFloat_CheckExact(got.get())) return false;
                const double v = PyFloat_AS_DOUBLE(got.get());
                std::memcpy(&its, &v, sizeof its);
            }
            if (mine != its) return false;
        }
    }
    const PyRef its = PyRef::steal(PyObject_CallMethod(one, "getstate", nullptr));
    const PyRef mine = PyRef::steal(PyObject_CallMethod(other, "getstate", nullptr));
    return its && mine && PyObject_RichCompareBool(its.get(), mine.get(), Py_EQ) == 1;
}

std::optional<PythonsMethod> method_named(std::string_view name) {
    if (name == "random") return PythonsMethod::Random;
    if (name == "gauss") return PythonsMethod::Gauss;
    if (name == "normalvariate") return PythonsMethod::NormalVariate;
    if (name == "randint") return PythonsMethod::RandInt;
    if (name == "randrange") return PythonsMethod::RandRange;
    return std::nullopt;
}

// The version of what the class and its bases have; 0: there is none to be had.
unsigned version_of(PyTypeObject* type) {
    // A lookup gives the type a version where it has none.
    _PyType_Lookup(type, gauss_name());
    return type->tp_version_tag;
}

}  // namespace

bool PythonsDraw::draw(PyObject* generator, const std::array<double, 2>& numbers, char* out) const {
    auto& twister = *reinterpret_cast<Twister*>(generator);
    double drawn = 0;
    if (method == PythonsMethod::Random) {
        drawn = twister.random();  // the caller has looked the method up, in whatever stands for it
    } else {
        PyObject* const attributes = type->tp_version_tag == version ? attributes_of(generator) : nullptr;
        if (!attributes) return false;
        if (method == PythonsMethod::NormalVariate)
            drawn = twister.normal();
        else if (!draw_gauss(twister, attributes, &drawn))
            return false;
        drawn = numbers[0] + drawn * numbers[1];
    }
    std::memcpy(out, &drawn, sizeof drawn);
    return true;
}

bool PythonsDraw::draw_whole(PyObject* generator, int64_t low, int64_t high, char* out) const {
    if (high <= low || type->tp_version_tag != version || !attributes_of(generator)) return false;
    const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const uint64_t drawn = static_cast<uint64_t>(low) + reinterpret_cast<Twister*>(generator)->below(width);
    std::memcpy(out, &drawn, sizeof drawn);
    return true;
}

std::optional<PythonsDraw> pythons_draw_of(PyObject* generator, std::string_view method) {
    numpy::GeneratorClass* const source = numpy::generator_class(generator);
    const auto known = method_named(method);
    if (!source || source->module != std::string_view("random") || !known || !state_is_as_known())
        return std::nullopt;
    PythonsDraw d{*known, Py_TYPE(generator), version_of(Py_TYPE(generator))};
    if (d.version == 0) return std::nullopt;
    // Each time anew: functions of the module may have been replaced since.
    const PyRef module = module_named("random");
    const auto made = [&] {
        return PyRef::steal(module ? PyObject_CallMethod(module.get(), "Random", "i", 7) : nullptr);
    };
    const PyRef one = made(), other = made();
    const std::string name(method);
    const bool alike = one && other && Py_TYPE(other.get()) == d.type &&
                       draws_alike(d, name.c_str(), one.get(), other.get());
    PyErr_Clear();
    return alike ? std::optional(d) : std::nullopt;
}

}  // namespace stator::frontend::regions
