// Expressions of arrays become nests (graph/region/region.h). See value.h and builder.h.

#include <algorithm>

#include "frontend/policy.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

using graph::RegionOp;

DType element_type(DType t) { return t == DType::C64 ? DType::F32 : t == DType::C128 ? DType::F64 : t; }

}  // namespace

// ---- complex numbers are pairs of floats ----

ValueId Builder::part(ValueId array, int which) {
    const graph::RegionType t = r_->types[static_cast<size_t>(array)];
    graph::Inst inst;
    inst.op = RegionOp::Part;
    inst.in = {array};
    inst.ints = {which};
    return emit(std::move(inst), {element_type(t.dtype), t.rank});
}

ExprRef Builder::component(const ExprRef& e, int which) {
    if (!graph::is_complex(e->dtype))
        return which == 0 ? e : number_expr(e->dtype, cast(const_float(0), DType::F64, e->dtype));
    if (e->kind == Expr::Pair) return e->in[static_cast<size_t>(which)];
    auto x = std::make_shared<Expr>(*e);  // a Leaf, a Take or a Next
    x->dtype = element_type(e->dtype);
    x->id = part(e->id, which);
    x->whole = e->id;
    if (e->narrow >= 0) x->narrow = part(e->narrow, which);
    return x;
}

std::vector<Builder::NestOut> Builder::components(const NestOut& out) {
    if (!graph::is_complex(out.value->dtype)) return {out};
    std::vector<NestOut> both;
    for (const int k : {0, 1}) both.push_back({part(out.dest, k), component(out.value, k)});
    return both;
}

// ---- values at a point ----

ValueId Builder::nest_value(graph::NestBody& body, const ExprRef& e, std::map<const Expr*, ValueId>& done) {
    if (e->kind == Expr::Number) return e->id;
    if (auto it = done.find(e.get()); it != done.end()) return it->second;
    if (e->kind == Expr::Take) return done[e.get()] = nest_take(body, e, done);
    graph::Inst inst;
    inst.line = code().insns[static_cast<size_t>(pc_)].line;
    switch (e->kind) {
        case Expr::Leaf:
            for (const graph::Inst& i : body.insts)
                if (i.op == RegionOp::NestLoad && i.in[0] == e->id) return done[e.get()] = i.result;
            inst.op = RegionOp::NestLoad;
            inst.in = {e->id};
            break;
        case Expr::Next:
            inst.op = RegionOp::NestNext;
            inst.in = {e->id};
            break;
        case Expr::Axis:
            inst.op = RegionOp::NestIndex;
            inst.ints = {e->axis};
            break;
        case Expr::Call:
            inst.op = RegionOp::Call;
            inst.operand = e->dtype;
            inst.ints = {e->call};
            for (const ExprRef& x : e->in) inst.in.push_back(nest_value(body, x, done));
            break;
        default:
            inst.op = e->kind == Expr::Fma ? RegionOp::Fma : RegionOp::Pointwise;
            inst.pointwise = e->op;
            // `where` has its condition first.
            inst.operand = e->in.back()->dtype;
            for (const ExprRef& x : e->in) inst.in.push_back(nest_value(body, x, done));
    }
    inst.result = r_->add({e->dtype, -1});
    const ValueId id = inst.result;
    body.insts.push_back(std::move(inst));
    done.emplace(e.get(), id);
    return id;
}

ValueId Builder::nest_take(graph::NestBody& body, const ExprRef& e, std::map<const Expr*, ValueId>& done) {
    graph::Inst take;
    take.op = RegionOp::NestTake;
    take.line = code().insns[static_cast<size_t>(pc_)].line;
    take.in = places_in_range(body, *e, done);
    take.in.insert(take.in.begin(), e->id);
    take.result = r_->add({e->dtype, -1});
    body.insts.push_back(take);
    return take.result;
}

// The indices of a Take, wrapped and looked at. Those that both parts of a complex number share are one.
std::vector<ValueId> Builder::places_in_range(graph::NestBody& body, const Expr& take,
                                              std::map<const Expr*, ValueId>& done) {
    std::vector<ValueId> out;
    for (size_t axis = 0; axis < take.in.size(); ++axis) {
        const ValueId at = nest_value(body, take.in[axis], done);
        if (take.in[axis]->kind == Expr::Axis) {
            out.push_back(at);
            continue;
        }
        graph::Inst within;
        within.op = RegionOp::NestWithin;
        within.line = code().insns[static_cast<size_t>(pc_)].line;
        within.in = {at, take.extents[axis]};
        ValueId there = -1;
        for (const graph::Inst& i : body.insts)
            if (i.op == RegionOp::NestWithin && i.in == within.in) there = i.result;
        if (there < 0) {
            there = within.result = r_->add({DType::I64, -1});
            body.insts.push_back(std::move(within));
        }
        out.push_back(there);
    }
    return out;
}

