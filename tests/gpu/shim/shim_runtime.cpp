// Runs a launch: each block's threads as fibers that switch where threads may wait for each other.
//
// What is found, besides wrong results: accesses outside of live device memory, of shared memory that nobody
// wrote, of memory of either kind that another thread writes with no barrier or fence between them; elements
// written twice; writes to inputs; misaligned accesses; indices beyond a shared array; barriers and warp
// operations that not all of their threads reach; faults of the processor; kernels that do not end. Shared
// memory, fresh allocations and locals that nobody set hold garbage. Clusters run their blocks together.
#include "shim_runtime.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "shim_machine.h"
#include "shim_memory.h"
#include "shim_signals.h"

namespace shim {

struct Loaded {
    void* handle;
    const Module* module;
};

Machine& machine() {
    static Machine* m = new Machine;
    return *m;
}

namespace {

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
    m.at_barrier[rank] = 0;
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

// Of a cluster's blocks each goes on as soon as it can, but for one order: others may be far behind then.
void came_to_barrier(Machine& m, int rank) {
    if (m.blocks == 1 || m.launch->order == Order::Reverse) return;
    if (++m.at_barrier[rank] < m.block_threads || !open_block(m, rank)) return;
    m.cursor = 0;
}

void begin_block(Machine& m, int rank, uint3 block) {
    m.block_index[rank] = block;
    m.at_barrier[rank] = 0;
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
        if (m.fibers[m.current].state == State::AtBarrier) came_to_barrier(m, rank);
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
    m.wide_accesses[0] = m.wide_accesses[1] = 0;
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

uint64_t wide_accesses(bool writes) { return machine().wide_accesses[writes]; }

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
