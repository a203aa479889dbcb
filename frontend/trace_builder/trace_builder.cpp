// TraceBuilder: shadows, entry inputs and the undo of an instruction that turned out opaque. Graph values are
// in trace_builder/values.cpp, symbolic integers in trace_builder/syms.cpp, recipes in
// trace_builder/recipes.cpp.
//
// Invariant: every Input node is created by `resolve` together with the guard that fills it, and is never
// undone; an instruction that is rolled back may leave additional guards (the trace is then more special than
// needed, not wrong).

#include "frontend/trace_builder/trace_builder.h"

#include <algorithm>

#include "frontend/policy.h"
#include "frontend/trace_builder/array_meta.h"
#include "guards/check/cupy_api.h"
#include "guards/check/functions.h"
#include "guards/check/numpy_api.h"
#include "guards/check/torch_api.h"

namespace stator::frontend {

using graph::Box;
using graph::DType;
using graph::Id;
using graph::Node;
using graph::Op;
using graph::Sym;

TraceBuilder::TraceBuilder() = default;

std::nullptr_t TraceBuilder::fail(Reason r, std::string detail) {
    reason = r;
    reason_detail = std::move(detail);
    return nullptr;
}

ShadowRef TraceBuilder::null() { return std::make_shared<Shadow>(); }

ShadowRef TraceBuilder::lazy(guards::SourceId source, PyObject* obj) {
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Lazy;
    s->source = source;
    s->obj = PyRef::borrow(obj);
    return s;
}

ShadowRef TraceBuilder::constant(PyObject* obj) {
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Object;
    s->obj = PyRef::borrow(obj);
    if (PyBool_Check(obj)) return s;
    if (PyLong_CheckExact(obj)) {
        int overflow = 0;
        int64_t v = PyLong_AsLongLongAndOverflow(obj, &overflow);
        if (overflow) return s;
        s->kind = ShadowKind::Int;
        s->sym = int_const(v);
    } else if (PyFloat_CheckExact(obj)) {
        double d = PyFloat_AS_DOUBLE(obj);
        uint64_t bits;
        memcpy(&bits, &d, 8);
        s->kind = ShadowKind::Scalar;
        s->dtype = DType::F64;
        s->box = Box::PyFloat;
        s->value = scalar_const(DType::F64, bits);
        graph.nodes[s->value].box = Box::PyFloat;
    } else if (PyComplex_CheckExact(obj)) {
        Py_complex c = PyComplex_AsCComplex(obj);
        uint64_t bits[2];
        memcpy(bits, &c, 16);
        s->kind = ShadowKind::Scalar;
        s->dtype = DType::C128;
        s->box = Box::PyComplex;
        s->value = scalar_const(DType::C128, bits[0], bits[1]);
        graph.nodes[s->value].box = Box::PyComplex;
    } else if (DType t; np_scalar_dtype(obj, &t) && t != DType::Bool) {
        uint64_t bits[2] = {};
        PyArray_ScalarAsCtype(obj, bits);
        s->kind = ShadowKind::Scalar;
        s->dtype = t;
        s->box = Box::NpScalar;
        s->value = scalar_const(t, bits[0], bits[1]);
    } else if (PySlice_Check(obj)) {
        auto* slice = reinterpret_cast<PySliceObject*>(obj);
        s->kind = ShadowKind::Slice;
        for (PyObject* part : {slice->start, slice->stop, slice->step}) s->items.push_back(constant(part));
    } else if (PyTuple_CheckExact(obj)) {
        s->kind = ShadowKind::Tuple;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(obj); ++i)
            s->items.push_back(constant(PyTuple_GET_ITEM(obj, i)));
    }
    return s;
}

int TraceBuilder::add_input(graph::Input in) {
    graph.inputs.push_back(std::move(in));
    return static_cast<int>(graph.inputs.size()) - 1;
}