// ---- nests ----

// With `faults` or `indexes` the region leaves after it when there was one.
bool Builder::emit_nest(RegionOp op, graph::NestBody body, const std::vector<ValueId>& extents, bool faults,
                        bool indexes, ValueId* count) {
    graph::Inst nest;
    nest.op = op;
    nest.in = extents;
    nest.ints = {static_cast<int64_t>(r_->nests.size()),
                 (faults ? kFlags : 0) | (indexes ? graph::kIndexFault : 0)};
    if (faults || indexes) {
        nest.exit = exit_here();
        if (nest.exit < 0) return false;
        out_->raises |= faults;
    }
    r_->nests.push_back(std::move(body));
    if (op == RegionOp::Pack)
        *count = emit(std::move(nest), {DType::I64, -1});
    else
        emit_effect(std::move(nest));
    return true;
}

// dest = value at all points, or where the mask holds.
bool Builder::put(const std::vector<ValueId>& extents, const ExprRef& mask, ValueId dest,
                  const ExprRef& value, bool checks) {
    graph::NestBody body;
    std::map<const Expr*, ValueId> done;
    if (mask) {
        graph::Inst when;
        when.op = RegionOp::NestWhen;
        when.in = {nest_value(body, mask, done)};
        body.insts.push_back(std::move(when));
    }
    const std::vector<NestOut> outs = components({dest, value});
    std::vector<ValueId> values;
    for (const NestOut& o : outs) values.push_back(nest_value(body, o.value, done));
    for (size_t k = 0; k < outs.size(); ++k) {
        graph::Inst put;
        put.op = RegionOp::NestStore;
        put.in = {outs[k].dest, values[k]};
        body.insts.push_back(std::move(put));
    }
    return emit_nest(RegionOp::Nest, std::move(body), extents,
                     checks && (value->faults || (mask && mask->faults)),
                     checks && (value->indexes || (mask && mask->indexes)), nullptr);
}

// Whether computing it twice costs less than putting it into memory in between.
bool Builder::is_cheap(const ExprRef& e) {
    std::set<const Expr*> seen;
    std::vector<const Expr*> todo{e.get()};
    int reads = 0, ops = 0;
    while (!todo.empty()) {
        const Expr* x = todo.back();
        todo.pop_back();
        if (!seen.insert(x).second) continue;
        const bool slow = x->kind == Expr::Call || x->kind == Expr::Take ||
                          (x->kind == Expr::Op && (x->op == graph::Op::Divide || x->op == graph::Op::Sqrt ||
                                                   x->op == graph::Op::Reciprocal));
        if (slow) return false;
        reads += x->kind == Expr::Leaf ? (x->whole >= 0 ? 1 : 2) : 0;
        ops += x->kind == Expr::Op || x->kind == Expr::Fma;
        for (const ExprRef& y : x->in) todo.push_back(y.get());
    }
    return reads <= 2 * policy().cheap_reads && ops <= policy().cheap_ops;
}

// Computes it for what it may raise, and leaves when there was something.
bool Builder::probe(const std::vector<ValueId>& extents, const ExprRef& mask, const ExprRef& value) {
    graph::NestBody body;
    std::map<const Expr*, ValueId> done;
    if (mask) {
        graph::Inst when;
        when.op = RegionOp::NestWhen;
        when.in = {nest_value(body, mask, done)};
        body.insts.push_back(std::move(when));
    }
    for (const int k : {0, 1})
        if (k == 0 || graph::is_complex(value->dtype)) nest_value(body, component(value, k), done);
    return emit_nest(RegionOp::Nest, std::move(body), extents, value->faults || (mask && mask->faults),
                     value->indexes || (mask && mask->indexes), nullptr);
}

bool Builder::drop(const Value& v) {
    if (v.expr) return !v.expr->checked() || probe(v.extents, v.mask, v.expr);
    return std::all_of(v.items.begin(), v.items.end(), [&](const Value& item) { return drop(item); });
}

bool Builder::fill(ValueId dest, const std::vector<ValueId>& extents, const ExprRef& value, bool checks) {
    return put(extents, nullptr, dest, value, checks);
}

}  // namespace stator::frontend::regions
