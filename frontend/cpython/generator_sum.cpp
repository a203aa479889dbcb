#include "frontend/cpython/raw.h"
// raw.h must come first.
#include "frontend/cpython/generator_sum.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stator::frontend {
namespace {

constexpr int64_t kMostItems = 8;  // of one loop
constexpr int64_t kUnknown = INT64_MAX;

using O = Opcode;

// An expression that begins at an instruction: how many items it has (or which number it is), and where the
// instructions go on.
struct Parsed {
    int64_t items;
    const Insn* next;
};

struct Expression {
    const MakingFrame* made;  // nullptr inside of the generator: variables are not known there
    const Insn* end;

    const Insn* skip(const Insn* at) const {
        while (at < end && (at->op == O::Nop || at->op == O::PushNull)) ++at;
        return at;
    }

    std::optional<Parsed> number(const Insn* at) const {
        if (at >= end || at->op != O::LoadConst || !PyLong_CheckExact(at->obj)) return std::nullopt;
        int overflow;
        const long long value = PyLong_AsLongLongAndOverflow(at->obj, &overflow);
        if (overflow || value > INT32_MAX || value < INT32_MIN) return std::nullopt;
        return Parsed{value, at + 1};
    }

    // The most items that `at` gives.
    std::optional<Parsed> iterable(const Insn* at) const {
        at = skip(at);
        if (at >= end) return std::nullopt;
        if (at->op == O::LoadConst && PyTuple_CheckExact(at->obj))
            return Parsed{PyTuple_GET_SIZE(at->obj), at + 1};
        if (made && (at->op == O::LoadFast || at->op == O::LoadFastCheck || at->op == O::LoadDeref))
            return Parsed{items_of(made->local(made->frame, at->arg)), at + 1};
        if (at->op == O::LoadGlobal) return called(at);
        return std::nullopt;
    }

    static int64_t items_of(PyObject* object) {
        if (object && PyCell_Check(object)) object = PyCell_GET(object);
        if (!object) return kUnknown;
        if (PyTuple_CheckExact(object)) return PyTuple_GET_SIZE(object);
        if (PyList_CheckExact(object)) return PyList_GET_SIZE(object);
        return kUnknown;
    }

    // range(ints), zip(iterables), enumerate(iterable, int), reversed(iterable).
    std::optional<Parsed> called(const Insn* at) const {
        const auto is = [&](const char* name) {
            return PyUnicode_CompareWithASCIIString(at->obj, name) == 0;
        };
        const bool range = is("range");
        if (!range && !is("zip") && !is("enumerate") && !is("reversed")) return std::nullopt;
        int64_t given[3], items = kUnknown;
        int count = 0;
        const Insn* next = skip(at + 1);
        for (; next < end && next->op != O::Call; next = skip(next)) {
            auto argument = number(next);
            const bool counts = argument.has_value();
            if (!argument && !range) argument = iterable(next);
            if (!argument || count == 3) return std::nullopt;
            if (!counts) items = std::min(items, argument->items);
            given[count++] = argument->items;
            next = argument->next;
        }
        if (next >= end || next->arg != count || next->obj || (next->flags & Insn::kKwOnStack) || count == 0)
            return std::nullopt;
        if (range) {
            const int64_t begin = count == 1 ? 0 : given[0], stop = count == 1 ? given[0] : given[1];
            items = begin < stop ? stop - begin : begin - stop;
        }
        return Parsed{items, next + 1};
    }

    // Whether a loop over a few items begins behind the expression at `at`.
    const Insn* loops_over_few(const Insn* at) const {
        const auto over = iterable(at);
        if (!over || over->items > kMostItems) return nullptr;
        const Insn* next = skip(over->next);
        return next < end && next->op == O::GetIter ? next : nullptr;
    }
};

bool is_numpys(PyTypeObject* type) {
    return !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) &&
           std::string_view(type->tp_name).starts_with("numpy.");
}

// An array of objects adds by their code.
bool holds_objects(PyObject* array) {
    const PyRef dtype = PyRef::steal(PyObject_GetAttrString(array, "dtype"));
    const PyRef has = dtype ? PyRef::steal(PyObject_GetAttrString(dtype.get(), "hasobject")) : PyRef();
    if (!has) return PyErr_Clear(), true;
    return has.get() != Py_False;
}

