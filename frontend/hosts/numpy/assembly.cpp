// Functions that put arrays together out of pieces: concatenate, stack, roll, pad.
//
// Each makes an uninitialized array and stores the pieces into it; the pieces cover it. Which pieces there
// are (a shift of zero, an empty pad) is decided while recording and guarded.
#include <algorithm>

#include "frontend/hosts/numpy/lower.h"

namespace stator::frontend::numpy {

namespace {

bool array_items(TraceBuilder& tb, const Operand* o, std::vector<Operand>* items) {
    if (!o || !read_items(tb, *o, items) || items->empty())
        return tb.fail(Reason::UnknownCall, "a sequence of arrays"), false;
    return std::all_of(items->begin(), items->end(), [&](const Operand& i) { return array_operand(tb, &i); });
}

ShadowRef fresh(TraceBuilder& tb, Shape shape, PyObject* like) {
    DType t;
    if (!is_array(like) || !dtype_of_object(like, &t))
        return tb.fail(Reason::ArrayKind, "dtype of the result");
    return finish(tb, tb.empty(t, std::move(shape), like), like);
}

int fixed_axis(TraceBuilder& tb, const Operand* o, int fallback, int ndim, bool* ok) {
    int64_t axis = fallback;
    int normal = 0;
    o = given(tb, o);
    *ok = (!o || read_fixed_int(tb, *o, &axis)) && normalize_axis(axis, ndim, &normal);
    if (!*ok && tb.reason == Reason::None) tb.fail(Reason::UnknownCall, "axis");
    return normal;
}

// Arrays one after another along `axis`.
ShadowRef concatenated(TraceBuilder& tb, std::vector<Id> parts, int axis, PyObject* result) {
    Shape shape = tb.node(parts[0]).shape;
    Sym total = tb.int_const(0);
    for (Id v : parts) {
        const Shape part = tb.node(v).shape;
        if (part.size() != shape.size()) return tb.fail(Reason::ModelMismatch, "concatenate");
        for (size_t d = 0; d < shape.size(); d++)
            if (static_cast<int>(d) != axis && !tb.require(Relation::Eq, part[d], shape[d]))
                return tb.fail(Reason::ModelMismatch, "concatenate");
        total = tb.syms().add(total, part[axis]);
    }
    shape[axis] = fixed_extent(tb, total);
    ShadowRef out = fresh(tb, shape, result);
    if (!out) return nullptr;
    Sym at = tb.int_const(0);
    for (Id v : parts) {
        Sym length = tb.node(v).shape[axis];
        ViewStep step = whole(tb.shape(out), tb);
        narrow(step, axis, at, length);
        if (tb.hint(length) > 0 && !store_value(tb, out, &step, arg_of(tb, v))) return nullptr;
        at = tb.syms().add(at, length);
    }
    return out;
}

// The value of an array with axes of extent 1 put in front, or behind, as atleast_1d and atleast_2d do.
Id at_least(TraceBuilder& tb, Id v, size_t rank) {
    Shape shape = tb.node(v).shape;
    if (v == kNone || shape.size() >= rank) return v;
    shape.insert(shape.begin(), rank - shape.size(), tb.int_const(1));
    return tb.node(v).shape.empty() ? kNone : tb.broadcast(v, shape);
}

ShadowRef concatenate_at_least(TraceBuilder& tb, const Call& call, size_t rank, int axis_of_rank_1,
                               int axis_of_more) {
    const Operand* p[3];
    std::vector<Operand> items;
    if (!bind(tb, call, {"tup", "dtype", "casting"}, p) || !array_items(tb, p[0], &items)) return nullptr;
    for (const Operand* o : {given(tb, p[1]), given(tb, p[2])})
        if (o && !require_fixed(tb, *o)) return nullptr;
    std::vector<Id> parts;
    for (const Operand& o : items) {
        parts.push_back(at_least(tb, tb.value(o.shadow), rank));
        if (parts.back() == kNone) return tb.fail(Reason::UnknownCall, "0-d arrays in a stack");
    }
    bool one = tb.node(parts[0]).shape.size() == 1;
    return concatenated(tb, std::move(parts), one ? axis_of_rank_1 : axis_of_more, call.result);
}

ShadowRef lower_vstack(TraceBuilder& tb, const Call& call) { return concatenate_at_least(tb, call, 2, 0, 0); }
ShadowRef lower_hstack(TraceBuilder& tb, const Call& call) { return concatenate_at_least(tb, call, 1, 0, 1); }

ShadowRef lower_concatenate(TraceBuilder& tb, const Call& call) {
    const Operand* p[5];
    std::vector<Operand> items;
    if (!bind(tb, call, {"arrays", "axis", "out", "dtype", "casting"}, p) || !array_items(tb, p[0], &items))
        return nullptr;
    if (given(tb, p[2])) return tb.fail(Reason::UnknownCall, "out=");
    for (const Operand* o : {given(tb, p[3]), given(tb, p[4])})
        if (o && !require_fixed(tb, *o)) return nullptr;
    if (p[1] && p[1]->obj == Py_None) return tb.fail(Reason::UnknownCall, "axis=None");
    bool ok;
    int axis = fixed_axis(tb, p[1], 0, static_cast<int>(tb.shape(items[0].shadow).size()), &ok);
    if (!ok) return nullptr;
    std::vector<Id> parts;
    for (const Operand& o : items) {
        parts.push_back(tb.value(o.shadow));
        if (parts.back() == kNone) return nullptr;
    }
    return concatenated(tb, std::move(parts), axis, call.result);
}

ShadowRef lower_stack(TraceBuilder& tb, const Call& call) {
    const Operand* p[5];
    std::vector<Operand> items;
    if (!bind(tb, call, {"arrays", "axis", "out", "dtype", "casting"}, p) || !array_items(tb, p[0], &items))
        return nullptr;
    if (given(tb, p[2])) return tb.fail(Reason::UnknownCall, "out=");
    for (const Operand* o : {given(tb, p[3]), given(tb, p[4])})
        if (o && !require_fixed(tb, *o)) return nullptr;
    Shape shape = tb.shape(items[0].shadow);
    bool ok;
    int axis = fixed_axis(tb, p[1], 0, static_cast<int>(shape.size()) + 1, &ok);
    if (!ok) return nullptr;
    for (const Operand& o : items) {
        const Shape other = tb.shape(o.shadow);
        if (other.size() != shape.size()) return tb.fail(Reason::ModelMismatch, "stack");
        for (size_t d = 0; d < shape.size(); d++)
            if (!tb.require(Relation::Eq, other[d], shape[d])) return tb.fail(Reason::ModelMismatch, "stack");
    }
    Shape full = shape;
    full.insert(full.begin() + axis, tb.int_const(static_cast<int64_t>(items.size())));
    ShadowRef out = fresh(tb, full, call.result);
    if (!out) return nullptr;
    for (size_t i = 0; i < items.size(); i++) {
        ViewStep step;
        for (int d = 0; d < static_cast<int>(full.size()); d++) {
            step.map.push_back(d == axis ? -1 : d < axis ? d : d - 1);
            step.step.push_back(d == axis ? 0 : 1);
            step.start.push_back(tb.int_const(d == axis ? static_cast<int64_t>(i) : 0));
        }
        step.shape = shape;
        if (!store_value(tb, out, &step, arg_of(tb, tb.value(items[i].shadow)))) return nullptr;
    }
    return out;
}

// --- roll ---

struct Piece {
    Sym from, to, length;
};

// An axis of n elements rolled by `shift`: one piece, or two.
std::vector<Piece> roll_pieces(TraceBuilder& tb, Sym shift, Sym n) {
    graph::SymTable& t = tb.syms();
    Sym zero = tb.int_const(0);
    Sym s = shift;
    if (tb.decide(Relation::Ge, s, zero)) {
        if (!tb.decide(Relation::Lt, s, n)) s = t.mod(s, n);
    } else {
        s = t.add(s, n);
        if (!tb.decide(Relation::Ge, s, zero)) s = t.mod(s, n);
    }
    if (tb.decide(Relation::Eq, s, zero)) return {{zero, zero, n}};
    Sym rest = t.sub(n, s);
    return {{zero, s, rest}, {rest, zero, s}};
}

bool store_rolled(TraceBuilder& tb, const ShadowRef& out, Id v, const std::vector<std::vector<Piece>>& axes) {
    size_t total = 1;
    for (const auto& pieces : axes) total *= pieces.size();
    const Shape shape = tb.node(v).shape;
    for (size_t k = 0; k < total; k++) {
        ViewStep from = whole(shape, tb), to = whole(shape, tb);
        size_t rest = k;
        for (size_t d = 0; d < axes.size(); d++) {
            if (axes[d].empty()) continue;
            const Piece& piece = axes[d][rest % axes[d].size()];
            rest /= axes[d].size();
            narrow(from, static_cast<int>(d), piece.from, piece.length);
            narrow(to, static_cast<int>(d), piece.to, piece.length);
        }
        Id part = tb.view(v, from);
        if (part == kNone || !store_value(tb, out, &to, arg_of(tb, part))) return false;
    }
    return true;
}

ShadowRef roll_flat(TraceBuilder& tb, const Operand& a, Sym shift, PyObject* result) {
    auto* r = reinterpret_cast<PyArrayObject*>(result);
    // a.ravel() rolled, then reshaped: the result is a view of a one-dimensional array.
    PyObject* base = PyArray_BASE(r);
    if (!base || !is_array(base)) return tb.fail(Reason::UnknownCall, "roll");
    const Shape shape = tb.shape(a.shadow);
    Id v = tb.value(a.shadow);
    if (v == kNone || shape.empty()) return tb.fail(Reason::UnknownCall, "roll");
    if (shape.size() > 1) {
        Id in[] = {v};
        if (!c_contiguous(tb, a)) v = tb.pointwise(Op::Copy, in, a.shadow->dtype);
        v = tb.reshape(v, {fixed_extent(tb, tb.syms().product(shape))});
    }
    Sym n = tb.node(v).shape[0];
    ShadowRef flat = fresh(tb, {n}, base);
    if (!flat || !store_rolled(tb, flat, v, {roll_pieces(tb, shift, n)})) return nullptr;
    ViewStep step;
    step.reshape = true;
    step.shape = shape;
    return tb.new_view(flat, std::move(step), result);
}

ShadowRef lower_roll(TraceBuilder& tb, const Call& call) {
    const Operand* p[3];
    if (!bind(tb, call, {"a", "shift", "axis"}, p) || !array_operand(tb, p[0]) || !p[1] ||
        !is_array(call.result))
        return nullptr;
    const Shape shape = tb.shape(p[0]->shadow);
    for (Sym s : shape)
        if (tb.hint(s) == 0) return tb.fail(Reason::UnknownCall, "roll of nothing");
    if (unit_axes_at_entry(tb, p[0]->shadow)) return lower_library(tb, call);
    const Operand* axis = given(tb, p[2]);
    std::vector<Operand> shift_items, axis_items;
    if (PyLong_CheckExact(p[1]->obj))
        shift_items.push_back(*p[1]);
    else if (!read_items(tb, *p[1], &shift_items))
        return tb.fail(Reason::UnknownCall, "roll by this");
    std::vector<Sym> shifts;
    for (const Operand& o : shift_items) {
        Sym s;
        if (!read_int(tb, o, &s)) return tb.fail(Reason::UnknownCall, "roll by this");
        shifts.push_back(s);
    }
    if (!axis)
        return shifts.size() == 1 ? roll_flat(tb, *p[0], shifts[0], call.result)
                                  : tb.fail(Reason::UnknownCall, "roll");
    if (PyLong_CheckExact(axis->obj))
        axis_items.push_back(*axis);
    else if (!read_items(tb, *axis, &axis_items))
        return tb.fail(Reason::UnknownCall, "roll along this");
    if (shifts.size() == 1 && axis_items.size() > 1) shifts.resize(axis_items.size(), shifts[0]);
    if (axis_items.size() == 1 && shifts.size() > 1) axis_items.resize(shifts.size(), axis_items[0]);
    if (axis_items.size() != shifts.size()) return tb.fail(Reason::UnknownCall, "roll");
    std::vector<Sym> per_axis(shape.size());
    for (size_t i = 0; i < axis_items.size(); i++) {
        int64_t index;
        int d;
        if (!read_fixed_int(tb, axis_items[i], &index) ||
            !normalize_axis(index, static_cast<int>(shape.size()), &d))
            return nullptr;
        per_axis[d] = per_axis[d] ? tb.syms().add(per_axis[d], shifts[i]) : shifts[i];
    }
    std::vector<std::vector<Piece>> pieces(shape.size());
    for (size_t d = 0; d < shape.size(); d++)
        pieces[d] = per_axis[d] ? roll_pieces(tb, per_axis[d], shape[d])
                                : std::vector<Piece>{{tb.int_const(0), tb.int_const(0), shape[d]}};
    Id v = tb.value(p[0]->shadow);
    ShadowRef out = v == kNone ? nullptr : fresh(tb, shape, call.result);
    return out && store_rolled(tb, out, v, pieces) ? out : nullptr;
}

// --- pad ---

struct Pad {
    Sym before, after;
    bool has_before, has_after;
};

bool read_pad(TraceBuilder& tb, const Operand& width, size_t ndim, std::vector<Pad>* out) {
    std::vector<std::pair<Operand, Operand>> pairs;
    std::vector<Operand> items;
    if (PyLong_CheckExact(width.obj)) {
        pairs.assign(ndim, {width, width});
    } else if (!read_items(tb, width, &items) || items.empty()) {
        return false;
    } else if (PyLong_CheckExact(items[0].obj)) {
        if (items.size() > 2 || (items.size() == 2 && !PyLong_CheckExact(items[1].obj))) return false;
        pairs.assign(ndim, {items[0], items.back()});
    } else {
        for (const Operand& o : items) {
            std::vector<Operand> two;
            if (!read_items(tb, o, &two) || two.empty() || two.size() > 2) return false;
            pairs.push_back({two[0], two.back()});
        }
        if (pairs.size() == 1) pairs.resize(ndim, pairs[0]);
    }
    if (pairs.size() != ndim) return false;
    for (auto& [before, after] : pairs) {
        Pad pad;
        if (!read_int(tb, before, &pad.before) || !read_int(tb, after, &pad.after)) return false;
        Sym zero = tb.int_const(0);
        if (!tb.require(Relation::Ge, pad.before, zero) || !tb.require(Relation::Ge, pad.after, zero))
            return false;
        pad.has_before = !tb.decide(Relation::Eq, pad.before, zero);
        pad.has_after = !tb.decide(Relation::Eq, pad.after, zero);
        out->push_back(pad);
    }
    return true;
}

enum class PadMode { Constant, Edge, Wrap, Reflect, Symmetric };

// What fills `length` elements beside the n elements that start at `at` of the padded array: a view of
// `source`.
ViewStep pad_source(TraceBuilder& tb, PadMode mode, const Shape& padded, int axis, Sym at, Sym n, Sym length,
                    bool before) {
    graph::SymTable& t = tb.syms();
    Sym one = tb.int_const(1);
    ViewStep step = whole(padded, tb);
    step.shape[axis] = length;
    Sym last = t.sub(t.add(at, n), one);
    switch (mode) {
        case PadMode::Constant: break;
        case PadMode::Edge:
            step.map[axis] = -1;
            step.step[axis] = 0;
            step.start[axis] = before ? at : last;
            break;
        case PadMode::Wrap: step.start[axis] = before ? t.sub(t.add(at, n), length) : at; break;
        case PadMode::Reflect:
        case PadMode::Symmetric: {
            Sym skip = tb.int_const(mode == PadMode::Reflect ? 1 : 0);
            step.step[axis] = -1;
            step.start[axis] = before ? t.sub(t.add(t.add(at, length), skip), one) : t.sub(last, skip);
            break;
        }
    }
    return step;
}

bool pad_axis(TraceBuilder& tb, const ShadowRef& out, PadMode mode, const Pad& pad, int axis, Sym n,
              const Arg* fill) {
    const Shape padded = tb.shape(out);
    for (bool before : {true, false}) {
        if (!(before ? pad.has_before : pad.has_after)) continue;
        Sym length = before ? pad.before : pad.after;
        ViewStep to = whole(padded, tb);
        narrow(to, axis, before ? tb.int_const(0) : tb.syms().add(pad.before, n), length);
        Arg value;
        if (fill) {
            value = *fill;
        } else {
            // Longer pads repeat; NumPy then goes round several times.
            Sym limit = mode == PadMode::Reflect ? tb.syms().sub(n, tb.int_const(1)) : n;
            if (mode != PadMode::Edge && !tb.require(Relation::Ge, limit, length))
                return tb.fail(Reason::UnknownCall, "a pad that long"), false;
            Id v = tb.view(tb.value(out), pad_source(tb, mode, padded, axis, pad.before, n, length, before));
            value = arg_of(tb, v);
        }
        if (!store_value(tb, out, &to, value)) return false;
    }
    return true;
}

bool read_pad_mode(TraceBuilder& tb, const Operand* o, PadMode* out) {
    *out = PadMode::Constant;
    if (!o) return true;
    static constexpr const char* kNames[] = {"constant", "edge", "wrap", "reflect", "symmetric"};
    for (int i = 0; i < 5; i++) {
        if (!PyUnicode_Check(o->obj) || PyUnicode_CompareWithASCIIString(o->obj, kNames[i]) != 0) continue;
        *out = static_cast<PadMode>(i);
        return require_fixed(tb, *o);
    }
    return tb.fail(Reason::UnknownCall, "this pad mode"), false;
}

ShadowRef lower_pad(TraceBuilder& tb, const Call& call) {
    const Operand* p[4];
    PadMode mode;
    std::vector<Pad> pads;
    if (!bind(tb, call, {"array", "pad_width", "mode", "constant_values"}, p) || !array_operand(tb, p[0]) ||
        !p[1])
        return nullptr;
    const Shape shape = tb.shape(p[0]->shadow);
    DType t = p[0]->shadow->dtype;
    if (!read_pad_mode(tb, p[2], &mode)) return nullptr;
    int64_t least = mode == PadMode::Constant ? 0 : mode == PadMode::Edge ? 1 : 2;
    for (Sym s : shape)
        if (tb.hint(s) < least) return tb.fail(Reason::UnknownCall, "pad of such a shape");
    if (shape.empty() || !read_pad(tb, *p[1], shape.size(), &pads))
        return tb.fail(Reason::UnknownCall, "this pad width");
    Arg fill;
    if (mode == PadMode::Constant) {
        fill.weak = Weak::Int;
        fill.sym = tb.int_const(0);
        if (t == DType::Bool) fill = arg_of(tb, tb.scalar_const(DType::Bool, 0));
        if (p[3]) {
            if (!read_arg(tb, *p[3], &fill)) return nullptr;
            bool same_kind = graph::is_float(t) || (graph::is_integer(t) && graph::is_integer(fill.dtype));
            if (fill.array || graph::is_complex(fill.dtype) || !same_kind)
                return tb.fail(Reason::UnknownCall, "these pad values");
        }
    } else if (p[3]) {
        return tb.fail(Reason::UnknownCall, "these pad values");
    }
    Shape padded;
    ViewStep centre = whole(shape, tb);
    for (size_t d = 0; d < shape.size(); d++) {
        padded.push_back(
            fixed_extent(tb, tb.syms().add(tb.syms().add(shape[d], pads[d].before), pads[d].after)));
        centre.start[d] = pads[d].before;
    }
    Id v = tb.value(p[0]->shadow);
    ShadowRef out = v == kNone ? nullptr : fresh(tb, padded, call.result);
    if (!out || !store_value(tb, out, &centre, arg_of(tb, v))) return nullptr;
    for (size_t d = 0; d < shape.size(); d++)
        if (!pad_axis(tb, out, mode, pads[d], static_cast<int>(d), shape[d],
                      mode == PadMode::Constant ? &fill : nullptr))
            return nullptr;
    return out;
}

constexpr CallRow kAssemblyRows[] = {
    {"concatenate", lower_concatenate, true},
    {"concat", lower_concatenate, true},
    {"stack", lower_stack, true},
    {"vstack", lower_vstack, true},
    {"hstack", lower_hstack, true},
    {"roll", lower_roll, true},
    {"pad", lower_pad, true},
};

}  // namespace

void register_assembly() { add_rows(kAssemblyRows); }

}  // namespace stator::frontend::numpy
