// TraceBuilder: graph values, stores and library calls. Shape rules live here; dtype rules are the host
// adapter's.

#include "frontend/trace_builder/trace_builder.h"

#include <algorithm>

#include "frontend/once.h"
#include "frontend/trace_builder/array_meta.h"
#include "guards/check/functions.h"
#include "guards/check/names.h"

namespace stator::frontend {

using graph::Box;
using graph::DType;
using graph::Id;
using graph::kNone;
using graph::Node;
using graph::Op;
using graph::Sym;
using guards::Relation;

// The value under the names that its extents have by now, if those differ: a view of everything.
Id TraceBuilder::restated(Id v) {
    Shape shape = graph.node(v).shape;
    bool changed = false;
    for (Sym& s : shape) {
        Sym c = canon(s);
        changed |= c != s;
        s = c;
    }
    if (!changed) return v;
    const Node& old = graph.node(v);
    Node n;
    n.op = Op::View;
    n.dtype = old.dtype;
    n.host = old.host;
    n.in = {v};
    n.layout = old.layout;
    n.perm = old.perm;
    n.loc = location_;
    n.ints.push_back(static_cast<int64_t>(shape.size()));
    for (size_t d = 0; d < shape.size(); ++d) n.ints.push_back(static_cast<int64_t>(d));
    n.ints.insert(n.ints.end(), shape.size(), 1);
    n.syms.assign(shape.size(), graph.syms.constant(0));
    n.shape = std::move(shape);
    return graph.append(std::move(n));
}

Id TraceBuilder::append(Node n) {
    n.loc = location_;
    const graph::OpClass cls = graph::info(n.op).cls;
    const bool follows = cls == graph::OpClass::View || cls == graph::OpClass::Effect;
    n.host = follows ? graph.node(n.in[0]).host : host;
    if (n.host == graph::HostId::Torch && device >= 0) n.host = graph::HostId::TorchCuda;
    for (size_t k = n.op == Op::Store ? 1 : 0; k < n.in.size() && n.op != Op::Library; ++k)
        if (n.in[k] != kNone) n.in[k] = restated(n.in[k]);
    if (n.op != Op::Store)  // whose buffer keeps the names that it was made with
        for (Sym& s : n.shape) s = canon(s);
    return graph.append(std::move(n));
}

static const Shape kScalarShape;

const Shape& TraceBuilder::shape(const ShadowRef& s) const {
    if (s->kind != ShadowKind::Array) return kScalarShape;
    if (substitutions_.empty()) return s->shape;
    auto* self = const_cast<TraceBuilder*>(this);
    s->shape_by_now = s->shape;
    for (Sym& e : s->shape_by_now) e = self->canon(e);
    return s->shape_by_now;
}

Id TraceBuilder::apply(Id v, const ViewStep& step) {
    return step.reshape ? reshape(v, step.shape) : view(v, step);
}

Id TraceBuilder::value(const ShadowRef& s) {
    switch (s->kind) {
        case ShadowKind::Scalar: return s->value;
        case ShadowKind::Int: return sym_scalar(s->sym, DType::I64);
        case ShadowKind::Array: break;
        case ShadowKind::Object:
            if (PyBool_Check(s->obj.get())) return scalar_const(DType::Bool, s->obj.get() == Py_True);
            [[fallthrough]];
        default: fail(Reason::UnknownOp, "an operand that is no array or number"); return kNone;
    }
    Id version = buffers_[s->buffer].version;
    if (s->path.empty()) return version;
    if (s->cached_version == version && s->cached != kNone) {
        Op op = graph.node(s->cached).op;
        if (op == Op::View || op == Op::Reshape) return s->cached;
    }
    Id v = version;
    for (const ViewStep& step : s->path) v = apply(v, step);
    s->cached = v;
    s->cached_version = version;
    return v;
}

Id TraceBuilder::scalar_const(DType dtype, uint64_t lo, uint64_t hi) {
    Node n;
    n.op = Op::Const;
    n.dtype = dtype;
    n.box = Box::NpScalar;
    n.ints = {static_cast<int64_t>(lo)};
    if (dtype == DType::C128) n.ints.push_back(static_cast<int64_t>(hi));
    return append(std::move(n));
}

Id TraceBuilder::cast(Id v, DType dtype) {
    if (graph.node(v).dtype == dtype) return v;
    Node n;
    n.op = Op::Cast;
    n.dtype = dtype;
    n.in = {v};
    n.shape = graph.node(v).shape;
    n.layout = graph.node(v).layout == graph::Layout::Contiguous ? graph::Layout::Contiguous : n.layout;
    n.perm = graph.node(v).layout == graph::Layout::Contiguous ? graph.node(v).perm : n.perm;
    return append(std::move(n));
}

Id TraceBuilder::pointwise(Op op, std::span<const Id> in, DType out) {
    Node n;
    n.op = op;
    n.dtype = out;
    n.in.assign(in.begin(), in.end());
    for (Id v : in) {
        Shape s = graph.node(v).shape;
        for (Sym& e : s) e = canon(e);
        if (s.empty()) continue;
        if (n.shape.empty())
            n.shape = s;
        else if (n.shape != s) {
            fail(Reason::ModelMismatch, "pointwise operands of different shapes");
            return kNone;
        }
    }
    return append(std::move(n));
}

Id TraceBuilder::host_loop(const std::string& ufunc, std::span<const Id> in, DType out) {
    Id v = pointwise(Op::HostLoop, in, out);
    if (v != kNone) graph.nodes[v].name = ufunc;
    return v;
}

// Whether the view of `base` has its elements in C order without gaps, for all shapes: in the order of
// memory, first axes that are indexed, then one that may be cut, then whole ones.
static bool shows_c_order(const graph::SymTable& syms, const Node& base, const ViewStep& step) {
    auto unit = [&](Sym s) { return syms.as_const(s) == 1; };
    if (base.layout != graph::Layout::Contiguous) return false;
    std::vector<char> mapped(step.shape.size(), 0);
    bool outer = true;
    int last = -1;
    for (size_t k = 0; k < step.map.size(); ++k) {
        size_t d = base.perm.empty() ? k : static_cast<size_t>(base.perm[k]);
        int axis = step.map[d];
        if (axis >= 0) mapped[axis] = 1;
        if (unit(base.shape[d])) continue;
        if (axis < 0 || unit(step.shape[axis])) {
            if (!outer) return false;
            continue;
        }
        if (axis < last || step.step[d] != 1) return false;
        if (!outer && (step.shape[axis] != base.shape[d] || syms.as_const(step.start[d]) != 0)) return false;
        outer = false;
        last = axis;
    }
    for (size_t a = 0; a < mapped.size(); ++a)
        if (!mapped[a] && !unit(step.shape[a])) return false;
    return true;
}

Id TraceBuilder::view(Id v, const ViewStep& step) {
    Node n;
    n.op = Op::View;
    n.dtype = graph.node(v).dtype;
    n.in = {v};
    n.shape = step.shape;
    n.layout =
        shows_c_order(graph.syms, graph.node(v), step) ? graph::Layout::Contiguous : graph::Layout::Strided;
    n.ints.push_back(static_cast<int64_t>(step.map.size()));
    n.ints.insert(n.ints.end(), step.map.begin(), step.map.end());
    n.ints.insert(n.ints.end(), step.step.begin(), step.step.end());
    for (Sym s : step.start) n.syms.push_back(canon(s));
    return append(std::move(n));
}

Id TraceBuilder::reshape(Id v, Shape shape) {
    Node n;
    n.op = Op::Reshape;
    n.dtype = graph.node(v).dtype;
    n.in = {v};
    n.shape = std::move(shape);
    return append(std::move(n));
}

Id TraceBuilder::broadcast(Id v, const Shape& to) {
    Shape from = graph.node(v).shape;
    for (Sym& s : from) s = canon(s);
    if (from.empty()) return v;  // scalars broadcast implicitly
    if (from == to) return v;
    ViewStep step;
    step.shape = to;
    int shift = static_cast<int>(to.size()) - static_cast<int>(from.size());
    if (shift < 0) return fail(Reason::ModelMismatch, "operands that do not broadcast"), kNone;
    for (size_t d = 0; d < from.size(); ++d) {
        Sym target = to[d + shift];
        bool stretch = from[d] != target;
        if (stretch && hint(from[d]) == hint(target) && require(Relation::Eq, from[d], target))
            stretch = false;
        if (stretch && hint(from[d]) != 1) {
            fail(Reason::UnknownOp, "shapes that do not broadcast");
            return kNone;
        }
        step.map.push_back(stretch ? -1 : static_cast<int>(d) + shift);
        step.step.push_back(1);
        step.start.push_back(int_const(0));
    }
    return view(v, step);
}

static void set_layout(Node* n, PyObject* like) {
    ArrayMeta meta;
    std::string why;
    if (like && read_array_meta(like, &meta, &why)) {
        n->layout = meta.layout;
        n->perm = meta.perm;
        n->own_dtype = meta.own_dtype;
    }
}

Id TraceBuilder::empty(DType dtype, Shape shape, PyObject* like) {
    Node n;
    n.op = Op::Empty;
    n.dtype = dtype;
    n.shape = std::move(shape);
    set_layout(&n, like);
    return append(std::move(n));
}

Id TraceBuilder::full(Id scalar, Shape shape, PyObject* like) {
    Node n;
    n.op = Op::Full;
    n.dtype = graph.node(scalar).dtype;
    n.in = {scalar};
    n.shape = std::move(shape);
    set_layout(&n, like);
    return append(std::move(n));
}

Id TraceBuilder::reduce(const std::string& ufunc, Id v, std::span<const int> axes, DType out) {
    Node n;
    n.op = Op::Reduce;
    n.dtype = out;
    n.in = {v};
    n.name = ufunc;
    n.ints = {static_cast<int64_t>(graph::ReduceOrder::CContiguous)};
    n.ints.insert(n.ints.end(), axes.begin(), axes.end());
    const Shape& s = graph.node(v).shape;
    for (size_t d = 0; d < s.size(); ++d)
        if (std::find(axes.begin(), axes.end(), static_cast<int>(d)) == axes.end()) n.shape.push_back(s[d]);
    return append(std::move(n));
}

// The view of `outer` after `inner`, as one step; both are plain view steps.
static ViewStep compose(TraceBuilder& b, const ViewStep& first, const ViewStep& second) {
    ViewStep r;
    r.shape = second.shape;
    auto& t = b.syms();
    for (size_t d = 0; d < first.map.size(); ++d) {
        int m = first.map[d];
        if (m < 0) {
            r.map.push_back(-1), r.step.push_back(first.step[d]), r.start.push_back(first.start[d]);
            continue;
        }
        r.map.push_back(second.map[m]);
        r.step.push_back(first.step[d] * second.step[m]);
        r.start.push_back(t.add(first.start[d], t.mul(t.constant(first.step[d]), second.start[m])));
    }
    return r;
}

bool TraceBuilder::store(const ShadowRef& dst, const ViewStep* step, Id value) {
    if (dst->kind != ShadowKind::Array) return fail(Reason::Unstoreable, "not an array"), false;
    ViewStep whole;
    whole.shape = shape(dst);
    for (size_t d = 0; d < whole.shape.size(); ++d) {
        whole.map.push_back(static_cast<int>(d));
        whole.step.push_back(1);
        whole.start.push_back(int_const(0));
    }
    ViewStep target = step ? *step : whole;
    for (auto it = dst->path.rbegin(); it != dst->path.rend(); ++it) {
        if (it->reshape) return fail(Reason::Unstoreable, "through a reshaped view"), false;
        target = compose(*this, *it, target);
    }
    std::vector<bool> seen(target.shape.size(), false);
    for (int m : target.map)
        if (m >= 0) {
            if (seen[m]) return fail(Reason::Unstoreable, "through a diagonal"), false;
            seen[m] = true;
        }
    for (size_t d = 0; d < seen.size(); ++d)
        if (!seen[d] && graph.syms.as_const(target.shape[d]) != 1)
            return fail(Reason::Unstoreable, "through a broadcast view"), false;
    BufferState& buffer = buffers_[dst->buffer];
    Id stored = graph.node(value).shape.empty() ? value : broadcast(value, target.shape);
    if (stored == kNone) return false;
    if (graph.node(buffer.root).shape.empty() && !graph.node(stored).shape.empty()) {
        ViewStep element;  // a 0-d array is stored to as a number
        element.map.assign(graph.node(stored).shape.size(), -1);
        element.step.assign(element.map.size(), 0);
        element.start.assign(element.map.size(), int_const(0));
        stored = view(stored, element);
    }
    Node n;
    n.op = Op::Store;
    n.dtype = dst->dtype;
    n.in = {buffer.version, stored};
    const Node& old = graph.node(buffer.version);
    n.shape = old.shape;
    n.layout = old.layout;
    n.perm = old.perm;
    n.ints.push_back(static_cast<int64_t>(target.map.size()));
    n.ints.insert(n.ints.end(), target.map.begin(), target.map.end());
    n.ints.insert(n.ints.end(), target.step.begin(), target.step.end());
    for (Sym s : target.start) n.syms.push_back(canon(s));
    if (graph.node(stored).shape.empty())
        for (Sym s : target.shape) n.syms.push_back(canon(s));
    if (!will_write(dst)) return false;
    buffer.version = append(std::move(n));
    return true;
}

// An exit that was passed may still be gone back to, when what follows it has to be redone, and needs the
// contents of then. So arrays that it knows are stored to like arguments: behind all faults before the store,
// and with a checkpoint after it.
bool TraceBuilder::outlives_segment(Id store) const {
    Id root = graph::buffer_root(graph, store);
    return std::any_of(buffers_.begin(), buffers_.end(),
                       [&](const BufferState& b) { return b.root == root && (b.visible || b.named); });
}

bool TraceBuilder::will_write(const ShadowRef& dst) {
    const BufferState& buffer = buffers_[dst->buffer];
    if (buffer.shared) return fail(Reason::Unstoreable, "other values lie in the same memory"), false;
    if (!buffer.visible) return true;
    if (overlaps_other_input(buffer.input))
        return fail(Reason::Unstoreable, "its memory overlaps another array's"), false;
    graph.inputs[buffer.input].written = true;
    return true;
}

// Whether a callee that gets `s` could run code of the program, which might see or change cells that the
// trace writes, or use up an iterator.
static bool reaches_function(const Shadow& s) {
    if (s.kind == ShadowKind::Cell || s.kind == ShadowKind::Function || s.kind == ShadowKind::Iter ||
        s.kind == ShadowKind::Instance)
        return true;
    if (s.kind == ShadowKind::Object) return guards::is_function(s.obj.get());
    return std::any_of(s.items.begin(), s.items.end(),
                       [](const ShadowRef& item) { return reaches_function(*item); });
}

// Whether it is, or may hold, a dict or a list that was there at entry.
static bool reaches_container(const Shadow& s) {
    if (s.kind == ShadowKind::Lazy || s.kind == ShadowKind::Opaque)
        return s.source != guards::kNoSource && s.value == kNone;
    return std::any_of(s.items.begin(), s.items.end(),
                       [](const ShadowRef& item) { return reaches_container(*item); });
}

static Shape dense_strides(TraceBuilder& tb, const Shape& shape, const std::vector<int>& perm) {
    Shape strides(shape.size());
    Sym step = tb.int_const(1);
    for (size_t k = shape.size(); k-- > 0;) {
        const size_t axis = perm.empty() ? k : static_cast<size_t>(perm[k]);
        strides[axis] = step;
        step = tb.syms().mul(step, shape[axis]);
    }
    return strides;
}

bool TraceBuilder::placement(const ShadowRef& s, Placement* out) {
    if (s->kind != ShadowKind::Array || s->host != graph::HostId::Torch) return false;
    const Shape shape = this->shape(s);
    for (Sym extent : shape)
        if (hint(extent) == 0) return false;
    if (s->placement) {
        *out = *s->placement;
        return true;
    }
    if (s->path.empty()) {
        const Node& root = graph.node(buffers_[s->buffer].root);
        const bool fresh = root.op == Op::Library ? root.ints[3] == graph::kGivesFresh : root.op != Op::Input;
        if (!fresh || s->layout != graph::Layout::Contiguous) return false;
        *out = {s, dense_strides(*this, shape, s->perm), int_const(0)};
    } else {
        Placement base;
        if (!s->base || !placement(s->base, &base)) return false;
        const ViewStep& step = s->path.back();
        *out = {base.origin, {}, base.offset};
        if (step.reshape) {  // only of what lies in C order
            out->strides = dense_strides(*this, shape, {});
        } else {
            out->strides.resize(shape.size());
            for (size_t d = 0; d < step.map.size(); ++d) {
                out->offset = syms().add(out->offset, syms().mul(step.start[d], base.strides[d]));
                if (step.map[d] < 0) continue;
                out->strides[static_cast<size_t>(step.map[d])] =
                    syms().mul(int_const(step.step[d]), base.strides[d]);
            }
        }
    }
    // Also of axes of extent 1: what functions do may depend on them.
    const int64_t item = graph::info(s->dtype).size;
    for (size_t d = 0; d < shape.size(); ++d)
        if (!out->strides[d] || hint(out->strides[d]) * item != s->strides[d]) return false;
    return true;
}

// A tensor that takes several calls, or a dear one, to make again as the program did: functions see no more
// of it than where it lies.
int32_t TraceBuilder::strided_recipe(const ShadowRef& s, ShadowRef* origin) {
    if (s->kind != ShadowKind::Array) return -1;
    const bool part = s->maker.size() > 2 && s->maker[2]->kind == ShadowKind::Made;
    const bool dear = s->placement || s->path.size() > 1 || part || (s->base && s->base->placement);
    Placement at;
    if (!dear || host != graph::HostId::Torch || !placement(s, &at)) return -1;
    graph::Recipe r{graph::RecipeKind::Strided, -1, {}, {recipe(at.origin, nullptr)}};
    if (r.items[0] < 0) return -1;
    const auto number = [&](Sym v) {
        r.items.push_back(graph.add_recipe({graph::RecipeKind::SymInt, -1, canon(v), {}}));
    };
    for (Sym extent : shape(s)) number(extent);
    for (Sym stride : at.strides) number(stride);
    number(at.offset);
    *origin = at.origin;
    return graph.add_recipe(std::move(r));
}

bool TraceBuilder::library_node(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                                Node* n) {
    graph::Recipe tuple{graph::RecipeKind::Tuple, -1, {}, {}};
    begin_recipes();
    for (const Operand& a : args) {
        if (reaches_function(*a.shadow)) return fail(Reason::UnknownCall, "a function as an argument"), false;
        if ((stored_items() || !appended_.empty()) && reaches_container(*a.shadow))
            return fail(Reason::UnknownCall, "a dict that was stored to, or a list that was appended to"),
                   false;
        ShadowRef origin;
        int32_t r = strided_recipe(a.shadow, &origin);
        if (r < 0) r = recipe(a.shadow, a.obj);
        if (r < 0) return fail(Reason::UnknownCall, "an argument that cannot be rebuilt"), false;
        tuple.items.push_back(r);
        if (origin) n->in.push_back(value(origin));
        if (origin) continue;
        if (a.shadow->kind == ShadowKind::Array || a.shadow->kind == ShadowKind::Scalar)
            n->in.push_back(value(a.shadow));
        else if (a.shadow->kind == ShadowKind::Opaque && a.shadow->value != kNone)
            n->in.push_back(a.shadow->value);
    }
    n->op = Op::Library;
    n->ints = {object_index(callable), graph.add_recipe(tuple), -1, graph::kGivesPlain};
    if (kwnames) n->ints[2] = graph.add_recipe({graph::RecipeKind::Object, object_index(kwnames), {}, {}});
    PyRef name = PyRef::steal(PyObject_GetAttrString(callable, "__name__"));
    if (!name) PyErr_Clear();
    n->name = name && PyUnicode_Check(name.get()) ? guards::utf8(name.get()) : "call";
    return true;
}

ShadowRef TraceBuilder::library(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                                PyObject* result, const Shape* extents, Sharing sharing, ExtentsBy by) {
    Node n;
    const bool shared = sharing != Sharing::None;
    if (!library_node(callable, args, kwnames, &n)) return nullptr;
    if (sharing == Sharing::Arguments && !share_buffers(args)) return nullptr;
    ArrayMeta meta;
    std::string why;
    DType scalar;
    if (np_scalar_dtype(result, &scalar)) {
        n.dtype = scalar;
        n.box = Box::NpScalar;
        return new_scalar(append(std::move(n)), Box::NpScalar);
    }
    if (!read_array_meta(result, &meta, &why)) return fail(Reason::ArrayKind, why);
    if (meta.layout != graph::Layout::Contiguous && !shared)
        return fail(Reason::UnknownCall, "a strided result");
    if (shared && meta.host == graph::HostId::NumPy && !meta.strides_positive())
        return fail(Reason::UnknownCall, "a view that is stretched or goes backwards");
    if (shared) {
        n.ints[3] = graph::kGivesShared;
        for (size_t d = 0; d < meta.strides.size() && meta.layout != graph::Layout::Contiguous; ++d)
            if (meta.strides[d] == 0) n.ints[3] -= int64_t{1} << d;
    }
    n.dtype = meta.dtype;
    n.layout = meta.layout;
    n.perm = meta.perm;
    n.own_dtype = meta.own_dtype;
    const bool by_values = by == ExtentsBy::Values;
    for (int64_t extent : meta.shape) {
        if (extents) break;
        if (extent < 2 && !by_values) {
            n.shape.push_back(int_const(extent));
            continue;
        }
        n.shape.push_back(graph.syms.symbol(extent, by_values ? 0 : 2, int64_t{1} << 40));
        entry_symbol_.resize(graph.syms.symbol_count(), false);
    }
    n.syms = n.shape;  // binds them
    if (extents) n.shape = *extents;
    const Shape bound = n.shape;
    ShadowRef array = new_array(append(std::move(n)), result);
    if (array) array->writeable = meta.writeable;
    if (by_values && !std::all_of(bound.begin(), bound.end(), [&](Sym s) { return settle_extent(s); }))
        return fail(Reason::UnknownCall, "a result whose extents values decide");
    return array;
}

bool TraceBuilder::settle_extent(Sym extent) {
    const int64_t seen = hint(extent);
    return seen < 2 ? require(Relation::Eq, extent, int_const(seen))
                    : require(Relation::Ge, extent, int_const(2));
}

bool TraceBuilder::share_buffers(std::span<const Operand> args) {
    const auto share = [&](const ShadowRef& s) {
        if (s->kind != ShadowKind::Array) return true;
        BufferState& b = buffers_[s->buffer];
        const Node& root = graph.node(b.root);
        // A 0-d array that the trace makes is a number: what is given to the call is not the object.
        if (!b.visible && root.shape.empty() && root.op != Op::Library)
            return fail(Reason::UnknownCall, "a view of a 0-d array"), false;
        return b.shared = true;
    };
    for (const Operand& a : args) {
        if (!share(a.shadow)) return false;
        for (const ShadowRef& item : a.shadow->items)
            if (!share(item)) return false;
    }
    return true;
}

ShadowRef TraceBuilder::number_library(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                                       PyObject* result) {
    Node n;
    if (PyLong_CheckExact(result)) return int_library(callable, args, kwnames, result);
    const bool is_bool = PyBool_Check(result), is_complex = PyComplex_CheckExact(result);
    if (!is_bool && !is_complex && !PyFloat_CheckExact(result))
        return fail(Reason::UnknownCall, "a function that gives this");
    if (!library_node(callable, args, kwnames, &n)) return nullptr;
    n.dtype = is_bool ? DType::Bool : is_complex ? DType::C128 : DType::F64;
    n.box = is_bool ? Box::PyBool : is_complex ? Box::PyComplex : Box::PyFloat;
    const Box box = n.box;
    return new_scalar(append(std::move(n)), box);
}

// A symbol, whose value is known when the call has returned.
ShadowRef TraceBuilder::int_library(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                                    PyObject* result) {
    constexpr int64_t kMost = int64_t{1} << 62;
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(result, &overflow);
    if (overflow || value > kMost || value < -kMost)
        return fail(Reason::UnknownCall, "a function that gives an int of more than 62 bits");
    Node n;
    if (!library_node(callable, args, kwnames, &n)) return nullptr;
    n.dtype = DType::I64;
    n.box = Box::PyInt;
    const Sym symbol = graph.syms.symbol(value, -kMost, kMost);
    entry_symbol_.resize(graph.syms.symbol_count(), false);
    n.syms = {symbol};
    append(std::move(n));
    return new_int(symbol);
}

ShadowRef TraceBuilder::draw(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                             PyObject* result, const Shape& extents) {
    const bool array = !extents.empty();
    const bool number = PyFloat_CheckExact(result) || PyLong_CheckExact(result) || PyBool_Check(result);
    const std::vector<Appended> appended = std::exchange(appended_, {});  // no generator holds lists
    ShadowRef s = number ? number_library(callable, args, kwnames, result)
                         : library(callable, args, kwnames, result, array ? &extents : nullptr);
    appended_ = appended;
    if (!s) return nullptr;
    size_t at = graph.nodes.size();
    while (graph.nodes[--at].op != Op::Library) {
    }
    graph.nodes[at].ints[3] = graph::kGivesDrawn;
    return s;
}

static PyObject* getitem_function() {
    return once([] {
        PyRef module = module_named("operator");
        return module ? PyObject_GetAttrString(module.get(), "getitem") : nullptr;
    });
}

ShadowRef TraceBuilder::tuple_library(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                                      PyObject* result, Sharing sharing) {
    PyObject* getitem = getitem_function();
    Node n;
    if (!getitem || !library_node(callable, args, kwnames, &n)) return nullptr;
    PyRef kind = PyRef::steal(Py_BuildValue("(On)", Py_TYPE(result), PyTuple_GET_SIZE(result)));
    kept_.push_back(kind);
    n.ints[3] = graph::kGivesObject - object_index(kind.get());
    if (sharing == Sharing::Arguments && !share_buffers(args)) return nullptr;
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Opaque;
    s->value = append(std::move(n));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i) {
        if (PyTuple_GET_ITEM(result, i) == Py_None) {
            s->items.push_back(constant(Py_None));
            continue;
        }
        PyRef index = PyRef::steal(PyLong_FromSsize_t(i));
        const Operand parts[] = {{s, result}, {constant(index.get()), index.get()}};
        ShadowRef item =
            library(getitem, parts, nullptr, PyTuple_GET_ITEM(result, i), nullptr, Sharing::Arguments);
        if (!item) return nullptr;
        s->items.push_back(std::move(item));
    }
    return s;
}

