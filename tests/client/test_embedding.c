/* SPDX-License-Identifier: Apache-2.0 */
/* The library inside another program: which threads and descriptors it
 * opens, that it takes no signals, and what unloading it does. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "core/acquisition.h"
#include "in_each_way.h"
#include "process.h"

/* ----------------------------------------------------------- descriptors -- */

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

    for_each_fd(count_epolls, &count);
    return count;
}

struct resource_count {
    int thread_list, polls, fds;
};

static struct resource_count resource_count(void)
{
    return (struct resource_count){count_threads(), epolls(), count_fds()};
}

/* May a ticket that was acquired at ${began_ms} or later be watched by now?
 * Both instants were rounded. */
static bool is_held_long(uint64_t began_ms)
{
    return boottime_ms() - began_ms >= HF_OWN_WATCH_AFTER_MS - 1;
}

/* A ticket that is held for longer than HF_OWN_WATCH_AFTER_MS is watched,
 * which takes a loop and a thread.  What is open then is what the following
 * acquires are compared with. */
TEST(an_uncontended_lock_costs_nothing_else)
{
    struct client_directory directory;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;
    struct resource_count before = resource_count(), first, now;
    bool held_long = true;
    int i;

    client_directory_create(&directory);
    client = open_client(directory.url);
    assert_int_equal(hf_lock_open(client, "nightly", NULL, &lock), HF_OK);
    for (i = 0; i < 100; i++) {
        uint64_t began_ms = boottime_ms();

        assert_int_equal(hf_lock_acquire(lock, NULL, &grant), HF_OK);
        now = resource_count();
        /* The watch may have begun while this counted. */
        held_long |= is_held_long(began_ms);
        if (held_long)
            first = now;
        if (i == 0 && !is_held_long(began_ms)) {
            first.thread_list = before.thread_list;
            first.polls = before.polls;
        }
        assert_int_equal(now.thread_list, first.thread_list);
        assert_int_equal(now.polls, first.polls);
        assert_int_equal(now.fds, first.fds);
        assert_int_equal(hf_grant_release(grant), HF_OK);
        held_long = is_held_long(began_ms);
    }
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(client), HF_OK);
    client_directory_remove(&directory);
}

/* A client with everything open: a grant with each descriptor, a wait with a
 * deadline, and a background thread unless a loop is borrowed. */
struct busy_host {
    struct client_directory directory;
    struct client_fixture fixture;
    struct hf_lock *lock;
    struct hf_grant *grant;
    struct outcome waiter;
    int hold_fd;
};

static void busy_host_start(struct busy_host *busy_host, enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    int loss_fd;

    client_directory_create(&busy_host->directory);
    client_open(&busy_host->fixture, way, busy_host->directory.url,
                no_listener);
    busy_host->lock = client_open_lock(&busy_host->fixture, "nightly");
    busy_host->grant = client_take(&busy_host->fixture, busy_host->lock);
    assert_int_equal(hf_grant_loss_fd(busy_host->grant, &loss_fd), HF_OK);
    assert_int_equal(hf_grant_hold_fd(busy_host->grant, &busy_host->hold_fd),
                     HF_OK);
    opts.wait_ms = 60000;
    client_acquire(&busy_host->fixture, busy_host->lock, &opts,
                   &busy_host->waiter);
    await_tickets(&busy_host->directory, 2);
}

static void busy_host_stop(struct busy_host *busy_host)
{
    close(busy_host->hold_fd);
    assert_int_equal(client_give(&busy_host->fixture, busy_host->grant), HF_OK);
    client_await(&busy_host->waiter);
    assert_int_equal(busy_host->waiter.status, HF_OK);
    assert_int_equal(client_give(&busy_host->fixture, busy_host->waiter.grant),
                     HF_OK);
    hf_lock_free(busy_host->lock);
    client_close(&busy_host->fixture);
    client_directory_remove(&busy_host->directory);
}

#define FDS_MAX 4096

struct fd_audit {
    bool known[FDS_MAX]; /* open before */
    int fresh;           /* opened since */
    int inheritable;
    int timers;
    int wrong_clocks;
};

static void note_fd(int fd, void *arg)
{
    assert_true(fd < FDS_MAX);
    ((struct fd_audit *)arg)->known[fd] = true;
}

static void audit_timer(int fd, struct fd_audit *fd_audit)
{
    char path[64];
    char line[128];
    FILE *info;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    info = fopen(path, "re");
    assert_non_null(info);
    while (fgets(line, sizeof(line), info) != NULL) {
        if (strncmp(line, "clockid:", 8) == 0)
            fd_audit->wrong_clocks += atoi(line + 8) != CLOCK_BOOTTIME;
    }
    fclose(info);
    fd_audit->timers++;
}

