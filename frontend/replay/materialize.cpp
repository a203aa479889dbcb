// See materialize.h. Within one snapshot each recipe is built once, so that objects keep their identity.

#include "frontend/replay/materialize.h"

#include <alloca.h>

#include <cstring>

#include "frontend/cpython/deferred.h"
#include "frontend/cpython/frame.h"
#include "frontend/cpython/functions.h"
#include "frontend/replay/host_arrays.h"
#include "frontend/trace_builder/array_meta.h"
#include "guards/check/functions.h"

namespace stator::frontend {

using graph::Box;
using graph::DType;
using graph::Id;
using graph::Node;
using graph::Op;
using graph::OpClass;
using graph::Recipe;
using graph::RecipeKind;

void int_to_bits(int64_t v, DType dtype, char* out) {
    memset(out, 0, 16);
    switch (dtype) {
        case DType::F64: {
            double d = static_cast<double>(v);
            memcpy(out, &d, 8);
            break;
        }
        case DType::C128: {
            double d = static_cast<double>(v);
            memcpy(out, &d, 8);
            break;
        }
        case DType::F32:
        case DType::C64: {
            float f = static_cast<float>(static_cast<double>(v));
            memcpy(out, &f, 4);
            break;
        }
        case DType::Bool: out[0] = v != 0; break;
        default: memcpy(out, &v, graph::info(dtype).size); break;
    }
}

// A store into memory that existed before the trace happens in that memory.
static Id memory_root(const graph::Graph& g, Id v) {
    if (g.nodes[v].op != Op::Store) return v;
    Id root = graph::buffer_root(g, v);
    return g.nodes[root].op == Op::Input ? root : v;
}

PyObject* ReplayState::memory(Id v) const {
    v = memory_root(trace.graph, v);
    const Node& n = trace.graph.nodes[v];
    if (n.op == Op::Input) return entry->inputs[n.ints[0]];
    // Stores into a fresh buffer happen in place: the newest kept version's array holds the contents.
    for (;; v = trace.graph.nodes[v].in[0]) {
        int slot = trace.value_slots[v];
        if (slot >= 0 && arrays[slot]) return arrays[slot];
        if (trace.graph.nodes[v].op != Op::Store) return nullptr;
    }
}

void ReplayState::set_array(Id v, PyObject* steal) {
    int slot = trace.value_slots[v];
    PyObject* old = arrays[slot];
    arrays[slot] = steal;
    Py_XDECREF(old);
}

const char* ReplayState::scalar(Id v) const {
    const Node& n = trace.graph.nodes[v];
    if (n.op == Op::Input) return entry->scalars + 16 * n.ints[0];
    return scalars + 16 * trace.value_slots[v];
}

void ReplayState::set_scalar(Id v, const char* bits) {
    memcpy(scalars + 16 * trace.value_slots[v], bits, 16);
}

void ReplayState::scalar_now(Id v, DType dtype, char* out) const {
    PyObject* array = trace.graph.nodes[v].box == Box::Array ? memory(v) : nullptr;
    if (array)
        memcpy(out, numpy::data(array), static_cast<size_t>(graph::info(dtype).size));
    else
        memcpy(out, scalar(v), 16);
}

bool ReplayState::evaluate_syms() {
    for (const auto& [id, value] : trace.const_exprs) exprs[id] = value;
    for (const auto& [id, symbol] : trace.symbol_exprs) exprs[id] = entry->symbols[symbol];
    if (trace.expr_ids.empty()) return true;
    return trace.graph.syms.eval(trace.expr_ids, {entry->symbols, static_cast<size_t>(trace.symbol_count)},
                                 {exprs, static_cast<size_t>(trace.expr_count)});
}

// A Python number. An int is the value of the symbol that the node binds.
bool ReplayState::bind_number(Id v, PyObject* result) {
    char bits[16] = {};
    const Node& n = trace.graph.nodes[v];
    if (n.box == Box::PyBool) {
        if (!PyBool_Check(result)) return false;
        bits[0] = result == Py_True;
    } else if (n.box == Box::PyInt) {
        if (!PyLong_CheckExact(result)) return false;
        int overflow = 0;
        const int64_t value = PyLong_AsLongLongAndOverflow(result, &overflow);
        const auto symbol = trace.graph.syms.expr(n.syms[0]).value;
        const auto& info = trace.graph.syms.symbol_info(static_cast<int>(symbol));
        if (overflow || value < info.lo || value > info.hi) return false;
        entry->symbols[symbol] = value;
        memcpy(bits, &value, 8);
    } else if (n.box == Box::PyComplex) {
        if (!PyComplex_CheckExact(result)) return false;
        const Py_complex value = PyComplex_AsCComplex(result);
        memcpy(bits, &value, 16);
    } else {
        if (!PyFloat_CheckExact(result)) return false;
        const double value = PyFloat_AS_DOUBLE(result);
        memcpy(bits, &value, 8);
    }
    set_scalar(v, bits);
    return true;
}

bool ReplayState::evaluate_bound(const TraceStep& step) {
    for (const auto& [id, symbol] : step.bound) exprs[id] = entry->symbols[symbol];
    return step.exprs.empty() ||
           trace.graph.syms.eval(step.exprs, {entry->symbols, static_cast<size_t>(trace.symbol_count)},
                                 {exprs, static_cast<size_t>(trace.expr_count)});
}

// The extents of a library call's result; those that are new become the values of symbols.
static bool bind_shape(const ReplayState& st, const Node& n, std::span<const int64_t> shape) {
    if (shape.size() != n.shape.size()) return false;
    const auto& t = st.trace.graph.syms;
    for (size_t d = 0; d < shape.size(); ++d) {
        if (n.syms.empty()) {  // its extents are known
            if (st.exprs[n.shape[d].id] != shape[d]) return false;
            continue;
        }
        const auto& e = t.expr(n.syms[d]);
        if (e.kind == graph::SymKind::Const) {
            if (e.value != shape[d]) return false;
        } else if (e.kind == graph::SymKind::Symbol) {
            const auto& info = t.symbol_info(static_cast<int>(e.value));
            if (shape[d] < info.lo || shape[d] > info.hi) return false;
            st.entry->symbols[e.value] = shape[d];
        }
    }
    return true;
}

// Whether the guards behind the call are going to leave the trace: an extent that values decide is 0 or 1 and
// was not, or the other way around. In which order memory lies then differs as well.
static bool leaves_behind(const graph::SymTable& t, const Node& n, std::span<const int64_t> shape) {
    if (shape.size() != n.syms.size()) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
        const auto& e = t.expr(n.syms[d]);
        if (e.kind != graph::SymKind::Symbol || t.symbol_info(static_cast<int>(e.value)).lo > 0) continue;
        const int64_t seen = t.hint(n.syms[d]);
        if (seen < 2 ? shape[d] != seen : shape[d] < 2) return true;
    }
    return false;
}

