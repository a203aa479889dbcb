// Operands as promotion sees them, arguments that select code, and results.
//
// NEP 50: Python's int, float and complex adapt to the dtypes of the other operands (Weak), everything else
// keeps its own dtype. What adapts to what is never decided here: resolve_loop (ufuncs.cpp) asks the ufunc.
// This file turns operands into that question, and the answer into casts.
#include <algorithm>

#include "frontend/cpython/functions.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"

namespace stator::frontend::numpy {

bool dtype_of_number(int type_num, DType* out) {
    static_assert(sizeof(npy_long) == 8, "NumPy's long is taken to be 64 bits");
    if (type_num == NPY_LONGLONG) type_num = NPY_LONG;
    if (type_num == NPY_ULONGLONG) type_num = NPY_ULONG;
    const std::optional<DType> t = graph::dtype_numbered(type_num);
    if (t) *out = *t;
    return t.has_value();
}

bool dtype_of(PyArray_Descr* descr, DType* out) {
    // long long has its own dtype object; results would show the difference, so it is left to NumPy.
    if (descr->type_num == NPY_LONGLONG || descr->type_num == NPY_ULONGLONG) return false;
    if (!PyArray_ISNBO(descr->byteorder) || PyDataType_METADATA(descr)) return false;
    return dtype_of_number(descr->type_num, out);
}

bool is_array(PyObject* o) { return o && PyArray_CheckExact(o); }

bool dtype_of_object(PyObject* o, DType* out) {
    if (PyArray_Check(o)) return dtype_of(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(o)), out);
    if (PyFloat_CheckExact(o)) return *out = DType::F64, true;
    if (PyBool_Check(o)) return *out = DType::Bool, true;
    if (PyLong_CheckExact(o)) return *out = DType::I64, true;
    if (PyComplex_CheckExact(o)) return *out = DType::C128, true;
    if (PyArray_CheckScalar(o)) {
        PyRef descr = PyRef::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(o)));
        return dtype_of(reinterpret_cast<PyArray_Descr*>(descr.get()), out);
    }
    return false;
}

bool read_arg(TraceBuilder& tb, const Operand& o, Arg* out) {
    *out = {};
    if (!tb.resolve(o.shadow, o.obj)) return false;
    const Shadow& s = *o.shadow;
    DType seen;
    switch (s.kind) {
        case ShadowKind::Array:
            if (!dtype_of_object(o.obj, &seen)) return tb.fail(Reason::ArrayKind, "dtype"), false;
            out->id = tb.value(o.shadow);
            out->dtype = s.dtype;
            out->array = true;
            return out->id != kNone;
        case ShadowKind::Scalar:
            out->id = tb.value(o.shadow);
            out->dtype = s.dtype;
            if (s.box == Box::PyFloat) out->weak = Weak::Float;
            if (s.box == Box::PyComplex) out->weak = Weak::Complex;
            if (s.box == Box::PyInt)
                return tb.fail(Reason::UnknownOp, "an int computed from array data"), false;
            return out->id != kNone;
        case ShadowKind::Int:
            out->weak = Weak::Int;
            out->dtype = DType::I64;
            out->sym = s.sym;
            return true;
        case ShadowKind::Object:
            if (!PyBool_Check(o.obj)) break;
            out->id = tb.value(o.shadow);
            out->dtype = DType::Bool;
            return out->id != kNone;
        default: break;
    }
    return tb.fail(Reason::UnknownOp, "an operand that is " + kind_for_messages(o.obj)), false;
}

Arg arg_of(TraceBuilder& tb, Id v) {
    Arg a;
    a.id = v;
    if (v != kNone) a.dtype = tb.node(v).dtype;
    a.array = true;
    return a;
}

Id arg_id(TraceBuilder& tb, const Arg& a, DType dtype) {
    if (a.weak != Weak::Int) return a.id == kNone ? kNone : tb.cast(a.id, dtype);
    if (graph::is_integer(dtype)) return tb.sym_scalar(a.sym, dtype);
    if (dtype == DType::Bool)
        return tb.scalar_const(DType::Bool, tb.decide(Relation::Ne, a.sym, tb.int_const(0)));
    // NumPy turns a Python int into a double first, whatever float it becomes then.
    Id v = tb.sym_scalar(a.sym, DType::F64);
    return v == kNone ? kNone : tb.cast(v, dtype);
}

const Shadow& root_of(const ShadowRef& s) {
    const Shadow* root = s.get();
    while (root->base) root = root->base.get();
    return *root;
}

bool host_only(const Operand& o) { return o.obj && is_array(o.obj) && o.shadow->kind == ShadowKind::Opaque; }

