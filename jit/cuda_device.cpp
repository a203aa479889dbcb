#include "jit/cuda_device.h"

#include <algorithm>
#include <cstring>

#include "jit/cuda_driver.h"
#include "jit/nvrtc.h"

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
    CudaBinary binary;
    if (!compile_cuda(mutate_for_tests(source.text), name, s->arch, {}, &binary, error)) return nullptr;
    CudaStatus status;
    auto code = std::make_shared<DeviceCode>();
    code->module = CudaModule::load(*s->device, binary.cubin, binary.ptx, &status);
    if (!code->module) return done(status, error), nullptr;
    for (const kernels::CudaKernel& k : source.kernels) {
        int dynamic = k.schedule.staged.empty() ? 0 : s->device->info().shared_per_block_optin;
        std::vector<int> sizes;
        for (const kernels::CudaParam& p : k.params) sizes.push_back(p.bytes);
        CudaFunction f;
        if (!done(code->module->function(k.name.c_str(), dynamic, sizes, &f), error)) return nullptr;
        code->functions.push_back(std::move(f));
    }
    return code;
}

bool launch(DeviceCode& code, int kernel, const kernels::Launch& l, void** params,
            kernels::DeviceStream stream, std::string* error) {
    CudaLaunch launch;
    for (int i = 0; i < 3; ++i) launch.grid[i] = l.grid[i], launch.block[i] = static_cast<int>(l.block[i]);
    launch.shared_bytes = static_cast<int>(l.shared_bytes);
    launch.stream = stream;
    return done(code.module->launch(code.functions[static_cast<size_t>(kernel)], launch, params), error);
}

constexpr kernels::DeviceApi kApi = {
    .open = open,
    .load = load,
    .shared_limit = [](DeviceState* s) { return int64_t{s->device->info().shared_per_block_optin}; },
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
};

}  // namespace

const kernels::DeviceApi& cuda_device_api() { return kApi; }

}  // namespace stator::jit
