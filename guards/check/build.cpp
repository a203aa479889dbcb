// Building a guard program while recording, and lowering it to instructions.
#include <algorithm>
#include <limits>

#include "guards/check/cupy_api.h"
#include "guards/check/functions.h"
#include "guards/check/impl.h"
#include "guards/check/names.h"

namespace stator::guards {
namespace {

bool equal_source(const Source& a, const Source& b) {
    if (a.kind != b.kind || a.base != b.base || a.index != b.index || a.holder != b.holder ||
        a.holder2 != b.holder2)
        return false;
    return a.key == b.key || (a.key && b.key && same_value(a.key, b.key));
}

SourceId add_source(GuardProgram::Impl& p, Source s) {
    for (size_t i = 0; i < p.sources.size(); ++i)
        if (equal_source(p.sources[i], s)) return static_cast<SourceId>(i);
    s.key = p.keep(s.key);
    s.holder = p.keep(s.holder);
    s.holder2 = p.keep(s.holder2);
    p.sources.push_back(std::move(s));
    return static_cast<SourceId>(p.sources.size()) - 1;
}

Guard& add_guard(GuardProgram::Impl& p, GuardKind kind, SourceId s) {
    Guard& g = p.guards.emplace_back();
    g.kind = kind;
    g.source = s;
    return g;
}

}  // namespace

GuardProgram::GuardProgram() : impl_(std::make_unique<Impl>()) {}
GuardProgram::~GuardProgram() = default;
GuardProgram::GuardProgram(GuardProgram&&) noexcept = default;
GuardProgram& GuardProgram::operator=(GuardProgram&&) noexcept = default;

// --- sources ---

SourceId GuardProgram::slot(int index, std::string text) {
    return add_source(*impl_, {.kind = SourceKind::Slot, .index = index, .text = std::move(text)});
}

SourceId GuardProgram::global(PyObject* globals, PyObject* builtins, PyObject* name) {
    if (!PyDict_CheckExact(globals) || !PyDict_CheckExact(builtins) || !PyUnicode_CheckExact(name))
        return kNoSource;
    return add_source(*impl_, {.kind = SourceKind::Global,
                               .key = name,
                               .holder = globals,
                               .holder2 = builtins,
                               .text = utf8(name)});
}

SourceId GuardProgram::attr(SourceId base, PyObject* name) {
    return add_source(*impl_, {.kind = SourceKind::Attr,
                               .base = base,
                               .key = name,
                               .text = attr_text(source(base).text, utf8(name))});
}

SourceId GuardProgram::item(SourceId base, PyObject* key) {
    return add_source(*impl_, {.kind = SourceKind::Item,
                               .base = base,
                               .key = key,
                               .text = item_text(source(base).text, show(key))});
}

SourceId GuardProgram::cell(SourceId base, std::string text) {
    return add_source(*impl_, {.kind = SourceKind::Cell, .base = base, .text = std::move(text)});
}

SourceId GuardProgram::func_cell(SourceId base, int index, std::string text) {
    return add_source(*impl_,
                      {.kind = SourceKind::FuncCell, .base = base, .index = index, .text = std::move(text)});
}

SourceId GuardProgram::object(PyObject* holder, std::string text) {
    return add_source(*impl_, {.kind = SourceKind::Object, .holder = holder, .text = std::move(text)});
}

SourceId GuardProgram::type_of(SourceId base) {
    return add_source(*impl_,
                      {.kind = SourceKind::TypeOf, .base = base, .text = type_text(source(base).text)});
}

SourceId GuardProgram::length(SourceId base) {
    return add_source(*impl_,
                      {.kind = SourceKind::Length, .base = base, .text = length_text(source(base).text)});
}

const Source& GuardProgram::source(SourceId s) const { return impl_->sources[s]; }

// --- expectations ---

void GuardProgram::expect_type(SourceId s, PyTypeObject* type) {
    add_guard(*impl_, GuardKind::Type, s).obj = impl_->keep(reinterpret_cast<PyObject*>(type));
}

void GuardProgram::expect_present(SourceId s) { add_guard(*impl_, GuardKind::Present, s); }

void GuardProgram::expect_is(SourceId s, PyObject* obj) {
    add_guard(*impl_, GuardKind::Is, s).obj = impl_->keep(obj);
}

void GuardProgram::expect_equal(SourceId s, PyObject* value) {
    add_guard(*impl_, GuardKind::Equal, s).obj = impl_->keep(value);
}

void GuardProgram::expect_same(SourceId a, SourceId b) {
    if (a != b) add_guard(*impl_, GuardKind::Same, a).other = b;
}

void GuardProgram::expect_not_same(SourceId a, SourceId b) {
    add_guard(*impl_, GuardKind::NotSame, a).other = b;
}

void GuardProgram::expect_not_dict_of(SourceId dict, SourceId object) {
    add_guard(*impl_, GuardKind::NotDictOf, dict).other = object;
}

void GuardProgram::expect_length(SourceId s, Py_ssize_t n) {
    add_guard(*impl_, GuardKind::Length, s).number = n;
}

void GuardProgram::expect_keys(SourceId s, PyObject* keys) {
    add_guard(*impl_, GuardKind::Keys, s).obj = impl_->keep(keys);
}

void GuardProgram::expect_type_attrs(SourceId s, PyTypeObject* type, PyObject* name) {
    Guard& g = add_guard(*impl_, GuardKind::TypeAttrs, s);
    g.obj = impl_->keep(reinterpret_cast<PyObject*>(type));
    g.name = impl_->keep(name);
    g.found = impl_->keep(class_lookup(type, name));
}

void GuardProgram::expect_type_names(SourceId s, PyTypeObject* type, std::span<PyObject* const> names) {
    Guard& g = add_guard(*impl_, GuardKind::TypeNames, s);
    g.obj = impl_->keep(reinterpret_cast<PyObject*>(type));
    g.number = std::ssize(impl_->type_names);
    g.count = std::ssize(names);
    for (PyObject* name : names)
        impl_->type_names.emplace_back(impl_->keep(name), impl_->keep(class_lookup(type, name)));
}

void GuardProgram::expect_mro(SourceId s, PyTypeObject* type) {
    Guard& g = add_guard(*impl_, GuardKind::Mro, s);
    g.obj = impl_->keep(reinterpret_cast<PyObject*>(type));
    g.found = impl_->keep(type->tp_mro);
}

void GuardProgram::expect_stored(SourceId s, PyTypeObject* type, PyObject* name) {
    Guard& g = add_guard(*impl_, GuardKind::Stored, s);
    g.obj = impl_->keep(reinterpret_cast<PyObject*>(type));
    g.name = impl_->keep(name);
}

void GuardProgram::expect_function(SourceId s, PyObject* function, bool same_closure) {
    Guard& g = add_guard(*impl_, GuardKind::Function, s);
    g.obj = impl_->keep(function);
    if (!is_function(function)) {  // a builtin has no parts that could change
        g.kind = GuardKind::Is;
        return;
    }
    g.flag = same_closure;
    g.code = impl_->keep(PyFunction_GET_CODE(function));
    g.name = impl_->keep(PyFunction_GET_DEFAULTS(function));
    g.found = impl_->keep(PyFunction_GET_CLOSURE(function));
    // The dictionary of keyword defaults can change in place, so its contents are what is expected.
    PyObject* defaults = PyFunction_GET_KW_DEFAULTS(function);
    if (!defaults) return;
    const Py_ssize_t n = PyDict_GET_SIZE(defaults);
    PyObject *pairs = PyTuple_New(2 * n), *key, *value;
    if (!pairs) return PyErr_Clear();
    Py_ssize_t at = 0, i = 0;
    while (PyDict_Next(defaults, &at, &key, &value) && i < 2 * n) {
        PyTuple_SET_ITEM(pairs, i++, Py_NewRef(key));
        PyTuple_SET_ITEM(pairs, i++, Py_NewRef(value));
    }
    g.keywords = impl_->keep(pairs);
    Py_DECREF(pairs);
}

void GuardProgram::expect_array(SourceId s, int graph_input, ArraySpec spec) {
    Guard& g = add_guard(*impl_, GuardKind::Array, s);
    g.input = graph_input;
    g.spec = std::move(spec);
}

void GuardProgram::expect_tensor(SourceId s, int graph_input, ArraySpec spec) {
    Guard& g = add_guard(*impl_, GuardKind::Tensor, s);
    g.input = graph_input;
    g.obj = impl_->keep(reinterpret_cast<PyObject*>(spec.type));
    g.spec = std::move(spec);
}

void GuardProgram::expect_cupy(SourceId s, int graph_input, ArraySpec spec) {
    Guard& g = add_guard(*impl_, GuardKind::Cupy, s);
    g.input = graph_input;
    g.obj = impl_->keep(reinterpret_cast<PyObject*>(spec.type));
    g.spec = std::move(spec);
}

void GuardProgram::expect_cupy_state(int device) {
    for (Guard& other : impl_->guards)
        if (other.kind == GuardKind::CupyState) return;
    const SourceId s = object(reinterpret_cast<PyObject*>(cupy_api()->array), "cupy.ndarray");
    add_guard(*impl_, GuardKind::CupyState, s).number = device;
}

void GuardProgram::expect_torch_state(TorchState state) {
    const SourceId s = object(reinterpret_cast<PyObject*>(tensor_api()->tensor), "torch.Tensor");
    Guard* g = nullptr;
    for (Guard& other : impl_->guards)
        if (other.kind == GuardKind::TorchState) g = &other;
    if (!g) g = &add_guard(*impl_, GuardKind::TorchState, s);
    g->number = state.grad | state.inference << 1;
    if (state.default_dtype && !g->obj) g->obj = impl_->keep(state.default_dtype);
}

static bool reads_array(const Guard& g) {
    return g.kind == GuardKind::Array || g.kind == GuardKind::Tensor || g.kind == GuardKind::Cupy;
}

void GuardProgram::require_writeable(int graph_input) {
    for (const Guard& g : impl_->guards)
        if (g.kind == GuardKind::NoOverlap && g.input == graph_input) return;
    for (const Guard& g : impl_->guards)
        if (reads_array(g) && g.input == graph_input) {
            const SourceId s = g.source;
            add_guard(*impl_, GuardKind::NoOverlap, s).input = graph_input;
            return;
        }
}

void GuardProgram::expect_int(SourceId s, int graph_input, graph::Sym symbol) {
    Guard& g = add_guard(*impl_, GuardKind::Int, s);
    g.input = graph_input;
    g.a = symbol;
}

void GuardProgram::expect_float(SourceId s, int i) { add_guard(*impl_, GuardKind::Float, s).input = i; }
void GuardProgram::expect_bool(SourceId s, int i) { add_guard(*impl_, GuardKind::Bool, s).input = i; }
void GuardProgram::expect_complex(SourceId s, int i) { add_guard(*impl_, GuardKind::Complex, s).input = i; }

void GuardProgram::expect_host_array(SourceId s, int64_t kind) {
    add_guard(*impl_, GuardKind::HostArray, s).number = kind;
}

void GuardProgram::expect_np_scalar(SourceId s, int graph_input, PyTypeObject* type, graph::DType dtype) {
    Guard& g = add_guard(*impl_, GuardKind::NpScalar, s);
    g.obj = impl_->keep(reinterpret_cast<PyObject*>(type));
    g.input = graph_input;
    g.dtype = dtype;
}

void GuardProgram::expect_relation(Relation r, graph::Sym a, graph::Sym b) {
    Guard& g = add_guard(*impl_, GuardKind::Relation, kNoSource);
    g.relation = r;
    g.a = a;
    g.b = b;
}

GuardProgram::Mark GuardProgram::mark() const {
    return {impl_->sources.size(), impl_->guards.size(), impl_->refs.size()};
}

void GuardProgram::rollback(const Mark& m) {
    impl_->sources.resize(m.sources);
    impl_->guards.resize(m.guards);
    std::vector<PyObject*> dropped(impl_->refs.begin() + static_cast<ptrdiff_t>(m.refs), impl_->refs.end());
    impl_->refs.resize(m.refs);
    for (PyObject* o : dropped) Py_XDECREF(o);  // last: a finalizer may run anything
}

// --- lowering ---

namespace {

// Slots first (types and arrays cost a few loads and fail most often), then the rest as constructed, overlaps
// behind all arrays, relations last.
int rank(const GuardProgram::Impl& p, const Guard& g) {
    if (g.kind == GuardKind::Relation) return 3;
    if (g.kind == GuardKind::NoOverlap) return 2;
    if (g.kind == GuardKind::TorchState) return -1;  // asking a tensor anything is seen by function modes
    const bool second =
        g.kind == GuardKind::Same || g.kind == GuardKind::NotSame || g.kind == GuardKind::NotDictOf;
    return !second && p.sources[g.source].kind == SourceKind::Slot ? 0 : 1;
}

bool equal_guard(const Guard& a, const Guard& b) {
    return a.kind == b.kind && a.source == b.source && a.other == b.other && a.obj == b.obj &&
           a.name == b.name && a.number == b.number && a.input == b.input && a.a == b.a && a.b == b.b &&
           a.dtype == b.dtype && a.relation == b.relation && a.flag == b.flag;
}

// Whether a guard of this kind fails where there is no object.
bool looks_into(GuardKind kind) {
    switch (kind) {
        case GuardKind::Present:
        case GuardKind::Same:
        case GuardKind::NotSame:
        case GuardKind::NotDictOf:
        case GuardKind::Relation:
        case GuardKind::NoOverlap: return false;
        default: return true;
    }
}

// Whether `g` follows from `by` on the same source.
bool implied(const Guard& g, const Guard& by) {
    if (g.source != by.source) return false;
    if (g.kind == GuardKind::Present) return looks_into(by.kind);
    if (g.kind != GuardKind::Type) return false;
    const auto* type = reinterpret_cast<PyTypeObject*>(g.obj);
    switch (by.kind) {
        case GuardKind::Is:
            // A heap type's instance may change its class; a static type's may not.
            return Py_TYPE(by.obj) == type && !PyType_HasFeature(Py_TYPE(by.obj), Py_TPFLAGS_HEAPTYPE);
        case GuardKind::Int: return type == &PyLong_Type;
        case GuardKind::Float: return type == &PyFloat_Type;
        case GuardKind::Bool: return type == &PyBool_Type;
        case GuardKind::Complex: return type == &PyComplex_Type;
        case GuardKind::TypeAttrs:
        case GuardKind::TypeNames:
        case GuardKind::Mro:
        case GuardKind::Stored: return by.obj == g.obj;
        default: return false;
    }
}

void deduplicate(std::vector<Guard>& guards) {
    std::vector<Guard> kept;
    for (size_t i = 0; i < guards.size(); ++i) {
        bool drop =
            std::any_of(kept.begin(), kept.end(), [&](const Guard& k) { return equal_guard(k, guards[i]); });
        for (size_t j = 0; j < guards.size() && !drop; ++j) drop = j != i && implied(guards[i], guards[j]);
        if (!drop) kept.push_back(std::move(guards[i]));
    }
    guards = std::move(kept);
}

// Every source that the trace can ask for is read; one that nothing guards must at least be there.
void add_presence(GuardProgram::Impl& p) {
    std::vector<bool> used(p.sources.size());
    for (const Guard& g : p.guards) {
        if (g.source >= 0) used[g.source] = true;
        if (g.other >= 0) used[g.other] = true;
    }
    for (size_t s = p.sources.size(); s-- > 0;) {  // bases have smaller ids
        if (p.sources[s].base >= 0) used[p.sources[s].base] = true;
        const SourceKind kind = p.sources[s].kind;
        if (!used[s] && kind != SourceKind::Slot && kind != SourceKind::Object)
            add_guard(p, GuardKind::Present, static_cast<SourceId>(s));
    }
}

class Lowering {
  public:
    explicit Lowering(GuardProgram::Impl& p) : p_(p), read_(p.sources.size()), done_(p.guards.size()) {}

