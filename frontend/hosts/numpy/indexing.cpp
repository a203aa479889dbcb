// Basic indexing and stores: x[1:-1, None, ..., k], x[...] = v, and the two fancy forms that need no new node
// (x[mask] = scalar as a where, fancy reads as library calls).
//
// Bounds may be symbolic. Python's clamping is decided on the values seen while recording and guarded as
// relations, so `x[1:-1]` works for every length that clamps the same way. Extents of results specialize on 0
// and 1 like those of inputs (fixed_extent): broadcasting, memory order and NumPy's own loops treat them
// differently.
#include <algorithm>
#include <cmath>

#include "frontend/cpython/functions.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/once.h"
#include "guards/check/check.h"

namespace stator::frontend::numpy {

ViewStep whole(const Shape& shape, TraceBuilder& tb) {
    ViewStep step;
    for (size_t i = 0; i < shape.size(); i++) {
        step.map.push_back(static_cast<int>(i));
        step.step.push_back(1);
        step.start.push_back(tb.int_const(0));
    }
    step.shape = shape;
    return step;
}

ViewStep permuted(TraceBuilder& tb, const Shape& shape, const std::vector<int>& axes) {
    ViewStep step = whole(shape, tb);
    for (size_t i = 0; i < axes.size(); i++) {
        step.map[axes[i]] = static_cast<int>(i);
        step.shape[i] = shape[axes[i]];
    }
    return step;
}

void narrow(ViewStep& step, int axis, Sym start, Sym length) {
    step.start[axis] = start;
    step.shape[step.map[axis]] = length;
}

Sym fixed_extent(TraceBuilder& tb, Sym length) {
    if (tb.syms().as_const(length)) return length;
    tb.settle_extent(length);
    const int64_t seen = tb.hint(length);
    return seen < 2 ? tb.int_const(seen) : length;
}

namespace {

// One bound of a slice as an offset in [low, high] of an axis of n elements; Python's clamping rules.
Sym clamp_bound(TraceBuilder& tb, Sym bound, Sym n, Sym low, Sym high) {
    graph::SymTable& t = tb.syms();
    if (!tb.decide(Relation::Ge, bound, tb.int_const(0))) {
        bound = t.add(bound, n);
        return tb.decide(Relation::Ge, bound, tb.int_const(0)) ? bound : low;
    }
    return tb.decide(Relation::Ge, high, bound) ? bound : high;
}

struct Range {
    Sym start, length;
    int64_t step;
};

Range slice_range(TraceBuilder& tb, const IndexItem& item, Sym n) {
    graph::SymTable& t = tb.syms();
    Sym zero = tb.int_const(0), one = tb.int_const(1);
    bool up = item.stride > 0;
    // Going down, bounds lie in [-1, n - 1].
    Sym low = up ? zero : tb.int_const(-1), high = up ? n : t.sub(n, one);
    Sym start = item.has_start ? clamp_bound(tb, item.start, n, low, high) : (up ? low : high);
    Sym stop = item.has_stop ? clamp_bound(tb, item.stop, n, low, high) : (up ? high : low);
    Sym span = up ? t.sub(stop, start) : t.sub(start, stop);
    // An empty slice has NumPy start at 0 in steps of 1.
    if (!tb.decide(Relation::Ge, span, one)) return {zero, zero, 1};
    int64_t stride = up ? item.stride : -item.stride;
    Sym length = stride == 1 ? span : t.floordiv(t.add(span, tb.int_const(stride - 1)), tb.int_const(stride));
    // A slice that happens to cover the axis is contiguous where a shorter one would not be: one or the
    // other, not both.
    if (tb.decide(Relation::Eq, length, n)) length = n;
    return {start, fixed_extent(tb, length), item.stride};
}

// An int, or one of NumPy's that the trace computes where `numbers` are asked for: its value is a new symbol.
bool read_position(TraceBuilder& tb, const Operand& o, bool numbers, Sym* out) {
    if (read_int(tb, o, out)) return true;
    const bool number = numbers && PyArray_IsScalar(o.obj, Integer) && tb.resolve(o.shadow, o.obj) &&
                        o.shadow->kind == ShadowKind::Scalar;
    PyObject* index = once([] {
        PyRef module = module_named("operator");
        return module ? PyObject_GetAttrString(module.get(), "index") : nullptr;
    });
    const PyRef value = PyRef::steal(number && index ? PyNumber_Index(o.obj) : nullptr);
    if (!value) return PyErr_Clear(), false;
    const ShadowRef s = tb.number_library(index, std::span(&o, 1), nullptr, value.get());
    return s && (*out = s->sym, true);
}

bool read_slice(TraceBuilder& tb, const Operand& o, bool numbers, IndexItem* out) {
    if (!tb.resolve(o.shadow, o.obj)) return false;
    auto* slice = reinterpret_cast<PySliceObject*>(o.obj);
    PyObject* objects[] = {slice->start, slice->stop, slice->step};
    ShadowRef shadows[3];
    if (o.shadow->kind == ShadowKind::Slice && o.shadow->items.size() == 3) {
        for (int i = 0; i < 3; i++) shadows[i] = o.shadow->items[i];
    } else if (o.shadow->kind == ShadowKind::Object) {
        for (int i = 0; i < 3; i++) shadows[i] = tb.constant(objects[i]);
    } else {
        return false;
    }
    out->kind = IndexItem::Range;
    for (int i = 0; i < 3; i++) {
        Operand bound{shadows[i], objects[i]};
        if (objects[i] == Py_None) {
            if (!require_fixed(tb, bound)) return false;
        } else if (i == 2) {
            if (!read_fixed_int(tb, bound, &out->stride) || out->stride == 0) return false;
        } else {
            if (!read_position(tb, bound, numbers, i == 0 ? &out->start : &out->stop)) return false;
            (i == 0 ? out->has_start : out->has_stop) = true;
        }
    }
    return true;
}

bool read_index_item(TraceBuilder& tb, const Operand& o, bool numbers, IndexItem* out) {
    *out = {};
    if (o.obj == Py_None || o.obj == Py_Ellipsis) {
        out->kind = o.obj == Py_None ? IndexItem::NewAxis : IndexItem::Ellipsis;
        return require_fixed(tb, o);
    }
    if (PySlice_Check(o.obj)) return read_slice(tb, o, numbers, out);
    out->kind = IndexItem::Integer;
    return read_position(tb, o, numbers, &out->start);
}

enum class KeyKind { Basic, Unknown };

KeyKind read_key(TraceBuilder& tb, const Operand& key, std::vector<IndexItem>* out, bool numbers = false) {
    std::vector<Operand> items;
    out->clear();
    if (!PyTuple_CheckExact(key.obj))
        items.push_back(key);
    else if (!read_items(tb, key, &items))
        return KeyKind::Unknown;
    for (const Operand& o : items) {
        out->emplace_back();
        if (!read_index_item(tb, o, numbers, &out->back())) return KeyKind::Unknown;
    }
    return KeyKind::Basic;
}

// The view that a basic key selects. False when an integer is out of bounds (eager raised, or will).
bool select(TraceBuilder& tb, const Shape& shape, std::vector<IndexItem> key, ViewStep* out) {
    graph::SymTable& t = tb.syms();
    auto consumes = [](const IndexItem& i) {
        return i.kind == IndexItem::Integer || i.kind == IndexItem::Range;
    };
    size_t used = std::count_if(key.begin(), key.end(), consumes);
    auto ellipsis =
        std::find_if(key.begin(), key.end(), [](auto& i) { return i.kind == IndexItem::Ellipsis; });
    if (used > shape.size()) return false;
    size_t at = ellipsis - key.begin();
    if (ellipsis != key.end()) key.erase(ellipsis);
    IndexItem all{};
    all.kind = IndexItem::Range;
    key.insert(key.begin() + at, shape.size() - used, all);

    *out = {};
    size_t axis = 0;
    for (const IndexItem& item : key) {
        if (item.kind == IndexItem::NewAxis) {
            out->shape.push_back(tb.int_const(1));
            continue;
        }
        Sym n = shape[axis++];
        if (item.kind == IndexItem::Integer) {
            Sym i = item.start;
            if (!tb.decide(Relation::Ge, i, tb.int_const(0))) i = t.add(i, n);
            if (!tb.require(Relation::Ge, i, tb.int_const(0)) || !tb.require(Relation::Lt, i, n))
                return false;
            out->map.push_back(-1);
            out->step.push_back(0);
            out->start.push_back(i);
            continue;
        }
        bool full = !item.has_start && !item.has_stop && item.stride == 1;
        Range r = full ? Range{tb.int_const(0), n, 1} : slice_range(tb, item, n);
        out->map.push_back(static_cast<int>(out->shape.size()));
        out->step.push_back(r.step);
        out->start.push_back(r.start);
        out->shape.push_back(r.length);
    }
    return true;
}

bool shares_memory(PyObject* result, PyObject* source) {
    if (!is_array(result)) return false;
    auto* r = reinterpret_cast<PyArrayObject*>(result);
    for (PyObject* base = PyArray_BASE(r); base;
         base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(base))) {
        if (base == source || base == PyArray_BASE(reinterpret_cast<PyArrayObject*>(source))) return true;
        if (!PyArray_Check(base)) return true;
    }
    return false;
}

}  // namespace

