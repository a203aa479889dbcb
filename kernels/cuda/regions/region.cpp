// The CUDA printer of regions: the kernel's frame, blocks, and the ways out of it.
//
// Blocks are labels in reverse postorder, edges assignments and a `goto`; where the next block follows there
// is none. All values are variables of the function, so that a launch can go on in the middle: it computes
// what the entry block says again, loads what else is needed and jumps there.
#include "graph/region/passes.h"
#include "kernels/cuda/regions/internal.h"

#include <algorithm>
#include <iterator>

namespace stator::kernels {

CudaRegion emit_cuda_region(const graph::Region& region, const std::string& name) {
    graph::Region r = region;
    // No copies of loops without checks (hoist_checks): checks are cheap here, code is dear to compile.
    graph::simplify(r);
    graph::hoist_to_entry(r);
    return cuda::RegionPrinter(r, name).print();
}

std::string region_kernel_name(const std::string& region) {
    std::string s = region + "_region";
    for (char& c : s)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return std::isdigit(static_cast<unsigned char>(s[0])) ? "k_" + s : s;
}

namespace cuda {

namespace {

std::string text(int64_t n) { return std::to_string(n); }

// What is computed anew by each launch: nothing of it can fail or look at memory.
bool is_total(RegionOp op) {
    return op == RegionOp::Const || op == RegionOp::Extent || op == RegionOp::Pointwise ||
           op == RegionOp::Fma || op == RegionOp::View || op == RegionOp::Flatten ||
           op == RegionOp::Reshape || op == RegionOp::Part;
}

constexpr size_t kMostParameters = 500;  // 8 bytes each, of 4 KB

constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

RegionPrinter::RegionPrinter(const Region& r, const std::string& name)
    : r_(r), cfg_(graph::region_cfg(r_)), live_(r_, cfg_), spread_(r_, cfg_) {
    out_.name = name;
    uses_.insert("region");
    early_.assign(r_.types.size(), 0);
}

void RegionPrinter::fail(const std::string& why) {
    if (out_.error.empty()) out_.error = why;
}

// ---- values ----

std::string RegionPrinter::extent(ValueId v, int axis) const { return "n" + text(v) + "_" + text(axis); }
std::string RegionPrinter::stride(ValueId v, int axis) const { return "t" + text(v) + "_" + text(axis); }

std::vector<RegionPrinter::Part> RegionPrinter::parts(ValueId v) const {
    const RegionType t = type(v);
    if (!t.is_array())
        return {{scalar(v), std::string(value_type(t.dtype)), std::string(memory_type(t.dtype))}};
    std::vector<Part> all{{address(v), "u8*", "u64"}};
    for (int d = 0; d < t.rank; ++d) all.push_back({extent(v, d), "i64", "i64"});
    for (int d = 0; d < t.rank; ++d) all.push_back({stride(v, d), "i64", "i64"});
    return all;
}

int RegionPrinter::slots(const std::vector<ValueId>& values) const {
    int n = 0;
    for (const ValueId v : values) n += slots(type(v));
    return n;
}

void RegionPrinter::need(DType t) {
    if (t == DType::F16) uses_.insert("f16");
    if (graph::is_complex(t)) uses_.insert("complex");
    if (t == DType::BF16) fail("values of " + std::string(graph::info(t).text));
}

void RegionPrinter::store_values(Lines& to, const std::vector<ValueId>& values,
                                 const std::string& base) const {
    int64_t at = 0;
    for (const ValueId v : values)
        for (const Part& p : parts(v)) {
            const bool converts = p.type == "u8*";
            to.line("*(" + p.memory + "*)(" + base + " + " + text(at) + ") = " + (converts ? "(u64)" : "") +
                    p.name + ";");
            at += kRegionSlot;
        }
}

void RegionPrinter::load_values(Lines& to, const std::vector<ValueId>& values,
                                const std::string& base) const {
    int64_t at = 0;
    for (const ValueId v : values)
        for (const Part& p : parts(v)) {
            const std::string from = "*(" + p.memory + "*)(" + base + " + " + text(at) + ")";
            to.line(p.name + " = " +
                    (p.type == "u8*"    ? "(u8*)" + from
                     : p.type == "bool" ? from + " != 0"
                                        : from) +
                    ";");
            at += kRegionSlot;
        }
}

// ---- frame ----

CudaRegion RegionPrinter::print() {
    for (const RegionType& t : r_.types) need(t.dtype);
    for (const graph::RegionInput& in : r_.inputs)
        if (type(in.value).is_array()) out_.parameters.push_back(in.source);
    out_.arrays = static_cast<int>(out_.parameters.size());
    out_.cells = graph::scratch_cells(r_);
    for (int k = 0; k < out_.cells; ++k) out_.parameters.push_back("cell " + text(k));
    out_.parameters.emplace_back("state");
    if (out_.parameters.size() > kMostParameters) fail("so many arrays");
    Lines start;
    begin(start);
    for (size_t k = 0; k < cfg_.order.size(); ++k)
        block(cfg_.order[k], k + 1 < cfg_.order.size() ? cfg_.order[k + 1] : -1);
    std::vector<int> solos;
    for (const BlockId b : cfg_.order)
        if (const int s = spread_.solo(b); s >= 0 && std::find(solos.begin(), solos.end(), s) == solos.end())
            solos.push_back(s);
    for (const int s : solos) join(s);
    // Pauses lead to exits, which are found while they are printed.
    for (size_t k = 0; k < resumes_.size(); ++k)
        if (resumes_[k].exit >= 0) pause_code(static_cast<int>(k), resumes_[k].exit);
    exit_code();
    if (grows_) growing();
    const std::string frame = head();
    Lines way_in;
    dispatch(way_in);
    out_.text = prelude(uses_) + "\n" + frame + start.text + way_in.text + lines_.text + "}\n";
    return std::move(out_);
}

// The signature and where things lie in the state; the rest is printed by then.
std::string RegionPrinter::head() {
    size_t most = 0;
    int64_t dims = 0, scalars = 0;
    for (const graph::RegionExit& x : r_.exits) most = std::max(most, static_cast<size_t>(slots(x.values)));
    std::string parameters;
    for (int k = 0; k < out_.arrays; ++k) parameters += "u8* a" + text(k) + ", ";
    for (int k = 0; k < out_.cells; ++k) parameters += "u8* c" + text(k) + ", ";
    for (const graph::RegionInput& in : r_.inputs)
        (type(in.value).is_array() ? dims : scalars) +=
            type(in.value).is_array() ? 2 * type(in.value).rank : 1;
    out_.cell_table = round_up(sizeof(RegionControl), kRegionSlot);
    out_.out = out_.cell_table + out_.cells * static_cast<int64_t>(sizeof(RegionCell));
    out_.dims = out_.out + static_cast<int64_t>(most) * kRegionSlot;
    out_.scalars = out_.dims + round_up(dims * 8, kRegionSlot);
    const int64_t saved = out_.scalars + scalars * kRegionSlot;
    const int64_t crossing = saved + saved_slots_ * kRegionSlot;
    const int64_t crossing_bytes = (crossing_slots_ + 1) * kRegionSlot;
    const int64_t teams = crossing + 2 * crossing_bytes;
    const int64_t team_bytes = int64_t{kRegionTeams} * kRegionSlot;
    out_.bytes = teams + (teams_ ? 2 * team_bytes : 0);

    Lines h;
    h.text = "extern \"C\" __global__ void __launch_bounds__(" + text(kRegionThreads) + ") " + out_.name +
             "(" + parameters + "u8* state) {\n";
    h.line("control* const ctl = (control*)state;");
    h.line("const bool leader = blockIdx.x == 0 && threadIdx.x == 0;");
    h.line("u8 *const cells = state + " + text(out_.cell_table) + ", *const out = state + " + text(out_.out) +
           ", *const saved = state + " + text(saved) + ";");
    h.line("u8 *cross = state + " + text(crossing) + ", *other = cross + " + text(crossing_bytes) + ";");
    if (teams_) {
        h.line("u8 *left_by = state + " + text(teams) + ", *left_next = left_by + " + text(team_bytes) + ";");
        h.line("const i64 teams = teams_of(" + text(kRegionTeams) +
               "), team = team_number(), lane = threadIdx.x % 32;");
    }
    h.line("const u64 begun = nanoseconds();");
    h.line("i64 left = 1, seen = 1, own_left = 1, own_seen = 1, room = 0;");
    h.line("i32 exit = -1, cell = -1, status = " + text(RegionControl::Left) + ";");
    h.line("u32 bad = 0, turn = 0;");
    h.line("u8* memory = nullptr;");
    h.line("i64 has = 0;");
    for (int k = 0; k < out_.cells; ++k)
        h.line("i64 k" + text(k) + " = *(i64*)(cells + " + text(16 * k + 8) + ");");
    declare(h);
    return h.text;
}

void RegionPrinter::declare(Lines& to) const {
    const auto variable = [&](ValueId v) {
        for (const Part& p : parts(v)) to.line(p.type + " " + p.name + ";");
    };
    for (const graph::RegionInput& in : r_.inputs) variable(in.value);
    for (const BlockId b : cfg_.order) {
        for (const ValueId p : r_.blocks[static_cast<size_t>(b)].params) variable(p);
        for (const Inst& i : r_.blocks[static_cast<size_t>(b)].insts)
            if (i.result >= 0) variable(i.result);
    }
    to.line(
        "(void)left, (void)seen, (void)own_left, (void)own_seen, (void)room, (void)bad, (void)turn, "
        "(void)other, (void)cell, (void)memory, (void)has;");
    inputs(to);
}

void RegionPrinter::inputs(Lines& to) const {
    int arrays = 0;
    int64_t dim = out_.dims, scalars = out_.scalars;
    for (const graph::RegionInput& in : r_.inputs) {
        const RegionType t = type(in.value);
        if (!t.is_array()) {
            load_values(to, {in.value}, "state + " + text(scalars));
            scalars += kRegionSlot;
            continue;
        }
        to.line(address(in.value) + " = a" + text(arrays++) + ";");
        const auto number = [&](int64_t k) { return "*(i64*)(state + " + text(dim + 8 * k) + ")"; };
        for (int d = 0; d < t.rank; ++d) to.line(extent(in.value, d) + " = " + number(d) + ";");
        // Strides of contiguous arrays are computed: the compiler sees how they relate to extents.
        std::string dense = text(graph::info(t.dtype).size);
        for (int d = t.rank; d-- > 0;) {
            to.line(stride(in.value, d) + " = " + (in.contiguous ? dense : number(t.rank + d)) + ";");
            dense = stride(in.value, d) + " * " + extent(in.value, d);
        }
        dim += 16 * t.rank;
    }
}

// What of the entry block any launch can compute.
void RegionPrinter::begin(Lines& to) {
    for (const graph::RegionInput& in : r_.inputs) early_[static_cast<size_t>(in.value)] = 1;
    std::swap(lines_, to);
    const auto& insts = r_.blocks[0].insts;
    for (size_t k = 0; k < insts.size(); ++k) {
        const Inst& i = insts[k];
        const bool known = std::all_of(i.in.begin(), i.in.end(),
                                       [&](ValueId v) { return early_[static_cast<size_t>(v)] != 0; });
        if (!is_total(i.op) || !known) continue;
        inst(0, k);
        early_[static_cast<size_t>(i.result)] = 1;
    }
    known_rooms();
    std::swap(lines_, to);
}

bool RegionPrinter::is_known_early(const Inst& scratch) const {
    return std::all_of(scratch.in.begin(), scratch.in.begin() + type(scratch.result).rank,
                       [&](ValueId v) { return early_[static_cast<size_t>(v)] != 0; });
}

// Memory whose extents are known at the beginning is asked for there, all of it at once.
void RegionPrinter::known_rooms() {
    bool any = false;
    for (const BlockId b : cfg_.order)
        for (const Inst& i : r_.blocks[static_cast<size_t>(b)].insts) {
            if (i.op != RegionOp::Scratch || !is_known_early(i)) continue;
            std::string room = text(graph::info(type(i.result).dtype).size);
            for (int d = 0; d < type(i.result).rank; ++d)
                room = "room_for(" + room + ", " + scalar(i.in[static_cast<size_t>(d)]) + ")";
            lines_.line("room = " + room + ";");
            for (int64_t cell = i.ints[0]; cell < i.ints[0] + (i.ints.size() > 1 ? i.ints[1] : 1); ++cell)
                lines_.line("if (k" + text(cell) + " < room) k" + text(cell) +
                            " = room, status = " + text(RegionControl::Grow) + ";");
            any = true;
        }
    if (!any) return;
    lines_.open("if (status == " + text(RegionControl::Grow) + ")");
    lines_.line("grid_meet(ctl);");
    lines_.open("if (leader)");
    for (int k = 0; k < out_.cells; ++k)
        lines_.line("*(i64*)(cells + " + text(16 * k + 8) + ") = k" + text(k) + ";");
    lines_.line("ctl->cell = -1, ctl->status = status;");
    lines_.close();
    lines_.line("return;");
    lines_.close();
}

// All threads have read the state before one of them writes to it.
void RegionPrinter::dispatch(Lines& to) const {
    to.open("switch (ctl->resume)");
    for (size_t k = 0; k < resumes_.size(); ++k) {
        to.line("case " + text(static_cast<int64_t>(k) + 1) + ":");
        load_values(to, resumes_[k].live, "saved");
        to.line("grid_meet(ctl);");
        if (resumes_[k].solo >= 0) to.line("if (!leader) goto o" + text(resumes_[k].solo) + ";");
        to.line("goto r" + text(static_cast<int64_t>(k)) + ";");
    }
    to.line("default: grid_meet(ctl);");
    to.close();
}

// ---- blocks and edges ----

void RegionPrinter::block(BlockId b, BlockId next) {
    const graph::Block& block = r_.blocks[static_cast<size_t>(b)];
    solo_ = spread_.solo(b);
    if (solo_ >= 0 && r_.loops[static_cast<size_t>(solo_)].header == b) {
        lines_.line("i" + text(solo_) + ":;");
        if (spread_.meets_before_solo(solo_)) lines_.line("grid_meet(ctl);");
        grid(solo_);
        lines_.line("if (!leader) goto o" + text(solo_) + ";");
    }
    lines_.line(label(b) + ":;");
    for (size_t k = 0; k < block.insts.size(); ++k) {
        const Inst& i = block.insts[k];
        if (b == 0 && i.result >= 0 && early_[static_cast<size_t>(i.result)]) continue;
        if (solo_ < 0 && spread_.meets_before(b, k)) lines_.line("grid_meet(ctl);");
        inst(b, k);
    }
    terminator(b, next);
}

void RegionPrinter::terminator(BlockId b, BlockId next) {
    const graph::Terminator& end = r_.blocks[static_cast<size_t>(b)].end;
    switch (end.kind) {
        case graph::Terminator::Leave: lines_.line("goto " + exit_label(end.exit) + ";"); break;
        case graph::Terminator::Jump: follow(end.then, next); break;
        case graph::Terminator::Branch:
            lines_.open("if (" + scalar(end.cond) + ")");
            follow(end.then, -1);
            lines_.close();
            follow(end.other, next);
            break;
    }
}

void RegionPrinter::follow(const graph::Edge& e, BlockId next) {
    const int to = spread_.solo(e.to);
    if (solo_ >= 0 && to != solo_) return cross(e);
    copy(r_.blocks[static_cast<size_t>(e.to)].params, e.args);
    if (to != solo_)
        lines_.line("goto i" + text(to) + ";");
    else if (e.to != next)
        lines_.line("goto " + label(e.to) + ";");
}

// The leader leaves its loop: what the others need lies in the state.
void RegionPrinter::cross(const graph::Edge& e) {
    Crossing c{solo_, &e, e.args};
    const std::vector<char>& live = live_.at_begin(e.to);
    for (const BlockId b : cfg_.order) {
        if (spread_.solo(b) != solo_) continue;
        const auto add = [&](ValueId v) {
            if (v >= 0 && live[static_cast<size_t>(v)] &&
                std::find(c.values.begin(), c.values.end(), v) == c.values.end())
                c.values.push_back(v);
        };
        for (const ValueId p : r_.blocks[static_cast<size_t>(b)].params) add(p);
        for (const Inst& i : r_.blocks[static_cast<size_t>(b)].insts) add(i.result);
    }
    store_values(lines_, c.values, "cross + 16");
    lines_.line("*(i32*)cross = " + text(static_cast<int64_t>(crossings_.size())) + ";");
    lines_.line("goto o" + text(solo_) + ";");
    crossing_slots_ = std::max<int64_t>(crossing_slots_, slots(c.values));
    crossings_.push_back(std::move(c));
}

// Where all threads meet behind a loop of the leader's. Two areas take turns: some may still read one when
// the leader is in the next loop.
void RegionPrinter::join(int solo) {
    solo_ = -1;
    lines_.line("o" + text(solo) + ":;");
    lines_.line("grid_meet(ctl);");
    lines_.line("{ u8* const was = cross; cross = other, other = was; }");
    lines_.open("switch (*(i32*)other)");
    for (size_t k = 0; k < crossings_.size(); ++k) {
        if (crossings_[k].solo != solo) continue;
        lines_.line("case " + text(static_cast<int64_t>(k)) + ":");
        load_values(lines_, crossings_[k].values, "other + 16");
        follow(*crossings_[k].edge, -1);
    }
    lines_.line("default: return;");
    lines_.close();
}

// All parameters get their values at once.
void RegionPrinter::copy(const std::vector<ValueId>& to, const std::vector<ValueId>& from) {
    bool crosses = false;
    for (size_t k = 0; k < to.size(); ++k)
        crosses |= from[k] != to[k] && std::find(to.begin(), to.end(), from[k]) != to.end();
    std::vector<std::string> assignments;
    if (crosses) lines_.open("");
    for (size_t k = 0; k < to.size(); ++k) {
        if (to[k] == from[k]) continue;
        const std::vector<Part> a = parts(to[k]), b = parts(from[k]);
        for (size_t p = 0; p < a.size(); ++p) {
            if (crosses) lines_.line("const auto x" + a[p].name + " = " + b[p].name + ";");
            assignments.push_back(a[p].name + " = " + (crosses ? "x" + a[p].name : b[p].name) + ";");
        }
    }
    for (const std::string& s : assignments) lines_.line(s);
    if (crosses) lines_.close();
}

// ---- ways out ----

std::string RegionPrinter::exit_label(int exit) {
    exits_.insert({solo_, exit});
    return "x" + text(exit) + (solo_ < 0 ? "" : "_" + text(solo_));
}

std::vector<std::string> RegionPrinter::exit_stores(int exit) const {
    Lines l;
    store_values(l, r_.exits[static_cast<size_t>(exit)].values, "out");
    std::vector<std::string> all;
    for (size_t at = 0; at < l.text.size();) {
        const size_t end = l.text.find('\n', at);
        all.push_back(
            l.text.substr(l.text.find_first_not_of(' ', at), end - l.text.find_first_not_of(' ', at)));
        at = end + 1;
    }
    std::sort(all.begin(), all.end());
    return all;
}

// Neighbouring exits list mostly the same values: what all of a group store is stored in one place.
void RegionPrinter::exit_code() {
    const std::vector<std::pair<int, int>> used(exits_.begin(), exits_.end());
    for (size_t first = 0; first < used.size();) {
        std::vector<std::string> common = exit_stores(used[first].second);
        size_t end = first + 1;
        for (; end < used.size() && used[end].first == used[first].first; ++end) {
            const std::vector<std::string> next = exit_stores(used[end].second);
            std::vector<std::string> both;
            std::set_intersection(common.begin(), common.end(), next.begin(), next.end(),
                                  std::back_inserter(both));
            if (2 * both.size() < std::max(common.size(), next.size())) break;
            common = std::move(both);
        }
        exit_group({used.begin() + static_cast<ptrdiff_t>(first), used.begin() + static_cast<ptrdiff_t>(end)},
                   common);
        first = end;
    }
}

void RegionPrinter::exit_group(const std::vector<std::pair<int, int>>& group,
                               const std::vector<std::string>& common) {
    const int solo = group[0].first;
    const std::string end = "y" + text(group[0].second) + (solo < 0 ? "" : "_" + text(solo));
    for (const auto& [_, exit] : group) {
        const std::vector<std::string> all = exit_stores(exit);
        std::vector<std::string> own;
        std::set_difference(all.begin(), all.end(), common.begin(), common.end(), std::back_inserter(own));
        const int returns = r_.exits[static_cast<size_t>(exit)].returns;
        lines_.line("x" + text(exit) + (solo < 0 ? "" : "_" + text(solo)) + ":;");
        lines_.line("exit = " + text(returns < 0 ? exit : returns) + ";");
        if (!own.empty()) {
            lines_.open("if (leader)");
            for (const std::string& s : own) lines_.line(s);
            lines_.close();
        }
        lines_.line("goto " + end + ";");
    }
    lines_.line(end + ":;");
    lines_.open("if (leader)");
    for (const std::string& s : common) lines_.line(s);
    lines_.line("ctl->exit = exit, ctl->status = status;");
    lines_.close();
    if (solo < 0) return lines_.line("return;");
    lines_.line("*(i32*)cross = -1;");
    lines_.line("goto o" + text(solo) + ";");
}

int RegionPrinter::resume_point(BlockId b, size_t inst, int exit) {
    Resume point{{}, solo_, exit};
    // What the instruction itself makes is not there yet.
    for (const ValueId v : live_.before(b, inst))
        if (!early_[static_cast<size_t>(v)]) point.live.push_back(v);
    saved_slots_ = std::max<int64_t>(saved_slots_, slots(point.live));
    resumes_.push_back(std::move(point));
    return static_cast<int>(resumes_.size()) - 1;
}

void RegionPrinter::save(int number) {
    const Resume& r = resumes_[static_cast<size_t>(number)];
    lines_.open("if (leader)");
    store_values(lines_, r.live, "saved");
    lines_.line("ctl->resume = " + text(number + 1) + ";");
    lines_.close();
}

void RegionPrinter::pause_code(int number, int exit) {
    solo_ = resumes_[static_cast<size_t>(number)].solo;
    lines_.line("h" + text(number) + ":;");
    save(number);
    lines_.line("status = " + text(RegionControl::Paused) + ";");
    lines_.line("goto " + exit_label(exit) + ";");
}

// The cell is too small: the host is to make it `room` bytes large.
void RegionPrinter::grow_code(int number) {
    lines_.open("if (has < room)");
    save(number);
    lines_.line("goto grow;");
    lines_.close();
    grows_ = true;
}

void RegionPrinter::growing() {
    lines_.line("grow:;");
    lines_.line(
        "if (leader) ctl->cell = cell, ctl->bytes = room, ctl->status = " + text(RegionControl::Grow) + ";");
    lines_.line("return;");
}

}  // namespace cuda
}  // namespace stator::kernels
