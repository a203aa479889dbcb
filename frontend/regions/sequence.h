// Lists and tuples of Python's numbers, and strings, as arrays of one axis; lists and tuples of such as
// arrays, too.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/pyref.h"
#include "graph/dtype.h"

namespace stator::frontend::regions {

// f64 of floats, i64 of ints (what is beyond 64 bits shows in sequence_data), b1 of bools, u8, u16 or u32 of
// characters, as the string keeps them. Nothing for others, and for what has no items.
std::optional<graph::DType> item_dtype(PyObject* o);
Py_ssize_t items_in(PyObject* o);
bool is_sequence_iter(PyObject* o);  // iter() of a list, tuple or string
// Where its items lie, as `dtype`: in the string, or copied to `copy`. nullptr when it is of another kind.
const char* sequence_data(PyObject* o, graph::DType dtype, std::vector<char>* copy);
// Items that lists are going to get: all are made before any list changes.
struct NewItem {
    PyObject* list;
    Py_ssize_t at;
    PyRef item;
};
// Those for which `now` is not what was copied of the list's `items` items (`before`). False with an error.
bool make_items(PyObject* list, graph::DType dtype, const char* now, const char* before, size_t items,
                std::vector<NewItem>* made);
void put_items(std::vector<NewItem>* made);

// A list or tuple of lists, tuples or strings: its rows.
struct RowsKind {
    graph::DType dtype;   // of all items
    int64_t rows, items;  // how many
    int64_t each;         // in each row; -1 when they differ
    bool lists;           // all rows are lists
};
std::optional<RowsKind> rows_kind(PyObject* o);
// The items of all rows, one row after the other; false when some are of another kind.
bool rows_data(PyObject* o, graph::DType dtype, std::vector<char>* copy);
// Where each row begins among them, and where the last one ends; false when these are no rows.
bool row_starts(PyObject* o, std::vector<char>* starts);
// What all rows have in items; -1 when they differ.
int64_t items_in_each_row(PyObject* o);

}  // namespace stator::frontend::regions
