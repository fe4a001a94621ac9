/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fault injector of the sweep: a table of calls that can fail, how often
 * each was made in this process, and the one call that is to fail.  Calls count
 * only if the library, its modules or the libraries below those make them, see
 * fault.c; calls of the test itself and of libc do not.
 */
#ifndef HF_TESTS_FAULT_H
#define HF_TESTS_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Two failures without an errno. */
#define FAULT_SHORT (-1) /* one byte is transferred */
#define FAULT_END (-2)   /* the other side has ended the connection */

#define FAULT_ERRORS_MAX 6

/* FAULT_TABLE(X): X(ROW, name, errnos that the call may fail with...).  A call
 * has several rows where its failures depend on the kind of descriptor.  Calls
 * that cannot fail are not here: a write to an eventfd that does not block,
 * arming a timer, reading a clock, unlocking.  A call that does not block is
 * not interrupted either. */
#define FAULT_TABLE(X)                                                         \
    X(ALLOC, "allocate", ENOMEM)                                               \
    X(UV_ALLOC, "libuv's allocate", ENOMEM)                                    \
    X(BELOW_ALLOC, "malloc", ENOMEM)                                           \
    X(OPEN, "open", EINTR, EMFILE, ENOMEM, EACCES, EIO)                        \
    X(OPENAT, "openat", EINTR, EMFILE, ENOSPC, ENOMEM, EACCES, EIO)            \
    X(FOPEN, "fopen", EMFILE, ENOMEM, EACCES)                                  \
    X(CLOSE, "close", EINTR, EIO)                                              \
    X(READ, "read", EINTR, EIO)                                                \
    X(READ_COUNT, "read of a count", EAGAIN)                                   \
    X(READ_PIPE, "read of a pipe", EINTR)                                      \
    X(READ_SOCKET, "read of a socket", EINTR, EAGAIN, ECONNRESET, FAULT_SHORT, \
      FAULT_END)                                                               \
    X(WRITE, "write", EINTR, ENOSPC, EIO)                                      \
    X(WRITE_PIPE, "write of a pipe", EINTR)                                    \
    X(PREAD, "pread", EINTR, EIO)                                              \
    X(PWRITE, "pwrite", EINTR, ENOSPC, EIO, FAULT_SHORT)                       \
    X(FDATASYNC, "fdatasync", EINTR, EIO, ENOSPC)                              \
    X(FSYNC, "fsync", EINTR, EIO, ENOSPC)                                      \
    X(LSEEK, "lseek", EIO)                                                     \
    X(MMAP, "mmap", ENOMEM)                                                    \
    X(MKDIR, "mkdir", ENOSPC, EACCES, EROFS)                                   \
    X(MKDIRAT, "mkdirat", ENOSPC, EACCES, EROFS)                               \
    X(RMDIR, "rmdir", EBUSY, EACCES, EIO)                                      \
    X(FLOCK, "flock", ENOLCK)                                                  \
    X(FSTAT, "fstat", ENOMEM, EIO)                                             \
    X(LSTAT, "lstat", ENOMEM, EACCES, EIO)                                     \
    X(FSTATAT, "fstatat", ENOMEM, EACCES, EIO)                                 \
    X(FSTATFS, "fstatfs", EINTR, EIO)                                          \
    X(FCHMOD, "fchmod", EPERM, EIO)                                            \
    X(SYMLINKAT, "symlinkat", ENOSPC, EACCES)                                  \
    X(READLINKAT, "readlinkat", ENOMEM, EACCES, EIO)                           \
    X(MKFIFOAT, "mkfifoat", ENOSPC, EACCES)                                    \
    X(RENAMEAT, "renameat", ENOSPC, EACCES, EIO)                               \
    X(UNLINKAT, "unlinkat", EACCES, EIO)                                       \
    X(UNLINK, "unlink", EACCES, EIO)                                           \
    X(GETDENTS, "getdents64", EIO, ENOMEM)                                     \
    X(UTIMENSAT, "utimensat", EACCES, EROFS)                                   \
    X(ACCESS, "access", EACCES)                                                \
    X(INOTIFY_INIT, "inotify_init1", EMFILE, ENOMEM)                           \
    X(INOTIFY_ADD, "inotify_add_watch", ENOSPC, ENOMEM)                        \
    X(TIMERFD, "timerfd_create", EMFILE, ENOMEM)                               \
    X(EVENTFD, "eventfd", EMFILE, ENOMEM)                                      \
    X(EPOLL_CREATE, "epoll_create1", EMFILE, ENOMEM)                           \
    X(EPOLL_ADD, "epoll_ctl to add", ENOMEM, ENOSPC)                           \
    X(EPOLL_WAIT, "epoll_wait", EINTR)                                         \
    X(PIPE, "pipe2", EMFILE)                                                   \
    X(POLL, "poll", EINTR, ENOMEM)                                             \
    X(DUPLICATE, "fcntl to duplicate", EMFILE)                                 \
    X(SOCKET, "socket", EMFILE, ENOBUFS, ENFILE)                               \
    X(CONNECT, "connect", ECONNREFUSED, ENETUNREACH, EAGAIN, EINTR)            \
    X(SEND, "send", EINTR, EAGAIN, ECONNRESET, EPIPE, FAULT_SHORT)             \
    X(RECV, "recv", EINTR, EAGAIN, ECONNRESET, ETIMEDOUT, FAULT_SHORT,         \
      FAULT_END)                                                               \
    X(GETSOCKOPT, "getsockopt", ENOBUFS)                                       \
    X(SETSOCKOPT, "setsockopt", ENOBUFS)                                       \
    X(GETSOCKNAME, "getsockname", ENOBUFS)                                     \
    X(GETPEERNAME, "getpeername", ENOTCONN)                                    \
    X(GETADDRINFO, "getaddrinfo", EAGAIN, ENOMEM)                              \
    X(GETRANDOM, "getrandom", ENOSYS)                                          \
    X(THREAD, "pthread_create", EAGAIN)

