// How a region is spread over the threads of a grid that all run its control flow.
//
// Scalars are computed by every thread alike. The points of a nest are divided up; an element is stored by
// one thread, the leader. In between, grid-wide barriers: in front of whatever reads or overwrites what other
// threads wrote, or overwrites what others may still be reading, since the last barrier. Two nests over the
// same extents give each point to the same thread, so what they touch through the same array needs none.
//
// Where a nest stores to one element more than once, a thread gets all points of that element.
//
// A loop that stores elements and has no nest would need a barrier for every element: the leader runs it
// alone
// (`solo`), the others wait at its end. Where its iterations are independent (regions/grid.h) all threads
// share them, and the leader runs the loop only when one of them has to leave it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "graph/region/cfg.h"
#include "kernels/regions/grid.h"

namespace stator::kernels {

class RegionSpread {
  public:
    RegionSpread(const graph::Region& r, const graph::RegionCfg& cfg);

    // The loop that the leader runs alone and that the block belongs to; -1: none.
    int solo(graph::BlockId b) const { return solo_[static_cast<size_t>(b)]; }
    // The solo loop as one that all threads share, if it can be that.
    const GridLoop* grid(int solo) const {
        const auto found = grids_.find(solo);
        return found == grids_.end() ? nullptr : &found->second;
    }
    bool meets_before(graph::BlockId b, size_t inst) const {
        return meets_[static_cast<size_t>(b)][inst] != 0;
    }
    bool meets_before_solo(int loop) const { return solo_meets_.contains(loop); }
    // Whether the order of a nest's points shows, so that the leader does all of them.
    bool in_order(const graph::Inst& nest) const;
    // Axes (bits) along which a nest stores to one element again and again, as sums do: a point of the others
    // is one thread's, which walks these in order.
    uint32_t serial_axes(const graph::Inst& nest) const;

  private:
    // Who touched memory since the last barrier: nobody, the threads of one division of points, or any.
    static constexpr int kNobody = -1, kAnybody = -2;
    struct Touched {
        int wrote = kNobody, read = kNobody;
        friend bool operator==(const Touched&, const Touched&) = default;
    };
    using State = std::vector<Touched>;  // by root
    struct Access {
        int root, by;
        bool write;
    };

    void find_roots();
    void find_solo_loops();
    void flow();
    State through(graph::BlockId b, State s);
    void forget(graph::BlockId b, State& s) const;
    bool meet(const std::vector<Access>& accesses, State& s) const;
    static bool merge(State& to, const State& from);
    std::vector<Access> accesses(const graph::Inst& inst);
    void add_access(std::vector<Access>& out, graph::ValueId array, int by, bool write) const;
    std::vector<Access> accesses_of_solo(int loop);
    int division(graph::ValueId array, const graph::Inst& nest);
    bool may_overlap(graph::ValueId stored, graph::ValueId loaded) const;
    // Whether two different instructions of a nest may touch one element at two points.
    bool meets_elsewhere(const graph::Inst& store, const graph::Inst& other) const;
    graph::ValueId whole(graph::ValueId array) const;
    void find_standing_axes(const graph::Inst& view);

    const graph::Region& r_;
    const graph::RegionCfg& cfg_;
    std::vector<std::set<int>> roots_;      // by array value: which memory it may lie in
    std::vector<graph::ValueId> made_by_;   // by array value: the input, parameter or scratch it is part of
    std::vector<graph::BlockId> block_of_;  // by value
    // By array value: the complex array of which it is a part, and which.
    std::map<graph::ValueId, std::pair<graph::ValueId, int64_t>> part_of_;
    std::vector<uint32_t> standing_;  // by array value: axes along which nothing moves
    int root_count_ = 0;
    std::vector<int> solo_;
    std::vector<std::vector<char>> meets_;
    std::set<int> solo_meets_;
    std::map<int, GridLoop> grids_;
    std::map<std::vector<graph::ValueId>, int> divisions_;  // array and extents
    std::vector<std::vector<graph::ValueId>> division_values_;
};

}  // namespace stator::kernels
