// Stores that are NumPy's own calls: it works in fresh memory, and the trace stores what came out.
//
// Ufuncs with an output whose bits depend on how the operands lie in memory: NumPy itself runs them, into
// fresh memory that lies like the output, and the trace stores what came out. A fault or an error thus shows
// before anything visible was written.
//
// So are other functions with an output argument: reductions, cumsum, products of matrices.
//
// An array under a mask is one of those, too: how many elements it needs is known only when the trace runs.
//
// Elements of the fresh array lie as those of the output do, gaps and all. Operands that are the output
// itself are the fresh array, filled with the output's contents: some loops look at whether they work in
// place.
#include <algorithm>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"

namespace stator::frontend::numpy {

namespace {

PyRef fresh_like(PyObject* array) {
    return PyRef::steal(
        PyArray_NewLikeArray(reinterpret_cast<PyArrayObject*>(array), NPY_KEEPORDER, nullptr, 0));
}

// Bit i of `in_place`: operand i is the output. Above these: the fresh array has the output's contents; it
// has the output's strides, whatever they are, and the call gives a copy without gaps.
constexpr long kFilled = 1L << 30, kGaps = 1L << 29;

// Memory for an array, from the element that lies lowest to the one that lies highest.
PyRef fresh_with_gaps(PyArrayObject* like) {
    npy_intp low = 0, high = PyArray_ITEMSIZE(like);
    for (int d = 0; d < PyArray_NDIM(like); d++) {
        const npy_intp reach = (PyArray_DIM(like, d) - 1) * PyArray_STRIDE(like, d);
        (reach < 0 ? low : high) += PyArray_DIM(like, d) > 0 ? reach : 0;
    }
    npy_intp bytes = high - low;
    PyRef memory = PyRef::steal(PyArray_SimpleNew(1, &bytes, NPY_UINT8));
    if (!memory) return {};
    char* first = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(memory.get())) - low;
    Py_INCREF(PyArray_DESCR(like));
    PyRef fresh = PyRef::steal(PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(like), PyArray_NDIM(like),
                                                    PyArray_DIMS(like), PyArray_STRIDES(like), first,
                                                    NPY_ARRAY_WRITEABLE, nullptr));
    if (!fresh) return {};
    auto* array = reinterpret_cast<PyArrayObject*>(fresh.get());
    return PyArray_SetBaseObject(array, memory.release()) == 0 ? std::move(fresh) : PyRef();
}

// call_into_fresh(function, like, in_place, *args, **keywords): function(*args, **keywords, out=fresh).
PyObject* call_into_fresh(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
    auto* like = reinterpret_cast<PyArrayObject*>(args[1]);
    const long in_place = PyLong_AsLong(args[2]);
    if (in_place < 0 && PyErr_Occurred()) return nullptr;
    PyRef fresh = in_place & kGaps ? fresh_with_gaps(like) : fresh_like(args[1]);
    if (!fresh) return nullptr;
    auto* out = reinterpret_cast<PyArrayObject*>(fresh.get());
    if ((in_place & ~kGaps) && PyArray_CopyInto(out, like) < 0) return nullptr;
    const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    std::vector<PyObject*> operands(args + 3, args + count + named);
    for (size_t i = 0; i < operands.size(); i++)
        if (in_place >> i & 1) operands[i] = fresh.get();
    operands.push_back(fresh.get());
    PyRef names = PyRef::steal(PyTuple_New(named + 1));
    if (!names) return nullptr;
    for (Py_ssize_t i = 0; i < named; i++)
        PyTuple_SET_ITEM(names.get(), i, Py_NewRef(PyTuple_GET_ITEM(kwnames, i)));
    PyTuple_SET_ITEM(names.get(), named, PyUnicode_InternFromString("out"));
    PyRef done = PyRef::steal(
        PyObject_Vectorcall(args[0], operands.data(), static_cast<size_t>(count - 3), names.get()));
    if (!done) return nullptr;
    return in_place & kGaps ? PyArray_NewCopy(out, NPY_CORDER) : fresh.release();
}

PyObject* caller() {
    static PyMethodDef method = {"call_into_fresh",
                                 reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(call_into_fresh)),
                                 METH_FASTCALL | METH_KEYWORDS, nullptr};
    return once([] { return PyCFunction_New(&method, nullptr); });
}

// copy_with(array, key, value, keep_order): a copy of the array in which copy[key] = value.
PyObject* copy_with(PyObject*, PyObject* const* args, Py_ssize_t) {
    const NPY_ORDER order = args[3] == Py_True ? NPY_KEEPORDER : NPY_CORDER;
    PyRef fresh = PyRef::steal(PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(args[0]), order));
    return fresh && PyObject_SetItem(fresh.get(), args[1], args[2]) == 0 ? fresh.release() : nullptr;
}

PyObject* copier() {
    static PyMethodDef method = {"copy_with",
                                 reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(copy_with)),
                                 METH_FASTCALL, nullptr};
    return once([] { return PyCFunction_New(&method, nullptr); });
}

