// What changes an array by a call of NumPy's: functions that change their first argument and give nothing, or
// that argument (sort, fill_diagonal, put and their like), `a[indices] = b`, `a @= b`, `a.real = b`. NumPy
// works on a copy, which the trace then stores: so an error or a warning comes before anything visible was
// written. What these calls write depends on the elements alone, not on how they lie.
#include <algorithm>

#include "frontend/cpython/builtins.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"
#include "frontend/policy.h"
#include "guards/check/check.h"
#include "guards/check/functions.h"

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

// Arguments that are read while the array is written have to lie elsewhere.
bool reads_itself(PyObject* array, PyObject* o) {
    if (is_array(o)) return guards::spans_overlap(array, o);
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
        if (!tb.resolve(o.shadow, o.obj) || o.shadow->kind == ShadowKind::Opaque ||
            guards::is_function(o.obj))
            return tb.fail(Reason::UnknownCall, "such an argument"), false;
    const ShadowRef fresh = tb.library(helper(), args, call.kwnames, like.get(), &shape);
    return fresh && store_value(tb, a.shadow, nullptr, arg_of(tb, tb.value(fresh)));
}

// How many elements `a[key]` has, roughly: as many as the longest index array, times the axes that are left.
Sym selected(TraceBuilder& tb, const Operand& a, const Operand& key) {
    graph::SymTable& t = tb.syms();
    const Shape shape = tb.shape(a.shadow);
    std::vector<Operand> items;
    if (!PyTuple_CheckExact(key.obj) || !read_items(tb, key, &items)) items = {key};
    Sym longest = tb.int_const(1), rest = tb.int_const(1);
    size_t axis = 0;
    for (const Operand& o : items) {
        Sym length = tb.int_const(1);
        size_t axes = o.obj == Py_None ? 0 : 1;
        if (is_array(o.obj) && o.shadow->kind == ShadowKind::Array) {
            length = t.product(tb.shape(o.shadow));
            if (PyArray_ISBOOL(reinterpret_cast<PyArrayObject*>(o.obj))) axes = tb.shape(o.shadow).size();
        } else if (PyList_CheckExact(o.obj) || PyTuple_CheckExact(o.obj)) {
            length = tb.int_const(Py_SIZE(o.obj));
        } else if (PySlice_Check(o.obj) && axis < shape.size()) {
            rest = t.mul(rest, shape[axis]);
        }
        if (tb.hint(length) > tb.hint(longest)) longest = length;
        axis += axes;
    }
    for (; axis < shape.size(); ++axis) rest = t.mul(rest, shape[axis]);
    return t.mul(longest, rest);
}

PyObject* operator_of(const char* name) {
    PyRef module = module_named("operator");
    return module ? PyObject_GetAttrString(module.get(), name) : nullptr;
}

}  // namespace

bool store_at_indices(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& value) {
    PyObject* setitem = once([] { return operator_of("setitem"); });
    if (!setitem || !fixed_index(tb, key)) return false;
    // NumPy's own store touches only what is selected, the copy all: of a large array it must not be a few
    // elements.
    graph::SymTable& t = tb.syms();
    const Sym copied = t.mul(tb.int_const(policy().index_copied), selected(tb, a, key));
    const Sym enough = t.add(copied, tb.int_const(policy().index_small));
    if (!tb.decide(Relation::Ge, enough, t.product(tb.shape(a.shadow))))
        return tb.fail(Reason::Unstoreable, "a few elements, by index arrays, of a large array"), false;
    const Operand args[] = {a, key, value};
    return change(tb, {setitem, args, nullptr, Py_None});
}

ShadowRef lower_matmul_in_place(TraceBuilder& tb, const Operand& a, const Operand& b) {
    PyObject* matmul = once([] { return operator_of("matmul"); });
    Operand left = a;
    if (!array_operand(tb, &left) || !tb.resolve(b.shadow, b.obj) || !c_contiguous(tb, a))
        return tb.fail(Reason::UnknownOp, "@= of such an array");
    const PyRef like = PyRef::steal(PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(a.obj), NPY_CORDER));
    if (!matmul || !like) return PyErr_Clear(), tb.fail(Reason::UnknownOp, "@=");
    const Shape shape = tb.shape(a.shadow);
    const Operand args[] = {a, b};
    const ShadowRef fresh = tb.library(matmul, args, nullptr, like.get(), &shape);
    return fresh && store_value(tb, a.shadow, nullptr, arg_of(tb, tb.value(fresh))) ? a.shadow : nullptr;
}

bool lower_set_part(TraceBuilder& tb, const Operand& a, PyObject* name, const Operand& value) {
    PyObject* setter = builtin("setattr");
    Operand array = a;
    if (!setter || !array_operand(tb, &array) || !graph::is_complex(a.shadow->dtype)) return false;
    const Operand args[] = {a, {tb.constant(name), name}, value};
    return change(tb, {setter, args, nullptr, Py_None});
}

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
    // An int decides as a bool does.
    for (const Operand& o : call.args)
        if (PyLong_Check(o.obj) && !require_fixed(tb, o)) return nullptr;
    const bool in_place = !call.args.empty() && is_array(call.result) && call.result == call.args[0].obj;
    if (!in_place) return lower_library(tb, call);
    if (!array_operand(tb, &call.args[0]) || !change(tb, call)) return nullptr;
    return call.args[0].shadow;
}

constexpr CallRow kInPlaceRows[] = {
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

void register_in_place() { add_rows(kInPlaceRows); }

}  // namespace stator::frontend::numpy
