// Attributes of arrays and scalars that are metadata or views: shape, ndim, size, dtype, T, real and so on.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"
#include "guards/check/names.h"

namespace stator::frontend::numpy {

namespace {

using Attribute = ShadowRef (*)(TraceBuilder&, const Operand&, PyObject* result);

ShadowRef shape_of(TraceBuilder& tb, const Operand& a, PyObject*) {
    std::vector<ShadowRef> items;
    for (Sym s : tb.shape(a.shadow)) items.push_back(tb.new_int(s));
    return tb.tuple(std::move(items));
}

ShadowRef size_of(TraceBuilder& tb, const Operand& a, PyObject*) {
    return tb.new_int(tb.syms().product(tb.shape(a.shadow)));
}

ShadowRef bytes_of(TraceBuilder& tb, const Operand& a, PyObject*) {
    return tb.new_int(tb.syms().mul(tb.syms().product(tb.shape(a.shadow)),
                                    tb.int_const(graph::info(a.shadow->dtype).size)));
}

// Settled by the guards on dtype and rank.
ShadowRef settled(TraceBuilder& tb, const Operand&, PyObject* result) { return tb.constant(result); }

ShadowRef transposed(TraceBuilder& tb, const Operand& a, PyObject* result) {
    const Shape shape = tb.shape(a.shadow);
    std::vector<int> axes(shape.size());
    std::iota(axes.rbegin(), axes.rend(), 0);
    return tb.new_view(a.shadow, permuted(tb, shape, axes), result);
}

ShadowRef matrix_transposed(TraceBuilder& tb, const Operand& a, PyObject* result) {
    const Shape shape = tb.shape(a.shadow);
    std::vector<int> axes(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    if (axes.size() < 2) return tb.fail(Reason::UnknownAttr, "mT");
    std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
    return tb.new_view(a.shadow, permuted(tb, shape, axes), result);
}

// a.name by NumPy, on replay too: a view of a's memory.
ShadowRef read_by(TraceBuilder& tb, const char* name, const Operand& a, PyObject* result) {
    const auto getter = [](const char* attribute) {
        PyRef module = module_named("operator");
        return module ? PyObject_CallMethod(module.get(), "attrgetter", "s", attribute) : nullptr;
    };
    static constexpr std::string_view kReal = "real";
    PyObject* real = once([&] { return getter("real"); });
    PyObject* imag = once([&] { return getter("imag"); });
    return lower_shared(tb, {name == kReal ? real : imag, std::span(&a, 1), nullptr, result});
}

// The real part of a real array is the array itself; of a complex one a view with other strides.
ShadowRef itself(TraceBuilder& tb, const Operand& a, PyObject* result) {
    if (!graph::is_complex(a.shadow->dtype)) return a.shadow;
    return read_by(tb, "real", a, result);
}

// The imaginary part of a real array: zeros that cannot be written, made by NumPy.
ShadowRef imaginary(TraceBuilder& tb, const Operand& a, PyObject* result) {
    return read_by(tb, "imag", a, result);
}

// Where it is dense in C order, and its extents say so: of an axis of one element the stride may be any.
ShadowRef strides_of(TraceBuilder& tb, const Operand& a, PyObject* result) {
    const Shape shape = tb.shape(a.shadow);
    const bool any = std::any_of(shape.begin(), shape.end(), [&](Sym s) { return tb.hint(s) < 2; });
    if (any || !c_contiguous(tb, a)) return tb.fail(Reason::UnknownAttr, "strides");
    std::vector<ShadowRef> items(shape.size());
    Sym stride = tb.int_const(graph::info(a.shadow->dtype).size);
    for (size_t d = shape.size(); d-- > 0;) {
        items[d] = tb.new_int(stride);
        stride = tb.syms().mul(stride, shape[d]);
    }
    for (size_t d = 0; d < items.size(); d++)
        if (tb.hint(items[d]->sym) != PyLong_AsLongLong(PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(d))))
            return tb.fail(Reason::ModelMismatch, "strides");
    return tb.tuple(std::move(items));
}

const std::unordered_map<std::string_view, Attribute>& array_attributes() {
    static const auto* t = new std::unordered_map<std::string_view, Attribute>{
        {"shape", shape_of}, {"size", size_of},     {"nbytes", bytes_of},    {"ndim", settled},
        {"dtype", settled},  {"itemsize", settled}, {"T", transposed},       {"mT", matrix_transposed},
        {"real", itself},    {"imag", imaginary},   {"strides", strides_of},
    };
    return *t;
}

// Attributes of NumPy and Python scalars that do not depend on the value.
bool settled_of_scalar(std::string_view name) {
    return name == "dtype" || name == "ndim" || name == "shape" || name == "size" || name == "itemsize" ||
           name == "nbytes";
}

// Attributes of a real number that are the number itself. Others may be the same object by chance: the
// imaginary part of the small int 0.
bool is_itself(std::string_view name) { return name == "real" || name == "numerator" || name == "T"; }

}  // namespace

ShadowRef lower_attr(TraceBuilder& tb, const Operand& a, PyObject* name, PyObject* result) {
    const std::string key = guards::utf8(name);
    if (!tb.resolve(a.shadow, a.obj)) return nullptr;
    if (a.shadow->kind == ShadowKind::Array) {
        auto it = array_attributes().find(key);
        if (it != array_attributes().end()) return it->second(tb, a, result);
    } else if (host_only(a)) {
        return lower_host_attr(tb, a, key, result);
    } else if (a.shadow->kind == ShadowKind::Object) {
        if (ShadowRef s = fact_attr(tb, a, result)) return s;
    } else if (a.shadow->kind == ShadowKind::Scalar || a.shadow->kind == ShadowKind::Int) {
        if (result == a.obj && is_itself(key)) return a.shadow;
        // 0 and 1, whatever the number is.
        if (PyLong_CheckExact(a.obj) && (key == "imag" || key == "denominator")) return tb.constant(result);
        if (PyArray_CheckScalar(a.obj) && settled_of_scalar(key)) return tb.constant(result);
    }
    return tb.fail(Reason::UnknownAttr, std::string(key));
}

bool lower_set_attr(TraceBuilder& tb, const Operand& a, PyObject* name, const Operand& value, bool sole) {
    const auto is = [&](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
    if (is("shape")) return lower_set_shape(tb, a, value, sole);
    if (is("real") || is("imag")) return lower_set_part(tb, a, name, value);
    return false;
}

}  // namespace stator::frontend::numpy
