// What loops run over. A comprehension over a handful of known items is part of the trace, round after round;
// other loops end it at their header, with the iterator made in the trace (range(n), zip(a, b), ...), and
// their bodies are traces of their own.

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "frontend/cpython/builtins.h"
#include "frontend/cpython/functions.h"
#include "frontend/cpython/generator_list.h"
#include "frontend/hosts/torch/runtime.h"
#include "frontend/policy.h"
#include "frontend/record/recorder.h"
#include "guards/check/functions.h"
#include "guards/check/module.h"
#include "guards/check/names.h"

namespace stator::frontend {

namespace {

#if PY_VERSION_HEX < 0x030F0000
// Whether `function` is a comprehension that collects what a trace can collect; sets are not modelled.
bool collects_list_or_dict(PyObject* function) {
    if (!guards::is_function(function)) return false;
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
    const std::string name = guards::utf8(code->co_name);
    return name == "<listcomp>" || name == "<dictcomp>" || collects_generator(code);
}
#endif

// The same of one that is inlined in `code` from instruction `begin` on.
bool collects_list_or_dict(const CodeInfo& code, size_t begin) {
    size_t loop = begin;
    while (loop < code.insns.size() && code.insns[loop].op != Opcode::ForIter) ++loop;
    if (loop == code.insns.size()) return false;
    auto first = code.insns.begin() + static_cast<long>(loop), end = code.insns.begin() + first->target;
    return std::none_of(first, end, [](const Insn& insn) { return insn.op == Opcode::SetAdd; });
}

PyObject* const kRange = reinterpret_cast<PyObject*>(&PyRange_Type);
PyObject* const kReversed = reinterpret_cast<PyObject*>(&PyReversed_Type);
PyObject* const kEnumerate = reinterpret_cast<PyObject*>(&PyEnum_Type);
PyObject* const kZip = reinterpret_cast<PyObject*>(&PyZip_Type);

bool made_by(const Shadow& s, PyObject* callable) {
    return s.kind == ShadowKind::Made && s.items[0]->obj.get() == callable;
}

// It has given all it has, and so have those that it runs over.
void use_up(Shadow& s) {
    if (s.kind != ShadowKind::Made || made_by(s, kRange) || is_dict_view(s)) return;
    s.used = true;
    for (size_t i = 2; i < s.items.size(); ++i) use_up(*s.items[i]);
}

// Whether what an iterator gives comes from a dict, directly or through zip and enumerate.
bool walks_dict(const Shadow& s) {
    if (s.kind == ShadowKind::Dict || s.kind == ShadowKind::Opaque || is_dict_view(s)) return true;
    return s.kind == ShadowKind::Made && !made_by(s, kRange) &&
           std::any_of(s.items.begin() + 2, s.items.end(), [](const ShadowRef& i) { return walks_dict(*i); });
}

// Whether it is an iterator of which two users each take what the other does not: zip, enumerate and their
// like, but no range and no view.
bool gives_once(const Shadow& s) {
    return s.kind == ShadowKind::Made && !made_by(s, kRange) && !is_dict_view(s);
}

// Whether one such iterator is found in it twice, as in zip(e, e).
bool shares_iterator(const ShadowRef& s, std::vector<const Shadow*>* met) {
    if (!gives_once(*s)) return false;
    if (std::ranges::find(*met, s.get()) != met->end()) return true;
    met->push_back(s.get());
    return std::any_of(s->items.begin() + 2, s->items.end(),
                       [&](const ShadowRef& item) { return shares_iterator(item, met); });
}

// Whether what an iterator gives comes from a list, or from this one.
bool walks_list(const Shadow& s, const Shadow* list = nullptr) {
    if (s.kind == ShadowKind::List) return !list || &s == list;
    return gives_once(s) && std::any_of(s.items.begin() + 2, s.items.end(),
                                        [&](const ShadowRef& item) { return walks_list(*item, list); });
}

PyObject* iter_function() {
    static PyObject* const function = builtin("iter");
    return function;
}

ShadowRef made_of(PyObject* callable, std::vector<ShadowRef> items, TraceBuilder& b) {
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Made;
    s->items = {b.constant(callable), b.tuple({})};
    s->items.insert(s->items.end(), items.begin(), items.end());
    return s;
}

}  // namespace

bool makes_iterable(PyObject* callable) {
    return callable == kRange || callable == kReversed || callable == kEnumerate || callable == kZip ||
           callable == iter_function();
}

// Whether an iterator of `o` can be made without running Python code, and made again from its shadow: then
// nothing is asked of its items until a loop takes them.
bool Recorder::iterable(const Operand& o) {
    if (!b_.resolve(o.shadow, o.obj)) return false;
    switch (o.shadow->kind) {
        case ShadowKind::Array: return !b_.shape(o.shadow).empty();
        case ShadowKind::Tuple:
        case ShadowKind::List:
        case ShadowKind::Dict: return true;
        case ShadowKind::Made:
            return makes_iterable(o.shadow->items[0]->obj.get()) || is_dict_view(*o.shadow);
        case ShadowKind::Object:
        case ShadowKind::Opaque:
            return PyTuple_CheckExact(o.obj) || PyList_CheckExact(o.obj) || PyDict_CheckExact(o.obj) ||
                   PyRange_Check(o.obj) || PyUnicode_CheckExact(o.obj);
        default: return false;
    }
}

// range(ints), enumerate(x), enumerate(x, start), zip(x, ...), reversed(x), iter(x); nullptr for other
// arguments. An iterator over another one shares its state, also when both are made again for one snapshot.
ShadowRef Recorder::make_iterable(PyObject* callable, std::span<const Operand> args, PyObject* kwnames) {
    if (kwnames || args.empty()) return nullptr;
    const bool one = callable == kReversed || callable == iter_function();
    if (one && args.size() != 1) return nullptr;
    std::vector<ShadowRef> items;
    for (const Operand& a : args) {
        const bool number = callable == kRange || (callable == kEnumerate && !items.empty());
        const bool known =
            number ? b_.resolve(a.shadow, a.obj) && a.shadow->kind == ShadowKind::Int : iterable(a);
        if (!known) return nullptr;
        items.push_back(a.shadow);
    }
    // A step of 0 raises.
    if (callable == kRange && args.size() == 3 && !b_.require_constant(args[2].shadow, args[2].obj))
        return nullptr;
    return made_of(callable, std::move(items), b_);
}

// Up to 3.11 the iterator is handed to a function of its own at once; later the comprehension is inlined, and
// puts aside the variable that it is going to use. 3.15 does so before it makes the iterator, and has the
// function of a generator expression make it.
bool Recorder::begins_comprehension(const Insn& get_iter) {
    const Level& l = top();
    auto stack = l.slots.begin() + l.code->nlocalsplus;
    if (std::any_of(stack, l.slots.end(), [](const ShadowRef& s) { return s->kind == ShadowKind::Iter; }))
        return true;  // a further `for` of one
#if PY_VERSION_HEX >= 0x030F0000
    if (collects_generator(l.code->code)) return true;
    const Insn *swap = &get_iter - 1, *collection = &get_iter - 2;
    const bool begun = l.pc >= 2 && swap->op == Opcode::Swap && swap->arg == 2 && collection->arg == 0 &&
                       (collection->op == Opcode::BuildList || collection->op == Opcode::BuildMap);
    return begun && collects_list_or_dict(*l.code, l.pc);
#else
    const Insn& next = *(&get_iter + 1);
    if (next.op == Opcode::LoadFastAndClear) return collects_list_or_dict(*l.code, l.pc);
    PyObject* function = l.frame->depth() > l.code->nlocalsplus + 1 ? l.frame->peek(1) : nullptr;
    return next.op == Opcode::Call && next.arg == 0 && function && collects_list_or_dict(function);
#endif
}

// A loop that ends the trace: its iterator is made there.
bool Recorder::loop_over(const Operand& over) {
    if (!iterable(over))
        return refuse(b_.reason == Reason::None ? Reason::UnknownOp : b_.reason,
                      "a loop over " + kind_for_messages(over.obj));
    ShadowRef s = pop();
    push(PyIter_Check(over.obj) ? s : made_of(iter_function(), {s}, b_));
    return true;
}

// `for child in self` of torch's Sequential and ModuleList: their __iter__ goes through the values of a
// dictionary, whose keys are guarded. The children are few and known, so the loop is part of the trace.
bool Recorder::loop_over_modules(const Operand& over) {
    if (over.shadow->kind != ShadowKind::Opaque || over.shadow->source == guards::kNoSource ||
        !torch::iterates_children(over.obj))
        return false;
    static PyObject* const iter_name = PyUnicode_InternFromString("__iter__");
    static PyObject* const modules_name = PyUnicode_InternFromString("_modules");
    PyObject* modules = guards::module_own(over.obj, modules_name);
    if (!modules || !PyDict_CheckExact(modules)) return false;
    PyRef keys = PyRef::steal(PySequence_Tuple(modules));
    if (!keys) return PyErr_Clear(), false;
    b_.guards.expect_type_attrs(over.shadow->source, Py_TYPE(over.obj), iter_name);
    const auto source = b_.guards.attr(over.shadow->source, modules_name);
    b_.guards.expect_keys(source, keys.get());
    std::vector<ShadowRef> children;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
        PyObject* key = PyTuple_GET_ITEM(keys.get(), i);
        if (!PyUnicode_CheckExact(key)) return false;
        children.push_back(b_.lazy(b_.guards.item(source, key), PyDict_GetItemWithError(modules, key)));
    }
    auto iter = std::make_shared<Shadow>();
    iter->kind = ShadowKind::Iter;
    iter->length = static_cast<int>(children.size());
    iter->items = {b_.tuple(std::move(children))};
    pop();
    push(std::move(iter));
    return true;
}

