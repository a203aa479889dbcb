// Whether a region is well-formed: every later step relies on what is checked here.
#include <fmt/format.h>

#include "graph/dot_order.h"
#include "graph/region/cfg.h"
#include "graph/region/region.h"

namespace stator::graph {
namespace {

struct Defect {
    std::string message;
};

template <class... Args>
[[noreturn]] void defect(fmt::format_string<Args...> format, Args&&... args) {
    throw Defect{fmt::format(format, std::forward<Args>(args)...)};
}

constexpr RegionType kI64{DType::I64, -1};
constexpr RegionType kBool{DType::Bool, -1};

class RegionVerifier {
  public:
    explicit RegionVerifier(const Region& r) : r_(r) {}

    std::string run() {
        try {
            edges_exist();
            cfg_ = region_cfg(r_);
            definitions();
            for (const BlockId b : cfg_.order) block(b);
            loops();
            used_exits();
        } catch (const Defect& d) {
            return d.message;
        }
        return "";
    }

  private:
    static constexpr int kInput = -1;  // defined before everything

    struct Place {
        BlockId block = -2;  // -2: nowhere
        int at = 0;          // number of the instruction; -1: a parameter
        int nest = -1, in_nest = 0;
    };

    void edges_exist() {
        if (r_.blocks.empty()) defect("a region needs an entry block");
        if (!r_.blocks[0].params.empty()) defect("b0, the entry, has parameters");
        for (size_t b = 0; b < r_.blocks.size(); ++b) {
            const Block& block = r_.blocks[b];
            if (block.loop < -1 || block.loop >= static_cast<int>(r_.loops.size()))
                defect("b{}: there is no loop l{}", b, block.loop);
            for_edges(block, [&](const Edge& e) {
                if (e.to < 0 || static_cast<size_t>(e.to) >= r_.blocks.size())
                    defect("b{}: there is no block b{}", b, e.to);
                if (e.to == 0) defect("b{}: an edge into the entry", b);
            });
        }
        for (const LoopInfo& l : r_.loops)
            if (l.header < 0 || static_cast<size_t>(l.header) >= r_.blocks.size())
                defect("a loop's header is no block: b{}", l.header);
        for (size_t i = 0; i < r_.loops.size(); ++i)
            if (r_.loops[i].parent >= static_cast<int>(i) || r_.loops[i].parent < -1)
                defect("l{}: outer loops come first", i);
    }

    void define(ValueId v, Place p) {
        if (v < 0 || static_cast<size_t>(v) >= r_.types.size()) defect("%{} has no type", v);
        Place& place = place_[static_cast<size_t>(v)];
        if (place.block != -2) defect("%{} is defined twice", v);
        place = p;
    }

    void definitions() {
        place_.assign(r_.types.size(), {});
        for (const RegionInput& in : r_.inputs) define(in.value, {kInput, 0});
        for (size_t b = 0; b < r_.blocks.size(); ++b) {
            const Block& block = r_.blocks[b];
            const auto id = static_cast<BlockId>(b);
            for (const ValueId v : block.params) define(v, {id, -1});
            for (size_t i = 0; i < block.insts.size(); ++i) {
                const Inst& inst = block.insts[i];
                const auto at = static_cast<int>(i);
                if (inst.result >= 0) define(inst.result, {id, at});
                if (!has_body(inst.op)) continue;
                const NestBody& body = nest_of(inst);
                for (size_t k = 0; k < body.insts.size(); ++k)
                    if (body.insts[k].result >= 0)
                        define(body.insts[k].result,
                               {id, at, static_cast<int>(inst.ints[0]), static_cast<int>(k)});
            }
        }
    }

    const NestBody& nest_of(const Inst& inst) const {
        if (inst.ints.empty() || inst.ints[0] < 0 || static_cast<size_t>(inst.ints[0]) >= r_.nests.size())
            defect("a nest has no body");
        return r_.nests[static_cast<size_t>(inst.ints[0])];
    }

    RegionType type(ValueId v) const { return r_.types[static_cast<size_t>(v)]; }

