/* SPDX-License-Identifier: Apache-2.0 */
/* See tree_termination.h. */
#include "cli/tree_termination.h"

#include "cli/process_tree.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long to wait for SIGCHLD before looking again, because an orphan of a
 * descendant becomes our child without any signal.  Short at first; then
 * longer, because a process that does not go away (uninterruptible, or of
 * another user) may take hours. */
#define HF_TERMINATION_PAUSE_MIN_MS 5
#define HF_TERMINATION_PAUSE_MAX_MS 250

/* From the first SIGKILL on the pause stays short for this long: a lease may
 * end in that time, and an orphan that was not found yet must not live then. */
#define HF_TERMINATION_URGENT_MS 1000

/* At most this many processes are looked at in one step, because a tree that
 * forks while it is read could keep us busy for ever. */
#define HF_TERMINATION_FOUND_MAX 65536

void hf_termination_begin(struct hf_termination *termination,
                          uint64_t kill_at_ms,
                          const struct hf_process_list *spared)
{
    *termination = (struct hf_termination){0};
    termination->kill_at_ms = kill_at_ms;
    termination->pause_ms = HF_TERMINATION_PAUSE_MIN_MS;
    termination->spared = spared;
}

void hf_termination_free(struct hf_termination *termination)
{
    hf_process_list_free(&termination->signalled);
    hf_process_list_free(&termination->found);
}

void hf_termination_hasten(struct hf_termination *termination,
                           uint64_t kill_at_ms)
{
    if (kill_at_ms < termination->kill_at_ms)
        termination->kill_at_ms = kill_at_ms;
}

/* Are there children that must be neither ended nor reaped? */
static bool has_spared(const struct hf_termination *termination)
{
    return termination->spared && termination->spared->count > 0;
}

static bool is_spared(const struct hf_termination *termination, pid_t pid)
{
    return termination->spared && hf_process_list_has(termination->spared, pid);
}

/* Is there no child at all, neither living nor to be reaped? */
static bool has_no_child(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 &&
           errno == ECHILD;
}

/* Reap ${pid}, a child.  False if it lives. */
static bool reap(pid_t pid)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | __WALL) == 0 &&
           info.si_pid == pid;
}

/* Reap all that are dead.  If there are children to be spared, waitid(P_ALL)
 * might reap one of those, so remove_dead() reaps one by one instead. */
static void reap_all(const struct hf_termination *termination)
{
    siginfo_t info;

    for (int i = 0; i < HF_TERMINATION_FOUND_MAX; i++) {
        if (has_spared(termination))
            return;
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) < 0 ||
            info.si_pid == 0)
            return;
    }
}

/* Remove from .found what is not ours to end. */
static void remove_spared(struct hf_termination *termination)
{
    struct hf_process_list *found = &termination->found;
    size_t kept = 0;

    for (size_t i = 0; i < found->count; i++)
        if (!is_spared(termination, found->items[i].pid))
            found->items[kept++] = found->items[i];
    found->count = kept;
}

/* Reap those of .found, our own children, that are dead, and remove them. */
static void remove_dead(struct hf_termination *termination)
{
    struct hf_process_list *found = &termination->found;
    size_t kept = 0;

    for (size_t i = 0; i < found->count; i++)
        if (!reap(found->items[i].pid))
            found->items[kept++] = found->items[i];
    found->count = kept;
}

/* Send SIGTERM once, and SIGCONT because a process that is stopped does not
 * receive it otherwise. */
static void terminate(struct hf_termination *termination,
                      const struct hf_process *process)
{
    if (hf_process_list_has(&termination->signalled, process->pid))
        return;
    hf_process_signal(process, SIGTERM);
    hf_process_signal(process, SIGCONT);
    /* Without memory it gets SIGTERM again in the next step, which is
     * harmless. */
    (void)hf_process_list_add(&termination->signalled, *process);
}

/* Add the descendants of the processes in ${list} to it, and send SIGKILL to
 * them. */
static void kill_descendants(struct hf_process_list *list)
{
    size_t parents = list->count;

    if (parents > 0)
        hf_process_descendants(list, HF_TERMINATION_FOUND_MAX);
    for (size_t i = parents; i < list->count; i++)
        hf_process_signal(&list->items[i], SIGKILL);
}

/* Send SIGKILL to the children that were just found.  Do nothing in between,
 * because a child that forks and exits all the time is then most likely still
 * the one that was found.  Their descendants become our children when the
 * children have exited, and get SIGKILL in the next steps.  But on a busy
 * machine no process exits at once, so the first time kill the descendants
 * too. */
