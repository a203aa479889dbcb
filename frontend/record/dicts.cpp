// Dicts with strings as keys: those that the trace makes and changes, and those that were there at entry.
//
// The first are known item by item, and what changes one gives its shadow other items. An item of the others
// is a place of the trace, as an attribute of an object is (frontend/trace_builder/attributes.cpp): stores
// are done for real where the trace is left. Until then nothing else may look at a dict that was stored to.
#include <algorithm>
#include <array>

#include "frontend/record/recorder.h"
#include "guards/check/module.h"

namespace stator::frontend {

namespace {

enum Method : uint8_t { Get, Items, Keys, Values, Update, SetDefault, Pop, Clear, Copy, kMethods };

// The descriptors of dict, by Method.
const std::array<PyObject*, kMethods>& descriptors() {
    static const std::array<PyObject*, kMethods> all = [] {
        std::array<PyObject*, kMethods> found{};
        constexpr const char* names[] = {"get",        "items", "keys",  "values", "update",
                                         "setdefault", "pop",   "clear", "copy"};
        for (size_t i = 0; i < found.size(); ++i)
            found[i] = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), names[i]);  // kept
        return found;
    }();
    return all;
}

size_t find(const std::vector<ShadowRef>& items, PyObject* key) {
    size_t at = 0;
    while (at < items.size() && PyUnicode_Compare(items[at]->obj.get(), key) != 0) at += 2;
    return at;
}

// What can be a value: nothing that is used up or holds the dict itself.
bool can_be_value(const Shadow& s, const Shadow& dict) {
    switch (s.kind) {
        case ShadowKind::Cell:
        case ShadowKind::Function:
        case ShadowKind::Iter:
        case ShadowKind::Made:
        case ShadowKind::Null: return false;
        default: break;
    }
    return &s != &dict &&
           std::ranges::all_of(s.items, [&](const ShadowRef& item) { return can_be_value(*item, dict); });
}

bool at_entry(const Shadow& s) {
    return s.kind == ShadowKind::Opaque && s.source != guards::kNoSource && s.value == graph::kNone;
}

}  // namespace

void set_item(std::vector<ShadowRef>& items, const ShadowRef& key, const ShadowRef& value) {
    const size_t at = find(items, key->obj.get());
    if (at == items.size()) items.insert(items.end(), {key, nullptr});
    items[at + 1] = value;
}

// The key as a constant string, nullptr where it is none.
ShadowRef Recorder::constant_key(const Operand& key) {
    if (!PyUnicode_CheckExact(key.obj) || !b_.require_constant(key.shadow, key.obj)) return nullptr;
    return b_.constant(key.obj);
}

// All keys of a dict that was there at entry, which are guarded from then on. False where one is no string,
// or where the trace has stored to such a dict.
bool Recorder::keys_known(const Operand& dict) {
    if (b_.stored_items() || !at_entry(*dict.shadow) || !PyDict_CheckExact(dict.obj) ||
        !b_.meet_dict(dict.shadow, dict.obj))
        return false;
    const PyRef keys = PyRef::steal(PySequence_Tuple(dict.obj));
    if (!keys) return PyErr_Clear(), false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i)
        if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(keys.get(), i))) return false;
    b_.guards.expect_keys(dict.shadow->source, keys.get());
    return true;
}

// What dict[key] is, of a dict that was there at entry and has that key; nullptr where that is not known.
ShadowRef Recorder::entry_item(const Operand& dict, PyObject* key, PyObject* value) {
    if (PyList_CheckExact(dict.obj) && !b_.look_into_list(dict.shadow, dict.obj, false)) return nullptr;
    if (!PyUnicode_CheckExact(key) || !PyDict_CheckExact(dict.obj))
        return b_.lazy(b_.guards.item(dict.shadow->source, key), value);
    if (!b_.meet_dict(dict.shadow, dict.obj)) return nullptr;
    if (const ShadowRef* known = b_.known_attribute(dict.shadow, dict.obj, key)) return *known;
    const auto source = b_.guards.item(dict.shadow->source, key);
    b_.guards.expect_present(source);
    ShadowRef item = b_.lazy(source, value);
    b_.meet_attribute(dict.shadow, dict.obj, key, item);
    return item;
}