bool ReplayState::fits_tensor(Id v, PyObject* result) {
    const Node& n = trace.graph.nodes[v];
    guards::TensorView t;
    if (!guards::is_tensor(result) || !guards::read_tensor(result, &t) || t.dtype != n.dtype) return false;
    if (grad_mode() && guards::requires_grad(result)) return false;
    const guards::TensorOrder order = guards::tensor_order(t.rank, t.shape, t.strides);
    const uint32_t zeros =
        graph::gives_shared(n.ints[3]) ? static_cast<uint32_t>(graph::kGivesShared - n.ints[3]) : 0;
    if (order.layout != n.layout || order.zeros != zeros || order.undecided ||
        static_cast<size_t>(t.rank) != n.shape.size())
        return false;
    for (int i = 0; i < t.rank; ++i)
        if (order.perm[i] != (n.perm.empty() ? i : n.perm[static_cast<size_t>(i)])) return false;
    return bind_shape(*this, n, {t.shape, static_cast<size_t>(t.rank)});
}

bool ReplayState::grad_mode() {
    if (grad_mode_ < 0) grad_mode_ = guards::state(guards::tensor_api()->grad_enabled);
    return grad_mode_ != 0;
}

bool ReplayState::bind_result(const TraceStep& step, PyRef result) {
    const Id v = step.node;
    const Node& n = trace.graph.nodes[v];
    if (graph::gives_object(n.ints[3])) {
        PyObject* kind = trace.objects[graph::kGivesObject - n.ints[3]].get();
        const Py_ssize_t length = PyLong_AsSsize_t(PyTuple_GET_ITEM(kind, 1));
        if (reinterpret_cast<PyObject*>(Py_TYPE(result.get())) != PyTuple_GET_ITEM(kind, 0) ||
            (length >= 0 && Py_SIZE(result.get()) != length))
            return false;
        set_array(v, result.release());
        return true;
    }
    if (n.box != Box::Array && n.box != Box::NpScalar)
        return bind_number(v, result.get()) && evaluate_bound(step);
    if (n.ints[3] >= 0) {
        if (!guards::is_host_array(result.get(), n.ints[3])) return false;
        set_array(v, result.release());
        return true;
    }
    if (n.box != Box::Array) {
        DType dt;
        if (!np_scalar_dtype(result.get(), &dt) || dt != n.dtype) return false;
        char bits[16] = {};
        numpy::scalar_bits(result.get(), bits);
        set_scalar(v, bits);
        return true;
    }
    if (graph::is_torch(n.host)) {
        if (!fits_tensor(v, result.get())) return false;
    } else {
        ArrayMeta meta;
        std::string why;
        if (!read_array_meta(result.get(), &meta, &why)) return false;
        const bool lies_so = meta.layout == n.layout && meta.perm == n.perm;
        if (meta.dtype != n.dtype || meta.host != n.host || meta.own_dtype != n.own_dtype ||
            (!lies_so && !leaves_behind(trace.graph.syms, n, meta.shape)) ||
            !bind_shape(*this, n, meta.shape))
            return false;
        if (n.host == graph::HostId::NumPy && graph::gives_shared(n.ints[3]) && !meta.strides_positive())
            return false;
    }
    set_array(v, result.release());
    return evaluate_bound(step);
}

