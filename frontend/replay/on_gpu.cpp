#include "frontend/replay/on_gpu.h"

#include <alloca.h>

#include <algorithm>
#include <cstring>

#include "frontend/replay/host_arrays.h"
#include "frontend/replay/materialize.h"
#include "guards/check/cupy_api.h"

namespace stator::frontend {

using graph::Id;
using graph::Node;
using graph::Op;
using kernels::BufferKind;
using kernels::CudaParamKind;
using kernels::DevicePointer;
using kernels::ScalarKind;

namespace {

constexpr int64_t kNumberBytes = 16;

DevicePointer pointer(const void* p) { return reinterpret_cast<DevicePointer>(p); }

// What operations on the arrays of this host are put into now, by this thread.
bool current_stream(graph::HostId host, int device, kernels::DeviceStream* out) {
    return host == graph::HostId::CuPy ? guards::cupy_stream(out) : guards::torch_stream(device, out);
}

graph::HostId host_of(const Trace& t) {
    for (const Node& n : t.graph.nodes)
        if (graph::on_gpu(n.host)) return n.host;
    return graph::HostId::NumPy;
}

void plan_kernels(Trace& t) {
    for (size_t i = 0; i < t.segments.size(); ++i) {
        SegmentLaunch& launch = t.segments[i].gpu;
        if (t.segments[i].on_host) continue;
        for (size_t k = 0; k < t.cuda->kernels.size(); ++k)
            if (t.cuda->kernels[k].unit == static_cast<int>(i))
                launch.kernels.push_back({static_cast<int>(k), t.cuda->kernels[k].params, {}});
        for (const kernels::Buffer& b : t.segments[i].program->buffers)
            launch.writes |= b.kind == BufferKind::Input && b.written;
    }
}

}  // namespace

bool load_on_gpu(Trace& t, bool later, std::string* why) {
    *why = t.cuda->error;
    if (!why->empty()) return false;
    const kernels::CompilerApi* api = compiler();
    if (!api) return *why = "stator's core library is not there", false;
    t.device = api->cuda->open(t.gpu, why);
    if (!t.device) return false;
    t.gpu_host = host_of(t);
    plan_kernels(t);
    load_device_code(t, later, why);
    return t.device_code || t.device_slot;
}

void load_device_code(Trace& t, bool later, std::string* why) {
    const kernels::DeviceApi& api = *compiler()->cuda;
    if (!later || t.cuda->kernels.empty()) {
        t.device_code = api.load(t.device, *t.cuda, t.name, why);
        return;
    }
    t.device_slot = std::make_shared<kernels::DeviceSlot>();
    api.load_later(t.device, t.cuda, t.name, t.device_slot);
}

// Where a segment's operands are: what the parameters of its kernels point to.
struct GpuRun::Memory {
    DevicePointer* buffers;
    int64_t *strides, *syms;
    char* scalars;           // those given by value
    DevicePointer* numbers;  // by scalar: where those lie that are on the device
    DevicePointer partials = 0;
    int64_t slices = 1, staged = 0, phase = 0, tile_shift = 0;
};

GpuRun::~GpuRun() {
    for (const DevicePointer p : held_) api_.release(device_, p, stream_);
}

bool GpuRun::allocate(int64_t bytes, DevicePointer* out) {
    *out = 0;
    if (bytes <= 0) return true;
    if (!api_.allocate(device_, bytes, stream_, out, &error_)) return false;
    held_.push_back(*out);
    return true;
}

bool GpuRun::find_stream() {
    if (!has_stream_ && !(has_stream_ = current_stream(st_.trace.gpu_host, st_.trace.gpu, &stream_)))
        error_ = "the current stream is not known";
    return has_stream_;
}

bool GpuRun::find_buffer(const Segment& s, size_t index, Memory& m) {
    const BufferPlan& plan = s.buffer_plans[index];
    const int32_t* shape = s.shapes.data() + plan.shape_base;
    int64_t* strides = m.strides + plan.stride_base;
    const int64_t item = graph::info(plan.dtype).size;
    PyObject* array = nullptr;
    if (plan.kind == BufferKind::Input && plan.input >= 0) {  // its guard has read it
        const guards::TensorView& t = st_.entry->tensors[plan.input];
        for (int d = 0; d < plan.rank; ++d) strides[d] = t.strides[d] * item;
        m.buffers[index] = pointer(t.data);
        return true;
    }
    if (plan.kind == BufferKind::Input) {
        array = plan.slot >= 0 ? st_.arrays[plan.slot] : nullptr;
        if (!array) array = st_.memory(plan.value);
    } else {
        int64_t dims[16], step = item;
        for (int d = 0; d < plan.rank; ++d) dims[d] = st_.exprs[shape[d]];
        if (plan.kind == BufferKind::Scratch) {
            for (int k = plan.rank; k-- > 0;) {
                const int axis = plan.perm->empty() ? k : (*plan.perm)[static_cast<size_t>(k)];
                strides[axis] = step, step *= dims[axis];
            }
            return allocate(step, &m.buffers[index]);
        }
        array =
            new_host_array(plan.host, plan.dtype, plan.rank, dims, *plan.perm, plan.own_dtype, st_.trace.gpu);
        if (!array) {
            PyErr_Clear();
            error_ = "no memory for a result";
            return false;
        }
        Py_XSETREF(st_.arrays[plan.slot], array);
    }
    if (!array) {
        error_ = "internal: no memory for %" + std::to_string(plan.value);
        return false;
    }
    m.buffers[index] = pointer(locate_host_array(plan.host, array, plan.rank, strides));
    return true;
}

// Where a value of rank 0 lies: in the array that holds it, in a fresh one when Python may see it, else among
// the run's own numbers.
bool GpuRun::place_of_number(Id value, graph::DType dtype, DevicePointer* out) {
    const Trace& t = st_.trace;
    const Node& n = t.graph.nodes[value];
    if (n.op == Op::Input) return *out = pointer(st_.entry->tensors[n.ints[0]].data), true;
    const int slot = t.value_slots[value];
    if (n.box == graph::Box::Array && (t.named[static_cast<size_t>(value)] || n.op == Op::Library)) {
        if (!st_.arrays[slot]) {
            PyObject* array = new_host_array(t.gpu_host, dtype, 0, nullptr, {}, false, t.gpu);
            if (!array) {
                PyErr_Clear();
                error_ = "no memory for a result";
                return false;
            }
            st_.arrays[slot] = array;
        }
        return *out = pointer(locate_host_array(t.gpu_host, st_.arrays[slot], 0, nullptr)), true;
    }
    if (!numbers_ && !allocate(kNumberBytes * t.slot_count, &numbers_)) return false;
    *out = numbers_ + static_cast<DevicePointer>(kNumberBytes * slot);
    return true;
}

bool GpuRun::find_number(const Segment& s, const ScalarPlan& plan, Memory& m) {
    char* by_value = m.scalars + kNumberBytes * plan.index;
    if (plan.kind == ScalarKind::Sym) return int_to_bits(st_.exprs[plan.expr], plan.dtype, by_value), true;
    const kernels::Scalar& scalar = s.program->scalars[static_cast<size_t>(plan.index)];
    if (kernels::on_device(scalar, st_.trace.graph))
        return place_of_number(plan.value, plan.dtype, &m.numbers[plan.index]);
    memcpy(by_value, st_.scalar(plan.value), kNumberBytes);
    return true;
}

bool GpuRun::find_memory(const Segment& s, Memory& m) {
    for (size_t i = 0; i < s.syms.size(); ++i) m.syms[i] = st_.exprs[s.syms[i]];
    memcpy(m.scalars, s.scalar_image.data(), s.scalar_image.size());
    for (size_t b = 0; b < s.buffer_plans.size(); ++b)
        if (!find_buffer(s, b, m)) return false;
    for (const ScalarPlan& plan : s.scalar_plans)
        if (!find_number(s, plan, m)) return false;
    return true;
}

// Launches depend on extents alone: they are planned again when those change.
bool GpuRun::plan(SegmentLaunch& s, const Memory& m) {
    const size_t count = s.launched_for.size();
    if (count && memcmp(s.launched_for.data(), m.syms, sizeof(int64_t) * count) == 0) return true;
    const kernels::GpuLimits limit = api_.limits(device_);
    for (KernelPlan& k : s.kernels) {
        k.launch = kernels::plan_launch(st_.trace.cuda->kernels[static_cast<size_t>(k.kernel)].schedule,
                                        m.syms, limit);
        st_.trace.last_launches[static_cast<size_t>(k.kernel)] = k.launch;
    }
    s.launched_for.assign(m.syms, m.syms + count);
    return true;
}

bool GpuRun::segment(int index) {
    Segment& s = st_.trace.segments[static_cast<size_t>(index)];
    SegmentLaunch& launch = s.gpu;
    const size_t scalars = s.program->scalars.size() + 1;
    Memory m;
    m.buffers = static_cast<DevicePointer*>(alloca(sizeof(DevicePointer) * (s.buffer_plans.size() + 1)));
    m.strides = static_cast<int64_t*>(alloca(sizeof(int64_t) * (s.stride_count + 1)));
    m.syms = static_cast<int64_t*>(alloca(sizeof(int64_t) * (s.syms.size() + 1)));
    m.scalars = static_cast<char*>(alloca(s.scalar_image.size()));
    m.numbers = static_cast<DevicePointer*>(alloca(sizeof(DevicePointer) * scalars));
    if (!find_stream() || !find_memory(s, m)) return false;
    if (launch.launched_for.size() != s.syms.size()) launch.launched_for.assign(s.syms.size(), -1);
    plan(launch, m);
    int64_t partials = 0;
    for (const KernelPlan& k : launch.kernels) partials = std::max(partials, k.launch.partial_bytes);
    if (!allocate(partials, &m.partials)) return false;
    for (const KernelPlan& k : launch.kernels) {
        if (k.launch.empty()) continue;
        m.slices = k.launch.slices, m.staged = k.launch.staged;
        m.phase = k.launch.phase, m.tile_shift = k.launch.tile_shift;
        auto** params = static_cast<void**>(alloca(sizeof(void*) * (k.params.size() + 1)));
        for (size_t i = 0; i < k.params.size(); ++i) {
            const int at = k.params[i].index;
            switch (k.params[i].kind) {
                case CudaParamKind::Buffer: params[i] = m.buffers + at; break;
                case CudaParamKind::Extent: params[i] = m.syms + at; break;
                case CudaParamKind::Stride: params[i] = m.strides + at; break;
                case CudaParamKind::Scalar: params[i] = m.scalars + kNumberBytes * at; break;
                case CudaParamKind::Result: params[i] = m.numbers + at; break;
                case CudaParamKind::Partial: params[i] = &m.partials; break;
                case CudaParamKind::Slices: params[i] = &m.slices; break;
                case CudaParamKind::Phase: params[i] = &m.phase; break;
                case CudaParamKind::Staged: params[i] = &m.staged; break;
                case CudaParamKind::Shift: params[i] = &m.tile_shift; break;
            }
        }
        if (!api_.launch(code_, k.kernel, k.launch, params, stream_, &error_)) return lost_ = true, false;
        wrote_ |= launch.writes;
    }
    return true;
}

bool GpuRun::read_number(Id value) {
    const Trace& t = st_.trace;
    const Node& n = t.graph.nodes[value];
    const bool computed = n.op != Op::Const && n.op != Op::SymScalar &&
                          !(n.op == Op::Input && n.box != graph::Box::Array) &&
                          !(n.op == Op::Library && n.box != graph::Box::Array);
    if (!computed || n.host_number || std::ranges::find(read_, value) != read_.end()) return true;
    DevicePointer at;
    char bits[kNumberBytes] = {};
    waited_ = true;
    if (!find_stream() || !place_of_number(value, n.dtype, &at)) return false;
    if (!api_.copy_out(device_, bits, at, graph::info(n.dtype).size, stream_, &error_))
        return lost_ = true, false;
    read_.push_back(value);
    if (n.op == Op::Input)
        memcpy(st_.entry->scalars + kNumberBytes * n.ints[0], bits, kNumberBytes);
    else
        st_.set_scalar(value, bits);
    return true;
}

bool GpuRun::numbers_to_host() {
    for (const Id value : st_.trace.python_numbers)
        if (!read_number(value)) return false;
    return true;
}

}  // namespace stator::frontend
