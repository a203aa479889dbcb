#include "frontend/replay/on_device.h"

#include <algorithm>
#include <cstring>

#include "frontend/device_arrays.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/replay/materialize.h"

namespace stator::frontend {

using graph::Id;
using graph::Node;
using graph::Op;
using kernels::BufferKind;
using kernels::CudaParamKind;
using kernels::ScalarKind;

namespace {

constexpr kernels::DeviceStream kStream = nullptr;
constexpr int64_t kScalarBytes = 16;

kernels::DeviceState* open_device(std::string* why) {
    const kernels::CompilerApi* api = compiler();
    if (!api) {
        *why = "stator's core library is not there";
        return nullptr;
    }
    return api->cuda->open(0, why);
}

ElementLayout layout_of(PyObject* array) {
    return {numpy::rank(array), numpy::itemsize(array), numpy::shape(array), numpy::strides(array)};
}

}  // namespace

bool device_available(std::string* why) { return open_device(why) != nullptr; }

bool load_on_device(Trace& t, bool later, std::string* why) {
    *why = t.cuda->error;
    for (const graph::Node& n : t.graph.nodes)
        if (n.host != graph::HostId::NumPy) *why = "only NumPy arrays are copied to the GPU so far";
    if (!why->empty()) return false;
    kernels::DeviceState* device = open_device(why);
    if (!device) return false;
    t.device = device;
    load_device_code(t, later, why);
    return t.device_code || t.device_slot;
}

DeviceRun::DeviceRun(ReplayState& st, const kernels::DeviceApi& api, kernels::DeviceState* device,
                     kernels::DeviceCode& code)
    : st_(st), api_(api), device_(device), code_(code) {}

DeviceRun::~DeviceRun() {
    auto drop = [&](auto& copies) {
        for (auto& [key, c] : copies)
            if (c.memory) api_.release(device_, c.memory, kStream);
    };
    drop(arrays_), drop(values_), drop(numbers_), drop(scratch_);
    if (partials_) api_.release(device_, partials_, kStream);
}

bool DeviceRun::allocate(int64_t bytes, kernels::DevicePointer* out) {
    *out = 0;
    return bytes <= 0 || api_.allocate(device_, bytes, kStream, out, &error_);
}

DeviceRun::Copy* DeviceRun::copy_of_array(PyObject* array) {
    auto [it, fresh] = arrays_.try_emplace(array);
    Copy& c = it->second;
    if (!fresh) return &c;
    Stretch s = stretch_of(numpy::data(array), layout_of(array));
    c.host = array, c.bytes = s.bytes, c.first = s.first;
    if (!allocate(s.bytes, &c.memory)) return nullptr;
    if (s.bytes > 0 && !api_.copy_in(device_, c.memory, s.begin, s.bytes, kStream, &error_)) return nullptr;
    return &c;
}

// Memory of a value: of an array that the host has, or (bytes >= 0) new memory that a kernel fills.
DeviceRun::Copy* DeviceRun::copy_of_value(int32_t value, int64_t bytes) {
    const graph::Graph& g = st_.trace.graph;
    Id root = graph::buffer_root(g, value);
    const Node& n = g.nodes[root];
    if (n.op == Op::Input) return copy_of_array(st_.entry->inputs[n.ints[0]]);
    if (n.op == Op::Library) {
        PyObject* made = st_.memory(value);
        if (made) return copy_of_array(made);
    }
    auto [it, fresh] = values_.try_emplace(root);
    if (fresh) {
        it->second.bytes = bytes;
        if (!allocate(bytes, &it->second.memory)) return nullptr;
    }
    return &it->second;
}

// A number is what it is, not the array that it may have been read from.
DeviceRun::Copy* DeviceRun::copy_of_number(int32_t value) {
    const Node& n = st_.trace.graph.nodes[value];
    if (n.op == Op::Input) return copy_of_array(st_.entry->inputs[n.ints[0]]);
    auto [it, fresh] = numbers_.try_emplace(value);
    if (fresh && !allocate(kScalarBytes, &it->second.memory)) return nullptr;
    return &it->second;
}

bool DeviceRun::address(int segment, int buffer, kernels::DevicePointer* out) {
    const kernels::Program& p = *st_.trace.segments[static_cast<size_t>(segment)].gpu_program;
    const kernels::Buffer& b = p.buffers[static_cast<size_t>(buffer)];
    int64_t bytes = graph::info(b.dtype).size;
    for (graph::Sym extent : b.shape) bytes *= st_.exprs[extent.id];
    if (b.kind == BufferKind::Scratch) {
        auto [it, fresh] = scratch_.try_emplace(buffer);
        if (fresh && !allocate(bytes, &it->second.memory)) return false;
        *out = it->second.memory;
        return true;
    }
    Copy* c = copy_of_value(b.value, bytes);
    if (!c) return false;
    c->changed |= b.written;
    *out = c->memory + static_cast<kernels::DevicePointer>(c->first);
    return true;
}

bool DeviceRun::fill_param(int segment, const kernels::CudaParam& p, const kernels::Launch& launch,
                           char* value) {
    const Segment& s = st_.trace.segments[static_cast<size_t>(segment)];
    const kernels::Program& program = *s.gpu_program;
    auto put = [&](auto x) { memcpy(value, &x, sizeof x); };
    switch (p.kind) {
        case CudaParamKind::Buffer: {
            kernels::DevicePointer at = 0;
            if (!address(segment, p.index, &at)) return false;
            return put(at), true;
        }
        case CudaParamKind::Extent:
            return put(st_.exprs[program.syms[static_cast<size_t>(p.index)].id]), true;
        case CudaParamKind::Stride: {
            for (const kernels::Buffer& b : program.buffers) {
                int dim = p.index - b.stride_base;
                if (dim < 0 || dim >= static_cast<int>(b.shape.size())) continue;
                PyObject* array = st_.memory(b.value);
                if (array) put(numpy::strides(array)[dim]);
            }
            return true;
        }
        case CudaParamKind::Scalar: {
            memcpy(value, scalars_.data() + kScalarBytes * p.index, kScalarBytes);
            return true;
        }
        case CudaParamKind::Result: {
            Copy* c = copy_of_number(program.scalars[static_cast<size_t>(p.index)].value);
            if (!c) return false;
            return put(c->memory + static_cast<kernels::DevicePointer>(c->first)), true;
        }
        case CudaParamKind::Partial:
            if (!partials_ && !allocate(launch.partial_bytes, &partials_)) return false;
            return put(partials_), true;
        case CudaParamKind::Slices: return put(launch.slices), true;
        case CudaParamKind::Phase: return put(launch.phase), true;
        case CudaParamKind::Staged: return put(static_cast<int64_t>(launch.staged)), true;
        case CudaParamKind::Shift: return put(launch.tile_shift), true;
    }
    return false;
}

// Values of scalars before the segment stores to 0-d arrays that they are read from.
bool DeviceRun::read_scalars(const kernels::Program& p) {
    scalars_.assign(kScalarBytes * (p.scalars.size() + 1), 0);
    for (size_t i = 0; i < p.scalars.size(); ++i) {
        const kernels::Scalar& sc = p.scalars[i];
        char* to = scalars_.data() + kScalarBytes * i;
        if (sc.kind == ScalarKind::Sym) {
            int_to_bits(st_.exprs[st_.trace.graph.nodes[sc.value].syms[0].id], sc.dtype, to);
        } else if (sc.kind == ScalarKind::Input && !kernels::on_device(sc, st_.trace.graph)) {
            PyObject* array =
                st_.trace.graph.nodes[sc.value].box == graph::Box::Array ? st_.memory(sc.value) : nullptr;
            auto copy = arrays_.find(array);
            if (copy != arrays_.end() && copy->second.changed) {
                const Copy& c = copy->second;
                if (!copy_out(to, c.memory + static_cast<kernels::DevicePointer>(c.first),
                              graph::info(sc.dtype).size))
                    return false;
            } else {
                st_.scalar_now(sc.value, sc.dtype, to);
            }
        }
    }
    return true;
}

bool DeviceRun::segment(int index) {
    const Segment& s = st_.trace.segments[static_cast<size_t>(index)];
    const kernels::Program& p = *s.gpu_program;
    std::vector<int64_t> syms;
    for (graph::Sym sym : p.syms) syms.push_back(st_.exprs[sym.id]);
    const auto& all = st_.trace.cuda->kernels;
    bool ok = read_scalars(p);
    for (size_t k = 0; k < all.size() && ok; ++k) {
        if (all[k].unit != index) continue;
        kernels::Launch launch = kernels::plan_launch(all[k].schedule, syms.data(), api_.limits(device_));
        st_.trace.last_launches[k] = launch;
        std::vector<char> values(kScalarBytes * (all[k].params.size() + 1));
        std::vector<void*> params;
        for (size_t i = 0; i < all[k].params.size() && ok && !launch.empty(); ++i) {
            params.push_back(values.data() + kScalarBytes * i);
            ok = fill_param(index, all[k].params[i], launch, values.data() + kScalarBytes * i);
        }
        ok = ok && (launch.empty() ||
                    api_.launch(code_, static_cast<int>(k), launch, params.data(), kStream, &error_));
        if (all[k].schedule.phase + 1 == all[k].schedule.phases && partials_) {
            api_.release(device_, partials_, kStream);
            partials_ = 0;
        }
    }
    for (auto& [buffer, c] : scratch_)
        if (c.memory) api_.release(device_, c.memory, kStream);
    scratch_.clear();
    unseen_.push_back(index);
    return ok;
}

// ---- back to the host ----

bool DeviceRun::copy_out(void* to, kernels::DevicePointer from, int64_t bytes) {
    waited_ = true;
    return api_.copy_out(device_, to, from, bytes, kStream, &error_);
}

bool DeviceRun::array_to_host(Copy& c) {
    if (c.bytes == 0) return true;
    const ElementLayout layout = layout_of(c.host);
    const Stretch s = stretch_of(numpy::data(c.host), layout);
    if (layout.bytes_of_elements() == s.bytes) return copy_out(s.begin, c.memory, s.bytes);
    // What lies between its elements is not the array's.
    std::vector<char> stretch(static_cast<size_t>(s.bytes));
    if (!copy_out(stretch.data(), c.memory, s.bytes)) return false;
    copy_elements(s, stretch.data(), layout);
    return true;
}

bool DeviceRun::result_to_host(int segment, int buffer) {
    const kernels::Buffer& b =
        st_.trace.segments[static_cast<size_t>(segment)].gpu_program->buffers[static_cast<size_t>(buffer)];
    const int slot = st_.trace.value_slots[b.value];
    if (slot < 0) return true;
    // Memory that no kernel has touched is an array all the same, with any contents.
    auto it = values_.try_emplace(graph::buffer_root(st_.trace.graph, b.value)).first;
    if (!it->second.host) {
        std::vector<int64_t> dims;
        for (graph::Sym extent : b.shape) dims.push_back(st_.exprs[extent.id]);
        bool own = st_.trace.graph.nodes[graph::buffer_root(st_.trace.graph, b.value)].own_dtype;
        PyObject* array = numpy::new_array(b.dtype, static_cast<int>(dims.size()), dims.data(), b.perm, own);
        if (!array) {
            PyErr_Clear();
            error_ = "no memory for a result";
            return false;
        }
        it->second.host = array;
        st_.set_array(b.value, array);
    } else if (!st_.arrays[slot]) {
        st_.set_array(b.value, Py_NewRef(it->second.host));
    }
    if (!it->second.changed || it->second.bytes == 0) return true;
    it->second.changed = false;
    return copy_out(numpy::data(it->second.host), it->second.memory, it->second.bytes);
}

bool DeviceRun::results_to_host(int segment) {
    const kernels::Program& p = *st_.trace.segments[static_cast<size_t>(segment)].gpu_program;
    for (size_t b = 0; b < p.buffers.size(); ++b)
        if (p.buffers[b].kind == BufferKind::Output && !result_to_host(segment, static_cast<int>(b)))
            return false;
    for (const kernels::Scalar& sc : p.scalars) {
        if (sc.kind != ScalarKind::Result || st_.trace.value_slots[sc.value] < 0) continue;
        auto it = numbers_.find(sc.value);
        char bits[kScalarBytes] = {};
        if (it == numbers_.end()) continue;
        if (!copy_out(bits, it->second.memory, graph::info(sc.dtype).size)) return false;
        st_.set_scalar(sc.value, bits);
    }
    return true;
}

bool DeviceRun::to_host() {
    for (int segment : unseen_)
        if (!results_to_host(segment)) return false;
    unseen_.clear();
    // Results that the host has already, and that kernels stored to again.
    for (auto& [root, c] : values_) {
        if (!c.host || !c.changed || c.bytes == 0) continue;
        c.changed = false;
        if (!copy_out(numpy::data(c.host), c.memory, c.bytes)) return false;
    }
    for (auto& [object, c] : arrays_) {
        if (!c.changed) continue;
        st_.committed = true;
        c.changed = false;
        if (!array_to_host(c)) return false;
    }
    return true;
}

}  // namespace stator::frontend
