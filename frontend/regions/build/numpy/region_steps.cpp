// The steps of NumPy's functions (frontend/hosts/numpy/functions/steps.h) as instructions of a region.
//
// Elementwise steps stay expressions, which are computed where something needs their elements. Where a step
// is none that regions know, the call is NumPy's own (build/numpy/host.cpp).

#include <algorithm>

#include "frontend/hosts/numpy/functions/table.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/regions/build/builder.h"
#include "guards/check/names.h"

namespace stator::frontend::regions {

using numpy::Steps;

class RegionSteps final : public Steps {
  public:
    explicit RegionSteps(Builder& b) : b_(b) {}

    Ref hold(Value v) {
        held_.push_back(std::move(v));
        return {static_cast<int>(held_.size()) - 1};
    }
    const Value& at(Ref r) const { return held_[static_cast<size_t>(r.at)]; }

    bool is_none(Ref v) override { return at(v).is_none(); }
    bool is_array(Ref v) override { return at(v).is_array(); }
    DType dtype(Ref v) override { return at(v).dtype; }
    int rank(Ref v) override { return at(v).rank; }
    bool is_number(Ref v) override { return at(v).is_number() || at(v).is_complex_number(); }
    bool is_int(Ref v) override { return at(v).kind == Kind::Int; }
    bool fixed_int(Ref v, int64_t* out) override {
        const auto k = v && at(v).kind == Kind::Int ? b_.known_int(at(v).id) : std::nullopt;
        if (k) *out = *k;
        return k.has_value();
    }
    bool fixed_float(Ref v, double* out) override {
        const auto k = v ? b_.known_float(at(v)) : std::nullopt;
        if (k) *out = *k;
        return k.has_value();
    }
    bool fixed_bool(Ref v, bool* out) override {
        const auto k = v && at(v).kind == Kind::Bool ? b_.known_bool(at(v)) : std::nullopt;
        if (k) *out = *k;
        return k.has_value();
    }
    bool fixed_dtype(Ref v, DType* out) override { return b_.dtype_argument(at(v), *out, out); }
    std::string_view name_of_ufunc(Ref v) override {
        return at(v).kind == Kind::Known ? numpy::ufunc_name(at(v).obj) : std::string_view();
    }
    bool is_numpy_float(Ref v) override {
        return at(v).kind == Kind::Scalar && graph::is_float(at(v).dtype) && at(v).dtype != DType::F16;
    }
    bool in_order_of_c(Ref array) override {
        const Value& v = at(array);
        return !v.permuted && (v.rank == 1 || b_.is_dense(v));
    }
    // In the order of its strides, which new axes and those of extent 1 have, too.
    bool like_is_known(Ref array) override {
        const Value& v = at(array);
        if (!is_straight(array)) return false;
        return v.rank == 1 || b_.is_dense(v);
    }
    bool knows_unit_axes(Ref) override { return true; }
    bool is_straight(Ref array) override { return !at(array).permuted && !at(array).mask; }
    bool takes_order(Ref order) override { return default_order(order); }
    bool result_dtype(Refs arrays, DType* out) override {
        *out = at(arrays[0]).dtype;
        for (const Ref r : arrays)
            if (at(r).dtype != *out) return decline("putting together arrays of several dtypes"), false;
        return true;
    }
    bool shape_of(Ref shape, std::vector<Ref>* out) override;
    bool is_text(Ref v, std::string_view text) override {
        const Value& x = at(v);
        return x.kind == Kind::Known && PyUnicode_Check(x.obj) && guards::utf8(x.obj) == text;
    }
    // Of what is not looked into, too: it is no int, so that it is declined all the same.
    bool is_list(Ref v) override { return at(v).kind == Kind::List; }
    bool items(Ref v, std::vector<Ref>* out) override {
        if (!v || (at(v).kind != Kind::Tuple && at(v).kind != Kind::List)) return false;
        out->clear();
        for (const Value& item : std::vector<Value>(at(v).items)) out->push_back(hold(item));
        return true;
    }

