// The extension module stator._stator: compiled functions, what the thin Python package needs to
// configure and inspect, and the refusal of what stator cannot run on. Importing it compiles nothing and
// opens no library.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <vector>

#include "bindings/all_functions.h"
#include "bindings/compiled_function.h"
#include "bindings/core_library.h"
#include "bindings/cuda.h"
#include "bindings/cuda_launcher.h"
#include "bindings/departures.h"
#include "bindings/function_object.h"
#include "bindings/giving_back.h"
#include "bindings/inspector.h"
#include "bindings/later.h"
#include "bindings/log_records.h"
#include "bindings/profile.h"
#include "bindings/shared_states.h"
#include "bindings/testing.h"
#include "frontend/cpython/builtins.h"
#include "frontend/cpython/evaluated.h"
#include "frontend/cpython/frame.h"
#include "frontend/cpython/recall.h"
#include "frontend/drive/ledger.h"
#include "frontend/host_calls/host_calls.h"
#include "frontend/hosts/host.h"
#include "frontend/policy.h"
#include "frontend/profile/doing.h"
#include "frontend/replay/trace.h"
#include "guards/check/check.h"
#include "guards/check/names.h"
#include "guards/check/own_code.h"

namespace py = pybind11;

namespace stator::bindings {
namespace {

using frontend::Counters;
using frontend::Remark;
using frontend::TraceInfo;

frontend::FunctionState& state(py::handle f) {
    frontend::FunctionState* s = state_of(f.ptr());
    if (!s) throw py::error_already_set();
    return *s;
}

py::dict counters(const Counters& c) {
    py::dict d;
#define X(n) d[#n] = c.n;
    STATOR_COUNTERS(X)
#undef X
    d["compile_s"] = c.compile_s;
    return d;
}

constexpr std::pair<const char*, frontend::Stance> kStances[] = {
    {"default", frontend::Stance::Default},
    {"eager", frontend::Stance::Eager},
    {"fail_on_recompile", frontend::Stance::FailOnRecompile},
};

std::string stance_name() {
    for (const auto& [name, stance] : kStances)
        if (stance == frontend::chosen_stance()) return name;
    return "default";
}

void set_stance(const std::string& name) {
    std::string known;
    for (const auto& [text, stance] : kStances) {
        if (name == text) return apply_stance(stance);
        known += (known.empty() ? "'" : ", '") + std::string(text) + "'";
    }
    throw py::value_error("unknown stance '" + name + "': use one of " + known);
}

frontend::FunctionOptions options_from(bool fullgraph, bool fastmath, const std::string& device) {
    frontend::FunctionOptions o;
    o.fullgraph = fullgraph;
    o.fastmath = fastmath;
    o.async = options().async;
    o.cuda = o.on_device = device == "cuda";
    return o;
}

py::object compile(py::object function, bool fullgraph, bool fastmath, const std::string& device) {
    preload_core();
    PyObject* f = make_compiled(function.ptr(), options_from(fullgraph, fastmath, device));
    if (!f) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(f);
}

// What unpickling a compiled function by value needs (stator/_pickle.py).
py::object adopt_function(py::object function, py::object inspector, bool fullgraph, bool fastmath,
                          const std::string& device) {
    preload_core();
    PyObject* handle = adopt(function.ptr(), inspector.ptr(), options_from(fullgraph, fastmath, device));
    if (!handle) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(handle);
}
py::object live_sequence(py::object inspector, const std::string& name) {
    PyObject* sequence = sequence_of(inspector.ptr(), name.c_str());
    if (!sequence) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(sequence);
}

// stator.compile of a plain function without options, which programs do each time that they make a function:
// the compiled function, or None where there is more to it.
PyObject* compile_plainly(PyObject*, PyObject* function) {
    const jit::Options& o = options();
    if (Py_TYPE(function) != &PyFunction_Type || is_compiled(function) || !o.only.empty() ||
        !o.skip.empty() || !o.dump.empty())
        Py_RETURN_NONE;
    frontend::FunctionOptions wanted;
    wanted.async = o.async;
    preload_core();
    return make_compiled(function, wanted);
}

PyObject* call_as_program(PyObject*, PyObject* args) {
    const Py_ssize_t count = PyTuple_GET_SIZE(args);
    if (count == 0) return PyErr_SetString(PyExc_TypeError, "call_as_program needs a callable"), nullptr;
    PyObject* rest = PyTuple_GetSlice(args, 1, count);
    PyObject* result = rest ? frontend::call_as_program(PyTuple_GET_ITEM(args, 0), rest) : nullptr;
    Py_XDECREF(rest);
    return result;
}

PyMethodDef call_as_program_method = {"call_as_program", call_as_program, METH_VARARGS, nullptr};
PyMethodDef compile_plainly_method = {"compile_plainly", compile_plainly, METH_O, nullptr};

py::object disable(py::object callable) {
    PyObject* f = make_disabled(callable.ptr());
    if (!f) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(f);
}

py::dict function_options(py::handle f) {
    const frontend::FunctionOptions* o = options_of(f.ptr());
    if (!o) throw py::error_already_set();
    py::dict d;
    d["fullgraph"] = o->fullgraph;
    d["fastmath"] = o->fastmath;
    d["device"] = o->on_device ? "cuda" : "cpu";
    return d;
}

// Compilation is counted where it happens, in the core; a function's own share is what its traces asked for.
py::dict function_counters(const frontend::FunctionState& f) {
    const frontend::FunctionState::InUse in_use(f);
    Counters c = f.counters();
    for (const frontend::Trace* t : f.traces())
        for (const frontend::Segment& s : t->segments) {
            if (!s.code || !s.code->ready.load(std::memory_order_acquire)) continue;
            ++(s.code->from_cache ? c.cache_hits : c.compiles);
            c.compile_s += s.code->compile_seconds;
        }
    for (const frontend::RegionInfo& r : f.regions()) {
        const kernels::RegionSlot& slot = *r.request->slot;
        if (!slot.ready.load(std::memory_order_acquire)) continue;
        ++(slot.from_cache ? c.cache_hits : c.compiles);
        c.compile_s += slot.compile_seconds;
    }
    return counters(c);
}

// LLVM IR and assembly of a region; made on demand.
kernels::Artifacts region_artifacts(const frontend::RegionInfo& r) {
    kernels::Artifacts a;
    const kernels::CompilerApi* api = load_core(&a.error);
    if (!api) return a;
    py::gil_scoped_release release;
    api->region_artifacts(*r.request, a);
    return a;
}

std::vector<TraceInfo> traces(py::handle f) {
    std::vector<TraceInfo> all;
    const frontend::FunctionState::InUse in_use(state(f));
    for (const frontend::Trace* t : state(f).traces()) all.push_back(frontend::describe(*t));
    return all;
}

// LLVM IR, assembly and loop IR of each segment; made on demand, in a few milliseconds each.
std::vector<kernels::Artifacts> artifacts(const TraceInfo& t) {
    std::string error;
    const kernels::CompilerApi* api = load_core(&error);
    std::vector<kernels::Artifacts> all;
    for (const auto& request : t.compile_requests) {
        kernels::Artifacts a;
        if (api && request) {
            py::gil_scoped_release release;
            api->artifacts(*request, a);
        } else {
            a.error = error;
        }
        all.push_back(std::move(a));
    }
    return all;
}

py::dict core_info(bool open) {
    std::string error;
    const kernels::CompilerApi* api = open ? load_core(&error) : loaded_core();
    py::dict d;
    d["path"] = core_path();
    d["loaded"] = api != nullptr;
    d["error"] = error;
    if (!api) return d;
    kernels::CompilerStats s{};
    api->stats(s);
    if (open) {
        d["llvm"] = api->llvm_version();
        d["cpu"] = api->cpu_description();
    }
    d["threads"] = api->thread_count();
    d["compiles"] = s.compiles;
    d["cache_hits"] = s.cache_hits;
    d["cache_stores"] = s.cache_stores;
    d["failures"] = s.failures;
    d["compile_s"] = s.compile_seconds;
    return d;
}

void wait() {
    const kernels::CompilerApi* api = loaded_core();
    if (!api) return;
    py::gil_scoped_release release;
    api->wait_idle();
}

void reset() {
    reset_all();
    if (const kernels::CompilerApi* api = loaded_core()) api->reset();
}

void set_option(const std::string& field, const std::string& text) {
    std::string error;
    if (!change_option(field, text, error)) throw py::value_error(error);
    take_back_all();  // what they were given back for may hold no more
}

constexpr const char* kOptionKinds[] = {"Mode", "Flag",     "Count", "Size",
                                        "Text", "Patterns", "Logs",  "LogTarget"};

// (field, variable, kind, default, help, value) of each row.
py::list option_table() {
    py::list rows;
    for (const jit::OptionRow& r : jit::option_rows())
        rows.append(py::make_tuple(std::string(r.field), std::string(r.variable),
                                   kOptionKinds[static_cast<size_t>(r.kind)], std::string(r.fallback),
                                   std::string(r.help), jit::get_option(options(), r.field)));
    return rows;
}

// (group, name, unit, value, default, reason) of each threshold.
py::list policy_table() {
    py::list rows;
    for (const frontend::PolicyRow& r : frontend::policy_rows())
        rows.append(py::make_tuple(std::string(r.group), std::string(r.name), std::string(r.unit),
                                   r.value(frontend::policy()), r.fallback, std::string(r.reason)));
    return rows;
}

std::vector<std::optional<double>> compiled_ms(const TraceInfo& t) {
    std::vector<std::optional<double>> all;
    for (const auto& r : t.compile_requests) {
        const bool ready = r && r->slot && r->slot->ready.load(std::memory_order_acquire);
        all.push_back(ready ? std::optional(1e3 * r->slot->compile_seconds) : std::nullopt);
    }
    return all;
}

// Runs `call` and says where the time of its replays went, in microseconds.
std::pair<py::object, py::dict> profiled(py::function call) {
    frontend::Profile profile;
    frontend::Profile* outer = std::exchange(frontend::active_profile, &profile);
    ++frontend::watching;
    py::object result;
    try {
        result = call();
    } catch (...) {
        frontend::active_profile = outer;
        --frontend::watching;
        throw;
    }
    frontend::active_profile = outer;
    --frontend::watching;
    using enum frontend::Activity;
    const auto us = [](int64_t ns) { return static_cast<double>(ns) / 1e3; };
    py::dict d;
    d["replays"] = profile.replays;
    d["guards"] = us(profile[Guards]);
    d["launch"] = us(profile[Launch] - profile[Guards] - profile[Kernels] - profile[Library]);
    d["kernels"] = us(profile[Kernels]);
    d["numpy"] = us(profile[Library]);
    d["loops"] = us(profile[Region]);
    return {result, d};
}

void add_inspection(py::module_& m) {
    py::class_<Remark>(m, "Remark", "Something that kept code in Python.")
        .def_property_readonly("reason", &remark_reason, "Identifier of the row in the table of reasons.")
        .def_property_readonly("message", &remark_message)
        .def_property_readonly("hint", &remark_hint, "What to do about it; may be empty.")
        .def_property_readonly("is_break", &is_break, "Whether fullgraph=True objects to it.")
        .def_property_readonly("is_about_region", &is_about_region, "Whether it is about a loop as a whole.")
        .def_readonly("detail", &Remark::detail)
        .def_readonly("file", &Remark::file)
        .def_readonly("function", &Remark::function)
        .def_readonly("line", &Remark::line)
        .def_readonly("count", &Remark::count, "How often it happened.")
        .def("__str__", &remark_text)
        .def("__repr__", [](const Remark& r) { return "<Remark " + remark_text(r) + ">"; });

    py::class_<kernels::Artifacts>(m, "Artifacts", "What one segment of a trace is compiled to, as text.")
        .def_readonly("loop_ir", &kernels::Artifacts::loop_ir)
        .def_readonly("llvm_ir", &kernels::Artifacts::llvm_ir)
        .def_readonly("assembly", &kernels::Artifacts::assembly)
        .def_readonly("error", &kernels::Artifacts::error, "Why there is none; empty otherwise.");

    py::class_<frontend::RegionInfo>(m, "Region",
                                     "A loop compiled as a whole, as it was when it was asked for.")
        .def_readonly("name", &frontend::RegionInfo::name)
        .def_readonly("place", &frontend::RegionInfo::place, "File and line of the loop.")
        .def_readonly("graph_text", &frontend::RegionInfo::graph, "Its blocks and instructions.")
        .def_readonly("entries", &frontend::RegionInfo::entries)
        .def_readonly("checks", &frontend::RegionInfo::checks,
                      "How often it left in the middle, for Python to do a statement.")
        .def_readonly("refused", &frontend::RegionInfo::refused,
                      "How often it was not entered, though its code was there.")
        .def_readonly("why_refused", &frontend::RegionInfo::why_refused,
                      "What it expected and found at one of the last of these times.")
        .def_readonly("python_calls", &frontend::RegionInfo::python_calls,
                      "How often its code called a function of Python's.")
        .def_readonly("allocations", &frontend::RegionInfo::allocations,
                      "How often its code needed memory that it had not kept from earlier.")
        .def_readonly("ready", &frontend::RegionInfo::ready)
        .def_readonly("error", &frontend::RegionInfo::error)
        .def_readonly("on_device", &frontend::RegionInfo::on_device, "Whether it runs on a GPU.")
        .def_property_readonly(
            "exits",
            [](const frontend::RegionInfo& r) {
                py::list all;
                for (const auto& x : r.exits) all.append(py::make_tuple(x.file, x.line, x.label, x.taken));
                return all;
            },
            "Where it can be left, in the order of its text: file, line at which Python goes on, why, how "
            "often.")
        .def_property_readonly(
            "left_out",
            [](const frontend::RegionInfo& r) {
                py::list all;
                for (const auto& x : r.left_out)
                    all.append(py::make_tuple(x.file, x.line, x.function, x.detail));
                return all;
            },
            "Instructions that Python does: file, line, function, what it is.")
        .def_property_readonly(
            "compiled_ms",
            [](const frontend::RegionInfo& r) { return r.request->slot->compile_seconds * 1e3; },
            "What making its code took; 0 when it came from the cache.")
        .def("artifacts", &region_artifacts, "LLVM IR and assembly.")
        .def("cuda", &region_kernel, py::arg("arch") = "sm_90",
             "Its kernel for a GPU, compiled by NVRTC; no GPU is needed.");
    py::class_<TraceInfo>(m, "Trace", "One trace as it was when it was asked for.")
        .def_readonly("name", &TraceInfo::name)
        .def_readonly("place", &TraceInfo::place, "Where it is entered: file and line.")
        .def_readonly("graph_text", &TraceInfo::graph, "The graph after the passes.")
        .def_readonly("recorded_text", &TraceInfo::graph_recorded, "The graph as it was recorded.")
        .def_readonly("passes", &TraceInfo::passes, "(pass, graph after it) for each that changed something.")
        .def_readonly("guards", &TraceInfo::guards, "What must hold at entry, in Python terms.")
        .def_readonly("programs", &TraceInfo::programs, "Loop IR of each segment.")
        .def_readonly("entries", &TraceInfo::entries, "How often it was entered.")
        .def_readonly("exits", &TraceInfo::exits, "How often it was left before its end.")
        .def_readonly("recorded_ms", &TraceInfo::recorded_ms,
                      "Milliseconds from the first instruction to the last.")
        .def_readonly("prepared_ms", &TraceInfo::prepared_ms, "Milliseconds in passes and schedules.")
        .def_property_readonly(
            "compiled_ms", &compiled_ms,
            "Milliseconds of code generation of each segment, 0 from the cache; None: not ready.")
        .def_property_readonly("cuda", &trace_cuda, "The GPU's kernels of the trace; None without any.")
        .def_property_readonly("waits", &trace_waits, "Where replays waited for the GPU, and how often.")
        .def_property_readonly("segments", [](const TraceInfo& t) { return t.programs.size(); })
        .def(
            "ready",
            [](const TraceInfo& t) {
                size_t n = 0;
                for (const auto& r : t.compile_requests) n += r && r->slot && r->slot->ready.load();
                return n;
            },
            "How many segments run as machine code by now.")
        .def("artifacts", &artifacts, "What each segment is compiled to.")
        .def("__repr__",
             [](const TraceInfo& t) { return "<stator trace " + t.name + " at " + t.place + ">"; });
}

void add_functions(py::module_& m) {
    m.def("compile", &compile, py::arg("function"), py::arg("fullgraph") = false, py::arg("fastmath") = false,
          py::arg("device") = "cpu");
    m.def("detached_inspector", [] { return py::reinterpret_steal<py::object>(detached_inspector()); });
    m.def("adopt", &adopt_function, py::arg("function"), py::arg("inspector"), py::arg("fullgraph") = false,
          py::arg("fastmath") = false, py::arg("device") = "cpu");
    m.def("live_sequence", &live_sequence);
    m.def("disable", &disable, py::arg("callable"));
    m.def("function_options", &function_options);
    m.def("is_compiled", [](py::handle f) { return is_compiled(f.ptr()); });
    m.def(
        "selected",
        [](py::str module, py::str qualname) {
            return selected(guards::utf8(module.ptr()), guards::utf8(qualname.ptr()));
        },
        py::arg("module"), py::arg("qualname"));
    m.def(
        "stats",
        [](py::handle f) {
            if (!f.is_none()) return function_counters(state(f));
            py::dict all = counters(frontend::global_counters());
            int64_t answered = 0;
            for (const frontend::HostCallCount& c : frontend::host_call_counts()) answered += c.calls;
            all["host_calls"] = answered;
            return all;
        },
        py::arg("function") = py::none());
    m.def("host_calls", [] {
        py::dict counts;
        for (const frontend::HostCallCount& c : frontend::host_call_counts())
            counts[py::str(c.name)] = c.calls;
        return counts;
    });
    m.def("traces", &traces);
    m.def("regions", [](py::handle f) {
        const frontend::FunctionState::InUse in_use(state(f));
        return state(f).regions();
    });
    m.def("profiled", &profiled);
    m.def("remarks", [](py::handle f) { return state(f).remarks(); });
    m.def("stance", &stance_name);
    m.def("set_stance", &set_stance);
    m.def("wait", &wait);
    m.def("reset", &reset);
    m.def("start_all", &start_all);
    m.def("expect_program", &expect_program);
    m.def("purse", [] {
        const frontend::Purse& p = frontend::purse();
        py::dict d;
        d["investments"] = p.investments().balance();
        d["trials"] = p.trials().balance();
        d["invested"] = p.invested();
        return d;
    });
    m.def("forget_kept_states", &forget_kept_states);
    m.attr("compile_plainly") =
        py::reinterpret_steal<py::object>(PyCFunction_New(&compile_plainly_method, nullptr));
    m.attr("call_as_program") =
        py::reinterpret_steal<py::object>(PyCFunction_New(&call_as_program_method, nullptr));
    m.def("take_log_records", &take_log_records);
    m.def("at_exit", [] {
        hand_over_log_records();
        apply_stance(frontend::Stance::Eager);
        end_all();
    });
    m.def("core_info", &core_info, py::arg("open") = true);
    m.def("option_table", &option_table);
    m.def("option_problems", &option_problems);
    m.def("policy_table", &policy_table);
    m.def("set_option", &set_option);
    m.def("get_option", [](const std::string& field) { return jit::get_option(options(), field); });
    m.def("help_text", &jit::help_text);
    m.def("log_help_text", &jit::log_help_text);
    m.def("foreign_hook_present", [] { return frontend::foreign_hook_present(); });
}

// What cannot be known when the extension is built. The package prints the line and goes on without stator.
void check_hosts() {
    std::string error;
    if (!guards::init(&error) || !frontend::numpy_host().init(&error)) throw py::import_error(error);
}

}  // namespace
}  // namespace stator::bindings