bool is_library(PyObject* module) {
    PyObject* name = PyDict_GetItemString(PyModule_GetDict(module), "__name__");
    if (!name || !PyUnicode_Check(name)) return false;
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) return PyErr_Clear(), false;
    const std::string_view whole(text);
    return whole == "numpy" || whole.starts_with("numpy.") || whole == "math" || whole == "cmath";
}

// Whether nothing but numbers, arrays and sequences of them comes of `object`, its items and calls of it.
bool gives_numbers(PyObject* object, int depth = 0) {
    if (!object || object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
        PyFloat_CheckExact(object) || PyComplex_CheckExact(object) || PyUnicode_CheckExact(object))
        return true;
    if (PyModule_CheckExact(object)) return is_library(object);
    if (PyCFunction_CheckExact(object))
        return !PyCFunction_GET_SELF(object) || PyModule_Check(PyCFunction_GET_SELF(object));
    if (PyType_CheckExact(object)) {
        auto* type = reinterpret_cast<PyTypeObject*>(object);
        return is_numpys(type) || !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
    }
    if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
        constexpr Py_ssize_t kMostLookedAt = 64;
        const Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
        if (depth == 3 || n > kMostLookedAt) return false;
        PyObject** items = PySequence_Fast_ITEMS(object);
        return std::all_of(items, items + n, [&](PyObject* x) { return gives_numbers(x, depth + 1); });
    }
    if (!is_numpys(Py_TYPE(object))) return false;
    return std::string_view(Py_TYPE(object)->tp_name) != "numpy.ndarray" || !holds_objects(object);
}

PyObject* global(const MakingFrame& made, PyObject* name) {
    PyObject* value = PyDict_GetItemWithError(made.globals, name);
    return value ? value : PyDict_GetItemWithError(made.builtins, name);
}

// The same of what the first iterable is made of, in the instructions [at, end).
bool loops_over_numbers(const Insn* at, const Insn* end, const MakingFrame& made) {
    return std::all_of(at, end, [&](const Insn& insn) {
        if (insn.op == O::LoadGlobal) return gives_numbers(global(made, insn.obj));
        if (insn.op != O::LoadFast && insn.op != O::LoadFastCheck && insn.op != O::LoadDeref) return true;
        PyObject* object = made.local(made.frame, insn.arg);
        return gives_numbers(object && PyCell_Check(object) ? PyCell_GET(object) : object);
    });
}

bool names_numbers(const CodeInfo& code, const MakingFrame& made) {
    for (Py_ssize_t i = 0; made.closure && i < PyTuple_GET_SIZE(made.closure); ++i)
        if (!gives_numbers(PyCell_GET(PyTuple_GET_ITEM(made.closure, i)))) return false;
    return std::all_of(code.insns.begin(), code.insns.end(), [&](const Insn& insn) {
        if (insn.op == O::MakeFunction) return false;
        if (insn.op != O::LoadGlobal) return true;
        return gives_numbers(global(made, insn.obj));
    });
}

// Whether each further `for` runs over a few items, too.
bool nests_few(const CodeInfo& code) {
    const Insn *begin = code.insns.data(), *end = begin + code.insns.size();
    const Expression inside{nullptr, end};
    const Insn* seen = begin - 1;
    for (const Insn* at = begin; at < end; ++at) {
        if (const Insn* found = inside.loops_over_few(at)) {
            if (std::any_of(seen + 1, found, [](const Insn& i) { return i.op == O::GetIter; })) return false;
            seen = found;
            at = found;
        }
    }
    return std::none_of(seen + 1, end, [](const Insn& i) { return i.op == O::GetIter; });
}

}  // namespace

bool sums_few_numbers(PyObject* callable, const MakingFrame& made) {
    if (!callable || !PyCFunction_CheckExact(callable) ||
        callable != PyDict_GetItemString(PyEval_GetBuiltins(), "sum") || !PyDict_CheckExact(made.globals) ||
        !PyDict_CheckExact(made.builtins))
        return false;
    const CodeInfo* code = CodeInfo::get(reinterpret_cast<PyCodeObject*>(made.load->obj));
    if (!code) return false;
    // The iterable of the first `for` is evaluated here, behind the function.
    const Insn* at = made.load + 1;
    while (at < made.end && (at->op == O::MakeFunction || at->op == O::SetFunctionAttribute)) ++at;
    const Insn* loop = Expression{&made, made.end}.loops_over_few(at);
    return loop && loops_over_numbers(at, loop, made) && nests_few(*code) && names_numbers(*code, made);
}

}  // namespace stator::frontend
