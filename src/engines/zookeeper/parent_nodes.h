/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes above a node that is to be created.  They are created only after
 * the server has said that one is missing, and then together with the node
 * itself, from the top down.  A session's requests are carried out in order,
 * so the first ticket of a new name costs one more round trip than any other,
 * however deep the name is.
 *
 * Each create is a request of its own and not an operation of one multi,
 * because nobody knows which of them exist.  A multi fails as a whole if one
 * exists, or if another client creates one meanwhile.  The create of an
 * existing parent may also fail because of its access list.  So only the
 * create of the node itself shows whether there was a problem.
 */
#ifndef HF_ENGINES_ZOOKEEPER_PARENT_NODES_H
#define HF_ENGINES_ZOOKEEPER_PARENT_NODES_H

#include "engines/zookeeper/zk_request.h"

/* To be called in a step that creates a node, before it: send creates for the
 * node at the first ${bytes} of the queue's path and those above it, if they
 * were found missing.  False, with the request failed, for lack of memory. */
bool hf_zk_engine_create_parents(struct hf_zk_engine *zk,
                                 struct hf_zk_engine_request *req,
                                 size_t bytes);

/* The create was answered.  True if the step must be repeated with its
 * parents. */
bool hf_zk_engine_retry_with_parents(struct hf_zk_engine *zk,
                                     struct hf_zk_engine_request *req);

/* The create failed and is not repeated: fail the request with the error of
 * the node, or with what kept a parent from being created. */
void hf_zk_engine_fail_create(struct hf_zk_engine *zk,
                              struct hf_zk_engine_request *req,
                              const char *what, const char *path);

/* The last ticket of a queue, with the number ${sequence}, may be about to go:
 * send a delete of the queue's node behind that, if its counter is high. */
void hf_zk_engine_delete_parent(struct hf_zk_engine *zk,
                                struct hf_zk_engine_request *req,
                                int32_t sequence);

/* ------------------------------------------------------- right to delete -- */

/*
 * The right to delete tickets, tried by use.
 *
 * In ZooKeeper the right to delete a node is a right on its parent.  A user who
 * may create tickets in a queue and may not delete them would be granted a lock
 * that no release gives back, and the next in line would wait until the session
 * ends.  No access list shows for sure what a session may do, because servers
 * have schemes of their own.
 *
 * So the first ticket that a session puts below a parent is created by a multi
 * whose first operations create another node there and delete it again.
 * Servers carry out all operations of a multi or none: without the right there
 * is no ticket.  That is the same round trip and the same one transaction, and
 * costs one number of the parent's counter.  Nobody sees the other node, since
 * servers answer no read in the middle of a transaction.
 *
 * The parents that took a multi are remembered by a digest of their path, the
 * last ones in a table of fixed size.  If one is overwritten, the right is
 * tried again.
 */

/* How many operations in front of a multi try the right, a create and a delete;
 * and the index of the delete, which the server refuses where the right is
 * missing. */
#define HF_ZK_DELETE_TRIAL 2
#define HF_ZK_DELETE_TRIAL_DELETE 1

/* Has this session deleted a node below ${parent}, a path?  _note() notes that
 * it has, and _forget() that it has to be tried again: there may be another
 * node by now, or another access list. */
bool hf_zk_engine_delete_right_known(const struct hf_zk_engine *zk,
                                     const char *parent);
void hf_zk_engine_delete_right_note(struct hf_zk_engine *zk,
                                    const char *parent);
void hf_zk_engine_delete_right_forget(struct hf_zk_engine *zk,
                                      const char *parent);

/* Forget all rights that were noted, because the session has ended. */
void hf_zk_engine_delete_rights_clear(struct hf_zk_engine *zk);

/* Put the HF_ZK_DELETE_TRIAL operations that try the right in ${queue} at the
 * front of a multi.  The id of the ticket makes the name of the node unique. */
void hf_zk_engine_multi_try_delete(struct hf_zk_engine *zk,
                                   const struct hf_zk_engine_queue *queue,
                                   const struct hf_ticket_id *ticket);

#endif