    // That v is there at instruction `at` of the block (in a nest: at its `in_nest`th).
    void available(ValueId v, BlockId b, int at, int nest, int in_nest, std::string_view where) {
        if (v < 0 || static_cast<size_t>(v) >= place_.size() || place_[static_cast<size_t>(v)].block == -2)
            defect("{}: %{} is not defined", where, v);
        const Place& p = place_[static_cast<size_t>(v)];
        if (p.block == kInput) return;
        bool ok;
        if (p.nest >= 0)
            ok = p.nest == nest && p.in_nest < in_nest;
        else if (p.block == b)
            ok = p.at < at;
        else
            ok = cfg_.dominates(p.block, b);
        if (!ok) defect("{}: %{} does not dominate its use", where, v);
    }

    void exit_at(int exit, BlockId b, int at, std::string_view where) {
        if (exit < 0 || static_cast<size_t>(exit) >= r_.exits.size())
            defect("{}: there is no exit x{}", where, exit);
        const RegionExit& x = r_.exits[static_cast<size_t>(exit)];
        if (x.to >= 0)
            want(x.values.empty() && static_cast<size_t>(x.to) < r_.blocks.size() && x.to > 0 &&
                     r_.blocks[static_cast<size_t>(x.to)].params.empty(),
                 where, "an exit goes on in a block without parameters, and lists no values");
        for (const ValueId v : r_.exits[static_cast<size_t>(exit)].values)
            available(v, b, at, -1, 0, fmt::format("{}, exit x{}", where, exit));
    }

    void block(BlockId id) {
        const Block& b = r_.blocks[static_cast<size_t>(id)];
        for (size_t i = 0; i < b.insts.size(); ++i) {
            const Inst& inst = b.insts[i];
            const auto at = static_cast<int>(i);
            const std::string where = fmt::format("b{}, instruction {} ({})", id, i, name(inst));
            for (const ValueId v : inst.in) available(v, id, at, -1, 0, where);
            if (inst.exit >= 0) exit_at(inst.exit, id, at, where);
            this->inst(inst, where, -1);
            if (has_body(inst.op)) nest(inst, id, at, where);
        }
        terminator(id, b);
    }

    void nest(const Inst& nest, BlockId id, int at, std::string_view outer) {
        const auto index = static_cast<int>(nest.ints[0]);
        const NestBody& body = nest_of(nest);
        bool conditional = false;
        for (size_t k = 0; k < body.insts.size(); ++k) {
            const Inst& inst = body.insts[k];
            const std::string where = fmt::format("{}, {} ({})", outer, k, name(inst));
            for (const ValueId v : inst.in) available(v, id, at, index, static_cast<int>(k), where);
            switch (inst.op) {
                case RegionOp::Const:
                case RegionOp::Pointwise:
                case RegionOp::Call:
                case RegionOp::Fma:
                case RegionOp::NestLoad:
                case RegionOp::NestStore:
                case RegionOp::NestIndex:
                case RegionOp::NestTake:
                case RegionOp::NestScatter: break;
                case RegionOp::NestWhen:
                    want(!conditional, where, "a nest has one condition");
                    conditional = true;
                    break;
                case RegionOp::NestWithin:
                    want(nest.exit >= 0 && (nest.ints[1] & kIndexFault), where,
                         "its nest does not leave for it");
                    break;
                case RegionOp::NestNext:
                    want(nest.op == RegionOp::Nest && conditional, where,
                         "it is not behind the `when` of a nest");
                    break;
                case RegionOp::NestAppend:
                    want(nest.op == RegionOp::Pack && conditional, where,
                         "it is not behind the `when` of a pack");
                    break;
                default: defect("{}: not an instruction of a nest", where);
            }
            this->inst(inst, where, static_cast<int>(nest.in.size()));
        }
        want(nest.op != RegionOp::Pack || conditional, outer, "a pack has a condition");
    }

    static std::string_view name(const Inst& inst) {
        return inst.op == RegionOp::Pointwise ? info(inst.pointwise).text : text(inst.op);
    }

