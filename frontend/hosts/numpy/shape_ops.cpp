// Other shapes of the same elements: reshapes for the steps of NumPy's functions (trace_steps.cpp),
// broadcast_to, and len.
//
// Which of view or copy NumPy chose is read off the result's base. Reshapes are modelled for C-contiguous
// operands; others copy first, as NumPy does, or are left to NumPy.
#include <algorithm>
#include <numeric>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/shape_ops.h"

namespace stator::frontend::numpy {

namespace {

int rank_of(TraceBuilder& tb, const Operand& a) { return static_cast<int>(tb.shape(a.shadow).size()); }

}  // namespace

// The extents of a reshape: -1 is what the others leave. Equal factors cancel, so that (n, m) -> (n, -1)
// gives m.
bool reshaped(TraceBuilder& tb, const Shape& from, std::span<const Operand> items, Shape* out) {
    graph::SymTable& t = tb.syms();
    Shape left = from;
    Sym known = tb.int_const(1);
    int open = -1;
    for (size_t i = 0; i < items.size(); i++) {
        Sym s;
        if (!read_int(tb, items[i], &s)) return tb.fail(Reason::UnknownCall, "this shape"), false;
        if (tb.hint(s) == -1) {
            if (!tb.require(Relation::Eq, s, tb.int_const(-1))) return false;
            open = static_cast<int>(i);
            out->push_back(s);
            continue;
        }
        s = tb.canon(fixed_extent(tb, s));
        out->push_back(s);
        auto same = std::find_if(left.begin(), left.end(), [&](Sym f) { return tb.canon(f) == s; });
        if (same != left.end())
            left.erase(same);
        else
            known = t.mul(known, s);
    }
    Sym rest = t.product(left);
    if (open < 0) {
        if (!tb.require(Relation::Eq, known, rest)) return tb.fail(Reason::ModelMismatch, "a reshape"), false;
        return true;
    }
    if (tb.hint(known) == 0) return tb.fail(Reason::UnknownCall, "a reshape of nothing"), false;
    Sym quotient = t.as_const(known) == 1 ? rest : t.floordiv(rest, known);
    if (quotient != rest && !tb.require(Relation::Eq, t.mul(quotient, known), rest)) return false;
    (*out)[open] = fixed_extent(tb, quotient);
    return true;
}

namespace {

ShadowRef reshape_view(TraceBuilder& tb, const ShadowRef& base, Shape shape, PyObject* result) {
    for (Sym s : shape)
        if (tb.hint(s) == 0) return tb.fail(Reason::UnknownCall, "a reshape of nothing");
    ViewStep step;
    step.reshape = true;
    step.shape = std::move(shape);
    return tb.new_view(base, std::move(step), result);
}

// A C-ordered copy of `a` as the array object that `copy` is.
ShadowRef copied(TraceBuilder& tb, const Operand& a, PyObject* copy) {
    if (!is_array(copy) || PyArray_BASE(reinterpret_cast<PyArrayObject*>(copy)))
        return tb.fail(Reason::UnknownCall, "a reshape of this layout");
    Id v = tb.value(a.shadow);
    if (v == kNone) return nullptr;
    Id in[] = {v};
    return tb.new_array(tb.pointwise(Op::Copy, in, a.shadow->dtype), copy);
}

// Of C-contiguous memory whose axes of extent one are out of their order, as those of a transposed row are: a
// view with the axes as they lie. Null where `a` is none, without a failure.
ShadowRef in_memory_order(TraceBuilder& tb, const Operand& a) {
    const Shadow& s = *a.shadow;
    auto* array = reinterpret_cast<PyArrayObject*>(a.obj);
    if (s.layout != graph::Layout::Contiguous || s.perm.empty() || !PyArray_IS_C_CONTIGUOUS(array))
        return nullptr;
    int last = -1;
    for (int axis : s.perm) {
        if (tb.syms().as_const(tb.shape(a.shadow)[static_cast<size_t>(axis)]) == 1) continue;
        if (axis < last) return nullptr;
        last = axis;
    }
    std::vector<npy_intp> order(s.perm.begin(), s.perm.end());
    PyArray_Dims dims{order.data(), static_cast<int>(order.size())};
    PyRef straight = PyRef::steal(PyArray_Transpose(array, &dims));
    if (!straight) return PyErr_Clear(), nullptr;
    return tb.new_view(a.shadow, permuted(tb, tb.shape(a.shadow), s.perm), straight.get());
}

// What NumPy does with a dense array that is not in the order of C, by its extents.
enum class Reshaping : uint8_t { Copy, View, Unknown };

// NumPy gives a view where each run of axes that become others lies in the order of C
// (_attempt_nocopy_reshape). Where no two neighbours do, an array of fewer axes is a copy whatever the
// extents; with as many axes the result is a view if the extents are the same, which becomes a guard.
Reshaping reshaping(TraceBuilder& tb, const Operand& a, const Shape& to) {
    const Shadow& s = *a.shadow;
    const Shadow& root = root_of(a.shadow);
    const bool dense = s.layout == graph::Layout::Contiguous && known_density(tb, a.shadow) &&
                       (root.input < 0 ||
                        tb.graph.inputs[static_cast<size_t>(root.input)].layout == graph::Layout::Contiguous);
    if (!dense || s.perm.empty()) return Reshaping::Unknown;
    const auto is_one = [&](Sym n) { return tb.syms().as_const(n) == 1; };
    Shape from, wanted;
    int before = -1;  // the place in memory of the axis before
    const Shape& extents = tb.shape(a.shadow);
    for (size_t axis = 0; axis < extents.size(); ++axis) {
        if (is_one(extents[axis])) continue;
        int place = 0;
        for (const int at : s.perm) {
            if (at == static_cast<int>(axis)) break;
            place += !is_one(extents[static_cast<size_t>(at)]);
        }
        if (!from.empty() && place == before + 1) return Reshaping::Unknown;
        before = place;
        from.push_back(extents[axis]);
    }
    for (const Sym n : to)
        if (!is_one(n)) wanted.push_back(n);
    if (wanted.size() < from.size()) return Reshaping::Copy;
    if (wanted.size() > from.size()) return Reshaping::Unknown;
    for (size_t k = 0; k < from.size(); ++k)
        if (!tb.decide(Relation::Eq, from[k], wanted[k])) return Reshaping::Copy;
    return Reshaping::View;
}

}  // namespace

ShadowRef reshape_to(TraceBuilder& tb, const Operand& a, Shape shape, PyObject* result) {
    if (!is_array(result)) return tb.fail(Reason::ModelMismatch, "a reshape");
    if (c_contiguous(tb, a)) return reshape_view(tb, a.shadow, std::move(shape), result);
    if (known_density(tb, a.shadow))
        if (const ShadowRef straight = in_memory_order(tb, a))
            return reshape_view(tb, straight, std::move(shape), result);
    if (reshaping(tb, a, shape) != Reshaping::Copy)
        return tb.fail(Reason::UnknownCall, "a reshape of this layout");
    // NumPy copied into C order and views the copy.
    PyObject* base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(result));
    if (!base || base == a.obj || base == PyArray_BASE(reinterpret_cast<PyArrayObject*>(a.obj)))
        return tb.fail(Reason::UnknownCall, "a reshape of this layout");
    ShadowRef copy = copied(tb, a, base);
    return copy ? reshape_view(tb, copy, std::move(shape), result) : nullptr;
}