Sym TraceBuilder::fresh_extent(int64_t n) {
    if (n == 0 || n == 1) return int_const(n);
    constexpr int64_t kMaxExtent = int64_t{1} << 40;
    Sym s = graph.syms.symbol(n, 2, kMaxExtent);
    entry_symbol_.resize(graph.syms.symbol_count(), true);
    return s;
}

bool TraceBuilder::resolve_array(const ShadowRef& s, PyObject* obj) {
    ArrayMeta meta;
    std::string why;
    if (!read_array_meta(obj, &meta, &why)) {
        fail(Reason::ArrayKind, why);
        return false;
    }
    guards::ArraySpec spec;
    const bool cupy = meta.host == graph::HostId::CuPy, tensor = graph::is_torch(meta.host);
    if (tensor && !fits_torch(obj, &spec)) return false;
    if (!fits_device(meta)) return false;
    graph::Input in;
    in.kind = graph::InputKind::Array;
    in.host = meta.host;
    in.dtype = meta.dtype;
    in.layout = meta.layout;
    in.perm = meta.perm;
    in.own_dtype = meta.own_dtype;
    in.source = guards.source(s->source).text;
    for (int64_t n : meta.shape) in.shape.push_back(fresh_extent(n));
    int index = add_input(in);
    input_arrays_.resize(index + 1, nullptr);
    input_arrays_[index] = obj;
    for (const graph::Input& other : graph.inputs)
        if (other.written && overlaps_other_input(static_cast<int>(&other - graph.inputs.data()))) {
            fail(Reason::Unstoreable, "memory of " + other.source + " overlaps " + in.source);
            return false;
        }
    spec.dtype = meta.dtype;
    spec.ndim = static_cast<int>(meta.shape.size());
    spec.layout = meta.layout;
    spec.perm = meta.perm;
    spec.shape = in.shape;
    spec.own_dtype = meta.own_dtype;
    for (int64_t stride : meta.strides)
        spec.signs.push_back(static_cast<int8_t>((stride > 0) - (stride < 0)));
    spec.ties.resize(meta.shape.size());
    guards::stride_ties(spec.ndim, meta.shape.data(), meta.strides.data(), spec.ties.data());
    spec.device = meta.device;
    if (cupy)
        spec.type = Py_TYPE(obj), guards.expect_cupy(s->source, index, std::move(spec));
    else if (tensor)
        guards.expect_tensor(s->source, index, std::move(spec));
    else
        guards.expect_array(s->source, index, std::move(spec));
    Node n;
    n.op = Op::Input;
    n.host = meta.host;
    n.dtype = meta.dtype;
    n.layout = meta.layout;
    n.perm = meta.perm;
    n.own_dtype = meta.own_dtype;
    n.shape = in.shape;
    n.ints = {index};
    n.loc = location_;
    Id id = graph.append(std::move(n));
    buffers_.push_back({id, id, true, index});
    s->kind = ShadowKind::Array;
    s->host = meta.host;
    s->strides = meta.strides;
    s->writeable = meta.writeable;
    s->buffer = static_cast<int>(buffers_.size()) - 1;
    s->dtype = meta.dtype;
    s->shape = in.shape;
    s->layout = meta.layout;
    s->perm = meta.perm;
    s->input = index;
    return true;
}

// All arrays of a trace lie on one GPU, or none does: its segments run there or here.
bool TraceBuilder::fits_device(const ArrayMeta& meta) {
    if (!buffers_.empty() && meta.device != device)
        return fail(Reason::OtherDevice, "arrays of one GPU meet others here"), false;
    if (meta.host == graph::HostId::CuPy) {
        if (guards::cupy_device() != meta.device)
            return fail(Reason::OtherDevice, "it is not the current device"), false;
        guards.expect_cupy_state(meta.device);
    }
    device = meta.device;
    return true;
}

bool TraceBuilder::expect_torch_modes() {
    const guards::TensorApi* api = guards::tensor_api();
    if (guards::state(api->function_modes) || guards::state(api->dispatch_modes) ||
        guards::state(api->autocast) || guards::transformed())
        return fail(Reason::TorchMode), false;
    guards::TorchState state;
    state.grad = guards::state(api->grad_enabled);
    state.inference = guards::state(api->inference_enabled);
    guards.expect_torch_state(state);
    return true;
}

