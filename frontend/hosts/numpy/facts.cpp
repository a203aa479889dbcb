// Questions whose answers follow from the types, dtypes and ranks of arguments, which guards settle: the
// answer is a constant of the trace.
#include <algorithm>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "guards/check/functions.h"

namespace stator::frontend::numpy {

namespace {

bool is_plain_number(PyObject* o) {
    return PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyComplex_CheckExact(o) || PyBool_Check(o) ||
           (PyArray_CheckScalar(o) && !PyArray_Check(o));
}

// Whether every replay has an object of the same type here, and an array of the same dtype and rank.
bool same_type(TraceBuilder& tb, const Operand& o) {
    if (!tb.resolve(o.shadow, o.obj)) return false;
    switch (o.shadow->kind) {
        case ShadowKind::Array:
        case ShadowKind::Scalar:
        case ShadowKind::Int:
        case ShadowKind::Object:
        case ShadowKind::Tuple:
        case ShadowKind::List: return true;
        default: return host_only(o);
    }
}

// Numbers, as far down as there are sequences.
bool same_types(TraceBuilder& tb, const Operand& o) {
    std::vector<Operand> items;
    if (is_plain_number(o.obj)) return same_type(tb, o);
    return read_items(tb, o, &items) &&
           std::all_of(items.begin(), items.end(), [&](const Operand& item) { return same_types(tb, item); });
}

// np.isscalar(x), np.iterable(x), np.iscomplexobj(x), np.isrealobj(x): the type or the dtype says.
ShadowRef lower_kind(TraceBuilder& tb, const Call& call) {
    if (call.args.size() != 1 || call.kwnames) return tb.fail(Reason::UnknownCall, "that many arguments");
    const Operand& o = call.args[0];
    const bool known =
        is_array(o.obj) || is_plain_number(o.obj) || PyUnicode_CheckExact(o.obj) || o.obj == Py_None;
    if (!known && same_types(tb, o)) return tb.constant(call.result);
    if (!known || !same_type(tb, o)) return tb.fail(Reason::UnknownCall, "a question about such an argument");
    return tb.constant(call.result);
}

// Facts about dtypes: answers follow from fixed arguments, of arrays and numbers from their types.
ShadowRef lower_fact(TraceBuilder& tb, const Call& call) {
    for (const Operand& o : call.args) {
        const bool named =
            PyType_Check(o.obj) || PyUnicode_Check(o.obj) || PyArray_DescrCheck(o.obj) || PyLong_Check(o.obj);
        const bool typed = is_array(o.obj) || PyFloat_CheckExact(o.obj) || PyComplex_CheckExact(o.obj) ||
                           (PyArray_CheckScalar(o.obj) && !PyArray_Check(o.obj));
        if (!named && !typed) return tb.fail(Reason::UnknownCall, "a question about such an argument");
        if (named ? !require_fixed(tb, o) : !same_type(tb, o)) return nullptr;
    }
    return tb.constant(call.result);
}

// np.min_scalar_type(x): of an array by its dtype, of a number by its value.
ShadowRef lower_least_type(TraceBuilder& tb, const Call& call) {
    if (call.args.size() != 1 || call.kwnames) return tb.fail(Reason::UnknownCall, "that many arguments");
    const Operand& o = call.args[0];
    const bool array = is_array(o.obj) && PyArray_NDIM(reinterpret_cast<PyArrayObject*>(o.obj)) > 0;
    if (array ? !same_type(tb, o) : !require_fixed(tb, o)) return nullptr;
    return tb.constant(call.result);
}

// np.ndim(x), np.shape(x) and np.size(x, axis=None): what the attribute says, and nothing of a number.
ShadowRef attribute_call(TraceBuilder& tb, const Call& call, const char* name) {
    const Operand& o = call.args[0];
    if (is_plain_number(o.obj)) {
        if (!same_type(tb, o)) return nullptr;
        return std::string_view(name) == "shape" ? tb.tuple({}) : tb.constant(call.result);
    }
    if (!array_operand(tb, &o)) return nullptr;
    const PyRef text = PyRef::steal(PyUnicode_FromString(name));
    return lower_attr(tb, o, text.get(), call.result);
}

// The extents of nested lists and tuples of numbers, which are known as items.
bool shape_of_sequence(TraceBuilder& tb, const Operand& o, Shape* out) {
    std::vector<Operand> items;
    if (is_plain_number(o.obj)) return same_type(tb, o);
    if (is_array(o.obj)) {
        if (!array_operand(tb, &o)) return false;
        const Shape shape = tb.shape(o.shadow);
        out->insert(out->end(), shape.begin(), shape.end());
        return true;
    }
    if (!read_items(tb, o, &items)) return false;
    out->push_back(tb.int_const(static_cast<int64_t>(items.size())));
    Shape inner;
    for (size_t i = 0; i < items.size(); i++) {
        Shape found;
        if (!shape_of_sequence(tb, items[i], &found)) return false;
        if (i > 0 && found.size() != inner.size()) return false;
        for (size_t d = 0; i > 0 && d < found.size(); d++)
            if (!tb.require(Relation::Eq, found[d], inner[d])) return false;
        inner = std::move(found);
    }
    out->insert(out->end(), inner.begin(), inner.end());
    return true;
}

ShadowRef lower_shape(TraceBuilder& tb, const Call& call) {
    if (call.args.size() != 1) return tb.fail(Reason::UnknownCall, "shape");
    if (!PyTuple_CheckExact(call.args[0].obj) && !PyList_CheckExact(call.args[0].obj))
        return attribute_call(tb, call, "shape");
    Shape shape;
    if (!shape_of_sequence(tb, call.args[0], &shape))
        return tb.fail(Reason::UnknownCall, "the shape of this sequence");
    std::vector<ShadowRef> items;
    for (size_t i = 0; i < shape.size(); i++) {
        if (i >= static_cast<size_t>(PyTuple_GET_SIZE(call.result)) ||
            tb.hint(shape[i]) != PyLong_AsLongLong(PyTuple_GET_ITEM(call.result, static_cast<Py_ssize_t>(i))))
            return tb.fail(Reason::ModelMismatch, "shape");
        items.push_back(tb.new_int(shape[i]));
    }
    return tb.tuple(std::move(items));
}

ShadowRef lower_ndim(TraceBuilder& tb, const Call& call) {
    Shape shape;
    if (call.args.size() != 1) return tb.fail(Reason::UnknownCall, "ndim");
    if (!PyTuple_CheckExact(call.args[0].obj) && !PyList_CheckExact(call.args[0].obj))
        return attribute_call(tb, call, "ndim");
    if (!shape_of_sequence(tb, call.args[0], &shape))
        return tb.fail(Reason::UnknownCall, "the rank of this sequence");
    return tb.constant(call.result);
}

// The product of the extents, or of those of the given axes.
ShadowRef lower_size(TraceBuilder& tb, const Call& call) {
    const Operand* p[2];
    if (!bind(tb, call, {"a", "axis"}, p) || !p[0]) return nullptr;
    Shape shape;
    const bool sequence = PyTuple_CheckExact(p[0]->obj) || PyList_CheckExact(p[0]->obj);
    if (!sequence && !is_plain_number(p[0]->obj) && !array_operand(tb, p[0])) return nullptr;
    if (!shape_of_sequence(tb, *p[0], &shape))
        return tb.fail(Reason::UnknownCall, "the size of this sequence");
    std::vector<int> axes;
    if (!read_axes(tb, given(tb, p[1]), static_cast<int>(shape.size()), &axes)) return nullptr;
    Sym size = tb.int_const(1);
    for (int axis : axes) size = tb.syms().mul(size, shape[static_cast<size_t>(axis)]);
    return tb.new_int(size);
}

constexpr CallRow kFactsRows[] = {
    {"isscalar", lower_kind},    {"iterable", lower_kind},   {"iscomplexobj", lower_kind},
    {"isrealobj", lower_kind},   {"shape", lower_shape},     {"ndim", lower_ndim},
    {"size", lower_size},        {"dtype", lower_fact},      {"finfo", lower_fact},
    {"iinfo", lower_fact},       {"issubdtype", lower_fact}, {"promote_types", lower_fact},
    {"result_type", lower_fact}, {"can_cast", lower_fact},   {"min_scalar_type", lower_least_type},
    {"common_type", lower_fact}, {"isdtype", lower_fact},
};

bool is_instance_of(PyObject* o, const char* type) {
    PyObject* t = numpy_function(type);
    return t && reinterpret_cast<PyObject*>(Py_TYPE(o)) == t;
}

}  // namespace

// All of these objects are immutable, and the trace has met this very one or an equal one.
ShadowRef fact_attr(TraceBuilder& tb, const Operand& a, PyObject* result) {
    const bool fact =
        a.shadow->kind == ShadowKind::Object &&
        (PyArray_DescrCheck(a.obj) || is_instance_of(a.obj, "finfo") || is_instance_of(a.obj, "iinfo"));
    if (!fact || guards::is_function(result) || PyMethod_Check(result) || PyCFunction_Check(result))
        return nullptr;
    return tb.constant(result);
}

void register_facts() { add_rows(kFactsRows); }

}  // namespace stator::frontend::numpy
