// See sampler.h.
#include "frontend/profile/sampler.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "frontend/clock.h"
#include "frontend/cpython/walk.h"
#include "frontend/policy.h"
#include "frontend/profile/ledger.h"
#include "frontend/profile/own_memory.h"

namespace stator::frontend {

namespace {

constexpr int kSignal = SIGURG;
constexpr int kThreads = 256, kFrames = 64, kWords = 512;

// All memory that the handler reads or writes; never given back, because a signal may come late.
struct Watched {
    enum State : int { Idle, Asked, Answered };
    std::atomic<int> state;
    int tid;
    // The answer.
    Moment moment;
    FrameMark frames[kFrames];
    const void* stack[kWords];
    // Where to look from outside.
    const void* thread_state;
    const Doing* const* doing;
    // The ticker's.
    int64_t cpu, seen, running,
        waiting;  // ns: both clocks when it was looked at last, and what is not told yet
    bool here;    // it was there at the last look
};
Watched* table = nullptr;

// How much of it can be read: stacks end.
int read_words(const void* from, const void** to, int most) {
    constexpr size_t kPage = 4096;
    const size_t to_page = kPage - reinterpret_cast<uintptr_t>(from) % kPage;
    iovec remote[3] = {{const_cast<void*>(from), to_page}};
    const size_t bytes = static_cast<size_t>(most) * sizeof(void*);
    remote[0].iov_len = std::min(to_page, bytes);
    int pieces = 1;
    for (size_t got = remote[0].iov_len; got < bytes; ++pieces) {
        remote[pieces] = {static_cast<char*>(const_cast<void*>(from)) + got, std::min(kPage, bytes - got)};
        got += remote[pieces].iov_len;
    }
    const iovec local{to, bytes};
    const ssize_t n = process_vm_readv(getpid(), &local, 1, remote, static_cast<unsigned>(pieces), 0);
    return n < 0 ? 0 : static_cast<int>(n / static_cast<ssize_t>(sizeof(void*)));
}

void read_doing(const Doing* at, Moment* m) {
    m->doing = {};
    m->in_stator = at && read_own(at, &m->doing, sizeof(Doing)) && m->doing.magic == Doing::kMagic;
}

struct sigaction previous_action;

void on_signal(int number, siginfo_t* info, void* context) {
    auto* w = static_cast<Watched*>(info->si_value.sival_ptr);
    const bool ours = info->si_code == SI_QUEUE && w >= table && w < table + kThreads;
    if (!ours) {
        if (previous_action.sa_flags & SA_SIGINFO)
            previous_action.sa_sigaction(number, info, context);
        else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN)
            previous_action.sa_handler(number);
        return;
    }
    if (w->state.load(std::memory_order_acquire) != Watched::Asked) return;
    const int error = errno;
    const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    w->thread_state = this_thread_state();
    w->doing = &now_doing;
    read_doing(now_doing, &w->moment);
    w->moment.frames = w->thread_state ? walk_frames(w->thread_state, w->frames, kFrames, read_own) : 0;
    w->stack[0] = reinterpret_cast<const void*>(registers[REG_RIP]);
    w->moment.words =
        1 + read_words(reinterpret_cast<const void*>(registers[REG_RSP]), w->stack + 1, kWords - 1);
    errno = error;
    w->state.store(Watched::Answered, std::memory_order_release);
}

// CPU time of a thread, ns; -1: it is gone.
int64_t cpu_of(int tid) {
    constexpr clockid_t kThreadCpu = 6;  // of the kernel's encoding
    timespec t;
    if (clock_gettime(static_cast<clockid_t>(~static_cast<unsigned>(tid) << 3 | kThreadCpu), &t)) return -1;
    return int64_t{1'000'000'000} * t.tv_sec + t.tv_nsec;
}

class Ticker {
  public:
    explicit Ticker(SourceRules rules) : ledger_(std::move(rules)) {}
    bool start();
    SampledProgram stop();

  private:
    void run();
    void look_for_threads();
    void tick();
    void look_at(Watched& w, int64_t now);
    void collect(Watched& w);
    bool signal_is_ours() const;

    pthread_t thread_{};
    const pid_t process_ = getpid();
    std::atomic<bool> stopping_{false};
    Ledger ledger_;
    int own_tid_ = 0, ticks_ = 0;
    int64_t began_wall_ = 0, began_cpu_ = 0;
    bool interrupted_ = false;
};

bool Ticker::signal_is_ours() const {
    struct sigaction now;
    return sigaction(kSignal, nullptr, &now) == 0 && now.sa_flags & SA_SIGINFO &&
           now.sa_sigaction == on_signal;
}

void Ticker::look_for_threads() {
    DIR* const tasks = opendir("/proc/self/task");
    if (!tasks) return;
    for (int i = 0; i < kThreads; ++i) table[i].here = false;
    while (const dirent* entry = readdir(tasks)) {
        const int tid = std::atoi(entry->d_name);
        if (tid <= 0 || tid == own_tid_) continue;
        Watched *mine = nullptr, *free = nullptr;
        for (int i = 0; i < kThreads && !mine; ++i) {
            if (table[i].tid == tid) mine = &table[i];
            if (table[i].tid == 0 && !free) free = &table[i];
        }
        if (!mine && free) {
            mine = free;
            mine->tid = tid, mine->thread_state = nullptr, mine->doing = nullptr;
            mine->running = mine->waiting = 0;
            // What it did before it was seen is the program's, unless that was before we began.
            mine->cpu = ticks_ == 0 ? cpu_of(tid) : 0, mine->seen = now_ns();
        }
        if (mine) mine->here = true;
    }
    closedir(tasks);
    // A signal that somebody was asked for cannot come any more.
    for (int i = 0; i < kThreads; ++i)
        if (table[i].tid && !table[i].here) table[i].tid = 0, table[i].state = Watched::Idle;
}

void Ticker::collect(Watched& w) {
    if (w.state.load(std::memory_order_acquire) != Watched::Answered) return;
    if (w.thread_state) {
        ledger_.enter(w.moment, w.frames, w.stack, w.running, w.seen - began_wall_);
        w.running = 0;
    }
    w.state.store(Watched::Idle, std::memory_order_release);
}

void Ticker::look_at(Watched& w, int64_t now) {
    collect(w);
    const int64_t cpu = cpu_of(w.tid);
    if (cpu < 0) return;
    const int64_t ran = cpu - w.cpu, passed = now - w.seen;
    w.running += ran, w.waiting += std::max<int64_t>(passed - ran, 0);
    w.cpu = cpu, w.seen = now;
    // On a machine with one CPU nobody else runs while we look.
    const bool runs = ran > passed / 4 * 3 || cpu_of(w.tid) > cpu;
    if (runs) {
        if (w.state.load() != Watched::Idle || interrupted_) return;
        siginfo_t info{};
        info.si_signo = kSignal, info.si_code = SI_QUEUE, info.si_pid = process_, info.si_uid = getuid();
        info.si_value.sival_ptr = &w;
        w.state.store(Watched::Asked, std::memory_order_release);
        if (syscall(SYS_rt_tgsigqueueinfo, process_, w.tid, kSignal, &info)) w.state = Watched::Idle;
        return;
    }
    if (w.waiting < policy().sample_first_period || w.state.load() != Watched::Idle) return;
    // A thread that has been waiting since it was first seen was never asked.
    if (!w.thread_state) w.thread_state = find_thread_state(w.tid, read_own);
    if (!w.thread_state) return;
    const Doing* doing = nullptr;
    if (w.doing && !read_own(w.doing, &doing, sizeof doing)) return;
    read_doing(doing, &w.moment);
    w.moment.frames = walk_frames(w.thread_state, w.frames, kFrames, read_own);
    w.moment.words = 0;
    ledger_.enter(w.moment, w.frames, w.stack, w.waiting, now - began_wall_);
    w.waiting = 0;
}

void Ticker::tick() {
    if (ticks_ % policy().sample_threads_each == 0) look_for_threads();
    if (!interrupted_ && !signal_is_ours()) interrupted_ = true;
    const int64_t now = now_ns();
    for (int i = 0; i < kThreads; ++i)
        if (table[i].tid) look_at(table[i], now);
    ++ticks_;
}

void Ticker::run() {
    own_tid_ = static_cast<int>(syscall(SYS_gettid));
    prctl(PR_SET_TIMERSLACK, 1000);
    pthread_setname_np(pthread_self(), "stator-profile");
    uint64_t random = 88172645463325252u;
    while (!stopping_.load(std::memory_order_acquire)) {
        tick();
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        const int64_t period =
            ticks_ < policy().sample_first_ticks ? policy().sample_first_period : policy().sample_period;
        const timespec pause{0, period / 2 + static_cast<int64_t>(random % static_cast<uint64_t>(period))};
        nanosleep(&pause, nullptr);
    }
    for (int i = 0; i < kThreads; ++i)
        if (table[i].tid) collect(table[i]);
}

int64_t process_cpu() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return int64_t{1'000'000'000} * t.tv_sec + t.tv_nsec;
}

bool Ticker::start() {
    began_wall_ = now_ns(), began_cpu_ = process_cpu();
    // Signals belong to the program's threads: the new one inherits a full mask.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int failed = pthread_create(
        &thread_, nullptr,
        [](void* self) -> void* {
            static_cast<Ticker*>(self)->run();
            return nullptr;
        },
        this);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    return !failed;
}

SampledProgram Ticker::stop() {
    stopping_ = true;
    if (getpid() == process_) pthread_join(thread_, nullptr);  // a fork has no such thread
    SampledProgram p;
    p.rows = ledger_.rows();
    p.wall_ns = now_ns() - began_wall_;
    p.cpu_ns = process_cpu() - began_cpu_;
    p.interrupted = interrupted_;
    for (int i = 0; i < kThreads; ++i) p.threads += table[i].tid && table[i].thread_state;
    return p;
}

Ticker* ticker = nullptr;

}  // namespace

