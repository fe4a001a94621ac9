/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ending every process below this one.  Both of our processes are subreapers:
 * whatever the command started, in whichever session and however often forked,
 * is a descendant, and becomes a child when those between have died.  So the
 * tree is gone when there is no child left to wait for, and not before.
 */
#ifndef HF_CLI_TERMINATION_H
#define HF_CLI_TERMINATION_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/process.h"

struct hf_termination {
    uint64_t kill_at_ms;
    uint64_t pause_ms; /* until the next look without news */
    bool killing;
    struct hf_process_list signalled;     /* those that got their SIGTERM */
    struct hf_process_list found;         /* scratch */
    const struct hf_process_list *spared; /* children that are not ours to end:
                                             they were here before */
};

/* Begin: SIGTERM (and SIGCONT, for those that are stopped) to all now, SIGKILL
 * from ${kill_at_ms} on.  ${spared} may be NULL, else it must live on. */
void hf_termination_begin(struct hf_termination *termination,
                          uint64_t kill_at_ms,
                          const struct hf_process_list *spared);
void hf_termination_free(struct hf_termination *termination);

/* Kill no later than ${kill_at_ms} from now on. */
void hf_termination_hasten(struct hf_termination *termination,
                           uint64_t kill_at_ms);

/* Signal and reap what there is.  True if nothing is left.  Else call again on
 * SIGCHLD, and at ${again_at_ms} at the latest. */
bool hf_termination_step(struct hf_termination *termination, uint64_t now_ms,
                         uint64_t *step_at_ms);

#endif
