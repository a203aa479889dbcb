// The order of locks at fork. Outside of this file no thread holds two of them at once except as listed here
// (an earlier one before a later one), so taking them in this order cannot deadlock:
//
//   compile queue   its job ends and its thread is joined; the job may take any lock below
//   NVRTC, what it compiled
//   the CUDA driver's table
//   opening the code generator, code generation, linking (codegen.h)
//   table of loaded code, object cache, worker threads, pool
#include "jit/fork.h"

#include <pthread.h>

#include "jit/codegen.h"
#include "jit/compiler.h"
#include "jit/cuda/driver.h"
#include "jit/cuda/nvrtc.h"
#include "jit/pool.h"
#include "jit/threads.h"

namespace stator::jit {
namespace {

void prepare() {
    compile_queue().before_fork();
    nvrtc_before_fork();
    cuda_driver_before_fork();
    codegen_before_fork();
    compiler_before_fork();
    threads_before_fork();
    pool().mutex().lock();
}

void release(bool child) {
    pool().mutex().unlock();
    threads_after_fork(child);
    compiler_after_fork();
    codegen_after_fork();
    cuda_driver_after_fork(child);
    nvrtc_after_fork();
    compile_queue().after_fork(child);
}

}  // namespace

void handle_fork() {
    static const int registered = pthread_atfork(prepare, [] { release(false); }, [] { release(true); });
    (void)registered;
}

}  // namespace stator::jit
