// TraceBuilder: cells, the variables that functions share.
//
// A cell made in the trace exists as a shadow only, until a snapshot or the result names it. Of a cell that
// was there at entry the contents are read by a guard; what the trace writes into it is written for real
// where the trace is left, so until then reads must find the write: one cell has one shadow, whatever leads
// to it, and cells of which one is written are guarded to be as distinct as they were.

#include "frontend/trace_builder/trace_builder.h"

namespace stator::frontend {

ShadowRef TraceBuilder::new_cell(ShadowRef contents) {
    auto cell = std::make_shared<Shadow>();
    cell->kind = ShadowKind::Cell;
    cell->number = static_cast<int>(cells_.size());
    cell->items = {std::move(contents)};
    cells_.push_back(cell);
    return cell;
}

ShadowRef TraceBuilder::entry_cell(const ShadowRef& s, PyObject* cell) {
    for (const ShadowRef& known : cells_) {
        if (known->obj.get() != cell) continue;
        guards.expect_same(s->source, known->source);
        return known;
    }
    auto found = std::make_shared<Shadow>();
    found->kind = ShadowKind::Cell;
    found->source = s->source;
    found->obj = PyRef::borrow(cell);
    for (const ShadowRef& known : cells_)
        if (known->written) guards.expect_not_same(found->source, known->source);
    cells_.push_back(found);
    return found;
}

ShadowRef TraceBuilder::read_cell(const ShadowRef& cell, PyObject* contents) {
    if (cell->items.empty()) {
        std::string text = guards.source(cell->source).text;
        cell->items = {lazy(guards.cell(cell->source, std::move(text)), contents)};
    }
    return cell->items[0];
}

void TraceBuilder::write_cell(const ShadowRef& cell, ShadowRef contents) {
    if (cell->source != guards::kNoSource && !cell->written) {
        cell->written = true;
        guards.expect_type(cell->source, &PyCell_Type);
        for (const ShadowRef& other : cells_)
            if (other != cell && other->source != guards::kNoSource && !other->written)
                guards.expect_not_same(other->source, cell->source);
    }
    cell->items = {std::move(contents)};
}

void TraceBuilder::forget_cells() {
    for (const ShadowRef& cell : cells_) cell->items.clear();
    attributes_.clear();
    appended_.clear();
}

}  // namespace stator::frontend
