/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listing a queue with getChildren, in one of two ways.
 *
 * Shared: a list of ten thousand tickets is half a megabyte, and a burst of
 * ten thousand enqueues would ask for it ten thousand times.  So only one list
 * of a queue is in flight at a time.  A request that comes meanwhile waits for
 * the next list, which is sent when the first has arrived.  A server carries
 * out a connection's requests in order, so the next list shows everything that
 * the waiting requests have sent before.  The list in flight is of no use to
 * them, because it was sent before they came.
 *
 * Search: a ticket that may have been created through another server is listed
 * behind a sync, because this server may not know it yet.  The list of a
 * search is not shared.
 */
#ifndef HF_ENGINES_ZOOKEEPER_GET_CHILDREN_H
#define HF_ENGINES_ZOOKEEPER_GET_CHILDREN_H

#include "engines/zookeeper/zk_request.h"

/* In the current step, list the queue after everything that the step has sent.
 * Sets .list_error; the children are then in the queue. */
void hf_zk_list_children(struct hf_zk *zk, struct hf_zk_request *req);

/* The same for a ticket that may have been created through another server:
 * sync first, and do not share the list. */
void hf_zk_search(struct hf_zk *zk, struct hf_zk_request *req);

/* The same as hf_zk_search(), but the list goes to ${answered} and is not
 * stored in the queue.  ${answered} must end with hf_zk_request_answered(). */
void hf_zk_search_with(struct hf_zk *zk, struct hf_zk_request *req,
                       hf_zk_answered *answered);

/* Store the list of a search in the queue, unless its sync failed, and set
 * .list_error.  The caller then calls hf_zk_request_answered(). */
void hf_zk_take_search_list(struct hf_zk *zk, struct hf_zk_request *req,
                            const struct hf_zk_reply *reply);

#endif