enum fault_row {
#define FAULT_ROW_(row, name, ...) FAULT_##row,
    FAULT_TABLE(FAULT_ROW_)
#undef FAULT_ROW_
        FAULT_ROWS
};

struct fault_kind {
    const char *name;
    int errors[FAULT_ERRORS_MAX + 1]; /* ends with 0 */
};

extern const struct fault_kind fault_kinds[FAULT_ROWS];

/* "EMFILE", "short" and so on. */
const char *fault_error_name(int error);

/* The ${nth} call, from 1, of ${row} fails with ${error}; with 0 none. */
struct fault_plan {
    enum fault_row row;
    unsigned nth;
    int error;
};

/* What the process of a scenario reports to its parent, in shared memory. */
struct fault_report {
    _Atomic unsigned calls[FAULT_ROWS];
    _Atomic unsigned met;        /* how often the fault was hit */
    _Atomic bool uv_aborted;     /* libuv has ended the process */
    _Atomic long own_memory;     /* blocks of the library */
    _Atomic long uv_memory;      /* blocks of libuv */
    char caller[64];             /* the library that hit the fault */
    char failure[640];           /* the first check that failed; "" if none */
    _Atomic bool scenario_ended; /* what is left was checked */
};

/* Set the fault and where to report; before the process has threads.  Calls
 * count, and the fault is injected, between fault_begin() and fault_end(). */
void fault_set(const struct fault_plan *plan, struct fault_report *report);
void fault_begin(void);
void fault_end(void);

/* For the replacement of a call: the errno that the call of ${row} made from
 * ${caller} must fail with, or 0. */
int fault_meets(enum fault_row row, const void *caller);

/* Whether ${caller} is in one of the libraries that are looked at, in libuv,
 * or in a client library below a module. */
bool fault_is_from(const void *caller, const char *library);

/* The function ${name} of libc, for its replacement to call. */
void *fault_real(const char *name);

#endif
