// Functions that glibc has got since the one that wheels are linked against (glibc_stubs.py), for the code of
// ours, of libstdc++ and of LLVM that was compiled against headers which have them. Linked into each library,
// and hidden there.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define COMPAT __attribute__((visibility("hidden")))

// glibc 2.32: libstdc++ counts references without atomics while a process has one thread. We cannot know.
COMPAT char __libc_single_threaded = 0;

// glibc 2.33: until then these were inline functions around the following ones, whose first argument says
// which struct stat is meant; x86-64 has had one only.
enum { kStatVersion = 1 };
extern int __xstat(int, const char*, struct stat*);
extern int __lxstat(int, const char*, struct stat*);
extern int __fxstat(int, int, struct stat*);
extern int __fxstatat(int, int, const char*, struct stat*, int);
COMPAT int stat(const char* path, struct stat* s) { return __xstat(kStatVersion, path, s); }
COMPAT int lstat(const char* path, struct stat* s) { return __lxstat(kStatVersion, path, s); }
COMPAT int fstat(int fd, struct stat* s) { return __fxstat(kStatVersion, fd, s); }
COMPAT int fstatat(int fd, const char* path, struct stat* s, int flags) {
    return __fxstatat(kStatVersion, fd, path, s, flags);
}
COMPAT int stat64(const char* path, struct stat64* s) { return stat(path, (struct stat*)s); }
COMPAT int lstat64(const char* path, struct stat64* s) { return lstat(path, (struct stat*)s); }
COMPAT int fstat64(int fd, struct stat64* s) { return fstat(fd, (struct stat*)s); }
COMPAT int fstatat64(int fd, const char* path, struct stat64* s, int flags) {
    return fstatat(fd, path, (struct stat*)s, flags);
}

// glibc 2.33: counts of more than 2 GiB. <malloc.h> declares it or does not.
struct counts {
    int of[10];
};
struct wide_counts {
    size_t of[10];
};
extern struct counts mallinfo(void);
COMPAT struct wide_counts mallinfo2(void) {
    const struct counts narrow = mallinfo();
    struct wide_counts wide;
    for (int i = 0; i < 10; ++i) wide.of[i] = (unsigned)narrow.of[i];
    return wide;
}

// glibc 2.36
COMPAT uint32_t arc4random(void) {
    uint32_t number;
    while (getrandom(&number, sizeof number, 0) != sizeof number) {
    }
    return number;
}

// glibc 2.30: waits of libstdc++ until a time of the steady clock. The clock of the calendar may be set
// meanwhile; those who wait look at the time again.
COMPAT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const struct timespec* until) {
    enum { kSecond = 1000000000 };
    if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, until);
    struct timespec now, other;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &other);
    const int64_t wait = (int64_t)(until->tv_sec - now.tv_sec) * kSecond + (until->tv_nsec - now.tv_nsec);
    const int64_t end = (int64_t)other.tv_sec * kSecond + other.tv_nsec + (wait > 0 ? wait : 0);
    const struct timespec deadline = {end / kSecond, end % kSecond};
    return pthread_cond_timedwait(condition, mutex, &deadline);
}

// glibc 2.38: numbers as C23 reads them, with 0b; nobody here reads such.
extern long strtol(const char*, char**, int);
extern unsigned long strtoul(const char*, char**, int);
extern long long strtoll(const char*, char**, int);
extern unsigned long long strtoull(const char*, char**, int);
COMPAT long __isoc23_strtol(const char* s, char** end, int base) { return strtol(s, end, base); }
COMPAT unsigned long __isoc23_strtoul(const char* s, char** end, int base) { return strtoul(s, end, base); }
COMPAT long long __isoc23_strtoll(const char* s, char** end, int base) { return strtoll(s, end, base); }
COMPAT unsigned long long __isoc23_strtoull(const char* s, char** end, int base) {
    return strtoull(s, end, base);
}
