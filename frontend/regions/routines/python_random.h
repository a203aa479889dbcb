// The numbers that methods of Python's random.Random draw, without Python: the Mersenne Twister MT19937
// (Matsumoto and Nishimura 1998) on the state in the object (Modules/_randommodule.c), and what Lib/random.py
// makes of its numbers.
//
// Nothing of this is believed: `pythons_draw_of` compares numbers of two objects, one of which draws in
// Python, and their states afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "frontend/pyref.h"

namespace stator::frontend::regions {

enum class PythonsMethod : uint8_t { Random, Gauss, NormalVariate, RandInt, RandRange };

// A method of random.Random that is as Python's library has it.
struct PythonsDraw {
    PythonsMethod method;
    PyTypeObject* type = nullptr;
    unsigned version = 0;  // of the type: anything that is set in the class changes it

    bool is_whole() const { return method >= PythonsMethod::RandInt; }
    // One number of eight bytes (a double or an int64) from `generator`, which is exactly of the type; false
    // when Python has to do it, before anything is drawn: the class has changed, the object has attributes of
    // a program's own, or the arguments are none that the method takes.
    bool draw(PyObject* generator, const std::array<double, 2>& numbers, char* out) const;
    bool draw_whole(PyObject* generator, int64_t low, int64_t high, char* out) const;
};

std::optional<PythonsDraw> pythons_draw_of(PyObject* generator, std::string_view method);

}  // namespace stator::frontend::regions
