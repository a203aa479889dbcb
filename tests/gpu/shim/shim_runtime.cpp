// Runs a launch: each block's threads as fibers that switch where threads may wait for each other.
//
// What is found, besides wrong results: accesses outside of live device memory, of shared memory that nobody
// wrote, of shared memory that another thread writes in the same interval between barriers; writes to inputs;
// misaligned accesses; barriers and warp operations that not all of their threads reach; faults of the
// processor; kernels that do not end. Shared memory and fresh allocations hold garbage.
#include "shim_runtime.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "shim_fiber.h"
#include "shim_global.h"
#include "shim_memory.h"
#include "shim_shared.h"
#include "shim_signals.h"

namespace shim {

struct Loaded {
    void* handle;
    const Module* module;
};

namespace {

constexpr size_t kDynamicBytes = 256 << 10;  // more than any GPU has

enum class State : uint8_t { Ready, AtBarrier, AtWarp, AtCluster, Done };

struct Fiber {
    void* context;
    uint3 index;
    State state;
    bool arrived;  // at the cluster's barrier
    int line;
    Vote vote;  // at a barrier
    WarpOp op;  // at a warp operation
    unsigned mask;
    int argument, width;
    uint64_t value, result;
};

struct Machine {
    std::mutex mutex;
    sigjmp_buf fault_exit;
    void* scheduler = nullptr;  // context to switch to when a fiber waits
    const Module* module = nullptr;
    const Kernel* kernel = nullptr;
    void** parameters = nullptr;
    const Launch* launch = nullptr;
    std::string problem;
    Fiber fibers[kMaxFibers];  // of all blocks of a cluster
    int threads = 0, current = 0, alive = 0;
    int block_threads = 0, blocks = 1;  // threads of a block, blocks of a cluster
    uint3 block_index[kMaxCluster];
    uint16_t order[kMaxFibers], place[kMaxFibers];
    int cursor = 0;                     // no fiber before it in the order is ready
    unsigned waiting[kMaxFibers / 32];  // lanes at a warp operation
    uint64_t random = 1;
    SharedMemory shared;
    GlobalMemory global;
    size_t static_bytes = 0;
    char *dynamic_region = nullptr, *dynamic = nullptr;
    // A module's shared variables exist once. Those of a cluster's other blocks are kept here, and are put in
    // their place when a thread of that block goes on; a pointer to another block's variable points to here.
    std::vector<char> images;
    int resident = 0;
    size_t image_bytes() const { return (static_bytes + 15) / 16 * 16 + launch->shared_bytes; }
    char* image(int rank) { return images.data() + static_cast<size_t>(rank) * image_bytes(); }
    int rank_of(int thread) const { return thread / block_threads; }
};
Machine& machine() {
    static Machine* m = new Machine;
    return *m;
}

uint64_t next_random(Machine& m) {
    m.random ^= m.random << 13;
    m.random ^= m.random >> 7;
    m.random ^= m.random << 17;
    return m.random * 0x2545f4914f6cdd1d >> 32;
}

template <class T>
void shuffle(Machine& m, T* items, size_t n) {
    for (size_t i = n; i > 1; --i) std::swap(items[i - 1], items[next_random(m) % i]);
}

void draw_order(Machine& m) {
    for (int i = 0; i < m.threads; ++i)
        m.order[i] = static_cast<uint16_t>(m.launch->order == Order::Reverse ? m.threads - 1 - i : i);
    if (m.launch->order == Order::Random) shuffle(m, m.order, static_cast<size_t>(m.threads));
    for (int i = 0; i < m.threads; ++i) m.place[m.order[i]] = static_cast<uint16_t>(i);
    m.cursor = 0;
}

void wake(Machine& m, int thread) {
    m.fibers[thread].state = State::Ready;
    m.cursor = std::min<int>(m.cursor, m.place[thread]);
}

std::string place_text(const Machine& m, int thread) {
    const uint3 t = m.fibers[thread].index, b = m.block_index[m.rank_of(thread)];
    const auto three = [](uint3 v) {
        return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")";
    };
    return "kernel '" + std::string(m.kernel->name) + "', thread " + three(t) + " of block " + three(b) +
           ": ";
}

void to_scheduler(Machine& m) { shim_switch(&m.fibers[m.current].context, m.scheduler); }

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

bool within(const volatile void* p, const void* begin, size_t bytes) {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(begin) < bytes;
}

size_t distance(const volatile void* p, const void* begin) {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(begin);
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

void fence() {
    Machine& m = machine();
    m.global.fence(m.current);
}

constexpr Runtime kRuntime = {barrier, warp,           active_mask,  access,     fence,
                              cluster, cluster_arrive, cluster_wait, map_shared, fault};

void fiber_main() {
    Machine& m = machine();
    m.kernel->call(m.parameters);
    m.fibers[m.current].state = State::Done;
    --m.alive;
    to_scheduler(m);
    __builtin_unreachable();
}

// Nothing is ready: says which thread waits for what in vain.
void report_divergence(Machine& m) {
    const Fiber& first = m.fibers[0];
    const char* what[] = {"is ready", "waits at a barrier", "waits for its warp", "waits for its cluster",
                          "has ended"};
    for (int i = 0; i < m.threads; ++i) {
        const Fiber& f = m.fibers[i];
        if (f.state == first.state && f.line == first.line && f.state != State::AtWarp &&
            f.state != State::Done)
            continue;
        // Blame a thread that waits, and name one that does not do the same.
        int waiting = i, other = 0;
        if (f.state == State::Done) std::swap(waiting, other);
        if (m.fibers[waiting].state == State::Done)
            while (m.fibers[waiting].state == State::Done) ++waiting;
        const Fiber &w = m.fibers[waiting], *o = &m.fibers[other];
        if (w.state == State::AtWarp)  // a lane of its mask that is elsewhere
            for (int lane = 0; lane < 32 && (waiting & ~31) + lane < m.threads; ++lane) {
                const Fiber& l = m.fibers[(waiting & ~31) + lane];
                if (w.mask >> lane & 1 &&
                    (l.state != w.state || l.line != w.line || l.mask != w.mask || l.op != w.op))
                    o = &l, other = (waiting & ~31) + lane;
            }
        const auto line = [](const Fiber& x) {
            return x.state == State::Done ? std::string() : " in line " + std::to_string(x.line);
        };
        m.problem = place_text(m, waiting) + what[static_cast<int>(w.state)] + line(w) + " that thread " +
                    std::to_string(other) + " does not come to: it " + what[static_cast<int>(o->state)] +
                    line(*o) + " (divergent barrier)";
        return;
    }
}

// Opens the barrier at which all threads of the block wait; false when they do not.
bool open_block(Machine& m, int rank) {
    Fiber* block = m.fibers + rank * m.block_threads;
    int count = 0;
    for (int i = 0; i < m.block_threads; ++i) {
        if (block[i].state != State::AtBarrier || block[i].line != block[0].line ||
            block[i].vote != block[0].vote)
            return false;
        count += static_cast<int>(block[i].value);
    }
    const int results[] = {0, count, count == m.block_threads, count != 0};
    for (int i = 0; i < m.block_threads; ++i) {
        block[i].result = static_cast<uint64_t>(results[static_cast<int>(block[i].vote)]);
        block[i].state = State::Ready;
    }
    m.shared.barrier(rank);
    m.global.barrier(rank);
    return true;
}

bool open_cluster(Machine& m) {
    for (int i = 0; i < m.threads; ++i)
        if (m.fibers[i].state != State::AtCluster || m.fibers[i].line != m.fibers[0].line) return false;
    for (int i = 0; i < m.threads; ++i) {
        m.fibers[i].state = State::Ready;
        m.fibers[i].arrived = false;
    }
    m.shared.cluster_barrier();
    for (int rank = 0; rank < m.blocks; ++rank) m.shared.barrier(rank);
    m.global.cluster_barrier();
    return true;
}

bool open_barriers(Machine& m) {
    bool opened = false;
    for (int rank = 0; rank < m.blocks; ++rank) opened |= open_block(m, rank);
    if (!opened) opened = open_cluster(m);
    if (opened)
        draw_order(m);
    else
        report_divergence(m);
    return opened;
}

void begin_block(Machine& m, int rank, uint3 block) {
    m.block_index[rank] = block;
    m.global.begin_block(rank, block.x + m.launch->grid[0] * (block.y + m.launch->grid[1] * block.z));
    const unsigned* dim = m.launch->block;
    for (int i = 0; i < m.block_threads; ++i) {
        const int id = rank * m.block_threads + i;
        Fiber& f = m.fibers[id];
        const auto n = static_cast<unsigned>(i);
        f.index = {n % dim[0], n / dim[0] % dim[1], n / dim[0] / dim[1]};
        f.state = State::Ready;
        f.arrived = false;
        f.context = prepare_fiber(stacks().end_of(id), fiber_main);
    }
    if (m.blocks > 1) fill_with_garbage(m.image(rank), m.image_bytes());
}

// Runs the blocks of a cluster, the first of which is `block`; false after a fault.
bool run_cluster(Machine& m, uint3 block) {
    const Module& module = *m.module;
    fill_with_garbage(module.shared_begin, m.static_bytes);
    fill_with_garbage(m.dynamic, m.launch->shared_bytes);
    m.shared.begin_cluster();
    m.resident = 0;
    for (int rank = 0; rank < m.blocks; ++rank)
        begin_block(m, rank, {block.x + static_cast<unsigned>(rank), block.y, block.z});
    memset(m.waiting, 0, sizeof m.waiting);
    m.alive = m.threads;
    draw_order(m);
    while (m.alive > 0) {
        while (m.cursor < m.threads && m.fibers[m.order[m.cursor]].state != State::Ready) ++m.cursor;
        if (m.cursor == m.threads) {
            if (!open_barriers(m)) return false;
            continue;
        }
        m.current = m.order[m.cursor];
        const int rank = m.rank_of(m.current);
        if (rank != m.resident) switch_block(m, rank);
        m.global.run_block(rank);
        *module.block = m.block_index[rank];
        *module.thread = m.fibers[m.current].index;
        shim_switch(&m.scheduler, m.fibers[m.current].context);
        if (!m.problem.empty()) return false;
    }
    return true;
}

void run_grid(Machine& m) {
    const unsigned* grid = m.launch->grid;
    const auto wide = static_cast<unsigned>(m.blocks);
    const unsigned columns = grid[0] / wide;
    const uint64_t blocks = uint64_t(columns) * grid[1] * grid[2];  // clusters
    std::vector<uint32_t> order;
    if (m.launch->order == Order::Random) {
        order.resize(blocks);
        for (uint64_t i = 0; i < blocks; ++i) order[i] = static_cast<uint32_t>(i);
        shuffle(m, order.data(), blocks);
    }
    for (uint64_t i = 0; i < blocks; ++i) {
        const uint64_t b = !order.empty() ? order[i] : m.launch->order == Order::Reverse ? blocks - 1 - i : i;
        const uint3 block = {static_cast<unsigned>(b % columns) * wide,
                             static_cast<unsigned>(b / columns % grid[1]),
                             static_cast<unsigned>(b / columns / grid[1])};
        if (!run_cluster(m, block)) return;
    }
}

// Called by the signal handler, on the thread that runs the kernel.
void on_fault(int signal, const void* address, bool write) {
    Machine& m = machine();
    std::string what;
    if (signal == SIGSEGV || signal == SIGBUS) {
        what = within(address, stacks().begin, stacks().bytes) ? "its stack overflows"
                                                               : describe(address, 1, write);
        if (what.empty()) what = "accesses device memory that is not open to it (another device's?)";
    } else {
        what = signal == SIGFPE ? "divides an integer by zero or overflows in it"
               : signal == SIGVTALRM
                   ? "the kernel does not end"
                   : "illegal instruction (__builtin_trap or the end of a function without a return)";
    }
    m.problem = place_text(m, m.current) + what;
    siglongjmp(m.fault_exit, 1);
}

std::string check_launch(const Kernel& kernel, const Launch& launch) {
    const uint64_t threads = uint64_t(launch.block[0]) * launch.block[1] * launch.block[2];
    if (threads == 0 || threads > kMaxThreads || launch.block[2] > 64)
        return "a block has 1 to 1024 threads, not " + std::to_string(threads);
    if (kernel.max_threads && threads > static_cast<uint64_t>(kernel.max_threads))
        return "a block of " + std::to_string(threads) +
               " threads is larger than the kernel's __launch_bounds__(" +
               std::to_string(kernel.max_threads) + ")";
    if (!launch.grid[0] || !launch.grid[1] || !launch.grid[2] || launch.grid[0] > 0x7fffffffu ||
        launch.grid[1] > 65535 || launch.grid[2] > 65535)
        return "a grid has 1 to 2147483647 x 65535 x 65535 blocks, not " + std::to_string(launch.grid[0]) +
               " x " + std::to_string(launch.grid[1]) + " x " + std::to_string(launch.grid[2]);
    if (launch.cluster < 1 || launch.cluster > kMaxCluster ||
        launch.grid[0] % static_cast<unsigned>(launch.cluster))
        return "a cluster has 1 to 8 blocks, and the grid's width is a multiple of it: not " +
               std::to_string(launch.cluster) + " of " + std::to_string(launch.grid[0]);
    if (launch.cluster > 1 && threads % 32) return "the shim runs clusters of whole warps only";
    if (launch.shared_bytes > kDynamicBytes)
        return std::to_string(launch.shared_bytes) +
               " bytes of dynamic shared memory are more than any GPU has";
    return "";
}

void set_up(Machine& m, const Module& module, const Kernel& kernel, const Launch& launch, void** parameters) {
    m.module = &module;
    m.kernel = &kernel;
    m.launch = &launch;
    m.parameters = parameters;
    m.problem.clear();
    m.block_threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
    m.blocks = launch.cluster;
    m.threads = m.block_threads * m.blocks;
    open_stacks(m.threads);
    m.random = launch.seed * 0x9e3779b97f4a7c15 + 0x1234567;
    m.static_bytes = static_cast<size_t>(module.shared_end - module.shared_begin);
    if (!m.dynamic_region) {
        m.dynamic_region = static_cast<char*>(
            mmap(nullptr, kDynamicBytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mprotect(m.dynamic_region + kDynamicBytes, 4096, PROT_NONE);
    }
    m.dynamic = m.dynamic_region + kDynamicBytes - (launch.shared_bytes + 15) / 16 * 16;
    m.global.begin_launch();
    m.shared.begin_launch(m.image_bytes() * static_cast<size_t>(m.blocks), m.block_threads);
    m.images.assign(m.blocks > 1 ? m.image_bytes() * static_cast<size_t>(m.blocks) : 0, 0);
    *module.dynamic_shared = m.dynamic;
    *module.block_dim = {launch.block[0], launch.block[1], launch.block[2]};
    *module.grid_dim = {launch.grid[0], launch.grid[1], launch.grid[2]};
}

}  // namespace

Loaded* open_module(const char* path, std::string* error) {
    void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        *error = dlerror();
        return nullptr;
    }
    const auto entry = reinterpret_cast<const Module* (*)(const Runtime*)>(dlsym(handle, "shim_module"));
    if (!entry) {
        *error = std::string(path) + " is not a kernel module";
        dlclose(handle);
        return nullptr;
    }
    return new Loaded{handle, entry(&kRuntime)};
}

void close_module(Loaded* loaded) {
    dlclose(loaded->handle);
    delete loaded;
}

const Module& module_of(const Loaded* loaded) { return *loaded->module; }

const Kernel* find_kernel(const Loaded* loaded, const char* name) {
    for (int i = 0; i < loaded->module->count; ++i)
        if (strcmp(loaded->module->kernels[i].name, name) == 0) return &loaded->module->kernels[i];
    return nullptr;
}

std::string run(Loaded* loaded, const Kernel& kernel, const Launch& launch, void** parameters) {
    if (std::string problem = check_launch(kernel, launch); !problem.empty()) return problem;
    Machine& m = machine();
    std::lock_guard lock(m.mutex);
    set_up(m, *loaded->module, kernel, launch, parameters);
    const SignalGuard guard(launch.seconds, on_fault);
    if (sigsetjmp(m.fault_exit, 1) == 0) run_grid(m);
    return m.problem;
}

}  // namespace shim
