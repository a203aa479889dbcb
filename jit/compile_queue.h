// One background thread that works off a bounded list of jobs: urgent ones first, the latest of them before
// the others, then the rest in order.
//
// The thread starts with the first job. What must hold:
//  * fork: a forked child has the pending jobs and no thread; the next push or wait_idle starts one.
//    `before_fork` lets the running job end and joins the thread, so that the child inherits no lock in use,
//    and so that Python, which counts threads at the end of os.fork(), finds none of ours: until then the
//    queue is on hold, or `after_fork` would start one in the parent.
//  * exit: `stop`, called by an exit handler, waits for the running job and drops the others, so that LLVM's
//    global objects are not destroyed under it.
//  * jobs never call Python: the thread that forks or exits holds the GIL while it waits for one.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

#include <pthread.h>

namespace stator::jit {

class CompileQueue {
  public:
    using Job = std::function<void()>;

    explicit CompileQueue(size_t bound) : bound_(bound) {}
    CompileQueue(const CompileQueue&) = delete;
    ~CompileQueue() { stop(); }

    // False when the queue is full or stopped: the job was not taken.
    bool push(Job job, bool urgent = false);
    bool has_pending();
    void wait_idle();  // until no job is pending or running
    size_t drop();     // forgets pending jobs; how many
    void stop();       // drops pending jobs, ends the thread, refuses new ones

    void before_fork();  // ends the thread after the job at hand, keeps the pending ones; holds the lock
    void after_fork(bool child);  // releases the lock; in the parent, goes on with what is pending
    void hold(bool held);         // while it is held only wait_idle starts a thread; letting go starts none
    void resume();                // goes on with what is pending

  private:
    static void* run(void* self);
    void work();
    bool start_thread();                             // with the lock held
    void end_thread(std::unique_lock<std::mutex>&);  // with the lock held; waits for the job at hand

    const size_t bound_;
    std::mutex mutex_;
    std::condition_variable wake_, idle_;
    std::deque<Job> pending_;
    pthread_t thread_{};
    bool has_thread_ = false;  // thread_ is there and has to be joined
    bool quit_ = false;        // it is to end after the job at hand, and somebody is joining it
    bool running_ = false;     // a job is being worked on
    bool stopped_ = false;
    bool held_ = false;
};

}  // namespace stator::jit
