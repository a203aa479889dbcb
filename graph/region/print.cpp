// Regions as text; region/parse.cpp has the grammar. Values, blocks, exits, loops and calls keep their
// numbers.
#include <fmt/format.h>

#include <charconv>

#include "graph/region/cfg.h"
#include "graph/region/region.h"
#include "graph/scalar.h"

namespace stator::graph {
namespace {

template <class... Args>
void put(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

// What most of a region's text is made of, by hand: it is the key of its code.
void put_number(std::string& out, int64_t n) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, n).ptr);
}
void put_value(std::string& out, ValueId v) { put_number(out += '%', v); }

std::string quoted(std::string_view s) {
    std::string out = "\"";
    for (const char c : s) {
        if (c == '"' || c == '\\')
            (out += '\\') += c;
        else if (static_cast<unsigned char>(c) < 32 || c == 127)
            put(out, "\\x{:02x}", static_cast<unsigned char>(c));
        else
            out += c;
    }
    return out + "\"";
}

std::string type_text(RegionType t) {
    std::string s(info(t.dtype).text);
    if (t.is_array()) put(s, "[{}]", static_cast<int>(t.rank));
    return s;
}

class RegionPrinter {
  public:
    RegionPrinter(const Region& r, bool for_people) : r_(r), people_(for_people) {}

    std::string run() {
        put(out_, "region {} {{\n", quoted(people_ ? r_.name : ""));
        for (const RegionInput& in : r_.inputs) input(in);
        for (size_t i = 0; i < r_.calls.size(); ++i) call(i);
        for (size_t i = 0; i < r_.loops.size(); ++i) loop(i);
        for (size_t i = 0; i < r_.blocks.size(); ++i) block(i);
        for (size_t i = 0; i < r_.exits.size(); ++i) exit(i);
        return out_ + "}\n";
    }

  private:
    std::string type(ValueId v) const {
        return v >= 0 && static_cast<size_t>(v) < r_.types.size()
                   ? type_text(r_.types[static_cast<size_t>(v)])
                   : "?";
    }

    std::string list(const std::vector<ValueId>& values, size_t from = 0) const {
        std::string s;
        for (size_t i = from; i < values.size(); ++i) put_value(i > from ? s += ", " : s, values[i]);
        return s;
    }

    void input(const RegionInput& in) {
        put(out_, "  input %{} : {}", in.value, type(in.value));
        if (in.contiguous) out_ += " contiguous";
        if (in.written) out_ += " written";
        if (people_ && !in.source.empty()) put(out_, " {}", quoted(in.source));
        out_ += "\n";
    }

    void call(size_t i) {
        static constexpr std::string_view kinds[] = {"scalar", "ufunc", "dot", "library"};
        const RegionCall& c = r_.calls[i];
        // Names stay: calls of one signature must not be exchanged in what a cache holds for people either.
        put(out_, "  call c{} = {} {} (", i, kinds[c.kind], quoted(c.name));
        for (size_t k = 0; k < c.types.size(); ++k) put(out_, "{}{}", k ? ", " : "", info(c.types[k]).text);
        out_ += ")\n";
    }

    void loop(size_t i) {
        const LoopInfo& l = r_.loops[i];
        put(out_, "  loop l{} header b{}", i, l.header);
        if (l.parent >= 0) put(out_, " in l{}", l.parent);
        line(l.line);
        out_ += "\n";
    }

    void line(int n) {
        if (people_ && n > 0) put(out_, " @{}", n);
    }

    void block(size_t i) {
        const Block& b = r_.blocks[i];
        put(out_, "b{}", i);
        if (!b.params.empty()) {
            out_ += "(";
            for (size_t k = 0; k < b.params.size(); ++k)
                put(out_, "{}%{} : {}", k ? ", " : "", b.params[k], type(b.params[k]));
            out_ += ")";
        }
        if (b.loop >= 0) put(out_, " in l{}", b.loop);
        if (b.steps > 0) put(out_, " steps {}", b.steps);
        out_ += ":\n";
        for (const Inst& inst : b.insts) this->inst(inst, "  ");
        terminator(b.end);
    }

    void edge(const Edge& e) {
        put(out_, "b{}", e.to);
        if (!e.args.empty()) put(out_, "({})", list(e.args));
    }

    void terminator(const Terminator& t) {
        if (t.kind == Terminator::Leave) {
            put(out_, "  leave x{}\n", t.exit);
            return;
        }
        if (t.kind == Terminator::Jump) {
            out_ += "  jump ";
        } else {
            put(out_, "  branch %{} ", t.cond);
        }
        edge(t.then);
        if (t.kind == Terminator::Branch) {
            out_ += " else ";
            edge(t.other);
        }
        out_ += "\n";
    }

