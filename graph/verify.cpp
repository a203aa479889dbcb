// The graph verifier: what every producer of graphs promises and every consumer relies on.
//
// Structure comes first (ops, operand order, attribute counts, ids in range); a node that fails there is not
// looked at further, so the semantic checks may index freely. What depends on symbolic extents is only a
// defect when bounds prove it wrong: guards may establish more than bounds know.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "graph/graph.h"

namespace stator::graph {

namespace {

class Verifier {
  public:
    explicit Verifier(const Graph& g) : g_(g), syms_(g.syms) {}

    std::string run() {
        for (size_t i = 0; i < g_.inputs.size(); ++i) input(i);
        for (id_ = 0; id_ < count(); ++id_)
            if (structure(g_.node(id_))) {
                types(g_.node(id_));
                shapes(g_.node(id_));
            } else {
                sound_ = false;
            }
        if (sound_) references();  // recipes are followed through node classes
        return std::move(out_);
    }

  private:
    Id count() const { return static_cast<Id>(g_.nodes.size()); }
    const Node& operand(const Node& n, size_t i) const { return g_.node(n.in[i]); }

    template <class... Args>
    bool fail(fmt::format_string<Args...> format, Args&&... args) {
        out_ += fmt::format("%{} {}: ", id_, info(g_.node(id_).op).text) +
                fmt::format(format, std::forward<Args>(args)...) + "\n";
        return false;
    }

    bool valid(Sym s) const { return s.id >= 0 && s.id < g_.syms.size(); }
    bool valid(const std::vector<Sym>& list) const {
        return std::all_of(list.begin(), list.end(), [&](Sym s) { return valid(s); });
    }
    static bool permutes(const std::vector<int>& perm, size_t rank) {
        if (perm.empty()) return true;
        std::vector<bool> seen(rank, false);
        for (int axis : perm) {
            if (axis < 0 || static_cast<size_t>(axis) >= rank || seen[static_cast<size_t>(axis)])
                return false;
            seen[static_cast<size_t>(axis)] = true;
        }
        return perm.size() == rank;
    }
    std::string text(std::span<const Sym> shape) const {
        std::string out = "[";
        for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + g_.syms.str(shape[i]);
        return out + "]";
    }

    void input(size_t i) {
        const Input& in = g_.inputs[i];
        auto bad = [&](std::string_view what) {
            out_ += fmt::format("input #{} {}: {}\n", i, in.source, what);
        };
        if (!valid(in.shape)) bad("its shape names a symbol that does not exist");
        if (in.value && !valid(in.value)) bad("its value names a symbol that does not exist");
        if (in.kind != InputKind::Array && !in.shape.empty()) bad("a scalar has rank 0");
        if (!permutes(in.perm, in.shape.size())) bad("perm is not a permutation of its axes");
        if (in.written && in.kind != InputKind::Array) bad("only arrays can be written");
    }

    // ---- structure ----

    bool structure(const Node& n) {
        if (static_cast<int>(n.op) >= op_count()) {
            out_ += fmt::format("%{}: op number {} does not exist\n", id_, static_cast<int>(n.op));
            return false;
        }
        if (static_cast<int>(n.dtype) >= kDTypeCount) return fail("its dtype does not exist");
        int arity = info(n.op).arity;
        if (arity >= 0 && n.in.size() != static_cast<size_t>(arity))
            return fail("expected {} operands, found {}", arity, n.in.size());
        if (n.op == Op::HostLoop && n.in.empty()) return fail("expected at least one operand");
        for (Id v : n.in) {
            if (v < 0 || v >= id_) return fail("operand %{} is not an earlier node", v);
            if (info(g_.node(v).op).cls == OpClass::Guard) return fail("operand %{} has no value", v);
        }
        if (!attributes_well_formed(n))
            return fail("attributes do not have the form that graph.h gives ({} ints, {} syms, name '{}')",
                        n.ints.size(), n.syms.size(), n.name);
        if (!valid(n.shape) || !valid(n.syms)) return fail("it names a symbol that does not exist");
        if (n.box != Box::Array && !n.shape.empty())
            return fail("a scalar box on a value of rank {}", n.shape.size());
        if (!permutes(n.perm, n.shape.size())) return fail("perm is not a permutation of its axes");
        if (n.loc >= static_cast<int32_t>(g_.locations.size()))
            return fail("location {} does not exist", n.loc);
        for (Sym extent : n.shape)
            if (g_.syms.bounds(extent).hi < 0) return fail("extent {} is negative", g_.syms.str(extent));
        return true;
    }

