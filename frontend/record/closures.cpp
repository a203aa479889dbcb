// Cells and functions: what nested functions share with the function that makes them.
//
// A function that the trace makes is known part by part. A call of it is followed like any other, with its
// free variables found in the shadows of its closure; the object itself is made where a snapshot or the
// result names it.

#include "frontend/cpython/functions.h"
#include "frontend/record/recorder.h"
#include "guards/check/names.h"

namespace stator::frontend {

namespace {

constexpr std::pair<int, graph::FunctionItem> kParts[] = {
    // in the order in which they lie on the stack
    {kPartDefaults, graph::kDefaults},       {kPartKwDefaults, graph::kKwDefaults},
    {kPartAnnotations, graph::kAnnotations}, {kPartClosure, graph::kClosure},
    {kPartAnnotate, graph::kAnnotate},
};

constexpr bool kPartsOnStack = PY_VERSION_HEX < 0x030D0000;  // later they come by SET_FUNCTION_ATTRIBUTE

}  // namespace

// The shadow of the cell in a slot; nullptr, with a reason, when the slot holds something else.
ShadowRef Recorder::cell_at(int slot) {
    Level& l = top();
    const ShadowRef& s = l.slots[slot];
    if (s->kind == ShadowKind::Cell) return s;
    PyObject* cell = l.frame->slot(slot);
    if (s->kind == ShadowKind::Lazy && s->source != guards::kNoSource && cell && PyCell_Check(cell))
        return b_.entry_cell(s, cell);
    refuse(Reason::UnknownOp, "a cell variable made elsewhere");
    return nullptr;
}

bool Recorder::on_make_cell(const Insn& insn) {
    ShadowRef& slot = top().slots[insn.arg];
    slot = b_.new_cell(std::move(slot));
    return true;
}

bool Recorder::on_load_deref(const Insn& insn) {
    ShadowRef cell = cell_at(insn.arg);
    if (!cell) return false;
    return push_result(b_.read_cell(cell, top().frame->peek(0)));
}

bool Recorder::on_store_deref(const Insn& insn) {
    ShadowRef cell = cell_at(insn.arg);
    if (!cell) return false;
    b_.write_cell(cell, pop());
    return true;
}

bool Recorder::on_delete_deref(const Insn& insn) {
    ShadowRef cell = cell_at(insn.arg);
    if (!cell) return false;
    if (cell->items.empty()) b_.read_cell(cell, nullptr);  // where it holds nothing, deleting raises
    b_.write_cell(cell, b_.null());
    return true;
}

bool Recorder::on_copy_free_vars(const Insn&) {
    Level& l = top();
    PyObject* func = l.frame->function();
    int nfree = l.code->code->co_nfreevars;
    int first = l.code->nlocalsplus - nfree;
    if (l.func && l.func->kind == ShadowKind::Function) {
        const auto& cells = l.func->items[graph::kClosure]->items;
        for (int i = 0; i < nfree; ++i) l.slots[first + i] = cells[i];
        return true;
    }
    guards::SourceId base = l.func ? l.func->source : guards::kNoSource;
    // The function whose call the trace begins with is an input like its arguments, so that a closure made
    // anew is served, too.
    if (base == guards::kNoSource) {
        const std::string name = guards::utf8(reinterpret_cast<PyFunctionObject*>(func)->func_qualname);
        base = levels_.size() == 1 ? b_.guards.slot(l.code->function_slot(), name)
                                   : b_.guards.object(func, name);
    }
    for (int i = 0; i < nfree; ++i) {
        std::string text = guards::utf8(PyTuple_GET_ITEM(l.code->code->co_localsplusnames, first + i));
        l.slots[first + i] = b_.lazy(b_.guards.func_cell(base, i, text), l.frame->slot(first + i));
    }
    return true;
}

bool Recorder::on_make_function(const Insn& insn) {
    auto f = std::make_shared<Shadow>();
    f->kind = ShadowKind::Function;
    f->items.assign(graph::kFunctionItems, nullptr);
    for (ShadowRef& item : f->items) item = b_.null();
    f->items[graph::kCode] = ops_.back().shadow;
    f->items[graph::kGlobals] = b_.constant(top().frame->globals());
    size_t at = 0;
    for (auto [flag, item] : kParts)
        if (kPartsOnStack && (insn.arg & flag)) f->items[item] = ops_[at++].shadow;
    for (size_t i = 0; i < ops_.size(); ++i) pop();
    push(std::move(f));
    return true;
}

bool Recorder::on_set_function_attribute(const Insn& insn) {
    auto& slots = top().slots;
    const ShadowRef& function = slots.back();
    if (function->kind != ShadowKind::Function) return refuse(Reason::UnknownOp, "a function made elsewhere");
    for (auto [flag, item] : kParts)
        if (insn.arg == flag) function->items[item] = slots[slots.size() - 2];
    slots.erase(slots.end() - 2);
    return true;
}

}  // namespace stator::frontend
