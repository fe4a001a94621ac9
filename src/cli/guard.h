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
#ifndef HF_CLI_GUARD_H
#define HF_CLI_GUARD_H

#include <stdbool.h>

#include "cli/run.h"

/* Start the guard of the grant that ${run} has now, in place of that of an
 * earlier grant.  By the launcher.  It is one of ${run}->spared while it
 * exists.  False with errno. */
bool hf_guard_start(struct hf_run *run);

/* End the guard, if there is one, and wait for that. */
void hf_guard_end(struct hf_run *run);

#endif
