/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sweep.h"

#include "cli/process_tree.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long to wait for news before looking again: a descendant's orphan comes
 * to us without any.  Short at first, then longer where a process does not go
 * (uninterruptible, or of another user): it may take hours. */
#define HF_SWEEP_PAUSE_MIN_MS 5
#define HF_SWEEP_PAUSE_MAX_MS 250

/* How many processes one step looks at; a tree that forks while it is being
 * read could otherwise lead on for ever. */
#define HF_SWEEP_FOUND_MAX 65536

void hf_sweep_begin(struct hf_sweep *sweep, uint64_t kill_at_ms,
                    const struct hf_process_list *spared)
{
    *sweep = (struct hf_sweep){0};
    sweep->kill_at_ms = kill_at_ms;
    sweep->pause_ms = HF_SWEEP_PAUSE_MIN_MS;
    sweep->spared = spared;
}

void hf_sweep_free(struct hf_sweep *sweep)
{
    hf_process_list_free(&sweep->told);
    hf_process_list_free(&sweep->found);
}

void hf_sweep_hasten(struct hf_sweep *sweep, uint64_t kill_at_ms)
{
    if (kill_at_ms < sweep->kill_at_ms)
        sweep->kill_at_ms = kill_at_ms;
}

static bool spares(const struct hf_sweep *sweep)
{
    return sweep->spared && sweep->spared->count > 0;
}

static bool is_spared(const struct hf_sweep *sweep, pid_t pid)
{
    return sweep->spared && hf_process_list_has(sweep->spared, pid);
}

/* Is there no child at all, not even a dead one? */
static bool no_child(void)
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
static void reap_all(const struct hf_sweep *sweep)
{
    siginfo_t info;

    for (int i = 0; i < HF_SWEEP_FOUND_MAX; i++) {
        if (spares(sweep))
            return;
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) < 0 ||
            info.si_pid == 0)
            return;
    }
}

/* Keep of .found only what has to go. */
static void drop_spared(struct hf_sweep *sweep)
{
    struct hf_process_list *found = &sweep->found;
    size_t kept = 0;

    for (size_t i = 0; i < found->count; i++)
        if (!is_spared(sweep, found->items[i].pid))
            found->items[kept++] = found->items[i];
    found->count = kept;
}

/* Keep of .found, our own children, only the living. */
static void drop_dead(struct hf_sweep *sweep)
{
    struct hf_process_list *found = &sweep->found;
    size_t kept = 0;

    for (size_t i = 0; i < found->count; i++)
        if (!reap(found->items[i].pid))
            found->items[kept++] = found->items[i];
    found->count = kept;
}

static void tell(struct hf_sweep *sweep, const struct hf_process *process)
{
    if (hf_process_list_has(&sweep->told, process->pid))
        return;
    hf_process_signal(process, SIGTERM);
    hf_process_signal(process, SIGCONT);
    /* Without memory to note it, it is told again: harmless. */
    (void)hf_process_list_add(&sweep->told, *process);
}

/* Nothing stands between the look and the blow: a child that forks and leaves
 * all the time is then most often still the one that was seen. */
static void kill_children(struct hf_sweep *sweep)
{
    if (!sweep->killing) {
        sweep->killing = true;
        sweep->pause_ms = HF_SWEEP_PAUSE_MIN_MS;
    }
    for (size_t i = 0; i < sweep->found.count; i++)
        kill(sweep->found.items[i].pid, SIGKILL);
    drop_dead(sweep);
}

static void tell_all(struct hf_sweep *sweep)
{
    drop_dead(sweep);
    /* A list that is cut short is made up for in the next step: orphans become
     * children. */
    if (sweep->found.count > 0)
        hf_process_descendants(&sweep->found, HF_SWEEP_FOUND_MAX);
    for (size_t i = 0; i < sweep->found.count; i++)
        tell(sweep, &sweep->found.items[i]);
}

static uint64_t after_pause_ms(struct hf_sweep *sweep, uint64_t now_ms)
{
    uint64_t at_ms = now_ms + sweep->pause_ms;

    if (sweep->pause_ms < HF_SWEEP_PAUSE_MAX_MS)
        sweep->pause_ms *= 2;
    if (!sweep->killing && sweep->kill_at_ms < at_ms)
        return sweep->kill_at_ms;
    return at_ms;
}

bool hf_sweep_step(struct hf_sweep *sweep, uint64_t now_ms,
                   uint64_t *again_at_ms)
{
    bool complete;

    /* The dead wait until the living are killed: what forks without end leaves
     * more of them than we can bury beside it. */
    if (now_ms < sweep->kill_at_ms)
        reap_all(sweep);
    if (no_child())
        return true;
    sweep->found.count = 0;
    complete = hf_process_children(getpid(), &sweep->found);
    drop_spared(sweep);
    /* Conclusive only before anything of it is reaped: until then the dead are
     * on the list, and from then on their orphans. */
    if (complete && sweep->found.count == 0 && spares(sweep))
        return true;
    /* There is a child, and it was not seen: hidden by hidepid=, or the list
     * could not be read. */
    if (sweep->found.count == 0) {
        /* Nobody else buries it if it is dead. */
        reap_all(sweep);
        if (no_child())
            return true;
        *again_at_ms = after_pause_ms(sweep, now_ms);
        return false;
    }
    if (now_ms >= sweep->kill_at_ms)
        kill_children(sweep);
    else
        tell_all(sweep);
    /* All may have been dead, and have left orphans to us. */
    *again_at_ms =
        sweep->found.count == 0 ? now_ms : after_pause_ms(sweep, now_ms);
    return false;
}
