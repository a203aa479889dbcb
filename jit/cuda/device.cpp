#include "jit/cuda/device.h"

#include <algorithm>
#include <cstring>

#include "jit/compile_queue.h"
#include "jit/compiler.h"
#include "jit/cuda/driver.h"
#include "jit/cuda/nvrtc.h"
#include "jit/fork.h"

namespace stator::kernels {

struct DeviceState {
    jit::CudaDevice* device;
    std::string arch;
};

struct DeviceCode {
    std::shared_ptr<jit::CudaModule> module;
    std::vector<jit::CudaFunction> functions;
};

}  // namespace stator::kernels

namespace stator::jit {
namespace {

using kernels::DeviceCode;
using kernels::DeviceState;

constexpr int kMostCluster = 8;  // blocks, on every GPU that has clusters

bool done(const CudaStatus& status, std::string* error) {
    if (!status.ok()) *error = status.text;
    return status.ok();
}

DeviceState* open(int ordinal, std::string* error) {
    CudaStatus status;
    CudaDevice* device = cuda_device(ordinal, &status);
    if (!device) return done(status, error), nullptr;
    if (!done(device->status(), error)) return nullptr;
    auto* state = new DeviceState{device, {}};
    if (cuda_arch_for(device->info().major, device->info().minor, &state->arch, error)) return state;
    delete state;
    return nullptr;
}

std::shared_ptr<DeviceCode> load(DeviceState* s, const kernels::CudaSource& source, const std::string& name,
                                 std::string* error) {
    if (source.kernels.empty()) return std::make_shared<DeviceCode>();  // its library does everything
    CudaBinary binary;
    if (!compile_cuda(mutate_for_tests(source.text), name, s->arch, source.options, &binary, error))
        return nullptr;
    CudaStatus status;
    auto code = std::make_shared<DeviceCode>();
    code->module = CudaModule::load(*s->device, binary.cubin, binary.ptx, &status);
    if (!code->module) return done(status, error), nullptr;
    for (const kernels::CudaKernel& k : source.kernels) {
        const int dynamic = k.schedule.staged.empty() ? 0 : CudaModule::kAllShared;
        std::vector<int> sizes;
        for (const kernels::CudaParam& p : k.params) sizes.push_back(p.bytes);
        CudaFunction f;
        if (!done(code->module->function(k.name.c_str(), dynamic, sizes, &f), error)) return nullptr;
        code->functions.push_back(std::move(f));
    }
    return code;
}

// A slot that is let go of without an answer, because the queue was emptied, has failed.
class Answer {
  public:
    explicit Answer(std::shared_ptr<kernels::DeviceSlot> slot) : slot_(std::move(slot)) {}
    Answer(const Answer&) = delete;
    ~Answer() {
        if (!slot_->settled()) give(nullptr, "the compilation was given up");
    }
    void give(std::shared_ptr<DeviceCode> code, std::string error) {
        slot_->code = std::move(code);
        slot_->error = std::move(error);
        (slot_->code ? slot_->ready : slot_->failed).store(true, std::memory_order_release);
    }

