/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork: a child closes its copies of our descriptors, so that it can't keep a
 * dead parent's ticket alive, and does nothing else: an unlock or a goodbye
 * would be the parent's.  A generation, compared by every call, makes handles
 * of the parent unusable.
 */
#ifndef HF_HOST_FORK_H
#define HF_HOST_FORK_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/status.h>

struct hf_client;

/* Counts the forks between this process and the first one. */
uint64_t hf_fork_generation(void);

/* Is this a child of the process that opened ${client}?  Callbacks run without
 * the lock and may fork: whoever comes back from one must ask, and in the child
 * do nothing but give up the lock. */
bool hf_fork_parted(const struct hf_client *client);

/* HF_EFORKED, and its text, in a child of the process that opened ${client}.
 * Touches nothing that another thread may have held when the process forked. */
hf_status hf_fork_check(const struct hf_client *client, struct hf_error *error);

/* Have forks see to ${client}, until it is removed.  Without its lock. */
void hf_fork_add(struct hf_client *client);
void hf_fork_remove(struct hf_client *client);

#endif
