// See tier0/host_call.h.
#include "kernels/tier0/host_call.h"

#include "kernels/tier0/flags.h"

namespace stator::kernels {

extern "C" uint32_t stator_host_call(const HostLoop* loop, char** args, int64_t n, const int64_t* strides,
                                     uint32_t mask) {
    uint32_t faults = tier0::read_faults();
    if (faults) tier0::clear_flags();
    loop->fn(args, &n, strides, loop->data);
    if (uint32_t raised = tier0::read_faults()) {
        faults |= raised & mask;
        tier0::clear_flags();
    }
    return faults;
}

extern "C" uint32_t stator_x87_faults() {
    const unsigned flags = tier0::x87_flags();
    if (!flags) return 0;
    asm volatile("fnclex");
    return tier0::faults_of(flags);
}

}  // namespace stator::kernels