bool basic_view(TraceBuilder& tb, const Shape& shape, const Operand& key, ViewStep* out) {
    std::vector<IndexItem> items;
    return read_key(tb, key, &items) == KeyKind::Basic && select(tb, shape, items, out);
}

bool fixed_index(TraceBuilder& tb, const Operand& key) {
    std::vector<Operand> items;
    if (!PyTuple_CheckExact(key.obj))
        items.push_back(key);
    else if (!read_items(tb, key, &items))
        return tb.fail(Reason::UnknownOp, "this index"), false;
    for (const Operand& o : items) {
        bool plain = is_array(o.obj) || PyArray_CheckScalar(o.obj) || PySlice_Check(o.obj) ||
                     PyLong_CheckExact(o.obj) || o.obj == Py_None || o.obj == Py_Ellipsis ||
                     PyTuple_CheckExact(o.obj) || PyList_CheckExact(o.obj);
        if (!plain) return tb.fail(Reason::UnknownOp, "an index that is " + kind_for_messages(o.obj)), false;
        if (!tb.resolve(o.shadow, o.obj)) return false;
    }
    return true;
}

namespace {

// a[key] by NumPy, on replay too.
ShadowRef item_of(TraceBuilder& tb, const Operand& a, const Operand& key, PyObject* result) {
    PyObject* getitem = once([] {
        PyRef module = module_named("operator");
        return module ? PyObject_GetAttrString(module.get(), "getitem") : nullptr;
    });
    const Operand args[] = {a, key};
    return lower_getitem(tb, {getitem, args, nullptr, result});
}

// A key with index arrays or masks, or of an array that only NumPy reads.
ShadowRef gather(TraceBuilder& tb, const Operand& a, const Operand& key, PyObject* result) {
    if (!host_only(a) && shares_memory(result, a.obj))
        return tb.fail(Reason::UnknownOp, "a view at an index from array data");
    return fixed_index(tb, key) ? item_of(tb, a, key, result) : nullptr;
}

}  // namespace

