// Calls: Python functions are followed into their frames (inlining), what the host knows becomes graph
// values, a few pure builtins are decided from guards; every other call is an opaque step.

#include "frontend/cpython/builtins.h"
#include "frontend/record/recorder.h"

#include "frontend/cpython/functions.h"
#include "frontend/policy.h"
#include "frontend/record/named_tuples.h"
#include "frontend/services.h"
#include "guards/check/functions.h"
#include "guards/check/names.h"
#include "guards/check/torch_api.h"

namespace stator::frontend {

namespace {

bool inlinable(PyObject* func) {
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(func));
    constexpr int kGenerators = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    if (code->co_flags & kGenerators || is_watched(code)) return false;
    return CodeInfo::get(code) != nullptr;
}

}  // namespace

// The default of parameter i of a function that the trace made; nullptr when it is not known.
static ShadowRef made_default(const Shadow& function, PyCodeObject* code, int i) {
    if (i < code->co_argcount) {
        const Shadow& defaults = *function.items[graph::kDefaults];
        size_t from_end = code->co_argcount - i;
        if (defaults.kind != ShadowKind::Tuple || from_end > defaults.items.size()) return nullptr;
        return defaults.items[defaults.items.size() - from_end];
    }
    const Shadow& defaults = *function.items[graph::kKwDefaults];
    if (defaults.kind != ShadowKind::Dict) return nullptr;
    PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, i);
    for (size_t k = 0; k < defaults.items.size(); k += 2)
        if (PyUnicode_Compare(defaults.items[k]->obj.get(), name) == 0) return defaults.items[k + 1];
    return nullptr;
}

static std::string slot_text(PyCodeObject* code, int i) {
    return std::string("the default of ") + guards::utf8(PyTuple_GET_ITEM(code->co_localsplusnames, i));
}

// The shadows of the callee's parameter slots, bound as CPython binds the objects. False when it does not
// fit, or when what a parameter would hold is not known well enough.
bool Recorder::bind_inlined(PyObject* func, const Shadow& known, const std::vector<ShadowRef>& args,
                            const CallParts& call, std::vector<ShadowRef>* locals, int nslots) {
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(func));
    int argc = code->co_argcount, kwonly = code->co_kwonlyargcount;
    bool varargs = code->co_flags & CO_VARARGS, varkeywords = code->co_flags & CO_VARKEYWORDS;
    PyObject* kwnames = call.kwnames.get();
    size_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    size_t npos = args.size() - nkw;
    locals->assign(nslots, b_.null());
    std::vector<bool> set(argc + kwonly, false);
    for (size_t i = 0; i < npos && i < static_cast<size_t>(argc); ++i) (*locals)[i] = args[i], set[i] = true;
    if (npos > static_cast<size_t>(argc) && !varargs) return false;
    if (varargs) {
        std::vector<ShadowRef> rest;
        for (size_t i = argc; i < npos; ++i) rest.push_back(args[i]);
        (*locals)[argc + kwonly] = b_.tuple(std::move(rest));
    }
    auto others = std::make_shared<Shadow>();
    others->kind = ShadowKind::Dict;
    for (size_t k = 0; k < nkw; ++k) {
        PyObject* key = PyTuple_GET_ITEM(kwnames, k);
        int at = -1;
        for (int i = code->co_posonlyargcount; i < argc + kwonly && at < 0; ++i)
            if (PyUnicode_Compare(key, PyTuple_GET_ITEM(code->co_localsplusnames, i)) == 0) at = i;
        if (at < 0 && varkeywords) {
            others->items.push_back(b_.constant(key));
            others->items.push_back(args[npos + k]);
            continue;
        }
        if (at < 0 || set[at]) return false;
        (*locals)[at] = args[npos + k], set[at] = true;
    }
    if (call.any_order && others->items.size() > 2) return false;
    if (varkeywords) (*locals)[argc + kwonly + varargs] = std::move(others);
    PyObject* defaults = PyFunction_GET_DEFAULTS(func);
    PyObject* kwdefaults = PyFunction_GET_KW_DEFAULTS(func);
    int ndefaults = defaults ? static_cast<int>(PyTuple_GET_SIZE(defaults)) : 0;
    for (int i = 0; i < argc + kwonly; ++i) {
        if (set[i]) continue;
        PyObject* value = nullptr;
        if (i < argc && i >= argc - ndefaults) value = PyTuple_GET_ITEM(defaults, i - (argc - ndefaults));
        if (i >= argc && kwdefaults)
            value = PyDict_GetItemWithError(kwdefaults, PyTuple_GET_ITEM(code->co_localsplusnames, i));
        if (!value) return false;
        if (known.kind == ShadowKind::Function) {
            if (!((*locals)[i] = made_default(known, code, i))) return false;
            continue;
        }
        // The function guard pins the default objects; what others than these hold may change.
        (*locals)[i] = is_immutable(value) ? b_.constant(value)
                                           : b_.lazy(b_.guards.object(value, slot_text(code, i)), value);
    }
    return true;
}

