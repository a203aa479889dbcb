// See later.h. A thread sleeps, and then asks the interpreter for a pending call. Nothing here takes the GIL.
#include "bindings/later.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace stator::bindings {
namespace {

struct Waiting {
    std::mutex mutex;
    std::condition_variable changed;
    std::thread thread;
    pid_t process = 0;  // whose thread it is
    std::chrono::steady_clock::time_point due;
    void (*what)() = nullptr;
    bool ended = false;
};

Waiting& waiting() {
    static auto* one = new Waiting;  // a thread that outlives the process's statics may look at it
    return *one;
}

int pending(void* what) {
    reinterpret_cast<void (*)()>(what)();
    return 0;
}

void wait_and_ask() {
    Waiting& w = waiting();
    std::unique_lock lock(w.mutex);
    while (!w.ended) {
        if (!w.what) {
            w.changed.wait(lock);
            continue;
        }
        if (std::chrono::steady_clock::now() < w.due) {
            w.changed.wait_until(lock, w.due);
            continue;
        }
        // Where the interpreter's queue is full it is asked again.
        if (Py_AddPendingCall(pending, reinterpret_cast<void*>(w.what)) == 0)
            w.what = nullptr;
        else
            w.due += std::chrono::milliseconds(10);
    }
}

}  // namespace

void do_later(int64_t ns, void (*what)()) {
    Waiting& w = waiting();
    if (w.process != 0 && w.process != getpid()) return;
    const std::lock_guard lock(w.mutex);
    if (w.ended) return;
    w.due = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);
    w.what = what;
    if (w.process == 0) {
        w.process = getpid();
        w.thread = std::thread(wait_and_ask);
    }
    w.changed.notify_one();
}

void end_later() {
    Waiting& w = waiting();
    if (w.process != getpid()) return;  // none, or its thread is another process's
    {
        const std::lock_guard lock(w.mutex);
        w.ended = true;
        w.changed.notify_one();
    }
    w.thread.join();
}

}  // namespace stator::bindings