    // ---- dtypes ----

    void types(const Node& n) {
        auto expect = [&](size_t i, DType t) {
            if (operand(n, i).dtype != t)
                fail("operand {} is {}, expected {}", i, info(operand(n, i).dtype).text, info(t).text);
        };
        switch (info(n.op).dtype) {
            case DTypeRule::same:
                for (size_t i = 0; i < n.in.size(); ++i) expect(i, n.dtype);
                break;
            case DTypeRule::bool_:
                if (n.dtype != DType::Bool) fail("result is {}, expected b1", info(n.dtype).text);
                for (size_t i = 1; i < n.in.size(); ++i) expect(i, operand(n, 0).dtype);
                break;
            case DTypeRule::free: break;
        }
        if (n.op == Op::Where) expect(0, DType::Bool), expect(1, n.dtype), expect(2, n.dtype);
        if (n.op == Op::Guard) expect(0, DType::Bool);
        if (n.op == Op::ArgReduce && n.dtype != DType::I64)
            fail("result is {}, expected i64", info(n.dtype).text);
    }

    // ---- shapes ----

    void expect_shape(const Node& n, std::span<const Sym> want) {
        if (!std::equal(n.shape.begin(), n.shape.end(), want.begin(), want.end()))
            fail("shape is {}, expected {}", text(n.shape), text(want));
    }

    void expect_scalar(const Node& n, size_t i) {
        if (!operand(n, i).shape.empty()) fail("operand {} must have rank 0", i);
    }

    void shapes(const Node& n) {
        switch (info(n.op).cls) {
            case OpClass::Input: return input_node(n);
            case OpClass::Const: return expect_shape(n, {});
            case OpClass::Alloc:
                for (size_t i = 0; i < n.in.size(); ++i) expect_scalar(n, i);
                if (n.op == Op::Arange && n.shape.size() != 1) fail("expected rank 1");
                return;
            case OpClass::Pointwise:
                for (size_t i = 0; i < n.in.size(); ++i)
                    if (!operand(n, i).shape.empty() && operand(n, i).shape != n.shape)
                        fail("operand {} has shape {}, expected {} or rank 0", i, text(operand(n, i).shape),
                             text(n.shape));
                return;
            case OpClass::View: return n.op == Op::View ? view(n) : reshape(n);
            case OpClass::Effect: return store(n);
            case OpClass::Reduction: return n.op == Op::Reduce ? reduce(n) : argreduce(n);
            case OpClass::Library:
                for (Sym s : n.syms)
                    if (g_.syms.expr(s).kind != SymKind::Symbol && g_.syms.expr(s).kind != SymKind::Const)
                        fail("it binds {}, not a symbol or constant", g_.syms.str(s));
                return;
            case OpClass::Guard: return guard(n);
        }
    }

    void input_node(const Node& n) {
        if (n.ints[0] < 0 || n.ints[0] >= static_cast<int64_t>(g_.inputs.size())) {
            fail("input #{} does not exist", n.ints[0]);
            return;
        }
        const Input& in = g_.inputs[static_cast<size_t>(n.ints[0])];
        if (in.dtype != n.dtype) fail("the input is {}", info(in.dtype).text);
        // The input keeps the symbols its guard binds; the node may use what entry guards showed them equal
        // to.
        if (n.shape.size() != in.shape.size())
            fail("shape is {}, expected {}", text(n.shape), text(in.shape));
    }

