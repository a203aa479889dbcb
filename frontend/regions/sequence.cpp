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
    if (!PyFloat_CheckExact(first) && !PyLong_CheckExact(first)) return std::nullopt;
    const DType dtype = PyFloat_CheckExact(first) ? DType::F64 : DType::I64;
    std::vector<char> copy;
    return sequence_data(o, dtype, &copy) ? std::optional(dtype) : std::nullopt;
}

const char* sequence_data(PyObject* o, DType dtype, std::vector<char>* copy) {
    if (PyUnicode_CheckExact(o))
        return character_dtype(o) == dtype ? static_cast<const char*>(PyUnicode_DATA(o)) : nullptr;
    if (!is_list_or_tuple(o) || (dtype != DType::F64 && dtype != DType::I64)) return nullptr;
    const auto n = static_cast<size_t>(PySequence_Fast_GET_SIZE(o));
    PyObject** const items = PySequence_Fast_ITEMS(o);
    copy->resize(8 * n);
    char* at = copy->data();
    for (size_t i = 0; i < n; ++i, at += 8) {
        if (dtype == DType::F64) {
            if (!PyFloat_CheckExact(items[i])) return nullptr;
            const double d = PyFloat_AS_DOUBLE(items[i]);
            std::memcpy(at, &d, 8);
        } else {
            int overflow = 0;
            if (!PyLong_CheckExact(items[i])) return nullptr;
            const int64_t k = PyLong_AsLongLongAndOverflow(items[i], &overflow);
            if (overflow) return nullptr;
            std::memcpy(at, &k, 8);
        }
    }
    return copy->data();
}

}  // namespace stator::frontend::regions