// np.mgrid, np.r_ and their like: what their subscripts give follows from their types and the key.
static bool makes_arrays(PyObject* o) {
    const auto& types = once([] {
        std::vector<PyTypeObject*> all;
        PyRef np = module_named("numpy");
        for (const char* name : {"mgrid", "ogrid", "r_", "c_"}) {
            const PyRef maker = PyRef::steal(np ? PyObject_GetAttrString(np.get(), name) : nullptr);
            PyErr_Clear();
            if (maker && is_numpys_own(reinterpret_cast<PyObject*>(Py_TYPE(maker.get()))))
                all.push_back(Py_TYPE(maker.get()));
        }
        return all;
    });
    return std::find(types.begin(), types.end(), Py_TYPE(o)) != types.end();
}

ShadowRef lower_subscript(TraceBuilder& tb, const Operand& a, const Operand& key, PyObject* result) {
    if (makes_arrays(a.obj)) return item_of(tb, {tb.constant(a.obj), a.obj}, key, result);
    if (!is_array(a.obj)) return tb.fail(Reason::UnknownOp, "a subscript of this type");
    if (!tb.resolve(a.shadow, a.obj)) return nullptr;
    if (host_only(a)) return gather(tb, a, key, result);
    if (a.shadow->kind != ShadowKind::Array) return tb.fail(Reason::UnknownOp, "a subscript of this type");
    std::vector<IndexItem> items;
    if (read_key(tb, key, &items) != KeyKind::Basic) {
        const bool view = is_array(result) && shares_memory(result, a.obj);
        if (!view || read_key(tb, key, &items, true) != KeyKind::Basic) return gather(tb, a, key, result);
    }
    ViewStep step;
    if (!select(tb, tb.shape(a.shadow), items, &step)) return tb.fail(Reason::UnknownOp, "this index");
    if (is_array(result)) return tb.new_view(a.shadow, std::move(step), result);
    Id v = tb.value(a.shadow);
    return v == kNone ? nullptr : finish(tb, tb.view(v, step), result);
}