    void terminator(BlockId id, const Block& b) {
        const auto end = static_cast<int>(b.insts.size());
        const std::string where = fmt::format("b{}, end", id);
        if (b.end.kind == Terminator::Leave) return exit_at(b.end.exit, id, end, where);
        if (b.end.kind == Terminator::Branch) {
            available(b.end.cond, id, end, -1, 0, where);
            if (type(b.end.cond) != kBool) defect("{}: the condition is no b1", where);
        }
        for_edges(b, [&](const Edge& e) {
            const auto& params = r_.blocks[static_cast<size_t>(e.to)].params;
            if (params.size() != e.args.size())
                defect("{}: b{} takes {} arguments, not {}", where, e.to, params.size(), e.args.size());
            for (size_t i = 0; i < params.size(); ++i) {
                available(e.args[i], id, end, -1, 0, where);
                if (type(e.args[i]) != type(params[i]))
                    defect("{}: argument {} of b{} has another type than its parameter", where, i, e.to);
            }
        });
    }

    void want(bool ok, std::string_view where, std::string_view what) {
        if (!ok) defect("{}: {}", where, what);
    }
    void scalars(const Inst& inst, size_t from, std::string_view where) {
        for (size_t i = from; i < inst.in.size(); ++i)
            want(type(inst.in[i]) == kI64, where, "an operand is no i64 scalar");
    }