    void run() {
        for (size_t s = 0; s < p_.sources.size(); ++s)
            if (p_.sources[s].kind == SourceKind::Slot) {
                p_.slots.emplace_back(static_cast<int32_t>(s), p_.sources[s].index);
                read_[s] = true;
            }
        for (size_t i = 0; i < p_.guards.size(); ++i) lower(static_cast<int>(i));
        for (size_t s = 0; s < p_.sources.size(); ++s) read(static_cast<SourceId>(s), -1);  // constants
    }

  private:
    // The identity guard of a source, or -1: such a source needs no reference of its own.
    int pin(SourceId s) const {
        for (size_t i = 0; i < p_.guards.size(); ++i)
            if (p_.guards[i].kind == GuardKind::Is && p_.guards[i].source == s) return static_cast<int>(i);
        return -1;
    }

    static Op read_op(SourceKind kind) {
        static constexpr Op ops[] = {Op::ReadObject, Op::ReadGlobal,   Op::ReadAttr,
                                     Op::ReadItem,   Op::ReadCell,     Op::ReadObject,
                                     Op::ReadTypeOf, Op::ReadFuncCell, Op::ReadLength};
        return ops[static_cast<int>(kind)];
    }

    void read(SourceId s, int guard) {
        if (read_[s]) return;
        read_[s] = true;
        const Source& source = p_.sources[s];
        if (source.base >= 0) read(source.base, guard);
        const int pinned = pin(s);
        Instr in{.op = read_op(source.kind)};
        in.guard = guard;
        in.src = s;
        in.other = source.base;
        in.p = source.holder;
        in.q = source.kind == SourceKind::Global ? source.holder2 : source.key;
        in.own = pinned < 0 && source.kind != SourceKind::Object;
        in.lo = source.index;
        if (source.kind == SourceKind::Attr) module_fast_path(source, in);
        p_.code.push_back(in);
        if (pinned >= 0) lower(pinned);  // at once: nothing looks into an object whose identity is still open
    }