    // Every index that the axes reach lies within operand 0, as far as bounds can tell.
    void check_axes(const Node& n, std::span<const Sym> region) {
        const std::vector<Sym>& base = operand(n, 0).shape;
        std::vector<AxisMap> axes = view_axes(n);
        if (axes.size() != base.size()) {
            fail("{} axes for an operand of rank {}", axes.size(), base.size());
            return;
        }
        for (Sym extent : region)
            if (g_.syms.bounds(extent).lo < 1) return;  // possibly nothing is reached at all
        for (size_t d = 0; d < axes.size(); ++d) {
            const AxisMap& a = axes[d];
            if (a.axis < -1 || a.axis >= static_cast<int>(region.size())) {
                fail("axis {} moves with j{}, but the region has rank {}", d, a.axis, region.size());
                continue;
            }
            Sym first = a.start, last = a.start;
            if (a.axis >= 0) {
                Sym steps = syms_.sub(region[static_cast<size_t>(a.axis)], syms_.constant(1));
                last = syms_.add(a.start, syms_.mul(steps, syms_.constant(a.step)));
            }
            if (a.step < 0) std::swap(first, last);
            if (syms_.prove_ge(first, syms_.constant(0)) == false)
                fail("axis {} reaches index {}, below 0", d, syms_.str(first));
            if (syms_.prove_ge(last, base[d]) == true)
                fail("axis {} reaches index {} of extent {}", d, syms_.str(last), syms_.str(base[d]));
        }
    }

    void view(const Node& n) { check_axes(n, n.shape); }

    void reshape(const Node& n) {
        const Node& x = operand(n, 0);
        if (x.layout != Layout::Contiguous || !std::is_sorted(x.perm.begin(), x.perm.end()))
            fail("operand 0 is not C-contiguous");
        Sym have = syms_.product(x.shape), want = syms_.product(n.shape);
        if (syms_.prove_eq(have, want) == false)
            fail("operand 0 has {} elements, the result {}", syms_.str(have), syms_.str(want));
    }

    void store(const Node& n) {
        expect_shape(n, operand(n, 0).shape);
        if (!operand(n, 1).shape.empty() && n.syms.size() != static_cast<size_t>(n.ints[0]))
            fail("extents are given although operand 1 has a shape");
        std::span<const Sym> region = store_region(g_, n);
        check_axes(n, region);
        std::vector<bool> named(region.size(), false);
        for (const AxisMap& a : view_axes(n))
            if (a.axis >= 0 && a.axis < static_cast<int>(region.size()))
                named[static_cast<size_t>(a.axis)] = true;
        for (size_t j = 0; j < region.size(); ++j)
            if (!named[j] && g_.syms.as_const(region[j]) != 1) fail("j{} of the region reaches no axis", j);
        const Node& root = g_.node(buffer_root(g_, id_));
        if (info(root.op).cls == OpClass::Const) fail("a constant cannot be written");
        if (root.op == Op::Input && attributes_well_formed(root) && root.ints[0] >= 0 &&
            root.ints[0] < static_cast<int64_t>(g_.inputs.size()) &&
            !g_.inputs[static_cast<size_t>(root.ints[0])].written)
            fail("input #{} is not marked as written", root.ints[0]);
    }

