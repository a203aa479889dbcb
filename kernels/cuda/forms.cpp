// The forms of kernels; cuda/schedule.h says what each is for.
//
// Rules. Threads leave early only where no barrier follows. Barriers and shuffles are met by all threads of a
// block: one that has no row of its own works on the last row and stores nothing. Within a kernel of rows
// every column belongs to one thread, so what that thread stored it may read again without a barrier.
#include <algorithm>

#include "kernels/cuda/internal.h"

namespace stator::kernels::cuda {

namespace {
const char* const kWriter = "active && threadIdx.x == 0";
constexpr int kMeetWords = (kReduceScratch + kClusterScratch) / 16;
std::string text(int n) { return std::to_string(n); }
}  // namespace

void KernelPrinter::scalar_form() {
    enter(k_.nests[0], 0);
    row_pointers();
    for (int i = 0; i < count(); ++i) {
        const Stmt& s = stmt(i);
        if (s.kind == StmtKind::Load)
            load(i, element(i));
        else if (s.kind == StmtKind::Store)
            store(i, element(i));
        else if (s.kind == StmtKind::SetScalar)
            store(i, "*" + param(CudaParamKind::Result, s.slot));
        else
            compute(i);
    }
}

// ---- no reductions ----

// Results that are there for empty arrays, too.
void KernelPrinter::set_scalars() {
    for (int i = 0; i < count(); ++i)
        if (stmt(i).kind == StmtKind::SetScalar)
            out_.line("if (blockIdx.x == 0 && threadIdx.x == 0 && threadIdx.y == 0) *" +
                      param(CudaParamKind::Result, stmt(i).slot) + " = " +
                      names_[static_cast<size_t>(stmt(i).in[0])] + ";");
}

void KernelPrinter::elementwise() {
    enter(k_.nests[0], static_cast<int>(k_.rows.size()));
    scalars();
    set_scalars();
    out_.line("const i64 columns = " + product(k_.columns) + ";");
    out_.line("const u32 width = blockDim.x * " + text(k_.vector * k_.unroll) + ";");
    if (k_.rows.empty()) {
        out_.line("const i64 begin = (i64)blockIdx.x * width;");
    } else {
        // A grid has less than 2^31 blocks, so tiles are counted in 32 bits.
        out_.line("const u32 tiles = (u32)((u64)(columns + width - 1) / width);");
        out_.line("if (tiles == 0) return;");
        out_.line("const i64 begin = (i64)(blockIdx.x % tiles) * width;");
        out_.line("const i64 row = (i64)(blockIdx.x / tiles) * blockDim.y + threadIdx.y;");
        out_.line("if (row >= " + product(k_.rows) + ") return;");
        split("row", k_.rows, 0);
    }
    out_.line("const i64 end = begin + width < columns ? begin + width : columns;");
    row_pointers();
    index_[static_cast<size_t>(row_axes_)] = "k";
    std::string first = "begin + threadIdx.x";
    if (k_.vector > 1) {
        out_.line("i64 rest = begin;");
        out_.open("if (" + aligned_test() + ")");
        elementwise_vectors();
        out_.line("rest = end - end % " + text(k_.vector) + ";");
        out_.close();
        first = "rest + threadIdx.x";
    }
    out_.line("#pragma unroll " + text(k_.single_unroll));
    out_.open("for (i64 k = " + first + "; k < end; k += blockDim.x)");
    body();
    out_.close();
}

// ---- vectors ----

int KernelPrinter::word_bytes(int i) const {
    return std::min(kVectorBytes, k_.vector * graph::info(stmt(i).dtype).size);
}

Word KernelPrinter::word(int i) const { return {stmt(i).dtype, word_bytes(i)}; }

void KernelPrinter::declare_words(int i, const std::string& words) {
    std::string names;
    for (int w = 0; w * word_bytes(i) < k_.vector * graph::info(stmt(i).dtype).size; ++w)
        names += (w ? ", " : " ") + words + text(i) + "_" + text(w);
    out_.line(word_type(word(i), uses_) + names + ";");
}

// All words of an access between registers and memory at `pointer`.
void KernelPrinter::move_words(int i, const std::string& words, const std::string& pointer, bool store) {
    std::string type = word_type(word(i), uses_), line;
    for (int w = 0; w * word_bytes(i) < k_.vector * graph::info(stmt(i).dtype).size; ++w) {
        std::string name = words + text(i) + "_" + text(w);
        const std::string from = "((" + std::string(store ? "" : "const ") + type + "*)(" + pointer + "))";
        line += (w ? " " : "") + (store ? "put(" + from + " + " + text(w) + ", " + name + ");"
                                        : name + " = " + from + "[" + text(w) + "];");
    }
    uses_.stores_words |= store;
    out_.line(line);
}

std::string KernelPrinter::lane_of(int i, const std::string& words, int lane) const {
    const int each = word_bytes(i) / graph::info(stmt(i).dtype).size;
    return word_element(word(i), words + text(i) + "_" + text(lane / each), lane % each);
}

void KernelPrinter::set_lane(int i, const std::string& words, int lane, const std::string& value) {
    const int each = word_bytes(i) / graph::info(stmt(i).dtype).size;
    out_.line(set_word_element(word(i), words + text(i) + "_" + text(lane / each), lane % each, value));
}

void KernelPrinter::load_words(int i, const std::string& words, const std::string& at) {
    const std::string& q = pointers_[static_cast<size_t>(i)];
    if (!shifted(i)) return move_words(i, words, q + " + " + at, false);
    out_.open("if (whole_" + q + ")");
    move_words(i, words, q + " + " + at, false);
    out_.close();
    out_.open("else");
    for (int lane = 0; lane < k_.vector; ++lane)
        set_lane(i, words, lane, q + "[" + at + " + " + text(lane) + "]");
    out_.close();
}

// All loads of a thread first, so that they are in flight together.
void KernelPrinter::elementwise_vectors() {
    std::string v = text(k_.vector);
    auto words = [](int u) { return "x" + text(u) + "_"; };
    std::vector<int> loads, stores;
    for (int i = 0; i < count(); ++i)
        if (vector_access(i)) (stmt(i).kind == StmtKind::Load ? loads : stores).push_back(i);
    for (int u = 0; u < k_.unroll; ++u) {
        std::string at = "at" + text(u);
        out_.line("const i64 " + at + " = begin + ((i64)blockDim.x * " + text(u) + " + threadIdx.x) * " + v +
                  ";");
        for (int i : loads) declare_words(i, words(u));
        if (loads.empty()) continue;
        out_.open("if (" + at + " + " + v + " <= end)");
        for (int i : loads) load_words(i, words(u), at);
        out_.close();
    }
    for (int u = 0; u < k_.unroll; ++u) {
        std::string at = "at" + text(u);
        out_.open("if (" + at + " + " + v + " <= end)");
        for (int i : stores) declare_words(i, words(u));
        for (int lane = 0; lane < k_.vector; ++lane) {
            out_.open("");
            if (names_column()) out_.line("const i64 k = " + at + " + " + text(lane) + ";");
            body(lane, words(u));
            out_.close();
        }
        for (int i : stores) move_words(i, words(u), pointers_[static_cast<size_t>(i)] + " + " + at, true);
        out_.close();
    }
}

// ---- accumulators ----

std::string KernelPrinter::accumulator_type(int i) const {
    const Reduction& r = reductions_[static_cast<size_t>(i)];
    std::string t(value_type(r.accumulator));
    return r.position ? "found<" + t + ">" : t;
}

std::string KernelPrinter::combiner(int i) const {
    std::string t = accumulator_type(i);
    return "[](" + t + " a, " + t + " b) { return " + reductions_[static_cast<size_t>(i)].combine +
           "(a, b); }";
}

void KernelPrinter::accumulators() {
    for (int i = 0; i < count(); ++i)
        if (stmt(i).kind == StmtKind::Reduce || stmt(i).kind == StmtKind::ArgReduce)
            out_.line(accumulator_type(i) + " " + variable("a", i) + " = " +
                      reductions_[static_cast<size_t>(i)].start + ";");
}

void KernelPrinter::accumulate(int i) {
    const Reduction& r = reductions_[static_cast<size_t>(i)];
    int in = stmt(i).in[0];
    std::string x = convert(stmt(in).dtype, r.accumulator, names_[static_cast<size_t>(in)], uses_),
                a = variable("a", i);
    if (r.position) x = accumulator_type(i) + "{" + x + ", " + position_ + "}";
    out_.line(a + " = " + r.combine + "(" + a + ", " + x + ");");
}

// The value of reduction `i` from its finished accumulator.
void KernelPrinter::result(int i) {
    const Stmt& s = stmt(i);
    const Reduction& r = reductions_[static_cast<size_t>(i)];
    std::string a = variable("a", i);
    if (r.position) return value(i, convert(graph::DType::I64, s.dtype, a + ".at", uses_));
    if (s.start == ReduceStart::Identity && s.in.size() > 1) {
        std::string start =
            convert(stmt(s.in[1]).dtype, r.accumulator, names_[static_cast<size_t>(s.in[1])], uses_);
        a = r.combine + "(" + start + ", " + a + ")";
    }
    value(i, convert(r.accumulator, s.dtype, a, uses_));
}

// ---- rows ----

KernelPrinter::Stage* KernelPrinter::stage_of(int i) {
    if (stmt(i).kind != StmtKind::Load || !innermost(i)) return nullptr;
    for (Stage& s : stages_)
        if (*s.access == stmt(i).access) return &s;
    return nullptr;
}

void KernelPrinter::stage_pointers() {
    if (stages_.empty()) return;
    param(CudaParamKind::Staged, 0);
    std::string at = "0";
    for (const Stage& s : stages_) {
        out_.line("const i64 room_" + s.name + " = (" + (cut() ? "share" : "columns") + " * " + text(s.size) +
                  " + 15) / 16;");
        at += " + room_" + s.name;
    }
    out_.line("uint4* const stage = meet + " + text(kMeetWords) + " + threadIdx.y * (" + at + ");");
    std::string offset;
    for (const Stage& s : stages_) {
        std::string type(memory_type(p_.buffers[static_cast<size_t>(s.access->buffer)].dtype));
        out_.line(type + "* const " + s.name + " = (" + type + "*)(stage" + offset + ")" +
                  (cut() ? " - from;" : ";"));
        offset += " + room_" + s.name;
    }
}

// The loops over the columns of a row, in whole vectors where everything lies on them.
void KernelPrinter::column_loops(const Columns& c) {
    auto reduce = [&] {
        for (int i = 0; i < count(); ++i)
            if (stmt(i).kind == StmtKind::Reduce || stmt(i).kind == StmtKind::ArgReduce) accumulate(i);
    };
    std::string also = c.guard.empty() ? "" : c.guard + " && ";
    bool flat = k_.columns.size() == 1;
    if (k_.vector > 1) {
        std::string v = text(k_.vector);
        out_.open("if (vectors)");
        out_.line("#pragma unroll " + text(k_.unroll));
        out_.open("for (i64 at = " + (c.begin.empty() ? "" : c.begin + " + ") + "(" + c.first + ") * " + v +
                  "; " + also + "at < " + c.end + "; at += " + c.step + " * " + v + ")");
        for (int i = 0; i < count(); ++i) {
            if (!vector_access(i)) continue;
            declare_words(i, "x");
            if (stmt(i).kind != StmtKind::Load) continue;
            Stage* stage = stage_of(i);
            bool filled = stage && stage->filled;
            move_words(i, "x",
                       (filled ? "r_" + variable("s", i) : pointers_[static_cast<size_t>(i)]) + " + at",
                       false);
            if (!stage || filled) continue;
            out_.open("if (staged)");
            move_words(i, "x", stage->name + " + at", true);
            out_.close();
        }
        for (int lane = 0; lane < k_.vector; ++lane) {
            out_.open("");
            if (names_column()) out_.line("const i64 k = at + " + text(lane) + ";");
            body(lane, "x");
            reduce();
            out_.close();
        }
        for (int i = 0; i < count(); ++i)
            if (vector_access(i) && stmt(i).kind == StmtKind::Store)
                move_words(i, "x", pointers_[static_cast<size_t>(i)] + " + at", true);
        out_.close();
        out_.close();
    }
    out_.line("#pragma unroll " + text(k_.single_unroll));
    std::string not_vectors = k_.vector > 1 ? "!vectors && " : "";
    out_.open("for (i64 k = " + (c.begin.empty() ? "" : c.begin + " + ") + c.first + "; " + not_vectors +
              also + "k < " + c.end + "; k += " + c.step + ")");
    if (!flat) split("k", k_.columns, row_axes_);
    body();
    reduce();
    out_.close();
}

void KernelPrinter::rows() {
    int axes = static_cast<int>(k_.rows.size());
    uses_.insert(cut() ? "whole_row" : "across");
    for (const StagedOperand& s : k_.staged)
        stages_.push_back({&s.access, s.itemsize, false, "s" + text(static_cast<int>(stages_.size()))});
    out_.line(stages_.empty() ? "__shared__ uint4 meet[" + text(kMeetWords) + "];"
                              : "extern __shared__ uint4 meet[];");
    out_.line("int turn = 0;");
    out_.line("const i64 rows = " + product(k_.rows) + ", columns = " + product(k_.columns) + ";");
    if (cut()) slice("columns", k_.vector);
    stage_pointers();
    std::string block = cut() ? "(blockIdx.x / parts)" : "blockIdx.x",
                grid = cut() ? "(gridDim.x / parts)" : "gridDim.x";
    out_.open("for (i64 first = (i64)" + block + " * blockDim.y; first < rows; first += (i64)" + grid +
              " * blockDim.y)");
    out_.line("const bool active = first + threadIdx.y < rows;");
    out_.line("const i64 row = active ? first + threadIdx.y : rows - 1;");
    index_.resize(k_.rows.size() + k_.columns.size());
    split("row", k_.rows, 0);
    // Every nest's pointers, so that one test decides how all of them go over the columns.
    std::vector<std::vector<std::string>> pointers;
    for (int n : k_.nests) {
        enter(n, axes);
        row_pointers();
        pointers.push_back(pointers_);
    }
    if (k_.vector > 1)
        out_.line("const bool vectors = columns % " + text(k_.vector) + " == 0 && " + aligned_test() + ";");
    for (size_t i = 0; i < k_.nests.size(); ++i) {
        enter(k_.nests[i], axes);
        pointers_ = pointers[i];
        rows_nest();
    }
    out_.close();
    // Others may still read what this block left for them.
    if (cut()) out_.line("if (parts > 1) cluster_meet();");
}

// The part of `count` that this block takes of a row or column: [from, to), in whole vectors.
void KernelPrinter::slice(const std::string& count, int whole) {
    for (CudaParamKind kind : {CudaParamKind::Slices, CudaParamKind::Phase, CudaParamKind::Partial})
        param(kind, 0);
    std::string v = text(whole);
    out_.line("const u32 parts = (u32)slices, part = blockIdx.x % parts;");
    out_.line("const i64 share = " +
              (whole > 1
                   ? "((" + count + " + " + text(whole - 1) + ") / " + v + " + parts - 1) / parts * " + v
                   : "(" + count + " + parts - 1) / parts") +
              ";");
    out_.line("const i64 from = part * share < " + count + " ? part * share : " + count + ";");
    out_.line("const i64 to = from + share < " + count + " ? from + share : " + count + ";");
}

// Where the slices of a result leave what they found for reduction `i`.
std::string KernelPrinter::left_behind(const std::string& results, const std::string& result) {
    return "partials + (" + text(partial_++) + " * " + results + " + " + result + ") * slices * " +
           text(static_cast<int>(kReduceSlot));
}

void KernelPrinter::rows_nest() {
    scalars();
    for (int i = 0; i < count(); ++i)
        if (Stage* s = stage_of(i); s && s->filled) {
            std::string type(memory_type(stmt(i).dtype));
            out_.line("const " + type + "* const r_" + variable("s", i) + " = staged ? " + s->name + " : " +
                      pointers_[static_cast<size_t>(i)] + ";");
        }
    if (k_.columns.size() == 1) index_[static_cast<size_t>(row_axes_)] = "k";
    accumulators();
    bool reduces = nest().parallel_axes() < nest().full_depth();
    // Threads without a row compute the last one again, unless its own are writing to what is read.
    bool reads_stored = false;
    for (int i = 0; i < count(); ++i)
        reads_stored |= stmt(i).kind == StmtKind::Load && stored(stmt(i).access.buffer);
    std::string guard = reduces && !reads_stored ? "" : "active", step = text(step_);
    if (cut()) {
        out_.open("if (phase <= " + step + ")");
        column_loops({"from", "threadIdx.x", "blockDim.x", "to", guard});
        out_.close();
    } else {
        column_loops({"", "threadIdx.x", "blockDim.x", "columns", guard});
    }
    for (int i = 0; i < count(); ++i)
        if (Stage* s = stage_of(i)) s->filled = true;
    if (!reduces) return;
    for (int i = 0; i < count(); ++i)
        if (stmt(i).kind == StmtKind::Reduce || stmt(i).kind == StmtKind::ArgReduce) {
            std::string a = variable("a", i), exchange = a + ", " + combiner(i) + ", meet, turn";
            out_.line(a + " = " +
                      (cut() ? "whole_row(" + exchange + ", parts, " + left_behind("rows", "row") +
                                   ", (int)phase, " + step + ")"
                             : "across(" + exchange + ")") +
                      ";");
        }
    if (cut()) out_.line("if (phase == " + step + ") continue;");
    for (int i = 0; i < count(); ++i)
        if (stmt(i).kind == StmtKind::Reduce || stmt(i).kind == StmtKind::ArgReduce) result(i);
    ++step_;
    // Later launches of slices do this again, with the same values.
    row_statements(kWriter + (cut() ? " && part == 0" : std::string()));
}

// ---- columns ----

void KernelPrinter::columns() {
    int parallel = static_cast<int>(k_.rows.size()) + 1;
    uses_.insert("whole_column");
    enter(k_.nests[0], parallel);
    int turn = 0;
    out_.line("__shared__ uint4 meet[" + text(k_.reductions > 1 ? 2 * kBlockThreads : kBlockThreads) + "];");
    out_.line("const i64 columns = " + product(k_.columns) + ", depth = " + product(k_.depth) + ";");
    slice("depth", 1);
    out_.line("if (phase > 0 && part != 0) return;");
    out_.line("const i64 block = blockIdx.x / parts;");
    if (k_.rows.empty()) {
        out_.line("const i64 mine = block * blockDim.x + threadIdx.x;");
    } else {
        out_.line("const i64 rows = " + product(k_.rows) +
                  ", tiles = (columns + blockDim.x - 1) / blockDim.x;");
        out_.line("const i64 row = block / tiles;");
        out_.line("if (row >= rows) return;");
        out_.line("const i64 mine = block % tiles * blockDim.x + threadIdx.x;");
    }
    out_.line("const bool active = mine < columns;");
    out_.line("const i64 column = active ? mine : columns - 1;");
    split("row", k_.rows, 0);
    index_[static_cast<size_t>(parallel - 1)] = "column";
    scalars();
    row_pointers();
    accumulators();
    out_.line("#pragma unroll " + text(k_.unroll));
    out_.open("for (i64 k = from + threadIdx.y; phase <= 0 && k < to; k += blockDim.y)");
    split("k", k_.depth, parallel);
    body();
    for (int i = 0; i < count(); ++i)
        if (stmt(i).kind == StmtKind::Reduce || stmt(i).kind == StmtKind::ArgReduce) accumulate(i);
    out_.close();
    for (int i = 0; i < count(); ++i)
        if (stmt(i).kind == StmtKind::Reduce || stmt(i).kind == StmtKind::ArgReduce) {
            std::string a = variable("a", i);
            std::string half = turn++ % 2 ? "meet + " + text(kBlockThreads) : "meet";
            std::string left = k_.rows.empty() ? left_behind("columns", "column")
                                               : left_behind("rows * columns", "row * columns + column");
            out_.line(a + " = whole_column(" + a + ", " + combiner(i) + ", " + half + ", parts, " + left +
                      ", (int)phase, active);");
        }
    out_.line("if (phase == 0) return;");
    for (int i = 0; i < count(); ++i)
        if (stmt(i).kind == StmtKind::Reduce || stmt(i).kind == StmtKind::ArgReduce) result(i);
    row_statements("active && threadIdx.y == 0");
}

// ---- to a single value ----

void KernelPrinter::partial() {
    enter(k_.nests[0], 0);
    uses_.insert("across");
    param(CudaParamKind::Partial, 0);
    out_.line("__shared__ uint4 meet[" + text(kReduceScratch / 16) + "];");
    out_.line("int turn = 0;");
    out_.line("const i64 columns = " + product(k_.columns) + ", threads = (i64)gridDim.x * blockDim.x;");
    scalars();
    row_pointers();
    if (k_.columns.size() == 1) index_[0] = "k";
    if (k_.vector > 1)
        out_.line("const bool vectors = columns % " + text(k_.vector) + " == 0 && " + aligned_test() + ";");
    accumulators();
    column_loops({"", "(i64)blockIdx.x * blockDim.x + threadIdx.x", "threads", "columns", ""});
    int number = 0;
    for (int i = 0; i < count(); ++i)
        if (stmt(i).kind == StmtKind::Reduce || stmt(i).kind == StmtKind::ArgReduce) {
            std::string a = variable("a", i);
            out_.line(a + " = across(" + a + ", " + combiner(i) + ", meet, turn);");
            out_.line("if (threadIdx.x == 0) *(" + accumulator_type(i) + "*)(partials + (" + text(number++) +
                      " * (i64)gridDim.x + blockIdx.x) * " + text(kReduceSlot) + ") = " + a + ";");
        }
}

void KernelPrinter::combine() {
    enter(k_.nests[0], 0);
    uses_.insert("across");
    param(CudaParamKind::Partial, 0);
    param(CudaParamKind::Slices, 0);
    out_.line("__shared__ uint4 meet[" + text(kReduceScratch / 16) + "];");
    out_.line("int turn = 0;");
    scalars();
    row_pointers();
    accumulators();
    int number = 0;
    for (int i = 0; i < count(); ++i)
        if (stmt(i).kind == StmtKind::Reduce || stmt(i).kind == StmtKind::ArgReduce) {
            std::string a = variable("a", i), type = accumulator_type(i);
            out_.open("for (i64 k = threadIdx.x; k < slices; k += blockDim.x)");
            out_.line("const " + type + " x = *(const " + type + "*)(partials + (" + text(number++) +
                      " * slices + k) * " + text(kReduceSlot) + ");");
            out_.line(a + " = " + reductions_[static_cast<size_t>(i)].combine + "(" + a + ", x);");
            out_.close();
            out_.line(a + " = across(" + a + ", " + combiner(i) + ", meet, turn);");
            result(i);
        }
    row_statements("threadIdx.x == 0");
}

}  // namespace stator::kernels::cuda
