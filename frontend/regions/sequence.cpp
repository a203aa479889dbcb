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

const char* sequence_data(PyObject* o, DType dtype, std::vector<char>* copy) {
    if (PyUnicode_CheckExact(o))
        return character_dtype(o) == dtype ? static_cast<const char*>(PyUnicode_DATA(o)) : nullptr;
    if (!is_list_or_tuple(o) || (dtype != DType::F64 && dtype != DType::I64 && dtype != DType::Bool))
        return nullptr;
    const auto n = static_cast<size_t>(PySequence_Fast_GET_SIZE(o));
    const auto size = static_cast<size_t>(graph::info(dtype).size);
    PyObject** const items = PySequence_Fast_ITEMS(o);
    copy->resize(size * n);
    for (size_t i = 0; i < n; ++i)
        if (!item_bits(items[i], dtype, copy->data() + size * i)) return nullptr;
    return copy->data();
}

bool store_items(PyObject* list, DType dtype, const char* now, const std::vector<char>& before) {
    const auto size = static_cast<size_t>(graph::info(dtype).size);
    std::vector<std::pair<Py_ssize_t, PyRef>> items;
    for (size_t at = 0; at < before.size(); at += size) {
        if (std::memcmp(now + at, before.data() + at, size) == 0) continue;
        items.emplace_back(static_cast<Py_ssize_t>(at / size), PyRef::steal(item_of_bits(now + at, dtype)));
        if (!items.back().second) return false;
    }
    // A library routine may have released the GIL to somebody who made it shorter.
    for (auto& [i, item] : items)
        if (i < PyList_GET_SIZE(list)) PyList_SetItem(list, i, item.release());
    return true;
}

}  // namespace stator::frontend::regions