ShadowRef TraceBuilder::object_library(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                                       PyObject* result, Py_ssize_t length) {
    Node n;
    if (!library_node(callable, args, kwnames, &n)) return nullptr;
    PyRef kind = PyRef::steal(Py_BuildValue("(On)", Py_TYPE(result), length));
    kept_.push_back(kind);
    n.ints[3] = graph::kGivesObject - object_index(kind.get());
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Opaque;
    s->value = append(std::move(n));
    return s;
}

// `tuple.__new__(type, items)`: what makes a named tuple without running Python code.
static std::vector<ShadowRef> maker_of(TraceBuilder& tb, PyTypeObject* type,
                                       const std::vector<ShadowRef>& items) {
    PyObject* make =
        once([] { return PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyTuple_Type), "__new__"); });
    return {tb.constant(make), tb.tuple({}), tb.constant(reinterpret_cast<PyObject*>(type)), tb.tuple(items)};
}

ShadowRef TraceBuilder::named_tuple(PyTypeObject* type, std::vector<ShadowRef> items) {
    ShadowRef s = tuple(std::move(items));
    s->maker = maker_of(*this, type, s->items);
    return s;
}

ShadowRef TraceBuilder::parts_library(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                                      PyObject* result, Sharing sharing, ExtentsBy by) {
    const Py_ssize_t length = Py_SIZE(result);
    const ShadowRef whole = object_library(callable, args, kwnames, result, length);
    if (!whole || !getitem_function()) return nullptr;
    if (sharing == Sharing::Arguments && !share_buffers(args)) return nullptr;
    auto s = std::make_shared<Shadow>();
    s->kind = PyList_CheckExact(result) ? ShadowKind::List : ShadowKind::Tuple;
    for (Py_ssize_t i = 0; i < length; ++i) {
        PyObject* part = PySequence_Fast_GET_ITEM(result, i);
        if (part == Py_None) {  // settled by the arguments
            s->items.push_back(constant(Py_None));
            continue;
        }
        const PyRef index = PyRef::steal(PyLong_FromSsize_t(i));
        const Operand of[] = {{whole, result}, {constant(index.get()), index.get()}};
        const bool number = PyLong_CheckExact(part) || PyBool_Check(part) || PyFloat_CheckExact(part) ||
                            PyComplex_CheckExact(part);
        s->items.push_back(number ? number_library(getitem_function(), of, nullptr, part)
                                  : library(getitem_function(), of, nullptr, part, nullptr, sharing, by));
        if (!s->items.back()) return nullptr;
    }
    if (PyTuple_Check(result) && !PyTuple_CheckExact(result))
        s->maker = maker_of(*this, Py_TYPE(result), s->items);
    return s;
}

ShadowRef TraceBuilder::host_library(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                                     PyObject* result) {
    Node n;
    if (!library_node(callable, args, kwnames, &n)) return nullptr;
    n.ints[3] = guards::host_array_kind(result);
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Opaque;
    s->value = append(std::move(n));
    return s;
}

bool TraceBuilder::host_effect(PyObject* callable, std::span<const Operand> args) {
    Node n;
    if (!library_node(callable, args, nullptr, &n)) return false;
    n.ints[3] = graph::kGivesNothing;
    append(std::move(n));
    return true;
}

}  // namespace stator::frontend