bool sampling() { return ticker != nullptr; }

bool start_sampling(SourceRules rules, std::string* why) {
    if (ticker) return *why = "a profile is being made already", false;
    int probe = 1, copy = 0;
    if (!read_own(&probe, &copy, sizeof probe))
        return *why = std::string("the system does not allow process_vm_readv: ") + strerror(errno), false;
    if (!table) {
        void* p = mmap(nullptr, kThreads * sizeof(Watched), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return *why = "memory is short", false;
        table = static_cast<Watched*>(p);
    }
    for (int i = 0; i < kThreads; ++i) table[i].tid = 0, table[i].state = Watched::Idle;
    struct sigaction action{}, now;
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigfillset(&action.sa_mask);
    sigaction(kSignal, nullptr, &now);
    if (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != on_signal) previous_action = now;
    sigaction(kSignal, &action, nullptr);
    watching += kSampler;
    ticker = new Ticker(std::move(rules));
    if (ticker->start()) return true;
    stop_sampling();
    return *why = "no thread can be started", false;
}

SampledProgram stop_sampling() {
    if (!ticker) return {};
    SampledProgram p = ticker->stop();
    delete std::exchange(ticker, nullptr);
    watching -= kSampler;
    // A signal that a thread has blocked may still come.
    bool late = false;
    for (int i = 0; i < kThreads; ++i) late |= table[i].state.load() != Watched::Idle;
    struct sigaction now;
    if (!late && sigaction(kSignal, nullptr, &now) == 0 && now.sa_flags & SA_SIGINFO &&
        now.sa_sigaction == on_signal)
        sigaction(kSignal, &previous_action, nullptr);
    return p;
}

}  // namespace stator::frontend
