// See parts.h, and FunctionState::traverse.
#include "frontend/drive/parts.h"

#include <algorithm>

namespace stator::frontend {
namespace {

bool apart = false;

int traverse_trace(const Trace& t, visitproc visit, void* arg) {
    if (int stop = t.guards.traverse(visit, arg)) return stop;
    for (const PyRef& o : t.objects) Py_VISIT(o.get());
    for (const PyRef& o : t.followed) Py_VISIT(o.get());
    // A frame that is running may need them: then they are not the trace's alone.
    if (t.lost && t.lost.use_count() == 1)
        if (int stop = t.lost->traverse(visit, arg)) return stop;
    return 0;
}

int traverse_clone(const std::pair<PyRef, PyRef>& clone, visitproc visit, void* arg) {
    Py_VISIT(clone.first.get());
    Py_VISIT(clone.second.get());
    return 0;
}

}  // namespace

PartsApart::PartsApart() { apart = true; }
PartsApart::~PartsApart() { apart = false; }

int FunctionState::traverse_own(visitproc visit, void* arg) const {
    Py_VISIT(impl_->code_object.get());
    Py_VISIT(impl_->globals.get());
    // What is known of it keeps it once more.
    if (impl_->codes.contains(reinterpret_cast<PyCodeObject*>(impl_->code_object.get())))
        Py_VISIT(impl_->code_object.get());
    return 0;
}

// Guards hold the globals they read, which hold the compiled function: a cycle only the collector can free.
int FunctionState::traverse(visitproc visit, void* arg) const {
    if (int stop = traverse_own(visit, arg)) return stop;
    if (apart) return 0;
    for (auto& [code, pair] : impl_->clones)
        if (int stop = traverse_clone(pair, visit, arg)) return stop;
    for (auto& [code, cp] : impl_->codes) {
        if (cp->code_object.get() != impl_->code_object.get()) Py_VISIT(cp->code_object.get());
        for (auto& [pc, h] : cp->headers)
            for (auto& r : h.regions)
                if (int stop = r->traverse(visit, arg)) return stop;
        for (auto& [pc, place] : cp->by_pc)
            for (auto& t : place->traces)
                if (int stop = traverse_trace(*t, visit, arg)) return stop;
    }
    return 0;
}

void add_parts(FunctionState& state, std::vector<Part>* parts) {
    FunctionState::Impl& fs = *state.impl();
    const auto add = [&](auto traverse, std::vector<PyObject*> needed) -> Part& {
        // Without the function nothing of it is of use.
        needed.insert(needed.end(), {fs.code_object.get(), fs.globals.get()});
        parts->push_back({.keeper = {traverse, std::move(needed)}, .fs = &fs});
        return parts->back();
    };
    for (auto& [code, pair] : fs.clones)
        add([&pair](visitproc visit, void* arg) { return traverse_clone(pair, visit, arg); },
            {pair.first.get()})
            .cloned = code;
    for (auto& [code, cp] : fs.codes) {
        PyObject* own = cp->code_object.get();
        if (own != fs.code_object.get())
            add([own](visitproc visit, void* arg) { return visit(own, arg); }, {own}).followed = code;
        for (auto& [pc, h] : cp->headers)
            for (auto& r : h.regions) {
                Part& part =
                    add([r = r.get()](visitproc visit, void* arg) { return r->traverse(visit, arg); },
                        r->needed());
                part.keeper.needed.push_back(own);
                part.header = &h;
                part.region = r.get();
            }
        for (auto& [pc, place] : cp->by_pc)
            for (auto& t : place->traces) {
                Part& part =
                    add([t = t.get()](visitproc visit, void* arg) { return traverse_trace(*t, visit, arg); },
                        t->guards.needed());
                part.keeper.needed.push_back(own);
                part.place = place.get();
                part.trace = t.get();
            }
    }
}

void drop(const Part& part, DroppedParts* dropped) {
    // Takes what `is_it` says out of a vector.
    const auto take = [](auto& from, auto& to, auto is_it) {
        const auto found = std::ranges::find_if(from, is_it);
        if (found == from.end()) return;
        to.push_back(std::move(*found));
        from.erase(found);
    };
    if (part.trace)
        return take(part.place->traces, dropped->traces,
                    [&](const auto& t) { return t.get() == part.trace; });
    if (part.region) {
        const auto is_it = [&](const auto& r) { return r.get() == part.region; };
        std::erase_if(part.fs->awaited, [&](const auto& a) { return is_it(a.region); });
        return take(part.header->regions, dropped->regions, is_it);
    }
    if (part.followed) {
        const auto found = part.fs->codes.find(part.followed);
        if (found == part.fs->codes.end()) return;
        dropped->places.push_back(std::move(found->second));
        part.fs->codes.erase(found);
        part.fs->latest = nullptr;
        return;
    }
    const auto found = part.fs->clones.find(part.cloned);
    if (found == part.fs->clones.end()) return;
    dropped->clones.push_back(std::move(found->second));
    part.fs->clones.erase(found);
}

}  // namespace stator::frontend