// None, numbers, strings, and tuples of nothing else.
bool Recorder::is_immutable(PyObject* value) {
    if (PyTuple_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
            if (!is_immutable(PyTuple_GET_ITEM(value, i))) return false;
        return true;
    }
    return PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyUnicode_CheckExact(value) ||
           PyBool_Check(value) || value == Py_None;
}

// Appends the items of `**dict`: one built in this trace, or one found at entry, whose keys are then guarded.
bool Recorder::spread_keywords(const Operand& dict, CallParts* out) {
    if (!PyDict_CheckExact(dict.obj)) return false;
    Py_ssize_t count = PyDict_GET_SIZE(dict.obj), at = 0;
    if (dict.shadow->kind == ShadowKind::Dict && static_cast<size_t>(2 * count) != dict.shadow->items.size())
        return false;
    if (dict.shadow->kind != ShadowKind::Dict) {
        if (dict.shadow->kind != ShadowKind::Opaque || dict.shadow->source == guards::kNoSource) return false;
        if (b_.stored_items()) return false;
        b_.guards.expect_length(dict.shadow->source, count);
        out->any_order = true;
    }
    if (count == 0) return true;
    PyRef names = PyRef::steal(PyTuple_New(count));
    PyObject *key, *value;
    for (Py_ssize_t i = 0, pos = 0; PyDict_Next(dict.obj, &pos, &key, &value); ++i, at += 2) {
        if (!PyUnicode_CheckExact(key)) return false;
        PyTuple_SET_ITEM(names.get(), i, Py_NewRef(key));
        ShadowRef item = dict.shadow->kind == ShadowKind::Dict
                             ? dict.shadow->items[at + 1]
                             : b_.lazy(b_.guards.item(dict.shadow->source, key), value);
        out->args.push_back({std::move(item), value});
    }
    out->kwnames = std::move(names);
    return true;
}

bool Recorder::call_parts(const Insn& insn, CallParts* out) {
    constexpr bool kCallableFirst = PY_VERSION_HEX >= 0x030D0000;
    if (insn.op == Opcode::Call) {
        // Operands lie in the version's order: find callable, self and arguments among the captured ones.
        out->kwnames = PyRef::borrow(insn.flags & Insn::kKwOnStack ? ops_.back().obj : insn.obj);
        out->callable = kCallableFirst || ops_[0].obj ? ops_[0] : ops_[1];
        Operand self = kCallableFirst || ops_[0].obj ? ops_[1] : Operand{};
        if (self.obj) out->args.push_back(self);
        for (int i = 0; i < insn.arg; ++i) out->args.push_back(ops_[2 + i]);
        return true;
    }
    out->callable = ops_[kCallableFirst ? 0 : 1];
    const Operand& list = ops_[2];
    if (!b_.resolve(list.shadow, list.obj)) return false;
    bool tuple = PyTuple_CheckExact(list.obj);
    if (list.shadow->kind != ShadowKind::Tuple && list.shadow->kind != ShadowKind::List) return false;
    if (!tuple && !PyList_CheckExact(list.obj)) return false;
    if (list.shadow->items.size() != static_cast<size_t>(PyObject_Size(list.obj))) return false;
    for (size_t i = 0; i < list.shadow->items.size(); ++i) {
        auto k = static_cast<Py_ssize_t>(i);
        out->args.push_back(
            {list.shadow->items[i], tuple ? PyTuple_GET_ITEM(list.obj, k) : PyList_GET_ITEM(list.obj, k)});
    }
    if (ops_.size() < 4 || !ops_[3].obj) return true;
    return b_.resolve(ops_[3].shadow, ops_[3].obj) && spread_keywords(ops_[3], out);
}