bool array_operand(TraceBuilder& tb, const Operand* o) {
    if (!o || !is_array(o->obj)) return tb.fail(Reason::UnknownCall, "an operand that is no ndarray"), false;
    if (!tb.resolve(o->shadow, o->obj)) return false;
    if (o->shadow->kind == ShadowKind::Array) return true;
    return tb.fail(Reason::ArrayKind, "an array of another kind"), false;
}

bool known_density(TraceBuilder& tb, const ShadowRef& s) {
    const Shadow& root = root_of(s);
    graph::Layout layout = root.input >= 0 ? tb.graph.inputs[root.input].layout : root.layout;
    return layout == graph::Layout::Contiguous || !s->base;
}

bool c_contiguous(TraceBuilder& tb, const Operand& a) {
    const graph::Node& n = tb.graph.node(tb.value(a.shadow));
    return n.layout == graph::Layout::Contiguous && std::is_sorted(n.perm.begin(), n.perm.end()) &&
           a.shadow->layout == graph::Layout::Contiguous &&
           std::is_sorted(a.shadow->perm.begin(), a.shadow->perm.end()) &&
           PyArray_IS_C_CONTIGUOUS(reinterpret_cast<PyArrayObject*>(a.obj));
}

bool unit_axes_at_entry(TraceBuilder& tb, const ShadowRef& s) {
    const Shadow& root = root_of(s);
    if (root.shape.size() < 2) return false;
    ShadowRef owner = s;
    while (owner->base) owner = owner->base;
    const graph::Node& made = tb.graph.node(tb.value(owner));
    const bool anywhere = made.op == Op::Library && graph::gives_shared(made.ints[3]);
    if (root.input < 0 && !anywhere) return false;
    return std::any_of(root.shape.begin(), root.shape.end(),
                       [&](Sym e) { return tb.syms().as_const(e) == 1; });
}

bool read_int(TraceBuilder& tb, const Operand& o, Sym* out) {
    if (!o.obj || !PyLong_CheckExact(o.obj)) return false;
    if (!tb.resolve(o.shadow, o.obj)) return false;
    if (o.shadow->kind == ShadowKind::Int) return *out = o.shadow->sym, true;
    if (!tb.require_constant(o.shadow, o.obj)) return false;
    int overflow = 0;
    int64_t v = PyLong_AsLongLongAndOverflow(o.obj, &overflow);
    if (overflow) return false;
    *out = tb.int_const(v);
    return true;
}

bool read_items(TraceBuilder& tb, const Operand& o, std::vector<Operand>* out) {
    out->clear();
    if (!o.obj || !(PyTuple_CheckExact(o.obj) || PyList_CheckExact(o.obj))) return false;
    if (!tb.resolve(o.shadow, o.obj)) return false;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o.obj);
    bool known = o.shadow->kind == ShadowKind::Tuple || o.shadow->kind == ShadowKind::List;
    if (known && static_cast<Py_ssize_t>(o.shadow->items.size()) != n) return false;
    if (!known && !(o.shadow->kind == ShadowKind::Object && PyTuple_CheckExact(o.obj))) return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject* item = PySequence_Fast_GET_ITEM(o.obj, i);
        out->push_back({known ? o.shadow->items[i] : tb.constant(item), item});
    }
    return true;
}

bool require_fixed(TraceBuilder& tb, const Operand& o) {
    if (!tb.resolve(o.shadow, o.obj)) return false;
    ShadowKind kind = o.shadow->kind;
    if (kind == ShadowKind::Tuple || kind == ShadowKind::List) {
        std::vector<Operand> items;
        if (!read_items(tb, o, &items))
            return tb.fail(Reason::UnknownOp, "a sequence that is not fixed"), false;
        return std::all_of(items.begin(), items.end(),
                           [&](const Operand& i) { return require_fixed(tb, i); });
    }
    if (tb.require_constant(o.shadow, o.obj)) return true;
    if (tb.reason == Reason::None)
        tb.fail(Reason::UnknownOp, "an argument that selects code and is not fixed");
    return false;
}

bool is_no_value(PyObject* o) {
    PyObject* no_value = once([] {
        PyRef np = module_named("numpy");
        PyObject* v = np ? PyObject_GetAttrString(np.get(), "_NoValue") : nullptr;
        PyErr_Clear();
        return v;
    });
    return no_value && o == no_value;
}

const Operand* given(TraceBuilder& tb, const Operand* o) {
    if (!o || !o->obj) return nullptr;
    if (o->obj != Py_None && !is_no_value(o->obj)) return o;
    // It was None while recording: the guard that it stays so. A failure shows when the trace is checked.
    return require_fixed(tb, *o) ? nullptr : o;
}