void Materializer::reset() {
    for (auto& [r, o] : memo_) Py_DECREF(o);
    memo_.clear();
}

PyObject* Materializer::build(int32_t index) {
    const Recipe& r = st_.trace.graph.recipes[index];
    for (auto& [known, o] : memo_)
        if (known == index) return Py_NewRef(o);
    PyObject* o = build_new(r);
    if (o) memo_.emplace_back(index, Py_NewRef(o));
    return o;
}

// A 0-d array is a number until it leaves the trace.
PyObject* Materializer::new_zero_d(Id v, const char* bits) {
    const auto& g = st_.trace.graph;
    const Node& n = g.nodes[v];
    if (graph::on_gpu(n.host)) {  // the run gives those that may leave the trace an array of their own
        PyErr_SetString(PyExc_SystemError, "stator: a 0-d array of a GPU was not kept");
        return nullptr;
    }
    PyObject* array =
        new_host_array(n.host, n.dtype, 0, nullptr, {}, g.nodes[graph::buffer_root(g, v)].own_dtype);
    char* data = array ? locate_host_array(n.host, array, 0, nullptr) : nullptr;
    if (data) memcpy(data, bits, graph::info(n.dtype).size);
    return array;
}

PyObject* Materializer::build_value(Id v) {
    const auto& g = st_.trace.graph;
    const Node& n = g.nodes[v];
    if (n.op == Op::Const || n.op == Op::SymScalar) {
        char bits[16] = {};
        if (n.op == Op::SymScalar)
            int_to_bits(st_.exprs[n.syms[0].id], n.dtype, bits);
        else
            for (size_t i = 0; i < n.ints.size(); ++i) memcpy(bits + 8 * i, &n.ints[i], 8);
        if (n.box == Box::Array) return new_zero_d(v, bits);
        return numpy::box_scalar(n.box, n.dtype, bits);
    }
    if (n.box != Box::Array) return numpy::box_scalar(n.box, n.dtype, st_.scalar(v));
    if (PyObject* array = st_.memory(v)) return Py_NewRef(array);
    if (!n.shape.empty()) {
        PyErr_SetString(PyExc_SystemError, "stator: a value that a snapshot needs was not kept");
        return nullptr;
    }
    return new_zero_d(v, st_.scalar(v));
}

