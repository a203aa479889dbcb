// The steps of NumPy's functions (steps.h) as nodes of a trace's graph. What NumPy has returned is known by
// then: results take its strides, and views are compared with it.

#include "frontend/hosts/numpy/trace_steps.h"

#include <algorithm>
#include <bit>
#include <deque>

#include "frontend/hosts/call_pure.h"
#include "frontend/hosts/numpy/functions/table.h"
#include "frontend/hosts/numpy/reductions.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/hosts/numpy/shape_ops.h"
#include "guards/check/names.h"
#include "kernels/schedule/reduction_order.h"

namespace stator::frontend::numpy {

namespace {

class TraceSteps final : public Steps {
  public:
    TraceSteps(TraceBuilder& tb, PyObject* result)
        : tb_(tb), result_(result), nodes_before_(tb.graph.nodes.size()) {}

    Ref items_of(std::vector<Ref> items) { return hold({.kind = Held::Items, .items = std::move(items)}); }
    Ref argument(const Operand& o) { return hold({.kind = Held::Argument, .operand = o}); }
    ShadowRef finish(Ref r);

    bool is_none(Ref v) override {
        const Held& h = at(v);
        return h.kind == Held::Argument && h.operand.obj == Py_None && require_fixed(tb_, h.operand);
    }
    bool is_array(Ref v) override {
        Held& h = at(v);
        return h.kind != Held::Integer && h.kind != Held::Items &&
               (h.kind != Held::Argument || array_operand(tb_, &h.operand));
    }
    DType dtype(Ref v) override;
    int rank(Ref v) override { return static_cast<int>(shape(v).size()); }
    bool is_number(Ref v) override;
    bool is_int(Ref v) override;
    bool fixed_int(Ref v, int64_t* out) override;
    bool fixed_float(Ref v, double* out) override;
    bool fixed_bool(Ref v, bool* out) override {
        return v && at(v).kind == Held::Argument && read_fixed_bool(tb_, at(v).operand, out);
    }
    bool fixed_dtype(Ref v, DType* out) override {
        return at(v).kind == Held::Argument && read_dtype(tb_, at(v).operand, out);
    }
    std::string_view name_of_ufunc(Ref v) override {
        const Held& h = at(v);
        const Ufunc* u = h.kind == Held::Argument ? ufunc_of(h.operand.obj) : nullptr;
        return u && require_fixed(tb_, h.operand) ? std::string_view(u->name) : "";
    }
    bool is_numpy_float(Ref v) override;
    bool in_order_of_c(Ref array) override {
        return rank(array) <= 1 || (at(array).kind == Held::Argument && c_contiguous(tb_, at(array).operand));
    }
    // Results are made as NumPy has made them, so order and dtype are read off.
    bool like_is_known(Ref array) override { return knows_unit_axes(array); }
    bool knows_unit_axes(Ref array) override {
        const Held& h = at(array);
        return h.kind == Held::Argument && !unit_axes_at_entry(tb_, h.operand.shadow);
    }
    bool is_straight(Ref) override { return true; }
    bool takes_order(Ref order) override { return !order || require_fixed(tb_, at(order).operand); }
    bool result_dtype(Refs, DType* out) override {
        return (numpy::is_array(result_) && dtype_of_object(result_, out)) ||
               (decline("the dtype of the result"), false);
    }
    bool shape_of(Ref v, std::vector<Ref>* out) override;
    bool is_text(Ref v, std::string_view text) override {
        const Held& h = at(v);
        return h.kind == Held::Argument && PyUnicode_Check(h.operand.obj) &&
               guards::utf8(h.operand.obj) == text && require_fixed(tb_, h.operand);
    }
    bool is_list(Ref v) override { return at(v).kind == Held::Argument && PyList_Check(at(v).operand.obj); }
    bool items(Ref v, std::vector<Ref>* out) override;

