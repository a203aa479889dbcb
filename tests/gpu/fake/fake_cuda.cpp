// libfakecuda.so: the driver's functions that stator calls, except for modules and launches
// (fake_module.cpp).
#include <cstring>

#include "fake_state.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace fake {
namespace {

struct ErrorText {
    int code;
    const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {kUnsupportedPtx, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kTooManyBlocks, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
};

Device* device_at(int ordinal) {
    auto& devices = state().devices;
    return ordinal >= 0 && static_cast<size_t>(ordinal) < devices.size() && ordinal < state().device_count
               ? devices[static_cast<size_t>(ordinal)].get()
               : nullptr;
}

int allocate_memory(Entry& e, uint64_t* out, size_t bytes, void* stream, bool async, const char* name) {
    State& s = state();
    if (e.early) return e.early;
    if (!out || bytes == 0) {
        s.violate(std::string(name) + ": an allocation of 0 bytes");
        return kInvalidValue;
    }
    Stream* on = async ? s.stream(stream, *e.device, name) : nullptr;
    if (async && !on) return kInvalidHandle;
    if (e.device->used + bytes > s.memory_bytes) return kOutOfMemory;
    char* p = shim::allocate(bytes, 256, 0, false, e.device->ordinal);
    if (!p) return kOutOfMemory;
    shim::set_access(*shim::find_block(p), false);
    e.device->used += bytes;
    Allocation a{e.device, bytes, async};
    if (on) a.last = on, a.last_use = ++s.clock;
    s.memory[reinterpret_cast<uint64_t>(p)] = a;
    *out = reinterpret_cast<uint64_t>(p);
    return kSuccess;
}

int free_memory(Entry& e, uint64_t address, void* stream, bool async, const char* name) {
    State& s = state();
    if (e.early) return e.early;
    const auto refuse = [&](const char* what) {
        s.violate(std::string(name) + ": " + what);
        return kInvalidValue;
    };
    const auto it = s.memory.find(address);
    if (it == s.memory.end()) return refuse("not the address of an allocation");
    Allocation& a = it->second;
    if (!a.live) return refuse("the memory was freed before");
    if (async && !a.async) return refuse("the memory is not of cuMemAllocAsync");
    if (!async && a.device != e.device)
        return refuse("the memory is of another device than the current context");
    if (async) {
        Stream* on = s.stream(stream, *e.device, name);
        if (!on) return kInvalidHandle;
        s.use(a, *on, name);
        on->freed = ++s.clock;
    }
    a.live = false;
    a.device->used -= a.size;
    shim::release(reinterpret_cast<char*>(address));
    return kSuccess;
}

// The allocation that holds all of these bytes; null with a violation.
Allocation* range(uint64_t address, size_t bytes, const char* name) {
    State& s = state();
    Allocation* a = s.allocation(address);
    const char* problem = !a         ? "the address is not of device memory"
                          : !a->live ? "the memory was freed before"
                                     : nullptr;
    if (!problem && !shim::describe(reinterpret_cast<void*>(address), bytes, false).empty())
        problem = "it goes beyond the allocation's end";
    if (problem) s.violate(std::string(name) + ": " + problem);
    return problem ? nullptr : a;
}

// Does `work` with the memory of both operands open.
template <class Work>
int transfer(Entry& e, const char* name, void* stream, size_t bytes, uint64_t to, uint64_t from, Work work) {
    if (e.early) return e.early;
    State& s = state();
    Stream* on = s.stream(stream, *e.device, name);
    if (!on) return kInvalidHandle;
    std::vector<const shim::Block*> blocks;
    for (const uint64_t address : {to, from}) {
        if (!address || (s.unified && !s.allocation(address))) continue;
        Allocation* a = range(address, bytes, name);
        if (!a) return kInvalidValue;
        s.use(*a, *on, name);
        blocks.push_back(shim::find_block(reinterpret_cast<void*>(address)));
    }
    for (const shim::Block* block : blocks) shim::set_access(*block, true);
    work();
    for (const shim::Block* block : blocks) shim::set_access(*block, false);
    return kSuccess;
}

}  // namespace
}  // namespace fake