// Keys and values, one after the other, of a dict whose keys are known.
std::optional<std::vector<ShadowRef>> Recorder::pairs_of(const ShadowRef& dict) {
    if (dict->kind == ShadowKind::Dict) return dict->items;
    PyObject* obj = dict->obj.get();
    if (!at_entry(*dict) || !obj || !PyDict_CheckExact(obj) || !keys_known({dict, obj})) return std::nullopt;
    std::vector<ShadowRef> pairs;
    PyObject *key, *value;
    for (Py_ssize_t pos = 0; PyDict_Next(obj, &pos, &key, &value);) {
        ShadowRef item = entry_item({dict, obj}, key, value);
        if (!item) return std::nullopt;
        pairs.push_back(b_.constant(key));
        pairs.push_back(std::move(item));
    }
    return pairs;
}

std::optional<std::vector<ShadowRef>> Recorder::keys_of(const ShadowRef& dict) {
    const auto pairs = pairs_of(dict);
    if (!pairs) return std::nullopt;
    std::vector<ShadowRef> keys;
    for (size_t i = 0; i < pairs->size(); i += 2) keys.push_back((*pairs)[i]);
    return keys;
}

bool is_dict_view(const Shadow& s) {
    if (s.kind != ShadowKind::Made) return false;
    PyObject* callable = s.items[0]->obj.get();
    const auto& all = descriptors();
    return callable == all[Items] || callable == all[Keys] || callable == all[Values];
}

// What d.items(), d.keys() or d.values() gives.
std::optional<std::vector<ShadowRef>> Recorder::items_of_view(const Shadow& view) {
    auto pairs = pairs_of(view.items[2]);
    if (!pairs) return std::nullopt;
    PyObject* callable = view.items[0]->obj.get();
    std::vector<ShadowRef> out;
    for (size_t i = 0; i < pairs->size(); i += 2) {
        const ShadowRef &key = (*pairs)[i], &value = (*pairs)[i + 1];
        if (callable == descriptors()[Items])
            out.push_back(b_.tuple({key, value}));
        else
            out.push_back(callable == descriptors()[Keys] ? key : value);
    }
    return out;
}

