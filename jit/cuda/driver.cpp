// Modules, launches and memory. See jit/cuda/driver.h for the rules.
#include "jit/cuda/driver.h"

#include <algorithm>
#include <limits>

#include "jit/cuda/driver_table.h"

namespace stator::jit {
namespace {

constexpr int64_t kMaxGrid[] = {std::numeric_limits<int>::max(), 65535, 65535};
constexpr int kMaxThreads = 1024;

// The driver's reasons for not taking a cubin at all; with others (out of memory) its PTX would fail as well.
constexpr int kRefused[] = {cuda::kInvalidImage, cuda::kNoBinaryForGpu, cuda::kUnsupportedPtx,
                            cuda::kInvalidSource};

CudaStatus bad_launch(const std::string& text) {
    CudaStatus s;
    s.code = CudaStatus::kBadLaunch;
    s.text = text;
    return s;
}

std::string bytes_text(int64_t bytes, const char* what) {
    return std::string(what) + " " + std::to_string(bytes) + " bytes";
}

std::string list_text(const std::vector<int>& list) {
    std::string s;
    for (const int item : list) s += (s.empty() ? "" : ", ") + std::to_string(item);
    return s.empty() ? "0" : s;
}

// The function is asked for no more parameters than it is to have: what lies past the last one is an error of
// the driver's, which its tools report.
void read_parameters(const CudaTable& table, size_t count, CudaFunction& f) {
    if (!table.FuncGetParamInfo) return;
    size_t offset = 0, size = 0;
    for (size_t i = 0; i < count && table.FuncGetParamInfo(f.handle, i, &offset, &size) == 0; ++i)
        f.parameters.push_back(static_cast<int>(size));
    f.knows_parameters = true;
}

}  // namespace

std::shared_ptr<CudaModule> CudaModule::load(CudaDevice& device, std::string_view cubin,
                                             const std::string& ptx, CudaStatus* status) {
    CudaCall call(device);
    *status = call.refusal();
    if (!call.ready()) return nullptr;
    void* handle = nullptr;
    int code = cuda::kNoBinaryForGpu;
    if (!cubin.empty()) code = call.table().ModuleLoadDataEx(&handle, cubin.data(), 0, nullptr, nullptr);
    const bool refused = std::find(std::begin(kRefused), std::end(kRefused), code) != std::end(kRefused);
    if (!refused || ptx.empty()) {
        *status = call.result(code, [] { return std::string("loading a cubin"); });
        return status->ok() ? std::shared_ptr<CudaModule>(new CudaModule(device, handle, false)) : nullptr;
    }
    char log[4096] = "";
    int names[] = {cuda::kJitErrorLog, cuda::kJitErrorLogBytes};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    code = call.table().ModuleLoadDataEx(&handle, ptx.c_str(), 2, names, values);
    log[sizeof log - 1] = '\0';
    *status = call.result(
        code, [&] { return std::string("compiling PTX") + (*log ? std::string(": ") + log : ""); });
    return status->ok() ? std::shared_ptr<CudaModule>(new CudaModule(device, handle, true)) : nullptr;
}

CudaModule::~CudaModule() {
    CudaCall call(device_);
    // Of a lost device and of a forked parent nothing can be unloaded; when the process ends, the driver did
    // it.
    if (call.ready())
        call.result(call.table().ModuleUnload(handle_), [] { return std::string("unloading a module"); });
}

CudaStatus CudaModule::function(const char* name, int dynamic_shared, const std::vector<int>& parameters,
                                CudaFunction* out) const {
    CudaCall call(device_);
    if (!call.ready()) return call.refusal();
    const CudaTable& table = call.table();
    CudaFunction f;
    if (const int code = table.ModuleGetFunction(&f.handle, handle_, name))
        return call.result(code, [&] { return std::string("looking for kernel '") + name + "'"; });
    const auto attribute = [&](int which) {
        int value = 0;
        return table.FuncGetAttribute(&value, which, f.handle) == 0 ? value : 0;
    };
    f.registers = attribute(cuda::kFunctionRegisters);
    f.static_shared = attribute(cuda::kFunctionStaticShared);
    f.local_bytes = attribute(cuda::kFunctionLocalBytes);
    f.max_threads = attribute(cuda::kFunctionMaxThreads);
    read_parameters(table, parameters.size(), f);
    if (f.knows_parameters && f.parameters != parameters)
        return bad_launch(std::string("kernel '") + name + "' has parameters of " + list_text(f.parameters) +
                          " bytes, and is to be launched with " + list_text(parameters));
    const CudaDeviceInfo& info = device_.info();
    if (dynamic_shared == kAllShared)
        dynamic_shared = std::max(info.shared_per_block_optin - f.static_shared, 0);
    const int64_t wanted = int64_t(f.static_shared) + dynamic_shared;
    if (wanted > info.shared_per_block_optin)
        return bad_launch(std::string("kernel '") + name + "' needs " + std::to_string(wanted) +
                          " bytes of shared memory, and GPU " + std::to_string(info.ordinal) + " has " +
                          std::to_string(info.shared_per_block_optin) + " for a block");
    f.dynamic_shared = std::max(info.shared_per_block - f.static_shared, 0);
    if (dynamic_shared > f.dynamic_shared) {
        if (const int code =
                table.FuncSetAttribute(f.handle, cuda::kFunctionMaxDynamicShared, dynamic_shared))
            return call.result(code,
                               [&] { return bytes_text(dynamic_shared, "asking for shared memory of"); });
        f.dynamic_shared = dynamic_shared;
    }
    *out = f;
    return {};
}

CudaStatus CudaModule::launch(const CudaFunction& function, const CudaLaunch& l, void** parameters) const {
    const int64_t threads = int64_t(l.block[0]) * l.block[1] * l.block[2];
    for (int i = 0; i < 3; ++i) {
        if (l.grid[i] == 0) return {};
        if (l.grid[i] < 0 || l.grid[i] > kMaxGrid[i])
            return bad_launch("a grid has at most 2147483647 x 65535 x 65535 blocks, not " +
                              std::to_string(l.grid[i]) + " along axis " + std::to_string(i));
    }
    if (threads < 1 ||
        threads > std::min(function.max_threads ? function.max_threads : kMaxThreads, kMaxThreads))
        return bad_launch("a block of this kernel has 1 to " +
                          std::to_string(function.max_threads ? function.max_threads : kMaxThreads) +
                          " threads, not " + std::to_string(threads));
    if (l.shared_bytes > function.dynamic_shared)
        return bad_launch("a launch with " + std::to_string(l.shared_bytes) +
                          " bytes of dynamic shared memory, of " + std::to_string(function.dynamic_shared) +
                          " that the kernel was prepared for");
    CudaCall call(device_);
    if (!call.ready()) return call.refusal();
    const auto grid = [&](int i) { return static_cast<unsigned>(l.grid[i]); };
    const auto block = [&](int i) { return static_cast<unsigned>(l.block[i]); };
    const auto shared = static_cast<unsigned>(l.shared_bytes);
    int code = 0;
    if (l.together) {
        code = call.table().LaunchCooperativeKernel(function.handle, grid(0), grid(1), grid(2), block(0),
                                                    block(1), block(2), shared, l.stream, parameters);
    } else if (l.cluster <= 1) {
        code = call.table().LaunchKernel(function.handle, grid(0), grid(1), grid(2), block(0), block(1),
                                         block(2), shared, l.stream, parameters, nullptr);
    } else {
        cuda::LaunchAttribute cluster{};
        cluster.id = cuda::kLaunchClusterDimension;
        cluster.cluster[0] = static_cast<unsigned>(l.cluster);
        cluster.cluster[1] = cluster.cluster[2] = 1;
        const cuda::LaunchConfig config = {
            {grid(0), grid(1), grid(2)}, {block(0), block(1), block(2)}, shared, l.stream, &cluster, 1};
        code = call.table().LaunchKernelEx(&config, function.handle, parameters, nullptr);
    }
    return call.result(code, [] { return std::string("launching a kernel"); });
}

CudaStatus CudaModule::blocks_at_once(const CudaFunction& function, int threads, int* out) const {
    CudaCall call(device_);
    *out = 0;
    if (!call.ready()) return call.refusal();
    const int code = call.table().BlocksPerMultiprocessor(out, function.handle, threads, 0);
    *out *= device_.info().multiprocessors;
    return call.result(code, [] { return std::string("asking how many blocks fit"); });
}

CudaStatus CudaDevice::allocate(int64_t bytes, CudaStream stream, DevicePointer* out) {
    *out = 0;
    if (bytes <= 0) return status();
    CudaCall call(*this);
    if (!call.ready()) return call.refusal();
    const CudaTable& table = call.table();
    const auto size = static_cast<size_t>(bytes);
    const auto attempt = [&] {
        return pool_ ? table.MemAllocAsync(out, size, stream) : table.MemAlloc(out, size);
    };
    int code = attempt();
    if (code == CudaStatus::kOutOfMemory && pool_) {
        // What the pool keeps may be in pieces that are too small; given back, it can be one.
        table.StreamSynchronize(stream);
        table.MemPoolTrimTo(pool_, 0);
        code = attempt();
    }
    if (code) *out = 0;
    return call.result(code, [&] { return bytes_text(bytes, "allocating"); });
}

CudaStatus CudaDevice::release(DevicePointer pointer, CudaStream stream) {
    if (pointer == 0) return {};
    CudaCall call(*this);
    if (!call.ready()) return call.refusal();
    const int code = pool_ ? call.table().MemFreeAsync(pointer, stream) : call.table().MemFree(pointer);
    return call.result(code, [] { return std::string("freeing device memory"); });
}

// A call that moves bytes; of none nothing is asked.
#define STATOR_TRANSFER(what, ...)                                 \
    if (bytes <= 0) return status();                               \
    CudaCall call(*this);                                          \
    if (!call.ready()) return call.refusal();                      \
    [[maybe_unused]] const auto size = static_cast<size_t>(bytes); \
    return call.result(call.table().__VA_ARGS__, [&] { return bytes_text(bytes, what); });

CudaStatus CudaDevice::copy_in(DevicePointer to, const void* from, int64_t bytes, CudaStream stream){
    STATOR_TRANSFER("copying to the GPU", MemcpyHtoDAsync(to, from, size, stream))} CudaStatus
    CudaDevice::copy_out(void* to, DevicePointer from, int64_t bytes, CudaStream stream){
        STATOR_TRANSFER("copying from the GPU", MemcpyDtoHAsync(to, from, size, stream))} CudaStatus
    CudaDevice::copy(DevicePointer to, DevicePointer from, int64_t bytes, CudaStream stream){
        STATOR_TRANSFER("copying on the GPU", MemcpyDtoDAsync(to, from, size, stream))} CudaStatus
    CudaDevice::fill(DevicePointer to, uint8_t value, int64_t bytes,
                     CudaStream stream){STATOR_TRANSFER("filling", MemsetD8Async(to, value, size, stream))}

CudaStatus CudaDevice::synchronize(CudaStream stream) {
    CudaCall call(*this);
    if (!call.ready()) return call.refusal();
    return call.result(call.table().StreamSynchronize(stream),
                       [] { return std::string("waiting for a stream"); });
}

CudaStatus CudaDevice::create_stream(CudaStream* out) {
    CudaCall call(*this);
    if (!call.ready()) return call.refusal();
    return call.result(call.table().StreamCreate(out, cuda::kStreamNonBlocking),
                       [] { return std::string("making a stream"); });
}

CudaStatus CudaDevice::destroy_stream(CudaStream stream) {
    CudaCall call(*this);
    if (!call.ready()) return call.refusal();
    return call.result(call.table().StreamDestroy(stream), [] { return std::string("destroying a stream"); });
}

CudaStatus CudaDevice::create_event(CudaEvent* out) {
    CudaCall call(*this);
    if (!call.ready()) return call.refusal();
    return call.result(call.table().EventCreate(out, 0), [] { return std::string("making an event"); });
}

CudaStatus CudaDevice::record_event(CudaEvent event, CudaStream stream) {
    CudaCall call(*this);
    if (!call.ready()) return call.refusal();
    return call.result(call.table().EventRecord(event, stream),
                       [] { return std::string("recording an event"); });
}

CudaStatus CudaDevice::wait_for_event(CudaEvent event) {
    CudaCall call(*this);
    if (!call.ready()) return call.refusal();
    return call.result(call.table().EventSynchronize(event),
                       [] { return std::string("waiting for an event"); });
}

CudaStatus CudaDevice::seconds_between(CudaEvent first, CudaEvent second, double* seconds) {
    CudaCall call(*this);
    if (!call.ready()) return call.refusal();
    float milliseconds = 0;
    const int code = call.table().EventElapsedTime(&milliseconds, first, second);
    *seconds = 1e-3 * static_cast<double>(milliseconds);
    return call.result(code, [] { return std::string("reading the time between two events"); });
}

CudaStatus CudaDevice::destroy_event(CudaEvent event) {
    CudaCall call(*this);
    if (!call.ready()) return call.refusal();
    return call.result(call.table().EventDestroy(event), [] { return std::string("destroying an event"); });
}

}  // namespace stator::jit