static PyObject* call_name() {
    static PyObject* const name = PyUnicode_InternFromString("__call__");
    return name;
}

// The Python function that a call of this object is a call of, with the object as its first argument; nullptr
// when there is none.
static PyObject* called_method(const Shadow& callable, PyObject* object) {
    if (callable.kind != ShadowKind::Opaque || callable.source == guards::kNoSource) return nullptr;
    PyObject* method = _PyType_Lookup(Py_TYPE(object), call_name());
    if (!method || !guards::is_function(method)) return nullptr;
    PyObject* read =
        nullptr;  // what replays can look at: an attribute of the object itself would not be called
    const auto place = guards::GuardProgram::classify_attr(object, call_name(), &read);
    return place == guards::GuardProgram::AttrPlace::Method && read == method ? method : nullptr;
}

// The Python function that a call of this object runs, and what it is given first.
bool Recorder::followed_by(const Operand& callable, Followed* out) {
    PyObject* func = callable.obj;
    const ShadowRef& shadow = callable.shadow;
    *out = {func, shadow, nullptr, nullptr, {}};
    if (shadow->kind == ShadowKind::Method) {
        *out = {shadow->items[0]->obj.get(), shadow->items[0], shadow->items[1], nullptr, {}};
    } else if (PyType_Check(func)) {
        return construction(callable, out);
    } else if (PyObject* method = called_method(*shadow, func)) {
        b_.guards.expect_type_attrs(shadow->source, Py_TYPE(func), call_name());
        b_.guards.expect_function(b_.guards.object(method, "__call__"), method);
        *out = {method, b_.constant(method), shadow, nullptr, {}};
    } else if (PyObject* inner = unwrap_compiled(func)) {
        if (shadow->kind == ShadowKind::Opaque) b_.guards.expect_is(shadow->source, func);
        auto source =
            b_.guards.object(inner, guards::utf8(reinterpret_cast<PyFunctionObject*>(inner)->func_qualname));
        b_.guards.expect_function(source, inner);
        *out = {inner, b_.constant(inner), nullptr, nullptr, {}};
    }
    return out->function && guards::is_function(out->function);
}

// Makes everything ready for the instruction to be followed into that function; false where it cannot be.
bool Recorder::follow(const Followed& what, const CallParts& call, int operands) {
    Level& l = top();
    PyObject* func = what.function;
    if (host_that_knows(func) || replaces_fields(func) || levels_.size() >= policy().inlined_calls ||
        !inlinable(func))
        return false;
    const CodeInfo* code = CodeInfo::get(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(func)));
    std::vector<ShadowRef> args;
    if (what.first) args.push_back(what.first);
    for (const Operand& a : call.args) args.push_back(a.shadow);
    if (!bind_inlined(func, *what.shadow, args, call, &pending_locals_, code->nlocalsplus)) return false;
    l.call_insn = l.pc;
    pending_operands_.assign(l.slots.end() - operands, l.slots.end());
    l.slots.resize(l.slots.size() - static_cast<size_t>(operands));
    pending_function_ = func;
    pending_func_shadow_ = what.shadow;
    pending_object_ = what.object;
    pending_kept_ = what.kept;
    return true;
}

// Whether the instruction was followed: then what the function gave is on the stack. False, with a reason,
// where it should have been but did not reach a frame of the function; nothing where it was not to be.
std::optional<bool> Recorder::followed() {
    Level& l = top();
    if (inlined_) {
        pending_operands_.clear();
        l.call_insn = -1;
        const ShadowRef object = l.kept ? l.slots[l.slots.size() - static_cast<size_t>(l.kept)] : nullptr;
        l.slots.resize(l.slots.size() - static_cast<size_t>(std::exchange(l.kept, 0)));
        push(std::exchange(l.constructs, false) ? object : std::move(inline_result_));
        return true;
    }
    if (!pending_function_ && pending_operands_.empty()) return std::nullopt;
    for (auto& s : pending_operands_) l.slots.push_back(std::move(s));
    pending_operands_.clear();
    pending_function_ = nullptr;
    pending_object_.reset();
    pending_kept_.clear();
    l.call_insn = -1;
    return refuse(Reason::UnknownCall, "a Python function that was not entered");
}