// A method of a dict; nullptr where it is not modelled. `items`: what a dict made in the trace holds behind
// the call, where that is `changed`.
ShadowRef Recorder::dict_method(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                                std::vector<ShadowRef>* items, bool* changed) {
    const auto& all = descriptors();
    const auto method = std::ranges::find(all, callable) - all.begin();
    if (method == kMethods) return nullptr;
    for (const Operand& a : args)
        if (!b_.resolve(a.shadow, a.obj)) return nullptr;
    const Operand& dict = args[0];
    const bool made = dict.shadow->kind == ShadowKind::Dict;
    const size_t keywords = kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
    if (!made && (!at_entry(*dict.shadow) || !PyDict_CheckExact(dict.obj))) return nullptr;
    if (keywords && method != Update) return nullptr;
    if (method == Items || method == Keys || method == Values) {
        if (args.size() != 1 || (!made && !keys_known(dict))) return nullptr;
        auto view = std::make_shared<Shadow>();
        view->kind = ShadowKind::Made;
        view->items = {b_.constant(callable), b_.tuple({}), dict.shadow};
        return view;
    }
    if (method == Get && !made) {
        if (args.size() < 2 || args.size() > 3 || b_.stored_items() || !constant_key(args[1])) return nullptr;
        if (PyObject* value = PyDict_GetItemWithError(dict.obj, args[1].obj))
            return entry_item(dict, args[1].obj, value);
        if (!keys_known(dict)) return nullptr;
        return args.size() == 3 ? args[2].shadow : b_.constant(Py_None);
    }
    if (method == Get) return dict_get(args, kwnames);
    if (!made || walks_) return nullptr;
    *items = dict.shadow->items;
    *changed = method != Copy;
    const ShadowRef key = args.size() > 1 && method != Update ? constant_key(args[1]) : nullptr;
    const size_t at = key ? find(*items, key->obj.get()) : 0;
    const bool has = key && at < items->size();
    switch (method) {
        case Update: {
            if (args.size() > 2 + keywords || args.size() < 1 + keywords) return nullptr;
            if (args.size() == 2 + keywords) {
                const auto more = pairs_of(args[1].shadow);
                if (!more) return nullptr;
                for (size_t i = 0; i < more->size(); i += 2) set_item(*items, (*more)[i], (*more)[i + 1]);
            }
            for (size_t k = 0; k < keywords; ++k)
                set_item(*items, b_.constant(PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(k))),
                         args[args.size() - keywords + k].shadow);
            for (const ShadowRef& item : *items)
                if (!can_be_value(*item, *dict.shadow)) return nullptr;
            return b_.constant(Py_None);
        }
        case SetDefault: {
            if (!key || args.size() > 3) return nullptr;
            if (has) return (*items)[at + 1];
            const ShadowRef value = args.size() == 3 ? args[2].shadow : b_.constant(Py_None);
            if (!can_be_value(*value, *dict.shadow)) return nullptr;
            set_item(*items, key, value);
            return value;
        }
        case Pop: {
            if (!key || args.size() > 3) return nullptr;
            if (!has) return args.size() == 3 ? args[2].shadow : nullptr;
            const ShadowRef value = (*items)[at + 1];
            items->erase(items->begin() + static_cast<long>(at), items->begin() + static_cast<long>(at) + 2);
            return value;
        }
        case Clear: items->clear(); return args.size() == 1 ? b_.constant(Py_None) : nullptr;
        default: {
            auto copy = std::make_shared<Shadow>();
            copy->kind = ShadowKind::Dict;
            copy->items = dict.shadow->items;
            return args.size() == 1 ? copy : nullptr;
        }
    }
}

// dict(), dict(other), dict(name=value, ...).
ShadowRef Recorder::new_dict(std::span<const Operand> args, PyObject* kwnames) {
    const size_t keywords = kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
    if (args.size() > keywords + 1) return nullptr;
    auto dict = std::make_shared<Shadow>();
    dict->kind = ShadowKind::Dict;
    if (args.size() == keywords + 1) {
        if (!b_.resolve(args[0].shadow, args[0].obj) || !PyDict_CheckExact(args[0].obj)) return nullptr;
        auto pairs = pairs_of(args[0].shadow);
        if (!pairs) return nullptr;
        dict->items = std::move(*pairs);
    }
    for (size_t k = 0; k < keywords; ++k) {
        const ShadowRef& value = args[args.size() - keywords + k].shadow;
        if (!can_be_value(*value, *dict)) return nullptr;
        set_item(dict->items, b_.constant(PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(k))), value);
    }
    return dict;
}

// dict[key] = value, of the operands at hand; asked before it happens.
bool Recorder::dict_store_before() {
    const Operand &value = ops_[0], &dict = ops_[1], &key = ops_[2];
    if (walks_ || !PyDict_CheckExact(dict.obj) || !constant_key(key)) return false;
    if (dict.shadow->kind == ShadowKind::Dict) return can_be_value(*value.shadow, *dict.shadow);
    if (!at_entry(*dict.shadow) || !guards::GuardProgram::can_store(dict.obj, key.obj) ||
        !b_.meet_dict(dict.shadow, dict.obj))
        return false;
    b_.guards.expect_stored(dict.shadow->source, &PyDict_Type, key.obj);
    return true;
}

void Recorder::dict_store_done() {
    const Operand &value = ops_[0], &dict = ops_[1], &key = ops_[2];
    if (dict.shadow->kind == ShadowKind::Dict)
        set_item(dict.shadow->items, b_.constant(key.obj), value.shadow);
    else
        b_.write_attribute(dict.shadow, dict.obj, key.obj, value.shadow);
}

}  // namespace stator::frontend
