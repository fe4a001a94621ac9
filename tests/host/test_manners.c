/* SPDX-License-Identifier: Apache-2.0 */
/* How a library behaves in somebody else's process: what it starts and opens,
 * whose signals it takes, and what unloading it does. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/acquisition.h"
#include "kit.h"

/* ------------------------------------------------------ what it opens -- */

static void fd_target(int fd, char target[128])
{
    char path[64];
    ssize_t length;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    length = readlink(path, target, 127);
    target[length > 0 ? length : 0] = '\0';
}

static void count_epolls(int fd, void *arg)
{
    char target[128];

    fd_target(fd, target);
    *(int *)arg += strcmp(target, "anon_inode:[eventpoll]") == 0;
}

static int epolls(void)
{
    int count = 0;

    kit_each_fd(count_epolls, &count);
    return count;
}

struct costs {
    int threads, polls, fds;
};

static struct costs costs(void)
{
    return (struct costs){kit_threads(), epolls(), kit_fds()};
}

/* A ticket that is held for longer than HF_OWN_WATCH_AFTER_MS is watched, which
 * takes a loop, and somebody who runs it: what there is then is the measure of
 * what follows. */
static void an_uncontended_lock_costs_nothing_else(void **state)
{
    struct place place;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;
    struct costs before = costs(), first, now;
    bool held_long = true;
    int i;

    (void)state;
    place_make(&place);
    client = kit_client(place.url);
    assert_int_equal(hf_lock_open(client, "nightly", NULL, &lock), HF_OK);
    for (i = 0; i < 100; i++) {
        uint64_t began_ms = kit_now_ms();

        assert_int_equal(hf_lock_acquire(lock, NULL, &grant), HF_OK);
        now = costs();
        if (held_long)
            first = now;
        if (i == 0) {
            first.threads = before.threads;
            first.polls = before.polls;
        }
        assert_int_equal(now.threads, first.threads);
        assert_int_equal(now.polls, first.polls);
        assert_int_equal(now.fds, first.fds);
        assert_int_equal(hf_grant_release(grant), HF_OK);
        held_long = kit_now_ms() - began_ms >= HF_OWN_WATCH_AFTER_MS;
    }
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(client), HF_OK);
    place_remove(&place);
}

/* A client in full swing: a grant with each descriptor there is, a wait with a
 * deadline, and a background thread unless a loop is borrowed. */
struct swing {
    struct place place;
    struct front front;
    struct hf_lock *lock;
    struct hf_grant *grant;
    struct outcome waiter;
    int hold_fd;
};

static void swing_start(struct swing *swing, enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    int loss_fd;

    place_make(&swing->place);
    front_open(&swing->front, way, swing->place.url, no_listener);
    swing->lock = front_lock(&swing->front, "nightly");
    swing->grant = front_take(&swing->front, swing->lock);
    assert_int_equal(hf_grant_loss_fd(swing->grant, &loss_fd), HF_OK);
    assert_int_equal(hf_grant_hold_fd(swing->grant, &swing->hold_fd), HF_OK);
    opts.wait_ms = 60000;
    front_acquire(&swing->front, swing->lock, &opts, &swing->waiter);
    kit_await_tickets(&swing->place, 2);
}

static void swing_stop(struct swing *swing)
{
    close(swing->hold_fd);
    assert_int_equal(front_give(&swing->front, swing->grant), HF_OK);
    front_await(&swing->waiter);
    assert_int_equal(swing->waiter.status, HF_OK);
    assert_int_equal(front_give(&swing->front, swing->waiter.grant), HF_OK);
    hf_lock_free(swing->lock);
    front_close(&swing->front);
    place_remove(&swing->place);
}

#define FDS_MAX 4096

struct audit {
    bool known[FDS_MAX]; /* open before */
    int fresh;           /* opened since */
    int inheritable;
    int timers;
    int wrong_clocks;
};

static void note_fd(int fd, void *arg)
{
    assert_true(fd < FDS_MAX);
    ((struct audit *)arg)->known[fd] = true;
}

static void audit_timer(int fd, struct audit *audit)
{
    char path[64];
    char line[128];
    FILE *info;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    info = fopen(path, "re");
    assert_non_null(info);
    while (fgets(line, sizeof(line), info) != NULL) {
        if (strncmp(line, "clockid:", 8) == 0)
            audit->wrong_clocks += atoi(line + 8) != CLOCK_BOOTTIME;
    }
    fclose(info);
    audit->timers++;
}

