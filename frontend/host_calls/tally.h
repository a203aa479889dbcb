// How many calls stator has answered in NumPy's place, by what was called.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

namespace stator::frontend {

struct Tally {
    std::string name;  // "numpy.linalg.norm", "ndarray.mean", "a + b"
    int64_t answered = 0;
};

// One that lives as long as the process and is listed by host_call_counts().
Tally& new_tally(std::string name);
Tally& new_tally_of(PyObject* function);

// What reports and logs call a function of NumPy's: "numpy.linalg.norm"; a method: "ndarray.mean".
std::string full_name(PyObject* function);

}  // namespace stator::frontend
