// What the parts of the CUDA printer of regions share. cuda/regions/region.h tells the idea.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/region/liveness.h"
#include "kernels/cuda/internal.h"
#include "kernels/cuda/regions/region.h"
#include "kernels/regions/spread.h"

namespace stator::kernels::cuda {

using graph::BlockId;
using graph::DType;
using graph::Inst;
using graph::Region;
using graph::RegionOp;
using graph::RegionType;
using graph::ValueId;

class RegionPrinter {
  public:
    RegionPrinter(const Region& r, const std::string& name);
    CudaRegion print();

  private:
    // A variable of the kernel: scalars are one, arrays one for the address, each extent and each stride.
    struct Part {
        std::string name;
        std::string type, memory;  // in registers, in the state
    };
    // Where a launch may go on.
    struct Resume {
        std::vector<ValueId> live;
        int solo;
        int exit;  // of a pause; -1: a cell is to grow
    };

    // ---- cuda/regions/region.cpp: frame and control flow ----
    std::string head();
    void declare(Lines& to) const;
    void inputs(Lines& to) const;
    void begin(Lines& to);  // what every launch does first
    bool is_known_early(const Inst& scratch) const;
    void known_rooms();
    void dispatch(Lines& to) const;
    void block(BlockId b, BlockId next);
    void terminator(BlockId b, BlockId next);
    void follow(const graph::Edge& e, BlockId next);
    void cross(const graph::Edge& e);
    void copy(const std::vector<ValueId>& to, const std::vector<ValueId>& from);
    void join(int solo);
    std::vector<std::string> exit_stores(int exit) const;
    void exit_code();
    void exit_group(const std::vector<std::pair<int, int>>& group, const std::vector<std::string>& common);
    int resume_point(BlockId b, size_t inst, int exit);
    void save(int number);
    void pause_code(int number, int exit);
    void grow_code(int number);
    void growing();
    void store_values(Lines& to, const std::vector<ValueId>& values, const std::string& base) const;
    void load_values(Lines& to, const std::vector<ValueId>& values, const std::string& base) const;
    std::string label(BlockId b) const { return "b" + std::to_string(b); }
    std::string exit_label(int exit);

    // ---- cuda/regions/insts.cpp ----
    void inst(BlockId b, size_t index);
    void leave_if(const std::string& condition, int exit);
    void set(ValueId v, const std::string& value);
    std::string constant(const Inst& i);
    std::string compute(const Inst& i, const std::vector<std::string>& in);
    std::string fma(const Inst& i, const std::vector<std::string>& in) const;
    std::string nonfinite(const Inst& i);
    void checked(const Inst& i, const std::string& overflows);
    void floor_division(const Inst& i);
    void poll(BlockId b, size_t index);
    void view(const Inst& i);
    void flatten(const Inst& i);
    void reshape(const Inst& i);
    void part(const Inst& i);
    void dense_strides(ValueId array);
    void scratch(BlockId b, size_t index);
    std::string element(const Inst& i, size_t indices);
    std::string loaded(DType t, const std::string& address) const;
    std::string stored(DType t, const std::string& address, const std::string& value) const;

    // ---- cuda/regions/nest.cpp ----
    void nest(const Inst& i);
    std::vector<std::string> point(const Inst& nest, uint32_t without = 0);
    std::string some(const Inst& nest) const;
    std::string total(const Inst& nest, uint32_t without = 0) const;
    void meet_about_flags(const Inst& nest);
    // What is printed of a nest's body: all of it, or what decides whether its `when` holds.
    struct BodyText {
        std::string holds;   // variable that becomes true where the `when` holds; then nothing behind it
        std::string number;  // where `append` stores and `next` reads
        std::string last;    // a statement behind all others
    };
    void nest_body(const Inst& nest, const std::vector<std::string>& at, const BodyText& text = {});
    std::string fault(const Inst& i, const std::vector<std::string>& in);

    // ---- cuda/regions/grid.cpp ----
    void grid(int solo);
    void grid_points(const GridLoop& g);
    void grid_point(const GridLoop& g);
    void agree_on_grid(const std::string& otherwise);
    bool grid_inst(const GridLoop& g, InstAt where);
    void leave_grid(const GridLoop& g, const std::vector<ValueId>& computed);
    void commit(const GridLoop& g, bool of_thread);

    // ---- cuda/regions/pack.cpp ----
    void pack(const Inst& i);
    void pack_in_order(const Inst& i);
    void pack_by_warps(const Inst& i, bool appends);
    void warp_points(const Inst& i);

    // ---- cuda/regions/reduce.cpp ----
    bool combiner(std::string_view ufunc, DType t, Reduction* out);
    bool sums_pairwise(std::string_view ufunc, DType t) const;
    std::string combine_struct(const Reduction& how, DType t);
    std::string folded(const std::string& how, const std::string& n);
    void turn_areas(const std::string& n);
    void dot(const Inst& i);
    void reduce(const Inst& i);
    void library(const Inst& i);
    void walk_axes(const std::vector<int>& axes, const std::function<std::string(int)>& extent_of,
                   const std::function<void(int, const std::string&)>& at);
    void reduce_axes(const Inst& i, const std::string& ufunc);
    void product(const Inst& i);

    // ---- helpers ----
    RegionType type(ValueId v) const { return r_.types[static_cast<size_t>(v)]; }
    std::vector<Part> parts(ValueId v) const;
    static int slots(RegionType t) { return t.is_array() ? 1 + 2 * t.rank : 1; }
    int slots(const std::vector<ValueId>& values) const;
    std::string scalar(ValueId v) const { return "s" + std::to_string(v); }
    std::string address(ValueId v) const { return "p" + std::to_string(v); }
    std::string extent(ValueId v, int axis) const;
    std::string stride(ValueId v, int axis) const;
    void fail(const std::string& why);
    void need(DType t);

    Region r_;
    graph::RegionCfg cfg_;
    graph::RegionLiveness live_;
    RegionSpread spread_;
    Uses uses_;
    CudaRegion out_;
    Lines lines_;
    std::vector<char> early_;  // by value: computed at the beginning of each launch
    bool in_nest_ = false, grows_ = false;
    bool teams_ = false;  // warps leave values for each other
    int solo_ = -1;       // of the block being printed
    // Where checks lead: to exits; to the leader's loop; they are noted; or what follows is passed over, too.
    enum class Leaving : uint8_t { Exit, Otherwise, Noted, PassedOver } leaving_ = Leaving::Exit;
    std::string otherwise_;
    int scopes_ = 0;                       // open, of what depends on noted checks
    std::set<std::pair<int, int>> exits_;  // (solo loop, exit) that code leads to
    std::vector<Resume> resumes_;
    struct Crossing {  // an edge out of a solo loop
        int solo;
        const graph::Edge* edge;
        std::vector<ValueId> values;
    };
    std::vector<Crossing> crossings_;
    int64_t saved_slots_ = 0, crossing_slots_ = 0;
};

}  // namespace stator::kernels::cuda