static void audit_fd(int fd, void *arg)
{
    struct audit *audit = arg;
    char target[128];

    if (fd < FDS_MAX && audit->known[fd])
        return;
    audit->fresh++;
    fd_target(fd, target);
    if ((fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0) {
        print_error("descriptor %d (%s) is not close-on-exec\n", fd, target);
        audit->inheritable++;
    }
    if (strcmp(target, "anon_inode:[timerfd]") == 0)
        audit_timer(fd, audit);
}

static void descriptors_are_close_on_exec(enum way way)
{
    struct audit audit = {.fresh = 0};
    struct swing swing;

    kit_each_fd(note_fd, &audit);
    swing_start(&swing, way);
    kit_each_fd(audit_fd, &audit);
    assert_true(audit.fresh > 5);
    assert_int_equal(audit.inheritable, 0);
    swing_stop(&swing);
}

static void deadlines_count_suspended_time(enum way way)
{
    struct audit audit = {.fresh = 0};
    struct swing swing;

    kit_each_fd(note_fd, &audit);
    swing_start(&swing, way);
    kit_each_fd(audit_fd, &audit);
    assert_true(audit.timers > 0);
    assert_int_equal(audit.wrong_clocks, 0);
    swing_stop(&swing);
}

/* -------------------------------------------------------------- signals -- */

#define THREADS_MAX 256

struct threads {
    int ids[THREADS_MAX];
    int count;
};

static void list_threads(struct threads *threads)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;

    assert_non_null(tasks);
    threads->count = 0;
    while ((entry = readdir(tasks)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        assert_true(threads->count < THREADS_MAX);
        threads->ids[threads->count++] = atoi(entry->d_name);
    }
    closedir(tasks);
}

static bool is_among(const struct threads *threads, int id)
{
    int i;

    for (i = 0; i < threads->count; i++) {
        if (threads->ids[i] == id)
            return true;
    }
    return false;
}

/* The value of ${key} in a status file of /proc, a mask of signals. */
static unsigned long long mask_of(const char *path, const char *key)
{
    FILE *status = fopen(path, "re");
    char line[256];
    unsigned long long mask = 0;

    assert_non_null(status);
    while (fgets(line, sizeof(line), status) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0)
            mask = strtoull(line + strlen(key) + 1, NULL, 16);
    }
    fclose(status);
    return mask;
}

/* All that a program can send or be sent; two are the C library's own. */
static unsigned long long every_signal(void)
{
    unsigned long long mask = 0;
    sigset_t all;
    int number;

    sigfillset(&all);
    for (number = 1; number <= 64; number++) {
        if (number != SIGKILL && number != SIGSTOP &&
            sigismember(&all, number) == 1)
            mask |= 1ULL << (number - 1);
    }
    return mask;
}

static void its_threads_take_no_signals(enum way way)
{
    static const char status[] = "/proc/self/status";
    unsigned long long ignored = mask_of(status, "SigIgn");
    unsigned long long caught = mask_of(status, "SigCgt");
    unsigned long long blocked = mask_of(status, "SigBlk");
    struct threads before, now;
    struct swing swing;
    char path[64];
    int blocking = 0;
    int open = 0;
    int i;

    list_threads(&before);
    swing_start(&swing, way);
    list_threads(&now);
    for (i = 0; i < now.count; i++) {
        if (is_among(&before, now.ids[i]))
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%d/status", now.ids[i]);
        /* One that has only begun blocks the C library's own as well. */
        if ((mask_of(path, "SigBlk") & every_signal()) == every_signal())
            blocking++;
        else
            open++;
    }
    /* Calls that wait do so on a thread of the test's. */
    assert_int_equal(open, way == WAY_BLOCKING ? 1 : 0);
    assert_int_equal(blocking, way == WAY_UV ? 0 : 1);
    assert_true(mask_of(status, "SigIgn") == ignored);
    assert_true(mask_of(status, "SigCgt") == caught);
    assert_true(mask_of(status, "SigBlk") == blocked);
    swing_stop(&swing);
}

static _Atomic int alarms;

static void on_alarm(int number)
{
    (void)number;
    atomic_fetch_add(&alarms, 1);
}

static bool is_alarmed(void *arg)
{
    return atomic_load(&alarms) > *(int *)arg;
}

struct rival {
    const struct place *place;
    atomic_bool stop;
    _Atomic int failures;
};

static void *rival_main(void *arg)
{
    struct rival *rival = arg;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;

    if (hf_client_open(rival->place->url, NULL, &client, NULL) != HF_OK ||
        hf_lock_open(client, "nightly", NULL, &lock) != HF_OK) {
        atomic_fetch_add(&rival->failures, 1);
        return NULL;
    }
    while (!atomic_load(&rival->stop)) {
        if (hf_lock_acquire(lock, NULL, &grant) != HF_OK ||
            hf_grant_release(grant) != HF_OK)
            atomic_fetch_add(&rival->failures, 1);
    }
    hf_lock_free(lock);
    if (hf_client_close(client) != HF_OK)
        atomic_fetch_add(&rival->failures, 1);
    return NULL;
}

