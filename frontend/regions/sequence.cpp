#include "frontend/regions/sequence.h"

#include <cstring>
#include <utility>

#include "frontend/once.h"
#include "frontend/pyref.h"

namespace stator::frontend::regions {

using graph::DType;

namespace {

bool is_list_or_tuple(PyObject* o) { return PyList_CheckExact(o) || PyTuple_CheckExact(o); }

DType character_dtype(PyObject* string) {
    switch (PyUnicode_KIND(string)) {
        case PyUnicode_1BYTE_KIND: return DType::U8;
        case PyUnicode_2BYTE_KIND: return DType::U16;
        default: return DType::U32;
    }
}

PyTypeObject* iterator_type(const char* utf8) {
    const PyRef string = PyRef::steal(PyUnicode_FromString(utf8));
    const PyRef it = PyRef::steal(PyObject_GetIter(string.get()));
    return Py_TYPE(it.get());
}

}  // namespace

bool is_sequence_iter(PyObject* o) {
    PyTypeObject* const t = Py_TYPE(o);
    if (t == &PyListIter_Type || t == &PyTupleIter_Type) return true;
    // Strings of ASCII have an iterator of their own.
    const auto& [ascii, other] =
        once([] { return std::pair(iterator_type("a"), iterator_type("\xc3\xa9")); });
    return t == ascii || t == other;
}

Py_ssize_t items_in(PyObject* o) {
    return PyUnicode_CheckExact(o) ? PyUnicode_GET_LENGTH(o) : PySequence_Fast_GET_SIZE(o);
}

std::optional<DType> item_dtype(PyObject* o) {
    if (PyUnicode_CheckExact(o)) return items_in(o) > 0 ? std::optional(character_dtype(o)) : std::nullopt;
    if (!is_list_or_tuple(o) || items_in(o) == 0) return std::nullopt;
    PyObject* const first = PySequence_Fast_GET_ITEM(o, 0);
    const bool is_float = PyFloat_CheckExact(first), is_bool = PyBool_Check(first);
    if (!is_float && !is_bool && !PyLong_CheckExact(first)) return std::nullopt;
    const DType dtype = is_float ? DType::F64 : is_bool ? DType::Bool : DType::I64;
    std::vector<char> copy;
    return sequence_data(o, dtype, &copy) ? std::optional(dtype) : std::nullopt;
}

// What an item is as `dtype`; false when it is of another kind.
static bool item_bits(PyObject* item, DType dtype, char* bits) {
    if (dtype == DType::Bool) {
        *bits = item == Py_True;
        return PyBool_Check(item);
    }
    if (dtype == DType::F64) {
        if (!PyFloat_CheckExact(item)) return false;
        const double d = PyFloat_AS_DOUBLE(item);
        std::memcpy(bits, &d, sizeof d);
        return true;
    }
    if (!PyLong_CheckExact(item)) return false;
    int overflow = 0;
    const int64_t k = PyLong_AsLongLongAndOverflow(item, &overflow);
    std::memcpy(bits, &k, sizeof k);
    return overflow == 0;
}

static PyObject* item_of_bits(const char* bits, DType dtype) {
    if (dtype == DType::Bool) return PyBool_FromLong(*bits);
    double d;
    int64_t k;
    if (dtype == DType::F64) return std::memcpy(&d, bits, sizeof d), PyFloat_FromDouble(d);
    return std::memcpy(&k, bits, sizeof k), PyLong_FromLongLong(k);
}

static bool copy_items(PyObject* o, DType dtype, char* to) {
    const auto n = static_cast<size_t>(items_in(o)), size = static_cast<size_t>(graph::info(dtype).size);
    if (PyUnicode_CheckExact(o)) {
        if (character_dtype(o) != dtype) return false;
        std::memcpy(to, PyUnicode_DATA(o), n * size);
        return true;
    }
    if (!is_list_or_tuple(o) || (dtype != DType::F64 && dtype != DType::I64 && dtype != DType::Bool))
        return false;
    PyObject** const items = PySequence_Fast_ITEMS(o);
    for (size_t i = 0; i < n; ++i)
        if (!item_bits(items[i], dtype, to + size * i)) return false;
    return true;
}

const char* sequence_data(PyObject* o, DType dtype, std::vector<char>* copy) {
    if (PyUnicode_CheckExact(o))
        return character_dtype(o) == dtype ? static_cast<const char*>(PyUnicode_DATA(o)) : nullptr;
    if (!is_list_or_tuple(o)) return nullptr;
    copy->resize(static_cast<size_t>(graph::info(dtype).size * items_in(o)));
    return copy_items(o, dtype, copy->data()) ? copy->data() : nullptr;
}

bool make_items(PyObject* list, DType dtype, const char* now, const char* before, size_t items,
                std::vector<NewItem>* made) {
    const auto size = static_cast<size_t>(graph::info(dtype).size);
    if (std::memcmp(now, before, items * size) == 0) return true;
    for (size_t i = 0; i < items; ++i, now += size, before += size) {
        if (std::memcmp(now, before, size) == 0) continue;
        made->push_back({list, static_cast<Py_ssize_t>(i), PyRef::steal(item_of_bits(now, dtype))});
        if (!made->back().item) return false;
    }
    return true;
}

void put_items(std::vector<NewItem>* made) {
    // A library routine may have released the GIL to somebody who made the list shorter.
    for (NewItem& n : *made)
        if (n.at < PyList_GET_SIZE(n.list)) PyList_SetItem(n.list, n.at, n.item.release());
}

static bool has_items(PyObject* o) { return is_list_or_tuple(o) || PyUnicode_CheckExact(o); }

std::optional<RowsKind> rows_kind(PyObject* o) {
    if (!is_list_or_tuple(o)) return std::nullopt;
    std::optional<DType> dtype;
    bool lists = true;
    for (Py_ssize_t i = 0; i < items_in(o); ++i) {
        PyObject* const row = PySequence_Fast_GET_ITEM(o, i);
        if (!has_items(row)) return std::nullopt;
        lists &= PyList_CheckExact(row);
        if (!dtype) dtype = item_dtype(row);
    }
    std::vector<char> copy;
    if (!dtype || !rows_data(o, *dtype, &copy)) return std::nullopt;
    return RowsKind{*dtype, items_in(o), std::ssize(copy) / graph::info(*dtype).size, items_in_each_row(o),
                    lists};
}

bool rows_data(PyObject* o, DType dtype, std::vector<char>* copy) {
    if (!is_list_or_tuple(o)) return false;
    const auto size = static_cast<size_t>(graph::info(dtype).size);
    size_t at = 0;
    for (Py_ssize_t i = 0; i < items_in(o); ++i) {
        PyObject* const row = PySequence_Fast_GET_ITEM(o, i);
        if (!has_items(row)) return false;
        at += size * static_cast<size_t>(items_in(row));
    }
    copy->resize(std::exchange(at, 0));
    for (Py_ssize_t i = 0; i < items_in(o); ++i) {
        PyObject* const row = PySequence_Fast_GET_ITEM(o, i);
        if (!copy_items(row, dtype, copy->data() + at)) return false;
        at += size * static_cast<size_t>(items_in(row));
    }
    return true;
}

bool row_starts(PyObject* o, std::vector<char>* starts) {
    if (!is_list_or_tuple(o)) return false;
    const auto rows = static_cast<size_t>(items_in(o));
    starts->resize((rows + 1) * sizeof(int64_t));
    int64_t at = 0;
    for (size_t i = 0; i <= rows; ++i) {
        std::memcpy(starts->data() + i * sizeof at, &at, sizeof at);
        if (i == rows) break;
        PyObject* const row = PySequence_Fast_GET_ITEM(o, static_cast<Py_ssize_t>(i));
        if (!has_items(row)) return false;
        at += items_in(row);
    }
    return true;
}

int64_t items_in_each_row(PyObject* o) {
    int64_t each = -1;
    for (Py_ssize_t i = 0; i < items_in(o); ++i) {
        PyObject* const row = PySequence_Fast_GET_ITEM(o, i);
        const int64_t n = has_items(row) ? items_in(row) : -1;
        if (n < 0 || (i > 0 && n != each)) return -1;
        each = n;
    }
    return each;
}

}  // namespace stator::frontend::regions