static void audit_fd(int fd, void *arg)
{
    struct fd_audit *fd_audit = arg;
    char target[128];

    if (fd < FDS_MAX && fd_audit->known[fd])
        return;
    fd_audit->fresh++;
    fd_target(fd, target);
    if ((fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0) {
        print_error("descriptor %d (%s) is not close-on-exec\n", fd, target);
        fd_audit->inheritable++;
    }
    if (strcmp(target, "anon_inode:[timerfd]") == 0)
        audit_timer(fd, fd_audit);
}

TEST_IN_EACH_WAY(descriptors_are_close_on_exec)
{
    struct fd_audit fd_audit = {.fresh = 0};
    struct busy_host busy_host;

    for_each_fd(note_fd, &fd_audit);
    busy_host_start(&busy_host, way);
    for_each_fd(audit_fd, &fd_audit);
    assert_true(fd_audit.fresh > 5);
    assert_int_equal(fd_audit.inheritable, 0);
    busy_host_stop(&busy_host);
}

TEST_IN_EACH_WAY(deadlines_count_suspended_time)
{
    struct fd_audit fd_audit = {.fresh = 0};
    struct busy_host busy_host;

    for_each_fd(note_fd, &fd_audit);
    busy_host_start(&busy_host, way);
    for_each_fd(audit_fd, &fd_audit);
    assert_true(fd_audit.timers > 0);
    assert_int_equal(fd_audit.wrong_clocks, 0);
    busy_host_stop(&busy_host);
}

/* --------------------------------------------------------------- signals -- */

#define THREADS_MAX 256

struct thread_list {
    int ids[THREADS_MAX];
    int count;
};

static void list_threads(struct thread_list *thread_list)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;

    assert_non_null(tasks);
    thread_list->count = 0;
    while ((entry = readdir(tasks)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        assert_true(thread_list->count < THREADS_MAX);
        thread_list->ids[thread_list->count++] = atoi(entry->d_name);
    }
    closedir(tasks);
}

static bool is_among(const struct thread_list *thread_list, int id)
{
    int i;

    for (i = 0; i < thread_list->count; i++) {
        if (thread_list->ids[i] == id)
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

/* All signals that a program can send or get, without two of the C library. */
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

TEST_IN_EACH_WAY(its_threads_take_no_signals)
{
    static const char status[] = "/proc/self/status";
    unsigned long long ignored = mask_of(status, "SigIgn");
    unsigned long long caught = mask_of(status, "SigCgt");
    unsigned long long blocked = mask_of(status, "SigBlk");
    struct thread_list before, now;
    struct busy_host busy_host;
    char path[64];
    int blocking = 0;
    int open = 0;
    int i;

    list_threads(&before);
    busy_host_start(&busy_host, way);
    list_threads(&now);
    for (i = 0; i < now.count; i++) {
        if (is_among(&before, now.ids[i]))
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%d/status", now.ids[i]);
        /* A thread that has just started blocks those of the C library as
         * well. */
        if ((mask_of(path, "SigBlk") & every_signal()) == every_signal())
            blocking++;
        else
            open++;
    }
    /* Calls that wait run on a thread of the test. */
    assert_int_equal(open, way == WAY_BLOCKING ? 1 : 0);
    /* Where callbacks run on the background thread it has a deputy. */
    assert_int_equal(blocking, way == WAY_UV ? 0 : way == WAY_THREAD ? 2 : 1);
    assert_true(mask_of(status, "SigIgn") == ignored);
    assert_true(mask_of(status, "SigCgt") == caught);
    assert_true(mask_of(status, "SigBlk") == blocked);
    busy_host_stop(&busy_host);
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

struct rival_thread {
    const struct client_directory *directory;
    atomic_bool stop;
    _Atomic int failures;
};

static void *rival_main(void *arg)
{
    struct rival_thread *rival_thread = arg;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;

    if (hf_client_open(rival_thread->directory->url, NULL, &client) != HF_OK ||
        hf_lock_open(client, "nightly", NULL, &lock) != HF_OK) {
        atomic_fetch_add(&rival_thread->failures, 1);
        return NULL;
    }
    while (!atomic_load(&rival_thread->stop)) {
        if (hf_lock_acquire(lock, NULL, &grant) != HF_OK ||
            hf_grant_release(grant) != HF_OK)
            atomic_fetch_add(&rival_thread->failures, 1);
    }
    hf_lock_free(lock);
    if (hf_client_close(client) != HF_OK)
        atomic_fetch_add(&rival_thread->failures, 1);
    return NULL;
}

/* Every wait is interrupted again and again, and goes on. */
static void waits_under_signals(const struct client_directory *directory)
{
    struct rival_thread rival_thread = {.directory = directory};
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_client *client = open_client(directory->url);
    pthread_t thread = start_thread(rival_main, &rival_thread);
    struct hf_lock *lock;
    struct hf_grant *grant, *none;
    uint64_t started_ms;
    int i;

    assert_int_equal(hf_lock_open(client, "nightly", NULL, &lock), HF_OK);
    for (i = 0; i < 100; i++) {
        assert_int_equal(hf_lock_acquire(lock, NULL, &grant), HF_OK);
        assert_int_equal(hf_grant_release(grant), HF_OK);
    }
    atomic_store(&rival_thread.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&rival_thread.failures), 0);
    assert_int_equal(hf_lock_acquire(lock, NULL, &grant), HF_OK);
    started_ms = boottime_ms();
    opts.wait_ms = 50;
    assert_int_equal(hf_lock_acquire(lock, &opts, &none), HF_ETIMEDOUT);
    assert_true(boottime_ms() - started_ms >= 50);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(client), HF_OK);
}

TEST(signals_change_nothing)
{
    const struct itimerval timer_on = {{0, 500}, {0, 500}};
    const struct itimerval timer_off = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART */
    struct sigaction before;
    struct client_directory directory;
    int none = 0;

    client_directory_create(&directory);
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &timer_on, NULL), 0);
    wait_until(is_alarmed, &none);
    waits_under_signals(&directory);
    assert_int_equal(setitimer(ITIMER_REAL, &timer_off, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_int_equal(client_directory_count_tickets(&directory), 0);
    client_directory_remove(&directory);
}

/* ------------------------------------------------------------- unloading -- */

struct loaded_library {
    void *handle;
    hf_status (*open)(const char *, const struct hf_client_opts *,
                      struct hf_client **, struct hf_error *);
    hf_status (*close)(struct hf_client *);
};

/* By its path, because this program has the library linked in as well. */
static void load(struct loaded_library *loaded_library)
{
    loaded_library->handle = dlopen(HF_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (loaded_library->handle == NULL)
        print_error("%s\n", dlerror());
    assert_non_null(loaded_library->handle);
    *(void **)&loaded_library->open =
        dlsym(loaded_library->handle, "hf_client_open");
    *(void **)&loaded_library->close =
        dlsym(loaded_library->handle, "hf_client_close");
    assert_true(loaded_library->open != NULL && loaded_library->close != NULL);
}

static void on_state(void *arg, enum hf_state state)
{
    (void)state;
    atomic_fetch_add((_Atomic int *)arg, 1);
}

static bool is_notified(void *arg)
{
    return atomic_load((_Atomic int *)arg) > 0;
}

/* A thread that was joined may be listed for a moment longer. */
static bool has_threads(void *arg)
{
    return count_threads() == *(int *)arg;
}

static void *wait_for_start(void *start_lock)
{
    pthread_mutex_lock(start_lock);
    pthread_mutex_unlock(start_lock);
    return NULL;
}

/* The number of threads without the library's, with the one that a sanitizer
 * starts when the first thread starts. */
static int threads_of_others(void)
{
    pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t first;
    int thread_list;

    pthread_mutex_lock(&start_lock);
    assert_int_equal(pthread_create(&first, NULL, wait_for_start, &start_lock),
                     0);
    thread_list = count_threads() - 1;
    pthread_mutex_unlock(&start_lock);
    pthread_join(first, NULL);
    wait_until(has_threads, &thread_list);
    return thread_list;
}

TEST(unloading_leaves_its_threads_alone)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;
    struct client_directory directory;
    struct loaded_library loaded_library;
    _Atomic int notified = 0;
    int thread_list = threads_of_others();

    client_directory_create(&directory);
    opts.on_state = (struct hf_on_state){on_state, &notified, NULL};
    load(&loaded_library);
    assert_int_equal(loaded_library.open(directory.url, &opts, &client, NULL),
                     HF_OK);
    wait_until(is_notified, &notified);
    assert_int_equal(count_threads(), thread_list + 2);
    assert_int_equal(dlclose(loaded_library.handle), 0);
    /* The same code and the same client when it is loaded again. */
    load(&loaded_library);
    assert_int_equal(count_threads(), thread_list + 2);
    assert_int_equal(loaded_library.close(client), HF_OK);
    assert_int_equal(atomic_load(&notified), 2);
    wait_until(has_threads, &thread_list);
    assert_int_equal(dlclose(loaded_library.handle), 0);
    client_directory_remove(&directory);
}
