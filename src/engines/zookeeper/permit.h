/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permits of a semaphore in kazoo's layout, which we write with layout=kazoo:
 *
 *     NAME            the semaphore; its data is the number of permits
 *     NAME/HEX        a permit: ephemeral, without a number
 *     NAME-__lock__   the entry mutex, an ordinary lock of kazoo's
 *
 * kazoo counts the children and ignores their names.  Our names show which
 * permits belong to one ticket: they differ only in the six bits that every
 * UUID of version 4 has alike, which here count the permits of the ticket.
 * The first permit has the ticket's id as its name.
 *
 * A list does not show which permit came first, and nobody has to know: only
 * the holder of the entry mutex adds permits, and it adds ours in one
 * transaction with a check that its ticket in the entry mutex still exists.
 */
#ifndef HF_ENGINES_ZOOKEEPER_PERMIT_H
#define HF_ENGINES_ZOOKEEPER_PERMIT_H

#include "engines/zookeeper/node_name.h"
#include "zookeeper/zk_wire.h"

struct hf_zk;

struct hf_request;
struct hf_zk_queue;

/* Room for the chroot, a lock's name, and a suffix. */
#define HF_ZK_QUEUE_PATH_BYTES 2560

/* With layout=kazoo the two queues of a semaphore are not at the paths that
 * their names say, so kazoo would not find a lock of such a name.  True if
 * ${request}, which creates a ticket or a flag, uses such a name. */
bool hf_zk_name_is_reserved(enum hf_zk_dialect layout,
                            const struct hf_request *request);

/* Write the path of the queue ${name} below ${chroot}.  True if its children
 * are permits of kazoo's form. */
bool hf_zk_queue_path(enum hf_zk_dialect layout, const char *chroot,
                      const char *name, char path[HF_ZK_QUEUE_PATH_BYTES]);

/* Write the name of the ${nth} permit of a ticket, and parse one.  .sequence
 * of ${node} is then ${nth}. */
void hf_zk_permit_name(const struct hf_ticket_id *id, uint32_t nth,
                       char name[HF_ZK_NODE_BYTES]);
bool hf_zk_permit_parse(const char *name, size_t bytes,
                        struct hf_zk_node *node);

/* True if hf_zk_permit_parse() made ${node}. */
bool hf_zk_node_is_permit(const struct hf_zk_node *node);

/* The number of permits in the ${data} of the semaphore's node.  0 if it is no
 * such number; kazoo ignores that too. */
uint32_t hf_zk_permits_parse(struct hf_jute_piece data);

/* Our first ticket in the entry mutex in front of the permits ${queue}, or
 * NULL. */
const struct hf_zk_own_ticket *
hf_zk_permits_entry_mutex(const struct hf_zk *zk,
                          const struct hf_zk_queue *queue);

#endif