bool copies_indices() {
    return once([] {
        npy_intp n = 3;
        const PyRef i = PyRef::steal(PyArray_SimpleNew(1, &n, NPY_INTP));
        auto* at =
            i ? static_cast<npy_intp*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(i.get()))) : nullptr;
        if (at) at[0] = 2, at[1] = 1, at[2] = 0;
        const PyRef x = PyRef::steal(
            at ? PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(i.get()), NPY_CORDER) : nullptr);
        const bool stored = x && PyObject_SetItem(i.get(), i.get(), x.get()) == 0;
        PyErr_Clear();
        return stored && at[0] == 0 && at[2] == 2;
    });
}

bool store_value(TraceBuilder& tb, const ShadowRef& dst, const ViewStep* step, const Arg& value) {
    Id v = arg_id(tb, value, dst->dtype);
    if (v == kNone) return false;
    const Shape target = step ? step->shape : tb.shape(dst);
    Shape shape = tb.node(v).shape;
    if (shape.size() > target.size()) {  // leading axes of extent 1 are dropped
        size_t extra = shape.size() - target.size();
        ViewStep drop = whole(shape, tb);
        drop.shape.erase(drop.shape.begin(), drop.shape.begin() + extra);
        for (size_t i = 0; i < shape.size(); i++) {
            if (i < extra && tb.syms().as_const(shape[i]) != 1)
                return tb.fail(Reason::Unstoreable, "shapes"), false;
            drop.map[i] = i < extra ? -1 : static_cast<int>(i - extra);
            if (i < extra) drop.step[i] = 0;
        }
        v = tb.view(v, drop);
    }
    if (v != kNone && !tb.node(v).shape.empty()) v = tb.broadcast(v, target);
    if (v == kNone) return false;
    if (tb.store(dst, step, v)) return true;
    if (tb.reason == Reason::None) tb.fail(Reason::Unstoreable, "this array");
    return false;
}

