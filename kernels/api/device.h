// The door to a GPU: what replays ask of the jit library, which knows the driver. Plain values and function
// pointers; nothing here throws, and every failure is a text.
//
// Work of one device is done in the order of its stream. Memory is given back in that order, too, so that
// nothing has to wait for a kernel that still uses it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/source.h"

namespace stator::kernels {

using DevicePointer = uint64_t;
using DeviceStream = void*;  // of the driver; null: the legacy default stream

struct DeviceState;  // one GPU, opened; owned by the jit library for as long as the process lives

// The kernels of one trace, loaded into a device.
struct DeviceCode;

// Kernels on their way into a device: a compile thread publishes one of the two with release order.
struct DeviceSlot {
    std::atomic<bool> ready{false}, failed{false};
    std::shared_ptr<DeviceCode> code;  // once ready
    std::string error;                 // once failed
    bool settled() const {
        return ready.load(std::memory_order_acquire) || failed.load(std::memory_order_acquire);
    }
};

// What is worth knowing about a GPU before it is used.
struct DeviceInfo {
    std::string name, arch;  // arch: what kernels are compiled for, "sm_90"
    int multiprocessors = 0;
    int64_t memory_bytes = 0, l2_bytes = 0, shared_limit = 0;
    bool memory_pools = false;
};

// NVRTC and the driver, as they are found without opening a device.
struct CudaSurvey {
    std::string nvrtc_path, nvrtc_error;  // one of them is empty
    int nvrtc_major = 0, nvrtc_minor = 0;
    std::vector<int> archs;    // that NVRTC compiles for: 75, 80, ...
    std::string driver_error;  // why there is no device
    int driver_version = 0;    // 13000 for CUDA 13.0
    struct Device {
        std::string name;
        int major = 0, minor = 0;
        int64_t memory_bytes = 0;
    };
    std::vector<Device> devices;
};

// A kernel of code that was compiled before.
struct BinaryKernel {
    std::string name;
    int dynamic_shared = 0;  // bytes that launches will ask for
    std::vector<int> sizes;  // bytes of each parameter
};

struct DeviceApi {
    // Null with the reason.
    DeviceState* (*open)(int ordinal, std::string* error);
    // Compiles for the device (or finds in the cache) and loads all kernels of the source.
    std::shared_ptr<DeviceCode> (*load)(DeviceState*, const CudaSource&, const std::string& name,
                                        std::string* error);
    // The same on the compile thread: NVRTC takes 50 to 310 ms.
    void (*load_later)(DeviceState*, std::shared_ptr<const CudaSource>, const std::string& name,
                       std::shared_ptr<DeviceSlot>);
    GpuLimits (*limits)(DeviceState*);
    bool (*allocate)(DeviceState*, int64_t bytes, DeviceStream, DevicePointer* out, std::string* error);
    void (*release)(DeviceState*, DevicePointer, DeviceStream);
    bool (*copy_in)(DeviceState*, DevicePointer to, const void* from, int64_t bytes, DeviceStream,
                    std::string* error);
    // Complete when it returns, with all that came before it.
    bool (*copy_out)(DeviceState*, void* to, DevicePointer from, int64_t bytes, DeviceStream,
                     std::string* error);
    // `params` point to the values of the kernel's parameters, in their order.
    bool (*launch)(DeviceCode&, int kernel, const Launch&, void** params, DeviceStream, std::string* error);

    // For measurements and tests, which launch what f.cuda() made.
    void (*survey)(CudaSurvey&);
    DeviceInfo (*info)(DeviceState*);
    std::shared_ptr<DeviceCode> (*load_binary)(DeviceState*, const std::string& cubin, const std::string& ptx,
                                               const std::vector<BinaryKernel>&, std::string* error);
    bool (*copy)(DeviceState*, DevicePointer to, DevicePointer from, int64_t bytes, DeviceStream,
                 std::string* error);
    bool (*fill)(DeviceState*, DevicePointer to, uint8_t value, int64_t bytes, DeviceStream,
                 std::string* error);
    bool (*synchronize)(DeviceState*, DeviceStream, std::string* error);
    // Seconds of the device between what is put into the stream before and after `work`, which is waited for.
    bool (*timed)(DeviceState*, DeviceStream, bool (*work)(void* context, std::string* error), void* context,
                  double* seconds, std::string* error);
    // How many blocks of so many threads can run at the same time (Launch::together); 0 with the reason.
    int (*blocks_at_once)(DeviceCode&, int kernel, int threads, std::string* error);
};

}  // namespace stator::kernels
