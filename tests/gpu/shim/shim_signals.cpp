// See shim_signals.h.
#include "shim_signals.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <iterator>

namespace shim {
namespace {

pthread_t runner;
SignalGuard::Report report_fault;

void on_signal(int signal, siginfo_t* info, void* context) {
    if (!pthread_equal(pthread_self(),
                       runner)) {  // another thread's: the timer's goes on, a fault is its own
        if (signal == SIGVTALRM)
            pthread_kill(runner, signal);
        else
            ::signal(signal, SIG_DFL);
        return;
    }
    bool write = false;
#if defined(__x86_64__)
    write = (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    (void)context;
#endif
    report_fault(signal, info->si_addr, write);
}

}  // namespace

SignalGuard::SignalGuard(double seconds, Report report) {
    // The fault may be that the fiber's own stack is full.
    constexpr size_t kBytes = 1 << 16;
    static void* stack = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    runner = pthread_self();
    report_fault = report;
    stack_t own{};
    own.ss_sp = stack;
    own.ss_size = kBytes;
    sigaltstack(&own, &old_stack_);
    struct sigaction action{};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &old_[i]);
    itimerval limit{};
    limit.it_value.tv_sec = static_cast<time_t>(seconds);
    limit.it_value.tv_usec =
        static_cast<suseconds_t>((seconds - static_cast<double>(limit.it_value.tv_sec)) * 1e6);
    setitimer(ITIMER_VIRTUAL, &limit, &old_timer_);
}

SignalGuard::~SignalGuard() {
    setitimer(ITIMER_VIRTUAL, &old_timer_, nullptr);
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &old_[i], nullptr);
    sigaltstack(&old_stack_, nullptr);
}

}  // namespace shim
