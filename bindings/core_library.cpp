// Opening the core library and keeping its options, and the frontend's, in step with the process's.
#include "bindings/core_library.h"
#include "bindings/compiled_function.h"
#include "bindings/log_records.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "frontend/function.h"
#include "frontend/host_calls/host_calls.h"
#include "frontend/hosts/call_pure.h"
#include "frontend/policy.h"

extern char** environ;

namespace stator::bindings {
namespace {

std::atomic<const kernels::CompilerApi*> core{nullptr};
jit::Options current;

void log_line(const std::string& line) {
    current.log_to == jit::LogTarget::Logging ? keep_log_record(line) : write_line(line);
}

void core_line(const char* line) { log_line(line); }

void frontend_line(frontend::LogTopic topic, const std::string& line) {
    if (topic == frontend::LogTopic::Errors) return log_line(line);
    const auto row = jit::log_rows()[static_cast<size_t>(topic)];
    log_line("[" + std::string(row.name) + "] " + line);
}

// The frontend's topics are the first rows of the log table, in the same order.
static_assert(static_cast<int>(frontend::LogTopic::Traces) == static_cast<int>(jit::LogArtifact::Traces));
static_assert(static_cast<int>(frontend::LogTopic::Guards) == static_cast<int>(jit::LogArtifact::Guards));
static_assert(static_cast<int>(frontend::LogTopic::Exits) == static_cast<int>(jit::LogArtifact::Exits));
static_assert(static_cast<int>(frontend::LogTopic::Recompiles) ==
              static_cast<int>(jit::LogArtifact::Recompiles));
static_assert(static_cast<int>(frontend::LogTopic::Kernels) == static_cast<int>(jit::LogArtifact::Kernels));
static_assert(static_cast<int>(frontend::LogTopic::Cache) == static_cast<int>(jit::LogArtifact::Cache));
static_assert(static_cast<int>(frontend::LogTopic::Opaque) == static_cast<int>(jit::LogArtifact::Opaque));
static_assert(static_cast<int>(frontend::LogTopic::Timings) == static_cast<int>(jit::LogArtifact::Timings));

void publish() {
    frontend::set_log_sink(frontend_line, current.log);
    frontend::set_remark_text(
        [](const frontend::Remark& r) { return is_break(r) || is_about_region(r) ? remark_text(r) : ""; });
    frontend::set_verify(current.verify);
    frontend::set_retirement(current.retire);
    frontend::set_regions(current.regions);
    frontend::set_host_calls(current.host_calls);
    frontend::set_host_calls_verified(current.verify);
    if (const auto* api = loaded_core()) api->configure(current, core_line);
}

const kernels::CompilerApi* open_core(std::string* error) {
    const std::string path = core_path();
    if (!std::filesystem::exists(path)) {
        *error = path + " is missing: reinstall stator, or build it with 'make build'";
        return nullptr;
    }
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        *error = std::string("libstator_core.so cannot be opened: ") + dlerror();
        return nullptr;
    }
    using Entry = const kernels::CompilerApi* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(library, "stator_core_api"));
    if (!entry) {
        *error = path + " does not offer stator_core_api: reinstall stator";
        return nullptr;
    }
    const kernels::CompilerApi* api = entry();
    if (api->version != kernels::kCompilerApiVersion) {
        *error = path + " is of another build (interface " + std::to_string(api->version) + ", expected " +
                 std::to_string(kernels::kCompilerApiVersion) + "): reinstall stator";
        return nullptr;
    }
    return api;
}

// Opens the library once; whoever comes while that goes on waits. Needs no GIL.
const std::string& open_once() {
    static const std::string problem = [] {
        std::string error;
        const kernels::CompilerApi* api = open_core(&error);
        if (api) api->configure(current, core_line);
        core.store(api, std::memory_order_release);
        return error;
    }();
    return problem;
}

// The thread that opens the library while the program goes on. The GIL guards these; the thread needs none.
pthread_t opener;
bool opening = false;

void finish_opening() {
    if (std::exchange(opening, false)) pthread_join(opener, nullptr);
}