    void reduce(const Node& n) {
        static constexpr std::string_view kNames[] = {"add",     "multiply",    "maximum",
                                                      "minimum", "logical_and", "logical_or"};
        if (std::find(std::begin(kNames), std::end(kNames), n.name) == std::end(kNames))
            fail("'{}' is not a reduction", n.name);
        if (n.ints[0] != static_cast<int64_t>(ReduceOrder::CContiguous))
            fail("order {} does not exist", n.ints[0]);
        std::vector<Sym> rest = operand(n, 0).shape;
        for (size_t i = n.ints.size(); i-- > 1;) {
            int64_t axis = n.ints[i];
            if (axis < 0 || axis >= static_cast<int64_t>(rest.size()) ||
                (i + 1 < n.ints.size() && axis >= n.ints[i + 1])) {
                fail("axis {} is out of range or not ascending", axis);
                return;
            }
            rest.erase(rest.begin() + axis);
        }
        expect_shape(n, rest);
    }

    void argreduce(const Node& n) {
        if (n.name != "argmax" && n.name != "argmin") fail("'{}' is not argmax or argmin", n.name);
        std::vector<Sym> rest = operand(n, 0).shape;
        int64_t axis = n.ints[0];
        if (axis < -1 || axis >= static_cast<int64_t>(rest.size())) {
            fail("axis {} is out of range", axis);
            return;
        }
        if (axis == -1)
            rest.clear();
        else
            rest.erase(rest.begin() + axis);
        expect_shape(n, rest);
    }

    void guard(const Node& n) {
        if (n.op == Op::Guard) {
            expect_scalar(n, 0);
            if (in_memory(operand(n, 0))) fail("is decided by an array, not by a number");
            if (n.ints[0] != 0 && n.ints[0] != 1) fail("expects {}, not 0 or 1", n.ints[0]);
        } else if (n.op == Op::ErrorState) {
            if (n.ints[0] < 0 || n.ints[0] > 255 || n.ints[1] != -1) fail("{} is no error state", n.ints[0]);
        } else if (n.ints[0] < 0 || n.ints[0] > 3) {
            fail("relation {} does not exist", n.ints[0]);
        }
    }

    // ---- recipes and snapshots ----

    // A view or store that an array object outside shows must still be the newest version of its buffer.
    void check_version(Id value) {
        OpClass cls = info(g_.node(value).op).cls;
        if (g_.node(value).box != Box::Array || cls == OpClass::Const || cls == OpClass::Input) return;
        Id version = buffer_version(g_, value), root = buffer_root(g_, value);
        for (Id s = version + 1; s < limit_; ++s)
            if (g_.node(s).op == Op::Store && buffer_root(g_, s) == root)
                complain(fmt::format("%{} shows its buffer as it was before store %{}", value, s));
    }

    void complain(const std::string& what) { out_ += where_ + ": " + what + "\n"; }

    void recipe(int64_t index) {
        if (index < 0 || index >= static_cast<int64_t>(g_.recipes.size()))
            return complain(fmt::format("recipe {} does not exist", index));
        if (seen_[static_cast<size_t>(index)]) return;
        seen_[static_cast<size_t>(index)] = true;
        const Recipe& r = g_.recipes[static_cast<size_t>(index)];
        bool node = r.kind == RecipeKind::Value || r.kind == RecipeKind::View;
        if (node) {
            if (r.index < 0 || r.index >= limit_)
                complain(fmt::format("%{} is not computed before", r.index));
            else if (info(g_.node(r.index).op).cls == OpClass::Guard)
                complain(fmt::format("%{} has no value", r.index));
            else
                check_version(r.index);
        }
        if (r.kind == RecipeKind::View && r.index >= 0 && r.index < limit_ &&
            info(g_.node(r.index).op).cls != OpClass::View)
            complain(fmt::format("%{} is not a view", r.index));
        if (r.kind == RecipeKind::SymInt && !valid(r.sym)) complain("it names a symbol that does not exist");
        if (r.kind == RecipeKind::InputObj &&
            (r.index < 0 || r.index >= static_cast<int32_t>(g_.inputs.size())))
            complain(fmt::format("input #{} does not exist", r.index));
        if (r.kind == RecipeKind::Slice && r.items.size() != 3) complain("a slice has three items");
        if (r.kind == RecipeKind::Method && r.items.size() != 2) complain("a method has two items");
        if (r.kind == RecipeKind::Attr && r.items.size() != 2)
            complain("an attribute has an object and a name");
        if (r.kind == RecipeKind::ListEnd && r.items.size() != 1) complain("the end of a list has the list");
        if (r.kind == RecipeKind::Dict && r.items.size() % 2 != 0) complain("a dict has pairs of items");
        if (r.kind == RecipeKind::Make && r.items.size() < 2) complain("a new object has two items or more");
        if (r.kind == RecipeKind::Strided && r.items.size() % 2 != 0)
            complain("a strided view has an array, pairs of extents and strides, and an offset");
        if (r.kind == RecipeKind::View && r.items.size() != 1) complain("a view has one item");
        if (r.kind == RecipeKind::Function && r.items.size() != kFunctionItems)
            complain(fmt::format("a function has {} items", static_cast<int>(kFunctionItems)));
        if (r.kind == RecipeKind::Iter && (r.items.size() != 1 || r.index < 0))
            complain("an iterator has one item and a position");
        for (int32_t item : r.items) recipe(item);
    }

