// np.pad: an array that is made, and stores into it which cover it. Which there are (an empty pad is none) is
// decided while recording and guarded.
#include <algorithm>

#include "frontend/hosts/numpy/lower.h"

namespace stator::frontend::numpy {

namespace {

ShadowRef fresh(TraceBuilder& tb, Shape shape, PyObject* like) {
    DType t;
    if (!is_array(like) || !dtype_of_object(like, &t))
        return tb.fail(Reason::ArrayKind, "dtype of the result");
    return finish(tb, tb.empty(t, std::move(shape), like), like);
}

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

constexpr CallRow kPadRows[] = {{"pad", lower_pad, true}};

}  // namespace

void register_pad() { add_rows(kPadRows); }

}  // namespace stator::frontend::numpy
