// Which C function draws the number that a method of NumPy's Generator or RandomState gives.
//
// NumPy's distributions are functions of its extension module `numpy.random._generator` (declared in
// numpy/random/distributions.h), which take the generator's `bitgen_t`, the documented C interface of bit
// generators. They are found in the process, so that the numbers are those of whatever NumPy is there.
// RandomState's own normal and exponential numbers (numpy/random/src/legacy/legacy-distributions.c) are not
// to be had so, and are spelled out here: the polar method of Marsaglia and Bray (1964), whose second number
// waits in the object, and the logarithm of a uniform number.
//
// Nothing of this is believed: `is_as_numpy_draws` draws some numbers both ways, and compares them and the
// states afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "frontend/pyref.h"

namespace stator::frontend::regions {

// numpy/random/bitgen.h
struct BitGenerator {
    void* state;
    uint64_t (*next_uint64)(void*);
    uint32_t (*next_uint32)(void*);
    double (*next_double)(void*);
    uint64_t (*next_raw)(void*);
};

// What a RandomState keeps beside its bits (numpy/random/src/legacy/legacy-distributions.h).
struct LegacyState {
    BitGenerator* bits;
    int has_gauss;
    double gauss;
};

// What arguments NumPy's method takes without a second look. For all others Python is asked, which may raise.
enum class Domain : uint8_t { Any, NonNegative, Positive, Fraction, AboveOne, Rate, Trials };

struct Parameter {
    static constexpr double kRequired = std::numeric_limits<double>::infinity();
    const char* name = nullptr;  // nullptr: there is none
    Domain domain = Domain::Any;
    double standard = kRequired;  // where it is not given
};

struct Distribution {
    enum class Call : uint8_t {
        Double,             // the bit generator's own uniform number
        Floats,             // double f(bits, parameters...)
        Count,              // int64_t f(bits, parameters...)
        Range,              // double f(bits, low, high - low)
        Bounded,            // an int64 in [low, high), or in [0, low)
        MaskedBounded,      // as older NumPy draws it
        Ordered,            // double f(bits, left, mode, right)
        Binomial,           // int64_t f(bits, p, n, memory); the parameters are (n, p)
        LegacyNormal,       // loc + scale * gauss
        LegacyGauss,        // gauss alone
        LegacyExponential,  // scale * -log(1 - uniform)
    };
    static constexpr size_t kMost = 3;
    const char* method;
    Call call;
    const char* symbol = nullptr;
    std::array<Parameter, kMost> parameters = {};

    bool is_legacy() const { return call >= Call::LegacyNormal; }
    bool is_count() const { return call == Call::Count || call == Call::Binomial; }
    bool is_whole() const { return call == Call::Bounded || call == Call::MaskedBounded; }
};

// What a generator draws with.
struct Bits {
    BitGenerator* bits = nullptr;
    LegacyState* legacy = nullptr;  // of a RandomState
};

// A distribution whose C function was found.
struct Drawing {
    const Distribution* what;
    const void* function;
    size_t count;  // of parameters

    // One number, of eight bytes (a double or an int64); false when Python has to look at the arguments,
    // before anything is drawn.
    bool draw(const Bits& from, const double* arguments, char* out) const;
    // The same of `is_whole()` ones, in [low, high).
    bool draw_whole(const Bits& from, int64_t low, int64_t high, char* out) const;
};
// Nothing where NumPy's method is no such function, or where what is known of it is not so here.
std::optional<Drawing> drawing_of(PyObject* generator, std::string_view method);

// The bit generator in the capsule of a NumPy bit generator; nullptr: it is not one.
BitGenerator* bits_of(PyObject* bit_generator);
// Bytes from the start of a RandomState to its LegacyState; 0 when its object is not laid out as it is known.
Py_ssize_t legacy_offset(PyObject* random_state);
// nullptr where there is none at `offset`.
LegacyState* legacy_state_at(PyObject* random_state, Py_ssize_t offset);

}  // namespace stator::frontend::regions
