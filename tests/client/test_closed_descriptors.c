/* SPDX-License-Identifier: Apache-2.0 */
/* A program that closes all descriptors, as closefrom() does, while it uses
 * the library: it has a status from each call and its callbacks, and the
 * descriptors that it opens afterwards, which get the numbers of ours, are
 * neither written to nor read nor closed.  With the engine of the server that
 * the environment names, or with files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include <holdfast/holdfast.h>
#include <holdfast/zookeeper.h>

#include "cmocka/runner.h"
#include "reporting_child.h"

#define WAIT_MS 30000

/* Where a child says what went wrong, and the first number that it closes. */
#define REPORT_FD 3
#define FIRST_CLOSED 4

/* How many descriptors the program opens afterwards: more than we had. */
#define REUSED 150

/* What a child does with ${url}. */
typedef void child_main(const char *url);

/* ----------------------------------------------------------- in a child -- */

static _Noreturn void end_with(const char *step, const char *what)
{
    dprintf(REPORT_FD, "%s: %s\n", step, what);
    _exit(1);
}

static void expect(const char *step, hf_status status, hf_status expected)
{
    if (status != expected)
        end_with(step, hf_status_name(status));
}

/* A callback has come, or does within the limit. */
static void await(const char *step, sem_t *callback)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    while (sem_timedwait(callback, &until) < 0)
        if (errno != EINTR)
            end_with(step, "the callback did not come");
}

/* ------------------------------------------------------------- threads -- */

/* The library does not promise anything to a program that closes descriptors
 * while another thread is in the middle of a turn of the loop (safety.md).  So
 * the children here wait until all threads sleep. */

/* Is the thread ${id} in poll(), in a sleep of the sanitizer's, or waiting for
 * a wake-up without a limit?  With a limit it stands by to begin a turn. */
static bool sleeps(const char *id)
{
    unsigned long args[4] = {0};
    char path[64], line[256];
    FILE *file;
    long number;
    int count;

    (void)snprintf(path, sizeof path, "/proc/self/task/%s/syscall", id);
    if ((file = fopen(path, "re")) == NULL)
        return true; /* it has ended */
    if (fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    (void)fclose(file);
    count = sscanf(line, "%ld %lx %lx %lx %lx", &number, &args[0], &args[1],
                   &args[2], &args[3]);
    if (count < 1)
        return false; /* "running" */
#ifdef SYS_poll
    if (number == SYS_poll)
        return true;
#endif
#ifdef SYS_nanosleep
    if (number == SYS_nanosleep)
        return true;
#endif
    return number == SYS_ppoll || number == SYS_clock_nanosleep ||
           (number == SYS_futex && args[3] == 0);
}

/* Does each thread but this one sleep? */
static bool others_sleep(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    bool all = true;

    if (tasks == NULL)
        end_with("threads", "cannot be listed");
    while (all && (entry = readdir(tasks)) != NULL)
        all = atoi(entry->d_name) <= 0 || atoi(entry->d_name) == getpid() ||
              sleeps(entry->d_name);
    (void)closedir(tasks);
    return all;
}

/* Wait until they do. */
static void await_sleep(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    for (int i = 0; !others_sleep(); i++) {
        if (i == WAIT_MS)
            end_with("threads", "do not come to rest");
        (void)nanosleep(&moment, NULL);
    }
}

/* ---------------------------------------------------------------- users -- */

struct user {
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;
    int loss_fd;
    hf_status waited; /* how the wait for the lock ended */
    sem_t lost, ended;
};

static void on_loss(void *arg, struct hf_grant *grant)
{
    struct user *user = arg;

    (void)grant;
    (void)sem_post(&user->lost);
}

static void on_end(void *arg, const struct hf_result *result)
{
    struct user *user = arg;

    user->waited = result->status;
    if (strstr(result->text, "descriptors") == NULL)
        end_with("the text of the wait", result->text);
    (void)sem_post(&user->ended);
}

/* Hold the lock ${name}, in a client whose callbacks run as ${delivery} says.
 */
static void hold(struct user *user, const char *url, const char *name,
                 enum hf_delivery delivery)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_acquire_opts acquire = HF_ACQUIRE_OPTS_INIT;

    *user = (struct user){.waited = HF_OK};
    (void)sem_init(&user->lost, 0, 0);
    (void)sem_init(&user->ended, 0, 0);
    opts.delivery = delivery;
    opts.metrics = HF_METRICS_DIR;
    acquire.wait_ms = WAIT_MS;
    acquire.on_loss = (struct hf_on_loss){on_loss, user, NULL};
    if (hf_client_open(url, &opts, &user->client) != HF_OK)
        end_with("open", hf_last_error()->text);
    expect("lock", hf_lock_open(user->client, name, NULL, &user->lock), HF_OK);
    expect("acquire", hf_lock_acquire(user->lock, &acquire, &user->grant),
           HF_OK);
    expect("loss_fd", hf_grant_loss_fd(user->grant, &user->loss_fd), HF_OK);
}