    Ref integer(int64_t v) override { return hold(int_value(b_.const_int(v))); }
    Ref extent(Ref array, int axis) override {
        return settle(array) ? hold(int_value(b_.extents_of(at(array))[static_cast<size_t>(axis)])) : Ref{};
    }
    Ref sum(Ref a, Ref b) override { return integers(graph::Op::Add, a, b); }
    Ref difference(Ref a, Ref b) override { return integers(graph::Op::Subtract, a, b); }
    Ref product(Ref a, Ref b) override { return integers(graph::Op::Multiply, a, b); }
    Ref modulo(Ref a, Ref n) override {
        if (!a || !n) return {};
        const ValueId one = b_.const_int(1);
        const ValueId by =
            b_.pointwise(graph::Op::Maximum, DType::I64, DType::I64, {at(n).id, one});  // where there is none
        const ValueId rest = b_.checked(graph::RegionOp::FloorMod, DType::I64, at(a).id, by);
        return rest < 0 ? Ref{} : hold(int_value(rest));
    }
    Ref quotient(Ref a, int64_t n) override {
        if (!a) return {};
        const ValueId q = b_.checked(graph::RegionOp::FloorDiv, DType::I64, at(a).id, b_.const_int(n));
        return q < 0 ? Ref{} : hold(int_value(q));
    }
    bool is_so(guards::Relation r, Ref a, Ref b) override { return outcome(r, a, b).value_or(false); }
    bool require(guards::Relation r, Ref a, Ref b) override;
    bool has_at_least(Ref array, int axis, int64_t n) override {
        const Ref have = extent(array, axis);
        if (have && n <= 2 && b_.plural_.contains(at(have).id)) return true;
        return require(guards::Relation::Ge, have, integer(n));
    }

    Ref number(Ref integer, DType t) override {
        return integer ? hold(scalar_value(t, b_.cast(at(integer).id, DType::I64, t))) : Ref{};
    }
    Ref real(double v) override { return hold(scalar_value(DType::F64, b_.const_float(v))); }
    Ref ufunc(std::string_view name, std::initializer_list<Ref> in) override {
        return elementwise(name, {in.begin(), in.size()});
    }
    Ref whole_ufunc(std::string_view name, Refs in, Ref out) override;
    Ref cast(Ref v, DType t) override;
    Ref reduce(std::string_view ufunc, Ref v, const Axes& axes, Ref like, DType t) override;
    Ref accumulate(std::string_view, Ref vector) override {
        Value out;
        return b_.running_sum(at(vector), &out) ? hold(std::move(out)) : Ref{};
    }
    Ref position(bool greatest, Ref array, std::optional<int> axis) override {
        Value out;
        if (axis) return decline("positions along an axis");
        return b_.position(greatest, at(array), &out) ? hold(std::move(out)) : Ref{};
    }
    Ref place(Ref sorted, Ref key, bool after) override {
        Value out;
        return b_.place(at(sorted), at(key), after, &out) ? hold(std::move(out)) : Ref{};
    }
    Ref interpolated(Ref x, Ref xp, Ref fp) override {
        Value out;
        return b_.interpolated(at(x), at(xp), at(fp), &out) ? hold(std::move(out)) : Ref{};
    }
    Ref count_true(Ref bools) override {
        Value out;
        return b_.reduce_mask("count_nonzero", at(bools), &out) ? hold(std::move(out)) : Ref{};
    }
    void note_reduction(Ref array, const Axes& axes, bool keepdims) override {
        b_.reducing_ = {at(array), {axes, keepdims}};
    }
    Ref select(Ref condition, Ref x, Ref y) override;
    Ref dot(Ref x, Ref y) override;
    Ref keep_axes(Ref v, const Axes& axes) override;
    Ref view(Ref array, const std::vector<Axis>& axes) override;
    Ref reshape(Ref array, Refs extents) override {
        std::vector<Value> items;
        for (const Ref r : extents) items.push_back(at(r));
        return reshaped(array, items, false);
    }
    Ref ravel(Ref array) override { return reshaped(array, {int_value(b_.const_int(-1))}, true); }
    Ref flat_copy(Ref array) override {
        const Ref flat = reshaped(array, {int_value(b_.const_int(-1))}, false);
        Value out;
        return flat && b_.copy_of(at(flat), &out) ? hold(std::move(out)) : Ref{};
    }
    Ref flattened(Ref array) override { return at(array).rank == 1 ? array : decline("all axes as one"); }
    Ref shaped_like(Ref made, Ref) override { return view(made, whole(made)); }
    bool broadcast(Refs in, std::vector<Ref>* extents) override;
    Ref fresh(DType t, Refs extents) override {
        std::vector<ValueId> ids;
        for (const Ref r : extents) {
            if (!r) return {};
            ids.push_back(at(r).id);
        }
        Value made;
        return b_.memory(t, ids, true, &made) ? hold(std::move(made)) : Ref{};
    }
    Ref filled(DType t, Refs extents, Ref number) override;
    Ref progression(DType t, Ref start, Ref step, Ref count) override;
    Ref copied(Ref array, DType t) override {
        Value out;
        if (!b_.copy_of(at(array), &out)) return {};
        if (at(array).permuted) return decline("a copy of an array in another order than C's");
        return cast(hold(std::move(out)), t);
    }
    Ref positions(Ref like, int axis) override;
    bool only_extents_of(Ref array) override { return b_.drop(at(array)); }
    bool store(Ref into, const std::vector<Axis>& part, Ref value) override;
    Ref computed_once(Ref v) override {
        Value array;
        if (at(v).kind != Kind::Lazy) return v;
        return b_.as_array(at(v), &array) ? hold(std::move(array)) : Ref{};
    }

