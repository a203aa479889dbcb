// Graphs as text, for dumps, goldens and bug reports. The grammar is in parse.cpp.
//
// Invariant: everything in a Graph that has a meaning is printed and nothing else: no addresses, no ids that
// depend on history (recipes and locations are printed where they are used). Recipes with identity (tuples,
// lists, slices, bound methods) that are used more than once get a label, so that sharing survives. Printing
// never fails: what is malformed is printed as such and then does not parse.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/graph.h"
#include "graph/scalar.h"
#include "graph/text_names.h"

namespace stator::graph {

namespace {

using Out = std::string;

template <class... Args>
void put(Out& out, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

template <class Table, class Enum>
std::string_view spell(const Table& table, Enum e) {
    auto i = static_cast<size_t>(e);
    return i < table.size() ? table[i] : "?";
}

std::string quoted(std::string_view s) {
    std::string out = "\"";
    for (char c : s) {
        if (c == '"' || c == '\\')
            (out += '\\') += c;
        else if (static_cast<unsigned char>(c) < 32 || c == 127)
            put(out, "\\x{:02x}", static_cast<unsigned char>(c));
        else
            out += c;
    }
    return out + "\"";
}

std::string name_text(std::string_view s) { return text::is_plain(s) ? std::string(s) : quoted(s); }

class Printer {
  public:
    explicit Printer(const Graph& g) : g_(g) {}

    std::string run() {
        count_recipes();
        put(out_, "trace {}", name_text(g_.name.empty() ? "graph" : g_.name));
        symbols();
        out_ += " {\n";
        choose_inline_inputs();
        for (size_t i = 0; i < g_.inputs.size(); ++i)
            if (inline_at_[i] == kNone) standalone_input(static_cast<int>(i));
        for (size_t i = 0; i < g_.nodes.size(); ++i) node(static_cast<Id>(i));
        for (size_t i = 0; i < g_.snapshots.size(); ++i) snapshot(static_cast<int>(i));
        std::string end = end_text();
        for (size_t k = 0; k < labelled_.size(); ++k) {
            std::string body = recipe_body(labelled_[k]);  // may label more
            put(out_, "  recipe r{} = {}\n", k, body);
        }
        return out_ + end + "}\n";
    }

  private:
    void symbols() {
        if (g_.syms.symbol_count() == 0) return;
        out_ += " sym(";
        for (int i = 0; i < g_.syms.symbol_count(); ++i) {
            const SymbolInfo& s = g_.syms.symbol_info(i);
            std::string lo = s.lo == INT64_MIN ? "min" : std::to_string(s.lo);
            std::string hi = s.hi == INT64_MAX ? "max" : std::to_string(s.hi);
            put(out_, "{}{}={} in [{}, {}]", i ? ", " : "", s.name, s.hint, lo, hi);
        }
        out_ += ")";
    }

    std::string sym(Sym s) const { return s && s.id < g_.syms.size() ? g_.syms.str(s) : "?"; }

    std::string sym_list(std::span<const Sym> list) const {
        std::string out = "[";
        for (size_t i = 0; i < list.size(); ++i) put(out, "{}{}", i ? ", " : "", sym(list[i]));
        return out + "]";
    }

    std::string type(DType t, std::span<const Sym> shape) const {
        return std::string(info(t).text) + (shape.empty() ? "" : sym_list(shape));
    }

    static std::string perm(const std::vector<int>& p) { return fmt::format("({})", fmt::join(p, ",")); }

    // ---- inputs ----

    // An input is printed with the first node that reads it, unless the two disagree (then the verifier
    // complains).
    void choose_inline_inputs() {
        inline_at_.assign(g_.inputs.size(), kNone);
        for (size_t i = 0; i < g_.nodes.size(); ++i) {
            const Node& n = g_.nodes[i];
            if (n.op != Op::Input || !attributes_well_formed(n)) continue;
            auto slot = static_cast<size_t>(n.ints[0]);
            if (slot >= g_.inputs.size() || inline_at_[slot] != kNone) continue;
            const Input& input = g_.inputs[slot];
            if (input.dtype == n.dtype && input.shape == n.shape) inline_at_[slot] = static_cast<Id>(i);
        }
    }

    std::string input_text(int slot) const {
        const Input& in = g_.inputs[static_cast<size_t>(slot)];
        std::string out = text::is_plain_source(in.source) ? in.source : quoted(in.source);
        put(out, " {{slot={}", slot);
        if (in.kind != InputKind::Array) put(out, ", kind={}", spell(text::kInputKind, in.kind));
        if (in.layout != Layout::Contiguous) put(out, ", layout={}", spell(text::kLayout, in.layout));
        if (!in.perm.empty()) put(out, ", perm={}", perm(in.perm));
        if (in.value) put(out, ", value={}", sym(in.value));
        if (in.own_dtype) out += ", own_dtype";
        if (in.host != HostId::NumPy) put(out, ", host={}", spell(text::kHost, in.host));
        if (in.written) out += ", written";
        return out + "}";
    }

    void standalone_input(int slot) {
        const Input& in = g_.inputs[static_cast<size_t>(slot)];
        put(out_, "  input {} : {}\n", input_text(slot), type(in.dtype, in.shape));
    }

    // ---- nodes ----

    void node(Id id) {
        const Node& n = g_.node(id);
        bool guard = info(n.op).cls == OpClass::Guard;
        out_ += guard ? "  " : fmt::format("  %{} = ", id);
        out_ += info(n.op).text;
        int arity = info(n.op).arity;
        bool sound = attributes_well_formed(n) && (arity < 0 || n.in.size() == static_cast<size_t>(arity));
        if (!sound) {
            put(out_, " {} {{malformed ints={} syms={} name={}}}", operands(n), n.ints, sym_list(n.syms),
                quoted(n.name));
        } else {
            attributes(id, n);
        }
        if (!guard || !n.shape.empty()) put(out_, " : {}", type(n.dtype, n.shape));
        if (n.layout != Layout::Contiguous) put(out_, " {}", spell(text::kLayout, n.layout));
        if (!n.perm.empty()) put(out_, " perm{}", perm(n.perm));
        if (n.own_dtype) out_ += " own_dtype";
        if (n.host != HostId::NumPy) put(out_, " {}", spell(text::kHost, n.host));
        if (n.box != Box::Array) put(out_, " as {}", spell(text::kBox, n.box));
        location(n.loc);
        out_ += "\n";
    }

    void location(int32_t loc) {
        if (loc < 0 || static_cast<size_t>(loc) >= g_.locations.size()) return;
        const Location& l = g_.locations[static_cast<size_t>(loc)];
        put(out_, " @ {}:{}", name_text(l.file), l.line);
        if (!l.function.empty()) put(out_, " {}", name_text(l.function));
    }

    static std::string operands(const Node& n) {
        std::string out;
        for (size_t i = 0; i < n.in.size(); ++i) put(out, "{}%{}", i ? ", " : "", n.in[i]);
        return out;
    }

    std::string axes(const Node& n) const {
        std::string out = " [";
        auto list = view_axes(n);
        for (size_t d = 0; d < list.size(); ++d) {
            const AxisMap& a = list[d];
            if (d) out += ", ";
            if (a.axis < 0) {
                put(out, "at {}", sym(a.start));
                continue;
            }
            put(out, "j{}", a.axis);
            if (a.step != 1) put(out, "*{}", a.step);
            if (!a.start || g_.syms.as_const(a.start) != 0) put(out, " from {}", sym(a.start));
        }
        return out + "]";
    }

    static std::string exit(int64_t snapshot) {
        return snapshot < 0 ? "entry" : fmt::format("n{}", snapshot);
    }

    void attributes(Id id, const Node& n) {
        switch (n.op) {
            case Op::Input: {
                auto slot = static_cast<size_t>(n.ints[0]);
                if (slot < inline_at_.size() && inline_at_[slot] == id)
                    put(out_, " {}", input_text(static_cast<int>(slot)));
                else
                    put(out_, " #{}", n.ints[0]);
                return;
            }
            case Op::Const: put(out_, " {}", scalar_text(n.dtype, n.ints)); return;
            case Op::SymScalar: put(out_, " {}", sym(n.syms[0])); return;
            case Op::View: put(out_, " {}{}", operands(n), axes(n)); return;
            case Op::Store: {
                put(out_, " {}{}", operands(n), axes(n));
                auto extents = std::span<const Sym>(n.syms).subspan(static_cast<size_t>(n.ints[0]));
                if (!extents.empty()) put(out_, " over {}", sym_list(extents));
                return;
            }
            case Op::Reduce:
                put(out_, " {} {} {{axes=({}), order={}}}", name_text(n.name), operands(n),
                    fmt::join(n.ints.begin() + 1, n.ints.end(), ","), spell(text::kReduceOrder, n.ints[0]));
                return;
            case Op::ArgReduce:
                put(out_, " {} {} {{axis={}}}", name_text(n.name), operands(n),
                    n.ints[0] == -1 ? "all" : std::to_string(n.ints[0]));
                return;
            case Op::HostLoop: put(out_, " {} {}", name_text(n.name), operands(n)); return;
            case Op::Library: {
                std::string name = name_text(n.name.empty() ? "library" : n.name);
                std::string keywords = n.ints[2] < 0 ? "none" : recipe(n.ints[2]);
                put(out_, " {} {}{}{{callable={}, args={}, keywords={}", name, operands(n),
                    n.in.empty() ? "" : " ", n.ints[0], recipe(n.ints[1]), keywords);
                if (!n.syms.empty()) put(out_, ", binds={}", sym_list(n.syms));
                if (n.ints[3] != kGivesPlain) put(out_, ", gives={}", n.ints[3]);
                out_ += "}";
                return;
            }
            case Op::Guard:
                put(out_, " {} == {} else {}", operands(n), n.ints[0] ? "True" : "False", exit(n.ints[1]));
                return;
            case Op::ErrorState: put(out_, " {} ignored {}", n.ints[0] & 15, n.ints[0] >> 4); return;
            case Op::Checkpoint: put(out_, " {}", exit(n.ints[1])); return;
            case Op::SymGuard:
                put(out_, " {} {} {} else {}", sym(n.syms[0]), spell(text::kRelation, n.ints[0]),
                    sym(n.syms[1]), exit(n.ints[1]));
                return;
            default:
                if (!n.in.empty()) put(out_, " {}", operands(n));
        }
    }

    // ---- recipes and snapshots ----

    bool valid(int64_t r) const { return r >= 0 && r < static_cast<int64_t>(g_.recipes.size()); }
    const Recipe& at(int64_t r) const { return g_.recipes[static_cast<size_t>(r)]; }
    static bool composite(const Recipe& r) { return r.kind >= RecipeKind::Tuple; }

    void count(int64_t r) {
        if (!valid(r) || !composite(at(r))) return;
        if (++uses_[static_cast<size_t>(r)] > 1) return;
        for (int32_t item : at(r).items) count(item);
    }

    void count_recipes() {
        uses_.assign(g_.recipes.size(), 0);
        for (const Node& n : g_.nodes)
            if (n.op == Op::Library && attributes_well_formed(n)) count(n.ints[1]), count(n.ints[2]);
        for (const Snapshot& s : g_.snapshots) {
            for (int32_t r : s.contexts) count(r);
            for (const CellContents& c : s.cells) count(c.contents);
            for (const SnapFrame& f : s.frames) {
                count(f.func);
                for (int32_t r : f.slots) count(r);
            }
        }
        if (g_.end_kind != EndKind::Return) return;
        count(g_.end);
        for (const CellContents& c : g_.end_cells) count(c.contents);
    }

    std::string items(const Recipe& r, size_t from = 0) {
        std::string out;
        for (size_t i = from; i < r.items.size(); ++i)
            put(out, "{}{}", i > from ? ", " : "", recipe(r.items[i]));
        return out;
    }

    std::string recipe(int64_t r) {
        if (!valid(r)) return r == -1 ? "none" : fmt::format("?{}", r);
        if (!composite(at(r)) || uses_[static_cast<size_t>(r)] < 2) return recipe_body(r);
        auto [it, fresh] = labels_.try_emplace(r, labelled_.size());
        if (fresh) labelled_.push_back(r);
        return fmt::format("r{}", it->second);
    }

    std::string recipe_body(int64_t index) {
        const Recipe& r = at(index);
        switch (r.kind) {
            case RecipeKind::Null: return "null";
            case RecipeKind::Value: return fmt::format("%{}", r.index);
            case RecipeKind::SymInt: return fmt::format("int({})", sym(r.sym));
            case RecipeKind::Object: return fmt::format("obj#{}", r.index);
            case RecipeKind::Slot: return fmt::format("slot#{}", r.index);
            case RecipeKind::InputObj: return fmt::format("in#{}", r.index);
            case RecipeKind::Cell: return fmt::format("cell#{}", r.index);
            case RecipeKind::Tuple: return fmt::format("({}{})", items(r), r.items.size() == 1 ? "," : "");
            case RecipeKind::List: return fmt::format("[{}]", items(r));
            case RecipeKind::Slice: return fmt::format("slice({})", items(r));
            case RecipeKind::Method: return fmt::format("method({})", items(r));
            case RecipeKind::Dict: return fmt::format("dict({})", items(r));
            case RecipeKind::Make: return fmt::format("make({})", items(r));
            case RecipeKind::Attr: return fmt::format("attr({})", items(r));
            case RecipeKind::ListEnd: return fmt::format("end({})", items(r));
            case RecipeKind::Function: return fmt::format("function({})", items(r));
            case RecipeKind::Iter: return fmt::format("iter({} at {})", items(r), r.index);
            case RecipeKind::Strided: return fmt::format("strided({})", items(r));
            case RecipeKind::View: return fmt::format("view(%{}, {})", r.index, items(r));
        }
        return "?";
    }

    std::string cells(const std::vector<CellContents>& list) {
        std::string out;
        for (const CellContents& c : list)
            put(out, "{}{} = {}", out.empty() ? " cells [" : ", ", recipe(c.cell), recipe(c.contents));
        return list.empty() ? out : out + "]";
    }

    void snapshot(int index) {
        const Snapshot& s = g_.snapshots[static_cast<size_t>(index)];
        put(out_, "  snap n{}", index);
        for (size_t i = 0; i < s.contexts.size(); ++i)
            put(out_, "{}{}{}", i ? ", " : " in [", recipe(s.contexts[i]),
                i + 1 < s.contexts.size() ? "" : "]");
        out_ += cells(s.cells);
        for (size_t i = 0; i < s.frames.size(); ++i) {
            const SnapFrame& f = s.frames[i];
            if (i) out_ += "\n    then";
            put(out_, " code={}", f.code);
            if (f.func != -1) put(out_, " func={}", recipe(f.func));
            put(out_, " unit={} [", f.unit);
            for (size_t k = 0; k < f.slots.size(); ++k) put(out_, "{}{}", k ? ", " : "", recipe(f.slots[k]));
            out_ += "]";
        }
        out_ += "\n";
    }

    std::string end_text() {
        if (g_.end_kind == EndKind::Leave) return fmt::format("  leave {}\n", exit(g_.end));
        if (g_.end == -1) return "";
        std::string value = recipe(g_.end);  // first, as labels are given in the order of the text
        return fmt::format("  return {}{}\n", value, cells(g_.end_cells));
    }

    const Graph& g_;
    Out out_;
    std::vector<Id> inline_at_;  // per input: the node it is printed with
    std::vector<int> uses_;      // per recipe
    std::unordered_map<int64_t, size_t> labels_;
    std::vector<int64_t> labelled_;
};

}  // namespace

std::string print(const Graph& g) { return Printer(g).run(); }

}  // namespace stator::graph
