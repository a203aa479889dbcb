// See cuda_launcher.h. Handles keep what they depend on: memory and code the device, a plan its code.
#include "bindings/cuda_launcher.h"

#include <pybind11/stl.h>

#include <array>
#include <chrono>
#include <cstring>

#include "bindings/core_library.h"
#include "kernels/api/device.h"

namespace py = pybind11;

namespace stator::bindings {
namespace {

using kernels::DevicePointer;

const kernels::DeviceApi& device_api() {
    std::string error;
    const kernels::CompilerApi* core = load_core(&error);
    if (!core) throw std::runtime_error("GPUs are reached through stator's core library: " + error);
    return *core->cuda;
}

void check(bool ok, const std::string& error) {
    if (!ok) throw std::runtime_error(error);
}

// One GPU, on its legacy default stream, in whose order everything here happens.
class Gpu {
  public:
    explicit Gpu(int ordinal) : api_(device_api()) {
        std::string error;
        state_ = api_.open(ordinal, &error);
        check(state_ != nullptr, error);
    }
    const kernels::DeviceApi& api() const { return api_; }
    kernels::DeviceState* state() const { return state_; }

    DevicePointer allocate(int64_t bytes) const {
        if (bytes < 0) throw py::value_error("expected a size of 0 bytes or more");
        DevicePointer p = 0;
        std::string error;
        check(api_.allocate(state_, bytes, nullptr, &p, &error), error);
        return p;
    }
    void release(DevicePointer p) const { api_.release(state_, p, nullptr); }

    void copy_in(DevicePointer to, const py::buffer& from) const {
        const py::buffer_info host = contiguous(from, false);
        std::string error;
        const bool ok = without_gil([&] {
            // Pageable memory may still be read when copy_in returns.
            return api_.copy_in(state_, to, host.ptr, host.size * host.itemsize, nullptr, &error) &&
                   api_.synchronize(state_, nullptr, &error);
        });
        check(ok, error);
    }
    void copy_out(const py::buffer& to, DevicePointer from) const {
        const py::buffer_info host = contiguous(to, true);
        std::string error;
        const bool ok = without_gil([&] {
            return api_.copy_out(state_, host.ptr, from, host.size * host.itemsize, nullptr, &error);
        });
        check(ok, error);
    }
    void synchronize() const {
        std::string error;
        const bool ok = without_gil([&] { return api_.synchronize(state_, nullptr, &error); });
        check(ok, error);
    }
    py::dict info() const {
        const kernels::DeviceInfo i = api_.info(state_);
        py::dict d;
        d["name"] = i.name, d["arch"] = i.arch;
        d["multiprocessors"] = i.multiprocessors;
        d["memory_bytes"] = i.memory_bytes, d["l2_bytes"] = i.l2_bytes, d["shared_limit"] = i.shared_limit;
        d["memory_pools"] = i.memory_pools;
        return d;
    }

  private:
    template <class Work>
    static bool without_gil(Work work) {
        py::gil_scoped_release release;
        return work();
    }
    static py::buffer_info contiguous(const py::buffer& b, bool writable) {
        py::buffer_info info = b.request(writable);
        py::ssize_t step = info.itemsize;
        for (py::ssize_t d = info.ndim; d-- > 0;) {
            if (info.shape[static_cast<size_t>(d)] > 1 && info.strides[static_cast<size_t>(d)] != step)
                throw py::value_error("expected a C-contiguous array");
            step *= info.shape[static_cast<size_t>(d)];
        }
        return info;
    }

