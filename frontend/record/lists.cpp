// Lists that the trace makes and changes: each method and store gives its shadow other items.
//
// A snapshot says what a list holds when it is taken, so a list that is changed later is made again as it
// was. Items change when the operation has succeeded and nothing about it can fail any more: what closes the
// trace in front of it must find the list as it was.
#include <algorithm>
#include <array>

#include "frontend/record/recorder.h"

namespace stator::frontend {

namespace {

enum Method : uint8_t { Append, Extend, Insert, Pop, Reverse, Clear, Copy, kMethods };

// The descriptors of list, by Method.
PyObject* descriptor(int method) {
    static const std::array<PyObject*, kMethods> all = [] {
        std::array<PyObject*, kMethods> found{};
        constexpr const char* names[] = {"append", "extend", "insert", "pop", "reverse", "clear", "copy"};
        for (size_t i = 0; i < found.size(); ++i)
            found[i] = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyList_Type), names[i]);  // kept
        return found;
    }();
    return all[static_cast<size_t>(method)];
}

// What can be an item: nothing that is used up or holds the list itself.
bool can_be_item(const Shadow& s, const Shadow& list) {
    switch (s.kind) {
        case ShadowKind::Array:
        case ShadowKind::Scalar:
        case ShadowKind::Int:
        case ShadowKind::Object:
        case ShadowKind::Opaque: return true;
        case ShadowKind::Tuple:
        case ShadowKind::List:
        case ShadowKind::Slice:
            return &s != &list && std::ranges::all_of(s.items, [&](const ShadowRef& item) {
                return can_be_item(*item, list);
            });
        case ShadowKind::Instance: return !may_hold(s, list);
        default: return false;
    }
}

// What a list that others have may be given: what can be built where the trace is left, and stays as it is.
bool can_be_kept(const Shadow& s) {
    switch (s.kind) {
        case ShadowKind::Lazy:
        case ShadowKind::Array:
        case ShadowKind::Scalar:
        case ShadowKind::Int:
        case ShadowKind::Object:
        case ShadowKind::Opaque:
        case ShadowKind::Instance: return true;
        case ShadowKind::Tuple:
        case ShadowKind::List:
        case ShadowKind::Slice:
        case ShadowKind::Dict:
            return std::ranges::all_of(s.items, [](const ShadowRef& item) { return can_be_kept(*item); });
        default: return false;
    }
}

}  // namespace

// nullptr where it is none of these, or with arguments that are not known.
ShadowRef Recorder::list_method(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                                std::vector<ShadowRef>* items) {
    int method = 0;
    while (method < kMethods && callable != descriptor(method)) ++method;
    if (method == kMethods || kwnames) return nullptr;
    for (const Operand& a : args)
        if (!b_.resolve(a.shadow, a.obj)) return nullptr;
    const ShadowRef& list = args[0].shadow;
    if (is_walked(*list)) return nullptr;
    *items = list->items;
    const auto constant_index = [&](const Operand& o) {
        return PyLong_CheckExact(o.obj) && b_.require_constant(o.shadow, o.obj);
    };
    const auto n = static_cast<Py_ssize_t>(items->size());
    switch (method) {
        case Append:
            if (args.size() != 2 || !can_be_item(*args[1].shadow, *list)) return nullptr;
            items->push_back(args[1].shadow);
            break;
        case Extend: {
            if (args.size() != 2 || !can_be_item(*args[1].shadow, *list)) return nullptr;
            const Shadow& more = *args[1].shadow;
            if (more.kind != ShadowKind::Tuple && more.kind != ShadowKind::List) return nullptr;
            items->insert(items->end(), more.items.begin(), more.items.end());
            break;
        }
        case Insert: {
            if (args.size() != 3 || !constant_index(args[1]) || !can_be_item(*args[2].shadow, *list))
                return nullptr;
            const Py_ssize_t i = PyLong_AsSsize_t(args[1].obj), at = i < 0 ? i + n : i;
            PyErr_Clear();
            items->insert(items->begin() + std::clamp<Py_ssize_t>(at, 0, n), args[2].shadow);
            break;
        }
        case Pop: {
            if (args.size() > 2 || (args.size() == 2 && !constant_index(args[1]))) return nullptr;
            const Py_ssize_t i = args.size() == 2 ? PyLong_AsSsize_t(args[1].obj) : -1,
                             at = i < 0 ? i + n : i;
            PyErr_Clear();
            if (at < 0 || at >= n) return nullptr;
            ShadowRef item = (*items)[static_cast<size_t>(at)];
            items->erase(items->begin() + at);
            return item;
        }
        case Reverse: std::ranges::reverse(*items); break;
        case Clear: items->clear(); break;
        default: {
            auto copy = std::make_shared<Shadow>();
            copy->kind = ShadowKind::List;
            copy->items = *items;
            return copy;
        }
    }
    return b_.constant(Py_None);
}

// What list.append or list.extend puts behind the items of a list that was there at entry; nothing where the
// call is none of these, or of something whose parts are not known.
std::optional<std::vector<ShadowRef>> Recorder::appended(PyObject* callable, std::span<const Operand> args,
                                                         PyObject* kwnames) {
    const bool extends = callable == descriptor(Extend);
    if ((!extends && callable != descriptor(Append)) || kwnames || args.size() != 2) return std::nullopt;
    const ShadowRef &list = args[0].shadow, &item = args[1].shadow;
    if (list->kind != ShadowKind::Opaque || list->source == guards::kNoSource ||
        !PyList_CheckExact(args[0].obj) || !b_.resolve(item, args[1].obj) || !can_be_kept(*item))
        return std::nullopt;
    if (!extends) return std::vector{item};
    if (item->kind != ShadowKind::Tuple && item->kind != ShadowKind::List) return std::nullopt;
    return item->items;
}

// list[i] = value, of the operands at hand; asked before it happens (without `items`), and when it has.
bool Recorder::list_store(std::vector<ShadowRef>* items) {
    const Operand &value = ops_[0], &list = ops_[1], &key = ops_[2];
    if (!PyLong_CheckExact(key.obj) || !b_.require_constant(key.shadow, key.obj) ||
        !can_be_item(*value.shadow, *list.shadow) || is_walked(*list.shadow))
        return false;
    const auto n = static_cast<Py_ssize_t>(list.shadow->items.size());
    const Py_ssize_t i = PyLong_AsSsize_t(key.obj), at = i < 0 ? i + n : i;
    PyErr_Clear();
    if (at < 0 || at >= n) return false;
    if (!items) return true;
    *items = list.shadow->items;
    (*items)[static_cast<size_t>(at)] = value.shadow;
    return true;
}

}  // namespace stator::frontend
