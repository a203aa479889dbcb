// Catches the processor's faults, and kernels that do not end, on the thread that runs a kernel.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

namespace shim {

class SignalGuard {
  public:
    // `report` does not return. `seconds` of processor time end in a SIGVTALRM.
    using Report = void (*)(int signal, const void* address, bool write);
    SignalGuard(double seconds, Report report);
    SignalGuard(const SignalGuard&) = delete;
    ~SignalGuard();

  private:
    static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGVTALRM};
    stack_t old_stack_{};
    struct sigaction old_[5];
    itimerval old_timer_{};
};

}  // namespace shim
