// kernels/api/device.h by means of the CUDA driver and NVRTC.
#pragma once

#include "kernels/api/device.h"

namespace stator::jit {

const kernels::DeviceApi& cuda_device_api();

}  // namespace stator::jit
