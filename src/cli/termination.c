/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/termination.h"

#include "cli/process_tree.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long to wait for news before looking again: a descendant's orphan comes
 * to us without any.  Short at first, then longer where a process does not go
 * (uninterruptible, or of another user): it may take hours. */
#define HF_TERMINATION_PAUSE_MIN_MS 5
#define HF_TERMINATION_PAUSE_MAX_MS 250

/* How many processes one step looks at; a tree that forks while it is being
 * read could otherwise lead on for ever. */
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

static bool has_spared(const struct hf_termination *termination)
{
    return termination->spared && termination->spared->count > 0;
}

static bool is_spared(const struct hf_termination *termination, pid_t pid)
{
    return termination->spared && hf_process_list_has(termination->spared, pid);
}

/* Is there no child at all, not even a dead one? */
static bool has_no_child(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 &&
           errno == ECHILD;
}

/* True if the child is dead, and now buried. */
static bool reap(pid_t pid)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | __WALL) == 0 &&
           info.si_pid == pid;
}

/* Bury what is dead.  With children to be spared among them each has to be
 * asked for by itself, which drop_dead() does. */
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

/* Keep of .found only what has to go. */
static void remove_spared(struct hf_termination *termination)
{
    struct hf_process_list *found = &termination->found;
    size_t kept = 0;

    for (size_t i = 0; i < found->count; i++)
        if (!is_spared(termination, found->items[i].pid))
            found->items[kept++] = found->items[i];
    found->count = kept;
}

/* Keep of .found, our own children, only the living. */
static void remove_dead(struct hf_termination *termination)
{
    struct hf_process_list *found = &termination->found;
    size_t kept = 0;

    for (size_t i = 0; i < found->count; i++)
        if (!reap(found->items[i].pid))
            found->items[kept++] = found->items[i];
    found->count = kept;
}

static void terminate(struct hf_termination *termination,
                      const struct hf_process *process)
{
    if (hf_process_list_has(&termination->signalled, process->pid))
        return;
    hf_process_signal(process, SIGTERM);
    hf_process_signal(process, SIGCONT);
    /* Without memory to note it, it is told again: harmless. */
    (void)hf_process_list_add(&termination->signalled, *process);
}

/* Nothing stands between the look and the blow: a child that forks and leaves
 * all the time is then most often still the one that was seen. */
static void kill_children(struct hf_termination *termination)
{
    if (!termination->killing) {
        termination->killing = true;
        termination->pause_ms = HF_TERMINATION_PAUSE_MIN_MS;
    }
    for (size_t i = 0; i < termination->found.count; i++)
        kill(termination->found.items[i].pid, SIGKILL);
    remove_dead(termination);
}

static void terminate_all(struct hf_termination *termination)
{
    remove_dead(termination);
    /* A list that is cut short is made up for in the next step: orphans become
     * children. */
    if (termination->found.count > 0)
        hf_process_descendants(&termination->found, HF_TERMINATION_FOUND_MAX);
    for (size_t i = 0; i < termination->found.count; i++)
        terminate(termination, &termination->found.items[i]);
}

static uint64_t next_step_ms(struct hf_termination *termination,
                             uint64_t now_ms)
{
    uint64_t at_ms = now_ms + termination->pause_ms;

    if (termination->pause_ms < HF_TERMINATION_PAUSE_MAX_MS)
        termination->pause_ms *= 2;
    if (!termination->killing && termination->kill_at_ms < at_ms)
        return termination->kill_at_ms;
    return at_ms;
}

bool hf_termination_step(struct hf_termination *termination, uint64_t now_ms,
                         uint64_t *step_at_ms)
{
    bool complete;

    /* The dead wait until the living are killed: what forks without end leaves
     * more of them than we can bury beside it. */
    if (now_ms < termination->kill_at_ms)
        reap_all(termination);
    if (has_no_child())
        return true;
    termination->found.count = 0;
    complete = hf_process_children(getpid(), &termination->found);
    remove_spared(termination);
    /* Conclusive only before anything of it is reaped: until then the dead are
     * on the list, and from then on their orphans. */
    if (complete && termination->found.count == 0 && has_spared(termination))
        return true;
    /* There is a child, and it was not seen: hidden by hidepid=, or the list
     * could not be read. */
    if (termination->found.count == 0) {
        /* Nobody else buries it if it is dead. */
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
    /* All may have been dead, and have left orphans to us. */
    *step_at_ms = termination->found.count == 0
                      ? now_ms
                      : next_step_ms(termination, now_ms);
    return false;
}