// What an iterable gives, where that is known now: a tuple, a list, a constant range, or zip and enumerate of
// such.
std::optional<std::vector<ShadowRef>> Recorder::known_items(const ShadowRef& s) {
    std::vector<ShadowRef> items;
    if (s->kind == ShadowKind::Tuple || s->kind == ShadowKind::List) return s->items;
    PyObject* fixed = s->kind == ShadowKind::Object ? s->obj.get() : nullptr;
    if (fixed && (PyTuple_CheckExact(fixed) || PyUnicode_CheckExact(fixed) || PyRange_Check(fixed))) {
        if (PyObject_Size(fixed) > policy().unrolled_items) return std::nullopt;
        const PyRef all = PyRef::steal(PySequence_Tuple(fixed));
        if (!all) return PyErr_Clear(), std::nullopt;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i)
            items.push_back(b_.constant(PyTuple_GET_ITEM(all.get(), i)));
        return items;
    }
    if (is_dict_view(*s)) return items_of_view(*s);
    if (s->kind == ShadowKind::Dict) return keys_of(s);
    if (s->kind == ShadowKind::Opaque && s->obj && PyList_CheckExact(s->obj.get()) &&
        PyList_GET_SIZE(s->obj.get()) <= policy().unrolled_items)
        return items_at_hand({s, s->obj.get()});
    if (s->kind != ShadowKind::Made || s->used) return std::nullopt;
    const std::span<const ShadowRef> args(s->items.begin() + 2, s->items.end());
    const auto constant = [&](const ShadowRef& n) { return b_.graph.syms.as_const(n->sym); };
    if (made_by(*s, kRange)) {
        int64_t bounds[3] = {0, 0, 1};
        for (size_t i = 0; i < args.size(); ++i) {
            const auto n = constant(args[i]);
            if (!n) return std::nullopt;
            bounds[args.size() == 1 ? 1 : i] = *n;
        }
        const auto [begin, end, step] = bounds;
        for (int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
            if (std::ssize(items) > policy().unrolled_items) return std::nullopt;
            items.push_back(b_.new_int(b_.int_const(i)));
        }
        return items;
    }
    if (!made_by(*s, kZip) && !made_by(*s, kEnumerate)) return std::nullopt;
    std::vector<std::vector<ShadowRef>> columns;
    const bool counts = made_by(*s, kEnumerate);
    const auto first = counts && args.size() == 2 ? constant(args[1]) : std::optional<int64_t>(0);
    size_t rounds = SIZE_MAX;
    for (const ShadowRef& a : counts ? args.first(1) : args) {
        auto column = known_items(a);
        if (!column) return std::nullopt;
        rounds = std::min(rounds, column->size());
        columns.push_back(std::move(*column));
    }
    if (!first || rounds > static_cast<size_t>(policy().unrolled_items)) return std::nullopt;
    for (size_t i = 0; i < rounds; ++i) {
        std::vector<ShadowRef> row;
        if (counts) row.push_back(b_.new_int(b_.int_const(*first + static_cast<int64_t>(i))));
        for (const auto& column : columns) row.push_back(column[i]);
        items.push_back(b_.tuple(std::move(row)));
    }
    return items;
}