namespace {

bool at_one_place(PyObject* a, PyObject* b) {
    auto *x = reinterpret_cast<PyArrayObject*>(a), *y = reinterpret_cast<PyArrayObject*>(b);
    const int n = PyArray_NDIM(x);
    return PyArray_DATA(x) == PyArray_DATA(y) && n == PyArray_NDIM(y) &&
           std::equal(PyArray_DIMS(x), PyArray_DIMS(x) + n, PyArray_DIMS(y)) &&
           std::equal(PyArray_STRIDES(x), PyArray_STRIDES(x) + n, PyArray_STRIDES(y));
}

// x[mask] = value, with a mask of x's shape.
bool store_masked(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& given,
                  const Arg& value) {
    Arg mask;
    const auto is_mask = [&] {
        return is_array(key.obj) && PyArray_ISBOOL(reinterpret_cast<PyArrayObject*>(key.obj));
    };
    if (!is_mask() || !read_arg(tb, key, &mask)) return store_at_indices(tb, a, key, given);
    // NumPy reads both while it stores.
    if (guards::spans_overlap(a.obj, key.obj) && !at_one_place(a.obj, key.obj))
        return tb.fail(Reason::Unstoreable, "a mask in the memory that is stored to"), false;
    if (is_array(given.obj) && guards::spans_overlap(a.obj, given.obj))
        return tb.fail(Reason::Unstoreable, "under a mask, an array in the same memory"), false;
    const Shape shape = tb.shape(a.shadow), mask_shape = tb.node(mask.id).shape;  // copies: nodes move
    if (mask_shape.size() < shape.size() && !mask_shape.empty()) return store_at_indices(tb, a, key, given);
    if (shape.size() != mask_shape.size() || shape.empty())
        return tb.fail(Reason::Unstoreable, "mask"), false;
    for (size_t i = 0; i < shape.size(); i++)
        if (!tb.require(Relation::Eq, shape[i], mask_shape[i]))
            return tb.fail(Reason::Unstoreable, "mask"), false;
    if (value.array && !tb.node(value.id).shape.empty()) {
        const int from = graph::info(value.dtype).numpy_type, to = graph::info(a.shadow->dtype).numpy_type;
        if (!PyArray_CanCastSafely(from, to))
            return tb.fail(Reason::Unstoreable, "an array of another dtype under a mask"), false;
        return store_into_fresh(tb, a, key, given);
    }
    Id v = arg_id(tb, value, a.shadow->dtype), old = tb.value(a.shadow);
    if (v == kNone || old == kNone) return false;
    Id in[] = {mask.id, v, old};
    Id merged = tb.pointwise(Op::Where, in, a.shadow->dtype);
    return merged != kNone && store_value(tb, a.shadow, nullptr, arg_of(tb, merged));
}

}  // namespace

// Nothing is left to do.
bool stores_itself(TraceBuilder& tb, const Operand& a, const ViewStep& step, const Operand& value) {
    const Shadow& v = *value.shadow;
    if (v.kind != ShadowKind::Array || v.base != a.shadow || v.path.size() != a.shadow->path.size() + 1)
        return false;
    const ViewStep& taken = v.path.back();
    auto same = [&](const std::vector<Sym>& x, const std::vector<Sym>& y) {
        return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                          [&](Sym p, Sym q) { return tb.canon(p) == tb.canon(q); });
    };
    return !taken.reshape && taken.map == step.map && taken.step == step.step &&
           same(taken.start, step.start) && same(taken.shape, step.shape);
}

namespace {

// A Python float that int() takes into the dtype's range: it is fixed, since others raise.
bool float_into_integers(TraceBuilder& tb, const Operand& value, DType dst) {
    if (!PyFloat_CheckExact(value.obj) || dst == DType::Bool) return false;
    double v = PyFloat_AS_DOUBLE(value.obj),
           limit = std::ldexp(1.0, graph::info(dst).size * 8 - (graph::is_signed(dst) ? 1 : 0));
    double least = graph::is_signed(dst) ? -limit : 0;
    return v > least && v < limit && require_fixed(tb, value);
}

}  // namespace

// Within one axis NumPy copies overlapping memory element by element, from the end that is right when both
// parts have the same step; with other steps it reads what it has just written, and only NumPy does that as
// NumPy does.
bool runs_into_itself(const Operand& a, const ViewStep& step, const Operand& value) {
    const Shadow& v = *value.shadow;
    if (v.kind != ShadowKind::Array || v.buffer != a.shadow->buffer || step.shape.size() != 1 ||
        v.strides.empty())
        return false;
    int64_t to = 0;
    for (size_t d = 0; d < step.map.size(); ++d)
        if (step.map[d] == 0) to = a.shadow->strides[d] * step.step[d];
    int64_t from = v.strides.back();
    return from != to && (from < 0) == (to < 0);
}

