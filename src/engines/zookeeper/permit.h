/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permits of a semaphore as kazoo lays it out, and as we do with layout=kazoo:
 *
 *   NAME            the semaphore; its data is how many permits there are
 *   NAME/HEX        a permit: ephemeral, and not numbered
 *   NAME-__lock__   the lock in front of it, an ordinary one of kazoo's
 *
 * kazoo counts children and does not look at their names.  Ours say which of
 * them are one ticket: they differ in those six bits that every UUID of version
 * 4 has alike, which here say how manieth permit of the ticket it is.  The
 * first has the ticket's id for a name.
 *
 * A list does not tell who came first.  Nobody has to know: only the head of
 * the lock in front adds permits, and adds ours in one transaction with the
 * check that it still is there.
 */
#ifndef HF_ENGINES_ZOOKEEPER_PERMIT_H
#define HF_ENGINES_ZOOKEEPER_PERMIT_H

#include "engines/zookeeper/node_name.h"
#include "zookeeper/zk_wire.h"

struct hf_zk;

struct hf_request;
struct hf_zk_queue;

/* Room for chroot, lock name and what is put behind it. */
#define HF_ZK_QUEUE_PATH_BYTES 2560

/* With layout=kazoo the two queues of a semaphore do not lie where their names
 * say, so a lock of such a name would not be kazoo's of that path: is
 * ${request}, an ENQUEUE or SET_FLAG, one? */
bool hf_zk_name_is_reserved(enum hf_zk_dialect layout,
                            const struct hf_request *request);

/* The path of the queue called ${name} below ${chroot}; true if its children
 * are such permits. */
bool hf_zk_queue_path(enum hf_zk_dialect layout, const char *chroot,
                      const char *name, char path[HF_ZK_QUEUE_PATH_BYTES]);

/* The ${nth} permit of a ticket; its name as hf_zk_node_parse(), .sequence
 * being which one it is. */
void hf_zk_permit_name(const struct hf_ticket_id *id, uint32_t nth,
                       char name[HF_ZK_NODE_BYTES]);
bool hf_zk_permit_parse(const char *name, size_t bytes,
                        struct hf_zk_node *node);

/* Was ${node} read by hf_zk_permit_parse()? */
bool hf_zk_node_is_permit(const struct hf_zk_node *node);

/* How many permits there are, as ${data} of the semaphore's node has it; 0
 * where that is no such number, which kazoo ignores too. */
uint32_t hf_zk_permits_read(struct hf_jute_piece data);

/* The lock in front of the permits ${queue}: our ticket there that comes first,
 * or NULL. */
const struct hf_zk_own_ticket *
hf_zk_permits_entry_mutex(const struct hf_zk *zk,
                          const struct hf_zk_queue *queue);

#endif