using namespace fake;

EXPORT int cuInit(unsigned flags) {
    Entry e("cuInit", false);
    if (e.early) return e.early;
    State& s = state();
    while (static_cast<int>(s.devices.size()) < s.device_count) {
        auto d = std::make_unique<Device>();
        d->ordinal = static_cast<int>(s.devices.size());
        d->context.device = d->default_stream.device = d->per_thread_stream.device = d.get();
        s.devices.push_back(std::move(d));
    }
    s.initialized = true;
    return flags == 0 ? kSuccess : kInvalidValue;
}
EXPORT int cuDriverGetVersion(int* version) {
    Entry e("cuDriverGetVersion", false);
    *version = state().version;
    return e.early;
}
EXPORT int cuGetErrorName(int code, const char** name) {
    for (const ErrorText& error : kErrors)
        if (error.code == code) return *name = error.name, kSuccess;
    return *name = nullptr, kInvalidValue;
}
EXPORT int cuGetErrorString(int code, const char** text) {
    for (const ErrorText& error : kErrors)
        if (error.code == code) return *text = error.text, kSuccess;
    return *text = nullptr, kInvalidValue;
}
EXPORT int cuDeviceGetCount(int* count) {
    Entry e("cuDeviceGetCount");
    *count = state().device_count;
    return e.early;
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
    Entry e("cuDeviceGet");
    if (e.early) return e.early;
    *device = ordinal;
    return device_at(ordinal) ? kSuccess : kInvalidDevice;
}
EXPORT int cuDeviceGetName(char* name, int room, int device) {
    Entry e("cuDeviceGetName");
    std::snprintf(name, static_cast<size_t>(room), "Fake GPU %d", device);
    return e.early;
}
EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int) {
    Entry e("cuDeviceTotalMem");
    *bytes = state().memory_bytes;
    return e.early;
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
    Entry e("cuDeviceGetAttribute");
    if (e.early) return e.early;
    if (!device_at(device)) return kInvalidDevice;
    const State& s = state();
    switch (attribute) {
        case 1: *value = 1024; break;
        case 8: *value = 48 << 10; break;
        case 10: *value = 32; break;
        case 12:
        case 82: *value = 65536; break;
        case 16: *value = kMultiprocessors; break;
        case 38: *value = 4 << 20; break;
        case 39: *value = 2048; break;
        case 75: *value = s.major; break;
        case 76: *value = s.minor; break;
        case 81: *value = (s.major >= 9 ? 228 : 164) << 10; break;
        case 97: *value = (s.major >= 9 ? 227 : 163) << 10; break;
        case 115: *value = s.pools; break;
        case 120: *value = s.major >= 9; break;
        default: *value = 0;
    }
    return kSuccess;
}

EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
    Entry e("cuDevicePrimaryCtxRetain");
    if (e.early) return e.early;
    Device* d = device_at(device);
    if (!d) return kInvalidDevice;
    ++d->context.retained;
    *context = &d->context;
    return kSuccess;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
    Entry e("cuDevicePrimaryCtxRelease");
    Device* d = device_at(device);
    if (e.early || !d) return e.early ? e.early : kInvalidDevice;
    if (d->context.retained == 0) {
        state().violate("cuDevicePrimaryCtxRelease: the context was not retained");
        return kInvalidContext;
    }
    if (--d->context.retained == 0)
        for (const auto& [handle, m] : state().modules)
            if (m->live && m->device == d)
                state().violate("cuDevicePrimaryCtxRelease: a module is still loaded");
    return kSuccess;
}
EXPORT int cuCtxGetCurrent(void** context) {
    Entry e("cuCtxGetCurrent");
    *context = context_stack().empty() ? nullptr : context_stack().back();
    return e.early;
}
EXPORT int cuCtxPushCurrent_v2(void* context) {
    Entry e("cuCtxPushCurrent");
    if (e.early) return e.early;
    for (const auto& d : state().devices)
        if (&d->context == context && d->context.retained)
            return context_stack().push_back(&d->context), kSuccess;
    state().violate("cuCtxPushCurrent: not a context, or a released one");
    return kInvalidContext;
}
EXPORT int cuCtxPopCurrent_v2(void** context) {
    Entry e("cuCtxPopCurrent");
    if (e.early) return e.early;
    if (context_stack().empty()) {
        state().violate("cuCtxPopCurrent: no context is current");
        return kInvalidContext;
    }
    if (context) *context = context_stack().back();
    context_stack().pop_back();
    return kSuccess;
}

