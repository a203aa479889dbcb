#include "bindings/cuda.h"

#include <pybind11/stl.h>

#include "bindings/compiled_function.h"
#include "bindings/core_library.h"
#include "frontend/replay/launches.h"
#include "kernels/cuda/regions/region.h"

namespace py = pybind11;

namespace stator::bindings {
namespace {

using frontend::KernelLaunch;
using frontend::LaunchObserver;
using frontend::LaunchParam;

// A function of its own, whose traces have CUDA kernels; no other call meets it.
py::object compile_for_cuda(const py::object& function, bool fastmath) {
    frontend::FunctionOptions o;
    o.fastmath = fastmath;
    o.async = false;
    o.cuda = true;
    PyObject* f = make_compiled(function.ptr(), o);
    if (!f) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(f);
}

py::object object_of(const LaunchParam& p) { return py::reinterpret_borrow<py::object>(p.object.get()); }

py::tuple pair(const LaunchParam& p) {
    switch (p.kind) {
        case LaunchParam::In: return py::make_tuple("in", p.index);
        case LaunchParam::Out: return py::make_tuple("out", p.index);
        case LaunchParam::Scratch: return py::make_tuple("scratch", py::make_tuple(p.index, p.bytes));
        case LaunchParam::Const: return py::make_tuple("const", object_of(p));
        case LaunchParam::Scalar: return py::make_tuple("scalar", object_of(p));
        case LaunchParam::Extent: return py::make_tuple("extent", p.index);
    }
    return py::make_tuple();
}

py::dict describe(const KernelLaunch& k) {
    auto three = [](const uint32_t* v) { return py::make_tuple(v[0], v[1], v[2]); };
    py::list params;
    for (const LaunchParam& p : k.params) params.append(pair(p));
    py::dict d;
    d["name"] = k.name;
    d["trace"] = k.trace;
    d["source"] = *k.source;
    d["grid"] = three(k.launch.grid);
    d["block"] = three(k.launch.block);
    d["cluster"] = k.launch.cluster;
    d["dynamic_shared_bytes"] = k.launch.shared_bytes;
    d["form"] = form_name(k.schedule.form);
    d["vector"] = k.schedule.vector;
    d["params"] = params;
    return d;
}

// Calls `call` and lists the kernels that its replays stand for; `arrays` are the arrays among its arguments.
py::tuple launches(const py::function& call, const py::list& arrays, int64_t shared_limit, int cluster,
                   int64_t grain) {
    std::vector<frontend::PyRef> arguments;
    for (py::handle a : arrays) arguments.push_back(frontend::PyRef::borrow(a.ptr()));
    LaunchObserver observer(std::move(arguments), {shared_limit, cluster, grain});
    LaunchObserver* outer = std::exchange(frontend::active_observer, &observer);
    py::object result;
    try {
        result = call();
    } catch (...) {
        frontend::active_observer = outer;
        throw;
    }
    frontend::active_observer = outer;
    observer.finish(result.ptr());
    py::list all;
    for (const KernelLaunch& k : observer.launches) all.append(describe(k));
    return py::make_tuple(all, observer.error);
}

const kernels::CompilerApi& opened_core() {
    std::string error;
    const kernels::CompilerApi* api = load_core(&error);
    if (!api) throw std::runtime_error("CUDA kernels are compiled by stator's core library: " + error);
    return *api;
}

py::dict compile_cuda(const std::string& source, const std::string& name, const std::string& arch,
                      const std::vector<std::string>& options) {
    const kernels::CompilerApi& api = opened_core();
    kernels::CudaCode code;
    {
        py::gil_scoped_release release;
        api.compile_cuda(source, name, arch, options, code);
    }
    py::dict d;
    d["error"] = code.error;
    d["cubin"] = py::bytes(code.cubin);
    d["ptx"] = code.ptx;
    d["log"] = code.log;
    d["options"] = code.options;
    d["from_cache"] = code.from_cache;
    d["seconds"] = code.seconds;
    py::dict kernels;
    for (const auto& k : code.kernels)
        kernels[py::str(k.name)] = py::make_tuple(k.registers, k.spill_bytes, k.stack_bytes, k.shared_bytes);
    d["kernels"] = kernels;
    return d;
}

}  // namespace

py::object trace_cuda(const frontend::TraceInfo& t) {
    if (!t.cuda) return py::none();
    py::list kernels;
    for (const auto& k : t.cuda->kernels) {
        py::dict d;
        d["name"] = k.name, d["segment"] = k.segment, d["nests"] = k.nests, d["schedule"] = k.schedule;
        kernels.append(d);
    }
    py::dict d;
    d["source"] = t.cuda->source, d["error"] = t.cuda->error, d["arch"] = t.cuda->arch;
    d["kernels"] = kernels, d["programs"] = t.cuda->programs;
    return d;
}

py::object region_kernel(const frontend::RegionInfo& r, const std::string& arch) {
    const kernels::CudaRegion code =
        kernels::emit_cuda_region(*r.request->region, kernels::region_kernel_name(r.name));
    return py::module_::import("stator._cuda")
        .attr("region_kernel")(r.name, arch, code.name, code.text, code.error, code.parameters);
}

py::list trace_waits(const frontend::TraceInfo& t) {
    constexpr const char* kinds[] = {"branch", "host call", "number", "python", "return"};
    py::list all;
    for (const frontend::DeviceWait& w : t.waits) {
        py::dict d;
        d["kind"] = kinds[w.what], d["call"] = w.call;
        d["file"] = w.file, d["function"] = w.function, d["line"] = w.line, d["count"] = w.count;
        all.append(d);
    }
    return all;
}

void add_cuda(py::module_& m) {
    m.def("compile_for_cuda", &compile_for_cuda, py::arg("function"), py::arg("fastmath") = false);
    m.def("launches", &launches);
    m.def("compile_cuda", &compile_cuda);
    m.def("mutate_cuda", [](const std::string& source) { return opened_core().mutate_cuda(source); });
    m.def("set_nvrtc_folders", [](const std::vector<std::string>& f) { opened_core().set_nvrtc_folders(f); });
}

}  // namespace stator::bindings
