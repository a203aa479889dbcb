// The functions of libcuda that stator calls, and the numbers it passes, declared by hand because NVIDIA's
// header is not at hand where stator is built. Names with _v2 are the current ABI of functions that had
// another one before 2011.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "jit/cuda/driver.h"

namespace stator::jit {

namespace cuda {

// CUresult, as far as something depends on it.
constexpr int kNotInitialized = 3, kDeinitialized = 4, kNoDeviceFound = 100, kInvalidImage = 200,
              kInvalidContext = 201, kNoBinaryForGpu = 209, kUnsupportedPtx = 222, kInvalidSource = 300,
              kNotFound = 500, kNotSupported = 801;

// CUdevice_attribute.
constexpr int kSharedPerBlock = 8, kMultiprocessors = 16, kL2Bytes = 38, kThreadsPerMultiprocessor = 39,
              kMajor = 75, kMinor = 76, kSharedPerMultiprocessor = 81, kRegistersPerMultiprocessor = 82,
              kSharedPerBlockOptin = 97, kMemoryPools = 115, kClusterLaunch = 120;

// CUfunction_attribute.
constexpr int kFunctionMaxThreads = 0, kFunctionStaticShared = 1, kFunctionLocalBytes = 3,
              kFunctionRegisters = 4, kFunctionMaxDynamicShared = 8;

// CUjit_option.
constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;
constexpr int kPoolReleaseThreshold = 4;    // CUmemPool_attribute
constexpr unsigned kStreamNonBlocking = 1;  // CUstream_flags
constexpr int kLaunchClusterDimension = 4;  // CUlaunchAttributeID

struct LaunchAttribute {  // CUlaunchAttribute
    int id;
    int padding;
    union {
        unsigned cluster[3];
        char bytes[64];
    };
};
struct LaunchConfig {  // CUlaunchConfig
    unsigned grid[3], block[3];
    unsigned shared_bytes;
    CudaStream stream;
    LaunchAttribute* attributes;
    unsigned attribute_count;
};

}  // namespace cuda

struct CudaTable {
    // What every driver has that stator can use (CUDA 12.0).
#define CUDA_FUNCTIONS(F)                                                                                \
    F(Init, cuInit, (unsigned))                                                                          \
    F(DriverGetVersion, cuDriverGetVersion, (int*))                                                      \
    F(GetErrorName, cuGetErrorName, (int, const char**))                                                 \
    F(GetErrorString, cuGetErrorString, (int, const char**))                                             \
    F(DeviceGetCount, cuDeviceGetCount, (int*))                                                          \
    F(DeviceGet, cuDeviceGet, (int*, int))                                                               \
    F(DeviceGetName, cuDeviceGetName, (char*, int, int))                                                 \
    F(DeviceTotalMem, cuDeviceTotalMem_v2, (size_t*, int))                                               \
    F(DeviceGetAttribute, cuDeviceGetAttribute, (int*, int, int))                                        \
    F(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (void**, int))                                   \
    F(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (int))                                      \
    F(CtxGetCurrent, cuCtxGetCurrent, (void**))                                                          \
    F(CtxPushCurrent, cuCtxPushCurrent_v2, (void*))                                                      \
    F(CtxPopCurrent, cuCtxPopCurrent_v2, (void**))                                                       \
    F(ModuleLoadDataEx, cuModuleLoadDataEx, (void**, const void*, unsigned, int*, void**))               \
    F(ModuleUnload, cuModuleUnload, (void*))                                                             \
    F(ModuleGetFunction, cuModuleGetFunction, (void**, void*, const char*))                              \
    F(FuncGetAttribute, cuFuncGetAttribute, (int*, int, void*))                                          \
    F(FuncSetAttribute, cuFuncSetAttribute, (void*, int, int))                                           \
    F(LaunchKernel, cuLaunchKernel,                                                                      \
      (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CudaStream, void**,  \
       void**))                                                                                          \
    F(LaunchKernelEx, cuLaunchKernelEx, (const cuda::LaunchConfig*, void*, void**, void**))              \
    F(LaunchCooperativeKernel, cuLaunchCooperativeKernel,                                                \
      (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CudaStream, void**)) \
    F(BlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor, (int*, void*, int, size_t))  \
    F(StreamSynchronize, cuStreamSynchronize, (CudaStream))                                              \
    F(StreamCreate, cuStreamCreate, (CudaStream*, unsigned))                                             \
    F(StreamDestroy, cuStreamDestroy_v2, (CudaStream))                                                   \
    F(EventCreate, cuEventCreate, (CudaEvent*, unsigned))                                                \
    F(EventRecord, cuEventRecord, (CudaEvent, CudaStream))                                               \
    F(EventSynchronize, cuEventSynchronize, (CudaEvent))                                                 \
    F(EventElapsedTime, cuEventElapsedTime, (float*, CudaEvent, CudaEvent))                              \
    F(EventDestroy, cuEventDestroy_v2, (CudaEvent))                                                      \
    F(MemAlloc, cuMemAlloc_v2, (DevicePointer*, size_t))                                                 \
    F(MemFree, cuMemFree_v2, (DevicePointer))                                                            \
    F(MemAllocAsync, cuMemAllocAsync, (DevicePointer*, size_t, CudaStream))                              \
    F(MemFreeAsync, cuMemFreeAsync, (DevicePointer, CudaStream))                                         \
    F(DeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, (void**, int))                                 \
    F(MemPoolSetAttribute, cuMemPoolSetAttribute, (void*, int, void*))                                   \
    F(MemPoolTrimTo, cuMemPoolTrimTo, (void*, size_t))                                                   \
    F(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (DevicePointer, const void*, size_t, CudaStream))           \
    F(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void*, DevicePointer, size_t, CudaStream))                 \
    F(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (DevicePointer, DevicePointer, size_t, CudaStream))         \
    F(MemsetD8Async, cuMemsetD8Async, (DevicePointer, unsigned char, size_t, CudaStream))
    // Null in drivers older than what is named.
#define CUDA_OPTIONAL_FUNCTIONS(F) \
    F(FuncGetParamInfo, cuFuncGetParamInfo, (void*, size_t, size_t*, size_t*)) /* CUDA 12.4 */
#define F(name, symbol, parameters) int(*name) parameters = nullptr;
    CUDA_FUNCTIONS(F)
    CUDA_OPTIONAL_FUNCTIONS(F)
#undef F
};

