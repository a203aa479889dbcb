#include "kernels/cuda/schedule.h"

#include <algorithm>
#include <set>

#include "kernels/cuda/ops.h"

namespace stator::kernels {

namespace {

constexpr const char* kForms[] = {"scalar", "elementwise", "tiles", "rows", "columns", "partial", "combine"};
constexpr int64_t kInFlight = 64;      // bytes that a thread asks for before it waits, over all operands
constexpr int64_t kMostSlices = 1024;  // enough to fill every multiprocessor several times
constexpr int64_t kSliceVectors = 8;   // vectors of a thread in a slice
constexpr int64_t kMostCode = 24;      // copies of functions in one loop: more take long to compile
constexpr int64_t kMostBlocks = 0x7fffffff;
constexpr int64_t kEnoughBlocks = 128;      // of long rows: one for each multiprocessor
constexpr int64_t kHalfShared = 112 << 10;  // bytes with which two blocks fit a multiprocessor
constexpr int64_t kClusterColumns = 4096;   // at least, of a block
constexpr int64_t kFewLong = 32 << 10;      // columns of a block from which on slices pay their launches
constexpr int64_t kSliceColumns = 8 << 10;  // at least, of a slice
constexpr int64_t kSliceDepth = 32;         // at least, of a thread's part of a column's slice
constexpr int64_t kMostRowSlices = 512;
constexpr int64_t kMostRowVectors = 8;
constexpr int64_t kBusyThreads = 128 << 10;  // half of what the multiprocessors hold
constexpr int64_t kLeastRowThreads = 16;     // of a row that has so many
constexpr int64_t kTileShared = 48 << 10;    // bytes of all tiles of a block
constexpr int64_t kLeastTile = 4;            // elements across

bool accesses_memory(const Stmt& s) { return s.kind == StmtKind::Load || s.kind == StmtKind::Store; }
bool reduces(const Stmt& s) { return s.kind == StmtKind::Reduce || s.kind == StmtKind::ArgReduce; }

int64_t product(const std::vector<Int>& extents, const int64_t* syms) {
    int64_t n = 1;
    for (const Int& e : extents) n *= e.get(syms);
    return n;
}
int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t power_of_two(int64_t n) {
    int64_t p = 1;
    while (p < n) p *= 2;
    return p;
}

std::vector<Int> extents(const LoopNest& nest, int from, int to) {
    std::vector<Int> out;
    for (int a = from; a < to; ++a) out.push_back(nest.axes[static_cast<size_t>(a)].extent);
    return out;
}

// Elements of one access: as many of the smallest type as fit 16 bytes, but no more than 64 bytes of any.
int vector_width(const Program& p, const std::vector<int>& nests, int first_column) {
    int least = 0, most = 0;
    for (int i : nests) {
        const LoopNest& nest = *p.code[static_cast<size_t>(i)];
        if (nest.full_depth() != first_column + 1) return 1;
        for (const Stmt& s : nest.stmts) {
            if (!accesses_memory(s) || s.depth < nest.full_depth() ||
                movement(s.access, first_column) != Movement::Unit)
                continue;
            int size = graph::info(s.dtype).size;
            least = least ? std::min(least, size) : size;
            most = std::max(most, size);
        }
    }
    if (!least) return 1;
    return std::max(1, std::min(kVectorBytes / least, 4 * kVectorBytes / most));
}

int code_weight(const Program& p, const std::vector<int>& nests) {
    int weight = 0;
    for (int i : nests)
        for (size_t s = 0; s < p.code[static_cast<size_t>(i)]->stmts.size(); ++s)
            weight += cuda::code_weight(*p.code[static_cast<size_t>(i)], static_cast<int>(s));
    return weight;
}

// How often loops may be unrolled: `wanted` times unless that makes too many copies of functions.
void set_unroll(const Program& p, GpuKernel& k, int64_t wanted, int64_t single) {
    int weight = std::max(1, code_weight(p, k.nests));
    bool any = code_weight(p, k.nests) > 0;
    auto limit = [&](int64_t n, int64_t copies) {
        return static_cast<int>(any ? std::clamp<int64_t>(kMostCode / (weight * copies), 1, n) : n);
    };
    k.unroll = limit(wanted, k.vector);
    k.single_unroll = limit(single, 1);
    k.calls = any && weight * (k.vector * k.unroll + k.single_unroll) > kMostCode;
}

int axis_across(const LoopNest& nest);

bool along_memory(const LoopNest& nest, int axis) {
    int unit = 0, others = 0;
    for (const Stmt& s : nest.stmts) {
        if (s.kind != StmtKind::Load || s.depth < nest.full_depth()) continue;
        (movement(s.access, axis) == Movement::Unit ? unit : others) +=
            movement(s.access, axis) != Movement::None;
    }
    return unit > 0 && unit >= others;
}

Form form_of(const LoopNest& nest) {
    int parallel = nest.parallel_axes(), full = nest.full_depth();
    if (full == 0) return Form::Scalar;
    if (parallel == full) return axis_across(nest) < 0 ? Form::Elementwise : Form::Tiles;
    if (parallel == 0) return Form::Partial;
    // Reductions read along the reduced axis or, faster there, across it.
    if (!along_memory(nest, full - 1) && along_memory(nest, parallel - 1)) return Form::Columns;
    return Form::Rows;
}

// ---- which nests join a kernel of rows ----

struct Group {
    const Program& p;
    std::vector<int> nests;
    std::vector<Int> rows, columns;

