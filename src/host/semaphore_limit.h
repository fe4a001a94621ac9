/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of a semaphore.  Its user may set another one while grants of it
 * are wanted or held, and the core is notified for each of them.  Other
 * programs may go by another limit, which is a mistake: their tickets show it,
 * and the log and the errors of waits that fail say so.
 */
#ifndef HF_HOST_SEMAPHORE_LIMIT_H
#define HF_HOST_SEMAPHORE_LIMIT_H

#include "host/grant.h"

/* All with the client's lock. */

/* ${item}, of a semaphore, is wanted: it goes by the limit of its lock from
 * now on. */
void hf_limit_add(struct hf_grant_item *item);

/* ${grant} was DONE. */
void hf_limit_remove(struct hf_grant *grant);

/* Compare the limits of the semaphores of ${grant} with those that the tickets
 * at the head of their queues show.  Where they differ the log says so, once a
 * handle, and hf_limit_explain() until the next ticket agrees. */
void hf_limit_compare(struct hf_grant *grant);

/* Put that the limits of locks of ${grant} differ before the text of ${error};
 * nothing if they do not. */
void hf_limit_explain(const struct hf_grant *grant, struct hf_error *error);

#endif
