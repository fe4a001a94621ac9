/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listing a queue with getChildren, in one of two ways, or doing without a new
 * list.
 *
 * Shared: a list of ten thousand tickets is half a megabyte, and a burst of
 * ten thousand enqueues would ask for it ten thousand times.  So only one list
 * of a queue is in flight at a time.  A request that comes meanwhile waits for
 * the next list, which is sent when the first has arrived.  A server carries
 * out a connection's requests in order, so the next list shows everything that
 * the waiting requests have sent before.  The list in flight is of no use to
 * them, because it was sent before they came.
 *
 * Behind a sync: a ticket that may have been created through another server is
 * searched for like this, because this server may not know it yet.  The list of
 * a search is not shared.
 *
 * Cached: the cached list is the last list of a queue, less the children that
 * have gone since.  It is a superset of the tickets that are ahead of one of
 * ours.
 *
 * No ticket comes to stand ahead of a ticket that was listed, except a reader
 * that takes the place of its own write ticket (a downgrade).  So what a list
 * shows ahead of our ticket, less what this session saw go, is all that can be
 * ahead of it from then on.  At worst a waiter that uses the cached list waits
 * too long: for a node that is gone, until its watch says so.  It never enters
 * too early.
 *
 * It is used instead of a new list only while the tickets ahead are of this
 * session or are watched, because then their end is seen.  The end of other
 * tickets is not seen, and a waiter would try one after the other and find
 * each gone.  It is used only on the connection that it came from, and only
 * for a ticket that is watched itself.
 *
 * A mutex, a reader and an election's ticket are one node each, which leaves
 * nothing in its place.  If another node goes, the cached list is not used any
 * more: a writer may have become a reader, and a lease has several nodes.
 *
 * Where the cached list cannot be used, a new list is compared with it: of the
 * children ahead of the asking ticket, those that are missing in the new list
 * have gone.  Children behind it are left as they are; they still are a
 * superset for the tickets there.  So a list of ten thousand names of which a
 * few are ahead is scanned once and not sorted.  If the new list has a child
 * ahead that the cached one does not have, a downgraded reader, then it
 * replaces the cached list.
 */
#ifndef HF_ENGINES_ZOOKEEPER_LIST_CHILDREN_H
#define HF_ENGINES_ZOOKEEPER_LIST_CHILDREN_H

#include "engines/zookeeper/zk_request.h"

/* The least size of an element of a list: an empty string. */
#define HF_ZK_CHILD_LEAST_BYTES 4

/* At most how many of the ${count} names that come next in ${body} are those of
 * tickets?  Memory is for these, because a ticket takes many times the bytes of
 * a name of one letter, of which an answer may have millions. */
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
