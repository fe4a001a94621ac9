/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a flock that is held for a moment, and being woken when it is
 * released.  Without a wake-up the sleep of a waiter ends after
 * HF_FLOCK_TIMEOUT_MS, so a waiter that has the lock earlier was woken. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "engines/file/syscalls.h"
#include "engines/file/timed_flock.h"

#define WAITERS_MAX 8
#define TURNS 1000

/* What waiters of one lock share, also those in other processes. */
struct flock_shared {
    _Atomic uint32_t futex;
    atomic_uint inside;
    atomic_uint overlaps;
    atomic_uint turns;
    atomic_uint held;
};

struct flock_waiter {
    pthread_t thread;
    atomic_long tid;
    const char *path;
    enum hf_file_flock_wait wait;
    _Atomic uint32_t *futex;
    atomic_bool cancelled;
    enum hf_file_flock_answer answer;
    uint64_t took_ms;
    struct hf_error error;
};

static char one[32], other[32]; /* the files of two locks */
static struct flock_shared *shared;

/* What the hook of engines/file/syscalls.h counts, and lets fail. */
static atomic_uint sleeps, wakes, steps; /* steps: of both */
static int sleep_error, wake_error;

static int note_call(const char *request)
{
    if (strcmp(request, "futex_wait") == 0) {
        (void)atomic_fetch_add(&sleeps, 1);
        (void)atomic_fetch_add(&steps, 1);
        return sleep_error;
    }
    if (strcmp(request, "futex_wake") == 0) {
        (void)atomic_fetch_add(&wakes, 1);
        (void)atomic_fetch_add(&steps, 1);
        return wake_error;
    }
    return 0;
}

static void make_file(char path[32])
{
    int fd;

    (void)strcpy(path, "/tmp/holdfast-flock-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
}

static int begin(void **state)
{
    (void)state;
    make_file(one);
    make_file(other);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    atomic_store(&sleeps, 0);
    atomic_store(&wakes, 0);
    atomic_store(&steps, 0);
    sleep_error = 0;
    wake_error = 0;
    hf_file_sys_hook = note_call;
    return 0;
}

static int finish(void **state)
{
    (void)state;
    hf_file_sys_hook = NULL;
    (void)munmap(shared, sizeof(*shared));
    return unlink(one) | unlink(other);
}

/* Each has its own descriptor, because a flock belongs to that. */
static int open_lock(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static int hold(const char *path)
{
    int fd = open_lock(path);

    assert_int_equal(flock(fd, LOCK_EX), 0);
    return fd;
}

static void unlock_and_wake(int fd)
{
    (void)flock(fd, LOCK_UN);
    hf_file_flock_wake(&shared->futex);
    (void)close(fd);
}

static void *wait_for_it(void *arg)
{
    struct flock_waiter *waiter = arg;
    int fd = open_lock(waiter->path);
    uint64_t began_ms = hf_file_flock_now_ms();

    atomic_store(&waiter->tid, syscall(SYS_gettid));
    waiter->answer =
        hf_file_flock_lock(fd, waiter->path, waiter->wait, waiter->futex,
                           &waiter->cancelled, &waiter->error);
    waiter->took_ms = hf_file_flock_now_ms() - began_ms;
    if (waiter->answer == HF_FLOCK_TAKEN)
        unlock_and_wake(fd);
    else
        (void)close(fd);
    return NULL;
}

/* Wait until ${count} is at least ${least}. */
static void await(atomic_uint *count, unsigned least)
{
    uint64_t until_ms =
        hf_file_flock_now_ms() + UINT64_C(4) * HF_FLOCK_TIMEOUT_MS;

    while (atomic_load(count) < least) {
        if (hf_file_flock_now_ms() >= until_ms)
            fail_msg("%u where %u was waited for", atomic_load(count), least);
        (void)sched_yield();
    }
}

static void start(struct flock_waiter *waiter, const char *path)
{
    unsigned before = atomic_load(&sleeps);

    *waiter = (struct flock_waiter){
        .path = path, .wait = HF_FLOCK_WAIT_TIMEOUT, .futex = &shared->futex};
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_it, waiter),
                     0);
    await(&sleeps, before + 1);
}

static void join(struct flock_waiter *waiter)
{
    assert_int_equal(pthread_join(waiter->thread, NULL), 0);
}

