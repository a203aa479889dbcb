// See ledger.h.
#include "frontend/replay/ledger.h"

#include "frontend/clock.h"

namespace stator::frontend {

namespace {
// Until when the calling thread's time was added to the purse, ns.
[[gnu::tls_model("initial-exec")]] thread_local constinit int64_t counted = -1;
}  // namespace

int64_t Purse::sum() const {
    return kEndowment + (computed_ - invested_) / kTimeShare + saved_ / kSavingsShare - invested_;
}

int64_t Purse::balance() {
    const int64_t now = thread_ns();
    if (counted >= 0) computed_ += now - counted;
    counted = now;
    looked_at_ = now_ns();
    return sum();
}

bool Purse::open() {
    const int64_t before = sum();
    if (looked_at_ != 0 && before > 0) return true;
    if (looked_at_ != 0 && before + (now_ns() - looked_at_) / kTimeShare <= 0) return false;
    return balance() > 0;
}

Purse& purse() {
    static Purse process;
    return process;
}

}  // namespace stator::frontend
