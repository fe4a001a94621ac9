/* SPDX-License-Identifier: Apache-2.0 */
/*
 * REMOVE: delete the ticket, wherever it is found by its id.  The nodes of a
 * lease go in one transaction; where somebody has removed one of them before,
 * that fails, and those that are left are searched for.  A node that was listed
 * and is gone is searched for once more as well: another's write ticket may
 * have become a read ticket, which has another name.
 */
#ifndef HF_ENGINES_ZOOKEEPER_REMOVE_TICKET_H
#define HF_ENGINES_ZOOKEEPER_REMOVE_TICKET_H

#include "engines/zookeeper/zk_request.h"

/* Delete all there is of the request's ticket.  ${then} finds in .error whether
 * it was there (HF_ZK_OK), was not (HF_ZK_NO_NODE), or may be still. */
void hf_zk_delete_ticket(struct hf_zk *zk, struct hf_zk_request *req,
                         void (*then)(struct hf_zk *zk,
                                      struct hf_zk_request *req));

#endif