bool Recorder::on_get_iter(const Insn& insn) {
    Operand over = ops_[0];
    // From 3.13.1 on, inlined comprehensions ask for the iterator of their iterator, which is itself.
    if (over.shadow->kind == ShadowKind::Iter) return true;
    if (!b_.resolve(over.shadow, over.obj)) return refuse(b_.reason, b_.reason_detail);
    if (loop_over_modules(over)) return true;
    std::string what = "an iterator over " + kind_for_messages(over.obj);
    if (!begins_comprehension(insn)) return loop_over(over);
    if (PyIter_Check(over.obj) || PyDict_CheckExact(over.obj) ||
        is_dict_view(*over.shadow)) {  // zip, enumerate
        std::vector<const Shadow*> met;
        auto items = PyDict_CheckExact(over.obj)          ? keys_of(over.shadow)
                     : shares_iterator(over.shadow, &met) ? std::nullopt
                                                          : known_items(over.shadow);
        if (!items || std::ssize(*items) > policy().unrolled_items) return refuse(Reason::UnknownOp, what);
        auto iter = std::make_shared<Shadow>();
        iter->kind = ShadowKind::Iter;
        iter->length = static_cast<int>(items->size());
        ShadowRef given = b_.tuple(std::move(*items));
        iter->items = {given};
        // A dict's iterator notices when the dict changes, and a list's gives what the list holds by then, so
        // one that is left in the middle is such a one.
        iter->walks = walks_dict(*over.shadow);
        if (iter->walks || walks_list(*over.shadow)) {
            const bool once = over.shadow->kind == ShadowKind::Made && !is_dict_view(*over.shadow);
            iter->items = {once ? std::make_shared<Shadow>(*over.shadow) : over.shadow, given};
        }
        walks_ += iter->walks;
        use_up(*over.shadow);
        pop();
        push(std::move(iter));
        return true;
    }
    bool kind = PyTuple_CheckExact(over.obj) || PyList_CheckExact(over.obj) || PyRange_Check(over.obj);
    if (!kind) return refuse(Reason::UnknownOp, what);
    Py_ssize_t length = PyObject_Size(over.obj);
    if (length > policy().unrolled_items)
        return refuse(Reason::UnknownOp,
                      what + " with more than " + std::to_string(policy().unrolled_items) + " items");
    if (!b_.resolve(over.shadow, over.obj)) return refuse(b_.reason, b_.reason_detail);
    switch (over.shadow->kind) {
        case ShadowKind::Tuple:
        case ShadowKind::List: break;
        case ShadowKind::Opaque:
            if (!PyList_CheckExact(over.obj) || over.shadow->source == guards::kNoSource ||
                !b_.look_into_list(over.shadow, over.obj, true))
                return refuse(Reason::UnknownOp, what);
            b_.guards.expect_length(over.shadow->source, length);
            break;
        default:
            // Another length would need another trace.
            if (!made_by(*over.shadow, kRange) ||
                std::any_of(over.shadow->items.begin() + 2, over.shadow->items.end(),
                            [&](const ShadowRef& s) { return !b_.graph.syms.as_const(s->sym); }))
                return refuse(Reason::UnknownOp, what);
    }
    auto iter = std::make_shared<Shadow>();
    iter->kind = ShadowKind::Iter;
    iter->items = {over.shadow};
    iter->length = static_cast<int>(length);
    pop();
    push(std::move(iter));
    return true;
}