    // An attribute of a module that is itself pinned is an entry of one dictionary.
    void module_fast_path(const Source& source, Instr& in) {
        const int base = pin(source.base);
        PyObject* module = base >= 0 ? p_.guards[base].obj : nullptr;
        if (p_.sources[source.base].kind == SourceKind::Object) module = p_.sources[source.base].holder;
        if (!module || !PyModule_CheckExact(module) || class_lookup(&PyModule_Type, source.key)) return;
        in.op = Op::ReadModule;
        in.p = PyModule_GetDict(module);
    }

    void lower(int index) {
        if (done_[index]) return;
        done_[index] = true;
        const Guard& g = p_.guards[index];
        if (g.kind == GuardKind::Relation) {
            p_.relations.push_back({index, g.a.id, g.b.id, g.relation});
            return;
        }
        read(g.source, index);
        if (g.other >= 0) read(g.other, index);
        Instr in{.op = static_cast<Op>(g.kind)};
        in.guard = index;
        in.src = g.source;
        in.other = g.other;
        in.input = g.input;
        in.p = g.obj;
        in.q = g.name;
        in.lo = g.number;
        if (g.kind == GuardKind::Array) lower_array(p_, g, in, defined());
        if (g.kind == GuardKind::Tensor || g.kind == GuardKind::Cupy) lower_tensor(p_, g, in, defined());
        if (g.kind == GuardKind::CupyState) lower_cupy_state(g, in);
        if (g.kind == GuardKind::TorchState) lower_torch_state(g, in);
        if (g.kind == GuardKind::Int) lower_int(g, in);
        if (g.kind == GuardKind::NpScalar) in.lo = graph::info(g.dtype).size;
        if (g.kind == GuardKind::TypeAttrs || g.kind == GuardKind::Mro) in.value = g.found;
        if (g.kind == GuardKind::TypeNames) in.hi = in.lo + g.count;
        if (g.kind == GuardKind::NoOverlap) lower_overlap(g, in);
        p_.code.push_back(in);
    }