/* Every wait is interrupted, again and again, and none takes notice. */
static void waits_under_a_storm(const struct place *place)
{
    struct rival rival = {.place = place};
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_client *client = kit_client(place->url);
    pthread_t thread = kit_thread(rival_main, &rival);
    struct hf_lock *lock;
    struct hf_grant *grant, *none;
    uint64_t started_ms;
    int i;

    assert_int_equal(hf_lock_open(client, "nightly", NULL, &lock), HF_OK);
    for (i = 0; i < 100; i++) {
        assert_int_equal(hf_lock_acquire(lock, NULL, &grant), HF_OK);
        assert_int_equal(hf_grant_release(grant), HF_OK);
    }
    atomic_store(&rival.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&rival.failures), 0);
    assert_int_equal(hf_lock_acquire(lock, NULL, &grant), HF_OK);
    started_ms = kit_now_ms();
    opts.wait_ms = 50;
    assert_int_equal(hf_lock_acquire(lock, &opts, &none), HF_ETIMEDOUT);
    assert_true(kit_now_ms() - started_ms >= 50);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(client), HF_OK);
}

static void signals_change_nothing(void **state)
{
    const struct itimerval storm = {{0, 500}, {0, 500}};
    const struct itimerval calm = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART */
    struct sigaction before;
    struct place place;
    int none = 0;

    (void)state;
    place_make(&place);
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &storm, NULL), 0);
    kit_until(is_alarmed, &none);
    waits_under_a_storm(&place);
    assert_int_equal(setitimer(ITIMER_REAL, &calm, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_int_equal(place_tickets(&place), 0);
    place_remove(&place);
}

/* ------------------------------------------------------------ unloading -- */

struct loaded {
    void *handle;
    hf_status (*open)(const char *, const struct hf_client_opts *,
                      struct hf_client **, struct hf_error *);
    hf_status (*close)(struct hf_client *);
};

/* Of the library by its path: this program has it linked in as well. */
static void load(struct loaded *loaded)
{
    loaded->handle = dlopen(HF_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (loaded->handle == NULL)
        print_error("%s\n", dlerror());
    assert_non_null(loaded->handle);
    *(void **)&loaded->open = dlsym(loaded->handle, "hf_client_open");
    *(void **)&loaded->close = dlsym(loaded->handle, "hf_client_close");
    assert_true(loaded->open != NULL && loaded->close != NULL);
}

static void on_state(void *arg, enum hf_state state)
{
    (void)state;
    atomic_fetch_add((_Atomic int *)arg, 1);
}

static bool is_told(void *arg)
{
    return atomic_load((_Atomic int *)arg) > 0;
}

/* A thread that was joined can be listed for a moment longer. */
static bool has_threads(void *arg)
{
    return kit_threads() == *(int *)arg;
}

static void *pass_gate(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* How many threads there are without the library's, with the one that a
 * sanitizer starts beside the first of ours. */
static int threads_of_others(void)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t first;
    int threads;

    pthread_mutex_lock(&gate);
    assert_int_equal(pthread_create(&first, NULL, pass_gate, &gate), 0);
    threads = kit_threads() - 1;
    pthread_mutex_unlock(&gate);
    pthread_join(first, NULL);
    kit_until(has_threads, &threads);
    return threads;
}

static void unloading_leaves_its_thread_alone(void **state)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;
    struct place place;
    struct loaded loaded;
    _Atomic int told = 0;
    int threads = threads_of_others();

    (void)state;
    place_make(&place);
    opts.on_state = (struct hf_on_state){on_state, &told, NULL};
    load(&loaded);
    assert_int_equal(loaded.open(place.url, &opts, &client, NULL), HF_OK);
    kit_until(is_told, &told);
    assert_int_equal(kit_threads(), threads + 1);
    assert_int_equal(dlclose(loaded.handle), 0);
    /* The same code, and the same client, when it comes back. */
    load(&loaded);
    assert_int_equal(kit_threads(), threads + 1);
    assert_int_equal(loaded.close(client), HF_OK);
    assert_int_equal(atomic_load(&told), 2);
    kit_until(has_threads, &threads);
    assert_int_equal(dlclose(loaded.handle), 0);
    place_remove(&place);
}

/* ---------------------------------------------------------------------- */

#define STORIES(X)                                                             \
    X(descriptors_are_close_on_exec)                                           \
    X(deadlines_count_suspended_time)                                          \
    X(its_threads_take_no_signals)

#include "in_each_way.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First, while no thread of another test can be about. */
        cmocka_unit_test(unloading_leaves_its_thread_alone),
        cmocka_unit_test(an_uncontended_lock_costs_nothing_else),
        STORIES(STORY_TESTS) /* each in four ways */
        cmocka_unit_test(signals_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