namespace {
struct Strided {
    char* data;
    std::vector<int64_t> shape, strides;
    bool stretched = false;  // along an axis of its own, as by np.broadcast_to
};

// `base` is the array object that the view refers to; a 0-d value may have no memory but that object's.
Strided apply_views(const ReplayState& st, Id v, PyObject* base) {
    const Node& n = st.trace.graph.nodes[v];
    std::vector<int64_t> shape;
    for (graph::Sym s : n.shape) shape.push_back(st.exprs[s.id]);
    if (graph::info(n.op).cls != OpClass::View) {
        PyObject* array = st.memory(v);
        if (!array && shape.empty()) return {numpy::data(base), {}, {}};
        if (!array) return {nullptr, {}, {}};
        const int64_t* strides = numpy::strides(array);
        return {numpy::data(array), shape, {strides, strides + shape.size()}};
    }
    Strided in = apply_views(st, n.in[0], base);
    if (!in.data) return in;
    if (n.op == Op::Reshape) {
        std::vector<int64_t> strides(shape.size());
        int64_t step = graph::info(n.dtype).size;
        for (size_t d = shape.size(); d-- > 0;) strides[d] = step, step *= shape[d];
        return {in.data, shape, strides, in.stretched};
    }
    Strided out{in.data, shape, std::vector<int64_t>(shape.size(), 0), in.stretched};
    std::vector<bool> own(shape.size(), true);
    int64_t rank = n.ints[0];
    for (int64_t d = 0; d < rank; ++d) {
        out.data += st.exprs[n.syms[d].id] * in.strides[d];
        int64_t axis = n.ints[1 + d];
        if (axis < 0) continue;
        out.strides[axis] += n.ints[1 + rank + d] * in.strides[d];
        own[static_cast<size_t>(axis)] = false;
    }
    for (size_t k = 0; k < own.size(); ++k) out.stretched |= own[k] && shape[k] > 1;
    return out;
}
}  // namespace

PyObject* Materializer::build_view(const Recipe& r) {
    PyRef base = PyRef::steal(build(r.items[0]));
    if (!base) return nullptr;
    Strided s = apply_views(st_, r.index, base.get());
    if (!s.data) {
        PyErr_SetString(PyExc_SystemError, "stator: the memory behind a view was not kept");
        return nullptr;
    }
    return numpy::new_view(base.get(), st_.trace.graph.nodes[r.index].dtype, static_cast<int>(s.shape.size()),
                           s.shape.data(), s.strides.data(), s.data, s.stretched);
}

PyObject* Materializer::build_strided(const Recipe& r) {
    const PyRef base = PyRef::steal(build(r.items[0]));
    if (!base) return nullptr;
    const size_t numbers = r.items.size() - 1;
    auto* values = static_cast<int64_t*>(alloca(sizeof(int64_t) * numbers));
    for (size_t i = 0; i < numbers; ++i)
        values[i] = st_.exprs[st_.trace.graph.recipes[static_cast<size_t>(r.items[i + 1])].sym.id];
    const size_t rank = numbers / 2;
    return torch::new_strided(base.get(), static_cast<int>(rank), values, values + rank, values[2 * rank]);
}

