// Opening libcuda and its devices; the frame of every call.
#include "jit/cuda/driver_table.h"

#include <dlfcn.h>

#include <algorithm>

#include <fmt/format.h>

#include "jit/core.h"
#include "jit/fork.h"

namespace stator::jit {
namespace {

constexpr int kOldestDriver = 12000;  // the functions of CUDA_FUNCTIONS, and cubins of NVRTC 12
constexpr const char* kUpdate = "install a driver of the 525 series or newer";
// Freed memory that a device's pool keeps for the next allocation.
constexpr uint64_t kPoolKeeps = uint64_t(1) << 30;

// CUresults after which a context answers nothing else: the device's state is undefined or it is gone.
constexpr int kSticky[] = {214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721};

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

CudaStatus problem(int code, std::string text) {
    CudaStatus s;
    s.code = code;
    s.text = std::move(text);
    return s;
}

}  // namespace

CudaDriver& cuda_driver_state() {
    static auto* driver = new CudaDriver;
    return *driver;
}

CudaStatus CudaDriver::failure(int code, const std::string& doing) const {
    const char *name = nullptr, *text = nullptr;
    if (call.GetErrorName) call.GetErrorName(code, &name);
    if (call.GetErrorString) call.GetErrorString(code, &text);
    return problem(code, (name ? std::string(name) : "CUDA error " + std::to_string(code)) + " while " +
                             doing + (text ? std::string(" (") + text + ")" : ""));
}

void CudaDriver::open_locked() {
    const std::string& wanted = options().cuda_driver;
    if (tried && opened_as == wanted) return;
    release_locked();
    tried = true;
    opened_as = wanted;
    call = {};
    version = 0;
    forked = false;
    status = {};
    const std::string path = wanted.empty() ? "libcuda.so.1" : wanted;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char* reason = dlerror();
        status = problem(CudaStatus::kNoDriver,
                         "there is no CUDA driver on this machine (" + std::string(reason ? reason : path) +
                             "): a GPU of NVIDIA's and its driver are needed to run kernels");
        return;
    }
    std::string missing;
#define F(name, symbol, parameters)                                          \
    call.name = reinterpret_cast<int(*) parameters>(dlsym(handle, #symbol)); \
    if (!call.name && missing.empty()) missing = #symbol;
    CUDA_FUNCTIONS(F)
#undef F
#define F(name, symbol, parameters) call.name = reinterpret_cast<int(*) parameters>(dlsym(handle, #symbol));
    CUDA_OPTIONAL_FUNCTIONS(F)
#undef F
    if (call.DriverGetVersion) call.DriverGetVersion(&version);
    if (!missing.empty() || version < kOldestDriver) {
        status = problem(CudaStatus::kOldDriver,
                         "the CUDA driver is too old: it supports CUDA " + version_text(version) + ", and " +
                             version_text(kOldestDriver) + " is needed" +
                             (missing.empty() ? "" : " (it has no " + missing + ")") + "; " + kUpdate);
        return;
    }
    if (const int code = call.Init(0)) {
        status = failure(code, "initializing CUDA");
        if (code == cuda::kNotInitialized)
            status.text +=
                "; in a child of fork() CUDA cannot be used when the parent did: use multiprocessing's "
                "'spawn' start method";
        return;
    }
    int count = 0;
    if (const int code = call.DeviceGetCount(&count)) {
        status = failure(code, "counting the GPUs");
        return;
    }
    if (count == 0)
        status =
            problem(CudaStatus::kNoDevice, "the CUDA driver finds no GPU (is CUDA_VISIBLE_DEVICES set?)");
    devices.resize(static_cast<size_t>(std::max(count, 0)));
}

void CudaDriver::release_locked() {
    for (const auto& device : devices)
        if (device && !forked) call.DevicePrimaryCtxRelease(device->handle_);
    devices.clear();
    tried = false;
}

void CudaDriver::describe(int handle, int ordinal, CudaDeviceInfo* out) const {
    CudaDeviceInfo& info = *out;
    info.ordinal = ordinal;
    char name[128] = "";
    size_t memory = 0;
    if (call.DeviceGetName(name, sizeof name, handle) == 0) info.name = name;
    if (call.DeviceTotalMem(&memory, handle) == 0) info.memory_bytes = static_cast<int64_t>(memory);
    const auto attribute = [&](int which) {
        int value = 0;
        return call.DeviceGetAttribute(&value, which, handle) == 0 ? value : 0;
    };
    info.major = attribute(cuda::kMajor);
    info.minor = attribute(cuda::kMinor);
    info.multiprocessors = attribute(cuda::kMultiprocessors);
    info.l2_bytes = attribute(cuda::kL2Bytes);
    info.shared_per_block = attribute(cuda::kSharedPerBlock);
    info.shared_per_block_optin = std::max(attribute(cuda::kSharedPerBlockOptin), info.shared_per_block);
    info.shared_per_multiprocessor = attribute(cuda::kSharedPerMultiprocessor);
    info.threads_per_multiprocessor = attribute(cuda::kThreadsPerMultiprocessor);
    info.registers_per_multiprocessor = attribute(cuda::kRegistersPerMultiprocessor);
    info.memory_pools = attribute(cuda::kMemoryPools) != 0;
    info.clusters = attribute(cuda::kClusterLaunch) != 0;
}

CudaStatus CudaDriver::open_device_locked(int ordinal) {
    auto device = std::make_unique<CudaDevice>();
    CudaDeviceInfo& info = device->info_;
    const auto doing = [&](const char* what) { return fmt::format("{} GPU {}", what, ordinal); };
    if (const int code = call.DeviceGet(&device->handle_, ordinal)) return failure(code, doing("opening"));
    describe(device->handle_, ordinal, &info);
    if (const int code = call.DevicePrimaryCtxRetain(&device->context_, device->handle_))
        return failure(code, doing("taking the primary context of"));
    if (info.memory_pools && call.DeviceGetDefaultMemPool(&device->pool_, device->handle_) == 0 &&
        device->pool_) {
        uint64_t keeps = kPoolKeeps;  // by default a pool gives everything back at each synchronization
        call.MemPoolSetAttribute(device->pool_, cuda::kPoolReleaseThreshold, &keeps);
    }
    devices[static_cast<size_t>(ordinal)] = std::move(device);
    return {};
}

CudaCall::CudaCall(CudaDevice& device)
    : driver_(cuda_driver_state()), device_(device), refusal_(device.status()) {
    if (!refusal_.ok()) return;
    void* current = nullptr;
    if (driver_.call.CtxGetCurrent(&current) == 0 && current == device.context_) return;
    if (const int code = driver_.call.CtxPushCurrent(device.context_))
        refusal_ = failed(code, "making the context current of GPU " + std::to_string(device.info_.ordinal));
    else
        pushed_ = true;
}

CudaCall::~CudaCall() {
    void* popped = nullptr;
    if (pushed_) driver_.call.CtxPopCurrent(&popped);
}

CudaStatus CudaCall::failed(int code, const std::string& doing) {
    CudaStatus s = driver_.failure(code, doing);
    if (std::find(std::begin(kSticky), std::end(kSticky), code) == std::end(kSticky)) return s;
    s.lost = true;
    {
        std::lock_guard lock(driver_.mutex);
        if (device_.lost_code_.load(std::memory_order_relaxed) != 0) return s;
        device_.lost_text_ = s.text;
        device_.lost_code_.store(code, std::memory_order_release);
    }
    // Without the lock: the log may wait for the GIL, and who holds the GIL for the lock.
    log_warning("GPU " + std::to_string(device_.info_.ordinal) +
                " cannot be used any more in this process: " + s.text);
    return s;
}

CudaStatus CudaDevice::status() const {
    if (cuda_driver_state().forked.load(std::memory_order_relaxed))
        return problem(
            CudaStatus::kForked,
            "this process was forked from one that uses CUDA, and cannot use what its parent opened: use "
            "multiprocessing's 'spawn' start method");
    const int code = lost_code_.load(std::memory_order_acquire);
    if (code == 0) return {};
    CudaStatus s = problem(code, "GPU " + std::to_string(info_.ordinal) +
                                     " cannot be used any more in this process since " + lost_text_);
    s.lost = true;
    return s;
}

CudaDevice* cuda_device(int ordinal, CudaStatus* status) {
    handle_fork();
    CudaDriver& driver = cuda_driver_state();
    std::lock_guard lock(driver.mutex);
    driver.open_locked();
    *status = driver.status;
    if (!status->ok()) return nullptr;
    if (ordinal < 0 || static_cast<size_t>(ordinal) >= driver.devices.size()) {
        *status =
            problem(CudaStatus::kNoDevice, "there is no GPU " + std::to_string(ordinal) +
                                               ", the driver finds " + std::to_string(driver.devices.size()));
        return nullptr;
    }
    auto& device = driver.devices[static_cast<size_t>(ordinal)];
    if (device)
        *status = device->status();
    else if (driver.forked)
        *status = CudaDevice().status();
    else
        *status = driver.open_device_locked(ordinal);
    return status->ok() ? device.get() : nullptr;
}

int cuda_device_count(CudaStatus* status) {
    handle_fork();
    CudaDriver& driver = cuda_driver_state();
    std::lock_guard lock(driver.mutex);
    driver.open_locked();
    *status = driver.status;
    return static_cast<int>(driver.devices.size());
}

std::vector<CudaDeviceInfo> cuda_devices(CudaStatus* status) {
    const int count = cuda_device_count(status);
    std::vector<CudaDeviceInfo> all;
    CudaDriver& driver = cuda_driver_state();
    std::lock_guard lock(driver.mutex);
    for (int i = 0; i < count && status->ok() && !driver.forked; ++i) {
        CudaDeviceInfo info;
        int handle = 0;
        if (const int code = driver.call.DeviceGet(&handle, i)) {
            *status = driver.failure(code, "opening GPU " + std::to_string(i));
            break;
        }
        driver.describe(handle, i, &info);
        all.push_back(std::move(info));
    }
    return all;
}

int cuda_driver_version(CudaStatus* status) {
    cuda_device_count(status);
    return cuda_driver_state().version;
}

CudaStatus cuda_driver_takes(int nvrtc_major, int nvrtc_minor) {
    CudaStatus status;
    const int version = cuda_driver_version(&status);
    // Within a major version, older drivers take the cubins of newer compilers.
    if (!status.ok() || version / 1000 >= nvrtc_major) return status;
    return problem(CudaStatus::kOldDriver,
                   "the CUDA driver supports CUDA " + version_text(version) + ", and NVRTC is of CUDA " +
                       std::to_string(nvrtc_major) + "." + std::to_string(nvrtc_minor) +
                       ": update the driver, or install the NVRTC of CUDA " + std::to_string(version / 1000) +
                       " (`pip install nvidia-cuda-nvrtc-cu" + std::to_string(version / 1000) + "`)");
}

void cuda_driver_before_fork() { cuda_driver_state().mutex.lock(); }

void cuda_driver_after_fork(bool child) {
    CudaDriver& driver = cuda_driver_state();
    if (child && driver.tried && driver.version) driver.forked = true;
    driver.mutex.unlock();
}

void reset_cuda_driver() {
    CudaDriver& driver = cuda_driver_state();
    std::lock_guard lock(driver.mutex);
    driver.release_locked();
}

}  // namespace stator::jit
