// Text to regions: the inverse of region/print.cpp, and what tests are written in.
//
//   region "NAME" {
//     input %ID : TYPE [contiguous] [written] ["SOURCE"]
//     call cK = scalar|ufunc|dot|library "NAME" (DTYPE, ...)
//     loop lK header bN [in lP] [@LINE]
//   bN[(%ID : TYPE, ...)] [in lK]:
//     [%ID =] OP[.DTYPE][{INT, ...}] OPERANDS [else xN] [: TYPE] [@LINE]
//     %ID = view %A [axis A from %S|_ count %C|_ step %T|_, drop A at %S, new %C] : TYPE
//     nest[{FAULTS}] %EXTENT, ... [else xN] [@LINE] {      its body's instructions follow, and a line with }
//     %ID = pack[{FAULTS}] %EXTENT, ... [else xN] : i64 [@LINE] {
//     jump bN[(%ID, ...)] | branch %ID bN[(...)] else bM[(...)] | leave xN
//   exit xN [%ID, ...] [as xM] [to bN] ["LABEL"] [@LINE]
//   }
//
// One statement a line; `;` starts a comment. TYPE is a dtype, followed by [RANK] for an array.
#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "graph/region/region.h"
#include "graph/scalar.h"

namespace stator::graph {
namespace {

struct Failure {
    std::string message;
};

std::string_view trimmed(std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
    return s;
}

// One line, read from the left.
class Line {
  public:
    explicit Line(std::string_view text) : rest_(trimmed(text)) {}
    bool done() {
        rest_ = trimmed(rest_);
        return rest_.empty();
    }
    bool peek(std::string_view token) {
        rest_ = trimmed(rest_);
        return rest_.starts_with(token);
    }
    bool take(std::string_view token) {
        if (!peek(token)) return false;
        rest_.remove_prefix(token.size());
        return true;
    }
    // Without a space in between: `nest{15}` has attributes, `nest {` a body.
    bool follows(char c) {
        if (rest_.empty() || rest_[0] != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void expect(std::string_view token) {
        if (!take(token)) fail(fmt::format("'{}'", token));
    }
    [[noreturn]] void fail(std::string_view expected) {
        done();
        throw Failure{fmt::format("expected {}, found {}", expected,
                                  rest_.empty() ? "the end of the line" : fmt::format("'{}'", rest_))};
    }
    int64_t integer() {
        done();
        int64_t v = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), v);
        if (error != std::errc()) fail("an integer");
        rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
        return v;
    }
    int number(std::string_view prefix) {  // x3, b0, %7
        expect(prefix);
        const int64_t v = integer();
        if (v < 0 || v > 10'000'000) fail("a small number");
        return static_cast<int>(v);
    }
    std::string quoted() {
        expect("\"");
        std::string s;
        while (!rest_.empty() && rest_[0] != '"') {
            if (rest_[0] != '\\') {
                s += rest_[0];
                rest_.remove_prefix(1);
            } else if (rest_.size() >= 4 && rest_[1] == 'x') {
                unsigned v = 0;
                std::from_chars(rest_.data() + 2, rest_.data() + 4, v, 16);
                s += static_cast<char>(v);
                rest_.remove_prefix(4);
            } else if (rest_.size() >= 2) {
                s += rest_[1];
                rest_.remove_prefix(2);
            } else {
                break;
            }
        }
        expect("\"");
        return s;
    }
    std::string_view word() {  // up to what cannot be part of an op's name
        done();
        size_t n = 0;
        while (n < rest_.size() &&
               (std::isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_' || rest_[n] == '!'))
            ++n;
        const std::string_view w = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return w;
    }
    std::string_view until(std::string_view stop) {
        done();
        const size_t n = std::min(rest_.find(stop), rest_.size());
        const std::string_view w = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return trimmed(w);
    }
    std::optional<ValueId> value() {
        if (!peek("%")) return std::nullopt;
        return number("%");
    }

  private:
    std::string_view rest_;
};

class RegionParser {
  public:
    RegionParser(std::string_view text, Region* out) : text_(text), r_(*out) {}

    std::string run() {
        r_ = Region{};
        try {
            while (!text_.empty() && !closed_) {
                ++line_;
                const size_t n = std::min(text_.find('\n'), text_.size());
                std::string_view line = text_.substr(0, n);
                text_.remove_prefix(std::min(n + 1, text_.size()));
                line = trimmed(line.substr(0, std::min(line.find(';'), line.size())));
                if (!line.empty()) statement(line);
            }
            if (!closed_) throw Failure{"expected '}' at the end"};
        } catch (const Failure& f) {
            return fmt::format("line {}: {}", line_, f.message);
        }
        return "";
    }

  private:
    template <class T>
    T& at(std::vector<T>& list, int index) {
        if (list.size() <= static_cast<size_t>(index)) list.resize(static_cast<size_t>(index) + 1);
        return list[static_cast<size_t>(index)];
    }

    DType dtype(Line& l) {
        const std::string_view name = l.word();
        for (int i = 0; i < kDTypeCount; ++i)
            if (kDTypes[i].text == name) return static_cast<DType>(i);
        throw Failure{fmt::format("expected a dtype, found '{}'", name)};
    }
    RegionType type(Line& l) {
        RegionType t{dtype(l), -1};
        if (l.take("[")) {
            t.rank = static_cast<int8_t>(l.integer());
            l.expect("]");
        }
        return t;
    }
    void define(ValueId v, RegionType t) { at(r_.types, v) = t; }
    int line_number(Line& l) { return l.take("@") ? static_cast<int>(l.integer()) : 0; }
    std::vector<ValueId> values(Line& l, std::string_view close) {
        std::vector<ValueId> list;
        while (!l.take(close)) {
            if (!list.empty()) l.expect(",");
            list.push_back(l.number("%"));
        }
        return list;
    }

    void statement(std::string_view text) {
        Line l(text);
        if (!open_) {
            l.expect("region");
            r_.name = l.quoted();
            l.expect("{");
            open_ = true;
        } else if (l.peek("}")) {
            (nest_ >= 0 ? nest_ = -1 : static_cast<int>(closed_ = true));
            l.expect("}");
        } else if (l.peek("b") && text.ends_with(":")) {
            block(l);
        } else if (l.take("input ")) {
            input(l);
        } else if (l.peek("call c")) {
            l.expect("call");
            call(l);
        } else if (l.take("loop ")) {
            loop(l);
        } else if (l.take("exit ")) {
            exit(l);
        } else if (block_ < 0) {
            l.fail("a block");
        } else if (!terminator(l)) {
            inst(l);
        }
        if (!l.done()) l.fail("the end of the line");
    }

    void input(Line& l) {
        RegionInput in;
        in.value = l.number("%");
        l.expect(":");
        define(in.value, type(l));
        in.contiguous = l.take("contiguous");
        in.written = l.take("written");
        if (l.peek("\"")) in.source = l.quoted();
        r_.inputs.push_back(std::move(in));
    }
    void call(Line& l) {
        RegionCall& c = at(r_.calls, l.number("c"));
        l.expect("=");
        const std::string_view kind = l.word();
        if (kind == "scalar")
            c.kind = RegionCall::Scalar;
        else if (kind == "ufunc")
            c.kind = RegionCall::UfuncLoop;
        else if (kind == "dot")
            c.kind = RegionCall::Dot;
        else if (kind == "library")
            c.kind = RegionCall::Library;
        else
            l.fail("scalar, ufunc, dot or library");
        c.name = l.quoted();
        l.expect("(");
        while (!l.take(")")) {
            if (!c.types.empty()) l.expect(",");
            c.types.push_back(dtype(l));
        }
    }
    void loop(Line& l) {
        LoopInfo& info = at(r_.loops, l.number("l"));
        l.expect("header");
        info.header = l.number("b");
        if (l.take("in ")) info.parent = l.number("l");
        info.line = line_number(l);
    }
    void exit(Line& l) {
        RegionExit& x = at(r_.exits, l.number("x"));
        l.expect("[");
        x.values = values(l, "]");
        if (l.take("as ")) x.returns = l.number("x");
        if (l.take("to ")) x.to = l.number("b");
        if (l.peek("\"")) x.label = l.quoted();
        x.line = line_number(l);
    }

    void block(Line& l) {
        block_ = l.number("b");
        Block& b = at(r_.blocks, block_);
        if (l.take("("))
            while (!l.take(")")) {
                if (!b.params.empty()) l.expect(",");
                b.params.push_back(l.number("%"));
                l.expect(":");
                define(b.params.back(), type(l));
            }
        if (l.take("in ")) b.loop = l.number("l");
        if (l.take("steps ")) b.steps = l.number("");
        l.expect(":");
    }
    Edge edge(Line& l) {
        Edge e;
        e.to = l.number("b");
        if (l.take("(")) e.args = values(l, ")");
        return e;
    }
    bool terminator(Line& l) {
        Terminator& t = r_.blocks[static_cast<size_t>(block_)].end;
        if (l.take("jump ")) {
            t.kind = Terminator::Jump;
            t.then = edge(l);
        } else if (l.take("branch ")) {
            t.kind = Terminator::Branch;
            t.cond = l.number("%");
            t.then = edge(l);
            l.expect("else");
            t.other = edge(l);
        } else if (l.take("leave ")) {
            t.kind = Terminator::Leave;
            t.exit = l.number("x");
        } else {
            return false;
        }
        return true;
    }

    void op(Line& l, Inst& inst) {
        const std::string_view name = l.word();
        for (int i = 0; i < kRegionOpCount; ++i) {
            if (text(static_cast<RegionOp>(i)) != name || name.empty()) continue;
            inst.op = static_cast<RegionOp>(i);
            if (inst.op == RegionOp::Call) {
                l.expect(".");
                inst.operand = dtype(l);
            }
            return;
        }
        const std::optional<Op> pointwise = find_op(name);
        if (!pointwise) throw Failure{fmt::format("no instruction is named '{}'", name)};
        inst.op = RegionOp::Pointwise;
        inst.pointwise = *pointwise;
        l.expect(".");
        inst.operand = dtype(l);
    }

    int view_operand(Line& l, Inst& inst) {
        if (l.take("_")) return 0;
        inst.in.push_back(l.number("%"));
        return static_cast<int>(inst.in.size()) - 1;
    }
    void view(Line& l, Inst& inst) {
        inst.in.push_back(l.number("%"));
        l.expect("[");
        ViewSpec spec;
        while (!l.take("]")) {
            if (!spec.empty()) l.expect(",");
            ViewAxis a;
            if (l.take("new ")) {
                a.kind = ViewAxis::New;
                a.count = view_operand(l, inst);
            } else if (l.take("drop ")) {
                a.kind = ViewAxis::Drop;
                a.axis = static_cast<int8_t>(l.integer());
                l.expect("at");
                a.start = view_operand(l, inst);
            } else {
                l.expect("axis");
                a.axis = static_cast<int8_t>(l.integer());
                l.expect("from");
                a.start = view_operand(l, inst);
                l.expect("count");
                a.count = view_operand(l, inst);
                l.expect("step");
                a.step = view_operand(l, inst);
            }
            spec.push_back(a);
        }
        inst.ints.insert(inst.ints.begin(), static_cast<int64_t>(r_.views.size()));
        r_.views.push_back(std::move(spec));
    }

    void inst(Line& l) {
        Inst inst;
        if (l.peek("%")) {
            inst.result = l.number("%");
            l.expect("=");
        }
        op(l, inst);
        if (l.follows('{'))
            while (!l.take("}")) {
                if (!inst.ints.empty()) l.expect(",");
                inst.ints.push_back(l.integer());
            }
        std::string_view literal;
        if (inst.op == RegionOp::Const) {
            literal = l.until(" : ");
        } else if (inst.op == RegionOp::View) {
            view(l, inst);
        } else {
            // Separators are for people: loads and stores have brackets.
            while (l.take(",") || l.take("[") || l.take("]") || l.take("=") || l.peek("%"))
                if (const auto v = l.value()) inst.in.push_back(*v);
        }
        if (l.take("else ")) inst.exit = l.number("x");
        if (inst.result >= 0) {
            l.expect(":");
            const RegionType t = type(l);
            define(inst.result, t);
            if (inst.op == RegionOp::Const && !parse_scalar(t.dtype, literal, inst.ints))
                throw Failure{fmt::format("'{}' is no constant of {}", literal, info(t.dtype).text)};
        }
        inst.line = line_number(l);
        auto& block = r_.blocks[static_cast<size_t>(block_)].insts;
        if (has_body(inst.op)) {
            l.expect("{");
            nest_ = static_cast<int>(r_.nests.size());
            inst.ints.insert(inst.ints.begin(), nest_);
            r_.nests.emplace_back();
            block.push_back(std::move(inst));
        } else {
            (nest_ >= 0 ? r_.nests[static_cast<size_t>(nest_)].insts : block).push_back(std::move(inst));
        }
    }

    std::string_view text_;
    Region& r_;
    int line_ = 0, block_ = -1, nest_ = -1;
    bool open_ = false, closed_ = false;
};

}  // namespace

std::string parse(std::string_view text, Region* out) { return RegionParser(text, out).run(); }

}  // namespace stator::graph
