// Functions of elements that have no code of their own, inside of expressions: the ufunc's loop, called for
// some hundred elements at a time (kernels/llvm/regions/calls.cpp). Its bits do not depend on how many
// elements a call is given, but on whether it is given them backwards: then NumPy is called as a whole
// (build/numpy/host.cpp).

#include <algorithm>
#include <bit>

#include "frontend/hosts/numpy/runtime.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

// The value of a constant.
std::optional<double> Builder::known_float(const Value& v) const {
    if (v.kind == Kind::Int) {
        const auto k = known_int(v.id);
        return k ? std::optional<double>(static_cast<double>(*k)) : std::nullopt;
    }
    if (v.kind != Kind::Float) return std::nullopt;
    for (const graph::Block& b : r_->blocks)
        for (const graph::Inst& i : b.insts)
            if (i.result == v.id && i.op == graph::RegionOp::Const) return std::bit_cast<double>(i.ints[0]);
    return std::nullopt;
}

// All operands and the result are of dtype t.
bool Builder::elementwise_call(const std::string& ufunc, DType t, const std::vector<Value>& in, Value* out) {
    const std::vector<DType> types(in.size() + 1, t);
    const bool backward =
        std::any_of(in.begin(), in.end(), [](const Value& v) { return v.kind == Kind::Array && v.backward; });
    if (backward || !graph::is_float(t) || t == DType::F16 || !numpy::find_loop({ufunc, types}).fn)
        return unknown("np." + ufunc + " of arrays");
    Operands of;
    if (!operands_of(in, &of)) return false;
    auto e = std::make_shared<Expr>();
    e->kind = Expr::Call;
    e->dtype = t;
    e->call = call_index({graph::RegionCall::UfuncLoop, ufunc, types});
    e->faults = true;
    for (size_t i = 0; i < in.size(); ++i) {
        ExprRef& x = of.in[i];
        if (x) {
            if (!cast_expr(&x, t)) return false;
        } else {
            ValueId id;
            if (!convert(in[i], t, &id)) return false;
            x = number_expr(t, id);
        }
        e->indexes |= x->indexes;
    }
    e->in = of.in;
    *out = lazy(of, e);
    return true;
}

// a ** b for exponents for which NumPy has no shortcut.
bool Builder::power_by_constant(DType t, const Value& a, const Value& b, Value* out) {
    constexpr double kShortcuts[] = {-1, 0, 0.5, 1, 2};
    const auto exponent = known_float(b);
    if (!exponent ||
        std::find(std::begin(kShortcuts), std::end(kShortcuts), *exponent) != std::end(kShortcuts))
        return unknown("a power of arrays");
    return elementwise_call("power", t, {a, b}, out);
}

}  // namespace stator::frontend::regions
