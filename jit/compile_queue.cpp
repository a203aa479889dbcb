// See compile_queue.h for what must hold at fork and exit.
#include "jit/compile_queue.h"

#include <csignal>

namespace stator::jit {

// LLVM recurses deeply in places, and the default stack follows ulimit.
static constexpr size_t kStackBytes = size_t{8} << 20;

bool CompileQueue::push(Job job, bool urgent) {
    std::lock_guard lock(mutex_);
    if (stopped_ || pending_.size() >= bound_ || !(held_ || start_thread())) return false;
    if (urgent)
        pending_.push_front(std::move(job));
    else
        pending_.push_back(std::move(job));
    wake_.notify_one();
    return true;
}

bool CompileQueue::has_pending() {
    std::lock_guard lock(mutex_);
    return !pending_.empty();
}

void CompileQueue::wait_idle() {
    std::unique_lock lock(mutex_);
    if (!pending_.empty() && !start_thread()) return;
    idle_.wait(lock, [&] { return pending_.empty() && !running_; });
}

size_t CompileQueue::drop() {
    std::deque<Job> dropped;  // destroyed after the lock is released: a job may own a lot
    std::lock_guard lock(mutex_);
    dropped.swap(pending_);
    if (!running_) idle_.notify_all();
    return dropped.size();
}

void CompileQueue::stop() {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    pending_.clear();
    if (has_thread_ && pthread_equal(thread_, pthread_self())) return;  // exit() called inside a job
    end_thread(lock);
    idle_.notify_all();
}

bool CompileQueue::start_thread() {
    if (has_thread_) return true;  // one that is ending is replaced by whoever ends it
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    // Signals belong to the program's threads: the new one inherits a full mask.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    has_thread_ = pthread_create(&thread_, &attributes, run, this) == 0;
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    pthread_attr_destroy(&attributes);
    return has_thread_;
}

void CompileQueue::end_thread(std::unique_lock<std::mutex>& lock) {
    if (quit_) {  // another thread is ending it
        idle_.wait(lock, [&] { return !quit_; });
        return;
    }
    if (!has_thread_) return;
    quit_ = true;
    wake_.notify_all();
    lock.unlock();
    pthread_join(thread_, nullptr);
    lock.lock();
    has_thread_ = quit_ = false;
    idle_.notify_all();
}

void* CompileQueue::run(void* self) {
    pthread_setname_np(pthread_self(), "stator-compile");
    static_cast<CompileQueue*>(self)->work();
    return nullptr;
}

void CompileQueue::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [&] { return quit_ || !pending_.empty(); });
        if (quit_) return;
        {
            Job job = std::move(pending_.front());
            pending_.pop_front();
            running_ = true;
            lock.unlock();
            job();
            job = nullptr;  // what it owns goes before the queue counts as idle
            lock.lock();
        }
        running_ = false;
        if (pending_.empty()) idle_.notify_all();
    }
}

void CompileQueue::before_fork() {
    std::unique_lock lock(mutex_);
    if (!(has_thread_ && pthread_equal(thread_, pthread_self()))) end_thread(lock);
    lock.release();  // kept locked until after_fork
}

void CompileQueue::after_fork(bool child) {
    if (child) held_ = false;
    if (!child && !held_ && !stopped_ && !pending_.empty()) start_thread();
    mutex_.unlock();
}

void CompileQueue::hold(bool held) {
    std::lock_guard lock(mutex_);
    held_ = held;
}

void CompileQueue::resume() {
    std::lock_guard lock(mutex_);
    held_ = false;
    if (!stopped_ && !pending_.empty()) start_thread();
}

}  // namespace stator::jit