    std::string operand(const Inst& inst, int i) const {
        if (i == 0) return "_";
        return i > 0 && static_cast<size_t>(i) < inst.in.size()
                   ? fmt::format("%{}", inst.in[static_cast<size_t>(i)])
                   : "?";
    }

    void view(const Inst& inst) {
        put(out_, " %{} [", inst.in.empty() ? -1 : inst.in[0]);
        const size_t index = inst.ints.empty() ? 0 : static_cast<size_t>(inst.ints[0]);
        if (index < r_.views.size()) {
            bool first = true;
            for (const ViewAxis& a : r_.views[index]) {
                if (!first) out_ += ", ";
                first = false;
                if (a.kind == ViewAxis::New)
                    put(out_, "new {}", operand(inst, a.count));
                else if (a.kind == ViewAxis::Drop)
                    put(out_, "drop {} at {}", static_cast<int>(a.axis), operand(inst, a.start));
                else
                    put(out_, "axis {} from {} count {} step {}", static_cast<int>(a.axis),
                        operand(inst, a.start), operand(inst, a.count), operand(inst, a.step));
            }
        }
        out_ += "]";
    }

    void operands(const Inst& inst) {
        const auto& in = inst.in;
        switch (inst.op) {
            case RegionOp::Const:
                put(out_, " {}",
                    inst.result >= 0
                        ? scalar_text(r_.types[static_cast<size_t>(inst.result)].dtype, inst.ints)
                        : "?");
                return;
            case RegionOp::View: return view(inst);
            case RegionOp::Load:
            case RegionOp::NestTake:
                if (in.empty()) break;
                put(out_, " %{}[{}]", in[0], list(in, 1));
                return;
            case RegionOp::Store:
            case RegionOp::NestScatter:
                if (in.size() < 2) break;
                put(out_, " %{}[{}] = %{}", in[0], list({in.begin() + 1, in.end() - 1}), in.back());
                return;
            default: break;
        }
        if (!in.empty()) (out_ += " ") += list(in);
    }

    void inst(const Inst& inst, std::string_view indent) {
        out_ += indent;
        if (inst.result >= 0) put_value(out_, inst.result), out_ += " = ";
        if (inst.op == RegionOp::Pointwise)
            ((out_ += graph::info(inst.pointwise).text) += '.') += graph::info(inst.operand).text;
        else
            out_ += text(inst.op);
        if (inst.op == RegionOp::Call) put(out_, ".{}", graph::info(inst.operand).text);
        attributes(inst);
        operands(inst);
        if (inst.exit >= 0) put_number(out_ += " else x", inst.exit);
        if (inst.result >= 0) (out_ += " : ") += type(inst.result);
        line(inst.line);
        if (has_body(inst.op)) {
            out_ += " {\n";
            const size_t body = inst.ints.empty() ? 0 : static_cast<size_t>(inst.ints[0]);
            if (body < r_.nests.size())
                for (const Inst& i : r_.nests[body].insts) this->inst(i, fmt::format("{}  ", indent));
            put(out_, "{}}}", indent);
        }
        out_ += "\n";
    }

    // {1, 2}: what ints hold, less what is printed in place (constants, views, bodies of nests).
    void attributes(const Inst& inst) {
        if (inst.op == RegionOp::Const) return;
        const size_t from = inst.op == RegionOp::View || has_body(inst.op) ? 1 : 0;
        if (inst.ints.size() <= from) return;
        out_ += "{";
        for (size_t i = from; i < inst.ints.size(); ++i)
            put_number(i > from ? out_ += ", " : out_, inst.ints[i]);
        out_ += "}";
    }

    void exit(size_t i) {
        const RegionExit& x = r_.exits[i];
        put(out_, "exit x{} [{}]", i, list(x.values));
        if (x.returns >= 0) put(out_, " as x{}", x.returns);
        if (x.to >= 0) put(out_, " to b{}", x.to);
        if (people_ && !x.label.empty()) put(out_, " {}", quoted(x.label));
        line(x.line);
        out_ += "\n";
    }

    const Region& r_;
    const bool people_;
    std::string out_;
};

}  // namespace

std::string print(const Region& r) { return RegionPrinter(r, true).run(); }
std::string code_key(const Region& r) { return RegionPrinter(r, false).run(); }

}  // namespace stator::graph