    void inst(const Inst& inst, const std::string& where, int nest_rank) {
        const RegionOpInfo& op = info(inst.op);
        if (op.operands >= 0)
            want(inst.in.size() == static_cast<size_t>(op.operands), where, "wrong number of operands");
        want((inst.result >= 0) == (op.result != RegionOpInfo::none), where,
             "a result where none is, or none");
        if (inst.result >= 0)
            want(type(inst.result).is_array() == (op.result == RegionOpInfo::array), where,
                 "the result's type is wrong");
        const auto in = [&](size_t i) { return type(inst.in[i]); };
        const RegionType result = inst.result >= 0 ? type(inst.result) : RegionType{};
        const auto must_leave = [&] { want(inst.exit >= 0, where, "it needs an exit"); };
        switch (inst.op) {
            case RegionOp::Const:
                want(inst.ints.size() == (result.dtype == DType::C128 ? 2u : 1u), where, "bits are missing");
                break;
            case RegionOp::Pointwise: pointwise(inst, where); break;
            case RegionOp::Call: call(inst, where); break;
            case RegionOp::CheckedAdd:
            case RegionOp::CheckedSub:
            case RegionOp::CheckedMul:
            case RegionOp::FloorDiv:
            case RegionOp::FloorMod:
                must_leave();
                want(in(0) == in(1) && in(0) == result && is_integer(result.dtype), where,
                     "operands and result must be of one integer dtype");
                break;
            case RegionOp::Finite:
                must_leave();
                want(!inst.in.empty() && inst.in.size() <= 3 && !in(0).is_array() &&
                         (is_float(in(0).dtype) || (is_complex(in(0).dtype) && inst.in.size() == 1)),
                     where, "the operand is no floating-point scalar");
                for (size_t i = 1; i < inst.in.size(); ++i)
                    want(in(i) == in(0), where, "it was made of numbers of its own dtype");
                break;
            case RegionOp::Guard:
                must_leave();
                want(in(0) == kBool && inst.ints.size() == 1, where, "it takes a b1 and the value wanted");
                break;
            case RegionOp::Index:
                must_leave();
                scalars(inst, 0, where);
                want(result == kI64, where, "the result is no i64");
                break;
            case RegionOp::Poll: must_leave(); break;
            case RegionOp::Extent:
                want(in(0).is_array() && inst.ints.size() == 1 && inst.ints[0] >= 0 &&
                         inst.ints[0] < in(0).rank && result == kI64,
                     where, "no such axis");
                break;
            case RegionOp::View: view(inst, where); break;
            case RegionOp::Flatten:
                want(inst.in.size() == 1 && in(0).is_array() && result.rank == 1 &&
                         in(0).dtype == result.dtype,
                     where, "it makes a vector of an array");
                break;
            case RegionOp::Reshape:
                want(!inst.in.empty() && in(0).is_array() && in(0).dtype == result.dtype &&
                         static_cast<size_t>(result.rank) + 1 == inst.in.size(),
                     where, "it gives an array other extents");
                scalars(inst, 1, where);
                break;
            case RegionOp::Load:
            case RegionOp::NestTake:
                want(!inst.in.empty() && in(0).is_array() &&
                         inst.in.size() == 1 + static_cast<size_t>(in(0).rank) && in(0).dtype == result.dtype,
                     where, "not an element of an array");
                scalars(inst, 1, where);
                break;
            case RegionOp::Store:
            case RegionOp::NestScatter:
                want(inst.in.size() >= 2 && in(0).is_array() &&
                         inst.in.size() == 2 + static_cast<size_t>(in(0).rank) &&
                         type(inst.in.back()) == RegionType{in(0).dtype, -1},
                     where, "not an element of an array");
                for (size_t i = 1; i + 1 < inst.in.size(); ++i)
                    want(in(i) == kI64, where, "an index is no i64");
                break;
            case RegionOp::Fma:
                want(in(0) == in(1) && in(0) == in(2) && in(0) == result && is_float(result.dtype) &&
                         result.dtype != DType::F16,
                     where, "operands and result must be of one dtype, f32 or f64");
                break;
            case RegionOp::Part:
                want(
                    in(0).is_array() && is_complex(in(0).dtype) && inst.ints.size() == 1 &&
                        (inst.ints[0] == 0 || inst.ints[0] == 1) &&
                        result == RegionType{in(0).dtype == DType::C64 ? DType::F32 : DType::F64, in(0).rank},
                    where, "not the parts of a complex array");
                break;
            case RegionOp::Nest:
            case RegionOp::Pack:
                if (inst.op == RegionOp::Pack) want(result == kI64, where, "the result is no i64");
                scalars(inst, 0, where);
                want(inst.exit < 0 || inst.ints.size() == 2, where,
                     "an exit needs the faults that lead to it");
                break;
            case RegionOp::NestLoad:
                want(in(0).is_array() && in(0).rank == nest_rank && in(0).dtype == result.dtype, where,
                     "not an element at the nest's point");
                break;
            case RegionOp::NestStore:
                want(in(0).is_array() && in(0).rank == nest_rank && in(1) == RegionType{in(0).dtype, -1},
                     where, "not an element at the nest's point");
                break;
            case RegionOp::NestWhen: want(in(0) == kBool, where, "the condition is no b1"); break;
            case RegionOp::NestWithin:
                scalars(inst, 0, where);
                want(result == kI64, where, "the result is no i64");
                break;
            case RegionOp::NestAppend:
                want(in(0).rank == 1 && in(1) == RegionType{in(0).dtype, -1}, where,
                     "not an element of a vector");
                break;
            case RegionOp::NestNext:
                want(in(0).rank == 1 && in(0).dtype == result.dtype, where, "not an element of a vector");
                break;
            case RegionOp::NestIndex:
                want(inst.ints.size() == 1 && inst.ints[0] >= 0 && inst.ints[0] < nest_rank && result == kI64,
                     where, "no such axis");
                break;
            case RegionOp::Scratch:
                must_leave();
                scratch(inst, result, where);
                break;
            case RegionOp::Save:
            case RegionOp::Restore:
                want(!inst.in.empty() && inst.in.size() <= kMostSaved && inst.ints.size() == 1, where,
                     "it takes arrays and the cell of the first");
                for (size_t i = 0; i < inst.in.size(); ++i)
                    want(in(i).is_array(), where, "an operand is no array");
                want(inst.result < 0 || result == kBool, where, "the result is no b1");
                break;
            case RegionOp::Undisturbed:
            case RegionOp::Trust: want(result == kBool, where, "the result is no b1"); break;
            case RegionOp::Distrust:
            case RegionOp::Watch: break;
            case RegionOp::Raised:
                want(inst.ints.size() == 1 && result == kBool, where, "it gives a b1 for some faults");
                break;
            case RegionOp::Dot:
                target(inst, where, RegionCall::Dot);
                want(in(0).rank == 1 && in(0) == in(1) && in(0).dtype == result.dtype, where,
                     "it takes two vectors of one dtype");
                want(inst.ints.size() == 1 ||
                         (inst.ints.size() == 2 && DotOrder::decode(inst.ints[1]).valid() &&
                          DotOrder::decode(inst.ints[1]).encode() == inst.ints[1]),
                     where, "it takes a call and an order of sums");
                break;
            case RegionOp::Reduce:
                target(inst, where, RegionCall::UfuncLoop);
                want(in(0).rank == 1 && in(0).dtype == result.dtype && in(1) == result, where,
                     "it takes a vector and a scalar of its dtype");
                break;
            case RegionOp::Library:
            case RegionOp::Made:
                must_leave();
                target(inst, where, RegionCall::Library);
                want(inst.op == RegionOp::Made ? inst.ints.size() == 3 : inst.ints.size() >= 2, where,
                     "it takes a call and the faults that lead to its exit");
                if (inst.op == RegionOp::Made) {
                    want(inst.ints[2] >= 0 && static_cast<size_t>(inst.ints[2]) <= inst.in.size(), where,
                         "it has fewer operands");
                    for (auto i = static_cast<size_t>(inst.ints[2]); i < inst.in.size(); ++i)
                        want(in(i).is_array(), where, "what it is to keep is no array");
                }
                if (inst.op == RegionOp::Library)
                    want(!inst.in.empty() && in(0).is_array(), where, "it writes no array");
                break;
        }
    }

