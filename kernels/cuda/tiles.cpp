// Tiles: elementwise kernels of which some memory is dense along another axis than the columns, as that of a
// transposed array. A block takes a tile, `m` elements across and `n` columns. What lies across is read along
// itself into shared memory, met there along the columns, and what is stored across goes the same way back.
//
// Eight lanes side by side take a line of words, so that a warp touches four lines of both directions. A
// tile's columns are one element longer than they are high: no two lanes of a warp meet in one bank of shared
// memory, whichever way they go. Element (r, c) of a tile is at c * pitch + r.
#include <algorithm>

#include "kernels/cuda/internal.h"

namespace stator::kernels::cuda {

namespace {
std::string text(int64_t n) { return std::to_string(n); }
constexpr int kLanes = 8;
constexpr int kLines = kBlockThreads / kLanes;
}  // namespace

std::string KernelPrinter::tile_element(int i, int lane) const {
    return variable("t", i) + "[" + (lane > 0 ? "(c + " + text(lane) + ")" : "c") + " * pitch + r]";
}

// Bytes from one element of an axis to the next.
std::string KernelPrinter::step_bytes(const Access& a, int axis) {
    std::string s;
    for (const Term& t : a.axis[static_cast<size_t>(axis)])
        s += (s.empty() ? "" : " + ") + term_factor(a, t, true);
    return s.empty() ? "0" : s;
}

// Where the tile is: `begin` and `band` are its first column and its first element across.
void KernelPrinter::tile_indices() {
    const auto across = static_cast<size_t>(k_.across);
    param(CudaParamKind::Shift, 0);
    out_.line("const i64 columns = " + product(k_.columns) + ", across = " + number(k_.rows[across]) + ";");
    int all = 0;
    while (1 << all < k_.side * k_.side) ++all;
    out_.line("const u32 high = (u32)shift, wide = " + text(all) + " - high;");
    out_.line("const u32 height = 1u << high, width = 1u << wide, pitch = height + 1;");
    std::vector<Int> others;
    for (size_t a = 0; a < k_.rows.size(); ++a)
        if (a != across) others.push_back(k_.rows[a]);
    const bool single = others.empty();
    // A grid has less than 2^31 blocks, so tiles are counted in 32 bits.
    out_.line("const u32 tiles = (u32)((columns + width - 1) >> wide)" +
              std::string(single ? ";" : ", bands = (u32)((across + height - 1) >> high);"));
    out_.line(single ? "if (tiles == 0) return;" : "if (tiles == 0 || bands == 0) return;");
    out_.line("const i64 begin = (i64)(blockIdx.x % tiles) * width;");
    if (single) {
        out_.line("const i64 band = (i64)(blockIdx.x / tiles) * height;");
    } else {
        out_.line("const i64 band = (i64)(blockIdx.x / tiles % bands) * height;");
        out_.line("const i64 row = blockIdx.x / tiles / bands;");
        out_.line("if (row >= " + product(others) + ") return;");
    }
    index_.resize(k_.rows.size() + 1);
    split("row", others, 0);
    index_.insert(index_.begin() + k_.across, "band");
    index_.resize(k_.rows.size() + 1);
    out_.line("const u32 n = columns - begin < width ? (u32)(columns - begin) : width;");
    out_.line("const u32 m = across - band < height ? (u32)(across - band) : height;");
    out_.line("const u32 lane = threadIdx.x % " + text(kLanes) + ", line = threadIdx.x / " + text(kLanes) +
              ";");
}

void KernelPrinter::tiles() {
    const int columns = static_cast<int>(k_.rows.size());
    enter(k_.nests[0], columns);
    for (int i = 0; i < count(); ++i)
        if (tiled(i)) {
            std::string type(memory_type(p_.buffers[static_cast<size_t>(stmt(i).access.buffer)].dtype));
            out_.line("__shared__ " + type + " " + variable("t", i) + "[" + text(tile_room(k_.side)) + "];");
        }
    scalars();
    set_scalars();
    tile_indices();
    row_pointers();
    // Of what lies across `step` leads to the next column, of all else to the next element across.
    std::string whole = "columns % " + text(k_.vector) + " == 0",
                down = "across % " + text(k_.vector) + " == 0 && height >= " + text(kLanes * k_.vector);
    for (int i = 0; i < count(); ++i) {
        if (pointers_[static_cast<size_t>(i)].empty()) continue;
        const std::string& q = pointers_[static_cast<size_t>(i)];
        out_.line("const i64 " + variable("step", i) + " = " +
                  step_bytes(stmt(i).access, tiled(i) ? columns : k_.across) + ";");
        if (!tiled(i) && !vector_access(i)) continue;
        std::string bytes = text(word_bytes(i));
        (tiled(i) ? down : whole) +=
            " && (u64)" + q + " % " + bytes + " == 0 && " + variable("step", i) + " % " + bytes + " == 0";
    }
    if (k_.vector > 1) {
        out_.line("const bool vectors = " + whole + ";");
        out_.line("const bool vectors_across = " + down + ";");
    }
    auto each = [&](StmtKind kind, void (KernelPrinter::*print)(int)) {
        bool any = false;
        for (int i = 0; i < count(); ++i)
            if (tiled(i) && stmt(i).kind == kind) (this->*print)(i), any = true;
        return any;
    };
    if (each(StmtKind::Load, &KernelPrinter::fill_tile)) out_.line("__syncthreads();");
    tile_columns();
    if (std::any_of(nest().stmts.begin(), nest().stmts.end(),
                    [&](const Stmt& s) { return s.kind == StmtKind::Store && crosses(s.access, k_); }))
        out_.line("__syncthreads();");
    each(StmtKind::Store, &KernelPrinter::empty_tile);
}

// The first element across of column c in memory.
static std::string in_column(const std::string& type, const std::string& q, const std::string& step,
                             const std::string& c) {
    return "((" + type + "*)((" + (type.starts_with("const ") ? "const " : "") + "u8*)" + q + " + (begin + " +
           c + ") * " + step + "))";
}

void KernelPrinter::fill_tile(int i) {
    const std::string q = pointers_[static_cast<size_t>(i)], tile = variable("t", i),
                      step = variable("step", i);
    const std::string type =
        (stored(stmt(i).access.buffer) ? "" : "const ") +
        std::string(memory_type(p_.buffers[static_cast<size_t>(stmt(i).access.buffer)].dtype));
    if (k_.vector > 1) {
        out_.open("if (vectors_across)");
        // As many words at once as a thread has registers and the compiler time for.
        const int group = std::clamp(16 / k_.vector, 1, tile_steps(k_)), all = kLines * tile_steps(k_);
        auto words = [](int u) { return "x" + text(u) + "_"; };
        out_.line("#pragma unroll 1");
        out_.open("for (u32 s = line; s < " + text(all) + "; s += " + text(kLines * group) + ")");
        for (int u = 0; u < group; ++u) {
            const std::string at = "(s + " + text(kLines * u) + ")", c = "c" + text(u), r = "r" + text(u);
            out_.line("const u32 " + c + " = " + at + " & (width - 1), " + r + " = ((" + at + " >> wide) * " +
                      text(kLanes) + " + lane) * " + text(k_.vector) + ";");
            declare_words(i, words(u));
            out_.open("if (" + c + " < n && " + r + " < m)");
            move_words(i, words(u), in_column(type, q, step, c) + " + " + r, false);
            out_.close();
        }
        // What was not loaded has its place in the tile, too, where nobody reads it.
        for (int u = 0; u < group; ++u)
            for (int e = 0; e < k_.vector; ++e)
                out_.line(tile + "[c" + text(u) + " * pitch + r" + text(u) + " + " + text(e) +
                          "] = " + lane_of(i, words(u), e) + ";");
        out_.close();
        out_.close();
    }
    out_.line("#pragma unroll 4");
    out_.open("for (u32 e = threadIdx.x; " + std::string(k_.vector > 1 ? "!vectors_across && " : "") +
              "e < " + text(k_.side * k_.side) + "; e += " + text(kBlockThreads) + ")");
    out_.line("const u32 c = e >> high, r = e & (height - 1);");
    out_.line("if (c < n && r < m) " + tile + "[c * pitch + r] = " + in_column(type, q, step, "c") + "[r];");
    out_.close();
}

void KernelPrinter::empty_tile(int i) {
    const std::string q = pointers_[static_cast<size_t>(i)], tile = variable("t", i),
                      step = variable("step", i);
    const std::string type(memory_type(p_.buffers[static_cast<size_t>(stmt(i).access.buffer)].dtype));
    if (k_.vector > 1) {
        out_.open("if (vectors_across)");
        out_.line("#pragma unroll 1");
        out_.open("for (u32 s = line; s < " + text(kLines * tile_steps(k_)) + "; s += " + text(kLines) + ")");
        out_.line("const u32 c = s & (width - 1), r = ((s >> wide) * " + text(kLanes) + " + lane) * " +
                  text(k_.vector) + ";");
        out_.line("if (c >= n || r >= m) continue;");
        declare_words(i, "x");
        for (int e = 0; e < k_.vector; ++e) set_lane(i, "x", e, tile + "[c * pitch + r + " + text(e) + "]");
        move_words(i, "x", in_column(type, q, step, "c") + " + r", true);
        out_.close();
        out_.close();
    }
    out_.line("#pragma unroll 4");
    out_.open("for (u32 e = threadIdx.x; " + std::string(k_.vector > 1 ? "!vectors_across && " : "") +
              "e < " + text(k_.side * k_.side) + "; e += " + text(kBlockThreads) + ")");
    out_.line("const u32 c = e >> high, r = e & (height - 1);");
    out_.line("if (c < n && r < m) " + in_column(type, q, step, "c") + "[r] = " + tile + "[c * pitch + r];");
    out_.close();
}

// Along the columns, where everything is computed.
void KernelPrinter::tile_columns() {
    const std::vector<std::string> bands = pointers_;
    // Pointers to the line of element r.
    auto lines = [&](const std::string& r, const std::string& suffix) {
        for (int i = 0; i < count(); ++i) {
            const std::string& q = bands[static_cast<size_t>(i)];
            if (q.empty() || tiled(i)) continue;
            const std::string constness = stored(stmt(i).access.buffer) ? "" : "const ";
            const std::string type =
                constness +
                std::string(memory_type(p_.buffers[static_cast<size_t>(stmt(i).access.buffer)].dtype));
            const std::string name = variable("l", i) + suffix;
            out_.line(type + "* const " + name + " = (" + type + "*)((" + constness + "u8*)" + q + " + " + r +
                      " * " + variable("step", i) + ");");
            pointers_[static_cast<size_t>(i)] = name;
        }
    };
    index_[static_cast<size_t>(row_axes_)] = "k";
    if (k_.vector > 1) {
        out_.open("if (vectors)");
        out_.line("#pragma unroll 1");
        out_.open("for (u32 s = line; s < " + text(kLines * tile_steps(k_)) +
                  "; s += " + text(kLines * k_.unroll) + ")");
        auto words = [](int u) { return "x" + text(u) + "_"; };
        auto guard = [](int u) { return "if (r" + text(u) + " < m && c" + text(u) + " < n)"; };
        std::vector<std::vector<std::string>> pointers;
        for (int u = 0; u < k_.unroll; ++u) {
            const std::string at = "(s + " + text(kLines * u) + ")", r = "r" + text(u), c = "c" + text(u);
            out_.line("const u32 " + r + " = " + at + " & (height - 1), " + c + " = ((" + at +
                      " >> high) * " + text(kLanes) + " + lane) * " + text(k_.vector) + ";");
            lines(r, "_" + text(u));
            pointers.push_back(pointers_);
            std::vector<int> loads;
            for (int i = 0; i < count(); ++i)
                if (vector_access(i) && stmt(i).kind == StmtKind::Load) loads.push_back(i);
            for (int i : loads) declare_words(i, words(u));
            if (loads.empty()) continue;
            out_.open(guard(u));
            for (int i : loads)
                move_words(i, words(u), pointers_[static_cast<size_t>(i)] + " + begin + " + c, false);
            out_.close();
        }
        for (int u = 0; u < k_.unroll; ++u) {
            pointers_ = pointers[static_cast<size_t>(u)];
            out_.open(guard(u));
            out_.line("const u32 r = r" + text(u) + ", c = c" + text(u) + ";");
            for (int i = 0; i < count(); ++i)
                if (vector_access(i) && stmt(i).kind == StmtKind::Store) declare_words(i, words(u));
            for (int lane = 0; lane < k_.vector; ++lane) {
                out_.open("");
                if (names_column()) out_.line("const i64 k = begin + c + " + text(lane) + ";");
                body(lane, words(u));
                out_.close();
            }
            for (int i = 0; i < count(); ++i)
                if (vector_access(i) && stmt(i).kind == StmtKind::Store)
                    move_words(i, words(u), pointers_[static_cast<size_t>(i)] + " + begin + c", true);
            out_.close();
        }
        out_.close();
        out_.close();
    }
    out_.line("#pragma unroll " + text(k_.single_unroll));
    out_.open("for (u32 e = threadIdx.x; " + std::string(k_.vector > 1 ? "!vectors && " : "") + "e < " +
              text(k_.side * k_.side) + "; e += " + text(kBlockThreads) + ")");
    out_.line("const u32 c = e & (width - 1), r = e >> wide;");
    out_.line("if (c >= n || r >= m) continue;");
    lines("r", "");
    out_.line("const i64 k = begin + c;");
    body();
    out_.close();
    pointers_ = bands;
}

}  // namespace stator::kernels::cuda
