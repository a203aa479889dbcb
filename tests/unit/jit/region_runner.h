// Compiles a region given as text and runs it on arrays of the test.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <list>
#include <string>
#include <vector>

#include "graph/region/region.h"
#include "jit/load.h"
#include "jit/machine.h"
#include "jit/orc/orc.h"
#include "kernels/region_abi.h"

namespace stator::jit {

class RegionRunner {
  public:
    explicit RegionRunner(const std::string& text) {
        EXPECT_EQ(graph::parse(text, &r_), "") << text;
        if (r_.loops.empty()) graph::find_loops(r_);
        EXPECT_EQ(graph::verify(r_), "") << text;
        graph::simplify(r_);
        EXPECT_EQ(graph::verify(r_), "") << graph::print(r_);
        const Object object = emit_object(r_, emit_options("t", false));
        EXPECT_EQ(object.error, "") << graph::print(r_);
        code_ = load_region(object.bytes, "t", "t");
        EXPECT_EQ(code_.error, "");
        cells_.resize(static_cast<size_t>(graph::scratch_cells(r_) + graph::kMostSaved));
        for (const auto& x : r_.exits) {
            size_t slots = 0;
            for (const graph::ValueId v : x.values) {
                const graph::RegionType t = r_.types[static_cast<size_t>(v)];
                slots += t.is_array() ? 1 + 2 * static_cast<size_t>(t.rank) : 1;
            }
            out_.resize(std::max(out_.size(), 16 * slots));
        }
        targets_.resize(r_.calls.size());
    }
    ~RegionRunner() {
        for (auto& c : cells_) std::free(c.memory);
    }
    RegionRunner(const RegionRunner&) = delete;

    // Inputs in the order of the region's. Strides in elements; C order when left out.
    template <class T>
    RegionRunner& array(T* data, std::vector<int64_t> shape, std::vector<int64_t> strides = {}) {
        arrays_.push_back(reinterpret_cast<char*>(data));
        if (strides.empty()) {
            strides.assign(shape.size(), 1);
            for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
        }
        dims_.insert(dims_.end(), shape.begin(), shape.end());
        for (const int64_t s : strides) dims_.push_back(s * static_cast<int64_t>(sizeof(T)));
        return *this;
    }
    template <class T>
    RegionRunner& scalar(T v) {
        scalars_.resize(scalars_.size() + 16);
        std::memcpy(&scalars_[scalars_.size() - 16], &v, sizeof v);
        return *this;
    }
    RegionRunner& target(size_t call, void* fn, void* data = nullptr) {
        targets_.at(call) = {fn, data};
        return *this;
    }
    void forget() { arrays_.clear(), dims_.clear(), scalars_.clear(); }

    int run() {
        std::fill(out_.begin(), out_.end(), '\x5a');
        const kernels::RegionArgs args{arrays_.data(),
                                       dims_.data(),
                                       scalars_.data(),
                                       out_.data(),
                                       targets_.data(),
                                       &breaker_,
                                       1,
                                       cells_.data(),
                                       &trust_,
                                       grow,
                                       nullptr,
                                       &disturbed_,
                                       &leave_,
                                       &steps_};
        return code_.region(&args);
    }
    // The exit's value in slot k.
    template <class T = int64_t>
    T out(size_t k) const {
        T v;
        std::memcpy(&v, &out_.at(16 * k), sizeof v);
        return v;
    }
    volatile int32_t& breaker() { return breaker_; }
    static int64_t& grow_limit() {
        static int64_t limit = int64_t{1} << 40;
        return limit;
    }
    const graph::Region& region() const { return r_; }
    kernels::RegionFn function() const { return code_.region; }

  private:
    volatile int32_t leave_ = 0;
    int64_t steps_ = 0;
    static bool grow(kernels::RegionArgs::ScratchCell* cell, int64_t bytes) {
        if (bytes > grow_limit()) return false;
        std::free(cell->memory);
        cell->memory =
            static_cast<char*>(std::aligned_alloc(64, static_cast<size_t>(bytes + 63) & ~size_t{63}));
        cell->bytes = bytes;
        return true;
    }

    graph::Region r_;
    Loaded code_;
    std::vector<char*> arrays_;
    std::vector<int64_t> dims_;
    std::vector<char> scalars_, out_;
    std::vector<kernels::RegionCallTarget> targets_;
    std::vector<kernels::RegionArgs::ScratchCell> cells_;
    kernels::RegionArgs::Trust trust_;
    int32_t disturbed_ = 0;
    volatile int32_t breaker_ = 0;
};

}  // namespace stator::jit