// What is pending would go on in the parent before os.fork() is over, on a thread that CPython counts and
// then warns of. It does when the parent runs Python again.
PyObject* before_fork(PyObject*, PyObject*) {
    finish_opening();
    if (const auto* c = loaded_core()) c->hold_thread(true);
    Py_RETURN_NONE;
}
PyObject* after_fork(PyObject*, PyObject*) {
    if (const auto* c = loaded_core()) {
        c->hold_thread(false);
        const auto resume = [](void*) { return loaded_core()->resume(), 0; };
        if (Py_AddPendingCall(resume, nullptr) != 0) {
            // Too many are waiting: the next one that is asked to compile something goes on with the others.
        }
    }
    Py_RETURN_NONE;
}
PyObject* in_child(PyObject*, PyObject*) {
    frontend::other_threads_are_gone();
    Py_RETURN_NONE;
}
PyMethodDef before_fork_method = {"before_fork", before_fork, METH_NOARGS, nullptr};
PyMethodDef after_fork_method = {"after_fork", after_fork, METH_NOARGS, nullptr};
PyMethodDef in_child_method = {"in_child", in_child, METH_NOARGS, nullptr};

// A fork while the opener holds locks of the dynamic loader would leave them locked in the child.
bool wait_before_forks() {
    PyObject* os = PyImport_ImportModule("os");
    PyObject* hook = os ? PyObject_GetAttrString(os, "register_at_fork") : nullptr;
    PyObject* before = hook ? PyCFunction_New(&before_fork_method, nullptr) : nullptr;
    PyObject* after = before ? PyCFunction_New(&after_fork_method, nullptr) : nullptr;
    PyObject* child = after ? PyCFunction_New(&in_child_method, nullptr) : nullptr;
    PyObject* keywords = child ? Py_BuildValue("{s:O,s:O,s:O}", "before", before, "after_in_parent", after,
                                               "after_in_child", child)
                               : nullptr;
    PyObject* none = keywords ? PyTuple_New(0) : nullptr;
    PyObject* done = none ? PyObject_Call(hook, none, keywords) : nullptr;
    const bool ok = done != nullptr;
    for (PyObject* o : {os, hook, before, after, child, keywords, none, done}) Py_XDECREF(o);
    if (!ok) PyErr_Clear();
    return ok;
}

// At process exit the compile thread must be idle before static objects of LLVM go. This runs when the
// interpreter is gone and before any static destructor, whenever those were registered.
void register_exit() {
    static const int registered = Py_AtExit([] {
        finish_opening();
        if (const auto* c = loaded_core()) {
            c->reset();
            c->wait_idle();
        }
    });
    (void)registered;
}

}  // namespace

std::string core_path() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void*>(&core_line), &info) || !info.dli_fname) return "libstator_core.so";
    return (std::filesystem::path(info.dli_fname).parent_path() / "libstator_core.so").string();
}

const kernels::CompilerApi* loaded_core() { return core.load(std::memory_order_acquire); }

const kernels::CompilerApi* load_core(std::string* error) {
    register_exit();
    const std::string& problem = open_once();
    if (!loaded_core() && error) *error = problem;
    return loaded_core();
}

void preload_core() {
    static bool begun = false;
    if (std::exchange(begun, true) || loaded_core() || !wait_before_forks()) return;
    register_exit();
    // Signals belong to the program's threads: the new one inherits a full mask.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    opening = pthread_create(
                  &opener, nullptr,
                  [](void*) -> void* {
                      open_once();
                      if (const auto* api = loaded_core()) api->warm_up();
                      return nullptr;
                  },
                  nullptr) == 0;
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

const jit::Options& options() { return current; }

bool change_option(std::string_view field, std::string_view text, std::string& error) {
    if (field == "tune") {
        error = "thresholds are read once: set STATOR_TUNE before stator is imported";
        return false;
    }
    finish_opening();  // it reads the options
    if (!jit::set_option(current, field, text, error)) return false;
    publish();
    return true;
}

bool selected(const std::string& module, const std::string& qualname) {
    const auto any = [&](const std::vector<std::string>& patterns) {
        for (const std::string& p : patterns)
            if (jit::matches(p, qualname) || jit::matches(p, module + "." + qualname)) return true;
        return false;
    };
    return (current.only.empty() || any(current.only)) && !any(current.skip);
}

static std::vector<std::string> problems;

const std::vector<std::string>& option_problems() { return problems; }

void start_options() {
    current = jit::parse_environment(environ, problems);
    for (std::string& line : frontend::tune(frontend::process_policy, current.tune))
        problems.push_back(std::move(line));
    for (const std::string& line : problems) write_line(line);
    if (const char* log = std::getenv("STATOR_LOG");
        log && std::string_view(log).find("help") != std::string_view::npos)
        write_line(jit::log_help_text());
    frontend::set_compiler_loader(load_core);
    publish();
}

void write_line(const std::string& line) {
    const std::string text = (line.starts_with("stator: ") ? "" : "stator: ") + line + "\n";
    if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // nobody left to tell
}

}  // namespace stator::bindings