    std::vector<bool>& defined() {
        if (defined_.empty()) defined_.resize(static_cast<size_t>(p_.syms->symbol_count()) + 1);
        return defined_;
    }

    void lower_int(const Guard& g, Instr& in) {
        in.lo = std::numeric_limits<int64_t>::min();
        in.hi = std::numeric_limits<int64_t>::max();
        if (!g.a) return;
        if (const auto value = p_.syms->as_const(g.a)) {
            in.lo = in.hi = *value;
            return;
        }
        if (p_.syms->expr(g.a).kind != graph::SymKind::Symbol) return;
        const int symbol = static_cast<int>(p_.syms->expr(g.a).value);
        in.lo = p_.syms->symbol_info(symbol).lo;
        in.hi = p_.syms->symbol_info(symbol).hi;
        in.first = symbol;
        in.ndim = defined()[symbol] ? Axis::Equal : Axis::Define;
        defined()[symbol] = true;
    }

    void lower_overlap(const Guard& g, Instr& in) {
        in.first = static_cast<int32_t>(p_.others.size());
        in.other = 0;
        for (const Guard& o : p_.guards) {
            if (!reads_array(o) || o.input == g.input) continue;
            p_.others.push_back(o.source);
            ++in.other;
        }
    }

    GuardProgram::Impl& p_;
    std::vector<bool> read_, done_, defined_;
};

}  // namespace

void GuardProgram::finish(const graph::SymTable& syms, int graph_input_count) {
    Impl& p = *impl_;
    p.syms = &syms;
    p.input_count = graph_input_count;
    for (const Guard& w : p.guards)
        if (w.kind == GuardKind::NoOverlap)
            for (Guard& g : p.guards)
                if (reads_array(g) && g.input == w.input) g.spec.writeable = true;
    deduplicate(p.guards);
    std::stable_sort(p.guards.begin(), p.guards.end(),
                     [&](const Guard& a, const Guard& b) { return rank(p, a) < rank(p, b); });
    add_presence(p);
    Lowering(p).run();
}

}  // namespace stator::guards
