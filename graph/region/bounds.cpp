// Bounds by substitution: the value that is computed last is replaced by a bound of it in terms of values
// computed earlier, until only values known in front of the loop are left.
//
// A loop that counts down (range) is the base: its counter c lies in [1, count] inside its body, and what
// advances by d each time is start + d * (count - c). Conditions that dominate give the rest, and those of
// all ways into a loop that tests at its end (`while`).
#include "graph/region/bounds.h"

#include <algorithm>

namespace stator::graph {
namespace {

constexpr size_t kMaxTerms = 6, kMaxResults = 4;
constexpr int64_t kMaxFactor = 1 << 10, kMaxConstant = int64_t{1} << 58;
constexpr int kMaxDepth = 16, kBudget = 400;
constexpr RegionType kI64{DType::I64, -1};

LinearForm constant_form(int64_t c) { return {c, {}}; }
LinearForm value_form(ValueId v) { return {0, {{v, 1}}}; }

}  // namespace

int64_t LinearForm::factor(ValueId v) const {
    for (const auto& [id, k] : terms)
        if (id == v) return k;
    return 0;
}

MaybeForm add_scaled(const LinearForm& a, const LinearForm& b, int64_t factor) {
    LinearForm sum{0, a.terms};
    if (__builtin_mul_overflow(b.constant, factor, &sum.constant) ||
        __builtin_add_overflow(sum.constant, a.constant, &sum.constant) || sum.constant > kMaxConstant ||
        sum.constant < -kMaxConstant)
        return std::nullopt;
    for (const auto& [v, k] : b.terms) {
        const auto at = std::lower_bound(sum.terms.begin(), sum.terms.end(), std::pair{v, INT64_MIN});
        if (at != sum.terms.end() && at->first == v)
            at->second += k * factor;
        else
            sum.terms.insert(at, {v, k * factor});
    }
    std::erase_if(sum.terms, [](const auto& t) { return t.second == 0; });
    for (const auto& [v, k] : sum.terms)
        if (k > kMaxFactor || k < -kMaxFactor) return std::nullopt;
    if (sum.terms.size() > kMaxTerms) return std::nullopt;
    return sum;
}

RegionBounds::RegionBounds(const Region& r, const RegionCfg& cfg, BlockId outer, std::vector<Range> ranges)
    : r_(r),
      cfg_(cfg),
      outer_(outer),
      place_(r.types.size()),
      forming_(r.types.size(), 0),
      ranges_(std::move(ranges)) {
    for (size_t b = 0; b < r.blocks.size(); ++b) {
        const auto id = static_cast<BlockId>(b);
        for (size_t k = 0; k < r.blocks[b].params.size(); ++k)
            place_[static_cast<size_t>(r.blocks[b].params[k])] = {id, static_cast<int>(k), nullptr};
        for (const Inst& i : r.blocks[b].insts)
            if (i.result >= 0) place_[static_cast<size_t>(i.result)] = {id, -1, &i};
    }
    find_counters();
}

bool RegionBounds::is_atom(ValueId v) const {
    const BlockId b = block_of(v);
    return b < 0 || !cfg_.dominates(outer_, b);
}

std::optional<int64_t> RegionBounds::constant(ValueId v) const {
    const Inst* i = place_[static_cast<size_t>(v)].inst;
    if (!i || i->op != RegionOp::Const || r_.types[static_cast<size_t>(v)] != kI64) return std::nullopt;
    return i->ints[0];
}

// ---- loops ----

// k where v is to + k.
std::optional<int64_t> RegionBounds::added(ValueId v, ValueId to, bool* checked) const {
    const Inst* i = place_[static_cast<size_t>(v)].inst;
    if (!i || i->in.size() != 2 || r_.types[static_cast<size_t>(v)] != kI64) return std::nullopt;
    const bool pointwise = i->op == RegionOp::Pointwise;
    const bool plus = i->op == RegionOp::CheckedAdd || (pointwise && i->pointwise == Op::Add),
               minus = i->op == RegionOp::CheckedSub || (pointwise && i->pointwise == Op::Subtract);
    *checked = !pointwise;
    std::optional<int64_t> k;
    if ((plus || minus) && i->in[0] == to) k = constant(i->in[1]);
    if (plus && i->in[1] == to) k = constant(i->in[0]);
    if (!k || *k > kMaxFactor || *k < -kMaxFactor) return std::nullopt;
    return minus ? -*k : *k;
}

std::optional<RegionBounds::Step> RegionBounds::step_of(ValueId param) const {
    const Place& p = place_[static_cast<size_t>(param)];
    if (p.param < 0 || r_.types[static_cast<size_t>(param)] != kI64) return std::nullopt;
    Step step;
    step.checked = true;
    for (const BlockId from : cfg_.preds[static_cast<size_t>(p.block)]) {
        bool ok = true;
        for_edges(r_.blocks[static_cast<size_t>(from)], [&](const Edge& e) {
            if (e.to != p.block) return;
            const ValueId v = e.args[static_cast<size_t>(p.param)];
            if (!cfg_.dominates(p.block, from)) {  // the way in
                ok &= step.start < 0 || step.start == v;
                step.start = v;
                return;
            }
            bool checked = false;
            const auto by = added(v, param, &checked);
            ok &= by && *by != 0 && (step.by == 0 || step.by == *by);
            step.by = by.value_or(0);
            step.checked &= checked;
        });
        if (!ok) return std::nullopt;
    }
    if (step.start < 0 || step.by == 0) return std::nullopt;
    return step;
}

void RegionBounds::find_counters() {
    counted_.resize(r_.loops.size());
    for (size_t l = 0; l < r_.loops.size(); ++l) {
        const Block& header = r_.blocks[static_cast<size_t>(r_.loops[l].header)];
        if (header.end.kind != Terminator::Branch) continue;
        const Inst* test = place_[static_cast<size_t>(header.end.cond)].inst;
        if (!test || test->op != RegionOp::Pointwise || test->pointwise != Op::Greater ||
            test->operand != DType::I64 || constant(test->in[1]) != 0)
            continue;
        const ValueId counter = test->in[0];
        const auto step = step_of(counter);
        const BlockId body = header.end.then.to;
        if (!step || step->by != -1 || block_of(counter) != r_.loops[l].header ||
            cfg_.preds[static_cast<size_t>(body)].size() != 1 ||
            !encloses(r_, static_cast<int>(l), r_.blocks[static_cast<size_t>(body)].loop))
            continue;
        counted_[l] = {counter, step->start, body};
    }
}

bool RegionBounds::inside_body(const Counted& c, BlockId at) const {
    return c.counter >= 0 && cfg_.dominates(c.body, at);
}

std::vector<LinearForm> RegionBounds::trip_count_limits(int loop) {
    constexpr int64_t kFew = 1 << 16;  // some hundred microseconds
    const Counted& c = counted_[static_cast<size_t>(loop)];
    const BlockId header = r_.loops[static_cast<size_t>(loop)].header;
    if (c.counter < 0) {
        for (const ValueId v : r_.blocks[static_cast<size_t>(header)].params) {
            const auto step = step_of(v);
            if (!step || !step->checked) continue;
            const bool up = step->by > 0;
            const MaybeForm limit = limit_of(v, !up);
            const MaybeForm span = limit ? add_scaled(*limit, form(step->start), -1) : std::nullopt;
            const MaybeForm rest = span ? add_scaled({kFew, {}}, *span, up ? -1 : 1) : std::nullopt;
            if (rest) return lower(*rest, header);
        }
        return {};
    }
    return lower({kFew, {{c.count, -1}}}, c.body);
}

// ---- forms ----

bool RegionBounds::bounded(const LinearForm& f, BlockId at) {
    const MaybeForm negative = add_scaled({}, f, -1);
    return negative && !lower(f, at).empty() && !lower(*negative, at).empty();
}

LinearForm RegionBounds::form(ValueId v) {
    if (const auto it = form_.find(v); it != form_.end()) return it->second;
    if (forming_[static_cast<size_t>(v)]) return value_form(v);
    forming_[static_cast<size_t>(v)] = 1;
    MaybeForm f = compute_form(v);
    forming_[static_cast<size_t>(v)] = 0;
    return form_[v] = f ? *f : value_form(v);
}

// Unchecked sums wrap: they are what they seem to be only where that is known to be in range.
MaybeForm RegionBounds::compute_form(ValueId v) {
    const Inst* i = place_[static_cast<size_t>(v)].inst;
    if (!i || r_.types[static_cast<size_t>(v)] != kI64) return std::nullopt;
    if (i->op == RegionOp::Const)
        return i->ints[0] > kMaxConstant || i->ints[0] < -kMaxConstant ? std::nullopt
                                                                       : MaybeForm(constant_form(i->ints[0]));
    const bool pointwise = i->op == RegionOp::Pointwise;
    const bool plus = i->op == RegionOp::CheckedAdd || (pointwise && i->pointwise == Op::Add),
               minus = i->op == RegionOp::CheckedSub || (pointwise && i->pointwise == Op::Subtract),
               times = i->op == RegionOp::CheckedMul || (pointwise && i->pointwise == Op::Multiply);
    MaybeForm f;
    if (plus || minus) {
        f = add_scaled(form(i->in[0]), form(i->in[1]), plus ? 1 : -1);
    } else if (times) {
        const auto a = constant(i->in[0]), b = constant(i->in[1]);
        const auto k = a ? a : b;
        if (k && *k <= kMaxFactor && *k >= -kMaxFactor) f = add_scaled({}, form(i->in[a ? 1 : 0]), *k);
    }
    if (!f || (pointwise && !bounded(*f, block_of(v)))) return std::nullopt;
    return f;
}

// ---- bounds ----

// The term that is no atom and computed last.
ValueId RegionBounds::latest(const LinearForm& f) const {
    ValueId best = -1;
    std::pair<int, const Inst*> best_at{-1, nullptr};
    for (const auto& [v, k] : f.terms) {
        if (is_atom(v)) continue;
        const Place& p = place_[static_cast<size_t>(v)];
        const std::pair<int, const Inst*> at{cfg_.position[static_cast<size_t>(p.block)], p.inst};
        if (best >= 0 && at < best_at) continue;
        best = v;
        best_at = at;
    }
    return best;
}

std::vector<LinearForm> RegionBounds::lower(const LinearForm& f, BlockId at) {
    const bool outermost = budget_ == 0;
    if (outermost) budget_ = kBudget;
    std::vector<LinearForm> out;
    search(f, at, 0, out);
    if (outermost) budget_ = 0;
    return out;
}

void RegionBounds::use_atom(ValueId v) {
    if (std::find(atoms_.begin(), atoms_.end(), v) == atoms_.end()) atoms_.push_back(v);
}

void RegionBounds::search(const LinearForm& f, BlockId at, int depth, std::vector<LinearForm>& out) {
    const ValueId x = latest(f);
    if (x < 0) {
        for (const auto& [v, k] : f.terms) use_atom(v);
        if (std::find(out.begin(), out.end(), f) == out.end()) out.push_back(f);
        return;
    }
    if (depth >= kMaxDepth) return;
    for (const LinearForm& g : replacements(f, x, at)) {
        if (out.size() >= kMaxResults || budget_ <= 1) return;
        --budget_;
        search(g, at, depth + 1, out);
    }
}

std::vector<LinearForm> RegionBounds::replacements(const LinearForm& f, ValueId x, BlockId at) {
    std::vector<LinearForm> out;
    by_induction(f, x, at, out);
    by_count(f, x, at, out);
    by_instruction(f, x, out);
    by_guards(f, x, at, out);
    by_ways_in(f, x, out);
    return out;
}

namespace {

// f with factor * x replaced by factor * by.
void replace(const LinearForm& f, ValueId x, const LinearForm& by, std::vector<LinearForm>& out) {
    const int64_t k = f.factor(x);
    const MaybeForm rest = add_scaled(f, value_form(x), -k);
    if (!rest) return;
    if (const MaybeForm g = add_scaled(*rest, by, k)) out.push_back(*g);
}

}  // namespace

void RegionBounds::by_induction(const LinearForm& f, ValueId x, BlockId at, std::vector<LinearForm>& out) {
    const Place& p = place_[static_cast<size_t>(x)];
    if (p.param < 0) return;
    const int loop = r_.blocks[static_cast<size_t>(p.block)].loop;
    if (loop < 0 || r_.loops[static_cast<size_t>(loop)].header != p.block) return;
    const Counted& c = counted_[static_cast<size_t>(loop)];
    const int64_t k = f.factor(x);
    if (c.counter == x) {
        if (!inside_body(c, at)) return;
        replace(f, x, k > 0 ? constant_form(1) : value_form(c.count), out);
        return;
    }
    for (const Range& range : ranges_) {
        if (range.value != x || !inside_body(c, at)) continue;
        for (const int64_t sign : {1, -1}) {
            const LinearForm need{kSmallStep, {{range.step, sign}}};
            if (std::find(needs_.begin(), needs_.end(), need) == needs_.end()) needs_.push_back(need);
        }
        use_atom(range.step);
        use_atom(range.count);
        return replace(f, x, value_form(k > 0 ? range.low : range.high), out);
    }
    const auto step = step_of(x);
    if (!step) return;
    const LinearForm start = form(step->start);
    if (inside_body(c, at)) {
        // start + by * (count - counter). The last one must be in range, or the sum might have wrapped.
        MaybeForm last = add_scaled(start, value_form(c.count), step->by);
        if (last && (step->checked || bounded(*last, c.body))) {
            last = add_scaled(*last, value_form(c.counter), -step->by);
            if (last) replace(f, x, *last, out);
        }
    }
    if (step->checked && (step->by > 0) == (k > 0)) replace(f, x, start, out);
}

// The count of a loop, seen from inside: there it is at least 1, so max(span, 0) is span.
void RegionBounds::by_count(const LinearForm& f, ValueId x, BlockId at, std::vector<LinearForm>& out) {
    const bool counts = std::any_of(counted_.begin(), counted_.end(),
                                    [&](const Counted& c) { return c.count == x && inside_body(c, at); });
    const Inst* i = place_[static_cast<size_t>(x)].inst;
    if (!counts || !i) return;
    const auto positive = [&](ValueId v) -> std::optional<ValueId> {  // span, where v is max(span, 0)
        const Inst* m = place_[static_cast<size_t>(v)].inst;
        if (!m || m->op != RegionOp::Pointwise || m->pointwise != Op::Maximum || constant(m->in[1]) != 0)
            return std::nullopt;
        return m->in[0];
    };
    if (const auto span = positive(x)) return replace(f, x, form(*span), out);
    // (max(span, 0) + by - 1) // by
    const int64_t k = f.factor(x);
    const auto by = i->op == RegionOp::FloorDiv ? constant(i->in[1]) : std::nullopt;
    if (!by || *by <= 0) return;
    const Inst* sum = place_[static_cast<size_t>(i->in[0])].inst;
    if (!sum || sum->op != RegionOp::CheckedAdd || constant(sum->in[1]) != *by - 1 || k % *by != 0) return;
    const auto span = positive(sum->in[0]);
    if (!span) return;
    const MaybeForm numerator = add_scaled(form(*span), constant_form(k > 0 ? 0 : *by - 1), 1);
    const MaybeForm rest = add_scaled(f, value_form(x), -k);
    if (!numerator || !rest) return;
    if (const MaybeForm g = add_scaled(*rest, *numerator, k / *by)) out.push_back(*g);
}

namespace {

std::optional<std::pair<int64_t, int64_t>> range_of(DType t) {
    switch (t) {
        case DType::Bool: return {{0, 1}};
        case DType::I8: return {{-128, 127}};
        case DType::U8: return {{0, 255}};
        case DType::I16: return {{-32768, 32767}};
        case DType::U16: return {{0, 65535}};
        case DType::I32: return {{INT32_MIN, INT32_MAX}};
        case DType::U32: return {{0, UINT32_MAX}};
        default: return std::nullopt;
    }
}

}  // namespace

void RegionBounds::by_instruction(const LinearForm& f, ValueId x, std::vector<LinearForm>& out) {
    const Inst* i = place_[static_cast<size_t>(x)].inst;
    if (!i) return;
    const bool below = f.factor(x) > 0;  // a lower bound of x is wanted
    const auto between = [&](int64_t low, int64_t high) {
        replace(f, x, constant_form(below ? low : high), out);
    };
    switch (i->op) {
        case RegionOp::Extent:
            if (below) replace(f, x, constant_form(0), out);
            return;
        case RegionOp::Index: {
            if (below) return replace(f, x, constant_form(0), out);
            if (const MaybeForm last = add_scaled(form(i->in[1]), constant_form(1), -1))
                replace(f, x, *last, out);
            return;
        }
        case RegionOp::FloorMod: {
            const auto by = constant(i->in[1]);
            if (by && *by > 0 && *by < RegionBounds::kSmall) between(0, *by - 1);
            return;
        }
        case RegionOp::Pointwise: break;
        default: return;
    }
    if (i->pointwise == Op::Cast) {
        if (const auto range = range_of(i->operand)) between(range->first, range->second);
    } else if (i->pointwise == Op::BitwiseAnd) {
        for (const ValueId v : i->in)
            if (const auto mask = constant(v); mask && *mask >= 0 && *mask < RegionBounds::kSmall)
                between(0, *mask);
    } else if ((i->pointwise == Op::Maximum && below) || (i->pointwise == Op::Minimum && !below)) {
        for (const ValueId v : i->in) replace(f, x, form(v), out);
    }
}

namespace {

// a - b where the comparison says a - b >= 0, over integers.
struct Difference {
    ValueId a, b;
    int64_t minus;
};
std::optional<Difference> difference(const Inst& test, bool holds) {
    const ValueId a = test.in[0], b = test.in[1];
    switch (test.pointwise) {
        case Op::Less: return holds ? Difference{b, a, 1} : Difference{a, b, 0};
        case Op::LessEqual: return holds ? Difference{b, a, 0} : Difference{a, b, 1};
        case Op::Greater: return holds ? Difference{a, b, 1} : Difference{b, a, 0};
        case Op::GreaterEqual: return holds ? Difference{a, b, 0} : Difference{b, a, 1};
        default: return std::nullopt;
    }
}

}  // namespace

// What the branch that leads from one block to the other says of v: a form that it is not below, or above.
MaybeForm RegionBounds::tested(BlockId from, BlockId to, ValueId v, bool below) {
    const Terminator& end = r_.blocks[static_cast<size_t>(from)].end;
    if (end.kind != Terminator::Branch || end.then.to == end.other.to) return std::nullopt;
    const Inst* test = place_[static_cast<size_t>(end.cond)].inst;
    if (!test || test->op != RegionOp::Pointwise || test->operand != DType::I64 || test->in.size() != 2)
        return std::nullopt;
    const auto d = difference(*test, end.then.to == to);
    if (!d) return std::nullopt;
    const ValueId it = below ? d->a : d->b;
    if (it != v && (!constant(it) || constant(it) != constant(v))) return std::nullopt;
    return below ? add_scaled(form(d->b), constant_form(d->minus), 1)
                 : add_scaled(form(d->a), constant_form(d->minus), -1);
}

bool RegionBounds::is_header(BlockId b) const {
    const int loop = b < 0 ? -1 : r_.blocks[static_cast<size_t>(b)].loop;
    return loop >= 0 && r_.loops[static_cast<size_t>(loop)].header == b;
}

// The parameter of a header is never below, or above, what every branch that leads there compares it with.
// The outermost loop is entered without: there it takes a test.
MaybeForm RegionBounds::limit_of(ValueId param, bool below) {
    const Place& p = place_[static_cast<size_t>(param)];
    if (p.param < 0 || !is_header(p.block) || r_.types[static_cast<size_t>(param)] != kI64)
        return std::nullopt;
    MaybeForm limit;
    ValueId untested = -1;
    for (const BlockId from : cfg_.preds[static_cast<size_t>(p.block)]) {
        std::vector<ValueId> args;
        for_edges(r_.blocks[static_cast<size_t>(from)], [&](const Edge& e) {
            if (e.to == p.block) args.push_back(e.args[static_cast<size_t>(p.param)]);
        });
        if (args.size() != 1) return std::nullopt;
        const MaybeForm here = tested(from, p.block, args[0], below);
        if (!here && p.block == outer_ && untested < 0 && !cfg_.dominates(outer_, from)) {
            untested = args[0];
            continue;
        }
        if (!here || (limit && *limit != *here)) return std::nullopt;
        limit = here;
    }
    if (!limit) return std::nullopt;
    for (const auto& [v, k] : limit->terms)
        if (block_of(v) == p.block || (block_of(v) >= 0 && !cfg_.dominates(block_of(v), p.block)))
            return std::nullopt;
    if (untested < 0) return limit;
    const MaybeForm room =
        below ? add_scaled(form(untested), *limit, -1) : add_scaled(*limit, form(untested), -1);
    if (!room ||
        std::any_of(room->terms.begin(), room->terms.end(), [&](const auto& t) { return !is_atom(t.first); }))
        return std::nullopt;
    for (const auto& [v, k] : room->terms) use_atom(v);
    if (std::find(needs_.begin(), needs_.end(), *room) == needs_.end()) needs_.push_back(*room);
    return limit;
}

void RegionBounds::by_ways_in(const LinearForm& f, ValueId x, std::vector<LinearForm>& out) {
    if (const MaybeForm limit = limit_of(x, f.factor(x) > 0)) replace(f, x, *limit, out);
}

void RegionBounds::by_guards(const LinearForm& f, ValueId x, BlockId at, std::vector<LinearForm>& out) {
    const int64_t k = f.factor(x);
    for (BlockId b = at; b >= 0 && b != outer_; b = cfg_.idom[static_cast<size_t>(b)]) {
        const BlockId from = cfg_.idom[static_cast<size_t>(b)];
        if (from < 0 || cfg_.preds[static_cast<size_t>(b)].size() != 1) continue;
        const Terminator& end = r_.blocks[static_cast<size_t>(from)].end;
        if (end.kind != Terminator::Branch || end.then.to == end.other.to) continue;
        const Inst* test = place_[static_cast<size_t>(end.cond)].inst;
        if (!test || test->op != RegionOp::Pointwise || test->operand != DType::I64 || test->in.size() != 2)
            continue;
        const auto d = difference(*test, end.then.to == b);
        if (!d) continue;
        MaybeForm rest = add_scaled(form(d->a), form(d->b), -1);
        if (rest) rest = add_scaled(*rest, constant_form(d->minus), -1);
        if (!rest) continue;
        const int64_t e = rest->factor(x);  // e * x + others >= 0
        if ((e != 1 && e != -1) || (e > 0) != (k > 0)) continue;
        const MaybeForm others = add_scaled(*rest, value_form(x), -e);
        if (!others) continue;
        if (const MaybeForm bound = add_scaled({}, *others, -e)) replace(f, x, *bound, out);
    }
}

}  // namespace stator::graph
