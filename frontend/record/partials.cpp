// Calls of functools.partial objects are calls of what they hold, with more arguments.
#include <string_view>

#include "frontend/once.h"
#include "frontend/record/recorder.h"
#include "guards/check/functions.h"

namespace stator::frontend {

namespace {

PyObject* partial_type() {
    return once([] {
        const PyRef module = module_named("functools");
        PyObject* type = module ? PyObject_GetAttrString(module.get(), "partial") : nullptr;
        if (!type) PyErr_Clear();
        return type;
    });
}

// A positional argument that stands for one of the call's (Python 3.14).
bool is_placeholder(PyObject* o) {
    return std::string_view(Py_TYPE(o)->tp_name).ends_with("_PlaceholderType");
}

struct Keyword {
    PyObject* name;
    Operand value;
};

void set(std::vector<Keyword>& keywords, PyObject* name, const Operand& value) {
    for (Keyword& k : keywords)
        if (PyUnicode_Compare(k.name, name) == 0) return void(k.value = value);
    keywords.push_back({name, value});
}

}  // namespace

// partial(function, ...): made again where it leaves the trace.
ShadowRef Recorder::new_partial(const CallParts& call) {
    if (!partial_type() || call.callable.obj != partial_type() || call.args.empty()) return nullptr;
    const Operand& function = call.args[0];
    if (function.shadow->kind != ShadowKind::Object && function.shadow->kind != ShadowKind::Function)
        return nullptr;
    if (!guards::is_function(function.obj)) return nullptr;
    for (const Operand& a : call.args)
        if (!b_.resolve(a.shadow, a.obj) || is_placeholder(a.obj) || a.shadow->kind == ShadowKind::Iter)
            return nullptr;
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Made;
    s->items = {call.callable.shadow, call.kwnames ? b_.constant(call.kwnames.get()) : b_.tuple({})};
    for (const Operand& a : call.args) s->items.push_back(a.shadow);
    return s;
}

// Makes a call of a partial object the call that this makes. False where it is none, or holds what is not
// known.
bool Recorder::unwrap_partial(CallParts* call) {
    PyObject* obj = call->callable.obj;
    if (!partial_type() || reinterpret_cast<PyObject*>(Py_TYPE(obj)) != partial_type() || call->any_order)
        return false;
    const ShadowRef s = call->callable.shadow;
    const PyRef function = PyRef::steal(PyObject_GetAttrString(obj, "func"));
    const PyRef args = PyRef::steal(PyObject_GetAttrString(obj, "args"));
    const PyRef given = PyRef::steal(PyObject_GetAttrString(obj, "keywords"));
    if (!function || !args || !given) return PyErr_Clear(), false;
    if (!guards::is_function(function.get()) || !PyTuple_CheckExact(args.get()) ||
        !PyDict_CheckExact(given.get()))
        return false;
    CallParts out;
    std::vector<Keyword> keywords;
    const Py_ssize_t count = PyTuple_GET_SIZE(args.get());
    out.callable.obj = function.get();
    if (s->kind == ShadowKind::Made) {
        PyObject* names = s->items[1]->obj.get();
        out.callable.shadow = s->items[2];
        for (Py_ssize_t i = 0; i < count; ++i)
            out.args.push_back({s->items[static_cast<size_t>(3 + i)], PyTuple_GET_ITEM(args.get(), i)});
        for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); ++k) {
            PyObject* name = PyTuple_GET_ITEM(names, k);
            PyObject* value = PyDict_GetItemWithError(given.get(), name);
            if (!value) return PyErr_Clear(), false;
            set(keywords, name, {s->items[static_cast<size_t>(3 + count + k)], value});
        }
    } else if (s->kind == ShadowKind::Opaque && s->source != guards::kNoSource) {
        Operand held[3] = {{nullptr, function.get()}, {nullptr, args.get()}, {nullptr, given.get()}};
        constexpr const char* kNames[] = {"func", "args", "keywords"};
        for (int i = 0; i < 3; ++i) {
            const PyRef name = PyRef::steal(PyUnicode_InternFromString(kNames[i]));
            if (!instance_attr(call->callable, name.get(), held[i].obj, &held[i].shadow, nullptr) ||
                !b_.resolve(held[i].shadow, held[i].obj))
                return false;
        }
        if (held[1].shadow->kind != ShadowKind::Tuple && held[1].shadow->kind != ShadowKind::Object)
            return false;
        out.callable.shadow = held[0].shadow;
        for (Py_ssize_t i = 0; i < count; ++i) {
            PyObject* value = PyTuple_GET_ITEM(args.get(), i);
            if (is_placeholder(value)) return false;
            out.args.push_back({held[1].shadow->kind == ShadowKind::Tuple
                                    ? held[1].shadow->items[static_cast<size_t>(i)]
                                    : b_.constant(value),
                                value});
        }
        const auto pairs = pairs_of(held[2].shadow);
        if (!pairs) return false;
        for (size_t i = 0; i < pairs->size(); i += 2) {
            PyObject* name = (*pairs)[i]->obj.get();
            PyObject* value = PyDict_GetItemWithError(given.get(), name);
            if (!value) return PyErr_Clear(), false;
            set(keywords, name, {(*pairs)[i + 1], value});
        }
    } else {
        return false;
    }
    const auto named = call->kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(call->kwnames.get())) : 0;
    const size_t positional = call->args.size() - named;
    out.args.insert(out.args.end(), call->args.begin(), call->args.begin() + static_cast<long>(positional));
    for (size_t k = 0; k < named; ++k)
        set(keywords, PyTuple_GET_ITEM(call->kwnames.get(), static_cast<Py_ssize_t>(k)),
            call->args[positional + k]);
    if (!keywords.empty()) {
        out.kwnames = PyRef::steal(PyTuple_New(std::ssize(keywords)));
        if (!out.kwnames) return PyErr_Clear(), false;
        for (size_t k = 0; k < keywords.size(); ++k) {
            PyTuple_SET_ITEM(out.kwnames.get(), static_cast<Py_ssize_t>(k), Py_NewRef(keywords[k].name));
            out.args.push_back(keywords[k].value);
        }
    }
    *call = std::move(out);
    return true;
}

}  // namespace stator::frontend
