/* SPDX-License-Identifier: Apache-2.0 */
/*
 * List a queue with getChildren, shared or behind a sync; or use the cached
 * list instead.
 *
 * Shared: a list of ten thousand tickets is half a megabyte, and a burst of ten
 * thousand enqueues would ask for it ten thousand times.  So only one list of a
 * queue is in flight at a time.  A request that comes meanwhile waits for the
 * next list, which is sent when the first has arrived.  A server carries out a
 * connection's requests in order, so the next list shows everything that the
 * waiting requests have sent before.  The list in flight is of no use to them,
 * because it was sent before they came.
 *
 * Behind a sync: a ticket that may have been created through another server is
 * searched for like this, because this server may not know it yet.  The list of
 * a search is not shared.
 *
 * Cached: the cached list is the last list of a queue, less the children that
 * have gone since.  For each of our tickets it contains all tickets that are
 * ahead, and maybe some that are gone.
 *
 * A new ticket never gets a place ahead of a listed ticket, except a reader
 * that takes the place of its own write ticket (a downgrade).  So nothing can
 * be ahead of our ticket but what a list has shown there, less what this
 * session saw go.  At worst a waiter that uses the cached list waits too long:
 * for a node that is gone, until its watch says so.  It never enters too early.
 *
 * The cached list is used instead of a new list only while the tickets ahead
 * are of this session or are watched, because then their end is seen.
 * Otherwise a waiter would watch one ticket after the other and find each gone.
 * The cached list is used only on the connection that it came from, and only
 * for a ticket that is watched itself.
 *
 * A mutex, a reader and an election's ticket are one node each, which no other
 * node replaces when it goes.  If a node of another kind goes, the cached list
 * is not used any more: a writer may have become a reader, and a lease has
 * several nodes.
 *
 * If the cached list cannot be used, a new list is read and compared with it.
 * Cached children that are ahead of the asking ticket and are not in the new
 * list have gone.  Cached children behind that ticket are left as they are,
 * though some may have gone.  So if only a few of ten thousand names are ahead,
 * the new list is scanned once and not sorted.  If the new list has a child
 * ahead that the cached list lacks (a downgraded reader), it replaces the
 * cached list.
 */
#ifndef HF_ENGINES_ZOOKEEPER_LIST_CHILDREN_H
#define HF_ENGINES_ZOOKEEPER_LIST_CHILDREN_H

#include "engines/zookeeper/zk_request.h"

/* The least size of an element of a list: an empty string. */
#define HF_ZK_CHILD_LEAST_BYTES 4

/* An upper bound on how many of the next ${count} names in ${body} are names of
 * tickets.  Memory for tickets is allocated for this number: an answer may have
 * millions of names of one letter, and a ticket takes many times the memory of
 * such a name. */
size_t hf_zk_engine_tickets_at_most(const struct hf_jute_reader *body,
                                    size_t count);

/* In the current step, list the queue after everything that the step has sent.
 * When the step ends, .list_error is set, and the children are in the queue. */
void hf_zk_engine_list_children(struct hf_zk_engine *zk,
                                struct hf_zk_engine_request *req);

/* As hf_zk_engine_list_children(), for a ticket that may have been created
 * through another server: sync first, and do not share the list. */
void hf_zk_engine_find_ticket(struct hf_zk_engine *zk,
                              struct hf_zk_engine_request *req);

/* As hf_zk_engine_find_ticket(), but the list goes to ${answered} and is not
 * stored in the queue.  ${answered} must end with
 * hf_zk_engine_request_answered(). */
void hf_zk_engine_list_behind_sync(struct hf_zk_engine *zk,
                                   struct hf_zk_engine_request *req,
                                   hf_zk_answered *answered);

/* Store the list of a search in the queue, unless its sync failed, and set
 * .list_error.  The caller then calls hf_zk_engine_request_answered(). */
void hf_zk_engine_take_synced_list(struct hf_zk_engine *zk,
                                   struct hf_zk_engine_request *req,
                                   const struct hf_zk_reply *reply);

/* Can the cached list be used for our ticket ${own_ticket} instead of a new
 * list?  If so, the children that have gone are removed from it. */
bool hf_zk_engine_cached_list_serves(
    struct hf_zk_engine *zk, struct hf_zk_engine_queue *queue,
    const struct hf_zk_engine_own_ticket *own_ticket);

#endif
