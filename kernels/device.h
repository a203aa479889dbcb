// The door to a GPU: what replays ask of the jit library, which knows the driver. Plain values and function
// pointers; nothing here throws, and every failure is a text.
//
// Work of one device is done in the order of its stream. Memory is given back in that order, too, so that
// nothing has to wait for a kernel that still uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda_source.h"

namespace stator::kernels {

using DevicePointer = uint64_t;
using DeviceStream = void*;  // of the driver; null: the legacy default stream

struct DeviceState;  // one GPU, opened; owned by the jit library for as long as the process lives

// The kernels of one trace, loaded into a device.
struct DeviceCode;

struct DeviceApi {
    // Null with the reason.
    DeviceState* (*open)(int ordinal, std::string* error);
    // Compiles for the device (or finds in the cache) and loads all kernels of the source.
    std::shared_ptr<DeviceCode> (*load)(DeviceState*, const CudaSource&, const std::string& name,
                                        std::string* error);
    int64_t (*shared_limit)(DeviceState*);  // bytes of shared memory a block may use
    bool (*allocate)(DeviceState*, int64_t bytes, DeviceStream, DevicePointer* out, std::string* error);
    void (*release)(DeviceState*, DevicePointer, DeviceStream);
    bool (*copy_in)(DeviceState*, DevicePointer to, const void* from, int64_t bytes, DeviceStream,
                    std::string* error);
    // Complete when it returns, with all that came before it.
    bool (*copy_out)(DeviceState*, void* to, DevicePointer from, int64_t bytes, DeviceStream,
                     std::string* error);
    // `params` point to the values of the kernel's parameters, in their order.
    bool (*launch)(DeviceCode&, int kernel, const Launch&, void** params, DeviceStream, std::string* error);
};

}  // namespace stator::kernels