namespace {

// From 2.5 on NumPy deprecates stores to a shape, so each of them may warn.
bool shapes_can_be_set() {
    constexpr unsigned kFeatures_2_5 = 0x16;
    return PyArray_GetNDArrayCFeatureVersion() < kFeatures_2_5;
}

}  // namespace

// Of a view the path gets one more step. A fresh array starts over in memory of its own, as the object that
// it is: so nothing else may show what it had, and the kernel that computed it writes to the new place
// instead.
bool lower_set_shape(TraceBuilder& tb, const Operand& a, const Operand& value, bool sole) {
    const auto no = [&](const char* why) { return tb.fail(Reason::Unstoreable, why), false; };
    const ShadowRef& s = a.shadow;
    if (s->kind != ShadowKind::Array || !is_array(a.obj)) return no("to the shape of what is no plain array");
    if (s->input >= 0 || s->source != guards::kNoSource || !s->maker.empty())
        return no("to the shape of an array that was there before");
    if (!shapes_can_be_set()) return no("to a shape, which NumPy deprecates");
    std::vector<Operand> items;
    if (!read_items(tb, value, &items)) items = {value};
    Shape shape;
    tb.reason = Reason::None;
    if (items.empty() || tb.shape(s).empty()) return no("to the shape of an array without axes");
    if (!reshaped(tb, tb.shape(s), items, &shape)) return false;
    const graph::Node& n = tb.graph.node(tb.value(s));
    const bool in_order =
        n.layout == graph::Layout::Contiguous && std::is_sorted(n.perm.begin(), n.perm.end()) &&
        s->layout == graph::Layout::Contiguous && std::is_sorted(s->perm.begin(), s->perm.end());
    if (!in_order) return no("to the shape of an array that is not C-contiguous");
    ShadowRef made;
    if (s->path.empty()) {
        if (PyArray_SIZE(reinterpret_cast<PyArrayObject*>(a.obj)) == 0)
            return no("to the shape of an empty array");
        if (!sole || PyArray_BASE(reinterpret_cast<PyArrayObject*>(a.obj)))
            return no("to the shape of an array that others show");
        const Id v = tb.reshape(tb.value(s), std::move(shape));
        made = v == kNone ? nullptr : tb.new_array(v, a.obj);
    } else if ((made = reshape_view(tb, s, std::move(shape), a.obj))) {
        made->base = s->base;
    }
    if (!made) return false;
    *s = *made;
    return true;
}

