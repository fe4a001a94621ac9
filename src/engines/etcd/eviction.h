/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who evicts a candidate of an election, and why.
 *
 * For any other ticket this is written into its value before it is deleted
 * (ticket_value.h).  The value of a candidate must stay its own text, because
 * other programs show that as the leader.  No key can be added below the name
 * either, because they would wait for it.  So this is a key beside that of the
 * session,
 *
 *     PREFIX .holdfast/LEASE-evicted    ID TEXT
 *
 * for the last candidate of the session that was evicted.  The transaction that
 * deletes the ticket puts it, and it belongs to the lease of the candidate, so
 * it goes with the session.  The owner reports its loss at once, and reads the
 * key beside that and logs what it says: the loss waits for nothing.
 */
#ifndef HF_ENGINES_ETCD_EVICTION_H
#define HF_ENGINES_ETCD_EVICTION_H

#include "engines/etcd/etcd_private.h"

/* Append to a transaction that ${evicted_by} evicts the candidate ${id}, whose
 * ticket belongs to ${lease}. */
void hf_etcd_engine_eviction_write(const struct hf_etcd_engine *engine,
                                   struct hf_etcd_buffer *buffer, int64_t lease,
                                   const struct hf_ticket_id *id,
                                   const char *evicted_by);

/* Our candidate ${own} is gone: read whether and by whom it was evicted, and
 * log that.  It may be freed at once. */
void hf_etcd_engine_eviction_read(struct hf_etcd_engine *engine,
                                  const struct hf_etcd_engine_own_ticket *own);

#endif