PyObject* Materializer::build_new(const Recipe& r) {
    auto items = [&](PyObject* (*make)(Py_ssize_t),
                     int (*set)(PyObject*, Py_ssize_t, PyObject*)) -> PyObject* {
        PyObject* seq = make(static_cast<Py_ssize_t>(r.items.size()));
        for (size_t i = 0; seq && i < r.items.size(); ++i) {
            PyObject* o = build(r.items[i]);
            if (!o)
                Py_CLEAR(seq);
            else
                set(seq, static_cast<Py_ssize_t>(i), o);
        }
        return seq;
    };
    switch (r.kind) {
        case RecipeKind::Null: return nullptr;
        case RecipeKind::Value: return build_value(r.index);
        case RecipeKind::SymInt: return PyLong_FromLongLong(st_.exprs[r.sym.id]);
        case RecipeKind::Object: return Py_NewRef(st_.trace.objects[r.index].get());
        case RecipeKind::Slot: return Py_NewRef(st_.entry->objects[r.index]);
        case RecipeKind::InputObj: return Py_NewRef(st_.entry->inputs[r.index]);
        case RecipeKind::Tuple: return items(PyTuple_New, PyTuple_SetItem);
        case RecipeKind::List: return items(PyList_New, PyList_SetItem);
        case RecipeKind::Slice: {
            PyRef a = PyRef::steal(build(r.items[0])), b = PyRef::steal(build(r.items[1])),
                  c = PyRef::steal(build(r.items[2]));
            return a && b && c ? PySlice_New(a.get(), b.get(), c.get()) : nullptr;
        }
        case RecipeKind::Method: {
            PyRef f = PyRef::steal(build(r.items[0])), self = PyRef::steal(build(r.items[1]));
            if (!f || !self) return nullptr;
            if (guards::is_function(f.get())) return PyMethod_New(f.get(), self.get());
            // x.sum, of a builtin type
            return Py_TYPE(f.get())->tp_descr_get(f.get(), self.get(),
                                                  reinterpret_cast<PyObject*>(Py_TYPE(self.get())));
        }
        case RecipeKind::Dict: return build_dict(r);
        case RecipeKind::Make: return build_made(r);
        case RecipeKind::Cell: return PyCell_New(nullptr);
        case RecipeKind::Attr:
        case RecipeKind::ListEnd: return nullptr;  // a place
        case RecipeKind::Function: return build_function(r);
        case RecipeKind::Iter: return build_iterator(r);
        case RecipeKind::View: return build_view(r);
        case RecipeKind::Strided: return build_strided(r);
    }
    return nullptr;
}

PyObject* Materializer::build_dict(const Recipe& r) {
    PyRef dict = PyRef::steal(PyDict_New());
    for (size_t i = 0; dict && i < r.items.size(); i += 2) {
        PyRef key = PyRef::steal(build(r.items[i])), value = PyRef::steal(build(r.items[i + 1]));
        if (!key || !value || PyDict_SetItem(dict.get(), key.get(), value.get()) < 0) return nullptr;
    }
    return dict.release();
}

PyObject* Materializer::build_made(const Recipe& r) {
    std::vector<PyRef> held;
    std::vector<PyObject*> values;
    for (int32_t item : r.items) {
        held.push_back(PyRef::steal(build(item)));
        if (!held.back()) return nullptr;
        if (held.size() > 2) values.push_back(held.back().get());
    }
    const size_t positional = values.size() - PyTuple_GET_SIZE(held[1].get());
    return PyObject_Vectorcall(held[0].get(), values.data(), positional, held[1].get());
}

PyObject* Materializer::build_function(const Recipe& r) {
    PyRef code = PyRef::steal(build(r.items[graph::kCode]));
    PyRef globals = PyRef::steal(build(r.items[graph::kGlobals]));
    PyRef function = PyRef::steal(code && globals ? new_function(code.get(), globals.get()) : nullptr);
    if (!function) return nullptr;
    static constexpr std::pair<graph::FunctionItem, FunctionPart> kParts[] = {
        {graph::kDefaults, kPartDefaults},       {graph::kKwDefaults, kPartKwDefaults},
        {graph::kAnnotations, kPartAnnotations}, {graph::kClosure, kPartClosure},
        {graph::kAnnotate, kPartAnnotate},
    };
    for (auto [item, part] : kParts) {
        if (absent(r.items[item])) continue;
        PyObject* value = build(r.items[item]);
        if (!value) return nullptr;
        set_function_part(function.get(), part, value);
    }
    return function.release();
}

PyObject* Materializer::build_iterator(const Recipe& r) {
    PyRef over = PyRef::steal(build(r.items[0]));
    PyRef iter = PyRef::steal(over ? PyObject_GetIter(over.get()) : nullptr);
    if (!iter || r.index == 0) return iter.release();
    const iternextfunc next = Py_TYPE(iter.get())->tp_iternext;
    if (!PyTuple_CheckExact(over.get()) && !PyList_CheckExact(over.get()) && !PyRange_Check(over.get())) {
        for (int32_t i = 0; i < r.index; ++i)
            if (!PyRef::steal(next(iter.get()))) return nullptr;
        return iter.release();
    }
    PyRef done = PyRef::steal(PyObject_CallMethod(iter.get(), "__setstate__", "i", r.index));
    return done ? iter.release() : nullptr;
}

