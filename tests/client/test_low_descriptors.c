/* SPDX-License-Identifier: Apache-2.0 */
/* A program that runs with descriptors 0 to 2 closed: nothing of the library
 * takes their place, whatever the client does.  With the engine of the server
 * that the environment names, or with files.  And a program that has few
 * descriptors left. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#include "cmocka/runner.h"
#include "monitor/loop.h"
#include "reporting_child.h"

#define WAIT_MS 10000

/* Descriptors below this are those of a program that has few. */
#define FEW_FROM 3
#define FEW_MAX 64

/* The child's: where it says what went wrong. */
static int report_fd;

static _Noreturn void end_with(const char *step, const char *what)
{
    dprintf(report_fd, "%s: %s\n", step, what);
    _exit(1);
}

/* Is each of 0 to 2 closed?  A placeholder of another thread, which is closed
 * before anything waits, does not count (hf_low_descriptors_reserve()). */
static void check(const char *step)
{
    char text[64];

    for (int fd = 0; fd <= 2; fd++) {
        int flags = fcntl(fd, F_GETFL);

        if (flags < 0 || (flags & O_PATH) != 0)
            continue;
        (void)snprintf(text, sizeof text, "descriptor %d is open", fd);
        end_with(step, text);
    }
}

static void check_status(const char *step, hf_status status)
{
    if (status != HF_OK)
        end_with(step, hf_status_name(status));
    check(step);
}

static void open_client(const char *url, struct hf_client **client,
                        struct hf_lock **lock)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;

    opts.delivery = HF_DELIVER_DISPATCH;
    opts.metrics = HF_METRICS_DIR;
    if (hf_client_open(url, &opts, client) != HF_OK)
        end_with("open", hf_last_error()->text);
    check("open");
    check_status("lock", hf_lock_open(*client, "low/name", NULL, lock));
}

static hf_status acquire(struct hf_lock *lock, uint64_t wait_ms,
                         struct hf_grant **grant)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = wait_ms;
    return hf_lock_acquire(lock, &opts, grant);
}

/* Hold, wait in vain, be shown a loss: what opens descriptors. */
static void use(const char *url)
{
    struct hf_client *first, *second;
    struct hf_lock *held, *wanted;
    struct hf_grant *grant, *other;
    int fd;

    open_client(url, &first, &held);
    open_client(url, &second, &wanted);
    check_status("acquire", acquire(held, WAIT_MS, &grant));
    check_status("loss_fd", hf_grant_loss_fd(grant, &fd));
    if (acquire(wanted, 300, &other) != HF_ETIMEDOUT)
        end_with("wait", "it did not end with HF_ETIMEDOUT");
    check("wait");
    check_status("release", hf_grant_release(grant));
    check_status("acquire again", acquire(wanted, WAIT_MS, &grant));
    check_status("release again", hf_grant_release(grant));
    hf_lock_free(held);
    hf_lock_free(wanted);
    check_status("close", hf_client_close(first));
    check_status("close again", hf_client_close(second));
}

/* In the child. */
static _Noreturn void run_without_low_descriptors(const void *arg,
                                                  const char *url, int report)
{
    (void)arg;
    report_fd = fcntl(report, F_DUPFD_CLOEXEC, 100);
    for (int fd = 0; fd <= 2; fd++)
        (void)close(fd);
    use(url);
    _exit(0);
}

TEST(none_of_the_library_is_low)
{
    reporting_child_run(run_without_low_descriptors, NULL);
}

/* In the child: make a loop with ${count} descriptors left.  Exits with 1 if
 * that is refused. */
static _Noreturn void make_loop_with_few(int count)
{
    struct hf_loop loop = {.guard = NULL};
    struct rlimit limit;

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    closefrom(FEW_FROM);
    limit.rlim_cur = (rlim_t)(FEW_FROM + count);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        _exit(2);
    _exit(hf_loop_get(&loop) != NULL ? 0 : 1);
}

/* Each child makes its first loop, because this process makes none: libuv ends
 * the process if that takes the last descriptor. */
TEST(without_enough_of_them_there_is_no_loop)
{
    int refused = 0, ended = -1;
    pid_t child;

    for (int count = 0; ended != 0; count++) {
        assert_true(count < FEW_MAX);
        child = test_fork();
        if (child == 0)
            make_loop_with_few(count);
        assert_int_equal(waitpid(child, &ended, 0), child);
        assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) <= 1);
        refused += WEXITSTATUS(ended);
    }
    assert_true(refused > 0);
}
