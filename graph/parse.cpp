// Text to graphs: the inverse of print.cpp, and what tests are written in.
//
//   trace NAME [sym(s0=HINT in [LO, HI], ...)] {
//     input SOURCE {slot=I, ...} : TYPE                  an input that no node reads
//     %ID = OP ... : TYPE [LAYOUT] [perm(1,0)] [own_dtype] [HOST] [as BOX] [@ FILE:LINE [FUNCTION]]
//     guard %ID == True else n0                          guards and checkpoints have no value
//     snap n0 [in [RECIPE, ...]] [cells [CELL = RECIPE, ...]] code=I [func=RECIPE] unit=I [RECIPE, ...]
//                                                        further frames follow as `then code=...`
//     recipe r0 = RECIPE                                 shared tuples, lists, slices, methods, views
//     return RECIPE [cells [CELL = RECIPE, ...]] | leave n0
//   }
//
// One statement a line; `;` starts a comment; value names are free (%u), numbers are only what the printer
// chooses. Invariant: print(parse(print(g))) == print(g). For that, symbols get their bounds only at the end:
// an expression that was printed unsimplified must stay so.
#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <unordered_map>

#include <fmt/format.h>

#include "graph/graph.h"
#include "graph/scalar.h"
#include "graph/text_names.h"

namespace stator::graph {

namespace {

struct ParseError {
    std::string expected;
    std::string found;
};

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// One line, read from the left. Every reader skips spaces first.
class Cursor {
  public:
    explicit Cursor(std::string_view line) : rest_(line) {}

    void space() {
        while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
    }
    bool done() {
        space();
        return rest_.empty();
    }
    bool peek(std::string_view token) {
        space();
        return rest_.starts_with(token);
    }
    bool take(std::string_view token) {
        if (!peek(token)) return false;
        rest_.remove_prefix(token.size());
        return true;
    }
    // A token that must not go on as a word: `as` is not the start of `astype`.
    bool take_word(std::string_view word) {
        space();
        if (!rest_.starts_with(word)) return false;
        if (rest_.size() > word.size() && text::plain_char(rest_[word.size()])) return false;
        rest_.remove_prefix(word.size());
        return true;
    }
    void expect(std::string_view token) {
        if (!take(token)) fail(fmt::format("'{}'", token));
    }
    [[noreturn]] void fail(std::string expected) {
        space();
        throw ParseError{std::move(expected),
                         rest_.empty() ? "end of line" : "'" + std::string(rest_.substr(0, 40)) + "'"};
    }

    std::string_view identifier(std::string_view what) {
        space();
        size_t n = 0;
        while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_'))
            ++n;
        if (n == 0) fail(std::string(what));
        return take_prefix(n);
    }

    // A plain or quoted name.
    std::string name(std::string_view what) {
        space();
        if (!rest_.empty() && rest_[0] == '"') return quoted();
        size_t n = 0;
        while (n < rest_.size() && text::plain_char(rest_[n])) ++n;
        if (n == 0) fail(std::string(what));
        return std::string(take_prefix(n));
    }

    std::string quoted() {
        expect("\"");
        std::string out;
        while (!rest_.empty() && rest_[0] != '"') {
            if (rest_[0] != '\\') {
                out += rest_[0];
                rest_.remove_prefix(1);
            } else if (rest_.size() >= 4 && rest_[1] == 'x') {
                unsigned v = 0;
                std::from_chars(rest_.data() + 2, rest_.data() + 4, v, 16);
                out += static_cast<char>(v);
                rest_.remove_prefix(4);
            } else if (rest_.size() >= 2) {
                out += rest_[1];
                rest_.remove_prefix(2);
            } else {
                break;
            }
        }
        expect("\"");
        return out;
    }