// Enters the context managers that are open at the snapshot, as its frames find them.
bool Materializer::enter(const graph::Snapshot& s) {
    for (int32_t r : s.contexts) {
        PyRef manager = PyRef::steal(build(r));
        if (!manager) return false;
        PyRef done = PyRef::steal(PyObject_CallMethod(manager.get(), "__enter__", nullptr));
        if (!done) return false;
        entered_.push_back(std::move(manager));
    }
    return true;
}

void Materializer::leave_contexts() {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (; !entered_.empty(); entered_.pop_back()) {
        PyRef done = PyRef::steal(
            PyObject_CallMethod(entered_.back().get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
        if (!done) PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
}

bool Materializer::frames(int snapshot, std::vector<ResumeFrame>* out) {
    // np.errstate is a Python class: what a signal's handler raises in it would be no exception of the
    // program's.
    const DeferredSignals deferred;
    reset();
    entered_.clear();
    const graph::Snapshot& s = st_.trace.graph.snapshots[snapshot];
    if (enter(s) && fill_frames(s, out) && fill_cells(s.cells)) return true;
    leave_contexts();
    return false;
}

// Whether an attribute or an item is what it was.
static bool still_holds(PyObject* place, PyObject* name, PyObject* before) {
    if (PyDict_CheckExact(place)) return PyDict_GetItem(place, name) == before;
    const PyRef now = PyRef::steal(PyObject_GenericGetAttr(place, name));
    return now ? now.get() == before : (PyErr_Clear(), false);
}

bool Materializer::fill_cells(const std::vector<graph::CellContents>& cells) {
    struct Write {
        PyRef place, name, contents;  // name: of an attribute
        int32_t read;
        bool appended;
    };
    std::vector<Write> built;
    for (const graph::CellContents& c : cells) {
        const Recipe& r = st_.trace.graph.recipes[c.cell];
        const bool attribute = r.kind == RecipeKind::Attr;
        const bool appended = r.kind == RecipeKind::ListEnd;
        PyRef cell = PyRef::steal(build(attribute || appended ? r.items[0] : c.cell)), contents, name;
        if (attribute && !(name = PyRef::steal(build(r.items[1])))) return false;
        if (!absent(c.contents)) {
            contents = PyRef::steal(build(c.contents));
            if (!contents) return false;
        }
        if (!cell) return false;
        built.push_back({std::move(cell), std::move(name), std::move(contents), c.read, appended});
    }
    // What another thread has stored since it was read would be lost. As long as nothing shows, the function
    // can be begun again.
    if (!st_.committed && thread_switches(PyThreadState_Get()) != st_.switches)
        for (const Write& w : built)
            if (w.read >= 0 && !still_holds(w.place.get(), w.name.get(), st_.entry->objects[w.read]))
                return false;
    for (auto& [place, name, contents, read, appended] : built) {
        st_.committed = true;
        if (appended) {
            if (PyList_Append(place.get(), contents.get()) < 0) return false;
            continue;
        }
        if (!name) {
            PyCell_Set(place.get(), contents.get());
            continue;
        }
        // A class may have a __setattr__ that its own __init__ passes by (frozen dataclasses).
        const auto store = PyDict_CheckExact(place.get()) ? PyDict_SetItem : PyObject_GenericSetAttr;
        if (store(place.get(), name.get(), contents.get()) < 0) return false;
    }
    return true;
}

// Nothing is to be built: an empty slot or cell, or a local of the frame in which the trace was entered that
// was not bound there.
bool Materializer::absent(int32_t index) const {
    const Recipe& r = st_.trace.graph.recipes[index];
    return r.kind == RecipeKind::Null || (r.kind == RecipeKind::Slot && !st_.entry->objects[r.index]);
}

bool Materializer::fill_frames(const graph::Snapshot& s, std::vector<ResumeFrame>* out) {
    for (const graph::SnapFrame& f : s.frames) {
        ResumeFrame frame;
        frame.unit = f.unit;
        if (f.func >= 0) {
            frame.func = PyRef::steal(build(f.func));
            if (!frame.func) return false;
        }
        for (int32_t r : f.slots) {
            if (absent(r)) {
                frame.slots.push_back(nullptr);
                continue;
            }
            PyObject* o = build(r);
            if (!o) return false;
            frame.slots.push_back(o);
        }
        out->push_back(std::move(frame));
    }
    return true;
}

}  // namespace stator::frontend
