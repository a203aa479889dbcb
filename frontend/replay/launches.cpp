// See launches.h. A value's memory is known by the root of its versions; memory that leaves one trace and
// enters the next is known by its array object.
#include "frontend/replay/launches.h"

#include <algorithm>

#include "frontend/replay/host_arrays.h"
#include "frontend/replay/materialize.h"

namespace stator::frontend {

using graph::Id;
using graph::Node;
using graph::Op;

thread_local constinit LaunchObserver* active_observer = nullptr;

void LaunchObserver::began(const ReplayState& st) {
    slots_.clear(), numbers_.clear();
    ended_in_trace_ = false;
    source_.reset();
    if (!st.trace.cuda) {
        error = st.trace.name + " was not recorded for a GPU";
        return;
    }
    for (const graph::Input& in : st.trace.graph.inputs)
        if (in.host == graph::HostId::Torch) {
            error = "kernels are made of NumPy's arrays and of those on a GPU, not of the CPU's tensors (" +
                    in.source + ")";
            source_.reset();
            return;
        }
    if (!st.trace.cuda->error.empty()) error = st.trace.name + ": " + st.trace.cuda->error;
    source_ = std::make_shared<const std::string>(st.trace.cuda->text);
}

int64_t LaunchObserver::slot_of(int32_t root) {
    auto [it, fresh] = slots_.try_emplace(root, next_slot_);
    if (fresh) ++next_slot_;
    return it->second;
}

LaunchParam LaunchObserver::array(PyObject* object) {
    for (size_t i = 0; i < arguments_.size(); ++i)
        if (arguments_[i].get() == object) return {LaunchParam::In, static_cast<int64_t>(i), 0, {}};
    if (auto it = objects_.find(object); it != objects_.end()) {
        LaunchParam p{LaunchParam::Scratch, it->second, 0, {}};
        p.bytes = host_array_size(object);
        return p;
    }
    return {LaunchParam::Const, 0, 0, PyRef::borrow(object)};
}

// Where a value that existed before the segment lies, or one that it leaves behind.
LaunchParam LaunchObserver::memory_of(const ReplayState& st, int32_t value, int64_t bytes) {
    const graph::Graph& g = st.trace.graph;
    Id root = graph::buffer_root(g, value);
    const Node& n = g.nodes[root];
    if (n.op == Op::Input) {
        LaunchParam p = array(st.entry->inputs[n.ints[0]]);
        if (p.kind == LaunchParam::Scratch) p.bytes = bytes;
        return p;
    }
    if (n.op == Op::Library) {
        PyObject* made = st.memory(value);
        return made ? array(made) : LaunchParam{LaunchParam::Scratch, slot_of(root), bytes, {}};
    }
    return {LaunchParam::Scratch, slot_of(root), bytes, {}};
}

// A number is what it is, not the array that it may have been read from.
LaunchParam LaunchObserver::number(const ReplayState& st, int32_t value, int64_t bytes) {
    const Node& n = st.trace.graph.nodes[value];
    if (n.op == Op::Input) return array(st.entry->inputs[n.ints[0]]);
    auto [it, fresh] = numbers_.try_emplace(value, next_slot_);
    if (fresh) ++next_slot_;
    return {LaunchParam::Scratch, it->second, bytes, {}};
}

LaunchParam LaunchObserver::buffer(const ReplayState& st, const kernels::Program& p, int index) {
    const kernels::Buffer& b = p.buffers[static_cast<size_t>(index)];
    int64_t bytes = graph::info(b.dtype).size;
    for (graph::Sym extent : b.shape) bytes *= st.exprs[extent.id];
    // A copy of an old version has a place of its own.
    if (b.kind == kernels::BufferKind::Scratch) return {LaunchParam::Scratch, slot_of(-2 - index), bytes, {}};
    LaunchParam out = memory_of(st, b.value, bytes);
    PyObject* made = out.kind == LaunchParam::Scratch ? st.memory(b.value) : nullptr;
    if (made && objects_.try_emplace(made, out.index).second) kept_.push_back(PyRef::borrow(made));
    return out;
}

LaunchParam LaunchObserver::scalar(const ReplayState& st, const kernels::Program& p, int index) {
    const kernels::Scalar& s = p.scalars[static_cast<size_t>(index)];
    char bits[16] = {};
    if (s.kind == kernels::ScalarKind::Sym)
        int_to_bits(st.exprs[st.trace.graph.nodes[s.value].syms[0].id], s.dtype, bits);
    else
        memcpy(bits, scalars_.data() + 16 * index, 16);
    LaunchParam out{LaunchParam::Scalar, 0, 0, {}};
    out.object = PyRef::steal(numpy::box_scalar(graph::Box::NpScalar, s.dtype, bits));
    return out;
}

void LaunchObserver::before(const ReplayState& st, int index) {
    const Segment& s = st.trace.segments[static_cast<size_t>(index)];
    if (!source_ || !s.gpu_program) return;
    const auto& all = s.gpu_program->scalars;
    scalars_.assign(16 * (all.size() + 1), 0);
    for (size_t i = 0; i < all.size(); ++i)
        if (all[i].kind == kernels::ScalarKind::Input && !kernels::on_device(all[i], st.trace.graph))
            st.scalar_now(all[i].value, all[i].dtype, scalars_.data() + 16 * i);
}

// In bytes.
static int64_t stride_of(const ReplayState& st, const kernels::Buffer& b, PyObject* memory, int axis) {
    int64_t strides[8] = {};
    const graph::HostId host = st.trace.graph.nodes[graph::buffer_root(st.trace.graph, b.value)].host;
    locate_host_array(host, memory, static_cast<int>(b.shape.size()), strides);
    return strides[axis];
}

void LaunchObserver::segment(const ReplayState& st, int index) {
    const Segment& s = st.trace.segments[static_cast<size_t>(index)];
    if (!source_ || !s.gpu_program) return;
    const kernels::Program& p = *s.gpu_program;
    std::vector<int64_t> syms;
    for (graph::Sym sym : p.syms) syms.push_back(st.exprs[sym.id]);
    // Scratch of one segment is nobody else's.
    std::erase_if(slots_, [](const auto& entry) { return entry.first < -1; });
    int64_t partials = -1;
    for (const kernels::CudaKernel& k : st.trace.cuda->kernels) {
        if (k.unit != index) continue;
        KernelLaunch launch;
        launch.name = k.name, launch.source = source_, launch.trace = st.trace.name;
        launch.schedule = k.schedule;
        launch.launch = kernels::plan_launch(k.schedule, syms.data(), limits_);
        if (launch.launch.empty()) continue;
        if (k.schedule.phase == 0 && k.schedule.phases > 1) partials = next_slot_++;
        for (const kernels::CudaParam& param : k.params) {
            LaunchParam v{LaunchParam::Extent, 0, 0, {}};
            switch (param.kind) {
                case kernels::CudaParamKind::Buffer: v = buffer(st, p, param.index); break;
                case kernels::CudaParamKind::Extent: v.index = syms[static_cast<size_t>(param.index)]; break;
                case kernels::CudaParamKind::Stride: {
                    auto owner =
                        std::find_if(p.buffers.begin(), p.buffers.end(), [&](const kernels::Buffer& b) {
                            return param.index >= b.stride_base &&
                                   param.index < b.stride_base + static_cast<int>(b.shape.size());
                        });
                    PyObject* memory = owner == p.buffers.end() ? nullptr : st.memory(owner->value);
                    if (memory) v.index = stride_of(st, *owner, memory, param.index - owner->stride_base);
                    break;
                }
                case kernels::CudaParamKind::Scalar: v = scalar(st, p, param.index); break;
                case kernels::CudaParamKind::Result: {
                    const kernels::Scalar& sc = p.scalars[static_cast<size_t>(param.index)];
                    v = number(st, sc.value, graph::info(sc.dtype).size);
                    break;
                }
                case kernels::CudaParamKind::Partial:
                    v = {LaunchParam::Scratch, partials, launch.launch.partial_bytes, {}};
                    break;
                case kernels::CudaParamKind::Slices: v.index = launch.launch.slices; break;
                case kernels::CudaParamKind::Phase: v.index = launch.launch.phase; break;
                case kernels::CudaParamKind::Staged: v.index = launch.launch.staged; break;
                case kernels::CudaParamKind::Shift: v.index = launch.launch.tile_shift; break;
            }
            launch.params.push_back(std::move(v));
        }
        launches.push_back(std::move(launch));
    }
}

// Numbers the results that a recipe mentions, depth first; arguments are none.
void LaunchObserver::results(const ReplayState& st, int32_t recipe) {
    if (recipe < 0) return;
    const graph::Graph& g = st.trace.graph;
    const graph::Recipe& r = g.recipes[recipe];
    if (r.kind == graph::RecipeKind::Value) {
        if (auto it = numbers_.find(r.index); it != numbers_.end()) {
            if (seen_results_.try_emplace(r.index, next_out_).second) out_.emplace(it->second, next_out_++);
            return;
        }
        Id root = graph::buffer_root(g, r.index);
        if (g.nodes[root].op == Op::Input) return results(st.entry->inputs[g.nodes[root].ints[0]]);
        if (!seen_results_.try_emplace(root, next_out_).second) return;
        if (auto it = slots_.find(root); it != slots_.end()) out_.emplace(it->second, next_out_);
        ++next_out_;
    }
    if (r.kind == graph::RecipeKind::InputObj) results(st.entry->inputs[r.index]);
    if (r.kind == graph::RecipeKind::Slot) results(st.entry->objects[r.index]);
    for (int32_t item : r.items) results(st, item);
}

void LaunchObserver::returned(const ReplayState& st) {
    seen_results_.clear(), seen_objects_.clear(), out_.clear(), next_out_ = 0;
    results(st, st.trace.graph.end);
    ended_in_trace_ = true;
}

// The same where Python returned the object: arrays are known by identity, or by what they are views of.
void LaunchObserver::results(PyObject* object) {
    if (!object) return;
    if (PyTuple_Check(object) || PyList_Check(object)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
            results(PySequence_Fast_GET_ITEM(object, i));
    } else if (PyDict_Check(object)) {
        PyObject *key, *value;
        for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &value);) results(value);
    } else if (numpy::is_plain_array(object)) {
        PyObject* owner = numpy::owner_of(object);
        for (const PyRef& argument : arguments_)
            if (argument.get() == owner) return;
        if (!seen_objects_.insert(owner).second) return;
        if (auto it = objects_.find(owner); it != objects_.end()) out_.emplace(it->second, next_out_);
        ++next_out_;
    }
}

void LaunchObserver::finish(PyObject* result) {
    if (!ended_in_trace_) {
        out_.clear(), seen_objects_.clear(), next_out_ = 0;
        results(result);
    }
    for (KernelLaunch& k : launches)
        for (LaunchParam& p : k.params) {
            auto it = p.kind == LaunchParam::Scratch ? out_.find(p.index) : out_.end();
            if (it != out_.end()) p.kind = LaunchParam::Out, p.index = it->second, p.bytes = 0;
        }
}

}  // namespace stator::frontend
