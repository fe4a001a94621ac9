/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes an flock() within a time limit.  timed_flock.h has the protocol between
 * waiters and holders, and why no wake-up is lost.
 */
#include "engines/file/timed_flock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/error.h"
#include "engines/file/syscalls.h"

/* How often hf_file_flock_try() tries again; between two tries the holder can
 * run. */
#define YIELDS 4

/* The first and the longest sleep without a futex. */
#define FIRST_STEP_NS 20000
#define LAST_STEP_NS 1000000

/* The value of the word if somebody waits for the lock; 0: nobody does. */
#define CONTENDED 1

uint64_t hf_file_flock_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A line is "1: FLOCK  ADVISORY  WRITE 734 00:1a:2718 0 EOF". */
pid_t hf_file_flock_holder(dev_t device, ino_t inode)
{
    FILE *locks = fopen("/proc/locks", "re");
    char line[256];
    pid_t found = 0;

    while (locks != NULL && found == 0 &&
           fgets(line, sizeof(line), locks) != NULL) {
        int pid;
        unsigned first, second;
        uint64_t number;

        if (sscanf(line, "%*u: FLOCK %*s %*s %d %x:%x:%" SCNu64, &pid, &first,
                   &second, &number) == 4 &&
            makedev(first, second) == device && number == inode && pid > 0)
            found = pid;
    }
    if (locks != NULL)
        (void)fclose(locks);
    return found;
}

void hf_file_flock_set_timeout(int fd, const char *path, struct hf_error *error)
{
    struct stat status;
    pid_t pid = 0;

    if (hf_file_sys_fstat(fd, &status) == 0)
        pid = hf_file_flock_holder(status.st_dev, status.st_ino);
    if (pid == 0)
        hf_error_set(error, HF_EUNREACHABLE,
                     "%s has been locked for %d s by a process that "
                     "cannot be seen from here; look for one that is "
                     "stopped",
                     path, HF_FLOCK_TIMEOUT_MS / 1000);
    else
        hf_error_set(error, HF_EUNREACHABLE,
                     "directory lock held by pid %d: %s should be locked "
                     "for microseconds and has been for %d s; is that "
                     "process stopped?",
                     (int)pid, path, HF_FLOCK_TIMEOUT_MS / 1000);
}

/* Sleep until the holder wakes us, but at most ${left_ms}.  If nobody can wake
 * us, sleep for ${pause}, which grows each time. */
static void sleep_once(_Atomic uint32_t *futex, uint64_t left_ms,
                       struct timespec *pause)
{
    if (futex != NULL &&
        (hf_file_sys_futex_wait(futex, CONTENDED, (unsigned)left_ms) == 0 ||
         errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT))
        return;
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, pause, NULL);
    if (pause->tv_nsec < LAST_STEP_NS)
        pause->tv_nsec *= 2;
}

enum hf_file_flock_answer hf_file_flock_lock(int fd, const char *path,
                                             enum hf_file_flock_wait wait,
                                             _Atomic uint32_t *futex,
                                             const atomic_bool *cancelled,
                                             struct hf_error *error)
{
    uint64_t wait_ms =
        wait == HF_FLOCK_WAIT_SLICE ? HF_FLOCK_SLICE_MS : HF_FLOCK_TIMEOUT_MS;
    uint64_t began_ms = hf_file_flock_now_ms();
    struct timespec pause = {0, FIRST_STEP_NS};
    uint64_t waited_ms = 0;

    assert(wait != HF_FLOCK_WAIT_NONE);
    for (;;) {
        if (futex != NULL)
            atomic_store(futex, CONTENDED);
        if (hf_file_sys_flock(fd, LOCK_EX | LOCK_NB) == 0)
            return HF_FLOCK_TAKEN;
        if (errno != EWOULDBLOCK && errno != EINTR) {
            hf_file_error_set_errno(error, "lock", path);
            return HF_FLOCK_FAILED;
        }
        if (cancelled != NULL && atomic_load(cancelled)) {
            hf_error_set(error, HF_ECLOSED, "the client was closed");
            return HF_FLOCK_FAILED;
        }
        waited_ms = hf_file_flock_now_ms() - began_ms;
        if (waited_ms >= wait_ms)
            break;
        sleep_once(futex, wait_ms - waited_ms, &pause);
    }
    if (wait == HF_FLOCK_WAIT_SLICE)
        return HF_FLOCK_BUSY;
    hf_file_flock_set_timeout(fd, path, error);
    return HF_FLOCK_FAILED;
}

void hf_file_flock_wake(_Atomic uint32_t *futex)
{
    if (futex != NULL && atomic_load(futex) != 0 &&
        atomic_exchange(futex, 0) != 0)
        (void)hf_file_sys_futex_wake(futex);
}

enum hf_file_flock_answer hf_file_flock_try(int fd, const char *path,
                                            struct hf_error *error)
{
    for (unsigned i = 0; i <= YIELDS; i++) {
        if (hf_file_sys_flock(fd, LOCK_EX | LOCK_NB) == 0)
            return HF_FLOCK_TAKEN;
        if (errno != EWOULDBLOCK && errno != EINTR) {
            hf_file_error_set_errno(error, "lock", path);
            return HF_FLOCK_FAILED;
        }
        (void)sched_yield();
    }
    return HF_FLOCK_BUSY;
}