// A store of nothing still raises for read-only arrays, shapes that do not fit and ints that are out of
// range.
bool store_nothing(TraceBuilder& tb, const Operand& a, const ViewStep& step, const Arg& v) {
    bool always = std::any_of(step.shape.begin(), step.shape.end(),
                              [&](Sym extent) { return tb.syms().as_const(extent) == 0; });
    bool array = v.weak == Weak::No && !tb.node(v.id).shape.empty();
    // A scalar is converted although nobody gets it, and reports what it meets.
    DType dst = a.shadow->dtype;
    bool quiet = array || dst == DType::F64 || dst == DType::C128 ||
                 (v.weak == Weak::No &&
                  PyArray_CanCastSafely(graph::info(v.dtype).numpy_type, graph::info(dst).numpy_type));
    bool in_range =
        v.weak == Weak::Int && graph::is_integer(dst) && tb.sym_scalar(v.sym, dst) != kNone;  // guarded
    if (!always || !(quiet || in_range)) return tb.fail(Reason::Unstoreable, "an empty part"), false;
    if (array && tb.broadcast(v.id, step.shape) == kNone) return false;
    return tb.will_write(a.shadow);
}

bool lower_store(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& value) {
    if (is_array(a.obj) && tb.resolve(a.shadow, a.obj) && host_only(a))
        return lower_host_store(tb, a, key, value);
    if (!is_array(a.obj) || !tb.resolve(a.shadow, a.obj) || a.shadow->kind != ShadowKind::Array)
        return tb.reason == Reason::None ? (tb.fail(Reason::Unstoreable, "not an ndarray"), false) : false;
    Arg v;
    if (!read_arg(tb, value, &v)) return false;
    DType dst = a.shadow->dtype;
    if (graph::is_complex(v.dtype) && !graph::is_complex(dst))
        return tb.fail(Reason::Unstoreable, "complex into real"), false;
    std::vector<IndexItem> items;
    if (read_key(tb, key, &items) != KeyKind::Basic) return store_masked(tb, a, key, value, v);
    // NumPy makes a number of it first, with a warning or an error.
    if (v.array && !tb.node(v.id).shape.empty() && items.size() == tb.shape(a.shadow).size() &&
        std::ranges::all_of(items, [](const IndexItem& i) { return i.kind == IndexItem::Integer; }))
        return tb.fail(Reason::Unstoreable, "an array into one element"), false;
    ViewStep step;
    if (!select(tb, tb.shape(a.shadow), items, &step))
        return tb.fail(Reason::Unstoreable, "this index"), false;
    for (Sym extent : step.shape)
        if (tb.hint(extent) == 0) return store_nothing(tb, a, step, v);
    if (stores_itself(tb, a, step, value)) return tb.will_write(a.shadow);
    if (runs_into_itself(a, step, value))
        return tb.fail(Reason::Unstoreable, "overlapping parts of other steps"), false;
    // Python scalars go through the dtype's setitem, which raises where a cast of an array would not.
    bool scalar = !v.array && graph::is_integer(dst);
    bool safe = v.weak != Weak::No || v.dtype == DType::Bool ||
                PyArray_CanCastSafely(graph::info(v.dtype).numpy_type, graph::info(dst).numpy_type);
    if (scalar && !safe) return tb.fail(Reason::Unstoreable, "a scalar that may be out of range"), false;
    if (scalar && v.weak == Weak::Float && !float_into_integers(tb, value, dst))
        return tb.fail(Reason::Unstoreable, "a float scalar into integers"), false;
    return store_value(tb, a.shadow, &step, v);
}

}  // namespace stator::frontend::numpy
