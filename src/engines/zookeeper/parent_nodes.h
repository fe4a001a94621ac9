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

/* To be called in a step that creates a node, before that create is sent.  If
 * parents were found missing, send creates for the node at the first ${bytes}
 * of the queue's path and for those above it.  False for lack of memory; the
 * request has then been failed. */
bool hf_zk_engine_create_parents(struct hf_zk_engine *zk,
                                 struct hf_zk_engine_request *req,
                                 size_t bytes);

/* To be called when the create was answered.  True if the caller must repeat
 * the step, so that the parents are created, too. */
bool hf_zk_engine_retry_with_parents(struct hf_zk_engine *zk,
                                     struct hf_zk_engine_request *req);

/* To be called when the create failed and is not repeated: fail the request
 * with the error of the node, or with the error of a parent that could not be
 * created.  The text says that we cannot ${what} ${path}. */
void hf_zk_engine_fail_create(struct hf_zk_engine *zk,
                              struct hf_zk_engine_request *req,
                              const char *what, const char *path);

/* To be called when the delete of the ticket with the number ${sequence} was
 * sent.  If the number is high, send a delete of the queue's node, too, so that
 * its counter begins anew.  The server refuses it while there are other
 * tickets. */
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
 * Parents below which such a multi succeeded are remembered by a digest of
 * their path, in a table of fixed size.  If a parent's entry is overwritten,
 * the right is tried again.
 */

/* How many operations in front of a multi try the right, a create and a delete;
 * and the index of the delete, which the server refuses where the right is
 * missing. */
#define HF_ZK_DELETE_TRIAL 2
#define HF_ZK_DELETE_TRIAL_DELETE 1

/* Is it known that this session can delete nodes below the path ${parent}?
 * hf_zk_engine_delete_right_note() notes it.
 * hf_zk_engine_delete_right_forget() forgets it, so that the right is tried
 * again, because the node or its access list may have been replaced. */
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