/* Nothing of what was closed is left to the client. */
static void check_refused(struct user *user)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_grant *other;
    int fd;

    opts.wait_ms = WAIT_MS;
    expect("check", hf_grant_check(user->grant), HF_ELOST);
    if (strstr(hf_last_error()->text, "descriptors") == NULL)
        end_with("the text of the loss", hf_last_error()->text);
    if (hf_grant_safe_until_ms(user->grant) != 0)
        end_with("safe_until", "the grant goes on");
    expect("acquire again", hf_lock_acquire(user->lock, &opts, &other),
           HF_ECLOSED);
    expect("hold_fd", hf_grant_hold_fd(user->grant, &fd), HF_ELOST);
    expect("downgrade", hf_grant_downgrade(user->grant), HF_ELOST);
    expect("release", hf_grant_release(user->grant), HF_ELOST);
    hf_lock_free(user->lock);
    expect("close", hf_client_close(user->client), HF_OK);
}

/* Another client of the same program is as good as ever. */
static void check_new_client(const char *url)
{
    struct user user;

    hold(&user, url, "closed/new", HF_DELIVER_THREAD);
    expect("release by a new client", hf_grant_release(user.grant), HF_OK);
    hf_lock_free(user.lock);
    expect("close of a new client", hf_client_close(user.client), HF_OK);
}

/* A client that waits and one that holds are notified although no call is made.
 */
static void is_notified(const char *url)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct user user;

    hold(&user, url, "closed/notified", HF_DELIVER_THREAD);
    opts.wait_ms = HF_FOREVER;
    expect("acquire_start",
           hf_lock_acquire_start(user.lock, &opts,
                                 (struct hf_done){on_end, &user, NULL}, NULL),
           HF_OK);
    await_sleep();
    closefrom(FIRST_CLOSED);
    await("on_loss", &user.lost);
    await("done", &user.ended);
    expect("the wait", user.waited, HF_ECLOSED);
    check_refused(&user);
    check_new_client(url);
}

/* The first call after it notices, and that may be the last one. */
static void is_refused(const char *url)
{
    struct user user;

    hold(&user, url, "closed/refused", HF_DELIVER_DISPATCH);
    await_sleep();
    closefrom(FIRST_CLOSED);
    check_refused(&user);
    hold(&user, url, "closed/closed", HF_DELIVER_DISPATCH);
    await_sleep();
    closefrom(FIRST_CLOSED);
    expect("close at once", hf_client_close(user.client), HF_OK);
}

/* The program's own descriptors, and what each has to show as long as nobody
 * else uses it. */
struct own {
    int fds[REUSED];
    struct stat stats[REUSED];
    char path[64];
};

static int open_own(struct own *own, int i, int *other_end)
{
    int ends[2];

    switch (i % 3) {
    case 0:
        return open(own->path, O_RDWR | O_CLOEXEC);
    case 1:
        return eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    default:
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0)
            return -1;
        *other_end = ends[1];
        return ends[0];
    }
}

/* Socket pairs take two numbers; a write to either is seen at the other. */
static int other_ends[REUSED];

static void open_all(struct own *own)
{
    int fd;

    (void)snprintf(own->path, sizeof own->path, "/tmp/holdfast-own-XXXXXX");
    fd = mkstemp(own->path);
    if (fd < 0 || write(fd, "mine", 4) != 4)
        end_with("own file", own->path);
    for (int i = 0; i < REUSED; i++) {
        other_ends[i] = -1;
        own->fds[i] = open_own(own, i, &other_ends[i]);
        if (own->fds[i] < 0 || fstat(own->fds[i], &own->stats[i]) < 0)
            end_with("own descriptor", own->path);
    }
}