bool Recorder::prepare_inline(const Insn& insn, const CallParts& call) {
    Followed what;
    if (!b_.resolve(call.callable.shadow, call.callable.obj)) return false;
    CallParts held = call;
    if (unwrap_partial(&held) && !b_.resolve(held.callable.shadow, held.callable.obj)) return false;
    return followed_by(held.callable, &what) && follow(what, held, pops(insn));
}

// dict[key] and dict.get(key, default) with a constant key of a dict built in this trace; nullptr when not
// modelled.
ShadowRef Recorder::dict_get(std::span<const Operand> args, PyObject* kwnames) {
    if (kwnames || args.size() < 2 || args.size() > 3 || !PyUnicode_CheckExact(args[1].obj) ||
        !b_.require_constant(args[1].shadow, args[1].obj))
        return nullptr;
    const auto& items = args[0].shadow->items;
    for (size_t i = 0; i < items.size(); i += 2)
        if (PyUnicode_Compare(items[i]->obj.get(), args[1].obj) == 0) return items[i + 1];
    return args.size() == 3 ? args[2].shadow : b_.constant(Py_None);
}

static PyObject* isinstance_function() {
    static PyObject* const function = builtin("isinstance");
    return function;
}

// slice(stop), slice(start, stop) or slice(start, stop, step).
ShadowRef Recorder::slice_of(std::span<const Operand> args, PyObject* kwnames) {
    if (kwnames || args.empty() || args.size() > 3) return nullptr;
    for (const Operand& a : args)
        if (!b_.resolve(a.shadow, a.obj)) return nullptr;
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Slice;
    if (args.size() == 1) s->items.push_back(b_.constant(Py_None));
    for (const Operand& a : args) s->items.push_back(a.shadow);
    while (s->items.size() < 3) s->items.push_back(b_.constant(Py_None));
    return s;
}

namespace {

PyObject* class_name() {
    static PyObject* const name = PyUnicode_InternFromString("__class__");
    return name;
}

PyObject* getattribute_name() {
    static PyObject* const name = PyUnicode_InternFromString("__getattribute__");
    return name;
}

// Whether `obj.__class__`, which isinstance asks for where the type is none of the classes, is the type: not
// so where a class has a property of that name (mocks have), and of weak references' proxies.
bool has_class_of_its_own_type(PyTypeObject* type) {
    const auto found = [&](PyTypeObject* in, PyObject* name) { return _PyType_Lookup(in, name); };
    if (found(type, class_name()) != found(&PyBaseObject_Type, class_name())) return false;
    return type->tp_getattro == PyObject_GenericGetAttr || type->tp_getattro == PyModule_Type.tp_getattro ||
           type == &PyType_Type ||
           found(type, getattribute_name()) == found(&PyBaseObject_Type, getattribute_name());
}

bool is_subtype_of(PyTypeObject* type, PyObject* classes) {
    const auto of = [&](PyObject* c) {
        return PyType_Check(c) && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(c));
    };
    if (!PyTuple_CheckExact(classes)) return of(classes);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); ++i)
        if (of(PyTuple_GET_ITEM(classes, i))) return true;
    return false;
}

}  // namespace

