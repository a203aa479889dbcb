// Bounds of integers in a region's loops, as sums of multiples of values that are known in front of them.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "graph/region/cfg.h"
#include "graph/region/region.h"

namespace stator::graph {

// constant + sum of factor * value, over the integers. Kept small: forms that grow are given up.
struct LinearForm {
    int64_t constant = 0;
    std::vector<std::pair<ValueId, int64_t>> terms;  // by value, no factor is 0
    bool is_constant() const { return terms.empty(); }
    int64_t factor(ValueId v) const;
    friend bool operator==(const LinearForm&, const LinearForm&) = default;
};
using MaybeForm = std::optional<LinearForm>;
MaybeForm add_scaled(const LinearForm& a, const LinearForm& b, int64_t factor);  // a + factor * b

// Rests on one premise, that atoms (values known at the header `outer`) lie within +-kSmall; whoever uses a
// bound has to test that. Then no form here leaves 64 bits, and equations of forms are equations of values.
class RegionBounds {
  public:
    static constexpr int64_t kSmall = int64_t{1} << 46;

    // A parameter of the outermost loop's header that advances by a step known only at run time: between two
    // atoms while the body runs, if the step is at most kSmallStep either way.
    struct Range {
        ValueId value = -1, low = -1, high = -1, step = -1, count = -1;
    };
    static constexpr int64_t kSmallStep = 1 << 15;

    // `outer`: header of the loop in question; everything it dominates is inside.
    RegionBounds(const Region& r, const RegionCfg& cfg, BlockId outer, std::vector<Range> ranges = {});

    bool is_atom(ValueId v) const;  // known before `outer`
    LinearForm form(ValueId v);     // the value, exactly
    // Every atom that a result rests on, so far.
    const std::vector<ValueId>& atoms() const { return atoms_; }
    // Forms that must not be negative for results to hold.
    const std::vector<LinearForm>& needs() const { return needs_; }
    // Forms over atoms that are at most f whenever block `at` runs; none if none is found.
    std::vector<LinearForm> lower(const LinearForm& f, BlockId at);
    // How often the loop's body runs at most, over atoms.
    std::vector<LinearForm> trip_count_limits(int loop);  // each is limit - trips: what must be >= 0
    BlockId block_of(ValueId v) const { return place_[static_cast<size_t>(v)].block; }
    std::optional<int64_t> constant(ValueId v) const;

  private:
    struct Place {
        BlockId block = -1;  // -1: an input
        int param = -1;      // which parameter of the block
        const Inst* inst = nullptr;
    };
    // for (counter = count; counter > 0; --counter)
    struct Counted {
        ValueId counter = -1, count = -1;
        BlockId body = -1;
    };
    struct Step {  // of a parameter of a header, on every way back to it
        ValueId start = -1;
        int64_t by = 0;
        bool checked = false;  // the sum cannot have wrapped
    };

    void find_counters();
    std::optional<Step> step_of(ValueId param) const;
    std::optional<int64_t> added(ValueId v, ValueId to, bool* checked) const;
    bool inside_body(const Counted& c, BlockId at) const;
    bool bounded(const LinearForm& f, BlockId at);
    MaybeForm compute_form(ValueId v);
    ValueId latest(const LinearForm& f) const;
    void search(const LinearForm& f, BlockId at, int depth, std::vector<LinearForm>& out);
    // Replacements for x in f, of a form that is at most f.
    std::vector<LinearForm> replacements(const LinearForm& f, ValueId x, BlockId at);
    void by_induction(const LinearForm& f, ValueId x, BlockId at, std::vector<LinearForm>& out);
    void by_count(const LinearForm& f, ValueId x, BlockId at, std::vector<LinearForm>& out);
    void by_instruction(const LinearForm& f, ValueId x, std::vector<LinearForm>& out);
    void by_guards(const LinearForm& f, ValueId x, BlockId at, std::vector<LinearForm>& out);
    void by_ways_in(const LinearForm& f, ValueId x, std::vector<LinearForm>& out);
    MaybeForm limit_of(ValueId param, bool below);
    MaybeForm tested(BlockId from, BlockId to, ValueId v, bool below);
    bool is_header(BlockId b) const;

    const Region& r_;
    const RegionCfg& cfg_;
    BlockId outer_;
    std::vector<Place> place_;      // by value
    std::vector<Counted> counted_;  // by loop; counter -1: does not count down
    std::map<ValueId, LinearForm> form_;
    std::vector<char> forming_;
    void use_atom(ValueId v);

    const std::vector<Range> ranges_;
    std::vector<ValueId> atoms_;
    std::vector<LinearForm> needs_;
    int budget_ = 0;
};

}  // namespace stator::graph