    Ref integer(int64_t v) override { return symbol(tb_.int_const(v)); }
    Ref extent(Ref array, int axis) override { return symbol(shape(array)[static_cast<size_t>(axis)]); }
    Ref sum(Ref a, Ref b) override { return symbol(tb_.syms().add(sym(a), sym(b))); }
    Ref difference(Ref a, Ref b) override { return symbol(tb_.syms().sub(sym(a), sym(b))); }
    Ref product(Ref a, Ref b) override { return symbol(tb_.syms().mul(sym(a), sym(b))); }
    Ref modulo(Ref a, Ref n) override;
    Ref quotient(Ref a, int64_t n) override { return symbol(tb_.syms().floordiv(sym(a), tb_.int_const(n))); }
    bool is_so(Relation r, Ref a, Ref b) override { return tb_.decide(r, sym(a), sym(b)); }
    bool require(Relation r, Ref a, Ref b) override { return tb_.require(r, sym(a), sym(b)); }
    bool has_at_least(Ref array, int axis, int64_t n) override {
        return tb_.require(Relation::Ge, shape(array)[static_cast<size_t>(axis)], tb_.int_const(n));
    }

    Ref number(Ref integer, DType t) override { return value(tb_.sym_scalar(sym(integer), t)); }
    Ref real(double v) override { return value(tb_.scalar_const(DType::F64, std::bit_cast<uint64_t>(v))); }
    Ref ufunc(std::string_view name, std::initializer_list<Ref> in) override;
    Ref whole_ufunc(std::string_view name, Refs in, Ref out) override;
    Ref cast(Ref v, DType t) override {
        const Id id = id_of(v);
        return id == kNone ? Ref{} : value(tb_.cast(id, t));
    }
    Ref reduce(std::string_view ufunc, Ref v, const Axes& axes, Ref like, DType t) override;
    Ref accumulate(std::string_view, Ref) override { return decline("a running sum"); }
    // A replay's call of NumPy is its own, so there is nothing to gain.
    Ref place(Ref, Ref, bool) override { return decline("a search for a number"); }
    Ref interpolated(Ref, Ref, Ref) override { return decline("the interpolation of a number"); }
    Ref position(bool greatest, Ref array, std::optional<int> axis) override;
    Ref count_true(Ref) override { return decline("a count"); }
    void note_reduction(Ref, const Axes&, bool) override {}
    Ref select(Ref condition, Ref x, Ref y) override;
    Ref dot(Ref x, Ref y) override;
    Ref keep_axes(Ref v, const Axes& axes) override {
        const Id id = id_of(v);
        return id == kNone ? Ref{} : value(numpy::keep_axes(tb_, id, axes));
    }
    Ref view(Ref array, const std::vector<Axis>& axes) override {
        return hold({.kind = Held::View, .of = array.at, .step = step_of(array, axes)});
    }
    Ref reshape(Ref array, Refs extents) override;
    Ref ravel(Ref array) override {
        const Held& h = at(array);
        return h.kind == Held::Argument ? made(raveled(tb_, h.operand, result_)) : decline("ravel");
    }
    Ref flat_copy(Ref array) override {
        const Held& h = at(array);
        return h.kind == Held::Argument ? made(numpy::flat_copy(tb_, h.operand, result_)) : decline("a copy");
    }
    Ref flattened(Ref array) override;
    Ref shaped_like(Ref made, Ref argument) override;
    bool broadcast(Refs in, std::vector<Ref>* extents) override;
    Ref fresh(DType t, Refs extents) override;
    Ref filled(DType t, Refs extents, Ref number) override;
    Ref progression(DType t, Ref start, Ref step, Ref count) override;
    Ref copied(Ref array, DType t) override;
    Ref positions(Ref like, int axis) override;
    bool only_extents_of(Ref) override { return true; }
    bool store(Ref into, const std::vector<Axis>& part, Ref v) override;
    Ref computed_once(Ref v) override { return v; }

    Ref decline(std::string why) override {
        if (tb_.reason == Reason::None) tb_.fail(Reason::UnknownCall, std::move(why));
        return {};
    }