// Whether torch works as a replay can check, and the tensor takes no part in a gradient.
bool TraceBuilder::fits_torch(PyObject* tensor, guards::ArraySpec* spec) {
    if (!expect_torch_modes()) return false;
    const bool grad = guards::state(guards::tensor_api()->grad_enabled);
    if (grad && guards::requires_grad(tensor)) return fail(Reason::RequiresGrad), false;
    spec->type = Py_TYPE(tensor);
    spec->inference = guards::tensor_kind(tensor) == guards::TensorKind::Inference;
    spec->no_grad = grad || !guards::requires_grad(tensor);
    return true;
}

bool TraceBuilder::has_views_of_leaf(const ShadowRef& root) const {
    const BufferState& buffer = buffers_[static_cast<size_t>(root->buffer)];
    return buffer.viewed && buffer.input >= 0 &&
           guards::requires_grad(input_arrays_[static_cast<size_t>(buffer.input)]);
}

// An array that kernels do not read (byte-swapped, unaligned, dates, long doubles) can still be an operand of
// the host's own functions, as long as those run no Python code for its elements.
bool TraceBuilder::resolve_host_array(const ShadowRef& s, PyObject* obj) {
    if (reason != Reason::ArrayKind || !is_builtin_type(PyArray_TYPE(reinterpret_cast<PyArrayObject*>(obj))))
        return false;
    reason = Reason::None;
    reason_detail.clear();
    guards.expect_host_array(s->source, guards::host_array_kind(obj));
    s->kind = ShadowKind::Opaque;
    return true;
}

std::vector<Operand> TraceBuilder::inputs_read() const {
    std::vector<Operand> all;
    for (const auto& [obj, shadow] : by_object_)
        if (shadow->kind == ShadowKind::Array) all.push_back({shadow, obj});
    std::sort(all.begin(), all.end(),
              [](const Operand& a, const Operand& b) { return a.shadow->input < b.shadow->input; });
    return all;
}

bool TraceBuilder::overlaps_other_input(int input) const {
    const char *lo, *hi, *lo2, *hi2;
    guards::memory_span(input_arrays_[input], &lo, &hi);
    for (size_t i = 0; i < input_arrays_.size(); ++i) {
        if (static_cast<int>(i) == input || !input_arrays_[i]) continue;
        guards::memory_span(input_arrays_[i], &lo2, &hi2);
        if (lo < hi2 && lo2 < hi) return true;
    }
    return false;
}

bool TraceBuilder::resolve_number(const ShadowRef& s, PyObject* obj) {
    graph::Input in;
    in.source = guards.source(s->source).text;
    if (PyLong_CheckExact(obj)) {
        int overflow = 0;
        int64_t v = PyLong_AsLongLongAndOverflow(obj, &overflow);
        constexpr int64_t kMax = int64_t{1} << 62;
        if (overflow || v > kMax || v < -kMax) {
            fail(Reason::UnknownOp, "an int of more than 62 bits");
            return false;
        }
        Sym sym = graph.syms.symbol(v, -kMax, kMax);
        entry_symbol_.resize(graph.syms.symbol_count(), true);
        in.kind = graph::InputKind::PyInt;
        in.dtype = DType::I64;
        in.value = sym;
        int index = add_input(in);
        guards.expect_int(s->source, index, sym);
        s->kind = ShadowKind::Int;
        s->sym = sym;
        return true;
    }
    Box box;
    int index;
    if (PyFloat_CheckExact(obj)) {
        in.kind = graph::InputKind::PyFloat, in.dtype = DType::F64, box = Box::PyFloat;
        guards.expect_float(s->source, index = add_input(in));
    } else if (PyComplex_CheckExact(obj)) {
        in.kind = graph::InputKind::PyComplex, in.dtype = DType::C128, box = Box::PyComplex;
        guards.expect_complex(s->source, index = add_input(in));
    } else {
        DType dt;
        if (!np_scalar_dtype(obj, &dt)) return false;
        in.kind = graph::InputKind::NpScalar, in.dtype = dt, box = Box::NpScalar;
        guards.expect_np_scalar(s->source, index = add_input(in), Py_TYPE(obj), dt);
    }
    Node n;
    n.op = Op::Input;
    n.dtype = in.dtype;
    n.box = box;
    n.ints = {index};
    n.loc = location_;
    s->kind = ShadowKind::Scalar;
    s->value = graph.append(std::move(n));
    s->dtype = in.dtype;
    s->box = box;
    return true;
}

