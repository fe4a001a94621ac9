/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has evicted a candidate of an election, and why.
 *
 * For any other ticket this is written into the ticket's value before the
 * ticket is deleted (ticket_value.h).  The value of a candidate must stay the
 * candidate's own text, because other programs show it as the leader.  Nor can
 * a key be added below the name, because other programs would wait for it.  So
 * it is written into a key beside that of the session:
 *
 *     PREFIX .holdfast/LEASE-evicted    ID TEXT
 *
 * It describes the last candidate of the session that was evicted.  The
 * transaction that deletes the ticket puts this key, attached to the lease of
 * the candidate, so that it goes with the session.  The candidate's client
 * reports the loss at once.  It reads the key meanwhile, and only logs what it
 * says.
 */
#ifndef HF_ENGINES_ETCD_EVICTION_H
#define HF_ENGINES_ETCD_EVICTION_H

#include "engines/etcd/etcd_private.h"

/* Append to a transaction the put that says that ${evicted_by} evicts the
 * candidate ${id}, whose ticket is attached to ${lease}. */
void hf_etcd_engine_eviction_write(const struct hf_etcd_engine *engine,
                                   struct hf_etcd_buffer *buffer, int64_t lease,
                                   const struct hf_ticket_id *id,
                                   const char *evicted_by);

/* Our candidate ${own} is gone: read whether and by whom it was evicted, and
 * log that.  ${own} may be freed as soon as this function has returned. */
void hf_etcd_engine_eviction_read(struct hf_etcd_engine *engine,
                                  const struct hf_etcd_engine_own_ticket *own);

#endif
