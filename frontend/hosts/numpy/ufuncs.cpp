// Universal functions: which there are, in which dtypes NumPy would run them, and their nodes.
//
// resolve_loop asks `ufunc.resolve_dtypes`, the ufunc's own resolver, once per combination of operand kinds
// and keeps the answer. A ufunc with a row in graph/ops.def (column host) becomes that op, any other a `loop`
// node that calls NumPy's inner loop on chunks. The latter has eager's bits only if the chunk call sees the
// stride class eager's call sees; where it might not (`chunkable`), the whole call is left to NumPy as a
// library node.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "frontend/hosts/numpy/lower.h"
#include "guards/check/names.h"

namespace stator::frontend::numpy {

namespace {

struct Registry {
    std::vector<Ufunc> all;
    std::unordered_map<PyObject*, int> by_object;
    std::map<std::string, int, std::less<>> by_name;
};
Registry& registry() {
    static Registry* r = new Registry;
    return *r;
}

// Loops whose bits do not depend on strides for any dtype: no vector math library behind them, one rounding
// at most. (Observed for every stride class on AVX-512 and in the scalar sources;
// tests/python/arrays/test_numpy_ops.py compares again.)
constexpr std::string_view kExact[] = {
    "floor_divide", "remainder",     "fmod",     "copysign",  "nextafter",   "spacing",    "heaviside",
    "ldexp",        "maximum",       "minimum",  "fmax",      "fmin",        "sign",       "isnan",
    "isinf",        "isfinite",      "signbit",  "floor",     "ceil",        "trunc",      "rint",
    "conjugate",    "negative",      "positive", "add",       "subtract",    "less",       "less_equal",
    "greater",      "greater_equal", "equal",    "not_equal", "logical_and", "logical_or", "logical_xor",
    "logical_not",  "fabs",          "clip",
};

// Loops over floats and doubles that, in NumPy 2.4, write only some elements of an output whose stride is not
// its itemsize: what is left there is what was there before.
constexpr std::string_view kSkip[] = {"isnan", "isinf", "isfinite", "signbit"};

template <size_t n>
bool listed(const std::string_view (&names)[n], std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::optional<Op> op_of_host(std::string_view name) {
    static const auto* table = [] {
        auto* t = new std::map<std::string_view, Op>;
        for (int i = 0; i < graph::op_count(); i++) {
            Op op = static_cast<Op>(i);
            std::string_view host = graph::info(op).host;
            if (!host.empty() && host != "*") t->emplace(host, op);
        }
        return t;
    }();
    auto it = table->find(name);
    if (it == table->end()) return std::nullopt;
    return it->second;
}

}  // namespace

void register_ufuncs() {
    Registry& r = registry();
    if (!r.all.empty()) return;
    PyRef umath = module_named("numpy._core.umath");
    if (!umath) return PyErr_Clear();
    PyObject *key, *value, *dict = PyModule_GetDict(umath.get());
    Py_ssize_t pos = 0;
    while (PyDict_Next(dict, &pos, &key, &value)) {
        if (!PyObject_TypeCheck(value, &PyUFunc_Type) || r.by_object.count(value)) continue;
        auto* f = reinterpret_cast<PyUFuncObject*>(value);
        Ufunc u{Py_NewRef(value), f->name ? f->name : "", f->nin, f->nout, static_cast<int>(r.all.size())};
        u.generalized = f->core_enabled != 0;
        if (auto op = op_of_host(u.name)) u.op = *op;
        u.exact = listed(kExact, u.name);
        u.skips = listed(kSkip, u.name);
        u.scalar_paths = u.name == "power" || u.name == "float_power" || u.name == "clip";
        r.by_object.emplace(value, u.index);
        r.by_name.emplace(u.name, u.index);
        r.all.push_back(std::move(u));
    }
}

const Ufunc* find_ufunc(std::string_view name) {
    Registry& r = registry();
    auto it = r.by_name.find(name);
    return it == r.by_name.end() ? nullptr : &r.all[it->second];
}

const Ufunc* ufunc_of(PyObject* o) {
    Registry& r = registry();
    auto it = r.by_object.find(o);
    return it == r.by_object.end() ? nullptr : &r.all[it->second];
}

std::vector<const Ufunc*> all_ufuncs() {
    std::vector<const Ufunc*> out;
    for (const auto& u : registry().all) out.push_back(&u);
    return out;
}

namespace {

struct Resolved {
    bool ok = false;
    LoopTypes types;
};

PyObject* kind_object(const Arg& a) {
    switch (a.weak) {
        case Weak::Int: return reinterpret_cast<PyObject*>(&PyLong_Type);
        case Weak::Float: return reinterpret_cast<PyObject*>(&PyFloat_Type);
        case Weak::Complex: return reinterpret_cast<PyObject*>(&PyComplex_Type);
        case Weak::No: break;
    }
    return reinterpret_cast<PyObject*>(descr_of(a.dtype));
}

constexpr const char* kCastings[] = {"no", "equiv", "safe", "same_kind", "unsafe"};

Resolved ask_ufunc(const Ufunc& u, std::span<const Arg> args, std::optional<DType> out,
                   const Choice& choice) {
    Resolved r;
    Py_ssize_t n = static_cast<Py_ssize_t>(args.size());
    PyRef tuple = PyRef::steal(PyTuple_New(n + 1));
    for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(kind_object(args[i])));
    PyObject* last = out ? reinterpret_cast<PyObject*>(descr_of(*out)) : Py_None;
    PyTuple_SET_ITEM(tuple.get(), n, Py_NewRef(last));
    PyRef answer;
    PyRef method = PyRef::steal(PyObject_GetAttrString(u.object, "resolve_dtypes"));
    PyRef positional = PyRef::steal(PyTuple_Pack(1, tuple.get()));
    PyRef kwargs = PyRef::steal(PyDict_New());
    if (choice.dtype) {
        PyRef signature = PyRef::steal(PyTuple_New(n + 1));
        for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(signature.get(), i, Py_NewRef(Py_None));
        PyTuple_SET_ITEM(signature.get(), n, Py_NewRef(reinterpret_cast<PyObject*>(descr_of(*choice.dtype))));
        PyDict_SetItemString(kwargs.get(), "signature", signature.get());
    }
    if (choice.casting >= 0) {
        PyRef casting = PyRef::steal(PyUnicode_FromString(kCastings[choice.casting]));
        PyDict_SetItemString(kwargs.get(), "casting", casting.get());
    }
    if (method) answer = PyRef::steal(PyObject_Call(method.get(), positional.get(), kwargs.get()));
    if (answer && PyTuple_Check(answer.get()) && PyTuple_GET_SIZE(answer.get()) == n + 1) {
        r.ok = true;
        for (Py_ssize_t i = 0; i <= n && r.ok; i++) {
            PyObject* item = PyTuple_GET_ITEM(answer.get(), i);
            DType* slot = i == n ? &r.types.out : &r.types.in[i];
            // Loops are compared by number here: a resolver may well name long long.
            r.ok = PyArray_DescrCheck(item) &&
                   dtype_of_number(reinterpret_cast<PyArray_Descr*>(item)->type_num, slot);
        }
    }
    PyErr_Clear();
    return r;
}

}  // namespace

bool resolve_loop(TraceBuilder& tb, const Ufunc& u, std::span<const Arg> args, std::optional<DType> out,
                  const Choice& choice, LoopTypes* types) {
    if (static_cast<int>(args.size()) != u.nin || u.nin > kMaxIn || u.nout != 1 || u.generalized)
        return tb.fail(Reason::UnknownCall, u.name), false;
    auto code = [](const Arg& a) {
        return a.weak == Weak::No ? static_cast<uint64_t>(a.dtype) : 15 + static_cast<uint64_t>(a.weak);
    };
    uint64_t key = static_cast<uint64_t>(u.index);
    for (int i = 0; i < kMaxIn; i++) key = key << 5 | (i < u.nin ? code(args[i]) : 31);
    key = key << 5 | (out ? static_cast<uint64_t>(*out) : 31);
    key = key << 5 | (choice.dtype ? static_cast<uint64_t>(*choice.dtype) : 31);
    key = key << 3 | static_cast<uint64_t>(choice.casting + 1);
    static auto* cache = new std::unordered_map<uint64_t, Resolved>;
    auto it = cache->find(key);
    if (it == cache->end()) it = cache->emplace(key, ask_ufunc(u, args, out, choice)).first;
    if (!it->second.ok) return tb.fail(Reason::UnknownOp, u.name + " for these dtypes"), false;
    *types = it->second.types;
    return true;
}

namespace {

bool fits_op(const Ufunc& u, const LoopTypes& types) {
    if (u.op == Op::HostLoop) return false;
    for (int i = 1; i < u.nin; i++)
        if (types.in[i] != types.in[0]) return false;
    switch (graph::info(u.op).dtype) {
        case graph::DTypeRule::same: return types.out == types.in[0];
        case graph::DTypeRule::bool_:
            // Complex comparisons raise invalid on NaN, unlike the rows of ops.def.
            return types.out == DType::Bool && !graph::is_complex(types.in[0]);
        case graph::DTypeRule::free: return false;
    }
    return false;
}

bool all_ones(TraceBuilder& tb, const Shape& shape) {
    return std::all_of(shape.begin(), shape.end(), [&](Sym s) { return tb.syms().as_const(s) == 1; });
}

}  // namespace

Id only_element(TraceBuilder& tb, Id v) {
    ViewStep step;
    size_t rank = tb.node(v).shape.size();
    step.map.assign(rank, -1);
    step.step.assign(rank, 0);
    step.start.assign(rank, tb.int_const(0));
    return tb.view(v, step);
}

Id emit_ufunc(TraceBuilder& tb, const Ufunc& u, std::span<const Arg> args, const LoopTypes& types) {
    Id in[kMaxIn];
    std::span<Id> operands(in, args.size());
    for (size_t i = 0; i < args.size(); i++) {
        in[i] = arg_id(tb, args[i], types.in[i]);
        if (in[i] == kNone) return kNone;
    }
    Shape shape;
    if (!tb.broadcast_shape(operands, &shape)) return kNone;
    bool single = all_ones(tb, shape);
    for (Id& v : operands) {
        if (tb.node(v).shape.empty()) continue;
        v = !single && all_ones(tb, tb.node(v).shape) ? only_element(tb, v) : tb.broadcast(v, shape);
        if (v == kNone) return kNone;
    }
    if (fits_op(u, types)) return tb.pointwise(u.op, operands, types.out);
    kernels::LoopRef ref{u.name, {types.in, types.in + args.size()}};
    ref.types.push_back(types.out);
    if (!find_loop(ref).fn) return tb.fail(Reason::UnknownOp, u.name + " for these dtypes"), kNone;
    return tb.host_loop(u.name, operands, types.out);
}

Id emit(TraceBuilder& tb, std::string_view name, std::initializer_list<Arg> args) {
    const Ufunc* u = find_ufunc(name);
    LoopTypes types;
    std::span<const Arg> span(args.begin(), args.size());
    for (const Arg& a : args)
        if (a.id == kNone && a.weak != Weak::Int) return kNone;
    if (!u || !resolve_loop(tb, *u, span, std::nullopt, {}, &types)) return kNone;
    return emit_ufunc(tb, *u, span, types);
}

// Whether the array's elements lie in memory of their own in a replay, too: what is filled with one number in
// the trace may become a scalar, which loops that look at strides take another path for.
static bool from_memory(TraceBuilder& tb, const Operand& o) {
    Id v = tb.value(o.shadow);
    while (v != kNone && graph::info(tb.node(v).op).cls == graph::OpClass::View) v = tb.node(v).in[0];
    return v != kNone && (tb.node(v).op == Op::Input || tb.node(v).op == Op::Library);
}

bool is_exact(const Ufunc& u, const LoopTypes& types) {
    return u.exact || (fits_op(u, types) && graph::is_native(u.op, types.in[0]));
}

bool chunkable(TraceBuilder& tb, const Ufunc& u, const LoopTypes& types, std::span<const Operand> operands,
               int result_ndim, const npy_intp* result_shape) {
    if (tb.for_gpu) return true;
    const bool exact = is_exact(u, types);
    bool inexact = false, picky = false, half_or_complex = false;
    for (int i = 0; i < u.nin; i++) {
        inexact |= graph::is_float(types.in[i]) || graph::is_complex(types.in[i]);
        picky |= types.in[i] == DType::F16 || types.in[i] == DType::C64;
        // Complex loops look at how the output lies to the input.
        picky |= graph::is_complex(types.in[i]) && operands.size() > static_cast<size_t>(u.nin);
        half_or_complex |= types.in[i] == DType::F16 || graph::is_complex(types.in[i]);
    }
    // Which of two zeros fmax and fmin take depends on where in its call of the loop an element stands.
    if (inexact && result_ndim > 0 && (u.name == "fmax" || u.name == "fmin")) return false;
    if (!u.scalar_paths && (exact || !inexact)) return true;
    npy_intp count = PyArray_OverflowMultiplyList(result_shape, result_ndim);
    // A loop over one element is called with whatever stride the array has, which no guard looks at; without
    // axes the complex and half loops take scalar code.
    bool sensitive = !exact && inexact;
    if ((u.scalar_paths || sensitive) && count == 1 && result_ndim > 0) return false;
    if (sensitive && count == 1 && half_or_complex) return false;
    for (const Operand& o : operands) {
        if (!is_array(o.obj)) continue;
        auto* a = reinterpret_cast<PyArrayObject*>(o.obj);
        if (PyArray_SIZE(a) == 1 && !(picky && count > 1)) continue;
        bool same = PyArray_NDIM(a) == result_ndim &&
                    PyArray_CompareLists(PyArray_DIMS(a), result_shape, result_ndim);
        if (u.scalar_paths && !same) return false;
        if (u.scalar_paths && &o != &operands[0] && PyArray_NDIM(a) > 0 && !from_memory(tb, o)) return false;
        if (exact || !inexact) continue;
        if (picky && !(same && PyArray_ISONESEGMENT(a) && known_density(tb, o.shadow))) return false;
        for (int d = 0; d < PyArray_NDIM(a); d++)
            if (PyArray_STRIDE(a, d) < 0 && PyArray_DIM(a, d) > 1) return false;
    }
    return true;
}

namespace {

// Loops that raise a flag on 1, by their vector code if not by what they compute.
bool faults_at_one(const Ufunc& u) { return u.name == "arctanh" || u.name == "arccosh"; }

// Fills lanes that `where` leaves out with 1, on which no other loop raises a flag.
Id masked_operand(TraceBuilder& tb, Id mask, Id v) {
    DType t = tb.node(v).dtype;
    Id one = tb.cast(tb.scalar_const(DType::Bool, 1), t);
    Shape shape;
    Id both[] = {mask, v};
    if (one == kNone || !tb.broadcast_shape(both, &shape)) return kNone;
    Id in[] = {tb.broadcast(mask, shape), tb.broadcast(v, shape), one};
    if (in[0] == kNone || in[1] == kNone) return kNone;
    return tb.pointwise(Op::Where, in, t);
}

// ufunc(..., out=out, where=mask): lanes outside keep their old contents.
ShadowRef masked_call(TraceBuilder& tb, const Ufunc& u, std::vector<Arg> args, const LoopTypes& types,
                      const Operand& out, const Operand& where) {
    Arg mask;
    if (!read_arg(tb, where, &mask)) return nullptr;
    if (mask.dtype != DType::Bool || mask.weak != Weak::No)
        return tb.fail(Reason::UnknownCall, "where= that is not bool");
    for (size_t i = 0; i < args.size(); i++) {
        Id v = arg_id(tb, args[i], types.in[i]);
        if (v == kNone) return nullptr;
        if (!tb.node(v).shape.empty() && (v = masked_operand(tb, mask.id, v)) == kNone) return nullptr;
        args[i] = arg_of(tb, v);
    }
    Id computed = emit_ufunc(tb, u, args, types);
    Id old = tb.value(out.shadow);
    if (computed == kNone || old == kNone) return nullptr;
    computed = tb.cast(computed, tb.node(old).dtype);
    const Shape shape = tb.node(old).shape;  // a copy: nodes move when one is added
    Id m = tb.broadcast(mask.id, shape);
    if (!tb.node(computed).shape.empty()) computed = tb.broadcast(computed, shape);
    if (m == kNone || computed == kNone) return nullptr;
    Id in[] = {m, computed, old};
    Id merged = tb.pointwise(Op::Where, in, tb.node(old).dtype);
    if (merged == kNone || !store_value(tb, out.shadow, nullptr, arg_of(tb, merged))) return nullptr;
    return out.shadow;
}

// NumPy hands views that overlap the output but lie ahead of it to the loop as they are, and some loops then
// leave their vector code. Different buffers never overlap (guarded), and the very same view counts as no
// overlap.
bool reads_ahead(const Ufunc& u, const LoopTypes& types, std::span<const Operand> in, const Operand& out) {
    bool inexact = graph::is_float(types.in[0]) || graph::is_complex(types.in[0]);
    if (!inexact || u.exact || (fits_op(u, types) && graph::is_native(u.op, types.in[0]))) return false;
    for (const Operand& o : in)
        if (is_array(o.obj) && o.obj != out.obj && o.shadow->buffer == out.shadow->buffer) return true;
    return false;
}

bool same_shape(TraceBuilder& tb, const Shape& a, const Shape& b) {
    if (a.size() != b.size()) return false;
    for (size_t d = 0; d < a.size(); d++)
        if (tb.hint(a[d]) != tb.hint(b[d]) || !tb.require(Relation::Eq, a[d], b[d])) return false;
    return true;
}

// Integer powers raise for negative exponents, from inside the loop: the exponent has to be known not to be.
bool power_is_safe(TraceBuilder& tb, const Ufunc& u, const LoopTypes& types, std::span<const Arg> args) {
    if (u.name != "power" || !graph::is_signed(types.in[1]) || !graph::is_integer(types.in[0])) return true;
    return args[1].weak == Weak::Int && tb.require(Relation::Ge, args[1].sym, tb.int_const(0));
}

}  // namespace

ShadowRef lower_ufunc(TraceBuilder& tb, const Ufunc& u, std::span<const Operand> in, const Operand* out,
                      const Operand* where, const Choice& choice, PyObject* result) {
    std::vector<Arg> args(in.size());
    for (size_t i = 0; i < in.size(); i++)
        if (!read_arg(tb, in[i], &args[i])) return nullptr;
    std::optional<DType> out_dtype;
    if (out) {
        if (!is_array(out->obj) || !tb.resolve(out->shadow, out->obj) ||
            out->shadow->kind != ShadowKind::Array)
            return tb.fail(Reason::UnknownCall, "out= that is not an ndarray");
        out_dtype = out->shadow->dtype;
    }
    LoopTypes types;
    if (!resolve_loop(tb, u, args, out_dtype, choice, &types)) return nullptr;
    for (size_t i = 0; i < args.size(); i++)
        if (graph::is_complex(args[i].dtype) && !graph::is_complex(types.in[i]) && types.in[i] != DType::Bool)
            return tb.fail(Reason::UnknownCall, "a conversion from complex, which warns");
    if (out && graph::is_complex(types.out) && !graph::is_complex(*out_dtype))
        return tb.fail(Reason::UnknownCall, "a conversion from complex, which warns");
    auto* array = is_array(result) ? reinterpret_cast<PyArrayObject*>(result) : nullptr;
    std::vector<Operand> operands(in.begin(), in.end());
    if (out) operands.push_back(*out);
    int ndim = array ? PyArray_NDIM(array) : 0;
    if (out && reads_ahead(u, types, in, *out))
        return tb.fail(Reason::UnknownOp, u.name + " of overlapping views");
    if (out && u.skips && (types.in[0] == DType::F32 || types.in[0] == DType::F64) &&
        !(is_array(in[0].obj) && same_shape(tb, tb.shape(in[0].shadow), tb.shape(out->shadow)) &&
          c_contiguous(tb, in[0]) && c_contiguous(tb, *out))) {
        // Converted on the way, elements that are left out are whatever was in a buffer.
        return *out_dtype == DType::Bool ? lower_ufunc_into(tb, u, in, *out, where)
                                         : tb.fail(Reason::UnknownOp, u.name + " into an array with gaps");
    }
    if (where && !out) return tb.fail(Reason::UnknownCall, "where= without out=");
    bool fits = chunkable(tb, u, types, operands, ndim, array ? PyArray_DIMS(array) : nullptr) &&
                power_is_safe(tb, u, types, args);
    // NumPy then converts the old contents too, with whatever that raises.
    if (where && graph::is_complex(*out_dtype) && !graph::is_complex(types.out))
        return tb.fail(Reason::UnknownCall, "a conversion from complex, which warns");
    fits = fits && !(where && (types.out != *out_dtype || faults_at_one(u)));
    if (!fits && (choice.dtype || choice.casting >= 0))
        return tb.fail(Reason::UnknownOp, u.name + " of arrays with these strides");
    if (!fits && out) return lower_ufunc_into(tb, u, in, *out, where);
    if (!fits) return tb.library(u.object, in, nullptr, result);
    if (where) return masked_call(tb, u, std::move(args), types, *out, *where);
    Id v = emit_ufunc(tb, u, args, types);
    if (v == kNone) return nullptr;
    if (!out) return finish(tb, v, result);
    return store_value(tb, out->shadow, nullptr, arg_of(tb, v)) ? out->shadow : nullptr;
}

ShadowRef lower_ufunc_call(TraceBuilder& tb, const Call& call) {
    const Ufunc* u = ufunc_of(call.callable);
    if (!u) return tb.fail(Reason::UnknownCall, "a ufunc");
    if (u->generalized || u->nout != 1) return lower_library(tb, call);
    size_t keywords = call.kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(call.kwnames)) : 0;
    size_t positional = call.args.size() - keywords;
    if (positional < static_cast<size_t>(u->nin)) return tb.fail(Reason::UnknownCall, u->name);
    const Operand *out = nullptr, *where = nullptr;
    Operand unpacked;
    Choice choice;
    bool whole = std::any_of(call.args.begin(), call.args.begin() + u->nin,
                             [](const Operand& o) { return is_sequence(o.obj); });
    // np.maximum and np.minimum warn about a positional output.
    if (positional > static_cast<size_t>(u->nin) && u->name.ends_with("imum"))
        return tb.fail(Reason::UnknownCall, u->name);
    if (positional > static_cast<size_t>(u->nin)) out = given(tb, &call.args[u->nin]);
    for (size_t i = 0; i < keywords; i++) {
        const Operand* value = given(tb, &call.args[positional + i]);
        if (!value) continue;
        const std::string key = guards::utf8(PyTuple_GET_ITEM(call.kwnames, static_cast<Py_ssize_t>(i)));
        if (key == "out") {
            std::vector<Operand> items;
            if (read_items(tb, *value, &items)) {
                if (items.size() != 1) return tb.fail(Reason::UnknownCall, u->name + " with several outputs");
                unpacked = items[0];
                value = given(tb, &unpacked);
            }
            out = value;
        } else if (key == "where") {
            if (value->obj == Py_True && require_fixed(tb, *value)) continue;
            where = value;
        } else if (key == "dtype") {
            DType t;
            if (!read_dtype(tb, *value, &t)) return nullptr;
            choice.dtype = t;
        } else if (key == "casting") {
            for (int c = 0; c < 5 && PyUnicode_Check(value->obj); c++)
                if (PyUnicode_CompareWithASCIIString(value->obj, kCastings[c]) == 0) choice.casting = c;
            if (choice.casting < 0 || !require_fixed(tb, *value))
                return tb.fail(Reason::UnknownCall, "casting=");
        } else if (key == "order") {
            whole |= !PyUnicode_Check(value->obj) || PyUnicode_CompareWithASCIIString(value->obj, "K") != 0;
            if (!require_fixed(tb, *value)) return tb.fail(Reason::UnknownCall, "order=");
        } else if (key == "subok") {  // which is about subclasses
            if (!PyBool_Check(value->obj) || !require_fixed(tb, *value))
                return tb.fail(Reason::UnknownCall, "subok=");
        } else {
            return tb.fail(Reason::UnknownCall, u->name + " with " + std::string(key) + "=");
        }
    }
    if (whole) return lower_library(tb, call);
    size_t before = tb.graph.nodes.size();
    ShadowRef s = lower_ufunc(tb, *u, call.args.first(u->nin), out, where, choice, call.result);
    if (s || out || where || (!choice.dtype && choice.casting < 0)) return s;
    tb.rollback(before);
    return lower_library(tb, call);
}

}  // namespace stator::frontend::numpy
