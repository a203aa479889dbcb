// The CUDA driver: devices, modules, launches, memory.
//
// libcuda is opened when the first device is asked for; nothing of NVIDIA's is needed to build. Every failure
// is a value, `CudaStatus`; nothing here throws, exits or synchronizes, but for synchronize() and, when
// memory is short, allocate().
//
// Rules. A device's context is its primary one, which is also CuPy's and PyTorch's; it is made current for
// the length of a call and what was current before is restored. A device that reported a sticky error
// (illegal address, failed launch, hardware) is lost: whatever is asked of it later answers at once with the
// first error. A child of fork() must not use what its parent opened, and is told so. Devices are never
// destroyed; modules are unloaded in their own context.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stator::jit {

using CudaStream = void*;  // null: the legacy default stream
using CudaEvent = void*;
using DevicePointer = uint64_t;

struct CudaStatus {
    // The driver's own codes are positive.
    enum Code { kOk = 0, kNoDriver = -1, kOldDriver = -2, kForked = -3, kBadLaunch = -4, kNoDevice = -5 };
    static constexpr int kOutOfMemory = 2;

    int code = kOk;
    bool lost = false;  // the device cannot be used any more in this process
    std::string text;   // what was attempted, the driver's name of the error, what to do

    bool ok() const { return code == kOk; }
};

struct CudaDeviceInfo {
    int ordinal = 0;
    std::string name;
    int major = 0, minor = 0;  // compute capability
    int multiprocessors = 0;
    int64_t memory_bytes = 0, l2_bytes = 0;
    int shared_per_block = 0;        // bytes without asking for more
    int shared_per_block_optin = 0;  // bytes after allow_dynamic_shared
    int shared_per_multiprocessor = 0;
    int threads_per_multiprocessor = 0;
    int registers_per_multiprocessor = 0;
    bool memory_pools = false, clusters = false;
};

class CudaDevice {
  public:
    const CudaDeviceInfo& info() const { return info_; }
    void* context() const { return context_; }  // CUcontext

    // `stream` orders the allocation with what uses it. Memory of size 0 is a null pointer.
    CudaStatus allocate(int64_t bytes, CudaStream stream, DevicePointer* out);
    CudaStatus release(DevicePointer pointer, CudaStream stream);
    CudaStatus copy_in(DevicePointer to, const void* from, int64_t bytes, CudaStream stream);
    // Pageable memory is complete when this returns; pinned memory after synchronize().
    CudaStatus copy_out(void* to, DevicePointer from, int64_t bytes, CudaStream stream);
    CudaStatus copy(DevicePointer to, DevicePointer from, int64_t bytes, CudaStream stream);
    CudaStatus fill(DevicePointer to, uint8_t value, int64_t bytes, CudaStream stream);
    CudaStatus synchronize(CudaStream stream);
    CudaStatus create_stream(CudaStream* out);  // one that does not wait for the default stream
    CudaStatus destroy_stream(CudaStream stream);
    // Marks in a stream, between which the device measures time.
    CudaStatus create_event(CudaEvent* out);
    CudaStatus record_event(CudaEvent event, CudaStream stream);
    CudaStatus wait_for_event(CudaEvent event);
    // Both must have been waited for.
    CudaStatus seconds_between(CudaEvent first, CudaEvent second, double* seconds);
    CudaStatus destroy_event(CudaEvent event);

    CudaStatus status() const;  // ok, or why the device cannot be used (lost, forked)

  private:
    friend struct CudaDriver;
    friend class CudaModule;
    friend class CudaCall;

    CudaDeviceInfo info_;
    int handle_ = 0;  // CUdevice
    void* context_ = nullptr;
    void* pool_ = nullptr;  // CUmemoryPool; null: cuMemAlloc
    std::atomic<int> lost_code_{0};
    std::string lost_text_;  // written before lost_code_
};

// The device with this ordinal, opened; null with the reason.
CudaDevice* cuda_device(int ordinal, CudaStatus* status);
int cuda_device_count(CudaStatus* status);
// Name, memory and capability of each; opens none.
std::vector<CudaDeviceInfo> cuda_devices(CudaStatus* status);
int cuda_driver_version(CudaStatus* status);  // 13000 for CUDA 13.0; 0 with the reason
// Whether the driver can load cubins of an NVRTC of this version.
CudaStatus cuda_driver_takes(int nvrtc_major, int nvrtc_minor);

struct CudaFunction {
    void* handle = nullptr;  // CUfunction; valid while its module is
    int registers = 0;
    int static_shared = 0, local_bytes = 0, max_threads = 0;
    int dynamic_shared = 0;         // bytes it may be launched with
    std::vector<int> parameters;    // bytes of each
    bool knows_parameters = false;  // drivers older than CUDA 12.4 do not tell
};

struct CudaLaunch {
    int64_t grid[3] = {1, 1, 1};
    int block[3] = {1, 1, 1};
    int cluster = 1;        // blocks of one cluster along x
    bool together = false;  // all blocks are on the device at once (no cluster then)
    int shared_bytes = 0;
    CudaStream stream = nullptr;
};

// Code loaded into a device's context; unloaded when dropped.
class CudaModule {
  public:
    // The cubin, or where the driver refuses it the PTX, which the driver then compiles. Null with the
    // reason.
    static std::shared_ptr<CudaModule> load(CudaDevice& device, std::string_view cubin,
                                            const std::string& ptx, CudaStatus* status);
    CudaModule(const CudaModule&) = delete;
    ~CudaModule();

    static constexpr int kAllShared = -1;  // what the device has beside the kernel's static memory

    CudaDevice& device() const { return device_; }
    bool from_ptx() const { return from_ptx_; }

    // `dynamic_shared`: bytes of dynamic shared memory that launches will ask for, or kAllShared.
    // `parameters`: the bytes of each that they will pass, compared with the kernel's where the driver tells;
    // launching cannot check them.
    CudaStatus function(const char* name, int dynamic_shared, const std::vector<int>& parameters,
                        CudaFunction* out) const;
    // An empty grid is no launch. `parameters` point to the kernel's parameters, in order.
    CudaStatus launch(const CudaFunction& function, const CudaLaunch& launch, void** parameters) const;
    // How many blocks of so many threads the whole device holds at once, without dynamic shared memory.
    CudaStatus blocks_at_once(const CudaFunction& function, int threads, int* out) const;

  private:
    CudaModule(CudaDevice& device, void* handle, bool from_ptx)
        : device_(device), handle_(handle), from_ptx_(from_ptx) {}

    CudaDevice& device_;
    void* handle_;  // CUmodule
    bool from_ptx_;
};

void cuda_driver_before_fork();
void cuda_driver_after_fork(bool child);

// For tests: releases the primary contexts and forgets the library.
void reset_cuda_driver();

}  // namespace stator::jit
