/* SPDX-License-Identifier: Apache-2.0 */
/* HF_REQUEST_REMOVE: delete a ticket that is found by its id.  The nodes of a
 * lease are deleted in one transaction.  If somebody has removed one of them
 * before, the transaction fails, and the others are searched for.  If a node
 * that was listed is gone, the ticket is searched for again, too, because
 * another client's write ticket may have become a read ticket, which has
 * another name.  There are at most HF_ZK_ATTEMPTS_MAX of these searches. */
#ifndef HF_ENGINES_ZOOKEEPER_REMOVE_TICKET_H
#define HF_ENGINES_ZOOKEEPER_REMOVE_TICKET_H

#include "engines/zookeeper/zk_request.h"

/* Delete all nodes of the request's ticket.  ${then} is called with .error
 * HF_ZK_OK if the ticket existed, HF_ZK_NO_NODE if not, and another error if
 * it may still exist. */
void hf_zk_engine_delete_ticket(struct hf_zk_engine *zk,
                                struct hf_zk_engine_request *req,
                                void (*then)(struct hf_zk_engine *zk,
                                             struct hf_zk_engine_request *req));

#endif