// Whether its bounds are next to 0, as those of slices that a program makes once are. Others may differ from
// call to call, and a trace is for one slice.
static bool is_slice_of_constants(PyObject* obj) {
    if (!PySlice_Check(obj)) return false;
    auto* slice = reinterpret_cast<PySliceObject*>(obj);
    for (PyObject* part : {slice->start, slice->stop, slice->step}) {
        if (part == Py_None) continue;
        if (!PyLong_CheckExact(part)) return false;
        int overflow = 0;
        const long n = PyLong_AsLongAndOverflow(part, &overflow);
        if (overflow || n > policy().trace_slice_bound || n < -policy().trace_slice_bound) return false;
    }
    return true;
}

bool TraceBuilder::resolve(const ShadowRef& s, PyObject* obj) {
    if (s->kind != ShadowKind::Lazy) return true;
    if (auto it = by_object_.find(obj); it != by_object_.end() && it->second.get() != s.get()) {
        // One object behind two sources: they must stay one object, so that a store through one is seen by
        // the other.
        guards.expect_same(s->source, it->second->source);
        guards::SourceId own = s->source;
        *s = *it->second;
        s->source = own;
        return true;
    }
    PyTypeObject* type = Py_TYPE(obj);
    if (PyArray_CheckExact(obj) || guards::is_cupy_array(obj) || guards::is_tensor(obj)) {
        if (!resolve_array(s, obj)) return PyArray_CheckExact(obj) && resolve_host_array(s, obj);
        by_object_[obj] = s;
        kept_.push_back(PyRef::borrow(obj));
        return true;
    }
    bool number = PyLong_CheckExact(obj) || PyFloat_CheckExact(obj) || PyComplex_CheckExact(obj) ||
                  (PyArray_IsScalar(obj, Generic) && !PyBool_Check(obj));
    if (number) {
        if (resolve_number(s, obj)) return true;
        reason = Reason::None;
    }
    if (PyTuple_CheckExact(obj)) {
        guards.expect_type(s->source, type);
        guards.expect_length(s->source, PyTuple_GET_SIZE(obj));
        s->kind = ShadowKind::Tuple;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(obj); ++i) {
            PyRef key = PyRef::steal(PyLong_FromSsize_t(i));
            s->items.push_back(lazy(guards.item(s->source, key.get()), PyTuple_GET_ITEM(obj, i)));
        }
        return true;
    }
    if (is_slice_of_constants(obj)) {
        guards.expect_equal(s->source, obj);
        const guards::SourceId own = s->source;
        *s = *constant(obj);
        s->source = own;
        return true;
    }
    if (PyUnicode_CheckExact(obj) || PyBytes_CheckExact(obj)) {
        guards.expect_equal(s->source, obj);
        s->kind = ShadowKind::Object;
        return true;
    }
    if (guards::is_function(obj)) {
        // The cells are read where they are used, so a closure made anew for each call is the same function
        // here.
        guards.expect_function(s->source, obj, false);
        s->kind = ShadowKind::Object;
        return true;
    }
    if (obj == Py_None || obj == Py_Ellipsis || PyBool_Check(obj) || PyModule_Check(obj) ||
        PyType_Check(obj) || PyCFunction_Check(obj) || PyArray_DescrCheck(obj) || is_ufunc(obj) ||
        is_method_descriptor(obj) || PyObject_TypeCheck(obj, &PyWrapperDescr_Type) ||
        guards::is_tensor_constant(obj)) {
        guards.expect_is(s->source, obj);
        s->kind = ShadowKind::Object;
        return true;
    }
    guards.expect_type(s->source, type);
    s->kind = ShadowKind::Opaque;
    return true;
}

