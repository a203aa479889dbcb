// See later.h. A thread sleeps, and then asks the interpreter for a pending call. Nothing here takes the GIL.
//
// There is no such thread while the process forks: a child would be left with locks that nobody opens, and
// CPython warns of processes that fork with several threads. It begins anew when the interpreter asks for it
// after the fork, which in the parent is a pending call: behind that warning.
#include "bindings/later.h"

#define PY_SSIZE_T_CLEAN
#include <pthread.h>
#include <Python.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "frontend/cpython/pending.h"
#include "frontend/once.h"

namespace stator::bindings {
namespace {

using Clock = std::chrono::steady_clock;

struct Wish {
    int (*what)();
    Clock::time_point due;
};

struct Waiting {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Wish> wishes;
    bool leaving = false;  // the thread is to end
    // Of those under the GIL only.
    std::thread thread;
    pid_t process = 0;  // whose thread it is
    bool ended = false;
};

Waiting& waiting() {
    static auto* one = new Waiting;  // a thread that outlives the process's statics may look at it
    return *one;
}

int pending(void* what) { return reinterpret_cast<int (*)()>(what)(); }

void wait_and_ask() {
    Waiting& w = waiting();
    std::unique_lock lock(w.mutex);
    while (!w.leaving) {
        const auto next = std::min_element(w.wishes.begin(), w.wishes.end(),
                                           [](const Wish& a, const Wish& b) { return a.due < b.due; });
        if (next == w.wishes.end()) {
            w.changed.wait(lock);
        } else if (const auto due = next->due; Clock::now() < due) {
            w.changed.wait_until(lock, due);
        } else if (Py_AddPendingCall(pending, reinterpret_cast<void*>(next->what)) == 0) {
            frontend::show_pending_call(PyInterpreterState_Main());
            w.wishes.erase(next);
        } else {
            next->due += std::chrono::milliseconds(10);  // the interpreter's queue is full
        }
    }
}

void start() {
    Waiting& w = waiting();
    if (w.ended || w.thread.joinable()) return;
    // Signals belong to the program's threads: the new one inherits a full mask.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w.thread = std::thread(wait_and_ask);
    w.process = getpid();
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

// Forks that the interpreter knows nothing of leave a child that has no such thread.
bool lost() { return waiting().thread.joinable() && waiting().process != getpid(); }

void stop() {
    Waiting& w = waiting();
    if (!w.thread.joinable() || lost()) return;
    {
        const std::lock_guard lock(w.mutex);
        w.leaving = true;
        w.changed.notify_one();
    }
    w.thread.join();
    w.leaving = false;
}

int start_if_wanted() {
    if (!waiting().wishes.empty()) start();
    return 0;
}

PyObject* before_fork(PyObject*, PyObject*) {
    stop();
    Py_RETURN_NONE;
}
PyObject* after_fork(PyObject*, PyObject*) {
    Py_AddPendingCall(pending, reinterpret_cast<void*>(&start_if_wanted));
    Py_RETURN_NONE;
}
PyMethodDef before_method = {"stop_waiting", before_fork, METH_NOARGS, nullptr};
PyMethodDef after_method = {"go_on_waiting", after_fork, METH_NOARGS, nullptr};

bool follow_forks() {
    PyObject* os = PyImport_ImportModule("os");
    PyObject* hook = os ? PyObject_GetAttrString(os, "register_at_fork") : nullptr;
    PyObject* before = PyCFunction_New(&before_method, nullptr);
    PyObject* after = PyCFunction_New(&after_method, nullptr);
    PyObject* keywords = before && after ? Py_BuildValue("{s:O,s:O,s:O}", "before", before, "after_in_parent",
                                                         after, "after_in_child", after)
                                         : nullptr;
    PyObject* none = PyTuple_New(0);
    PyObject* done = hook && keywords && none ? PyObject_Call(hook, none, keywords) : nullptr;
    const bool ok = done != nullptr;
    for (PyObject* o : {os, hook, before, after, keywords, none, done}) Py_XDECREF(o);
    if (!ok) PyErr_Clear();
    return ok;
}

}  // namespace

void do_later(int64_t ns, int (*what)()) {
    const bool follows = frontend::once([] { return follow_forks(); });
    Waiting& w = waiting();
    if (w.ended || !follows || lost()) return;
    {
        const std::lock_guard lock(w.mutex);
        std::erase_if(w.wishes, [&](const Wish& wish) { return wish.what == what; });
        w.wishes.push_back({what, Clock::now() + std::chrono::nanoseconds(ns)});
        w.changed.notify_one();
    }
    start();
}

void end_later() {
    waiting().ended = true;
    stop();
}

}  // namespace stator::bindings
