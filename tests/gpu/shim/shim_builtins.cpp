// What kernels call: barriers, warp operations, clusters, and the check of every access to memory.
#include <string.h>

#include <algorithm>

#include "shim_machine.h"
#include "shim_memory.h"

namespace shim {

std::string place_text(const Machine& m, int thread) {
    const uint3 t = m.fibers[thread].index, b = m.block_index[m.rank_of(thread)];
    const auto three = [](uint3 v) {
        return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")";
    };
    return "kernel '" + std::string(m.kernel->name) + "', thread " + three(t) + " of block " + three(b) +
           ": ";
}

void to_scheduler(Machine& m) { shim_switch(&m.fibers[m.current].context, m.scheduler); }

// Makes the block resident whose thread is to go on.
void switch_block(Machine& m, int rank) {
    const size_t dynamic_at = m.image_bytes() - m.launch->shared_bytes;
    const auto copy = [&](char* image, bool out) {
        const auto move = [&](char* there, char* here, size_t n) {
            out ? memcpy(there, here, n) : memcpy(here, there, n);
        };
        move(image, m.module->shared_begin, m.static_bytes);
        move(image + dynamic_at, m.dynamic, m.launch->shared_bytes);
    };
    copy(m.image(m.resident), true);
    copy(m.image(rank), false);
    m.resident = rank;
}

namespace {

void wake(Machine& m, int thread) {
    m.fibers[thread].state = State::Ready;
    m.cursor = std::min<int>(m.cursor, m.place[thread]);
}

// Leaves the fiber for good.
void fault(const char* what) {
    Machine& m = machine();
    m.problem = place_text(m, m.current) + what;
    to_scheduler(m);
    __builtin_unreachable();
}

int barrier(Vote vote, int value, int line) {
    Machine& m = machine();
    Fiber& f = m.fibers[m.current];
    f.state = State::AtBarrier;
    f.vote = vote;
    f.line = line;
    f.value = static_cast<uint64_t>(value);
    to_scheduler(m);
    return static_cast<int>(f.result);
}

unsigned active_mask() {
    Machine& m = machine();
    unsigned mask = 0;
    const int first = m.current - m.current % m.block_threads % 32;
    for (int lane = 0; lane < 32 && first + lane < m.threads; ++lane)
        if (m.fibers[first + lane].state != State::Done) mask |= 1u << lane;
    return mask;
}

int source_lane(const Fiber& f, int lane) {
    const int base = lane & ~(f.width - 1), in_segment = lane & (f.width - 1);
    int from = lane;
    switch (f.op) {
        case WarpOp::Index: return base + (f.argument & (f.width - 1));
        case WarpOp::Up: from = in_segment - f.argument; return from < 0 ? lane : base + from;
        case WarpOp::Down: from = in_segment + f.argument; return from >= f.width ? lane : base + from;
        default: from = lane ^ f.argument; return from >= base + f.width ? lane : from;
    }
}

uint64_t reduced(const Fiber* warp, unsigned mask, const Fiber& f) {
    uint64_t all = ~uint64_t(0), any = 0, bits = 0, sum = 0, flip = 0;
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (int lane = 0; lane < 32; ++lane) {
        if (!(mask >> lane & 1)) continue;
        const uint64_t v = warp[lane].value;
        all &= v, any |= v, sum += v, flip ^= v;
        low = std::min(low, static_cast<int64_t>(v));
        high = std::max(high, static_cast<int64_t>(v));
        const bool set = f.op == WarpOp::MatchAny ? v == f.value : v != 0;
        bits |= uint64_t(set) << lane;
    }
    switch (f.op) {
        case WarpOp::Any: return bits != 0;
        case WarpOp::All: return bits == mask;
        case WarpOp::Ballot:
        case WarpOp::MatchAny: return bits;
        case WarpOp::Add: return sum;
        case WarpOp::Min: return static_cast<uint64_t>(low);
        case WarpOp::Max: return static_cast<uint64_t>(high);
        case WarpOp::And: return all;
        case WarpOp::Or: return any;
        case WarpOp::BitXor: return flip;
        default: return 0;
    }
}

// Completes the operation when every lane of the mask has come to it.
void try_warp(Machine& m, int first, unsigned mask) {
    Fiber* warp = m.fibers + first;
    const Fiber& mine = m.fibers[m.current];
    if ((m.waiting[first / 32] & mask) != mask) return;
    for (int lane = 0; lane < 32; ++lane)
        if (mask >> lane & 1 &&
            (warp[lane].mask != mask || warp[lane].op != mine.op || warp[lane].line != mine.line))
            return;  // found as divergence when nothing else can run
    for (int lane = 0; lane < 32; ++lane) {
        if (!(mask >> lane & 1)) continue;
        Fiber& f = warp[lane];
        if (f.op >= WarpOp::Index && f.op <= WarpOp::Xor) {
            const int from = source_lane(f, lane);
            memcpy(&f.result, kGarbage, 8);  // what a lane outside of the mask holds is undefined
            if (mask >> from & 1) f.result = warp[from].value;
        } else {
            f.result = reduced(warp, mask, f);
        }
    }
    if (mine.op == WarpOp::Sync) {
        m.shared.warp_barrier(first / 32);
        m.global.warp_barrier(first / 32);
    }
    m.waiting[first / 32] &= ~mask;
    for (int lane = 0; lane < 32; ++lane)
        if (mask >> lane & 1) wake(m, first + lane);
}

uint64_t warp(WarpOp op, int line, unsigned mask, uint64_t value, int argument, int width) {
    Machine& m = machine();
    const int lane = m.current % 32, first = m.current - lane;
    const auto complain = [&](const std::string& what) {
        fault((what + " in line " + std::to_string(line)).c_str());
    };
    char text[16];
    snprintf(text, sizeof text, "0x%08x", mask);
    if (!(mask >> lane & 1))
        complain(std::string("the warp operation's mask ") + text + " leaves out the calling lane");
    if (m.threads - first < 32 && mask >> (m.threads - first))
        complain(std::string("the warp operation's mask ") + text +
                 " names lanes that the block does not have");
    if (width < 1 || width > 32 || (width & (width - 1)) != 0)
        complain("the shuffle's width is " + std::to_string(width) + ", not a power of two up to 32,");
    Fiber& f = m.fibers[m.current];
    f.state = State::AtWarp;
    f.op = op;
    f.line = line;
    f.mask = mask;
    f.value = value;
    f.argument = argument;
    f.width = width;
    m.waiting[first / 32] |= 1u << lane;
    try_warp(m, first, mask);
    to_scheduler(m);
    return f.result;
}

unsigned cluster(bool rank) {
    const Machine& m = machine();
    return static_cast<unsigned>(rank ? m.rank_of(m.current) : m.blocks);
}

void cluster_arrive() {
    Machine& m = machine();
    if (m.fibers[m.current].arrived) fault("arrives twice at the cluster's barrier");
    m.fibers[m.current].arrived = true;
}

// All have arrived when all wait: what a thread does between the two is taken for ordered.
void cluster_wait(int line) {
    Machine& m = machine();
    Fiber& f = m.fibers[m.current];
    if (!f.arrived) fault("waits at the cluster's barrier without having arrived");
    f.state = State::AtCluster;
    f.line = line;
    to_scheduler(m);
}

void* map_shared(const void* address, unsigned rank) {
    Machine& m = machine();
    auto* p = static_cast<char*>(const_cast<void*>(address));
    if (rank >= static_cast<unsigned>(m.blocks)) fault("asks for a block that its cluster does not have");
    if (static_cast<int>(rank) == m.resident) return p;
    const size_t dynamic_at = m.image_bytes() - m.launch->shared_bytes;
    if (within(p, m.module->shared_begin, m.static_bytes))
        return m.image(static_cast<int>(rank)) + distance(p, m.module->shared_begin);
    if (!within(p, m.dynamic, m.launch->shared_bytes + 1))
        fault("maps an address that is not in shared memory");
    return m.image(static_cast<int>(rank)) + dynamic_at + distance(p, m.dynamic);
}

std::string check_remote(Machine& m, const volatile void* address, size_t size, Access kind) {
    const size_t at = distance(address, m.images.data());
    const int rank = static_cast<int>(at / m.image_bytes());
    bool ended = true;
    for (int i = 0; i < m.block_threads; ++i)
        ended &= m.fibers[rank * m.block_threads + i].state == State::Done;
    if (ended)
        return "accesses shared memory of the cluster's block " + std::to_string(rank) + ", which has ended";
    return m.shared.check(at, size, kind, m.current);
}

void access(const volatile void* address, size_t size, Access kind) {
    Machine& m = machine();
    const bool write = kind != Access::Read;
    if (within(address, stacks().begin, stacks().bytes)) return;
    if (const Block* block = find_block(address)) {
        if (size >= 16) ++m.wide_accesses[write];
        const size_t offset = distance(address, block->begin);
        std::string problem;
        if (offset < block->size && block->size - offset >= size && block->live &&
            !(write && block->read_only))
            problem = m.global.check(address, size, kind, m.current);
        else
            problem = describe(address, size, write);
        if (!problem.empty()) fault(problem.c_str());
        return;
    }
    std::string problem;
    const size_t own = static_cast<size_t>(m.rank_of(m.current)) * m.image_bytes();
    if (within(address, m.images.data(), m.images.size())) {
        problem = check_remote(m, address, size, kind);
    } else if (within(address, m.module->shared_begin, m.static_bytes)) {
        problem = m.shared.check(own + distance(address, m.module->shared_begin), size, kind, m.current);
    } else if (within(address, m.dynamic_region, kDynamicBytes + 4096)) {
        const size_t bytes = m.launch->shared_bytes, offset = distance(address, m.dynamic);
        if (offset < bytes && bytes - offset >= size)
            problem = m.shared.check(own + m.image_bytes() - bytes + offset, size, kind, m.current);
        else
            problem =
                std::string(write ? "writes" : "reads") + " dynamic shared memory out of bounds: offset " +
                std::to_string(static_cast<long long>(offset)) + " of " + std::to_string(bytes) + " bytes";
    } else if (!within(address, m.module->image_begin,
                       distance(m.module->image_end, m.module->image_begin))) {
        problem = describe(address, size, write);
    }
    if (!problem.empty()) fault(problem.c_str());
}

unsigned long long nanoseconds() {
    static unsigned long long now = 0;
    return now += 10'000;
}

void fence() {
    Machine& m = machine();
    m.global.fence(m.current);
}

}  // namespace

const Runtime kRuntime = {barrier,        warp,         active_mask, access, fence,      cluster,
                          cluster_arrive, cluster_wait, map_shared,  fault,  nanoseconds};

}  // namespace shim