    // How Python would say an input: up to " {", or to the last " : " where no braces follow.
    std::string source() {
        space();
        if (!rest_.empty() && rest_[0] == '"') return quoted();
        size_t n = text::source_length(rest_);
        if (n == rest_.size() || n == std::string_view::npos) n = rest_.rfind(" : ");
        if (n == std::string_view::npos || n == 0) fail("a source");
        return std::string(take_prefix(n));
    }

    int64_t integer() {
        space();
        int64_t v = 0;
        auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), v);
        if (error != std::errc()) fail("an integer");
        rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
        return v;
    }

    // Text up to one of the stop characters or words outside brackets.
    std::string_view until(std::string_view stops, std::initializer_list<std::string_view> words = {}) {
        space();
        int depth = 0;
        size_t n = 0;
        for (; n < rest_.size(); ++n) {
            if (depth == 0 && stops.find(rest_[n]) != std::string_view::npos) break;
            if (depth == 0 && std::any_of(words.begin(), words.end(),
                                          [&](std::string_view w) { return rest_.substr(n).starts_with(w); }))
                break;
            if (rest_[n] == '(') ++depth;
            if (rest_[n] == ')') --depth;
        }
        return take_prefix(n);
    }

  private:
    std::string_view take_prefix(size_t n) {
        std::string_view s = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return s;
    }
    std::string_view rest_;
};

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    ParseResult run() {
        ParseResult result;
        try {
            lines();
            for (auto& [index, bounds] : bounds_) {
                g_.syms.symbol_info(index).lo = bounds.lo;
                g_.syms.symbol_info(index).hi = bounds.hi;
            }
            result.graph = std::move(g_);
        } catch (const ParseError& e) {
            result.error = fmt::format("line {}: expected {}, found {}", line_, e.expected, e.found);
        }
        return result;
    }

  private:
    // ---- lines ----

    static std::string_view without_comment(std::string_view line) {
        char quote = 0;
        for (size_t i = 0; i < line.size(); ++i) {
            if (quote) {
                if (line[i] == '\\')
                    ++i;
                else if (line[i] == quote)
                    quote = 0;
            } else if (line[i] == '"' || line[i] == '\'') {
                quote = line[i];
            } else if (line[i] == ';') {
                return line.substr(0, i);
            }
        }
        return line;
    }

    void lines() {
        enum { Header, Body, After } state = Header;
        while (!text_.empty()) {
            ++line_;
            size_t n = std::min(text_.find('\n'), text_.size());
            Cursor c(without_comment(text_.substr(0, n)));
            text_.remove_prefix(std::min(n + 1, text_.size()));
            if (c.done()) continue;
            if (state == After) c.fail("nothing after '}'");
            if (state == Header) {
                header(c);
                state = Body;
            } else if (c.take("}")) {
                state = After;
            } else {
                statement(c);
            }
            if (!c.done()) c.fail("end of line");
        }
        Cursor end("");
        if (state != After) end.fail(state == Header ? "'trace'" : "'}'");
        for (auto& [label, index] : labels_)
            if (!defined_[label]) end.fail(fmt::format("a line 'recipe {} = ...'", label));
    }

    void header(Cursor& c) {
        if (!c.take_word("trace")) c.fail("'trace'");
        g_.name = c.name("the trace's name");
        if (c.take("sym(")) {
            do {
                std::string name(c.identifier("a symbol"));
                int64_t lo = kMin, hi = kMax, hint = 0;
                bool hinted = c.take("=");
                if (hinted) hint = c.integer();
                if (c.take("in")) {
                    c.expect("[");
                    if (!c.take_word("min")) lo = c.integer();
                    c.expect(",");
                    if (!c.take_word("max")) hi = c.integer();
                    c.expect("]");
                }
                if (!hinted) hint = std::clamp<int64_t>(hint, lo, hi);
                bounds_.emplace_back(g_.syms.symbol_count(), SymTable::Bounds{lo, hi});
                g_.syms.symbol(hint, kMin, kMax, std::move(name));
            } while (c.take(","));
            c.expect(")");
        }
        c.expect("{");
    }

    void statement(Cursor& c) {
        if (c.take("%")) {
            std::string name(c.identifier("a value name"));
            c.expect("=");
            if (ids_.contains(name)) c.fail(fmt::format("a new name, %{} is taken", name));
            Id id = node(c);
            ids_[name] = id;
        } else if (c.take_word("input")) {
            int slot = input(c);
            Input& in = g_.inputs[static_cast<size_t>(slot)];
            c.expect(":");
            type(c, in.dtype, in.shape);
        } else if (c.take_word("snap")) {
            current_ = index_after(c, "n");
            grow(g_.snapshots, current_);
            Snapshot s;  // reading recipes may make the list of snapshots grow
            if (c.take("in [")) s.contexts = items(c, "]");
            s.cells = cells(c);
            g_.snapshots[static_cast<size_t>(current_)] = std::move(s);
            if (!c.done()) frame(c);
        } else if (c.take_word("then")) {
            if (current_ < 0) c.fail("'snap' before 'then'");
            frame(c);
        } else if (c.take_word("recipe")) {
            std::string label(c.identifier("a label"));
            c.expect("=");
            Recipe r = recipe(c);
            g_.recipes[static_cast<size_t>(labelled(label))] = std::move(r);
            defined_[label] = true;
        } else if (c.take_word("return")) {
            g_.end = recipe_index(c);
            g_.end_cells = cells(c);
        } else if (c.take_word("leave")) {
            g_.end_kind = EndKind::Leave;
            g_.end = exit(c);
        } else {
            node(c);  // guards; any op may stand without a name
        }
    }

    template <class T>
    static void grow(std::vector<T>& list, int64_t index) {
        if (static_cast<int64_t>(list.size()) <= index) list.resize(static_cast<size_t>(index) + 1);
    }

    // ---- pieces ----

    static int32_t index_after(Cursor& c, std::string_view prefix) {
        c.expect(prefix);
        int64_t v = c.integer();
        if (v < 0 || v > 0xffff) c.fail("an index");
        return static_cast<int32_t>(v);
    }

    static int32_t exit(Cursor& c) { return c.take_word("entry") ? -1 : index_after(c, "n"); }

    Sym sym(Cursor& c, std::string_view stops, std::initializer_list<std::string_view> words = {}) {
        Cursor before = c;
        auto s = g_.syms.parse(c.until(stops, words));
        if (!s) before.fail("a symbolic integer");
        return *s;
    }

    std::vector<Sym> sym_list(Cursor& c) {
        std::vector<Sym> list;
        c.expect("[");
        if (c.take("]")) return list;
        do list.push_back(sym(c, ",]"));
        while (c.take(","));
        c.expect("]");
        return list;
    }

    void type(Cursor& c, DType& dtype, std::vector<Sym>& shape) {
        Cursor before = c;
        std::string_view text = c.identifier("a type");
        int i = 0;
        while (i < kDTypeCount && kDTypes[i].text != text) ++i;
        if (i == kDTypeCount) before.fail("a dtype");
        dtype = static_cast<DType>(i);
        shape.clear();
        if (c.peek("[")) shape = sym_list(c);
    }

    static std::vector<int64_t> integers(Cursor& c) {
        std::vector<int64_t> list;
        c.expect("(");
        if (c.take(")")) return list;
        do list.push_back(c.integer());
        while (c.take(","));
        c.expect(")");
        return list;
    }

    static std::vector<int> perm(Cursor& c) {
        auto list = integers(c);
        return {list.begin(), list.end()};
    }

    template <class Enum, class Table>
    static Enum choice(Cursor& c, const Table& table, std::string_view what) {
        for (size_t i = 0; i < table.size(); ++i)
            if (c.take_word(table[i])) return static_cast<Enum>(i);
        c.fail(std::string(what));
    }

    Id value(Cursor& c) {
        Cursor before = c;
        c.expect("%");
        auto it = ids_.find(std::string(c.identifier("a value name")));
        if (it == ids_.end()) before.fail("a value defined above");
        return it->second;
    }

    void operands(Cursor& c, Node& n) {
        if (!c.peek("%")) return;
        do n.in.push_back(value(c));
        while (c.take(","));
    }

    // ---- inputs and nodes ----

    int input(Cursor& c) {
        Input in{};
        in.source = c.source();
        int64_t slot = static_cast<int64_t>(g_.inputs.size());
        if (c.take("{") && !c.take("}")) {
            do {
                if (c.take("slot="))
                    slot = index_after(c, "");
                else if (c.take("kind="))
                    in.kind = choice<InputKind>(c, text::kInputKind, "an input kind");
                else if (c.take("layout="))
                    in.layout = choice<Layout>(c, text::kLayout, "a layout");
                else if (c.take("perm="))
                    in.perm = perm(c);
                else if (c.take("value="))
                    in.value = sym(c, ",}");
                else if (c.take_word("own_dtype"))
                    in.own_dtype = true;
                else if (c.take("host="))
                    in.host = choice<HostId>(c, text::kHost, "a host");
                else if (c.take_word("written"))
                    in.written = true;
                else
                    c.fail("an attribute of an input");
            } while (c.take(","));
            c.expect("}");
        }
        grow(g_.inputs, slot);
        g_.inputs[static_cast<size_t>(slot)] = std::move(in);
        return static_cast<int>(slot);
    }

    Id node(Cursor& c) {
        Cursor before = c;
        auto op = find_op(c.identifier("an op"));
        if (!op) before.fail("an op");
        Node n{};
        n.op = *op;
        int slot = -1;          // of an input described here
        std::string_view bits;  // of a const, which need the type to be read
        if (n.op == Op::Input && !c.take("#")) {
            slot = input(c);
            n.ints = {slot};
        } else if (n.op == Op::Input) {
            n.ints = {c.integer()};
        } else if (n.op == Op::Const) {
            bits = c.until(":");
        } else {
            attributes(c, n);
        }
        bool typed = c.take(":");
        if (typed) type(c, n.dtype, n.shape);
        if (!typed && info(n.op).cls != OpClass::Guard) c.fail("':' and a type");
        if (n.op == Op::Const && !parse_scalar(n.dtype, bits, n.ints))
            Cursor(bits).fail(fmt::format("a constant of type {}", info(n.dtype).text));
        if (slot >= 0) {
            g_.inputs[static_cast<size_t>(slot)].dtype = n.dtype;
            g_.inputs[static_cast<size_t>(slot)].shape = n.shape;
        }
        trailer(c, n);
        return g_.append(std::move(n));
    }

    void trailer(Cursor& c, Node& n) {
        for (size_t i = 0; i < text::kLayout.size(); ++i)
            if (c.take_word(text::kLayout[i])) n.layout = static_cast<Layout>(i);
        if (c.take("perm")) n.perm = perm(c);
        n.own_dtype = c.take_word("own_dtype");
        for (size_t i = 1; i < text::kHost.size(); ++i)
            if (c.take_word(text::kHost[i])) n.host = static_cast<HostId>(i);
        if (c.take_word("as")) n.box = choice<Box>(c, text::kBox, "a box");
        if (!c.take("@")) return;
        Location l{};
        l.file = c.name("a file name");
        c.expect(":");
        l.line = static_cast<int>(c.integer());
        if (!c.done()) l.function = c.name("a function name");
        auto it = std::find_if(g_.locations.begin(), g_.locations.end(), [&](const Location& o) {
            return o.file == l.file && o.line == l.line && o.function == l.function;
        });
        n.loc = static_cast<int32_t>(it - g_.locations.begin());
        if (it == g_.locations.end()) g_.locations.push_back(std::move(l));
    }

    void axes(Cursor& c, Node& n) {
        std::vector<AxisMap> list;
        c.expect("[");
        while (!c.take("]")) {
            if (!list.empty()) c.expect(",");
            AxisMap a{g_.syms.constant(0), 0, -1};
            if (c.take_word("at")) {
                a.start = sym(c, ",]");
            } else {
                a.axis = index_after(c, "j");
                a.step = c.take("*") ? c.integer() : 1;
                if (c.take_word("from")) a.start = sym(c, ",]");
            }
            list.push_back(a);
        }
        set_view_axes(n, list);
    }

    void attributes(Cursor& c, Node& n) {
        switch (n.op) {
            case Op::SymScalar: n.syms = {sym(c, ":")}; return;
            case Op::View: operands(c, n), axes(c, n); return;
            case Op::Store:
                operands(c, n);
                axes(c, n);
                if (c.take_word("over"))
                    for (Sym s : sym_list(c)) n.syms.push_back(s);
                return;
            case Op::Reduce: {
                n.name = c.name("a ufunc");
                operands(c, n);
                c.expect("{axes=");
                auto list = integers(c);
                c.expect(", order=");
                n.ints = {choice<int64_t>(c, text::kReduceOrder, "an order")};
                n.ints.insert(n.ints.end(), list.begin(), list.end());
                c.expect("}");
                return;
            }
            case Op::ArgReduce:
                n.name = c.name("argmax or argmin");
                operands(c, n);
                c.expect("{axis=");
                n.ints = {c.take_word("all") ? -1 : c.integer()};
                c.expect("}");
                return;
            case Op::HostLoop:
                n.name = c.name("a ufunc");
                operands(c, n);
                return;
            case Op::Library: {
                n.name = c.name("a function");
                operands(c, n);
                c.expect("{callable=");
                n.ints = {c.integer()};
                c.expect(", args=");
                n.ints.push_back(recipe_index(c));
                c.expect(", keywords=");
                n.ints.push_back(recipe_index(c));
                if (c.take(", binds=")) n.syms = sym_list(c);
                n.ints.push_back(c.take(", gives=") ? c.integer() : kGivesPlain);
                c.expect("}");
                return;
            }
            case Op::Guard:
                operands(c, n);
                c.expect("==");
                n.ints = {c.take_word("True") ? 1 : 0};
                if (n.ints[0] == 0 && !c.take_word("False")) c.fail("True or False");
                if (!c.take_word("else")) c.fail("'else'");
                n.ints.push_back(exit(c));
                return;
            case Op::ErrorState: {
                int64_t set = c.integer();
                if (!c.take_word("ignored")) c.fail("'ignored'");
                n.ints = {set | c.integer() << 4, -1};
                return;
            }
            case Op::Checkpoint: n.ints = {0, exit(c)}; return;
            case Op::SymGuard: {
                Sym a = sym(c, "=!<>");
                int64_t relation = -1;
                for (size_t i = 0; i < text::kRelation.size() && relation < 0; ++i)
                    if (c.take(text::kRelation[i])) relation = static_cast<int64_t>(i);
                if (relation < 0) c.fail("==, !=, >= or <");
                n.syms = {a, sym(c, "", {" else"})};
                if (!c.take_word("else")) c.fail("'else'");
                n.ints = {relation, exit(c)};
                return;
            }
            default: operands(c, n);
        }
    }

    // ---- recipes and snapshots ----

    int32_t labelled(const std::string& label) {
        auto [it, fresh] = labels_.try_emplace(label, -1);
        if (fresh) it->second = g_.add_recipe({});
        return it->second;
    }

    int32_t recipe_index(Cursor& c) {
        if (c.take_word("none")) return -1;
        Cursor probe = c;
        if (probe.take("r")) {  // a label, unless the word goes on otherwise
            std::string label = "r" + std::string(probe.identifier("a label"));
            c = probe;
            return labelled(label);
        }
        Recipe r = recipe(c);
        return g_.add_recipe(std::move(r));
    }

    std::vector<int32_t> items(Cursor& c, std::string_view close) {
        std::vector<int32_t> list;
        while (!c.take(close)) {
            if (!list.empty()) {
                c.expect(",");
                if (c.take(close)) break;
            }
            list.push_back(recipe_index(c));
        }
        return list;
    }

    std::vector<CellContents> cells(Cursor& c) {
        std::vector<CellContents> list;
        if (!c.take("cells [")) return list;
        while (!c.take("]")) {
            if (!list.empty()) c.expect(",");
            int32_t cell = recipe_index(c);
            c.expect("=");
            list.push_back({cell, recipe_index(c)});
        }
        return list;
    }

    Recipe recipe(Cursor& c) {
        auto leaf = [](RecipeKind kind, int64_t index) {
            return Recipe{kind, static_cast<int32_t>(index), {}, {}};
        };
        if (c.take_word("null")) return {};
        if (c.peek("%")) return leaf(RecipeKind::Value, value(c));
        if (c.take("int(")) {
            Recipe r{RecipeKind::SymInt, -1, sym(c, ")"), {}};
            c.expect(")");
            return r;
        }
        if (c.take("obj#")) return leaf(RecipeKind::Object, c.integer());
        if (c.take("slot#")) return leaf(RecipeKind::Slot, c.integer());
        if (c.take("in#")) return leaf(RecipeKind::InputObj, c.integer());
        if (c.take("cell#")) return leaf(RecipeKind::Cell, c.integer());
        if (c.take("function(")) return {RecipeKind::Function, -1, {}, items(c, ")")};
        if (c.take("iter(")) {
            int32_t over = recipe_index(c);
            c.expect("at");
            auto given = static_cast<int32_t>(c.integer());
            c.expect(")");
            return {RecipeKind::Iter, given, {}, {over}};
        }
        if (c.take("slice(")) return {RecipeKind::Slice, -1, {}, items(c, ")")};
        if (c.take("method(")) return {RecipeKind::Method, -1, {}, items(c, ")")};
        if (c.take("dict(")) return {RecipeKind::Dict, -1, {}, items(c, ")")};
        if (c.take("make(")) return {RecipeKind::Make, -1, {}, items(c, ")")};
        if (c.take("attr(")) return {RecipeKind::Attr, -1, {}, items(c, ")")};
        if (c.take("end(")) return {RecipeKind::ListEnd, -1, {}, items(c, ")")};
        if (c.take("strided(")) return {RecipeKind::Strided, -1, {}, items(c, ")")};
        if (c.take("view(")) {
            Id node = value(c);
            c.expect(",");
            return {RecipeKind::View, node, {}, items(c, ")")};
        }
        if (c.take("(")) return {RecipeKind::Tuple, -1, {}, items(c, ")")};
        if (c.take("[")) return {RecipeKind::List, -1, {}, items(c, "]")};
        c.fail("a recipe");
    }

    void frame(Cursor& c) {
        SnapFrame f;
        c.expect("code=");
        f.code = static_cast<int32_t>(c.integer());
        if (c.take("func=")) f.func = recipe_index(c);
        c.expect("unit=");
        f.unit = static_cast<int32_t>(c.integer());
        c.expect("[");
        f.slots = items(c, "]");
        g_.snapshots[static_cast<size_t>(current_)].frames.push_back(std::move(f));
    }

    std::string_view text_;
    int line_ = 0;
    Graph g_;
    std::vector<std::pair<int, SymTable::Bounds>> bounds_;
    std::unordered_map<std::string, Id> ids_;
    std::unordered_map<std::string, int32_t> labels_;
    std::unordered_map<std::string, bool> defined_;
    int32_t current_ = -1;  // snapshot that `then` continues
};

}  // namespace

ParseResult parse(std::string_view text) { return Parser(text).run(); }

}  // namespace stator::graph
