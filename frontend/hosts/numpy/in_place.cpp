// Functions that change their first argument and give nothing, or that argument: sort, fill_diagonal, put and
// their like. NumPy works on a copy, which the trace then stores: so an error or a warning comes before
// anything visible was written. What these functions write depends on the elements alone, not on how they
// lie.
#include <algorithm>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"
#include "guards/check.h"

namespace stator::frontend::numpy {

namespace {

// changed_copy(function, array, ...): the copy of the array to which the function was applied.
PyObject* changed_copy(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
    PyRef copy = PyRef::steal(PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(args[1]), NPY_CORDER));
    if (!copy) return nullptr;
    const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    std::vector<PyObject*> operands(args + 1, args + count + named);
    operands[0] = copy.get();
    const PyRef done =
        PyRef::steal(PyObject_Vectorcall(args[0], operands.data(), static_cast<size_t>(count - 1), kwnames));
    return done ? copy.release() : nullptr;
}

PyObject* helper() {
    static PyMethodDef method = {"changed_copy",
                                 reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(changed_copy)),
                                 METH_FASTCALL | METH_KEYWORDS, nullptr};
    return once([] { return PyCFunction_New(&method, nullptr); });
}

bool share_memory(PyObject* a, PyObject* b) {
    const char *begin, *end, *other_begin, *other_end;
    guards::memory_span(a, &begin, &end);
    guards::memory_span(b, &other_begin, &other_end);
    return begin < other_end && other_begin < end;
}

// Arguments that are read while the array is written have to lie elsewhere.
bool reads_itself(PyObject* array, PyObject* o) {
    if (is_array(o)) return share_memory(array, o);
    if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return false;
    for (Py_ssize_t i = 0; i < Py_SIZE(o); i++)
        if (reads_itself(array, PySequence_Fast_GET_ITEM(o, i))) return true;
    return false;
}

bool change(TraceBuilder& tb, const Call& call) {
    const Operand& a = call.args[0];
    const auto rest = call.args.subspan(1);
    if (std::any_of(rest.begin(), rest.end(), [&](const Operand& o) { return reads_itself(a.obj, o.obj); }))
        return tb.fail(Reason::Unstoreable, "an argument in the memory that is stored to"), false;
    if (!graph::is_complex(a.shadow->dtype) &&
        std::any_of(rest.begin(), rest.end(), [](const Operand& o) { return has_complex(o.obj); }))
        return tb.fail(Reason::Unstoreable, "complex into real, which warns"), false;
    std::vector<Operand> args = {{tb.constant(call.callable), call.callable}};
    args.insert(args.end(), call.args.begin(), call.args.end());
    const PyRef like = PyRef::steal(PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(a.obj), NPY_CORDER));
    if (!like) return PyErr_Clear(), tb.fail(Reason::Unstoreable, "a copy"), false;
    const Shape shape = tb.shape(a.shadow);
    for (const Operand& o : rest)
        if (!tb.resolve(o.shadow, o.obj) || o.shadow->kind == ShadowKind::Opaque || PyFunction_Check(o.obj))
            return tb.fail(Reason::UnknownCall, "such an argument"), false;
    const ShadowRef fresh = tb.library(helper(), args, call.kwnames, like.get(), &shape);
    return fresh && store_value(tb, a.shadow, nullptr, arg_of(tb, tb.value(fresh)));
}

}  // namespace

ShadowRef lower_change(TraceBuilder& tb, const Call& call) {
    if (call.args.empty() || !array_operand(tb, &call.args[0]) || call.result != Py_None) return nullptr;
    return change(tb, call) ? tb.constant(Py_None) : nullptr;
}

namespace {

// ufunc.at(self, a, indices, b)
ShadowRef lower_at(TraceBuilder& tb, const Call& call) {
    if (call.args.size() < 3 || !ufunc_of(call.args[0].obj) || !require_fixed(tb, call.args[0]) ||
        !array_operand(tb, &call.args[1]))
        return tb.fail(Reason::UnknownCall, "at");
    const PyRef bound = PyRef::steal(PyObject_GetAttrString(call.args[0].obj, "at"));
    if (!bound) return PyErr_Clear(), tb.fail(Reason::UnknownCall, "at");
    return change(tb, {bound.get(), call.args.subspan(1), call.kwnames, call.result}) ? tb.constant(Py_None)
                                                                                      : nullptr;
}

// np.nan_to_num(x, copy=False) gives x; a copy is a library call like others.
ShadowRef lower_nan_to_num(TraceBuilder& tb, const Call& call) {
    const bool in_place = !call.args.empty() && is_array(call.result) && call.result == call.args[0].obj;
    if (!in_place) return lower_library(tb, call);
    if (!array_operand(tb, &call.args[0]) || !change(tb, call)) return nullptr;
    return call.args[0].shadow;
}

constexpr CallRow kRows[] = {
    {.where = ".sort", .lower = lower_change, .writes = true},
    {.where = ".partition", .lower = lower_change, .writes = true},
    {.where = "fill_diagonal", .lower = lower_change, .writes = true},
    {.where = "put", .lower = lower_change, .writes = true},
    {.where = ".put", .lower = lower_change, .writes = true},
    {.where = "place", .lower = lower_change, .writes = true},
    {.where = "putmask", .lower = lower_change, .writes = true},
    {.where = "put_along_axis", .lower = lower_change, .writes = true},
    {.where = "ufunc.at", .lower = lower_at},
    {.where = "nan_to_num", .lower = lower_nan_to_num, .pure = true},
};

}  // namespace

void register_in_place() { add_rows(kRows); }

}  // namespace stator::frontend::numpy