    void scratch(const Inst& inst, RegionType result, const std::string& where) {
        const auto rank = static_cast<size_t>(result.rank);
        want(rank <= inst.in.size(), where, "its rank is another");
        const int64_t cells = inst.ints.size() > 1 ? inst.ints[1] : 1;
        want(inst.ints.size() <= 2 && static_cast<int64_t>(inst.in.size() - rank) < cells, where,
             "it may find no free cell");
        for (size_t i = 0; i < inst.in.size(); ++i)
            want(i < rank ? type(inst.in[i]) == kI64 : type(inst.in[i]).is_array(), where,
                 "its operands are extents, then arrays");
    }

    void pointwise(const Inst& inst, const std::string& where) {
        const OpInfo& op = info(inst.pointwise);
        want(op.cls == OpClass::Pointwise && inst.pointwise != Op::HostLoop &&
                 inst.in.size() == static_cast<size_t>(op.arity),
             where, "not a pointwise operation on so many operands");
        const size_t first = inst.pointwise == Op::Where ? 1 : 0;
        if (first) want(type(inst.in[0]) == kBool, where, "the condition is no b1");
        for (size_t i = first; i < inst.in.size(); ++i)
            want(type(inst.in[i]) == RegionType{inst.operand, -1}, where, "an operand has another dtype");
        const DType result = type(inst.result).dtype;
        if (op.dtype == DTypeRule::bool_) want(result == DType::Bool, where, "the result is no b1");
        if (op.dtype == DTypeRule::same || first)
            want(result == inst.operand, where, "the result has another dtype than the operands");
        if (inst.pointwise != Op::Cast)
            want(is_native(inst.pointwise, inst.operand) && inst.operand != DType::F16, where,
                 "not generated for this dtype; it has to be a call");
    }

    const RegionCall& target(const Inst& inst, const std::string& where, RegionCall::Kind kind) {
        want(!inst.ints.empty() && inst.ints[0] >= 0 && static_cast<size_t>(inst.ints[0]) < r_.calls.size(),
             where, "there is no such call");
        const RegionCall& c = r_.calls[static_cast<size_t>(inst.ints[0])];
        want(c.kind == kind, where, "the call is of another kind");
        return c;
    }