bool read_fixed_int(TraceBuilder& tb, const Operand& o, int64_t* out) {
    if (!o.obj || !PyLong_CheckExact(o.obj))
        return tb.fail(Reason::UnknownOp, "an argument that is not an int"), false;
    if (!require_fixed(tb, o)) return false;
    int overflow = 0;
    *out = PyLong_AsLongLongAndOverflow(o.obj, &overflow);
    if (overflow) return tb.fail(Reason::UnknownOp, "an int beyond 64 bits"), false;
    return true;
}

bool read_fixed_bool(TraceBuilder& tb, const Operand& o, bool* out) {
    if (!o.obj || !PyBool_Check(o.obj))
        return tb.fail(Reason::UnknownOp, "an argument that is not a bool"), false;
    *out = o.obj == Py_True;
    return require_fixed(tb, o);
}

bool read_dtype(TraceBuilder& tb, const Operand& o, DType* out) {
    if (!require_fixed(tb, o)) return false;
    PyArray_Descr* descr = nullptr;
    if (!PyArray_DescrConverter(o.obj, &descr) || !descr) {
        PyErr_Clear();
        return tb.fail(Reason::UnknownOp, "this dtype argument"), false;
    }
    PyRef owner = PyRef::steal(reinterpret_cast<PyObject*>(descr));
    if (!dtype_of(descr, out)) return tb.fail(Reason::ArrayKind, "dtype"), false;
    return true;
}

bool normalize_axis(int64_t axis, int ndim, int* out) {
    if (axis < 0) axis += ndim;
    *out = static_cast<int>(axis);
    return axis >= 0 && axis < ndim;
}

bool read_axes(TraceBuilder& tb, const Operand* o, int ndim, std::vector<int>* out) {
    out->clear();
    if (!o) {
        for (int i = 0; i < ndim; i++) out->push_back(i);
        return true;
    }
    std::vector<Operand> items;
    if (PyLong_CheckExact(o->obj))
        items.push_back(*o);
    else if (!read_items(tb, *o, &items))
        return tb.fail(Reason::UnknownOp, "this axis argument"), false;
    for (const Operand& item : items) {
        int64_t axis;
        int normal;
        if (!read_fixed_int(tb, item, &axis)) return false;
        if (!normalize_axis(axis, ndim, &normal))
            return tb.fail(Reason::UnknownOp, "this axis argument"), false;
        out->push_back(normal);
    }
    std::sort(out->begin(), out->end());
    return true;
}

bool read_shape(TraceBuilder& tb, const Operand& o, Shape* out) {
    out->clear();
    Sym s;
    if (read_int(tb, o, &s)) {
        out->push_back(fixed_extent(tb, s));
        return true;
    }
    std::vector<Operand> items;
    if (!read_items(tb, o, &items)) return tb.fail(Reason::UnknownOp, "this shape argument"), false;
    for (const Operand& item : items) {
        if (!read_int(tb, item, &s)) return tb.fail(Reason::UnknownOp, "this shape argument"), false;
        out->push_back(fixed_extent(tb, s));
    }
    return true;
}

ShadowRef finish(TraceBuilder& tb, Id v, PyObject* result) {
    if (v == kNone) return nullptr;
    DType dtype;
    if (!dtype_of_object(result, &dtype)) return tb.fail(Reason::ArrayKind, "dtype of the result");
    if (dtype != tb.node(v).dtype) return tb.fail(Reason::ModelMismatch, "the dtype of a result");
    if (is_array(result)) {
        bool view = PyArray_BASE(reinterpret_cast<PyArrayObject*>(result)) != nullptr;
        return view ? tb.fail(Reason::ModelMismatch, "a view") : tb.new_array(v, result);
    }
    if (!tb.node(v).shape.empty()) return tb.fail(Reason::ModelMismatch, "the rank of a result");
    if (PyFloat_CheckExact(result)) return tb.new_scalar(v, Box::PyFloat);
    if (PyBool_Check(result)) return tb.new_scalar(v, Box::PyBool);
    if (PyComplex_CheckExact(result)) return tb.new_scalar(v, Box::PyComplex);
    if (PyArray_CheckScalar(result)) return tb.new_scalar(v, Box::NpScalar);
    return tb.fail(Reason::ModelMismatch, "the type of a result");
}

ShadowRef finish_copy(TraceBuilder& tb, Id v, size_t nodes_before, PyObject* result) {
    if (v == kNone) return nullptr;
    graph::OpClass cls = graph::info(tb.node(v).op).cls;
    bool own = cls == graph::OpClass::Pointwise || cls == graph::OpClass::Reduction;
    if ((own && static_cast<size_t>(v) >= nodes_before) || !is_array(result)) return finish(tb, v, result);
    Id in[] = {v};
    return finish(tb, tb.pointwise(Op::Copy, in, tb.node(v).dtype), result);
}

}  // namespace stator::frontend::numpy
