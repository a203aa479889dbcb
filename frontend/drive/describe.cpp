// Traces as inspection sees them.
#include "frontend/drive/driver.h"
#include "frontend/function.h"
#include "frontend/replay/trace.h"
#include "guards/check/functions.h"
#include "guards/check/names.h"
#include "kernels/cuda/schedule.h"

namespace stator::frontend {

namespace {

std::shared_ptr<const CudaInfo> describe_cuda(const Trace& t) {
    auto info = std::make_shared<CudaInfo>();
    info->source = t.cuda->text, info->error = t.cuda->error;
    if (t.device) info->arch = compiler()->cuda->info(t.device).arch;
    for (size_t i = 0; i < t.cuda->kernels.size(); ++i) {
        const kernels::CudaKernel& k = t.cuda->kernels[i];
        if (i > 0 && t.cuda->kernels[i - 1].name == k.name) continue;  // a later launch of the same
        const kernels::Program& p = *t.segments[static_cast<size_t>(k.unit)].gpu_program;
        const auto& last = t.last_launches[i];
        info->kernels.push_back({k.name, k.unit, k.schedule.nests,
                                 kernels::print(k.schedule, p, t.graph, last ? &*last : nullptr)});
    }
    for (const Segment& s : t.segments)
        info->programs.push_back(s.gpu_program ? kernels::print(*s.gpu_program, t.graph) : "");
    return info;
}

// Where Python goes on after the trace's end.
void locate_end(const Trace& t, DeviceWait& wait) {
    const auto& frames = t.graph.snapshots[static_cast<size_t>(t.graph.end)].frames;
    if (frames.empty()) return;
    PyObject* code = t.objects[static_cast<size_t>(frames.back().code)].get();
    if (guards::is_function(code)) code = PyFunction_GET_CODE(code);
    if (!PyCode_Check(code)) return;
    auto* c = reinterpret_cast<PyCodeObject*>(code);
    wait.file = guards::utf8(c->co_filename);
    wait.function = guards::utf8(c->co_name);
    // As CodeInfo tells lines: what belongs to none is told of at the one before it.
    const CodeInfo* info = CodeInfo::get(c);
    const int at = info ? info->index_at(frames.back().unit) : -1;
    wait.line = at < 0 ? c->co_firstlineno : info->insns[static_cast<size_t>(at)].line;
}

DeviceWait describe_wait(const Trace& t, graph::Id node, int64_t count) {
    DeviceWait wait{};
    wait.count = count;
    if (node < 0) {
        wait.what = t.graph.end_kind == graph::EndKind::Leave ? DeviceWait::Python : DeviceWait::Return;
        if (wait.what == DeviceWait::Python) locate_end(t, wait);
        return wait;
    }
    const graph::Node& n = t.graph.nodes[node];
    wait.what = n.op == graph::Op::Library ? DeviceWait::HostCall : DeviceWait::Branch;
    if (n.op == graph::Op::Library) wait.call = n.name;
    if (n.op == graph::Op::Library && t.gpu >= 0) wait.what = DeviceWait::Number;
    if (n.loc >= 0) {
        const graph::Location& at = t.graph.locations[static_cast<size_t>(n.loc)];
        wait.file = at.file, wait.function = at.function, wait.line = at.line;
    }
    return wait;
}

}  // namespace

TraceInfo describe(const Trace& t) {
    TraceInfo info;
    info.name = t.name;
    if (t.place) {
        const Insn& insn = t.place->code->insns[t.place->pc];
        std::string file = guards::utf8(t.place->code->code->co_filename);
        info.place = file.substr(file.rfind('/') + 1) + ":" + std::to_string(insn.line) +
                     (t.place->pc == 0 ? " (function entry)" : " (resumed)");
    }
    info.graph_recorded = graph::print(*t.recorded);
    info.graph = graph::print(t.graph);
    graph::Graph again = *t.recorded;
    graph::run_passes(
        again,
        [](const graph::Pass& p, const graph::Graph& g, void* passes) {
            static_cast<decltype(info.passes)*>(passes)->emplace_back(p.name, graph::print(g));
        },
        &info.passes);
    info.guards = t.guards.texts();
    for (const Segment& s : t.segments) {
        info.programs.push_back(kernels::print(*s.program, t.graph));
        info.compile_requests.push_back(s.request);
    }
    info.entries = t.entries;
    info.exits = t.exits;
    info.recorded_ms = t.recorded_ms;
    info.prepared_ms = t.prepared_ms;
    if (t.cuda) info.cuda = describe_cuda(t);
    for (const auto& [node, count] : t.device_waits) info.waits.push_back(describe_wait(t, node, count));
    return info;
}

}  // namespace stator::frontend