static void kill_children(struct hf_termination *termination)
{
    struct hf_process_list *found = &termination->found;
    size_t children = found->count;

    for (size_t i = 0; i < children; i++)
        kill(found->items[i].pid, SIGKILL);
    if (!termination->killing) {
        termination->killing = true;
        termination->pause_ms = HF_TERMINATION_PAUSE_MIN_MS;
        kill_descendants(found);
        found->count = children;
    }
    remove_dead(termination);
}

/* Add the children of ${launcher} to ${list}, but for ${supervisor}, ${spared}
 * and this process. */
static void add_orphans(struct hf_process_list *list, pid_t launcher,
                        pid_t supervisor, const struct hf_process_list *spared)
{
    size_t kept = 0;

    (void)hf_process_children(launcher, list);
    for (size_t i = 0; i < list->count; i++) {
        pid_t pid = list->items[i].pid;

        if (pid != supervisor && pid != getpid() &&
            !hf_process_list_has(spared, pid))
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

/* Is ${supervisor} still the supervisor of ${launcher}, and not another process
 * that got its number? */
static bool is_supervisor(pid_t launcher, pid_t supervisor)
{
    return launcher == getpid() || hf_process_parent(supervisor) == launcher;
}

/* All are listed before the first is killed, and the lowest are killed first: a
 * child of a process that has exited has another parent, and
 * hf_process_signal() would not signal it any more. */
void hf_termination_kill_below(pid_t launcher, pid_t supervisor,
                               const struct hf_process_list *spared)
{
    struct hf_process_list found = {0};

    add_orphans(&found, launcher, supervisor, spared);
    if (is_supervisor(launcher, supervisor))
        (void)hf_process_children(supervisor, &found); /* what can be read */
    if (found.count > 0)
        hf_process_descendants(&found, HF_TERMINATION_FOUND_MAX);
    for (size_t i = found.count; i-- > 0;)
        hf_process_signal(&found.items[i], SIGKILL);
    hf_process_list_free(&found);
}

/* Send SIGTERM to all descendants, not only to children. */
static void terminate_all(struct hf_termination *termination)
{
    remove_dead(termination);
    /* If the list is incomplete the next step finds the rest, because orphans
     * become children. */
    if (termination->found.count > 0)
        hf_process_descendants(&termination->found, HF_TERMINATION_FOUND_MAX);
    for (size_t i = 0; i < termination->found.count; i++)
        terminate(termination, &termination->found.items[i]);
}

/* When to look again if no SIGCHLD comes before. */
static uint64_t next_step_ms(struct hf_termination *termination,
                             uint64_t now_ms)
{
    uint64_t at_ms = now_ms + termination->pause_ms;
    bool urgent = termination->killing &&
                  now_ms < termination->kill_at_ms + HF_TERMINATION_URGENT_MS;

    if (!urgent && termination->pause_ms < HF_TERMINATION_PAUSE_MAX_MS)
        termination->pause_ms *= 2;
    if (!termination->killing && termination->kill_at_ms < at_ms)
        return termination->kill_at_ms;
    return at_ms;
}

bool hf_termination_step(struct hf_termination *termination, uint64_t now_ms,
                         uint64_t *step_at_ms)
{
    bool complete;

    /* Once SIGKILL is due, kill first and reap later: a command that forks
     * without end leaves more dead children than we can reap beside it. */
    if (now_ms < termination->kill_at_ms)
        reap_all(termination);
    if (has_no_child())
        return true;
    termination->found.count = 0;
    complete = hf_process_children(getpid(), &termination->found);
    remove_spared(termination);
    /* If children are spared there is always a child.  So the tree is gone when
     * the list is empty.  That is certain here, before anything of the list is
     * reaped: a dead child is on the list, and once it is reaped its orphans
     * are. */
    if (complete && termination->found.count == 0 && has_spared(termination))
        return true;
    /* There is a child that was not found: hidden by hidepid=, or the list
     * could not be read.  Try again later. */
    if (termination->found.count == 0) {
        /* The child may be dead, and nobody else would reap it. */
        reap_all(termination);
        if (has_no_child())
            return true;
        *step_at_ms = next_step_ms(termination, now_ms);
        return false;
    }
    if (now_ms >= termination->kill_at_ms)
        kill_children(termination);
    else
        terminate_all(termination);
    /* If all were dead they may have left orphans to us: look again at once. */
    *step_at_ms = termination->found.count == 0
                      ? now_ms
                      : next_step_ms(termination, now_ms);
    return false;
}
