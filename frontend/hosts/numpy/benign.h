// Whether a floating-point fault can do no more than report.
#pragma once

#include <cstdint>

namespace stator::frontend::numpy {

// True: with np.errstate and the warnings filters as they are now, none of these faults (kernels::Fault) can
// become an exception. Then it makes no difference to the program whether a store happens before a fault of
// its value is reported or after. Asks NumPy when the error state has changed; sets no error.
bool faults_only_report(uint32_t faults);

}  // namespace stator::frontend::numpy