EXPORT int cuStreamCreate(void** stream, unsigned) {
    Entry e("cuStreamCreate", true, true);
    if (e.early) return e.early;
    auto s = std::make_unique<Stream>(Stream{e.device});
    *stream = s.get();
    // Kept in the map even when destroyed, so that its address is not given out again.
    state().streams[s.get()] = std::move(s);
    return kSuccess;
}
EXPORT int cuStreamDestroy_v2(void* stream) {
    Entry e("cuStreamDestroy", true, true);
    if (e.early) return e.early;
    Stream* s = state().stream(stream, *e.device, "cuStreamDestroy");
    if (!s || !stream) return kInvalidHandle;
    s->live = false;
    return kSuccess;
}
EXPORT int cuStreamSynchronize(void* stream) {
    Entry e("cuStreamSynchronize", true, true);
    if (e.early) return e.early;
    Stream* s = state().stream(stream, *e.device, "cuStreamSynchronize");
    if (!s) return kInvalidHandle;
    s->synchronized = ++state().clock;
    return kSuccess;
}

EXPORT int cuMemAlloc_v2(uint64_t* out, size_t bytes) {
    Entry e("cuMemAlloc", true, true);
    return allocate_memory(e, out, bytes, nullptr, false, "cuMemAlloc");
}
EXPORT int cuMemAllocAsync(uint64_t* out, size_t bytes, void* stream) {
    Entry e("cuMemAllocAsync", true, true);
    return allocate_memory(e, out, bytes, stream, true, "cuMemAllocAsync");
}
EXPORT int cuMemFree_v2(uint64_t address) {
    Entry e("cuMemFree", true, true);
    return free_memory(e, address, nullptr, false, "cuMemFree");
}
EXPORT int cuMemFreeAsync(uint64_t address, void* stream) {
    Entry e("cuMemFreeAsync", true, true);
    return free_memory(e, address, stream, true, "cuMemFreeAsync");
}
EXPORT int cuDeviceGetDefaultMemPool(void** pool, int device) {
    Entry e("cuDeviceGetDefaultMemPool");
    Device* d = device_at(device);
    if (e.early || !d) return e.early ? e.early : kInvalidDevice;
    *pool = &d->pool;
    return kSuccess;
}
EXPORT int cuMemPoolSetAttribute(void*, int, void*) { return Entry("cuMemPoolSetAttribute").early; }
// Memory is the pool's again only when its stream is that far.
EXPORT int cuMemPoolTrimTo(void*, size_t) {
    Entry e("cuMemPoolTrimTo");
    const auto check = [](const Stream& stream) {
        if (stream.freed > stream.synchronized)
            state().violate("cuMemPoolTrimTo: a stream in which memory was given back was not waited for");
    };
    for (const auto& [handle, stream] : state().streams) check(*stream);
    if (e.device) check(e.device->default_stream);
    return e.early;
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
    Entry e("cuMemcpyHtoDAsync", true, true);
    return transfer(e, "cuMemcpyHtoDAsync", stream, bytes, to, 0,
                    [&] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
}
EXPORT int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
    Entry e("cuMemcpyDtoHAsync", true, true);
    const int code = transfer(e, "cuMemcpyDtoHAsync", stream, bytes, 0, from,
                              [&] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); });
    if (code == kSuccess)
        state().stream(stream, *e.device, "")->synchronized = ++state().clock;  // pageable memory
    return code;
}
EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void* stream) {
    Entry e("cuMemcpyDtoDAsync", true, true);
    return transfer(e, "cuMemcpyDtoDAsync", stream, bytes, to, from,
                    [&] { std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
}
EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void* stream) {
    Entry e("cuMemsetD8Async", true, true);
    return transfer(e, "cuMemsetD8Async", stream, bytes, to, 0,
                    [&] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
}
