// Cells of memory that variables may hold.
//
// Whoever builds a region lists for a `scratch` all arrays that are held where it stands. Which of them may
// lie in its own cells shows when the region is whole: an array lies where its maker put it, and parameters
// pass it on. The others are taken off the list, and with them goes a cell for each.
#include <algorithm>
#include <set>

#include "graph/region/cfg.h"
#include "graph/region/passes.h"

namespace stator::graph {
namespace {

struct Where {
    bool anywhere = false;
    std::set<int64_t> cells;  // memory of inputs is none of these
};

class Origins {
  public:
    explicit Origins(const Region& r) : r_(r), where_(r.types.size()) {
        do {
            changed_ = false;
            for (const Block& b : r.blocks) {
                for (const Inst& i : b.insts) made(i);
                for_edges(b, [&](const Edge& e) {
                    const auto& params = r.blocks[static_cast<size_t>(e.to)].params;
                    for (size_t k = 0; k < params.size(); ++k) pass(e.args[k], params[k]);
                });
            }
        } while (changed_);
    }
    bool may_lie(ValueId array, int64_t first, int64_t last) const {
        const Where& w = where_[static_cast<size_t>(array)];
        const auto at = w.cells.lower_bound(first);
        return w.anywhere || (at != w.cells.end() && *at <= last);
    }

  private:
    void made(const Inst& i) {
        if (i.result < 0 || !r_.types[static_cast<size_t>(i.result)].is_array()) return;
        Where& w = where_[static_cast<size_t>(i.result)];
        switch (i.op) {
            case RegionOp::Scratch:
                for (int64_t k = 0; k < (i.ints.size() > 1 ? i.ints[1] : 1); ++k)
                    changed_ |= w.cells.insert(i.ints[0] + k).second;
                break;
            case RegionOp::View:
            case RegionOp::Part:
            case RegionOp::Flatten:
            case RegionOp::Reshape: pass(i.in[0], i.result); break;
            default: changed_ |= !w.anywhere; w.anywhere = true;
        }
    }
    void pass(ValueId from, ValueId to) {
        if (!r_.types[static_cast<size_t>(to)].is_array()) return;
        const Where& source = where_[static_cast<size_t>(from)];
        Where& w = where_[static_cast<size_t>(to)];
        const size_t before = w.cells.size();
        w.cells.insert(source.cells.begin(), source.cells.end());
        changed_ |= w.cells.size() != before || (source.anywhere && !w.anywhere);
        w.anywhere |= source.anywhere;
    }

    const Region& r_;
    std::vector<Where> where_;  // by value
    bool changed_ = false;
};

}  // namespace

void prune_cells(Region& r) {
    const Origins origins(r);
    for (Block& b : r.blocks)
        for (Inst& i : b.insts) {
            if (i.op != RegionOp::Scratch || i.ints.size() < 2) continue;
            const int64_t first = i.ints[0], last = first + i.ints[1] - 1;
            const auto held = i.in.begin() + r.types[static_cast<size_t>(i.result)].rank;
            i.in.erase(std::remove_if(held, i.in.end(),
                                      [&](ValueId array) { return !origins.may_lie(array, first, last); }),
                       i.in.end());
            i.ints[1] = static_cast<int64_t>(i.in.size()) - r.types[static_cast<size_t>(i.result)].rank + 1;
        }
}

}  // namespace stator::graph