bool Recorder::call_isinstance(std::span<const Operand> args, PyObject* result, ShadowRef* out) {
    if (args.size() != 2) return false;
    for (const Operand& a : args)
        if (!b_.resolve(a.shadow, a.obj)) return false;
    if (args[1].shadow->kind == ShadowKind::Tuple) {
        if (!b_.require_constant(args[1].shadow, args[1].obj)) return false;
    } else if (args[1].shadow->kind != ShadowKind::Object) {
        return false;
    }
    // Every resolved shadow has an exact type; a class with __instancecheck__ could still answer differently.
    const guards::TensorApi* torch = guards::tensor_api();
    auto plain = [&](PyObject* t) {
        if (torch && t == reinterpret_cast<PyObject*>(torch->tensor))
            return true;  // its metaclass asks no more
        return PyType_Check(t) && (Py_IS_TYPE(t, &PyType_Type));
    };
    if (PyTuple_CheckExact(args[1].obj)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[1].obj); ++i)
            if (!plain(PyTuple_GET_ITEM(args[1].obj, i))) return false;
    } else if (!plain(args[1].obj)) {
        return false;
    }
    const Shadow& asked = *args[0].shadow;
    PyTypeObject* type = Py_TYPE(args[0].obj);
    const bool by_type = is_subtype_of(type, args[1].obj);
    if (!by_type && !has_class_of_its_own_type(type)) return false;
    // Its bases may change, and what its class says that its class is.
    if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && reinterpret_cast<PyObject*>(type) != args[1].obj) {
        const guards::SourceId source = asked.source != guards::kNoSource ? asked.source
                                        : asked.example != guards::kNoSource
                                            ? asked.example
                                            : b_.guards.object(args[0].obj, "an object");
        b_.guards.expect_mro(source, type);
        for (PyObject* name : {class_name(), getattribute_name()})
            if (!by_type) b_.guards.expect_type_attrs(source, type, name);
    }
    *out = b_.constant(result);
    return true;
}

// `with`: only objects made in this trace are known well enough (np.errstate); entering is a call of their
// method.
bool Recorder::on_before_with(const Insn&) {
    Operand manager = ops_[0];
    if (manager.shadow->kind != ShadowKind::Made)
        return refuse(Reason::UnknownOp, "with " + kind_for_messages(manager.obj));
    PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(manager.obj));
    PyRef enter = PyRef::steal(PyObject_GetAttrString(type, "__enter__"));
    PyRef leave = PyRef::steal(PyObject_GetAttrString(type, "__exit__"));
    PyErr_Clear();
    if (!enter || !leave || !numpy_host().knows(enter.get()))
        return refuse(Reason::UnknownOp, "with " + kind_for_messages(manager.obj));
    ShadowRef out =
        numpy_host().lower_call(b_, {enter.get(), std::span(&manager, 1), nullptr, top().frame->peek(0)});
    if (!out) return refuse(b_.reason, b_.reason_detail);
    auto method = std::make_shared<Shadow>();
    method->kind = ShadowKind::Method;
    method->items = {b_.constant(leave.get()), manager.shadow};
    pop();
    push(std::move(method));
    push(std::move(out));
    return true;
}

// 3.14's form of the same: the methods are called by ordinary calls.
bool Recorder::on_load_special(const Insn&) {
    Operand manager = ops_[0];
    PyObject *method = top().frame->peek(1), *self = top().frame->peek(0);
    if (manager.shadow->kind != ShadowKind::Made || self != manager.obj || !method)
        return refuse(Reason::UnknownOp, "with " + kind_for_messages(manager.obj));
    pop();
    push(b_.constant(method));
    push(manager.shadow);
    return true;
}

// False, with a reason, for functions of which it is certain before they run that on_call will refuse them.
bool Recorder::may_be_modelled(PyObject* callable) {
    bool builtin = PyCFunction_Check(callable) &&
                   (!PyCFunction_GET_SELF(callable) || PyModule_Check(PyCFunction_GET_SELF(callable)));
    if (!builtin && !guards::is_function(callable)) return true;
    if (callable == isinstance_function() || host_that_knows(callable) || replaces_fields(callable) ||
        consumes_items(callable) || asks(callable))
        return true;
    PyRef name = PyRef::steal(PyObject_GetAttrString(callable, "__name__"));
    PyErr_Clear();
    return refuse(Reason::UnknownCall, guards::utf8(name.get()));
}

