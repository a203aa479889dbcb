// sum, any and all of what a trace knows item by item: the additions and tests that they make, one after the
// other. The total of a sum is a temporary, into which NumPy adds where it is large.
#include "frontend/cpython/builtins.h"
#include "frontend/hosts/call_pure.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/once.h"
#include "frontend/policy.h"
#include "frontend/record/recorder.h"

namespace stator::frontend {

namespace {

PyObject* sum_function() {
    static PyObject* const function = builtin("sum");
    return function;
}
PyObject* any_function() {
    static PyObject* const function = builtin("any");
    return function;
}
PyObject* all_function() {
    static PyObject* const function = builtin("all");
    return function;
}

PyObject* add_function() {
    return once([] {
        const PyRef module = module_named("operator");
        PyObject* add = module ? PyObject_GetAttrString(module.get(), "add") : nullptr;
        if (!add) PyErr_Clear();
        return add;
    });
}

bool is_plain_number(const Operand& o) {
    const ShadowKind kind = o.shadow->kind;
    return is_ndarray(o) || kind == ShadowKind::Scalar || kind == ShadowKind::Int;
}

// From 3.12 on sums of Python's floats are not just additions.
bool adds_plainly(const Operand& o) {
    return PY_VERSION_HEX < 0x030C0000 || (!PyFloat_CheckExact(o.obj) && !PyComplex_CheckExact(o.obj));
}

}  // namespace

bool consumes_items(PyObject* callable) {
    return callable == sum_function() || callable == any_function() || callable == all_function();
}

// The items of a tuple, a list or a dict's view, of which a list may have been there at entry.
std::optional<std::vector<ShadowRef>> Recorder::items_at_hand(const Operand& over) {
    const Shadow& s = *over.shadow;
    if (s.kind == ShadowKind::Tuple || s.kind == ShadowKind::List) return s.items;
    if (is_dict_view(s)) return items_of_view(s);
    if (s.kind != ShadowKind::Opaque || s.source == guards::kNoSource || s.value != graph::kNone ||
        !PyList_CheckExact(over.obj) || !b_.look_into_list(over.shadow, over.obj, true))
        return std::nullopt;
    b_.guards.expect_length(s.source, PyList_GET_SIZE(over.obj));
    std::vector<ShadowRef> items;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(over.obj); ++i) {
        const PyRef key = PyRef::steal(PyLong_FromSsize_t(i));
        items.push_back(b_.lazy(b_.guards.item(s.source, key.get()), PyList_GET_ITEM(over.obj, i)));
    }
    return items;
}

// nullptr where it is none of these, or of what is not known.
ShadowRef Recorder::consumed(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                             PyObject* result) {
    if (!consumes_items(callable) || kwnames || args.empty() || args.size() > 2) return nullptr;
    const Operand& over = args[0];
    if (!b_.resolve(over.shadow, over.obj)) return nullptr;
    const bool sequence = PyTuple_CheckExact(over.obj) || PyList_CheckExact(over.obj);
    if ((!sequence && !is_dict_view(*over.shadow)) || PyObject_Size(over.obj) > policy().consumed_items)
        return nullptr;
    const PyRef objects = PyRef::steal(PySequence_Fast(over.obj, ""));
    if (!objects) return PyErr_Clear(), nullptr;
    const auto known = items_at_hand(over);
    if (!known || std::ssize(*known) != PySequence_Fast_GET_SIZE(objects.get())) return nullptr;
    std::vector<Operand> items;
    for (size_t i = 0; i < known->size(); ++i) {
        PyObject* object = PySequence_Fast_GET_ITEM(objects.get(), static_cast<Py_ssize_t>(i));
        items.push_back({(*known)[i], object});
        if (!b_.resolve(items.back().shadow, object)) return nullptr;
    }
    if (callable == sum_function()) return summed(args, items, result);
    if (args.size() != 1) return nullptr;
    const bool any = callable == any_function();
    for (size_t i = 0; i < items.size(); ++i) {
        if (!PyBool_Check(items[i].obj) && !is_plain_number(items[i])) return nullptr;
        const int value = PyObject_IsTrue(items[i].obj);
        if (value < 0) return PyErr_Clear(), nullptr;
        bool decided;
        if (!truth(items[i], value != 0, &decided)) return nullptr;
        if ((value != 0) == any) break;
    }
    return b_.constant(result);
}

ShadowRef Recorder::summed(std::span<const Operand> args, std::span<const Operand> items, PyObject* result) {
    static PyObject* const zero = PyLong_FromLong(0);
    Operand sum = args.size() == 2 ? args[1] : Operand{b_.constant(zero), zero};
    if (!b_.resolve(sum.shadow, sum.obj) || !is_plain_number(sum) || !adds_plainly(sum)) return nullptr;
    if (items.empty()) return sum.shadow;
    PyRef held;
    for (size_t i = 0; i < items.size(); ++i) {
        if (!is_plain_number(items[i]) || !adds_plainly(items[i])) return nullptr;
        PyObject* operands[] = {sum.obj, items[i].obj};
        // sum itself has warned already.
        constexpr uint32_t kAll = 15;
        const numpy::StrictErrors nothing_matters(kAll, kAll);
        const bool last = i + 1 == items.size(), total = i > 0 && is_ndarray(sum);
        PyRef next = last && !total ? PyRef::borrow(result)
                                    : call_pure(add_function(), operands, 2, nullptr, OnWarning::Ignore);
        if (!next) return PyErr_Clear(), nullptr;
        if (total) {
            numpy::TemporaryReuse reuse(sum.obj, items[i].obj);
            next = reuse.settled(std::move(next));
            bool large;
            if (reuse.operand() >= 0 && !settle_size(sum, reuse.itemsize(), &large)) return nullptr;
            if (last) next = PyRef::borrow(result);
        }
        const Operand both[] = {sum, items[i]};
        const Host& host = host_of(both);
        const HostScope scope(b_, host);
        ShadowRef added = host.lower_binary(b_, 0, sum, items[i], next.get());
        if (!added || !same_as_model(added, next.get())) return PyErr_Clear(), nullptr;
        held = std::move(next);
        sum = {std::move(added), held.get()};
    }
    return sum.shadow;
}

}  // namespace stator::frontend
