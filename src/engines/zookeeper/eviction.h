/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who evicted a ticket, and why.
 *
 * The node of the ticket is gone when its owner receives the event, and the
 * event has no text.  So the text is written to the parent of the tickets in
 * the transaction that deletes the node, and the owner reads it there:
 * "holdfast evicted ID by TEXT", with the id of the ticket, because a later
 * eviction replaces it.
 *
 * No client gives the data of that node a meaning but kazoo's Semaphore, which
 * keeps its number of permits there, and programs may keep there what they
 * like.  So only data that are empty, or are such a text, are replaced.
 */
#ifndef HF_ENGINES_ZOOKEEPER_EVICTION_H
#define HF_ENGINES_ZOOKEEPER_EVICTION_H

#include <stdbool.h>

#include "core/evicted_by.h"
#include "core/ticket.h"
#include "zookeeper/jute.h"

struct hf_zk;

/* Room for the data. */
#define HF_ZK_EVICTION_BYTES                                                   \
    (sizeof("holdfast evicted  by ") + HF_TICKET_ID_TEXT_BYTES +               \
     HF_EVICTED_BY_BYTES)

/* Write the data of an eviction of ${id}. */
void hf_zk_eviction_format(const struct hf_ticket_id *id,
                           const char *evicted_by,
                           char data[HF_ZK_EVICTION_BYTES]);

/* May these ${data} of the parent be replaced? */
bool hf_zk_eviction_may_replace(struct hf_jute_piece data);

/* The node at ${path} is gone.  If it is of a ticket of ours that we do not
 * delete, read who evicted it, and log that as a warning.  The loss is not
 * reported here, and waits for nothing.  Before the ticket is freed. */
void hf_zk_eviction_read(struct hf_zk *zk, const char *path);

#endif