bool TraceBuilder::require_constant(const ShadowRef& s, PyObject* obj) {
    if (!resolve(s, obj)) return false;
    switch (s->kind) {
        case ShadowKind::Object: return true;
        case ShadowKind::Int: return require(guards::Relation::Eq, s->sym, int_const(hint(s->sym)));
        case ShadowKind::Scalar:
            if (graph.node(s->value).op == Op::Const) return true;
            if (s->source == guards::kNoSource || s->box != Box::PyFloat) return false;
            guards.expect_equal(s->source, obj);
            return true;
        case ShadowKind::Tuple:
            for (size_t i = 0; i < s->items.size(); ++i)
                if (!PyTuple_CheckExact(obj) || !require_constant(s->items[i], PyTuple_GET_ITEM(obj, i)))
                    return false;
            return true;
        case ShadowKind::Slice: {
            if (!PySlice_Check(obj)) return false;
            auto* sl = reinterpret_cast<PySliceObject*>(obj);
            PyObject* parts[3] = {sl->start, sl->stop, sl->step};
            for (int i = 0; i < 3; ++i)
                if (!require_constant(s->items[i], parts[i])) return false;
            return true;
        }
        default: return false;
    }
}

ShadowRef TraceBuilder::tuple(std::vector<ShadowRef> items) {
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Tuple;
    s->items = std::move(items);
    return s;
}

ShadowRef TraceBuilder::new_int(Sym sym) {
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Int;
    s->sym = sym;
    return s;
}

ShadowRef TraceBuilder::new_scalar(Id value, Box box) {
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Scalar;
    s->value = value;
    s->box = box;
    s->dtype = graph.node(value).dtype;
    // The node says how the value is boxed when it leaves. A value boxed in two ways gets a second node.
    Node& n = graph.nodes[value];
    if (n.op != Op::Input && n.op != Op::Const && n.op != Op::SymScalar) {
        if (n.box == Box::Array) n.box = box;
    }
    if (graph.nodes[value].box != box) {
        Node copy;
        copy.op = Op::Copy;
        copy.dtype = s->dtype;
        copy.box = box;
        copy.in = {value};
        copy.loc = location_;
        s->value = graph.append(std::move(copy));
    }
    return s;
}

ShadowRef TraceBuilder::new_array(Id value, PyObject* like) {
    ArrayMeta meta;
    std::string why;
    if (!read_array_meta(like, &meta, &why)) return fail(Reason::ArrayKind, why);
    Op op = graph.node(value).op;
    if (op == Op::View || op == Op::Reshape || op == Op::Input) {
        // A fresh array with the contents of a view: the copy makes the buffer.
        Node copy;
        copy.op = Op::Copy;
        copy.dtype = graph.node(value).dtype;
        copy.in = {value};
        copy.shape = graph.node(value).shape;
        copy.loc = location_;
        value = graph.append(std::move(copy));
    }
    if (graph::on_gpu(meta.host) && !fits_device(meta)) return nullptr;
    Node& n = graph.nodes[value];
    const bool shared = n.op == Op::Library && graph::gives_shared(n.ints[3]);
    if (!shared && (meta.layout != graph::Layout::Contiguous || !meta.standard_strides))
        return fail(meta.host != graph::HostId::NumPy ? Reason::UnknownCall : Reason::ModelMismatch,
                    "layout of a fresh array");
    if (n.box == Box::Array && n.shape.size() == meta.shape.size()) {
        n.layout = meta.layout;
        n.perm = meta.perm;
        n.own_dtype = meta.own_dtype;
    }
    buffers_.push_back({value, value, false, -1});
    buffers_.back().shared = shared;
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Array;
    s->host = meta.host;
    s->buffer = static_cast<int>(buffers_.size()) - 1;
    s->dtype = n.dtype;
    s->shape = n.shape;
    s->layout = meta.layout;
    s->perm = meta.perm;
    s->strides = meta.strides;
    return s;
}

