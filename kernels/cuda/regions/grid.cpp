// Loops of elements that all threads share (regions/grid.h).
//
// A first pass computes all of it and stores nothing: where an index is out of range, or a number not finite,
// some iteration is going to leave the region, and the leader runs the loop as it stands. Else a second pass
// stores. Nobody looks for signals meanwhile, so that very long loops are the leader's, too. What an
// iteration stores it has in a variable from its first access on, so that it reads its own.
#include <algorithm>
#include <utility>

#include "kernels/cuda/regions/internal.h"

namespace stator::kernels::cuda {

namespace {

std::string text(int64_t n) { return std::to_string(n); }
// Iterations of a thread: some 10 ms.
constexpr int64_t kMostEach = int64_t{1} << 20;

std::string first(int level) { return "first" + text(level); }
std::string count(int level) { return "count" + text(level); }

}  // namespace

void RegionPrinter::grid(int solo) {
    const GridLoop* g = spread_.grid(solo);
    if (!g) return;
    const auto levels = static_cast<int>(g->levels.size());
    const std::string counter = scalar(g->levels[0].counter);
    std::vector<ValueId> computed;
    for (const GridLoop::Final& f : g->finals)
        if (f.kind == GridLoop::Final::Computed &&
            std::find(computed.begin(), computed.end(), f.value) == computed.end())
            computed.push_back(f.value);
    crossing_slots_ = std::max<int64_t>(crossing_slots_, slots(computed));
    otherwise_ = "g" + text(solo);
    lines_.open("");
    lines_.line("i64 begin;");
    lines_.line("begin = " + counter + ";");
    lines_.open("");
    leaving_ = Leaving::Otherwise;
    for (const InstAt& where : g->uniform)
        if (!grid_inst(*g, where)) inst(where.first, where.second);
    leaving_ = Leaving::Exit;
    std::string some, total = "1", each = "total / ((i64)gridDim.x * blockDim.x) + 1";
    for (int k = 0; k < levels; ++k) {
        const GridLoop::Level& l = g->levels[static_cast<size_t>(k)];
        lines_.line("const i64 " + first(k) + " = " + scalar(l.start) + ", " + count(k) + " = " +
                    scalar(l.count) + ";");
        some += (k ? " && " : "") + count(k) + " > 0";
        std::string& product = g->serial >> k & 1 ? each : total;
        product = "room_for(" + product + ", " + count(k) + ")";
    }
    lines_.line("const i64 total = " + some + " ? " + total + " : 0;");
    lines_.line("const i64 each = " + each + ";");
    lines_.line("if (total == 0 || each == 0 || each > " + text(kMostEach) + ") goto " + otherwise_ + ";");
    lines_.open("for (i32 pass = 0; pass < 2; ++pass)");
    lines_.open(
        "for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (i64)gridDim.x * "
        "blockDim.x)");
    grid_points(*g);
    scopes_ = 0;
    grid_point(*g);
    commit(*g, false);
    if (!computed.empty()) {
        std::string last = "pass && at == total - 1";
        for (int k = 0; k < levels; ++k)
            if (g->serial >> k & 1) last += " && j" + text(k) + " == " + count(k) + " - 1";
        lines_.open("if (" + last + ")");
        store_values(lines_, computed, "cross + 16");
        lines_.close();
    }
    while (scopes_-- > 0) lines_.close();
    for (int k = 0; k < levels; ++k)
        if (g->serial >> k & 1) lines_.close();
    commit(*g, true);
    lines_.close();
    lines_.line("if (pass) break;");
    agree_on_grid(otherwise_);
    lines_.close();
    leave_grid(*g, computed);
    lines_.close();
    lines_.line(otherwise_ + ":;");
    lines_.line(counter + " = begin;");
    lines_.close();
}

// The counters of point number `at`, and loops over those that a thread walks.
void RegionPrinter::grid_points(const GridLoop& g) {
    const auto declare = [&](bool of_thread) {
        for (size_t k = 0; k < g.privates.size(); ++k)
            if (g.privates[k].of_thread == of_thread)
                lines_.line("u8* e" + text(static_cast<int64_t>(k)) + " = nullptr; " +
                            std::string(value_type(type(g.privates[k].array).dtype)) + " m" +
                            text(static_cast<int64_t>(k)) + "{};");
    };
    const auto set_counter = [&](int k, const std::string& index) {
        const GridLoop::Level& l = g.levels[static_cast<size_t>(k)];
        set(l.counter, first(k) + " + " + index + " * " + scalar(l.step));
    };
    const auto levels = static_cast<int>(g.levels.size());
    std::string rest = "at";
    int outermost = 0;
    while (g.serial >> outermost & 1) ++outermost;
    for (int k = levels; k-- > 0;) {
        if (g.serial >> k & 1) continue;
        std::string index = rest;
        if (k != outermost) {
            const std::string q = "q" + text(k), i = "i" + text(k);
            lines_.line("const i64 " + q + " = quotient_of(" + rest + ", " + count(k) + "), " + i + " = " +
                        rest + " - " + q + " * " + count(k) + ";");
            rest = q, index = i;
        }
        set_counter(k, index);
    }
    declare(true);
    for (int k = 0; k < levels; ++k) {
        if (!(g.serial >> k & 1)) continue;
        const std::string j = "j" + text(k);
        lines_.open("for (i64 " + j + " = 0; " + j + " < " + count(k) + "; ++" + j + ")");
        set_counter(k, j);
    }
    declare(false);
}

void RegionPrinter::grid_point(const GridLoop& g) {
    for (const InstAt& where : g.point) {
        const Inst& i = r_.blocks[static_cast<size_t>(where.first)].insts[where.second];
        // No index may be out of range, and no divisor 0; the rest goes on with any number.
        const bool guards =
            i.op == RegionOp::Index || i.op == RegionOp::FloorDiv || i.op == RegionOp::FloorMod;
        leaving_ = guards ? Leaving::PassedOver : Leaving::Noted;
        if (!grid_inst(g, where)) inst(where.first, where.second);
    }
    leaving_ = Leaving::Exit;
}

// What is another instruction here.
bool RegionPrinter::grid_inst(const GridLoop& g, InstAt where) {
    const Inst& i = r_.blocks[static_cast<size_t>(where.first)].insts[where.second];
    if (i.op == RegionOp::Poll) return true;
    if (g.not_from_end.contains(where)) leave_if(scalar(i.in[0]) + " < 0", i.exit);
    const auto access = g.access.find(where);
    if (access == g.access.end()) return false;
    const bool loads = i.op == RegionOp::Load;
    const std::string n = text(access->second), e = "e" + n, m = "m" + n;
    const DType t = type(i.in[0]).dtype;
    lines_.line("if (!" + e + ") " + e + " = " + element(i, i.in.size() - (loads ? 1 : 2)) +
                (loads ? ", " + m + " = " + loaded(t, e) : "") + ";");
    if (loads)
        set(i.result, m);
    else
        lines_.line(m + " = " + scalar(i.in.back()) + ";");
    return true;
}

void RegionPrinter::commit(const GridLoop& g, bool of_thread) {
    for (size_t k = 0; k < g.privates.size(); ++k)
        if (g.privates[k].of_thread == of_thread) {
            const std::string n = text(static_cast<int64_t>(k));
            lines_.open("if (pass && e" + n + ")");
            lines_.line(stored(type(g.privates[k].array).dtype, "e" + n, "m" + n));
            lines_.close();
        }
}

// The words take turns as nests' do. The leader clears the one that it found set when all have read it.
void RegionPrinter::agree_on_grid(const std::string& otherwise) {
    lines_.line("if (bad) atomicOr(&ctl->bad[turn], 1u);");
    lines_.line("grid_meet(ctl);");
    lines_.line("const u32 leaves = ctl->bad[turn];");
    lines_.line("bad = 0, turn ^= 1;");
    lines_.open("if (leaves)");
    lines_.line("grid_meet(ctl);");
    lines_.line("if (leader) ctl->bad[turn ^ 1] = 0;");
    lines_.line("goto " + otherwise + ";");
    lines_.close();
}

// Behind the loop: the parameters of its header are what the last iteration made of them.
void RegionPrinter::leave_grid(const GridLoop& g, const std::vector<ValueId>& computed) {
    lines_.line("grid_meet(ctl);");
    if (!computed.empty()) {
        lines_.line("{ u8* const was = cross; cross = other, other = was; }");
        load_values(lines_, computed, "other + 16");
    }
    const auto& params = r_.blocks[static_cast<size_t>(r_.loops[static_cast<size_t>(g.loop)].header)].params;
    for (size_t k = 0; k < params.size(); ++k) {
        const GridLoop::Final& f = g.finals[k];
        const auto counter = [&](const std::string& steps) {
            return first(f.level) + " + " + steps + " * " +
                   scalar(g.levels[static_cast<size_t>(f.level)].step);
        };
        switch (f.kind) {
            case GridLoop::Final::Same: break;
            case GridLoop::Final::Value:
            case GridLoop::Final::Computed: copy({params[k]}, {f.value}); break;
            case GridLoop::Final::Zero: set(params[k], "0"); break;
            case GridLoop::Final::Last: set(params[k], counter("(" + count(f.level) + " - 1)")); break;
            case GridLoop::Final::Behind: set(params[k], counter(count(f.level))); break;
        }
    }
    const int solo = std::exchange(solo_, -1);
    follow(*g.exit, -1);
    solo_ = solo;
}

}  // namespace stator::kernels::cuda