    void call(const Inst& inst, const std::string& where) {
        want(!inst.ints.empty() && inst.ints[0] >= 0 && static_cast<size_t>(inst.ints[0]) < r_.calls.size(),
             where, "there is no such call");
        const RegionCall& c = r_.calls[static_cast<size_t>(inst.ints[0])];
        want(c.kind == RegionCall::Scalar || c.kind == RegionCall::UfuncLoop, where,
             "the call is of another kind");
        for (const ValueId v : inst.in) want(!type(v).is_array(), where, "an operand is no scalar");
        if (c.kind != RegionCall::Scalar) {
            want(c.types.size() == inst.in.size() + 1, where,
                 "a ufunc's loop has one dtype per operand and result");
            return;
        }
        want(inst.in.size() == 1 || inst.in.size() == 2, where,
             "a scalar function takes one or two operands");
        want(inst.operand == DType::F64 && type(inst.result).dtype == DType::F64, where,
             "a scalar function is of f64");
        for (const ValueId v : inst.in) want(type(v).dtype == DType::F64, where, "an operand is no f64");
    }

    void view(const Inst& inst, const std::string& where) {
        want(!inst.in.empty() && type(inst.in[0]).is_array(), where, "it takes an array");
        scalars(inst, 1, where);
        want(!inst.ints.empty() && inst.ints[0] >= 0 && static_cast<size_t>(inst.ints[0]) < r_.views.size(),
             where, "there is no such view");
        const RegionType from = type(inst.in[0]), to = type(inst.result);
        const auto known = [&](int i) { return i >= 0 && static_cast<size_t>(i) < inst.in.size(); };
        int rank = 0;
        uint32_t seen = 0;
        for (const ViewAxis& a : r_.views[static_cast<size_t>(inst.ints[0])]) {
            want(known(a.start) && known(a.count) && known(a.step), where,
                 "it refers to an operand it lacks");
            rank += a.kind != ViewAxis::Drop;
            if (a.kind == ViewAxis::New) {
                want(a.count > 0, where, "a new axis needs an extent");
                continue;
            }
            want(a.axis >= 0 && a.axis < from.rank && !(seen >> a.axis & 1), where,
                 "an axis that is not there, or twice");
            want(a.kind != ViewAxis::Drop || a.start > 0, where, "an axis is dropped at no position");
            seen |= 1u << a.axis;
        }
        want(seen == (1u << from.rank) - 1 && rank == to.rank && from.dtype == to.dtype, where,
             "the axes do not make the result's type");
    }

    // Each loop is entered at its header alone, its back edges come from inside, and blocks know their loop.
    void loops() {
        for (const BlockId b : cfg_.order) {
            const int inside = r_.blocks[static_cast<size_t>(b)].loop;
            for_edges(r_.blocks[static_cast<size_t>(b)], [&](const Edge& e) {
                const int to = r_.blocks[static_cast<size_t>(e.to)].loop;
                const bool header = to >= 0 && r_.loops[static_cast<size_t>(to)].header == e.to;
                if (!encloses(r_, to, inside) &&
                    !(header && encloses(r_, r_.loops[static_cast<size_t>(to)].parent, inside)))
                    defect("b{}: l{} is entered at b{}, which is not its header", b, to, e.to);
                if (cfg_.position[static_cast<size_t>(e.to)] <= cfg_.position[static_cast<size_t>(b)] &&
                    !(header && cfg_.dominates(e.to, b) && encloses(r_, to, inside)))
                    defect("b{}: the edge back to b{} makes no loop with a header", b, e.to);
            });
        }
        for (size_t i = 0; i < r_.loops.size(); ++i)
            if (r_.blocks[static_cast<size_t>(r_.loops[i].header)].loop != static_cast<int>(i))
                defect("l{}: its header b{} belongs to another loop", i, r_.loops[i].header);
    }

    void used_exits() {
        for (size_t i = 0; i < r_.exits.size(); ++i)
            for (const ValueId v : r_.exits[i].values)
                if (v < 0 || static_cast<size_t>(v) >= r_.types.size()) defect("x{}: %{} has no type", i, v);
    }

    const Region& r_;
    RegionCfg cfg_;
    std::vector<Place> place_;
};

}  // namespace

std::string verify(const Region& r) { return RegionVerifier(r).run(); }

}  // namespace stator::graph