// The strides that replay will give the view, from those of the array viewed.
static std::vector<int64_t> view_strides(const Shadow& base, const ViewStep& step, const ArrayMeta& like) {
    size_t rank = like.shape.size();
    std::vector<int64_t> strides(rank, 0);
    if (step.reshape) {
        int64_t item = graph::info(base.dtype).size;
        for (size_t d = rank; d-- > 0;) strides[d] = item, item *= like.shape[d];
        return strides;
    }
    for (size_t d = 0; d < step.map.size(); ++d)
        if (step.map[d] >= 0) strides[step.map[d]] += step.step[d] * base.strides[d];
    return strides;
}

ShadowRef TraceBuilder::new_view(const ShadowRef& base, ViewStep step, PyObject* like) {
    ArrayMeta meta;
    std::string why;
    if (!read_array_meta(like, &meta, &why)) return fail(Reason::ArrayKind, why);
    if (meta.shape.size() != step.shape.size() || view_strides(*base, step, meta) != meta.strides)
        return fail(Reason::ModelMismatch, "strides of a view");
    // Stretched views are np.broadcast_to's, which are read-only; the hosts' new_view makes them so again.
    bool stretched = false;
    for (size_t d = 0; d < meta.shape.size() && !step.reshape; ++d)
        stretched |= meta.shape[d] > 1 &&
                     std::find(step.map.begin(), step.map.end(), static_cast<int>(d)) == step.map.end();
    if (meta.writeable != base->writeable && (meta.writeable || !stretched))
        return fail(Reason::UnknownCall, "a view that changes writeability");
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Array;
    s->strides = meta.strides;
    s->writeable = meta.writeable;
    s->buffer = base->buffer;
    s->path = base->path;
    s->dtype = base->dtype;
    s->shape = step.shape;
    s->path.push_back(std::move(step));
    s->layout = meta.layout;
    s->perm = meta.perm;
    s->base = base;
    return s;
}

std::vector<ShadowRef> TraceBuilder::maker(PyObject* callable, std::span<const Operand> args,
                                           PyObject* kwnames) {
    std::vector<ShadowRef> items = {constant(callable), kwnames ? constant(kwnames) : tuple({})};
    for (const Operand& a : args) items.push_back(a.shadow);
    return items;
}

ShadowRef TraceBuilder::new_tensor_view(const ShadowRef& base, ViewStep step, PyObject* like,
                                        PyObject* callable, std::span<const Operand> args,
                                        PyObject* kwnames) {
    ArrayMeta meta;
    std::string why;
    if (!read_array_meta(like, &meta, &why)) return fail(Reason::ArrayKind, why);
    if (meta.shape.size() != step.shape.size()) return fail(Reason::UnknownCall, "a view of another rank");
    const std::vector<int64_t> strides = view_strides(*base, step, meta);
    for (size_t d = 0; d < meta.shape.size(); ++d) {
        if (hint(step.shape[d]) != meta.shape[d]) return fail(Reason::UnknownCall, "a view of another shape");
        if (meta.shape[d] > 1 && strides[d] != meta.strides[d])
            return fail(Reason::UnknownCall, "a view with other strides");
    }
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Array;
    s->host = meta.host;
    s->strides = meta.strides;
    s->buffer = base->buffer;
    s->path = base->path;
    s->dtype = base->dtype;
    s->shape = step.shape;
    s->path.push_back(std::move(step));
    s->layout = meta.layout;
    s->perm = meta.perm;
    s->base = base;
    s->maker = maker(callable, args, kwnames);
    buffers_[static_cast<size_t>(s->buffer)].viewed = true;
    return s;
}