/* Nothing has been written to the other end of ${socket}. */
static bool is_empty(int socket)
{
    char byte;

    return recv(socket, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void check_own_one(const struct own *own, int i, const char *step)
{
    struct stat stat;
    char bytes[16];
    uint64_t count;

    if (fstat(own->fds[i], &stat) < 0 || stat.st_ino != own->stats[i].st_ino)
        end_with(step, "a descriptor of the program was closed");
    if (i % 3 == 0 &&
        (stat.st_size != 4 || pread(own->fds[i], bytes, sizeof bytes, 0) != 4 ||
         memcmp(bytes, "mine", 4) != 0 || lseek(own->fds[i], 0, SEEK_CUR) != 0))
        end_with(step, "a file of the program was used");
    if (i % 3 == 1 && (read(own->fds[i], &count, sizeof count) < 0 ||
                       count != 1 || write(own->fds[i], &count, 8) != 8))
        end_with(step, "an eventfd of the program was used");
    if (i % 3 == 2 && (!is_empty(other_ends[i]) || !is_empty(own->fds[i])))
        end_with(step, "a socket of the program was written to, or closed");
}

static void check_own(const struct own *own, const char *step)
{
    for (int i = 0; i < REUSED; i++)
        check_own_one(own, i, step);
}

/* A child closes its copies of ours, and not what the program has opened. */
static void check_fork(const struct own *own)
{
    int ended;
    pid_t child = fork();

    if (child == 0) {
        check_own(own, "in a child");
        _exit(0);
    }
    if (waitpid(child, &ended, 0) != child || ended != 0)
        end_with("fork", "the child failed");
}

/* Have libuv open what it keeps for all loops.  Its own handler of forks opens
 * that anew in each child, and closes its old numbers whatever they are. */
static int keep_those_of_libuv(void)
{
    static uv_loop_t loop;
    int next;

    if (uv_loop_init(&loop) != 0 || (next = dup(REPORT_FD)) < 0)
        end_with("libuv", "no loop");
    return next;
}

/* A client without a thread, which cannot notice before the fork. */
static struct hf_client *open_idle(const char *url)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;

    opts.delivery = HF_DELIVER_DISPATCH;
    if (hf_client_open(url, &opts, &client) != HF_OK)
        end_with("open an idle client", hf_last_error()->text);
    if (hf_client_fd(client) < 0)
        end_with("fd of an idle client", "none");
    return client;
}

static void reuse(const char *url, enum hf_delivery delivery)
{
    int first = keep_those_of_libuv();
    struct hf_client *idle;
    struct user user;
    struct own own;

    hold(&user, url,
         delivery == HF_DELIVER_THREAD ? "closed/reused" : "closed/dispatched",
         delivery);
    idle = open_idle(url);
    await_sleep();
    closefrom(first);
    open_all(&own);
    check_fork(&own);
    if (delivery == HF_DELIVER_THREAD)
        await("on_loss", &user.lost);
    check_own(&own, "before the first call");
    check_refused(&user);
    check_own(&own, "after the close");
    check_fork(&own);
    expect("close of an idle client", hf_client_close(idle), HF_OK);
    check_own(&own, "after the close of an idle client");
    (void)unlink(own.path);
}

/* Let all threads but this one run only where no other wants to, or as all
 * others do. */
static void set_policy_of_others(int policy)
{
    const struct sched_param param = {.sched_priority = 0};
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    pid_t id;

    if (tasks == NULL)
        end_with("threads", "cannot be listed");
    while ((entry = readdir(tasks)) != NULL) {
        id = (pid_t)atoi(entry->d_name);
        if (id > 0 && id != getpid())
            (void)sched_setscheduler(id, policy, &param);
    }
    (void)closedir(tasks);
}

/* Have this process and its threads share one processor. */
static void share_one_processor(void)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    (void)sched_setaffinity(0, sizeof(one), &one);
}

/* The calling thread notices before the ones that sleep in poll() do, which
 * are woken by nothing but the end of their descriptors. */
static void does_not_wake_by_closed_ones(const char *url)
{
    struct user user;
    struct own own;

    share_one_processor();
    hold(&user, url, "closed/first", HF_DELIVER_THREAD);
    await_sleep();
    set_policy_of_others(SCHED_IDLE);
    closefrom(FIRST_CLOSED);
    open_all(&own);
    expect("check", hf_grant_check(user.grant), HF_ELOST);
    check_own(&own, "after the first call");
    set_policy_of_others(SCHED_OTHER);
    await("on_loss", &user.lost);
    check_refused(&user);
    check_own(&own, "after the close");
    (void)unlink(own.path);
}