    Ref decline(std::string why) override {
        if (b_.reason_ == Reason::None) b_.unknown(std::move(why));
        return {};
    }

  private:
    // How many elements a mask selects is known once they are in memory.
    bool settle(Ref r) {
        Value packed;
        Value& v = held_[static_cast<size_t>(r.at)];
        return !v.mask || (b_.as_array(v, &packed) && (v = std::move(packed), true));
    }
    Ref along(int axis, std::vector<ValueId> extents);  // the index along an axis
    std::optional<bool> outcome(guards::Relation r, Ref a, Ref b);
    Ref integers(graph::Op op, Ref a, Ref b) {
        if (!a || !b) return {};
        return hold(int_value(b_.pointwise(op, DType::I64, DType::I64, {at(a).id, at(b).id})));
    }
    Ref reshaped(Ref array, const std::vector<Value>& extents, bool ravels) {
        Value out;
        if (at(array).rank == 0) return decline("a reshape of an array without axes");
        return b_.reshape(at(array), extents, &out, ravels) ? hold(std::move(out)) : Ref{};
    }
    Ref elementwise(std::string_view name, Refs in);
    bool bound_of_clip(Ref* r);

    Builder& b_;
    std::deque<Value> held_;
};

std::optional<bool> RegionSteps::outcome(guards::Relation r, Ref a, Ref b) {
    using guards::Relation;
    const auto x = b_.known_int(at(a).id), y = b_.known_int(at(b).id);
    if (at(a).id == at(b).id && (r == Relation::Eq || r == Relation::Ge)) return true;
    if (!x || !y) return std::nullopt;
    return r == Relation::Eq   ? *x == *y
           : r == Relation::Ne ? *x != *y
           : r == Relation::Ge ? *x >= *y
                               : *x < *y;
}

bool RegionSteps::require(guards::Relation r, Ref a, Ref b) {
    using guards::Relation;
    if (!a || !b) return false;
    if (const auto so = outcome(r, a, b)) return *so;
    const auto op = r == Relation::Eq   ? graph::Op::Equal
                    : r == Relation::Ne ? graph::Op::NotEqual
                    : r == Relation::Ge ? graph::Op::GreaterEqual
                                        : graph::Op::Less;
    return b_.guard(b_.pointwise(op, DType::I64, DType::Bool, {at(a).id, at(b).id}));
}

Steps::Ref RegionSteps::elementwise(std::string_view name, Refs in) {
    Value out;
    const std::string ufunc(name);
    bool done = false;
    if (in.size() == 1) {
        done = b_.unary_ufunc(ufunc, at(in[0]), &out);
    } else if (in.size() == 2) {
        done = b_.binary_ufunc(ufunc, at(in[0]), at(in[1]), &out);
    } else {
        std::vector<Value> operands;
        for (const Ref r : in) operands.push_back(at(r));
        done = b_.elementwise_call(ufunc, operands[0].dtype, operands, &out);
    }
    return done ? hold(std::move(out)) : decline("np." + ufunc);
}

// The loop takes bounds that stand still in another way than those in memory: which shows in signed zeros.
// NumPy gives it one element as a bound that stands still, and an array that is filled with one number as one
// that does not.
bool RegionSteps::bound_of_clip(Ref* r) {
    const Value& v = at(*r);
    if (!v.is_array()) return true;
    const std::vector<ValueId> extents = b_.extents_of(v);
    if (std::all_of(extents.begin(), extents.end(), [&](ValueId n) { return b_.known_int(n) == 1; }))
        return false;
    if (v.kind != Kind::Lazy || v.expr->kind != Expr::Number) return true;
    Value filled;
    if (!b_.as_array(v, &filled)) return false;
    *r = hold(std::move(filled));
    return true;
}

// Operands of other dtypes than the first one's are converted before, which only numbers of Python's do not
// show.
Steps::Ref RegionSteps::whole_ufunc(std::string_view name, Refs in, Ref out) {
    const DType t = at(in[0]).dtype;
    for (const Ref r : in) {
        const Value& v = at(r);
        const bool plain = v.kind == Kind::Int || v.kind == Kind::Float;
        const bool same = v.dtype == t && (v.is_array() || v.kind == Kind::Scalar);
        if ((t != DType::F64 && t != DType::F32) || (!plain && !same))
            return decline("np." + std::string(name) + " of such operands");
    }
    std::vector<Ref> operands(in.begin(), in.end());
    if (name == "clip")
        for (size_t i = 1; i < operands.size(); ++i)
            if (!bound_of_clip(&operands[i])) return decline("np.clip with such a bound");
    const Ref made = elementwise(name, operands);
    if (!made || !out) return made;
    Value stored;
    return b_.into(at(out), at(made), &stored) ? hold(std::move(stored)) : Ref{};
}

Steps::Ref RegionSteps::cast(Ref v, DType t) {
    Value x = at(v);
    if (x.dtype == t) return v;
    if (!x.is_array()) {
        x = scalar_value(t, b_.cast(x.id, x.dtype, t));
        return b_.finite(x.id, t) ? hold(std::move(x)) : Ref{};
    }
    Value copy;
    if (x.kind != Kind::Lazy) {
        if (!b_.copy_of(x, &copy)) return {};
        x = std::move(copy);
    }
    if (!b_.cast_expr(&x.expr, t)) return {};
    x.dtype = t;
    return hold(std::move(x));
}

Steps::Ref RegionSteps::reduce(std::string_view ufunc, Ref v, const Axes& axes, Ref, DType t) {
    const bool all = static_cast<int>(axes.size()) == at(v).rank;
    Value out;
    if (at(v).dtype == DType::Bool) {
        const char* const name = ufunc == "add"           ? "sum"
                                 : ufunc == "logical_and" ? "all"
                                 : ufunc == "logical_or"  ? "any"
                                                          : nullptr;
        if (!name || !all || t != (ufunc == "add" ? DType::I64 : DType::Bool))
            return decline("such a reduction of bools");
        return b_.reduce_mask(name, at(v), &out) ? hold(std::move(out)) : Ref{};
    }
    // NumPy converts other numbers to floats block by block.
    if (at(v).dtype != t && (!graph::is_integer(at(v).dtype) || !graph::is_integer(t)))
        return decline("a reduction in another dtype");
    if (!settle(v) || !(v = cast(v, t))) return {};
    const Value& a = at(v);
    if (all) return b_.reduce(std::string(ufunc), a, &out) ? hold(std::move(out)) : Ref{};
    Builder::Reduction r;
    r.axes = axes;
    return b_.reduce_along(std::string(ufunc), r, a, &out) ? hold(std::move(out)) : Ref{};
}

Steps::Ref RegionSteps::select(Ref condition, Ref x, Ref y) {
    Value out;
    for (const Ref r : {condition, x, y}) {
        const Value& v = at(r);
        if (!v.is_number() && !v.is_array() && !v.is_complex_number())
            return decline("where of such operands");
    }
    return b_.where(at(condition), at(x), at(y), &out) ? hold(std::move(out)) : Ref{};
}

Steps::Ref RegionSteps::dot(Ref x, Ref y) {
    Value a, b, out;
    if (!b_.contiguous_vector(at(x), &a)) return {};
    if (x.at != y.at && !b_.contiguous_vector(at(y), &b)) return {};
    return b_.dot(a, x.at == y.at ? a : b, false, &out) ? hold(std::move(out)) : Ref{};
}

Steps::Ref RegionSteps::keep_axes(Ref v, const Axes& axes) {
    Value x = at(v);
    if (!x.is_array()) return decline("an array of one element");
    if (x.kind == Kind::Lazy && !b_.fresh_array(&x)) return {};  // what is returned is no view
    Builder::Reduction r;
    r.axes = axes;
    return b_.keep_reduced_axes(r, &x) ? hold(std::move(x)) : Ref{};
}

Steps::Ref RegionSteps::view(Ref r, const std::vector<Axis>& axes) {
    using KeyPart = Builder::KeyPart;
    Value array, out;
    if (!b_.as_array(at(r), &array)) return {};
    std::vector<KeyPart> parts(static_cast<size_t>(array.rank), KeyPart{KeyPart::All, -1, -1, -1, 1});
    std::vector<int> from;  // of each axis of the result: an axis of `array`, or one that is new behind them
    int fresh = array.rank;
    bool narrows = false;
    for (const Axis& a : axes) {
        if (a.kind != Axis::Drop) from.push_back(a.kind == Axis::New ? fresh++ : a.of);
        narrows |= a.kind != Axis::Whole;
        if (a.kind == Axis::New) {
            parts.push_back({KeyPart::New, -1, -1, -1, 1});
            continue;
        }
        KeyPart& p = parts[static_cast<size_t>(a.of)];
        const Value none = known(Py_None);
        if (a.kind == Axis::Drop) p = {KeyPart::Index, at(a.start).id, -1, -1, 1};
        if (a.kind == Axis::Part) p = {KeyPart::Slice, at(a.start).id, at(a.count).id, b_.const_int(1), 1};
        if (a.kind == Axis::Reversed &&
            !b_.slice_part(composed(Kind::Slice, {none, none, int_value(b_.const_int(-1))}),
                           b_.extent(array.id, a.of), &p))
            return {};
    }
    std::vector<int> kept = from, order;
    std::sort(kept.begin(), kept.end());
    for (const int axis : from)
        order.push_back(static_cast<int>(std::find(kept.begin(), kept.end(), axis) - kept.begin()));
    const bool moves = !std::is_sorted(order.begin(), order.end());
    if (from.empty()) {  // of one element: its value, which steps take as well
        std::vector<ValueId> place;
        for (const KeyPart& p : parts) place.push_back(p.a);
        return b_.load_element(array, place, &out) ? hold(std::move(out)) : Ref{};
    }
    if (narrows || !moves) {
        if (!b_.view(array, parts, &out)) return {};
        array = std::move(out);
    }
    if (moves && !b_.permute(Value(array), order, &array)) return {};
    return hold(std::move(array));
}

bool RegionSteps::shape_of(Ref shape, std::vector<Ref>* out) {
    if (!shape) return decline("an array without a shape"), false;
    std::vector<Ref> named;
    if (!items(shape, &named)) named = {shape};
    for (const Ref r : named) {
        ValueId n;
        if (!b_.to_int(at(r), &n)) return false;
        out->push_back(hold(int_value(n)));
        if (!require(guards::Relation::Ge, out->back(), integer(0)))
            return decline("an array of such a shape"), false;
    }
    return true;
}

Steps::Ref RegionSteps::filled(DType t, Refs extents, Ref number) {
    Value out;
    out.kind = Kind::Lazy;
    out.dtype = t;
    out.rank = static_cast<int>(extents.size());
    for (const Ref r : extents) out.extents.push_back(at(r).id);
    if (out.rank == 0) return decline("an array of no axes");
    const Value value = number ? at(number) : int_value(b_.const_int(0));
    return b_.element_expr(value, t, &out.expr) ? hold(std::move(out)) : Ref{};
}

Steps::Ref RegionSteps::positions(Ref like, int axis) { return along(axis, b_.extents_of(at(like))); }

Steps::Ref RegionSteps::along(int axis, std::vector<ValueId> extents) {
    Value out;
    auto place = std::make_shared<Expr>();
    place->kind = Expr::Axis;
    place->dtype = DType::I64;
    place->axis = axis;
    out.kind = Kind::Lazy;
    out.dtype = DType::I64;
    out.rank = static_cast<int>(extents.size());
    out.extents = std::move(extents);
    out.expr = std::move(place);
    return hold(std::move(out));
}

// As NumPy's loops compute it: start + i * step.
Steps::Ref RegionSteps::progression(DType t, Ref start, Ref step, Ref count) {
    if (!start || !step || !count) return {};
    const Ref at_each = cast(along(0, {at(count).id}), t);
    const Ref steps = at_each ? ufunc("multiply", {at_each, step}) : Ref{};
    return steps ? ufunc("add", {start, steps}) : Ref{};
}

bool RegionSteps::broadcast(Refs in, std::vector<Ref>* extents) {
    std::vector<ValueId> joined;
    for (const Ref r : in)
        if (at(r).is_array() && !b_.join_extents(std::vector<ValueId>(joined), b_.extents_of(at(r)), &joined))
            return false;
    for (const ValueId id : joined) extents->push_back(hold(int_value(id)));
    return true;
}

// Into memory that nobody sees yet, so that what follows may still leave.
bool RegionSteps::store(Ref into, const std::vector<Axis>& part, Ref value) {
    const auto dropped = [](const Axis& a) { return a.kind == Axis::Drop; };
    if (std::all_of(part.begin(), part.end(), dropped)) {
        std::vector<ValueId> place(part.size());
        for (const Axis& a : part) place[static_cast<size_t>(a.of)] = at(a.start).id;
        const DType t = at(into).dtype;
        if (!at(value).is_number()) return decline("an element that is no number"), false;
        b_.store_element(at(into), place, Builder::number_expr(t, b_.cast(at(value).id, at(value).dtype, t)));
        return true;
    }
    const Ref place = view(into, part);
    if (!place || !at(value).is_array()) return decline("a store of a number"), false;
    const Value &to = at(place), &v = at(value);
    const std::vector<ValueId> extents = b_.extents_of(to);
    ExprRef own, e;
    return b_.lazy_of(v, &own) && b_.align(own, b_.extents_of(v), extents, &e) &&
           b_.cast_expr(&e, to.dtype) && b_.fill(to.id, extents, e, true);
}

// Declined: NumPy's function stands elsewhere.
Did Builder::call_taught(PyObject* callable, const std::vector<Value>& args, Value* out) {
    const numpy::Function* f = numpy::function_of(callable);
    if (!f || args.empty() || args[0].kind == Kind::Empty) return Did::Declined;
    RegionSteps steps(*this);
    std::vector<Steps::Ref> p;
    for (const numpy::Parameter& parameter : numpy::parameters_of(*f)) {
        const size_t i = p.size();
        const bool left_out = i >= args.size() || args[i].kind == Kind::Empty;
        p.push_back(left_out || (parameter.optional && args[i].is_none()) ? Steps::Ref{}
                                                                          : steps.hold(args[i]));
    }
    const Steps::Ref made = f->lower(steps, p);
    if (!made) return false;
    *out = steps.at(made);
    return true;
}

}  // namespace stator::frontend::regions
