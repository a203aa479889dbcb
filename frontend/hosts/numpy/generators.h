// Classes of random number generators: NumPy's Generator and RandomState, Python's Random, and their methods
// that draw. The functions of `np.random` and `random` are methods of a hidden one.
//
// What has been drawn cannot be drawn again: whoever calls one of these goes on behind the call, never in
// front of it. They fail, where they do, before they draw.
#pragma once

#include <span>
#include <string_view>

#include "frontend/pyref.h"

namespace stator::frontend::numpy {

// Its module is not imported for this, and a generator of our own to try calls on is made when it is asked
// for: both take milliseconds.
class GeneratorClass {
  public:
    GeneratorClass(const char* module, const char* name, const char* maker,
                   std::span<const std::string_view> methods,
                   std::span<const std::string_view> more_methods = {})
        : module(module), name(name), maker_(maker), methods_(methods), more_methods_(more_methods) {}
    const char *const module, *const name;
    bool has(PyObject* generator);  // exactly of this class
    // Whether this method gives numbers whose kind and shape follow from the kinds of the arguments and from
    // `size`.
    bool draws(std::string_view method) const;
    // Borrowed; nullptr where there is none. Python code runs, during which another thread may make it, too.
    PyObject* sample();

  private:
    const char* maker_;
    std::span<const std::string_view> methods_, more_methods_;
    PyObject *type_ = nullptr, *sample_ = nullptr;  // when they were asked for first
};

GeneratorClass* generator_class(PyObject* generator);  // nullptr: it is none
bool draws_are_possible();                             // whether any module of random numbers is there

}  // namespace stator::frontend::numpy