static void assert_was_woken(struct flock_waiter *waiter)
{
    join(waiter);
    assert_int_equal(waiter->answer, HF_FLOCK_TAKEN);
    assert_true(waiter->took_ms < HF_FLOCK_TIMEOUT_MS);
}

#define FIXTURE_TEST(name) TEST_WITH(name, begin, finish)

FIXTURE_TEST(the_unlock_wakes_who_waits)
{
    int fd = hold(one);
    struct flock_waiter waiter;

    start(&waiter, one);
    unlock_and_wake(fd);
    assert_was_woken(&waiter);
}

/* Each waiter that was woken wakes the next. */
FIXTURE_TEST(each_of_many_is_woken)
{
    int fd = hold(one);
    struct flock_waiter waiters[WAITERS_MAX];

    for (size_t i = 0; i < WAITERS_MAX; i++)
        start(&waiters[i], one);
    unlock_and_wake(fd);
    for (size_t i = 0; i < WAITERS_MAX; i++)
        assert_was_woken(&waiters[i]);
}

/* The first to sleep waits for the other lock and is woken in vain: it sleeps
 * again, or the one that was woken instead has had the lock. */
FIXTURE_TEST(two_locks_have_one_word)
{
    int fds[2] = {hold(one), hold(other)};
    struct flock_waiter waiters[2];

    start(&waiters[1], other);
    start(&waiters[0], one);
    unlock_and_wake(fds[0]);
    await(&steps, 4);
    unlock_and_wake(fds[1]);
    for (size_t i = 0; i < 2; i++)
        assert_was_woken(&waiters[i]);
}

FIXTURE_TEST(nobody_waits_and_nobody_is_woken)
{
    struct hf_error error;

    for (unsigned i = 0; i < 3; i++) {
        int fd = open_lock(one);

        assert_int_equal(hf_file_flock_try(fd, one, &error), HF_FLOCK_TAKEN);
        unlock_and_wake(fd);
    }
    assert_int_equal(atomic_load(&sleeps) + atomic_load(&wakes), 0);
}

FIXTURE_TEST(no_timeout_is_no_sleep)
{
    int held = hold(one), fd = open_lock(one);
    struct hf_error error;

    assert_int_equal(hf_file_flock_try(fd, one, &error), HF_FLOCK_BUSY);
    assert_int_equal(atomic_load(&sleeps), 0);
    assert_int_equal(atomic_load(&shared->futex), 0);
    (void)close(fd);
    (void)close(held);
}

/* The lock is released by an earlier version, which does not know the word,
 * or by the kernel. */
FIXTURE_TEST(nobody_wakes)
{
    int held = hold(one), fd = open_lock(one);
    struct hf_error error;
    enum hf_file_flock_answer answer = HF_FLOCK_BUSY;

    assert_int_equal(hf_file_flock_lock(fd, one, HF_FLOCK_WAIT_SLICE,
                                        &shared->futex, NULL, &error),
                     HF_FLOCK_BUSY);
    assert_true(atomic_load(&sleeps) > 0);
    assert_int_equal(flock(held, LOCK_UN), 0);
    answer = hf_file_flock_lock(fd, one, HF_FLOCK_WAIT_SLICE, &shared->futex,
                                NULL, &error);
    assert_int_equal(answer, HF_FLOCK_TAKEN);
    (void)close(fd);
    (void)close(held);
}

static void hold_and_be_killed(void)
{
    int fd = open(one, O_RDWR | O_CLOEXEC);

    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        _exit(1);
    atomic_store(&shared->held, 1);
    for (;;)
        (void)pause();
}

/* The helper thread tries again after each slice, and so does this test. */
FIXTURE_TEST(the_holder_is_killed)
{
    enum hf_file_flock_answer answer = HF_FLOCK_BUSY;
    struct hf_error error;
    pid_t pid = test_fork();
    int fd;

    assert_true(pid >= 0);
    if (pid == 0)
        hold_and_be_killed();
    while (atomic_load(&shared->held) == 0) {
        test_check_child(pid);
        (void)sched_yield();
    }
    fd = open_lock(one);
    for (unsigned i = 0; i < 1000 && answer == HF_FLOCK_BUSY; i++) {
        answer = hf_file_flock_lock(fd, one, HF_FLOCK_WAIT_SLICE,
                                    &shared->futex, NULL, &error);
        if (i == 1)
            assert_int_equal(kill(pid, SIGKILL), 0);
    }
    assert_int_equal(answer, HF_FLOCK_TAKEN);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(fd);
}

