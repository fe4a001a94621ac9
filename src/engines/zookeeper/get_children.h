/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a queue is listed, in one of two ways.
 *
 * Shared: a list of ten thousand tickets is half a megabyte, and a burst of as
 * many enqueues would ask for it as often.  So one list of a queue is under way
 * at a time.  A request that comes meanwhile waits for the next one, which is
 * sent when that one has come.  A connection carries out its requests in order,
 * so the next list shows whatever the requests that wait for it have sent
 * before.  The list that is under way serves none of them, because it was sent
 * before they came.
 *
 * A search: a ticket that may have been made through another server is listed
 * behind a sync, because this server may not have seen it yet.  That list is
 * shared with no other request.
 */
#ifndef HF_ENGINES_ZOOKEEPER_GET_CHILDREN_H
#define HF_ENGINES_ZOOKEEPER_GET_CHILDREN_H

#include "engines/zookeeper/zk_request.h"

/* Have the children of the queue listed after all that this step has sent so
 * far; .list_error says how it went. */
void hf_zk_list_children(struct hf_zk *zk, struct hf_zk_request *req);

/* The same, when a ticket is searched for that may have been made through
 * another server than the one we are connected to: the list is not shared. */
void hf_zk_search(struct hf_zk *zk, struct hf_zk_request *req);

/* The same, but the list goes to ${answered}, which ends with
 * hf_zk_request_answered(), and is not kept. */
void hf_zk_search_with(struct hf_zk *zk, struct hf_zk_request *req,
                       hf_zk_answered *answered);

/* The list of a search has come: take it in, unless its sync failed.  The
 * caller calls hf_zk_request_answered(). */
void hf_zk_take_children(struct hf_zk *zk, struct hf_zk_request *req,
                         const struct hf_zk_reply *reply);

#endif