bool Recorder::on_call(const Insn& insn) {
    Level& l = top();
    int count = pops(insn);
    if (const auto done = followed()) return *done;
    CallParts call;
    if (!call_parts(insn, &call))
        return refuse(b_.reason == Reason::None ? Reason::UnknownCall : b_.reason,
                      "arguments spread from a sequence or dict");
    Operand& callable = call.callable;
    std::vector<Operand>& args = call.args;
    PyObject* kwnames = call.kwnames.get();
    if (!b_.resolve(callable.shadow, callable.obj)) return refuse(b_.reason, b_.reason_detail);
    if (callable.shadow->kind == ShadowKind::Method && PyMethod_Check(callable.obj)) {
        ShadowRef method = callable.shadow;
        args.insert(args.begin(), Operand{method->items[1], PyMethod_GET_SELF(callable.obj)});
        callable = {method->items[0], PyMethod_GET_FUNCTION(callable.obj)};
    } else if (callable.shadow->kind == ShadowKind::Method && PyCFunction_Check(callable.obj)) {
        const ShadowRef method = callable.shadow;
        args.insert(args.begin(), Operand{method->items[1], PyCFunction_GET_SELF(callable.obj)});
        callable = {method->items[0], method->items[0]->obj.get()};
    }
    std::string what = name_for_messages(callable.obj);
    if (what.empty()) what = "this object";
    const bool draws = is_draw(callable.obj) || (!args.empty() && is_draw_of(args[0].obj, callable.obj));
    if (callable.shadow->kind != ShadowKind::Object && !host_that_knows(callable.obj) && !draws)
        return refuse(Reason::UnknownCall, what);
    if (callable.shadow->kind == ShadowKind::Opaque && callable.shadow->source != guards::kNoSource)
        b_.guards.expect_is(callable.shadow->source, callable.obj);
    PyObject* result = l.frame->peek(0);
    ShadowRef out, list;
    bool changed = false;
    std::vector<ShadowRef> items;
    std::optional<std::vector<ShadowRef>> at_end;
    if (draws) {
        out = drawn(call, result);
    } else if (makes_iterable(callable.obj)) {
        if (!(out = make_iterable(callable.obj, args, kwnames))) return refuse(Reason::UnknownCall, what);
    } else if (callable.obj == reinterpret_cast<PyObject*>(&PySlice_Type)) {
        if (!(out = slice_of(args, kwnames))) return refuse(Reason::UnknownCall, what);
    } else if ((out = sequence_of(callable.obj, args, kwnames))) {
    } else if ((out = answer(call, result))) {
    } else if ((out = made_object(call, result))) {
    } else if ((out = new_partial(call))) {
    } else if (callable.obj == isinstance_function()) {
        if (!call_isinstance(args, result, &out)) return refuse(Reason::UnknownCall, what);
    } else if (!args.empty() && args[0].shadow->kind == ShadowKind::List &&
               (out = list_method(callable.obj, args, kwnames, &items))) {
        list = args[0].shadow;
    } else if (!args.empty() && (at_end = appended(callable.obj, args, kwnames))) {
        out = b_.constant(Py_None);
    } else if (callable.obj == reinterpret_cast<PyObject*>(&PyDict_Type)) {
        if (!(out = new_dict(args, kwnames))) return refuse(Reason::UnknownCall, what);
    } else if (!args.empty() && (out = dict_method(callable.obj, args, kwnames, &items, &changed))) {
        if (changed) list = args[0].shadow;
    } else if (!args.empty() && (out = consumed(callable.obj, args, kwnames, result))) {
    } else if (const Host* known = host_that_knows(callable.obj)) {
        for (const Operand& a : args)
            if (!b_.resolve(a.shadow, a.obj)) return refuse(b_.reason, b_.reason_detail);
        const Host& host = known == &numpy_host() ? host_of(args) : *known;
        const HostScope scope(b_, host);
        out = host.lower_call(b_, {callable.obj, args, kwnames, result});
    } else {
        return refuse(Reason::UnknownCall, what);
    }
    if (!out)
        return refuse(b_.reason == Reason::None ? Reason::UnknownCall : b_.reason,
                      b_.reason_detail.empty() ? what : what + ": " + b_.reason_detail);
    std::vector<ShadowRef> saved(l.slots.end() - count, l.slots.end());
    l.slots.resize(l.slots.size() - count);
    if (push_result(std::move(out))) {
        if (list) list->items = std::move(items);
        if (!at_end || b_.append_to_list(args[0].shadow, args[0].obj, *at_end)) return true;
        l.slots.pop_back();
        refuse(Reason::Effect, "an append to a list whose items were looked at");
    }
    for (auto& s : saved) l.slots.push_back(std::move(s));
    return false;
}

}  // namespace stator::frontend