  private:
    struct Held {
        enum Kind : uint8_t {
            Argument,  // `operand`
            Integer,   // `sym`
            Value,     // `id`
            View,      // `step` of another one, `of`
            Items,     // several, as `*args`
            Shadow,    // that of `operand`: an array object that the call has made
        } kind;
        Operand operand{};
        Id id = kNone;
        Sym sym{};
        int of = -1;
        ViewStep step{};
        std::vector<Ref> items{};
    };
    Ref hold(Held h) {
        held_.push_back(std::move(h));
        return {static_cast<int>(held_.size()) - 1};
    }
    Ref made(ShadowRef s) {
        return s ? hold({.kind = Held::Shadow, .operand = {std::move(s), result_}}) : Ref{};
    }
    Ref symbol(Sym s) { return hold({.kind = Held::Integer, .sym = s}); }
    Ref value(Id id) { return id == kNone ? Ref{} : hold({.kind = Held::Value, .id = id}); }
    Held& at(Ref r) { return held_[static_cast<size_t>(r.at)]; }
    Sym sym(Ref r) { return at(r).sym; }  // of an integer, or of an int that is_int has read
    Shape shape(Ref r);
    Id id_of(Ref r);
    bool arg(Ref r, Arg* out);
    ViewStep step_of(Ref array, const std::vector<Axis>& axes);