namespace {

Shape flat_shape(TraceBuilder& tb, const Operand& a) {
    return {fixed_extent(tb, tb.syms().product(tb.shape(a.shadow)))};
}

}  // namespace

// A flat copy, where ravel would give a view of an operand of another layout.
ShadowRef flat_copy(TraceBuilder& tb, const Operand& a, PyObject* result) {
    size_t before = tb.graph.nodes.size();
    Id v = tb.value(a.shadow);
    if (v == kNone) return nullptr;
    if (rank_of(tb, a) != 1) {
        if (!c_contiguous(tb, a)) {
            Id in[] = {v};
            v = tb.pointwise(Op::Copy, in, a.shadow->dtype);
        }
        v = tb.reshape(v, flat_shape(tb, a));
    }
    return finish_copy(tb, v, before, result);
}

ShadowRef raveled(TraceBuilder& tb, const Operand& a, PyObject* result) {
    if (c_contiguous(tb, a)) return reshape_view(tb, a.shadow, flat_shape(tb, a), result);
    if (!known_density(tb, a.shadow)) return tb.fail(Reason::UnknownCall, "ravel of this layout");
    if (const ShadowRef straight = in_memory_order(tb, a))
        return reshape_view(tb, straight, flat_shape(tb, a), result);
    return flat_copy(tb, a, result);
}

namespace {

ShadowRef lower_broadcast_to(TraceBuilder& tb, const Call& call) {
    const Operand* p[3];
    Shape to;
    if (!bind(tb, call, {"array", "shape", "subok"}, p) || p[2] || !array_operand(tb, p[0]) || !p[1] ||
        !read_shape(tb, *p[1], &to))
        return nullptr;
    const Shape from = tb.shape(p[0]->shadow);
    for (Sym s : to)
        if (tb.hint(s) == 0) return tb.fail(Reason::UnknownCall, "broadcast_to of nothing");
    if (from.size() > to.size()) return tb.fail(Reason::ModelMismatch, "broadcast_to");
    ViewStep step;
    size_t shift = to.size() - from.size();
    for (size_t i = 0; i < from.size(); i++) {
        bool stretch = tb.syms().as_const(from[i]) == 1;
        if (!stretch && !tb.require(Relation::Eq, from[i], to[i + shift]))
            return tb.fail(Reason::ModelMismatch, "broadcast_to");
        step.map.push_back(stretch ? -1 : static_cast<int>(i + shift));
        step.step.push_back(stretch ? 0 : 1);
        step.start.push_back(tb.int_const(0));
    }
    step.shape = std::move(to);
    return tb.new_view(p[0]->shadow, std::move(step), call.result);
}

// len(x): the first extent, or how many items there are.
ShadowRef lower_len(TraceBuilder& tb, const Call& call) {
    if (call.args.size() != 1) return tb.fail(Reason::UnknownCall, "len");
    const Operand& a = call.args[0];
    if (!tb.resolve(a.shadow, a.obj)) return nullptr;
    if (a.shadow->kind == ShadowKind::Array && rank_of(tb, a) > 0) return tb.new_int(tb.shape(a.shadow)[0]);
    bool fixed =
        a.shadow->kind == ShadowKind::Tuple || a.shadow->kind == ShadowKind::List ||
        a.shadow->kind == ShadowKind::Dict ||
        (a.shadow->kind == ShadowKind::Object && (PyTuple_CheckExact(a.obj) || PyUnicode_CheckExact(a.obj)));
    if (fixed) return tb.constant(call.result);
    ShadowRef length = tb.length_of(a.shadow, a.obj);
    return length ? length : tb.fail(Reason::UnknownCall, "len");
}

constexpr CallRow kShapeOpsRows[] = {
    {.where = "broadcast_to", .lower = lower_broadcast_to, .shares = true},
    {"builtins:len", lower_len},
};

}  // namespace

void register_shape_ops() { add_rows(kShapeOpsRows); }

}  // namespace stator::frontend::numpy