// Whether a loop of the trace goes through zip and enumerate over the list, whose items it has asked for
// already.
bool Recorder::is_walked(const Shadow& list) const {
    return std::ranges::any_of(levels_, [&](const Level* l) {
        return std::ranges::any_of(l->slots, [&](const ShadowRef& s) {
            return s && s->kind == ShadowKind::Iter && walks_list(*s->items[0], &list) &&
                   s->items[0].get() != &list;
        });
    });
}

// Whether the jump or FOR_ITER belongs to a loop that the trace follows.
bool Recorder::unrolls(const Insn& insn) {
    const auto& slots = top().slots;
    const Insn* header = &insn;
    size_t above = 1 + kAboveIterator;
    if (insn.op != Opcode::ForIter) {
        header = &top().code->insns[insn.target];
        if (insn.op != Opcode::Jump) ++above;  // a condition, which the jump takes off
    }
    return header->op == Opcode::ForIter && slots.size() >= above &&
           slots[slots.size() - above]->kind == ShadowKind::Iter;
}

bool Recorder::on_for_iter(const Insn&) {
    Level& l = top();
    const ShadowRef iter = l.slots[l.slots.size() - 1 - kAboveIterator];
    const ShadowRef& over = iter->items[0];
    auto depth = static_cast<size_t>(l.frame->depth());
    if (depth <= l.slots.size()) {  // no more items
        walks_ -= std::exchange(iter->walks, false);
        if (depth < l.slots.size()) pop();  // from 3.14 on the iterator is left to POP_ITER
        return true;
    }
    PyObject* item = l.frame->peek(0);
    if (iter->given >= iter->length) return refuse(Reason::ModelMismatch, "a loop");
    ShadowRef known;
    if (made_by(*over, kRange)) {
        known = b_.new_int(b_.int_const(PyLong_AsLongLong(item)));
    } else if (over->kind == ShadowKind::Opaque) {
        PyRef key = PyRef::steal(PyLong_FromLong(iter->given));
        known = b_.lazy(b_.guards.item(over->source, key.get()), item);
    } else {
        known = iter->items.back()->items[iter->given];
    }
    if (!push_result(known)) return false;
    ++iter->given;
    return true;
}

// A dict comprehension's item; other keys than constant strings are not modelled.
bool Recorder::on_map_add(const Insn& insn) {
    auto& slots = top().slots;
    const ShadowRef dict = slots[slots.size() - 2 - insn.arg];
    const Operand &key = ops_[0], &value = ops_[1];
    if (dict->kind != ShadowKind::Dict || !PyUnicode_CheckExact(key.obj) ||
        !b_.require_constant(key.shadow, key.obj))
        return refuse(Reason::UnknownOp, "a dict with such keys");
    size_t at = 0;
    while (at < dict->items.size() && PyUnicode_Compare(dict->items[at]->obj.get(), key.obj) != 0) at += 2;
    if (at == dict->items.size()) dict->items.insert(dict->items.end(), {key.shadow, nullptr});
    dict->items[at + 1] = value.shadow;
    pop(), pop();
    return true;
}

}  // namespace stator::frontend