/* As proc(5) says: 'S' once the thread sleeps in a call. */
static char state_of(long tid)
{
    char path[64], line[256] = "";
    const char *end;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/self/task/%ld/stat", tid);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    (void)fclose(file);
    end = strrchr(line, ')'); /* of the name */
    assert_non_null(end);
    return end[2];
}

/* The waiter has counted its sleep and is about to begin it.  An unlock
 * before the call would be seen by the call, without a wake-up. */
static void await_asleep(struct flock_waiter *waiter)
{
    uint64_t until_ms =
        hf_file_flock_now_ms() + UINT64_C(4) * HF_FLOCK_TIMEOUT_MS;

    while (state_of(atomic_load(&waiter->tid)) != 'S') {
        assert_true(hf_file_flock_now_ms() < until_ms);
        (void)sched_yield();
    }
}

/* A lost wake-up costs one sleep and not the lock.  That is also what
 * assert_was_woken() must distinguish from a wake-up. */
FIXTURE_TEST(a_wake_up_is_lost)
{
    int fd = hold(one);
    struct flock_waiter waiter;

    wake_error = EFAULT;
    start(&waiter, one);
    await_asleep(&waiter);
    unlock_and_wake(fd);
    join(&waiter);
    assert_int_equal(waiter.answer, HF_FLOCK_TAKEN);
    assert_true(waiter.took_ms >= HF_FLOCK_TIMEOUT_MS);
}

FIXTURE_TEST(cancelling_wakes_a_waiter)
{
    int fd = hold(one);
    struct flock_waiter waiter;

    start(&waiter, one);
    atomic_store(&waiter.cancelled, true);
    hf_file_flock_wake(&shared->futex); /* as the end of its sleep would */
    join(&waiter);
    assert_int_equal(waiter.answer, HF_FLOCK_FAILED);
    assert_int_equal(waiter.error.status, HF_ECLOSED);
    (void)close(fd);
}

FIXTURE_TEST(the_kernel_has_no_futexes)
{
    int fd = hold(one);
    struct flock_waiter waiter;

    sleep_error = ENOSYS;
    wake_error = ENOSYS;
    start(&waiter, one);
    await(&sleeps, 3);
    unlock_and_wake(fd);
    assert_was_woken(&waiter);
}

FIXTURE_TEST(there_is_no_word)
{
    int fd = open_lock(one);
    struct hf_error error;

    assert_int_equal(
        hf_file_flock_lock(fd, one, HF_FLOCK_WAIT_TIMEOUT, NULL, NULL, &error),
        HF_FLOCK_TAKEN);
    assert_int_equal(atomic_load(&sleeps), 0);
    (void)close(fd);
}

static void *take_turns(void *arg)
{
    int fd = open_lock(one);
    enum hf_file_flock_answer answer;
    struct hf_error error;

    (void)arg;
    for (unsigned i = 0; i < TURNS; i++) {
        do {
            answer = hf_file_flock_lock(fd, one, HF_FLOCK_WAIT_SLICE,
                                        &shared->futex, NULL, &error);
        } while (answer == HF_FLOCK_BUSY);
        if (answer != HF_FLOCK_TAKEN)
            break;
        if (atomic_fetch_add(&shared->inside, 1) != 0)
            (void)atomic_fetch_add(&shared->overlaps, 1);
        (void)sched_yield();
        (void)atomic_fetch_add(&shared->turns, 1);
        (void)atomic_fetch_sub(&shared->inside, 1);
        (void)flock(fd, LOCK_UN);
        hf_file_flock_wake(&shared->futex);
    }
    (void)close(fd);
    return NULL;
}

/* Any process that may use the directory may write the word. */
FIXTURE_TEST(rubbish_in_the_word_is_harmless)
{
    static const uint32_t rubbish[] = {2, UINT32_MAX, 0, 0x80000000, 1};
    uint64_t until_ms =
        hf_file_flock_now_ms() + UINT64_C(4) * HF_FLOCK_TIMEOUT_MS;
    pthread_t threads[4];

    atomic_store(&shared->futex, UINT32_MAX);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_turns, NULL),
                         0);
    for (unsigned i = 0; hf_file_flock_now_ms() < until_ms &&
                         atomic_load(&shared->turns) < 4 * TURNS;
         i++)
        atomic_store(&shared->futex, rubbish[i % 5]);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&shared->turns), 4 * TURNS);
    assert_int_equal(atomic_load(&shared->overlaps), 0);
}