static void does_not_touch_others(const char *url)
{
    reuse(url, HF_DELIVER_THREAD);
}

static void does_not_touch_others_without_thread(const char *url)
{
    reuse(url, HF_DELIVER_DISPATCH);
}

static const char *url_of_child;

/* The child of a callback that has closed them begins anew, and may wait. */
static void on_state(void *arg, enum hf_state state)
{
    int ended;
    pid_t child;

    (void)arg;
    (void)state;
    await_sleep(); /* another thread may be in the middle of a turn */
    closefrom(FIRST_CLOSED);
    if ((child = fork()) == 0) {
        check_new_client(url_of_child);
        _exit(0);
    }
    if (waitpid(child, &ended, 0) != child || ended != 0)
        end_with("fork in a callback", "the child failed");
}

static void forks_in_a_callback(const char *url)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;

    url_of_child = url;
    opts.delivery = HF_DELIVER_DISPATCH;
    opts.on_state.fn = on_state;
    expect("open", hf_client_open(url, &opts, &client), HF_OK);
    (void)hf_client_dispatch(client);
    expect("close", hf_client_close(client), HF_OK);
}

/* ------------------------------------------------- handles of ZooKeeper -- */

static void check_handle_refused(struct hf_zookeeper *zookeeper)
{
    struct hf_zookeeper_result *result;

    expect("exists", hf_zookeeper_exists(zookeeper, "/", WAIT_MS, &result),
           HF_ECLOSED);
    if (hf_zookeeper_state(zookeeper) != HF_STATE_CLOSED)
        end_with("state", "the handle is not closed");
    expect("close of a handle", hf_zookeeper_close(zookeeper), HF_OK);
}

static void closes_handle(const char *url)
{
    struct hf_zookeeper *zookeeper;
    struct hf_zookeeper_result *result;
    struct own own;

    expect("open", hf_zookeeper_open(url, NULL, &zookeeper), HF_OK);
    expect("exists first",
           hf_zookeeper_exists(zookeeper, "/", WAIT_MS, &result), HF_OK);
    hf_zookeeper_result_free(result);
    await_sleep();
    closefrom(FIRST_CLOSED);
    open_all(&own);
    check_handle_refused(zookeeper);
    check_own(&own, "after the close of a handle");
    (void)unlink(own.path);
}

static void closes_shared_handle(const char *url)
{
    struct hf_zookeeper *zookeeper;
    struct user user;
    struct own own;

    hold(&user, url, "closed/shared", HF_DELIVER_THREAD);
    expect("handle", hf_client_zookeeper(user.client, &zookeeper), HF_OK);
    await_sleep();
    closefrom(FIRST_CLOSED);
    open_all(&own);
    await("on_loss", &user.lost);
    check_handle_refused(zookeeper);
    check_refused(&user);
    check_own(&own, "after the close of both");
    (void)unlink(own.path);
}

/* ---------------------------------------------------------------- tests -- */

static _Noreturn void run_child(const void *arg, const char *url, int report)
{
    child_main *const *run = arg;

    (void)dup2(report, REPORT_FD);
    closefrom(FIRST_CLOSED);
    (void)alarm(4 * WAIT_MS / 1000);
    (*run)(url);
    _exit(0);
}

/* Run ${run} in a child, which must say nothing and exit with 0. */
static void run_in_child(child_main *run)
{
    reporting_child_run(run_child, &run);
}

TEST(holders_and_waiters_are_notified)
{
    run_in_child(is_notified);
}

TEST(each_call_has_a_status)
{
    run_in_child(is_refused);
}

TEST(the_programs_descriptors_are_left_alone)
{
    run_in_child(does_not_touch_others);
    run_in_child(does_not_touch_others_without_thread);
    run_in_child(does_not_wake_by_closed_ones);
}

TEST(a_child_of_a_callback_may_wait)
{
#ifdef __SANITIZE_THREAD__
    if (getenv("HF_ZK") != NULL || getenv("HF_REDIS") != NULL ||
        getenv("HF_PG") != NULL || getenv("HF_ETCD") != NULL)
        return; /* it cannot start the thread of a client in such a child */
#endif
    run_in_child(forks_in_a_callback);
}

TEST(handles_of_zookeeper_end_too)
{
    if (getenv("HF_ZK") == NULL)
        return; /* there is no such handle */
    run_in_child(closes_handle);
    run_in_child(closes_shared_handle);
}
