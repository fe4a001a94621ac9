/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What requests wait for at the server: the end of a node, or any change of a
 * barrier or a queue.  One watch of the session's set serves all that wait for
 * the same, and each of them hears of it.
 *
 * For tickets they are set with getData, which refuses a node that is gone,
 * where exists would leave a watch on it for ever.  Only the deletion of the
 * node is GONE; a change of its data sets the watch anew, and is looked at: who
 * owns the node may be asked to let go.  A ticket of several nodes, a lease, is
 * watched at each of them and gone with the first.
 *
 * For queues they are set with the getChildren that tells what a queue is like:
 * each WATCH_QUEUE has asked itself.  Any event is QUEUE_CHANGED.  For barriers
 * it is the same with getData, whose event comes when the node is gone or its
 * data change.
 */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_WATCHES_H
#define HF_ENGINES_ZOOKEEPER_ZK_WATCHES_H

#include "core/engine.h"
#include "zookeeper/zk_wire.h"

struct hf_zk;

struct hf_zk_queue;

/* What asks the owner of a node to let go: data that is this and no more, as
 * Curator's Revoker writes it. */
#define HF_ZK_REVOKE "__REVOKE__"

/* HF_REQUEST_WATCH: join for each node of the ticket, then start.  False, and
 * the request has been answered FAILED, for lack of memory. */
bool hf_zk_watches_join(struct hf_zk *zk, struct hf_request *request,
                        const char *path);
void hf_zk_watches_start(struct hf_zk *zk, struct hf_request *request);

/* HF_REQUEST_WATCH_QUEUE: ${queue}, or its barrier node, has been read, and is
 * watched if ${there} is such a node: what comes after this is a change.  False
 * for lack of memory. */
bool hf_zk_watches_join_queue(struct hf_zk *zk, struct hf_request *request,
                              struct hf_zk_queue *queue, bool exists);

/* Notify the core of ${listed}, the answer to such a WATCH_QUEUE, and then of
 * QUEUE_CHANGED if there has been a change. */
void hf_zk_watches_listed(struct hf_zk *zk, const struct hf_zk_queue *queue,
                          struct hf_event *listed);

/* As hf_engine_ops.forget; the request has joined, or looks. */
void hf_zk_watches_forget(struct hf_zk *zk, struct hf_request *request);

/* A getData that set a watch on ${path} has been answered with ${data}, of
 * ${version}, though nobody waits for it yet. */
void hf_zk_watches_add_armed(struct hf_zk *zk, const char *path,
                             struct hf_jute_piece data, int32_t version);

/* The version of the data of the node at ${path}, of which those who watch it
 * have been notified if it asks them to let go; false while it is not known. */
bool hf_zk_watches_version(const struct hf_zk *zk, const char *path,
                           int32_t *version);

/* What a watch that is set on ${path}, whether or not anybody waits for it, has
 * read of the node's data; false where none is set.  The data may have changed
 * since then: the version shows it. */
bool hf_zk_watches_data(const struct hf_zk *zk, const char *path, bool *revoked,
                        int32_t *version);

/* Do ${data} ask the owner of the node to let go? */
bool hf_zk_is_revoke_data(struct hf_jute_piece data);

/* A new connection carries the old session, and the session has set again what
 * is waited for, as of what we had seen when the old one ended: see to the
 * rest. */
void hf_zk_watches_resumed(struct hf_zk *zk);

/* Forget all, in silence. */
void hf_zk_watches_clear(struct hf_zk *zk);

#endif