    void cells(const std::vector<CellContents>& list) {
        for (const CellContents& c : list) {
            recipe(c.cell), recipe(c.contents);
            if (c.cell < 0 || c.cell >= static_cast<int32_t>(g_.recipes.size())) continue;
            RecipeKind kind = g_.recipes[static_cast<size_t>(c.cell)].kind;
            const bool holds = kind == RecipeKind::Cell || kind == RecipeKind::Slot ||
                               kind == RecipeKind::Attr || kind == RecipeKind::ListEnd;
            if (!holds) complain("contents of what is no cell");
        }
    }

    void start(std::string where, Id limit) {
        where_ = std::move(where);
        limit_ = limit;
        seen_.assign(g_.recipes.size(), false);
    }

    void snapshot(int64_t index) {
        if (index >= static_cast<int64_t>(g_.snapshots.size()))
            return complain(fmt::format("snapshot n{} does not exist", index));
        const Snapshot& s = g_.snapshots[static_cast<size_t>(index)];
        for (int32_t r : s.contexts) recipe(r);
        cells(s.cells);
        if (s.frames.empty()) complain(fmt::format("snapshot n{} has no frame", index));
        for (const SnapFrame& f : s.frames) {
            for (int32_t r : f.slots) recipe(r);
            if (f.func != -1) recipe(f.func);
        }
    }

    void references() {
        bool effects = false;  // has anything happened that eager, starting over, would repeat?
        for (id_ = 0; id_ < count(); ++id_) {
            const Node& n = g_.node(id_);
            start(fmt::format("%{} {}", id_, info(n.op).text), id_);
            if (n.op == Op::Library) {
                recipe(n.ints[1]);
                if (n.ints[2] != -1) recipe(n.ints[2]);
            } else if (info(n.op).cls == OpClass::Guard) {
                if (n.ints[1] >= 0)
                    snapshot(n.ints[1]);
                else if (n.ints[1] != -1 ||
                         (effects && n.op == Op::Guard))  // relations are checked at entry anyway
                    fail("it leaves to the entry after effects have happened");
            }
            effects |= info(n.op).cls == OpClass::Effect && has_effect(g_, id_);
        }
        start("end", count());
        if (g_.end_kind == EndKind::Leave)
            g_.end >= 0 ? snapshot(g_.end) : complain("leaves through no snapshot");
        else if (g_.end != -1)
            recipe(g_.end), cells(g_.end_cells);
    }

    const Graph& g_;
    SymTable syms_;  // a copy: proofs intern differences
    std::string out_;
    Id id_ = 0;
    bool sound_ = true;
    std::string where_;
    Id limit_ = 0;
    std::vector<bool> seen_;
};

}  // namespace

std::string verify(const Graph& g) { return Verifier(g).run(); }

}  // namespace stator::graph
