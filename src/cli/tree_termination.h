/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ending every process below this one: SIGTERM, then SIGKILL.
 *
 * Launcher and supervisor are subreapers.  Whatever the command started, in
 * whichever session and however often it forked, is a descendant, and becomes
 * a child of ours when the processes in between have died.  So the tree is
 * gone when there is no child left to wait for, and not before.
 */
#ifndef HF_CLI_TREE_TERMINATION_H
#define HF_CLI_TREE_TERMINATION_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/process.h"

struct hf_termination {
    uint64_t kill_at_ms; /* send SIGKILL from then on */
    uint64_t pause_ms;   /* wait this long for SIGCHLD before the next look;
                            doubles, but not in the first second of killing */
    bool killing;        /* SIGKILL has been sent */
    struct hf_process_list signalled; /* those that got SIGTERM already */
    struct hf_process_list found;     /* of the current step */
    const struct hf_process_list
        *spared; /* children that were here before holdfast: not to be ended;
                    NULL: none */
};

/* Begin.  The first step sends SIGTERM to all, and SIGCONT so that those that
 * are stopped receive it; SIGKILL follows from ${kill_at_ms} on.  ${spared}
 * may be NULL; else it must live as long as ${termination}. */
void hf_termination_begin(struct hf_termination *termination,
                          uint64_t kill_at_ms,
                          const struct hf_process_list *spared);
/* Free the lists; ${termination} may be all zero. */
void hf_termination_free(struct hf_termination *termination);

/* Send SIGKILL from ${kill_at_ms} on, if that is earlier than planned. */
void hf_termination_hasten(struct hf_termination *termination,
                           uint64_t kill_at_ms);

/* Signal and reap what there is.  True if nothing is left.  Else call again on
 * SIGCHLD, and at ${step_at_ms} at the latest. */
bool hf_termination_step(struct hf_termination *termination, uint64_t now_ms,
                         uint64_t *step_at_ms);

/* Send SIGKILL to the descendants of ${supervisor}, a child of ${launcher}, as
 * far as they are seen now; reap nothing.  For when there is no time to wait
 * until they are children of the launcher.  Those that are so already, because
 * the supervisor is exiting or has exited, get it as well: all children of the
 * launcher but the supervisor, ${spared} and this process.  By the launcher or
 * the guard. */
void hf_termination_kill_below(pid_t launcher, pid_t supervisor,
                               const struct hf_process_list *spared);

#endif