    const kernels::DeviceApi& api_;
    kernels::DeviceState* state_ = nullptr;
};

struct Code {
    std::shared_ptr<Gpu> gpu;
    std::shared_ptr<kernels::DeviceCode> code;
    std::vector<kernels::BinaryKernel> kernels;
};

std::shared_ptr<Code> load(const std::shared_ptr<Gpu>& gpu, const py::bytes& cubin, const std::string& ptx,
                           const std::vector<std::tuple<std::string, int, std::vector<int>>>& kernels) {
    auto code = std::make_shared<Code>();
    code->gpu = gpu;
    for (const auto& [name, shared, sizes] : kernels) code->kernels.push_back({name, shared, sizes});
    std::string error;
    code->code = gpu->api().load_binary(gpu->state(), cubin, ptx, code->kernels, &error);
    check(code->code != nullptr, error);
    return code;
}

using Three = std::array<int64_t, 3>;

// What is put into the stream, in order, as often as wanted.
class Plan {
  public:
    explicit Plan(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

    // `params` are the bytes of each parameter's value.
    void launch(const std::shared_ptr<Code>& code, int kernel, const Three& grid, const Three& block,
                int cluster, int64_t shared_bytes, const std::vector<py::bytes>& params) {
        if (kernel < 0 || static_cast<size_t>(kernel) >= code->kernels.size())
            throw py::index_error("the code has no kernel " + std::to_string(kernel));
        const auto& sizes = code->kernels[static_cast<size_t>(kernel)].sizes;
        Step step;
        step.code = code, step.kernel = kernel;
        for (size_t i = 0; i < 3; ++i) {
            if (grid[i] < 0 || grid[i] > UINT32_MAX || block[i] < 0 || block[i] > UINT32_MAX)
                throw py::value_error("grid and block must be numbers of 32 bits");
            step.launch.grid[i] = static_cast<uint32_t>(grid[i]);
            step.launch.block[i] = static_cast<uint32_t>(block[i]);
        }
        step.launch.shared_bytes = shared_bytes;
        step.launch.cluster = static_cast<uint32_t>(std::max(cluster, 1));
        if (params.size() != sizes.size())
            throw py::value_error("expected " + std::to_string(sizes.size()) + " parameters, found " +
                                  std::to_string(params.size()));
        for (size_t i = 0; i < params.size(); ++i) {
            step.values.emplace_back(params[i]);
            if (step.values.back().size() != static_cast<size_t>(sizes[i]))
                throw py::value_error("parameter " + std::to_string(i) + ": expected " +
                                      std::to_string(sizes[i]) + " bytes, found " +
                                      std::to_string(step.values.back().size()));
        }
        steps_.push_back(std::move(step));
    }
    void copy(DevicePointer to, DevicePointer from, int64_t bytes) {
        Step step;
        step.kind = Step::Copy, step.to = to, step.from = from, step.bytes = bytes;
        steps_.push_back(std::move(step));
    }
    void fill(DevicePointer to, uint8_t value, int64_t bytes) {
        Step step;
        step.kind = Step::Fill, step.to = to, step.value = value, step.bytes = bytes;
        steps_.push_back(std::move(step));
    }

    // Puts all steps `times` times into the stream and waits. Seconds of (the device between the first and
    // the last, the host until everything was in the stream, the host until everything was done), all in
    // total.
    std::tuple<double, double, double> run(int64_t times) {
        struct Context {
            Plan& plan;
            int64_t times;
            double enqueued;
        } context{*this, times, 0};
        for (Step& s : steps_) {
            s.params.clear();
            for (std::string& v : s.values) s.params.push_back(v.data());
        }
        double device = 0, total = 0;
        std::string error;
        bool ok = false;
        {
            py::gil_scoped_release release;
            const auto work = [](void* p, std::string* why) {
                auto& c = *static_cast<Context*>(p);
                const auto begun = now();
                for (int64_t i = 0; i < c.times; ++i)
                    for (Step& s : c.plan.steps_)
                        if (!c.plan.one(s, why)) return false;
                c.enqueued = now() - begun;
                return true;
            };
            const auto begun = now();
            ok = gpu_->api().timed(gpu_->state(), nullptr, work, &context, &device, &error);
            total = now() - begun;
        }
        check(ok, error);
        return {device, context.enqueued, total};
    }

  private:
    struct Step {
        enum { Launch, Copy, Fill } kind = Launch;
        std::shared_ptr<Code> code;
        int kernel = 0;
        kernels::Launch launch;
        std::vector<std::string> values;
        std::vector<void*> params;
        DevicePointer to = 0, from = 0;
        int64_t bytes = 0;
        uint8_t value = 0;
    };
    static double now() {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    bool one(Step& s, std::string* error) const {
        const kernels::DeviceApi& api = gpu_->api();
        switch (s.kind) {
            case Step::Launch:
                return api.launch(*s.code->code, s.kernel, s.launch, s.params.data(), nullptr, error);
            case Step::Copy: return api.copy(gpu_->state(), s.to, s.from, s.bytes, nullptr, error);
            case Step::Fill: return api.fill(gpu_->state(), s.to, s.value, s.bytes, nullptr, error);
        }
        return false;
    }

    std::shared_ptr<Gpu> gpu_;
    std::vector<Step> steps_;
};

py::dict survey() {
    kernels::CudaSurvey s;
    {
        const kernels::DeviceApi& api = device_api();
        py::gil_scoped_release release;
        api.survey(s);
    }
    py::list devices;
    for (const auto& d : s.devices)
        devices.append(py::make_tuple(d.name, py::make_tuple(d.major, d.minor), d.memory_bytes));
    py::dict d;
    d["nvrtc"] = s.nvrtc_path, d["nvrtc_error"] = s.nvrtc_error;
    d["nvrtc_version"] = py::make_tuple(s.nvrtc_major, s.nvrtc_minor);
    d["archs"] = s.archs;
    d["driver_version"] = py::make_tuple(s.driver_version / 1000, s.driver_version % 1000 / 10);
    d["driver_error"] = s.driver_error;
    d["devices"] = devices;
    return d;
}

}  // namespace

void add_cuda_launcher(py::module_& m) {
    py::class_<Gpu, std::shared_ptr<Gpu>>(m, "Gpu", "A GPU's memory and stream; see stator._gpu.")
        .def(py::init<int>(), py::arg("ordinal") = 0)
        .def("info", &Gpu::info)
        .def("allocate", &Gpu::allocate)
        .def("release", &Gpu::release)
        .def("copy_in", &Gpu::copy_in, py::arg("to"), py::arg("from_host"))
        .def("copy_out", &Gpu::copy_out, py::arg("to_host"), py::arg("from"))
        .def("synchronize", &Gpu::synchronize)
        .def("load", &load, py::arg("cubin"), py::arg("ptx"), py::arg("kernels"));
    py::class_<Code, std::shared_ptr<Code>>(m, "GpuCode", "Kernels that were loaded into a GPU.");
    py::class_<Plan>(m, "GpuPlan", "Launches, copies and fills in order; run() repeats and times them.")
        .def(py::init<std::shared_ptr<Gpu>>())
        .def("launch", &Plan::launch)
        .def("copy", &Plan::copy)
        .def("fill", &Plan::fill)
        .def("run", &Plan::run, py::arg("times") = 1);
    m.def("cuda_survey", &survey);
}

}  // namespace stator::bindings
