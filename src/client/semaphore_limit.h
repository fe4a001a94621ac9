/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of a semaphore: how many permits there are.  The user may set
 * another one while grants of it are requested or held; the core is then
 * notified for each of them.  Other programs may go by another limit, which is
 * a mistake: their tickets show it (limit=), and the log and the errors of
 * waits that fail report it.
 */
#ifndef HF_CLIENT_SEMAPHORE_LIMIT_H
#define HF_CLIENT_SEMAPHORE_LIMIT_H

#include "client/grant.h"

/* All with the client's lock. */

/* ${item}, of a semaphore, is requested: from now on it goes by the limit of
 * its lock. */
void hf_limit_add(struct hf_grant_item *item);

/* The core is done with ${grant}: its items do not follow the limit any
 * more. */
void hf_limit_remove(struct hf_grant *grant);

/* Compare the limits of the semaphores of ${grant} with those that the tickets
 * at the head of their queues show.  If they differ, the log says so once for
 * each handle, and hf_limit_explain() until a ticket with our limit is seen. */
void hf_limit_compare(struct hf_grant *grant);

/* Put before the text of ${error} that the limits of locks of ${grant} differ;
 * nothing if they do not. */
void hf_limit_explain(const struct hf_grant *grant, struct hf_error *error);

#endif
