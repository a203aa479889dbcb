// Guards as text: how they read in Python terms, and what one that failed expected and found. Explanations
// run the program again up to the guard, with buffers of their own; nothing here is on a fast path.
#include <vector>

#include "guards/check/functions.h"
#include "guards/check/impl.h"
#include "guards/check/names.h"

namespace stator::guards {
namespace {

constexpr const char* kTexts[] = {
#define GUARD(id, text, doc) text,
#include "guards/guards.def"
#undef GUARD
};

constexpr const char* kRelations[] = {" == ", " != ", " >= ", " < "};

std::string fill(std::string text, const std::string& source, const std::string& expectation) {
    for (const auto& [mark, with] :
         {std::pair<std::string, const std::string&>{"{s}", source}, {"{0}", expectation}})
        if (const size_t at = text.find(mark); at != text.npos) text.replace(at, 3, with);
    return text;
}

std::string bounds_text(const graph::SymTable& syms, graph::Sym s) {
    constexpr int64_t lowest = INT64_MIN, highest = INT64_MAX;
    if (!s) return "any of 64 bits";
    const auto [lo, hi] = syms.bounds(s);
    if (lo == lowest && hi == highest) return "any of 64 bits";
    return (lo == lowest ? "-2**63" : std::to_string(lo)) + ", " +
           (hi == highest ? "2**63 - 1" : std::to_string(hi));
}

std::string expectation(const GuardProgram::Impl& p, const Guard& g) {
    switch (g.kind) {
        case GuardKind::Type:
        case GuardKind::Mro:
        case GuardKind::TypeNames:
        case GuardKind::TypeAttrs: return reinterpret_cast<PyTypeObject*>(g.obj)->tp_name;
        case GuardKind::NpScalar: {
            const std::string name = reinterpret_cast<PyTypeObject*>(g.obj)->tp_name;
            return name.starts_with("numpy.") ? name.substr(6) : name;
        }
        case GuardKind::Is:
        case GuardKind::Keys:
        case GuardKind::Equal: return show(g.obj);
        case GuardKind::Same:
        case GuardKind::NotDictOf:
        case GuardKind::NotSame: return p.sources[g.other].text;
        case GuardKind::HostArray:
        case GuardKind::Length: return std::to_string(g.number);
        case GuardKind::Array: return array_text(g.spec, g.spec.writeable, p.syms);
        case GuardKind::Cupy:
        case GuardKind::Tensor: return tensor_text(g.spec, g.spec.writeable, p.syms);
        case GuardKind::TorchState:
            return std::string(g.number & 1 ? "grad mode" : "no grad mode") +
                   (g.number & 2 ? ", inference mode" : "");
        case GuardKind::CupyState: return "device " + std::to_string(g.number);
        case GuardKind::Int: return p.syms ? bounds_text(*p.syms, g.a) : "";
        case GuardKind::Relation:
            return p.syms ? p.syms->str(g.a) + kRelations[static_cast<int>(g.relation)] + p.syms->str(g.b)
                          : "";
        default: return "";
    }
}

// Buffers for one run of the program.
struct Scratch {
    std::vector<PyObject*> objects, inputs, owned;
    std::vector<int64_t> symbols;
    std::vector<char> scalars;
    std::vector<TensorView> tensors;
    EntryState state;
    explicit Scratch(const GuardProgram::Impl& p)
        : objects(p.sources.size() + 1),
          inputs(static_cast<size_t>(p.input_count) + 1),
          owned(p.sources.size() + 1),
          symbols(static_cast<size_t>(p.syms ? p.syms->symbol_count() : 0) + 1),
          scalars(16 * (static_cast<size_t>(p.input_count) + 1)),
          tensors(static_cast<size_t>(p.input_count) + 1) {
        state = {objects.data(), symbols.data(), scalars.data(), inputs.data(), 0,
                 owned.data(),   tensors.data()};
    }
};

// Symbols and their values: "s0 = 5, s1 = 7".
std::string values_text(const graph::SymTable& syms, const std::vector<graph::Sym>& of,
                        const int64_t* exprs) {
    std::string s;
    for (const graph::Sym e : of)
        if (!syms.as_const(e))
            s += (s.empty() ? "" : ", ") + syms.str(e) + " = " + std::to_string(exprs[e.id]);
    return s;
}

std::string explain_relation(const GuardProgram::Impl& p, const Guard& g, const Scratch& scratch) {
    std::vector<int64_t> exprs(static_cast<size_t>(p.syms->size()));
    const std::string wanted = "expected " + expectation(p, g);
    const std::span<const int64_t> symbols(scratch.symbols.data(),
                                           static_cast<size_t>(p.syms->symbol_count()));
    if (!p.syms->eval_all(symbols, exprs)) return wanted + ", found values beyond 64 bits";
    return wanted + ", found " + values_text(*p.syms, {g.a, g.b}, exprs.data());
}

// The first source on the way to `s` that cannot be read, or kNoSource.
SourceId unreadable(const GuardProgram::Impl& p, SourceId s, PyObject* const* slots) {
    for (SourceId at = s, found = kNoSource;; at = p.sources[at].base) {
        PyObject* o = read_source(p.sources, at, slots);
        Py_XDECREF(o);
        if (o || p.sources[at].base < 0) return o ? found : at;
        found = at;
    }
}

std::string explain_value(const GuardProgram::Impl& p, const Guard& g, const std::string& source,
                          PyObject* o) {
    const std::string found = ", found " + show(o);
    switch (g.kind) {
        case GuardKind::Function:
            return is_function(o)
                       ? "expected " + source + " to have the code and defaults it had, found them changed"
                       : "expected " + source + " to be " + show(g.obj) + found;
        case GuardKind::TypeAttrs:
            if (Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(g.obj) &&
                class_lookup(Py_TYPE(o), g.name) == g.found)
                return "expected " + source + "." + utf8(g.name) +
                       " to be the method of its class, found an attribute of the object itself";
            if (Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(g.obj))
                return "expected " + show(g.obj) + "." + utf8(g.name) + " as it was, found it changed";
            return "expected type(" + source + ") to be " + show(g.obj) + found;
        case GuardKind::TypeNames:
            for (int64_t i = g.number; i < g.number + g.count; ++i)
                if (const auto& [name, value] = p.type_names[static_cast<size_t>(i)];
                    class_lookup(reinterpret_cast<PyTypeObject*>(g.obj), name) != value)
                    return "expected " + show(g.obj) + "." + utf8(name) + " as it was, found it changed";
            return "expected type(" + source + ") to be " + show(g.obj) + found;
        case GuardKind::Mro:
            if (Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(g.obj))
                return "expected " + show(g.obj) + ".__bases__ as they were, found them changed";
            return "expected type(" + source + ") to be " + show(g.obj) + found;
        case GuardKind::Stored:
            if (Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(g.obj))
                return "expected that storing to " + source + "." + utf8(g.name) +
                       " runs no Python code, found that it may";
            return "expected type(" + source + ") to be " + show(g.obj) + found;
        case GuardKind::Type: return "expected type(" + source + ") to be " + show(g.obj) + found;
        case GuardKind::Float: return "expected " + source + " to be a float" + found;
        case GuardKind::Bool: return "expected " + source + " to be a bool" + found;
        case GuardKind::Complex: return "expected " + source + " to be a complex" + found;
        case GuardKind::Is: {
            const bool same_text = show(o) == show(g.obj);
            return "expected " + source + " to be " + show(g.obj) +
                   (same_text ? ", found another object like it" : found);
        }
        default: return "";
    }
}

}  // namespace

const char* guard_text(GuardKind kind) { return kTexts[static_cast<int>(kind)]; }

std::string GuardProgram::text(int guard) const {
    const Guard& g = impl_->guards[guard];
    const std::string source = g.source >= 0 ? impl_->sources[g.source].text : "";
    std::string text = fill(guard_text(g.kind), source, expectation(*impl_, g));
    if (g.kind == GuardKind::Stored) text.replace(text.find("{1}"), 3, utf8(g.name));
    return text;
}

std::vector<std::string> GuardProgram::texts() const {
    std::vector<std::string> all;
    for (int i = 0; i < guard_count(); ++i) all.push_back(text(i));
    return all;
}

std::string GuardProgram::explain(int guard, PyObject* const* slots) const {
    const Impl& p = *impl_;
    const Guard& g = p.guards[guard];
    Scratch scratch(p);
    const int failed = check(slots, scratch.state);
    std::string s;
    if (g.kind == GuardKind::Relation) {
        s = failed < 0 ? explain_relation(p, g, scratch) : "expected " + expectation(p, g);
    } else if (const SourceId lost = unreadable(p, g.source, slots); lost != kNoSource) {
        s = "expected " + p.sources[lost].text + " to be readable as when it was recorded, found " +
            (p.sources[lost].kind == SourceKind::Slot ? "nothing there"
                                                      : "that it is missing or would run Python code");
    } else {
        PyObject* o = read_source(p.sources, g.source, slots);
        for (const Instr& in : p.code) {
            if (in.guard != guard || in.op != static_cast<::stator::guards::Op>(g.kind)) continue;
            if (g.kind == GuardKind::Array) s = explain_array(p, in, g, o, scratch.symbols.data());
            if (g.kind == GuardKind::NoOverlap && failed == guard)
                s = explain_overlap(p, in, scratch.objects.data());
        }
        if (s.empty()) s = explain_value(p, g, p.sources[g.source].text, o);
        if (s.empty()) s = "expected " + text(guard) + ", found " + show(o);
        Py_XDECREF(o);
    }
    while (scratch.state.owned_count > 0) Py_DECREF(scratch.state.owned[--scratch.state.owned_count]);
    return s;
}

}  // namespace stator::guards