// The library and the devices; one for the process.
struct CudaDriver {
    std::mutex mutex;  // of opening
    CudaTable call;
    CudaStatus status;  // of the library
    int version = 0;
    bool tried = false;
    std::string opened_as;  // the option `cuda_driver` then in force
    std::atomic<bool> forked{false};
    std::vector<std::unique_ptr<CudaDevice>> devices;  // by ordinal; null: not opened yet

    void open_locked();
    CudaStatus open_device_locked(int ordinal);
    void describe(int handle, int ordinal, CudaDeviceInfo* out) const;
    void release_locked();
    // Names the error as the driver does. `doing` reads "launching 'kernel'".
    CudaStatus failure(int code, const std::string& doing) const;
};
CudaDriver& cuda_driver_state();

// One call into a device's context: refuses when the device cannot be used, makes the context current,
// restores what was current, and remembers sticky errors.
class CudaCall {
  public:
    explicit CudaCall(CudaDevice& device);
    CudaCall(const CudaCall&) = delete;
    ~CudaCall();

    const CudaTable& table() const { return driver_.call; }
    bool ready() const { return refusal_.ok(); }
    CudaStatus refusal() const { return refusal_; }
    // The status of a driver call that returned `code`.
    template <class Doing>
    CudaStatus result(int code, Doing doing) {
        return code == 0 ? CudaStatus{} : failed(code, doing());
    }

  private:
    CudaStatus failed(int code, const std::string& doing);

    CudaDriver& driver_;
    CudaDevice& device_;
    CudaStatus refusal_;
    bool pushed_ = false;
};

}  // namespace stator::jit
