// Lists and tuples of Python's numbers, and strings, as arrays of one axis.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/dtype.h"

namespace stator::frontend::regions {

// f64 of floats, i64 of ints (what is beyond 64 bits shows in sequence_data), b1 of bools, u8, u16 or u32 of
// characters, as the string keeps them. Nothing for others, and for what has no items.
std::optional<graph::DType> item_dtype(PyObject* o);
Py_ssize_t items_in(PyObject* o);
bool is_sequence_iter(PyObject* o);  // iter() of a list, tuple or string
// Where its items lie, as `dtype`: in the string, or copied to `copy`. nullptr when it is of another kind.
const char* sequence_data(PyObject* o, graph::DType dtype, std::vector<char>* copy);
// Gives the list new objects where `now` is not what was copied (`before`). False with an error, when the
// list is as it was.
bool store_items(PyObject* list, graph::DType dtype, const char* now, const std::vector<char>& before);

}  // namespace stator::frontend::regions
