// See log_records.h.
#include "bindings/log_records.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <vector>

#include "frontend/cpython/frame.h"
#include "frontend/cpython/pending.h"
#include "frontend/once.h"

namespace stator::bindings {
namespace py = pybind11;
namespace {

struct Line {
    double seconds;
    long thread;
    std::string text;
};

struct Kept {
    std::mutex mutex;
    std::vector<Line> lines;
    bool asked = false;  // a pending call is on its way
};

Kept& kept();

// A child begins with no lines, since they are its parent's, and with an open lock.
void before_fork() { kept().mutex.lock(); }
void in_parent() { kept().mutex.unlock(); }
void in_child() {
    kept().lines.clear();
    kept().asked = false;
    kept().mutex.unlock();
}

Kept& kept() {
    // The compile thread may outlive the process's statics.
    static auto* one = new Kept;
    static const int follows [[maybe_unused]] = pthread_atfork(before_fork, in_parent, in_child);
    return *one;
}

thread_local bool handing_over = false;

// True where Python code may go on: an interrupt that came meanwhile is the program's.
bool hand_over() {
    const frontend::HookPause pause;
    handing_over = true;
    PyObject* module = PyImport_ImportModule("stator._log_records");
    PyObject* done = module ? PyObject_CallMethod(module, "hand_over", nullptr) : nullptr;
    handing_over = false;
    if (!done && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_WriteUnraisable(module);
    Py_XDECREF(done);
    Py_XDECREF(module);
    return !PyErr_Occurred();
}

int pending(void*) { return hand_over() ? 0 : -1; }

}  // namespace

void keep_log_record(const std::string& line) {
    if (handing_over) return;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    Kept& k = kept();
    const std::lock_guard lock(k.mutex);
    k.lines.push_back({std::chrono::duration<double>(now).count(), syscall(SYS_gettid), line});
    if (k.asked || Py_AddPendingCall(pending, nullptr) != 0)
        return;  // a full queue: the next line asks again
    k.asked = true;
    frontend::show_pending_call(PyInterpreterState_Main());
}

py::list take_log_records() {
    std::vector<Line> lines;
    {
        const std::lock_guard lock(kept().mutex);
        lines.swap(kept().lines);
        kept().asked = false;
    }
    py::list rows;
    for (const Line& line : lines) rows.append(py::make_tuple(line.seconds, line.thread, line.text));
    return rows;
}

void hand_over_log_records() {
    {
        const std::lock_guard lock(kept().mutex);
        if (kept().lines.empty()) return;
    }
    if (!hand_over()) throw py::error_already_set();
}

}  // namespace stator::bindings