  private:
    std::shared_ptr<kernels::DeviceSlot> slot_;
};

void load_later(DeviceState* s, std::shared_ptr<const kernels::CudaSource> source, const std::string& name,
                std::shared_ptr<kernels::DeviceSlot> slot) {
    handle_fork();
    auto answer = std::make_shared<Answer>(std::move(slot));
    compile_queue().push([=, source = std::move(source)] {
        std::string error;
        std::shared_ptr<DeviceCode> code;
        try {
            code = load(s, *source, name, &error);
        } catch (const std::exception& e) {  // out of memory, above all
            error = e.what();
        }
        answer->give(std::move(code), std::move(error));
    });
}

bool launch(DeviceCode& code, int kernel, const kernels::Launch& l, void** params,
            kernels::DeviceStream stream, std::string* error) {
    CudaLaunch launch;
    for (int i = 0; i < 3; ++i) launch.grid[i] = l.grid[i], launch.block[i] = static_cast<int>(l.block[i]);
    launch.shared_bytes = static_cast<int>(l.shared_bytes);
    launch.cluster = static_cast<int>(l.cluster);
    launch.together = l.together;
    launch.stream = stream;
    return done(code.module->launch(code.functions[static_cast<size_t>(kernel)], launch, params), error);
}

int blocks_at_once(DeviceCode& code, int kernel, int threads, std::string* error) {
    int blocks = 0;
    if (!done(code.module->blocks_at_once(code.functions[static_cast<size_t>(kernel)], threads, &blocks),
              error))
        return 0;
    if (blocks == 0) *error = "not one block of the kernel fits on the device";
    return blocks;
}

kernels::DeviceInfo info(DeviceState* s) {
    const CudaDeviceInfo& i = s->device->info();
    return {i.name,        s->arch, i.multiprocessors, i.memory_bytes, i.l2_bytes, i.shared_per_block_optin,
            i.memory_pools};
}

void survey(kernels::CudaSurvey& out) {
    if (const NvrtcInfo* nvrtc = nvrtc_info(&out.nvrtc_error)) {
        out.nvrtc_path = nvrtc->path;
        out.nvrtc_major = nvrtc->major, out.nvrtc_minor = nvrtc->minor;
        out.archs = nvrtc->archs;
    }
    CudaStatus status;
    out.driver_version = cuda_driver_version(&status);
    if (!done(status, &out.driver_error)) return;
    for (const CudaDeviceInfo& d : cuda_devices(&status))
        out.devices.push_back({d.name, d.major, d.minor, d.memory_bytes});
    done(status, &out.driver_error);
}

std::shared_ptr<DeviceCode> load_binary(DeviceState* s, const std::string& cubin, const std::string& ptx,
                                        const std::vector<kernels::BinaryKernel>& kernels,
                                        std::string* error) {
    CudaStatus status;
    auto code = std::make_shared<DeviceCode>();
    code->module = CudaModule::load(*s->device, cubin, ptx, &status);
    if (!code->module) return done(status, error), nullptr;
    for (const kernels::BinaryKernel& k : kernels) {
        CudaFunction f;
        if (!done(code->module->function(k.name.c_str(), k.dynamic_shared, k.sizes, &f), error))
            return nullptr;
        code->functions.push_back(std::move(f));
    }
    return code;
}

bool timed(DeviceState* s, kernels::DeviceStream stream, bool (*work)(void*, std::string*), void* context,
           double* seconds, std::string* error) {
    struct Event {
        CudaDevice& device;
        CudaEvent handle = nullptr;
        ~Event() {
            if (handle) device.destroy_event(handle);
        }
    };
    CudaDevice& d = *s->device;
    Event first{d}, last{d};
    return done(d.create_event(&first.handle), error) && done(d.create_event(&last.handle), error) &&
           done(d.record_event(first.handle, stream), error) && work(context, error) &&
           done(d.record_event(last.handle, stream), error) && done(d.wait_for_event(last.handle), error) &&
           done(d.seconds_between(first.handle, last.handle, seconds), error);
}

constexpr kernels::DeviceApi kApi = {
    .open = open,
    .load = load,
    .load_later = load_later,
    .limits =
        [](DeviceState* s) {
            const CudaDeviceInfo& i = s->device->info();
            return kernels::GpuLimits{i.shared_per_block_optin, i.clusters ? kMostCluster : 1};
        },
    .allocate = [](DeviceState* s, int64_t bytes, kernels::DeviceStream stream, kernels::DevicePointer* out,
                   std::string* error) { return done(s->device->allocate(bytes, stream, out), error); },
    .release = [](DeviceState* s, kernels::DevicePointer p,
                  kernels::DeviceStream stream) { s->device->release(p, stream); },
    .copy_in = [](DeviceState* s, kernels::DevicePointer to, const void* from, int64_t bytes,
                  kernels::DeviceStream stream,
                  std::string* error) { return done(s->device->copy_in(to, from, bytes, stream), error); },
    .copy_out =
        [](DeviceState* s, void* to, kernels::DevicePointer from, int64_t bytes, kernels::DeviceStream stream,
           std::string* error) {
            return done(s->device->copy_out(to, from, bytes, stream), error) &&
                   done(s->device->synchronize(stream), error);
        },
    .launch = launch,
    .survey = survey,
    .info = info,
    .load_binary = load_binary,
    .copy = [](DeviceState* s, kernels::DevicePointer to, kernels::DevicePointer from, int64_t bytes,
               kernels::DeviceStream stream,
               std::string* error) { return done(s->device->copy(to, from, bytes, stream), error); },
    .fill = [](DeviceState* s, kernels::DevicePointer to, uint8_t value, int64_t bytes,
               kernels::DeviceStream stream,
               std::string* error) { return done(s->device->fill(to, value, bytes, stream), error); },
    .synchronize = [](DeviceState* s, kernels::DeviceStream stream,
                      std::string* error) { return done(s->device->synchronize(stream), error); },
    .timed = timed,
    .blocks_at_once = blocks_at_once,
};

}  // namespace

const kernels::DeviceApi& cuda_device_api() { return kApi; }

}  // namespace stator::jit
