// TraceBuilder: recipes. Within one snapshot a shadow has one recipe, so that one object stays one object.

#include "frontend/trace_builder/trace_builder.h"

#include <algorithm>

#include "graph/cone.h"

namespace stator::frontend {

using graph::Recipe;
using graph::RecipeKind;

void TraceBuilder::begin_recipes(bool snapshot) {
    recipe_memo_.clear();
    cells_to_say_.clear();
    instances_to_say_.clear();
    in_snapshot_ = snapshot;
}

int32_t TraceBuilder::object_index(PyObject* obj) {
    for (size_t i = 0; i < objects.size(); ++i)
        if (objects[i].get() == obj) return static_cast<int32_t>(i);
    objects.push_back(PyRef::borrow(obj));
    return static_cast<int32_t>(objects.size()) - 1;
}

void TraceBuilder::note_followed(PyCodeObject* code) {
    auto* object = reinterpret_cast<PyObject*>(code);
    if (std::ranges::none_of(followed, [&](const PyRef& o) { return o.get() == object; }))
        followed.push_back(PyRef::borrow(object));
}

void TraceBuilder::set_location(int32_t loc, PyObject* globals) {
    location_ = loc;
    while (location_globals.size() <= static_cast<size_t>(loc))
        location_globals.push_back(object_index(globals));
}

bool TraceBuilder::has_stored() {
    for (; looked_for_stores_ < static_cast<graph::Id>(graph.nodes.size()); ++looked_for_stores_) {
        const graph::Node& n = graph.node(looked_for_stores_);
        has_stored_ |= graph::stored_input(graph, looked_for_stores_) != graph::kNone ||
                       (n.op == graph::Op::Library && graph::has_effects(n.ints[3]));
    }
    return has_stored_;
}

bool TraceBuilder::can_be_recomputed(const graph::LostVariable& lost) {
    if (!has_stored()) return true;
    graph::Cone cone(graph);
    cone.add_recipe(lost.recipe);
    cone.add_contents(lost.contents);
    return cone.reads_newest(static_cast<graph::Id>(graph.nodes.size()));
}

void TraceBuilder::keep(const Shadow& s) {
    if (s.kind == ShadowKind::Array) buffers_[static_cast<size_t>(s.buffer)].named = true;
    if (s.base) keep(*s.base);
    for (const ShadowRef& item : s.items) keep(*item);
}

int32_t TraceBuilder::known_recipe(const ShadowRef& s) const {
    const auto it = recipe_memo_.find(s.get());
    return it == recipe_memo_.end() ? -1 : it->second;
}

int32_t TraceBuilder::recipe(const ShadowRef& s, PyObject* obj) {
    if (auto it = recipe_memo_.find(s.get()); it != recipe_memo_.end()) return it->second;
    Recipe r;
    auto children = [&](RecipeKind kind) {
        r.kind = kind;
        for (const ShadowRef& item : s->items) {
            int32_t c = recipe(item, item->obj.get());
            if (c < 0) return false;
            r.items.push_back(c);
        }
        return true;
    };
    if (s->source != guards::kNoSource) {
        r.kind = RecipeKind::Slot;
        r.index = s->source;
    } else {
        switch (s->kind) {
            case ShadowKind::Null: r.kind = RecipeKind::Null; break;
            case ShadowKind::Lazy: return -1;
            case ShadowKind::Opaque:
                if (s->value == graph::kNone) return -1;
                r.kind = RecipeKind::Value;
                r.index = s->value;
                break;
            case ShadowKind::Object:
                r.kind = RecipeKind::Object;
                r.index = object_index(s->obj.get());
                break;
            case ShadowKind::Int:
                if (s->obj)
                    r.kind = RecipeKind::Object, r.index = object_index(s->obj.get());
                else
                    r.kind = RecipeKind::SymInt, r.sym = canon(s->sym);
                break;
            case ShadowKind::Scalar:
                if (s->obj) {
                    r.kind = RecipeKind::Object;
                    r.index = object_index(s->obj.get());
                    break;
                }
                r.kind = RecipeKind::Value;
                r.index = s->value;
                break;
            case ShadowKind::Array:
                if (in_snapshot_) buffers_[s->buffer].named = true;
                if (!s->maker.empty()) {
                    r.kind = RecipeKind::Make;
                    for (const ShadowRef& item : s->maker) {
                        r.items.push_back(recipe(item, item->obj.get()));
                        if (r.items.back() < 0) return -1;
                    }
                    break;
                }
                if (s->path.empty()) {
                    r.kind = RecipeKind::Value;
                    r.index = buffers_[s->buffer].version;
                    break;
                }
                r.kind = RecipeKind::View;
                r.index = value(s);
                r.items.push_back(recipe(s->base, nullptr));
                if (r.items[0] < 0) return -1;
                break;
            case ShadowKind::Tuple:
                if (!s->maker.empty()) {  // torch.Size
                    r.kind = RecipeKind::Make;
                    for (const ShadowRef& item : s->maker) {
                        r.items.push_back(recipe(item, item->obj.get()));
                        if (r.items.back() < 0) return -1;
                    }
                    break;
                }
                if (s->obj) {
                    r.kind = RecipeKind::Object, r.index = object_index(s->obj.get());
                    break;
                }
                if (!children(RecipeKind::Tuple)) return -1;
                break;
            case ShadowKind::List:
                if (!children(RecipeKind::List)) return -1;
                break;
            case ShadowKind::Slice:
                if (!children(RecipeKind::Slice)) return -1;
                break;
            case ShadowKind::Dict:
                if (!children(RecipeKind::Dict)) return -1;
                break;
            case ShadowKind::Made:
                if (s->used || !children(RecipeKind::Make)) return -1;
                break;
            case ShadowKind::Method:
                if (!children(RecipeKind::Method)) return -1;
                break;
            case ShadowKind::Cell:
                r.kind = RecipeKind::Cell;
                r.index = s->number;
                cells_to_say_.push_back(s);
                break;
            case ShadowKind::Function:
                if (!children(RecipeKind::Function)) return -1;
                break;
            case ShadowKind::Iter:
                r.kind = RecipeKind::Iter;
                r.items = {recipe(s->items[0], s->items[0]->obj.get())};
                if (r.items[0] < 0) return -1;
                r.index = s->given;
                break;
            case ShadowKind::Instance:
                r.kind = RecipeKind::Make;
                for (const ShadowRef& item : s->maker) r.items.push_back(recipe(item, nullptr));
                instances_to_say_.push_back(s);
                break;
        }
    }
    (void)obj;
    int32_t id = graph.add_recipe(std::move(r));
    recipe_memo_[s.get()] = id;
    return id;
}

bool TraceBuilder::attribute_contents(std::vector<graph::CellContents>* out) {
    for (const size_t i : attribute_writes_) {
        const Attribute& a = attributes_[i];
        Recipe place;
        place.kind = RecipeKind::Attr;
        place.items = {recipe(a.owner, nullptr), recipe(a.name, nullptr)};
        const int32_t held = recipe(a.contents, nullptr);
        if (place.items[0] < 0 || place.items[1] < 0 || held < 0) return false;
        const bool read = a.before && a.before->kind != ShadowKind::Lazy;
        out->push_back(
            {graph.add_recipe(std::move(place)), held, read ? a.before->source : guards::kNoSource});
    }
    for (const Appended& a : appended_) {
        const Recipe place{RecipeKind::ListEnd, -1, {}, {recipe(a.list.shadow, nullptr)}};
        for (const ShadowRef& item : a.items) {
            const int32_t held = recipe(item, item->obj.get());
            if (place.items[0] < 0 || held < 0) return false;
            out->push_back({graph.add_recipe(place), held});
        }
    }
    return true;
}

bool TraceBuilder::cell_contents(std::vector<graph::CellContents>* out) {
    std::vector<graph::CellContents> attributes;
    if (!attribute_contents(&attributes)) return false;  // which may name cells
    for (const ShadowRef& cell : cells_)
        if (cell->written) cells_to_say_.push_back(cell);
    // What a cell or an object holds may name further ones.
    size_t cells = 0, instances = 0;
    while (cells < cells_to_say_.size() || instances < instances_to_say_.size()) {
        if (!instance_contents(&instances, out)) return false;
        if (cells == cells_to_say_.size()) continue;
        const ShadowRef cell = cells_to_say_[cells++];
        const ShadowRef contents = cell->items[0];
        int32_t place = recipe(cell, nullptr), held = recipe(contents, nullptr);
        if (place < 0 || held < 0) return false;
        out->push_back({place, held});
    }
    out->insert(out->end(), attributes.begin(), attributes.end());
    return true;
}

}  // namespace stator::frontend