    const LoopNest& nest(int i) const { return *p.code[static_cast<size_t>(i)]; }
    int row_axes() const { return static_cast<int>(rows.size()); }

    bool same_space(const LoopNest& n) const {
        if (n.full_depth() <= row_axes()) return false;
        if (n.parallel_axes() != row_axes() && n.parallel_axes() != n.full_depth()) return false;
        return extents(n, 0, row_axes()) == rows && extents(n, row_axes(), n.full_depth()) == columns;
    }

    // What the nest and those of the group exchange through memory must stay inside a row and, where it is
    // an element, with the thread that wrote it.
    bool exchanges_rows(const LoopNest& n) const {
        for (const Stmt& s : n.stmts) {
            if (s.kind == StmtKind::Scalar &&
                p.scalars[static_cast<size_t>(s.slot)].kind == ScalarKind::Result)
                return false;
            if (!accesses_memory(s)) continue;
            for (int i : nests)
                for (const Stmt& t : nest(i).stmts) {
                    bool hazard = accesses_memory(t) && t.access.buffer == s.access.buffer &&
                                  (s.kind == StmtKind::Store || t.kind == StmtKind::Store);
                    if (!hazard) continue;
                    if (!same_row(s.access, t.access, row_axes())) return false;
                    for (int a = 0; a < static_cast<int>(s.access.axis.size()) - row_axes(); ++a)
                        if (s.access.axis[static_cast<size_t>(a + row_axes())] !=
                            t.access.axis[static_cast<size_t>(a + row_axes())])
                            return false;
                }
        }
        return true;
    }
};

// Loads of whole rows that more than one nest of the kernel makes; in the order of the first ones.
std::vector<StagedOperand> staged_operands(const Program& p, const GpuKernel& k) {
    struct Seen {
        const Access* access;
        int size;
        std::set<int> nests;
    };
    std::vector<Seen> seen;
    int axis = static_cast<int>(k.rows.size());
    for (int i : k.nests)
        for (const Stmt& s : p.code[static_cast<size_t>(i)]->stmts) {
            if (s.kind != StmtKind::Load || static_cast<int>(s.access.axis.size()) <= axis ||
                movement(s.access, axis) != Movement::Unit ||
                p.buffers[static_cast<size_t>(s.access.buffer)].written)
                continue;
            auto it =
                std::find_if(seen.begin(), seen.end(), [&](const Seen& x) { return *x.access == s.access; });
            if (it == seen.end()) it = seen.insert(it, {&s.access, graph::info(s.dtype).size, {}});
            it->nests.insert(i);
        }
    std::vector<StagedOperand> staged;
    for (const Seen& s : seen)
        if (s.nests.size() > 1) staged.push_back({*s.access, s.size});
    return staged;
}

// ---- tiles ----

bool innermost_access(const LoopNest& nest, const Stmt& s) {
    return accesses_memory(s) && s.depth == nest.full_depth();
}
bool strided(const Access& a, int axis) {
    return movement(a, axis) != Movement::None && movement(a, axis) != Movement::Unit;
}

// The axis along which memory is dense that is not so along the columns; -1 without.
int axis_across(const LoopNest& nest) {
    int columns = nest.full_depth() - 1;
    for (const Stmt& s : nest.stmts) {
        if (!innermost_access(nest, s) || !strided(s.access, columns)) continue;
        for (int a = 0; a < columns; ++a)
            if (movement(s.access, a) == Movement::Unit) return a;
    }
    return -1;
}

// The side of a tile: lines of 128 bytes, and enough of them for every thread to have a few words in flight.
int tile_side(int vector) { return std::max(32, vector >= 8 ? 8 * vector : 16 * vector); }

// Vector width and side of the tiles, which have to fit into shared memory.
void shape_tiles(const LoopNest& nest, GpuKernel& k) {
    int least = kVectorBytes, most = 1, shared = 0, columns = nest.full_depth() - 1;
    for (const Stmt& s : nest.stmts) {
        if (!innermost_access(nest, s)) continue;
        int size = graph::info(s.dtype).size;
        if (crosses(s.access, k)) shared += size;
        if (!crosses(s.access, k) && movement(s.access, columns) != Movement::Unit) continue;
        least = std::min(least, size), most = std::max(most, size);
    }
    k.vector = std::max(1, std::min(kVectorBytes / least, 4 * kVectorBytes / most));
    while (k.vector > 1 && shared * tile_room(tile_side(k.vector)) > kTileShared) k.vector /= 2;
    k.side = shared * tile_room(tile_side(k.vector)) <= kTileShared ? tile_side(k.vector) : 0;
}

int count_reductions(const LoopNest& nest) {
    return static_cast<int>(std::count_if(nest.stmts.begin(), nest.stmts.end(), reduces));
}

// Whether what is done once per row may be done again by a later launch: it reads nothing that the kernel
// stores.
bool repeatable(const Program& p, const GpuKernel& k) {
    std::set<int> stored;
    for (int i : k.nests)
        for (const Stmt& s : p.code[static_cast<size_t>(i)]->stmts)
            if (s.kind == StmtKind::Store) stored.insert(s.access.buffer);
    for (int i : k.nests) {
        const LoopNest& nest = *p.code[static_cast<size_t>(i)];
        for (const Stmt& s : nest.stmts)
            if (s.kind == StmtKind::Load && s.depth < nest.full_depth() && stored.count(s.access.buffer))
                return false;
    }
    return true;
}

GpuKernel rows_kernel(const Program& p, int& next) {
    const LoopNest& first = *p.code[static_cast<size_t>(next)];
    int parallel = first.parallel_axes();
    Group group{p, {next}, extents(first, 0, parallel), extents(first, parallel, first.full_depth())};
    int count = static_cast<int>(p.code.size());
    while (++next < count && group.same_space(*p.code[static_cast<size_t>(next)]) &&
           group.exchanges_rows(*p.code[static_cast<size_t>(next)]))
        group.nests.push_back(next);
    GpuKernel k{Form::Rows, group.nests, group.rows, group.columns, {}};
    k.vector = vector_width(p, k.nests, parallel);
    set_unroll(p, k, 4, 4);
    if (k.columns.size() == 1) k.staged = staged_operands(p, k);
    for (int i : k.nests) k.reductions += count_reductions(*p.code[static_cast<size_t>(i)]);
    if (repeatable(p, k))
        for (int i : k.nests) k.phases += count_reductions(*p.code[static_cast<size_t>(i)]) > 0;
    return k;
}

int unit_bytes(const LoopNest& nest, int axis, int vector) {
    int bytes = 0;
    for (const Stmt& s : nest.stmts)
        if (s.kind == StmtKind::Load && s.depth == nest.full_depth() &&
            movement(s.access, axis) == Movement::Unit)
            bytes += vector * graph::info(s.dtype).size;
    return bytes;
}

GpuKernel single_kernel(const Program& p, int i, Form form) {
    const LoopNest& nest = *p.code[static_cast<size_t>(i)];
    int parallel = nest.parallel_axes(), full = nest.full_depth();
    GpuKernel k{form, {i}, {}, {}, {}};
    switch (form) {
        case Form::Elementwise: {
            k.rows = extents(nest, 0, full - 1), k.columns = extents(nest, full - 1, full);
            k.vector = vector_width(p, k.nests, full - 1);
            int bytes = std::max(kVectorBytes / 2, unit_bytes(nest, full - 1, k.vector));
            set_unroll(p, k, std::clamp<int64_t>(kInFlight / bytes, 1, 4), 4);
            break;
        }
        case Form::Tiles: {
            k.rows = extents(nest, 0, full - 1), k.columns = extents(nest, full - 1, full);
            k.across = axis_across(nest);
            shape_tiles(nest, k);
            if (!k.side) return single_kernel(p, i, Form::Elementwise);
            // What goes through shared memory was in flight before.
            bool loads = unit_bytes(nest, full - 1, k.vector) > 0;
            set_unroll(p, k, loads ? std::clamp(kVectorBytes / 2 / k.vector, 1, tile_steps(k)) : 1, 4);
            while (tile_steps(k) % k.unroll) --k.unroll;
            break;
        }
        case Form::Columns:
            k.rows = extents(nest, 0, parallel - 1), k.columns = extents(nest, parallel - 1, parallel);
            k.depth = extents(nest, parallel, full);
            set_unroll(p, k, 4, 4);
            k.phases = 2;
            break;
        case Form::Partial:
            k.columns = extents(nest, 0, full);
            k.phases = 2;
            k.vector = vector_width(p, k.nests, 0);
            set_unroll(p, k, 4, 4);
            break;
        default: break;
    }
    k.reductions = count_reductions(nest);
    return k;
}

// Threads side by side that share one row, and rows in a block.
void shape_block(Launch& l, int64_t wanted, int64_t rows, int64_t most, int64_t threads) {
    int64_t x = std::clamp<int64_t>(power_of_two(wanted), 1, most);
    int64_t y = std::clamp<int64_t>(power_of_two(rows), 1, std::max<int64_t>(1, threads / x));
    l.block[0] = static_cast<uint32_t>(x), l.block[1] = static_cast<uint32_t>(y);
}

uint32_t blocks(int64_t n) { return static_cast<uint32_t>(std::clamp<int64_t>(n, 1, kMostBlocks)); }

// The columns of each of so many slices; whole vectors.
int64_t slice_columns(const GpuKernel& k, int64_t columns, int64_t slices) {
    return ceil_div(ceil_div(columns, k.vector), slices) * k.vector;
}
int64_t staged_bytes(const GpuKernel& k, int64_t columns) {
    int64_t bytes = 0;
    for (const StagedOperand& s : k.staged)
        bytes += ceil_div(columns * s.itemsize, kVectorBytes) * kVectorBytes;
    return bytes;
}

// One of the launches of a kernel that is cut into slices.
void cut(Launch& l, const GpuKernel& k, int64_t slices, int64_t results) {
    l.slices = slices;
    l.phase = k.phase;
    l.partial_bytes = results * slices * kReduceSlot * k.reductions;
}

// How many blocks share a row: those of a cluster while that lets more of them work or more fit into shared
// memory, or slices where even that leaves the device idle.
void share_rows(Launch& l, const GpuKernel& k, const GpuLimits& limits, int64_t rows, int64_t columns) {
    if (k.phases == 1 || rows == 0) return;
    int64_t most = limits.cluster;
    auto crowded = [&](int64_t n) {
        return rows * n < kEnoughBlocks ||
               kReduceScratch + staged_bytes(k, slice_columns(k, columns, n)) > kHalfShared;
    };
    while (l.cluster < most && crowded(l.cluster) &&
           columns / (2 * l.cluster) >= kClusterColumns / limits.grain)
        l.cluster *= 2;
    l.slices = l.cluster;
    if (rows * l.slices >= kEnoughBlocks || slice_columns(k, columns, l.slices) < kFewLong / limits.grain)
        return;
    int64_t slices =
        std::min(ceil_div(4 * kEnoughBlocks, rows), ceil_div(columns, kSliceColumns / limits.grain));
    l.cluster = 1;
    cut(l, k, std::clamp<int64_t>(slices, 2, kMostRowSlices), rows);
}

// How many vectors of a row a thread takes. Where there is enough to do for all multiprocessors, more of them
// hide the time that combining takes, which grows with the threads of a row (measured on an H200, 256 MB:
// softmax of rows of 256, 1024 and 4096 floats takes .73, .56 and .32 of the time that it takes with two,
// sums of 8192 .56).
int64_t row_vectors(int64_t vectors, int64_t rows, const GpuLimits& limits) {
    if (limits.grain > 1) return kMostRowVectors;
    return std::clamp<int64_t>(rows * vectors / kBusyThreads, 2, kMostRowVectors);
}

void plan_rows(Launch& l, const GpuKernel& k, const GpuLimits& limits, int64_t rows, int64_t columns) {
    const int64_t vectors = ceil_div(columns, k.vector);
    const int64_t wanted = std::max(ceil_div(vectors, row_vectors(vectors, rows, limits)),
                                    std::min(ceil_div(vectors, 2), kLeastRowThreads));
    shape_block(l, wanted, rows, kRowThreads, kBlockThreads);
    // Whole warps: lanes exchange values.
    while (l.block[0] * l.block[1] < 32) l.block[1] *= 2;
    if (l.block[1] == 1) share_rows(l, k, limits, rows, columns);
    if (!k.staged.empty()) {
        const int64_t scratch = kReduceScratch + kClusterScratch;
        int64_t all = scratch + staged_bytes(k, slice_columns(k, columns, l.slices)) * l.block[1];
        // A launch of its own for each reduction has nothing to keep.
        l.staged = all <= limits.shared && l.phase == Launch::kAllPhases;
        l.shared_bytes = l.staged ? all : scratch;
    }
    l.grid[0] = blocks(std::min(ceil_div(rows, l.block[1]), kMostBlocks / l.slices) * l.slices);
}

// Where few elements lie across, tiles are longer the other way.
void plan_tiles(Launch& l, const GpuKernel& k, const int64_t* syms, int64_t columns) {
    int64_t across = k.rows[static_cast<size_t>(k.across)].get(syms);
    int64_t height = std::clamp<int64_t>(power_of_two(across), kLeastTile, k.side);
    while (int64_t{1} << l.tile_shift < height) ++l.tile_shift;
    int64_t rows = across == 0 ? 0 : product(k.rows, syms) / across;
    l.block[0] = kBlockThreads;
    l.grid[0] =
        blocks(ceil_div(columns, int64_t{k.side} * k.side / height) * ceil_div(across, height) * rows);
}

void plan_columns(Launch& l, const GpuKernel& k, const GpuLimits& limits, int64_t rows, int64_t columns,
                  int64_t depth) {
    l.block[0] = static_cast<uint32_t>(std::clamp<int64_t>(power_of_two(columns), 1, 32));
    l.block[1] = kBlockThreads / l.block[0];
    int64_t tiles = rows * ceil_div(columns, l.block[0]);
    int64_t slices = std::min(ceil_div(2 * kEnoughBlocks, std::max<int64_t>(tiles, 1)),
                              depth / (std::max<int64_t>(kSliceDepth / limits.grain, 1) * l.block[1]));
    if (slices > 1) cut(l, k, slices, rows * columns);
    l.grid[0] = blocks(tiles * l.slices);
}

}  // namespace

bool crosses(const Access& a, const GpuKernel& k) {
    return strided(a, static_cast<int>(k.rows.size())) && movement(a, k.across) == Movement::Unit;
}
int64_t tile_room(int side) { return int64_t{side} * side * (kLeastTile + 1) / kLeastTile; }
int tile_steps(const GpuKernel& k) { return k.side * k.side / (k.vector * kBlockThreads); }

const char* form_name(Form f) { return kForms[static_cast<size_t>(f)]; }

Movement movement(const Access& a, int axis) {
    if (axis >= static_cast<int>(a.axis.size())) return Movement::None;
    const auto& terms = a.axis[static_cast<size_t>(axis)];
    if (terms.empty()) return Movement::None;
    bool dense = std::all_of(terms.begin(), terms.end(), [](const Term& t) { return t.dim == kDense; });
    if (dense && terms.size() == 1 && terms[0].factor.is(1)) return Movement::Unit;
    return dense ? Movement::Dense : Movement::Bytes;
}

bool same_row(const Access& a, const Access& b, int row_axes) {
    if (a.offset != b.offset) return false;
    for (int k = 0; k < row_axes; ++k)
        if (a.axis[static_cast<size_t>(k)] != b.axis[static_cast<size_t>(k)]) return false;
    return true;
}

std::vector<char> behind_reductions(const LoopNest& nest) {
    std::vector<char> behind(nest.stmts.size(), 0);
    for (size_t i = 0; i < behind.size(); ++i) {
        if (reduces(nest.stmts[i])) behind[i] = 1;
        for (int in : nest.stmts[i].in) behind[i] |= behind[static_cast<size_t>(in)];
        // Loads per row belong to what follows the reduction; inside it they are read where they are used.
        if (nest.stmts[i].kind == StmtKind::Load && nest.stmts[i].depth < nest.full_depth()) behind[i] = 1;
    }
    return behind;
}

std::vector<GpuKernel> schedule_gpu(const Program& p) {
    std::vector<GpuKernel> out;
    for (int i = 0; i < static_cast<int>(p.code.size());) {
        Form form = form_of(*p.code[static_cast<size_t>(i)]);
        out.push_back(form == Form::Rows ? rows_kernel(p, i) : single_kernel(p, i++, form));
        for (int phase = 1; phase < out.back().phases; ++phase) {
            GpuKernel next = out.back();
            next.phase = phase;
            if (form == Form::Partial) next.form = Form::Combine;
            out.push_back(next);
        }
    }
    return out;
}

Launch plan_launch(const GpuKernel& k, const int64_t* syms, const GpuLimits& limits) {
    Launch l;
    int64_t rows = product(k.rows, syms), columns = product(k.columns, syms);
    switch (k.form) {
        case Form::Scalar: break;
        case Form::Elementwise: {
            shape_block(l, ceil_div(columns, k.vector), rows, kBlockThreads, kBlockThreads);
            int64_t tiles = ceil_div(columns, int64_t{l.block[0]} * k.vector * k.unroll);
            l.grid[0] = blocks(tiles * ceil_div(rows, l.block[1]));
            break;
        }
        case Form::Tiles: plan_tiles(l, k, syms, columns); break;
        case Form::Rows: plan_rows(l, k, limits, rows, columns); break;
        case Form::Columns: plan_columns(l, k, limits, rows, columns, product(k.depth, syms)); break;
        case Form::Partial:
        case Form::Combine: {
            int64_t slice = int64_t{kBlockThreads} * k.vector * kSliceVectors;
            l.slices = std::clamp<int64_t>(ceil_div(columns, slice), 1, kMostSlices);
            l.partial_bytes = l.slices * kReduceSlot * k.reductions;
            l.block[0] = kBlockThreads;
            if (k.form == Form::Partial) l.grid[0] = blocks(l.slices);
            break;
        }
    }
    if (k.phase > 0 && k.form != Form::Combine && l.phase == Launch::kAllPhases) l.grid[0] = 0;
    return l;
}

}  // namespace stator::kernels
