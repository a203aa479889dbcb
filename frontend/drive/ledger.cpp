// See ledger.h.
#include "frontend/drive/ledger.h"

#include "frontend/clock.h"

namespace stator::frontend {

namespace {
// Until when the calling thread's time was added to the purse, ns.
[[gnu::tls_model("initial-exec")]] thread_local constinit int64_t counted = -1;
}  // namespace

void Purse::look() {
    const int64_t now = thread_ns();
    if (counted >= 0) {
        investments_.computed(now - counted);
        trials_.computed(now - counted);
    }
    counted = now;
    looked_at_ = now_ns();
}

bool Purse::has(const Fund& fund, int64_t more_than) {
    if (looked_at_ != 0) {
        if (fund.balance() > more_than) return true;
        if (fund.balance_after(now_ns() - looked_at_) <= more_than) return false;
    }
    look();
    return fund.balance() > more_than;
}

Purse& purse() {
    static Purse process;
    return process;
}

}  // namespace stator::frontend