PYBIND11_MODULE(_stator_bindings, m) {
    using namespace stator::bindings;
    m.doc() = "The compiled part of stator; use the package stator.";
    m.attr("__version__") = STATOR_VERSION;
    check_hosts();
    stator::frontend::builtins_at_import();
    stator::guards::OwnCode::compile_all();
    prepare_departures();
    stator::frontend::make_caller();
    stator::frontend::set_do_later(stator::bindings::do_later);
    if (!add_compiled_function(m.ptr())) throw py::error_already_set();
    add_inspection(m);
    add_functions(m);
    PyObject* testing = make_testing_module();
    if (!testing || PyModule_AddObject(m.ptr(), "_testing", testing) < 0) throw py::error_already_set();
    add_profile(m);
    add_cuda(m);
    add_cuda_launcher(m);
    start_options();
}

// NumPy, pybind11's registry and the eval-frame hook belong to the interpreter that was first; in another one
// pybind11 would wait for a thread state that never comes.
static int serve_main_interpreter_only(PyObject*) {
    if (PyInterpreterState_Get() == PyInterpreterState_Main()) return 0;
    PyErr_SetString(PyExc_ImportError, "stator serves the main interpreter only, not subinterpreters");
    return -1;
}

// Before CPython 3.13 a subinterpreter calls this itself; later ones let the main interpreter call it and run
// only the slots, of which the check is then the first.
extern "C" PYBIND11_EXPORT PyObject* PyInit__stator() {
    if (serve_main_interpreter_only(nullptr) < 0) return nullptr;
    PyObject* made = PyInit__stator_bindings();
    if (!made || !PyObject_TypeCheck(made, &PyModuleDef_Type)) return made;
    auto* def = reinterpret_cast<PyModuleDef*>(made);
    static std::vector<PyModuleDef_Slot> slots;
    if (slots.empty()) {
        slots.push_back({Py_mod_exec, reinterpret_cast<void*>(serve_main_interpreter_only)});
        for (const PyModuleDef_Slot* slot = def->m_slots; slot->slot != 0; ++slot) slots.push_back(*slot);
        slots.push_back({0, nullptr});
        def->m_slots = slots.data();
    }
    return made;
}
