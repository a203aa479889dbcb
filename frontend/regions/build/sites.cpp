// Memory of arrays that the loop makes and variables hold.
//
// Each place that makes them, a *site*, has several cells. What it made before may still be held by variables
// of any frame, or be needed where Python would go on after a check: so the instruction lists the arrays that
// may be of its site, and takes a cell in which none of them lies. There are one more cells than arrays
// listed.

#include <algorithm>

#include <fmt/format.h>

#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

int Builder::site_here() {
    const std::string key = fmt::format("{}:{}:{}", s_.levels.back().path, pc_, site_ordinal_++);
    return sites_.try_emplace(key, static_cast<int>(sites_.size())).first->second;
}

namespace {

void add_arrays(const Value& v, int slot, std::vector<ValueId>* out) {
    const bool other = v.slot >= 0 && v.slot != slot;
    if (v.kind == Kind::Array && !other && v.slot != -2 &&
        std::find(out->begin(), out->end(), v.id) == out->end())
        out->push_back(v.id);
    for (const Value& item : v.items) add_arrays(item, slot, out);
}

}  // namespace

// Adds the arrays to keep clear of to the instruction's operands.
int Builder::keep_clear(int site, graph::Inst* inst) {
    std::vector<ValueId> arrays;
    for (const Value& v : s_.slots) add_arrays(v, kFreshSlots + site, &arrays);
    if (s_.resume) {
        const auto& values = s_.resume->exit >= 0 ? r_->exits[static_cast<size_t>(s_.resume->exit)].values
                                                  : std::vector<ValueId>{};
        for (const ResumePoint::Stop& f : s_.resume->frames)
            for (const Value& v : f.slots) {
                std::vector<ValueId> there;
                add_arrays(v, kFreshSlots + site, &there);
                for (ValueId id : there) {
                    if (s_.resume->exit >= 0) id = values[static_cast<size_t>(id)];
                    if (std::find(arrays.begin(), arrays.end(), id) == arrays.end()) arrays.push_back(id);
                }
            }
    }
    inst->in.insert(inst->in.end(), arrays.begin(), arrays.end());
    return site;
}

void Builder::number_cells() {
    std::vector<int> cells(sites_.size(), 1), first(sites_.size());
    const auto each_site = [&](auto f) {
        for (graph::Block& b : r_->blocks)
            for (graph::Inst& i : b.insts)
                if (i.op == graph::RegionOp::Scratch && i.ints.size() > 1) f(i);
    };
    each_site([&](const graph::Inst& i) {
        const auto rank = static_cast<size_t>(r_->types[static_cast<size_t>(i.result)].rank);
        int& n = cells[static_cast<size_t>(i.ints[0])];
        n = std::max(n, static_cast<int>(i.in.size() - rank) + 1);
    });
    for (size_t k = 0; k < cells.size(); ++k) first[k] = cells_, cells_ += cells[k];
    each_site([&](graph::Inst& i) {
        const auto site = static_cast<size_t>(i.ints[0]);
        i.ints = {first[site], cells[site]};
    });
}

}  // namespace stator::frontend::regions