    TraceBuilder& tb_;
    PyObject* const result_;
    const size_t nodes_before_;
    std::deque<Held> held_;  // whose operands Reduction refers to
};

Shape TraceSteps::shape(Ref r) {
    const Held& h = at(r);
    switch (h.kind) {
        case Held::Integer: return {};
        case Held::Value: return tb_.node(h.id).shape;
        case Held::View: return h.step.shape;
        default: return tb_.shape(h.operand.shadow);
    }
}

Id TraceSteps::id_of(Ref r) {
    Held& h = at(r);
    switch (h.kind) {
        case Held::Integer: return tb_.sym_scalar(h.sym, DType::I64);
        case Held::Value: return h.id;
        case Held::View: {
            if (h.id != kNone) return h.id;
            const Id whole = id_of({h.of});
            return h.id = whole == kNone ? kNone : tb_.view(whole, h.step);
        }
        default: return tb_.value(h.operand.shadow);
    }
}

bool TraceSteps::arg(Ref r, Arg* out) {
    if (at(r).kind == Held::Argument) return read_arg(tb_, at(r).operand, out);
    if (at(r).kind == Held::Integer) {
        out->weak = Weak::Int;
        out->dtype = DType::I64;
        out->sym = at(r).sym;
        return true;
    }
    const Id id = id_of(r);
    if (id != kNone) *out = arg_of(tb_, id);
    return id != kNone;
}

DType TraceSteps::dtype(Ref r) {
    const Held& h = at(r);
    if (Arg number; h.kind == Held::Argument && !numpy::is_array(h.operand.obj))
        return read_arg(tb_, h.operand, &number) ? number.dtype : DType::F64;
    if (h.kind == Held::Argument || h.kind == Held::Shadow) return h.operand.shadow->dtype;
    return h.kind == Held::View ? dtype({h.of}) : tb_.node(id_of(r)).dtype;
}

bool TraceSteps::is_number(Ref v) {
    const Held& h = at(v);
    if (h.kind == Held::Integer) return true;
    if (h.kind != Held::Argument || PyArray_Check(h.operand.obj)) return false;
    Arg a;
    const bool number = read_arg(tb_, h.operand, &a);
    if (!number) tb_.reason = Reason::None;
    return number;
}

bool TraceSteps::is_int(Ref v) {
    Held& h = at(v);
    return h.kind == Held::Integer || (h.kind == Held::Argument && read_int(tb_, h.operand, &h.sym));
}

bool TraceSteps::shape_of(Ref v, std::vector<Ref>* out) {
    Shape shape;
    if (!v || at(v).kind != Held::Argument || !read_shape(tb_, at(v).operand, &shape)) return false;
    for (const Sym s : shape) out->push_back(symbol(s));
    return true;
}

// By which of the cases it is, so that most shifts need no division.
Steps::Ref TraceSteps::modulo(Ref a, Ref n) {
    graph::SymTable& t = tb_.syms();
    const Sym zero = tb_.int_const(0), by = sym(n);
    Sym s = sym(a);
    if (tb_.decide(Relation::Ge, s, zero)) {
        if (!tb_.decide(Relation::Lt, s, by)) s = t.mod(s, by);
    } else {
        s = t.add(s, by);
        if (!tb_.decide(Relation::Ge, s, zero)) s = t.mod(s, by);
    }
    return symbol(s);
}

bool TraceSteps::fixed_int(Ref v, int64_t* out) {
    return v && at(v).kind == Held::Argument && read_fixed_int(tb_, at(v).operand, out);
}

bool TraceSteps::fixed_float(Ref v, double* out) {
    if (!v || at(v).kind != Held::Argument) return false;
    const Operand& o = at(v).operand;
    if ((!PyFloat_Check(o.obj) && !PyLong_CheckExact(o.obj)) || !require_fixed(tb_, o)) return false;
    *out = PyFloat_AsDouble(o.obj);
    return !PyErr_Occurred() || (PyErr_Clear(), false);
}

bool TraceSteps::items(Ref v, std::vector<Ref>* out) {
    std::vector<Operand> operands;
    if (v && at(v).kind == Held::Items) return *out = at(v).items, true;
    if (!v || at(v).kind != Held::Argument || !read_items(tb_, at(v).operand, &operands)) return false;
    out->clear();
    for (const Operand& o : operands) out->push_back(argument(o));
    return true;
}

Steps::Ref TraceSteps::ufunc(std::string_view name, std::initializer_list<Ref> in) {
    const Ufunc* u = find_ufunc(name);
    std::vector<Arg> args(in.size());
    for (size_t i = 0; i < args.size(); ++i)
        if (!arg(in.begin()[i], &args[i])) return {};
    LoopTypes types;
    if (!u || !resolve_loop(tb_, *u, args, std::nullopt, {}, &types)) return decline(std::string(name));
    return value(emit_ufunc(tb_, *u, args, types));
}

Steps::Ref TraceSteps::whole_ufunc(std::string_view name, Refs in, Ref out) {
    std::vector<Operand> operands;
    for (const Ref r : in) {
        if (at(r).kind != Held::Argument) return decline("a ufunc of what is no argument");
        operands.push_back(at(r).operand);
    }
    const ShadowRef made =
        lower_ufunc(tb_, *find_ufunc(name), operands, out ? &at(out).operand : nullptr, nullptr, {}, result_);
    return made ? hold({.kind = Held::Shadow, .operand = {made, result_}}) : decline(std::string(name));
}

bool TraceSteps::is_numpy_float(Ref v) {
    const Held& h = at(v);
    DType t;
    return h.kind == Held::Argument && PyArray_CheckScalar(h.operand.obj) && !PyArray_Check(h.operand.obj) &&
           dtype_of_object(h.operand.obj, &t) && graph::is_float(t) && t != DType::F16 &&
           tb_.resolve(h.operand.shadow, h.operand.obj);
}

Steps::Ref TraceSteps::reduce(std::string_view ufunc, Ref v, const Axes& axes, Ref like, DType t) {
    Reduction r;
    r.array = &at(like).operand;
    r.axes = axes;
    Id made = kNone;
    if (v.at == like.at)
        made = reduces_nothing(tb_, r) ? reduce_nothing(tb_, r, ufunc, t, result_)
                                       : reduce_node(tb_, r, std::string(ufunc).c_str(), t);
    else if (ufunc == "add" && t == dtype(v) && reduces_in_order(tb_, r))
        made = sum_of_values(tb_, r, id_of(v));
    return made == kNone ? decline("a reduction in an order that is NumPy's own") : value(made);
}

Steps::Ref TraceSteps::position(bool greatest, Ref array, std::optional<int> axis) {
    const Shape from = shape(array);
    const bool nothing =
        std::any_of(from.begin(), from.end(), [&](Sym s) { return tb_.hint(s) == 0; }) || from.empty();
    graph::Node n;
    n.op = Op::ArgReduce;
    n.dtype = DType::I64;
    n.name = greatest ? "argmax" : "argmin";
    n.in = {id_of(array)};
    n.ints = {axis.value_or(-1)};
    for (size_t d = 0; d < from.size(); ++d)
        if (axis && static_cast<int>(d) != *axis) n.shape.push_back(from[d]);
    if (nothing || n.in[0] == kNone || graph::is_complex(dtype(array)))
        return decline("the position of an extremum");
    const Id id = tb_.append(std::move(n));
    if (kernels::can_reduce(tb_.graph, id, false)) return value(id);
    tb_.graph.nodes.pop_back();
    return decline("the position of an extremum");
}

// Of the dtype that NumPy has returned.
Steps::Ref TraceSteps::select(Ref condition, Ref x, Ref y) {
    const Ref given[] = {condition, x, y};
    Arg args[3];
    Id in[3];
    DType t;
    if (!numpy::is_array(result_) || !dtype_of_object(result_, &t)) return decline("where of numbers");
    for (size_t i = 0; i < 3; ++i) {
        if (!arg(given[i], &args[i])) return {};
        in[i] = arg_id(tb_, args[i], i == 0 ? DType::Bool : t);
        if (in[i] == kNone) return {};
    }
    Shape to;
    if (!tb_.broadcast_shape(in, &to)) return {};
    for (Id& v : in)
        if ((v = tb_.broadcast(v, to)) == kNone) return {};
    return value(tb_.pointwise(Op::Where, in, t));
}

// NumPy's own call, of which the result is asked here: the call at hand returned something else.
Steps::Ref TraceSteps::dot(Ref x, Ref y) {
    if (at(x).kind != Held::Argument || at(y).kind != Held::Argument || !c_contiguous(tb_, at(x).operand) ||
        !c_contiguous(tb_, at(y).operand))
        return decline("a dot of vectors with gaps");
    PyObject* dot = PyDict_GetItemString(PyArray_Type.tp_dict, "dot");
    const Operand both[] = {at(x).operand, at(y).operand};
    PyObject* objects[] = {both[0].obj, both[1].obj};
    constexpr uint32_t kAll = 15;
    const StrictErrors nothing_matters(kAll, kAll);  // the call itself has warned already
    const PyRef made = dot ? call_pure(dot, objects, 2, nullptr, OnWarning::Ignore) : PyRef();
    if (!made) return PyErr_Clear(), decline("a dot");
    const ShadowRef s = lower_library(tb_, {dot, both, nullptr, made.get()});
    return s ? value(tb_.value(s)) : decline("a dot");
}

ViewStep TraceSteps::step_of(Ref array, const std::vector<Axis>& axes) {
    const Shape from = shape(array);
    ViewStep step;
    step.map.assign(from.size(), -1);
    step.step.assign(from.size(), 0);
    step.start.assign(from.size(), tb_.int_const(0));
    for (const Axis& a : axes) {
        if (a.kind == Axis::New) {
            step.shape.push_back(tb_.int_const(1));
            continue;
        }
        const auto of = static_cast<size_t>(a.of);
        if (a.start) step.start[of] = at(a.start).sym;
        if (a.kind == Axis::Drop) continue;
        step.map[of] = static_cast<int>(step.shape.size());
        step.step[of] = 1;
        step.shape.push_back(a.kind == Axis::Part ? fixed_extent(tb_, at(a.count).sym) : from[of]);
        if (a.kind != Axis::Reversed || tb_.hint(from[of]) == 0) continue;
        step.step[of] = -1;
        step.start[of] = tb_.syms().sub(from[of], tb_.int_const(1));
    }
    return step;
}

Steps::Ref TraceSteps::reshape(Ref array, Refs extents) {
    std::vector<Operand> items;
    Shape to;
    for (const Ref r : extents)
        at(r).kind == Held::Integer ? to.push_back(sym(r)) : items.push_back(at(r).operand);
    if (at(array).kind == Held::Argument && items.empty())
        return made(reshape_to(tb_, at(array).operand, std::move(to), result_));
    if (!to.empty()) return decline("a reshape to arguments and others");
    if (at(array).kind != Held::Argument || !reshaped(tb_, shape(array), items, &to)) return {};
    return made(reshape_to(tb_, at(array).operand, std::move(to), result_));
}

Steps::Ref TraceSteps::flattened(Ref array) {
    const Shape from = shape(array);
    Id v = id_of(array);
    if (v == kNone || at(array).kind != Held::Argument || from.size() == 1) return value(v);
    const Id in[] = {v};
    if (!c_contiguous(tb_, at(array).operand)) v = tb_.pointwise(Op::Copy, in, dtype(array));
    return value(tb_.reshape(v, {fixed_extent(tb_, tb_.syms().product(from))}));
}

Steps::Ref TraceSteps::shaped_like(Ref made, Ref argument) {
    ViewStep step;
    step.reshape = true;
    step.shape = shape(argument);
    return hold({.kind = Held::View, .of = made.at, .step = std::move(step)});
}

bool TraceSteps::broadcast(Refs in, std::vector<Ref>* extents) {
    std::vector<Id> ids;
    for (const Ref r : in) ids.push_back(id_of(r));
    Shape shape;
    if (std::find(ids.begin(), ids.end(), kNone) != ids.end() || !tb_.broadcast_shape(ids, &shape))
        return false;
    for (const Sym s : shape) extents->push_back(symbol(s));
    return true;
}

// What NumPy returned is that array, or a view of it.
Steps::Ref TraceSteps::fresh(DType t, Refs extents) {
    PyObject* base =
        numpy::is_array(result_) ? PyArray_BASE(reinterpret_cast<PyArrayObject*>(result_)) : nullptr;
    PyObject* like = base && numpy::is_array(base) ? base : result_;
    Shape shape;
    for (const Ref r : extents) shape.push_back(fixed_extent(tb_, sym(r)));
    const ShadowRef made = numpy::finish(tb_, tb_.empty(t, std::move(shape), like), like);
    return made ? hold({.kind = Held::Shadow, .operand = {made, like}}) : Ref{};
}

Steps::Ref TraceSteps::filled(DType t, Refs extents, Ref number) {
    Shape to;
    for (const Ref r : extents) to.push_back(sym(r));
    if (!number) return made(numpy::finish(tb_, tb_.empty(t, std::move(to), result_), result_));
    Id v = kNone;
    const auto bit = at(number).kind == Held::Integer ? tb_.syms().as_const(sym(number)) : std::nullopt;
    if (bit && (*bit == 0 || *bit == 1)) {
        v = tb_.cast(tb_.scalar_const(DType::Bool, static_cast<uint64_t>(*bit)), t);
    } else {
        Arg a;
        if (!arg(number, &a)) return {};
        v = arg_id(tb_, a, t);
    }
    return v == kNone ? Ref{} : made(numpy::finish(tb_, tb_.full(v, std::move(to), result_), result_));
}

Steps::Ref TraceSteps::progression(DType t, Ref start, Ref step, Ref count) {
    if (!start || !step) return {};
    graph::Node n;
    n.op = Op::Arange;
    n.dtype = t;
    n.in = {id_of(start), id_of(step)};
    n.shape = {fixed_extent(tb_, sym(count))};
    return value(tb_.append(std::move(n)));
}

Steps::Ref TraceSteps::copied(Ref array, DType t) {
    if (!numpy::is_array(result_) || !PyArray_ISONESEGMENT(reinterpret_cast<PyArrayObject*>(result_)))
        return decline("a copy with gaps");
    const Held& h = at(array);
    if (h.kind != Held::Argument || unit_axes_at_entry(tb_, h.operand.shadow))
        return decline("a copy of this layout");
    return value(tb_.cast(id_of(array), t));
}

Steps::Ref TraceSteps::positions(Ref like, int axis) {
    const Shape to = shape(like);
    const auto at_axis = static_cast<size_t>(axis);
    const auto number_of = [&](int64_t v) { return number(integer(v), DType::I64); };
    Id v = id_of(progression(DType::I64, number_of(0), number_of(1), symbol(to[at_axis])));
    ViewStep step;
    step.map = {0};
    step.step = {1};
    step.start = {tb_.int_const(0)};
    step.shape = {to[at_axis]};
    step.shape.resize(to.size() - at_axis, tb_.int_const(1));
    v = tb_.view(v, step);
    return value(v == kNone ? kNone : tb_.broadcast(v, to));
}

bool TraceSteps::store(Ref into, const std::vector<Axis>& part, Ref v) {
    const ViewStep step = step_of(into, part);
    if (std::any_of(step.shape.begin(), step.shape.end(), [&](Sym s) { return tb_.hint(s) == 0; }))
        return true;
    Arg a;
    return arg(v, &a) && store_value(tb_, at(into).operand.shadow, &step, a);
}

ShadowRef TraceSteps::finish(Ref r) {
    if (!r) return nullptr;
    const Held& h = at(r);
    switch (h.kind) {
        case Held::Argument:
            return h.operand.obj == result_ ? h.operand.shadow
                                            : tb_.fail(Reason::ModelMismatch, "an argument as it was");
        case Held::Shadow: return h.operand.shadow;
        case Held::Items: return nullptr;
        case Held::View: {
            const Held& of = at({h.of});
            const bool object = of.kind == Held::Argument || of.kind == Held::Shadow;
            if (object) return tb_.new_view(of.operand.shadow, h.step, result_);
            break;
        }
        default: break;
    }
    return finish_copy(tb_, id_of(r), nodes_before_, result_);
}

// The call's arguments by parameter; those of `*args` come after them, in `rest`.
bool bind(TraceBuilder& tb, const Call& call, const Parameters& parameters, std::vector<const Operand*>* out,
          std::vector<const Operand*>* rest) {
    const size_t keywords = call.kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(call.kwnames)) : 0;
    const size_t positional = call.args.size() - keywords;
    out->assign(parameters.size(), nullptr);
    size_t next = 0;
    for (size_t i = 0; i < positional; ++i) {
        if (next >= parameters.size() || !parameters[next].by_position)
            return tb.fail(Reason::UnknownCall, "a call with that many arguments"), false;
        if (parameters[next].rest)
            rest->push_back(&call.args[i]);
        else
            (*out)[next++] = &call.args[i];
    }
    for (size_t k = 0; k < keywords; ++k) {
        PyObject* name = PyTuple_GET_ITEM(call.kwnames, static_cast<Py_ssize_t>(k));
        size_t i = 0;
        while (i < parameters.size() &&
               !(parameters[i].by_name &&
                 PyUnicode_CompareWithASCIIString(name, parameters[i].name.c_str()) == 0))
            ++i;
        if (i == parameters.size())
            return tb.fail(Reason::UnknownCall, "an argument " + guards::utf8(name)), false;
        (*out)[i] = &call.args[positional + k];
    }
    return true;
}

ShadowRef lower_function(TraceBuilder& tb, const Call& call) {
    const Function& f = *function_of(call.callable);
    const Parameters& parameters = parameters_of(f);
    std::vector<const Operand*> given_arguments, rest;
    tb.reason = Reason::None;
    if (!bind(tb, call, parameters, &given_arguments, &rest)) return nullptr;
    TraceSteps steps(tb, call.result);
    std::vector<Steps::Ref> p, items;
    for (const Operand* o : rest) items.push_back(steps.argument(*o));
    for (size_t i = 0; i < parameters.size(); ++i) {
        const Operand* o = given_arguments[i];
        // None is a value to some parameters, np._NoValue to none.
        if (o && (parameters[i].optional || is_no_value(o->obj))) o = given(tb, o);
        p.push_back(o ? steps.argument(*o) : Steps::Ref{});
        if (parameters[i].rest && !items.empty()) p.back() = steps.items_of(items);
    }
    return p[0] ? steps.finish(f.lower(steps, p)) : nullptr;
}

}  // namespace

void register_functions() {
    std::vector<CallRow> rows;
    for (const auto family : {views(), elementwise(), reductions(), assembly(), creation(), lookup()})
        for (const Function& f : family)
            rows.push_back({.where = f.where, .lower = lower_function, .function = &f});
    add_rows(rows);
}

}  // namespace stator::frontend::numpy
