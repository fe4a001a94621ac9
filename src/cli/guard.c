/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard: a third process of a run under a lease, which kills the command's
 * tree when the lease is about to end although the launcher is stopped.
 *
 * A launcher that is stopped, with its job or by SIGSTOP, ends nothing.  If the
 * supervisor is killed then, the command's descendants become children of the
 * launcher and would run on beside the next holder.  The guard is a child of
 * the launcher in a session of its own, so that neither the terminal nor a
 * signal to the job stops it.  It has no client and no messages: the shared
 * page says when the tree must have got SIGKILL.  It ends with the launcher,
 * because then the supervisor ends the tree.
 */
#include "cli/launcher.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tree_termination.h"
#include "command/clock.h"

/* From the deadline on it kills again and again, because a process that was
 * just being forked is found only later.  The first pause is this long; each is
 * twice the one before, up to the second value. */
#define HF_GUARD_PAUSE_MIN_MS 5
#define HF_GUARD_PAUSE_MAX_MS 250

/* How often to look when no timerfd could be made. */
#define HF_GUARD_POLL_MS 50

/* Sleep until ${at_ms}; without a timerfd, for HF_GUARD_POLL_MS. */
static void sleep_until(struct hf_alarm *alarm, uint64_t at_ms)
{
    int timeout = hf_alarm_set(alarm, at_ms) < 0 ? HF_GUARD_POLL_MS : -1;
    struct pollfd polled = {alarm->fd, POLLIN, 0};

    (void)poll(&polled, 1, timeout);
}

/* Sleep until the deadline of the tree, which each renewal moves, and kill from
 * then on.  Returns when there is no tree any more, or no lease. */
static void guard_tree(const struct hf_run *run)
{
    struct hf_alarm alarm = HF_ALARM_INIT;
    uint64_t pause_ms = HF_GUARD_PAUSE_MIN_MS, at_ms, now_ms;

    while ((at_ms = hf_shared_page_tree_deadline_ms(run->page)) != HF_FOREVER) {
        now_ms = hf_clock_now_ms();
        if (now_ms < at_ms) {
            sleep_until(&alarm, at_ms);
            continue;
        }
        hf_termination_kill_below(run->launcher, run->supervisor, &run->spared);
        sleep_until(&alarm, now_ms + pause_ms);
        if (pause_ms < HF_GUARD_PAUSE_MAX_MS)
            pause_ms *= 2;
    }
}

/* In the child.  It closes all descriptors of the launcher, because the
 * supervisor takes the end of the launcher's messages for the launcher's
 * end. */
static _Noreturn void become_guard(const struct hf_run *run)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != run->launcher)
        _exit(0);
    (void)setsid();
    if (syscall(SYS_close_range, 3U, ~0U, 0U) < 0) {
        close(run->launcher_end);
        close(run->signal_fd);
    }
    hf_process_run_before_others();
    guard_tree(run);
    _exit(0);
}

bool hf_guard_start(struct hf_run *run)
{
    struct hf_process guard = {.parent = run->launcher};

    hf_guard_end(run);
    guard.pid = fork();
    if (guard.pid < 0)
        return false;
    if (guard.pid == 0)
        become_guard(run);
    run->guard = guard.pid;
    if (hf_process_list_add(&run->spared, guard))
        return true;
    hf_guard_end(run);
    errno = ENOMEM;
    return false;
}

void hf_guard_end(struct hf_run *run)
{
    if (run->guard == 0)
        return;
    kill(run->guard, SIGKILL);
    while (waitpid(run->guard, NULL, __WALL) < 0 && errno == EINTR)
        continue;
    hf_process_list_remove(&run->spared, run->guard);
    run->guard = 0;
}