ShadowRef TraceBuilder::made(PyObject* callable, PyObject* kwnames, std::span<const Operand> values) {
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Made;
    s->items = {constant(callable), kwnames ? constant(kwnames) : tuple({})};
    for (const Operand& v : values) {
        if (!require_constant(v.shadow, v.obj))
            return fail(Reason::UnknownCall, "an argument that is no constant");
        s->items.push_back(constant(v.obj));
    }
    return s;
}

void TraceBuilder::append_error_state() {
    uint32_t set = 0, ignored = 0;
    for (const ErrorContext& e : errors_) {
        set |= e.set;
        ignored = (ignored & ~e.set) | e.ignored;
    }
    Node n;
    n.op = Op::ErrorState;
    n.ints = {static_cast<int64_t>(set | ignored << 4), -1};
    append(std::move(n));
}

void TraceBuilder::enter_errors(const ShadowRef& manager, uint32_t set, uint32_t ignored) {
    errors_.push_back({manager, set, ignored});
    append_error_state();
}

bool TraceBuilder::leave_errors(const ShadowRef& manager) {
    if (errors_.empty() || errors_.back().manager != manager) return false;
    errors_.pop_back();
    manager->used = true;
    append_error_state();
    return true;
}

bool TraceBuilder::entered(const ShadowRef& manager) const {
    return std::any_of(errors_.begin(), errors_.end(),
                       [&](const ErrorContext& e) { return e.manager == manager; });
}

size_t TraceBuilder::mark() {
    saved_buffers_ = buffers_;
    saved_substitutions_ = substitutions_.size();
    saved_errors_ = errors_;
    saved_written_.clear();
    for (const graph::Input& in : graph.inputs) saved_written_.push_back(in.written);
    return graph.nodes.size();
}

void TraceBuilder::rollback(size_t mark) {
    for (size_t i = mark; i < graph.nodes.size(); ++i) {
        Node& n = graph.nodes[i];
        bool keep = n.op == Op::Input || n.op == Op::Const || n.op == Op::SymScalar ||
                    (n.op == Op::SymGuard && n.ints[1] < 0);
        if (keep) continue;
        Node inert;
        inert.op = Op::Const;
        inert.dtype = DType::Bool;
        inert.ints = {0};
        inert.box = Box::PyBool;
        n = std::move(inert);
    }
    // What the lost guards showed is unknown again.
    substitutions_.erase(
        std::remove_if(substitutions_.begin() + static_cast<long>(saved_substitutions_), substitutions_.end(),
                       [](const Substitution& x) { return !x.from_entry; }),
        substitutions_.end());
    canon_memo_.clear();
    errors_ = saved_errors_;
    for (size_t i = 0; i < graph.inputs.size(); ++i)
        graph.inputs[i].written = i < saved_written_.size() && saved_written_[i];
    // Buffers made since the mark are unreachable, except those of inputs, which are back at their entry
    // contents.
    for (size_t i = 0; i < buffers_.size(); ++i)
        buffers_[i].version = i < saved_buffers_.size() ? saved_buffers_[i].version : buffers_[i].root;
}

int TraceBuilder::kernel_nodes() const {
    int count = 0;
    for (const Node& n : graph.nodes) {
        auto cls = graph::info(n.op).cls;
        bool work = cls == graph::OpClass::Pointwise || cls == graph::OpClass::Reduction ||
                    cls == graph::OpClass::Effect || cls == graph::OpClass::Library ||
                    cls == graph::OpClass::Alloc || cls == graph::OpClass::View;
        // NumPy is slow on 0-d arrays, and quick on scalars.
        bool on_arrays = std::any_of(n.in.begin(), n.in.end(), [&](graph::Id v) {
            return graph.nodes[v].op == graph::Op::Input && graph.nodes[v].box == graph::Box::Array;
        });
        if (work && (!n.shape.empty() || on_arrays || cls != graph::OpClass::Pointwise)) ++count;
    }
    return count;
}

}  // namespace stator::frontend