// Whether a fresh array like it has its strides, in every replay.
bool without_gaps(TraceBuilder& tb, const Operand& out) {
    return out.shadow->layout == graph::Layout::Contiguous && known_density(tb, out.shadow) &&
           PyArray_ISONESEGMENT(reinterpret_cast<PyArrayObject*>(out.obj));
}

// The same of an output. One element has whatever strides its array has, which no guard looks at.
bool has_gaps(TraceBuilder& tb, const Operand& out) {
    return PyArray_SIZE(reinterpret_cast<PyArrayObject*>(out.obj)) == 1 || !without_gaps(tb, out);
}

PyRef fresh_without_gaps(PyObject* array) {
    PyRef dense =
        PyRef::steal(PyArray_NewLikeArray(reinterpret_cast<PyArrayObject*>(array), NPY_CORDER, nullptr, 0));
    if (!dense) PyErr_Clear();
    return dense;
}

}  // namespace

ShadowRef ufunc_into(TraceBuilder& tb, const Ufunc& u, std::span<const Operand> in, const Operand& out,
                     const Operand* where, bool gaps) {
    long in_place = gaps ? kGaps : 0;
    for (size_t i = 0; i < in.size(); i++)
        if (in[i].obj == out.obj) in_place |= 1L << i;
    if (where || u.skips) in_place |= kFilled;
    PyRef mask = PyRef::steal(PyLong_FromLong(in_place));
    std::vector<Operand> args = {
        {tb.constant(u.object), u.object}, out, {tb.constant(mask.get()), mask.get()}};
    args.insert(args.end(), in.begin(), in.end());
    PyRef kwnames;
    if (where) {
        args.push_back(*where);
        kwnames = PyRef::steal(Py_BuildValue("(s)", "where"));
    }
    if (host_only(out)) {
        PyRef like = fresh_like(out.obj);
        if (!like) return PyErr_Clear(), tb.fail(Reason::UnknownOp, u.name);
        return tb.host_library(caller(), args, kwnames.get(), like.get());
    }
    const Shape shape = tb.shape(out.shadow);
    const PyRef dense = gaps ? fresh_without_gaps(out.obj) : PyRef::borrow(out.obj);
    return dense ? tb.library(caller(), args, kwnames.get(), dense.get(), &shape) : nullptr;
}

ShadowRef lower_ufunc_into(TraceBuilder& tb, const Ufunc& u, std::span<const Operand> in, const Operand& out,
                           const Operand* where) {
    const bool gaps = has_gaps(tb, out);
    if (gaps && host_only(out)) return tb.fail(Reason::UnknownOp, u.name + " of arrays with these strides");
    ShadowRef fresh = ufunc_into(tb, u, in, out, where, gaps);
    if (!fresh || !store_value(tb, out.shadow, nullptr, arg_of(tb, tb.value(fresh)))) return nullptr;
    return out.shadow;
}

ShadowRef lower_call_into(TraceBuilder& tb, const Call& call, const Operand& out) {
    const bool gaps = has_gaps(tb, out);
    long in_place = gaps ? kGaps : 0;
    for (size_t i = 0; i < call.args.size(); i++)
        if (call.args[i].obj == out.obj) in_place |= 1L << i;
    for (Py_ssize_t i = 0; call.kwnames && i < PyTuple_GET_SIZE(call.kwnames); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.kwnames, i), "where") == 0)
            in_place |= kFilled;
    PyRef mask = PyRef::steal(PyLong_FromLong(in_place));
    std::vector<Operand> args = {
        {tb.constant(call.callable), call.callable}, out, {tb.constant(mask.get()), mask.get()}};
    args.insert(args.end(), call.args.begin(), call.args.end());
    const Shape shape = tb.shape(out.shadow);
    const PyRef dense = gaps ? fresh_without_gaps(out.obj) : PyRef::borrow(out.obj);
    if (!dense) return nullptr;
    ShadowRef fresh = tb.library(caller(), args, call.kwnames, dense.get(), &shape);
    if (!fresh || !store_value(tb, out.shadow, nullptr, arg_of(tb, tb.value(fresh)))) return nullptr;
    return out.shadow;
}

bool store_into_fresh(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& value) {
    const bool gaps = has_gaps(tb, a);
    const PyRef dense = gaps ? fresh_without_gaps(a.obj) : PyRef::borrow(a.obj);
    if (!dense) return false;
    const Shape shape = tb.shape(a.shadow);
    PyObject* keep_order = gaps ? Py_False : Py_True;
    const Operand args[] = {a, key, value, {tb.constant(keep_order), keep_order}};
    const ShadowRef fresh = tb.library(copier(), args, nullptr, dense.get(), &shape);
    return fresh && store_value(tb, a.shadow, nullptr, arg_of(tb, tb.value(fresh)));
}

}  // namespace stator::frontend::numpy
