/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What requests wait for at the server: the end of a ticket's node, any change
 * of a barrier or a queue, or the creation of a queue's node.  One watch of the
 * session's set serves all requests that wait for the same, and each of them is
 * notified.
 *
 * For tickets the watch is set by getData, which fails if the node is gone,
 * whereas exists would leave a watch on it until somebody removes it.  Only the
 * deletion of the node is HF_EVENT_GONE.  If the data of the node change, they
 * are read again, because they may ask the owner of the node to release; that
 * read sets the watch again.  A lease, which has several nodes, is watched at
 * each of them and gone with the first.
 *
 * For queues the watch is set by the getChildren that lists the queue, so each
 * HF_REQUEST_WATCH_QUEUE sends its own.  Any event is HF_EVENT_QUEUE_CHANGED.
 * A queue whose node is missing has no children to watch: behind the list an
 * exists sets a watch for the creation of the node.  If the exists finds the
 * node, that counts as a change of the queue.  The server is asked to remove
 * this watch when no request waits for it any more.  For barriers the watch is
 * set by getData, so its event comes when the node is deleted or its data
 * change.
 */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_WATCHES_H
#define HF_ENGINES_ZOOKEEPER_ZK_WATCHES_H

#include "core/engine.h"
#include "zookeeper/zk_wire.h"

struct hf_zk_engine;

struct hf_zk_engine_queue;
struct hf_zk_engine_request;
struct hf_zk_engine_watch;

/* The data that ask the owner of a node to release, as Curator's Revoker
 * writes them. */
#define HF_ZK_REVOKE "__REVOKE__"

/* HF_REQUEST_WATCH: call _join() for each node of the ticket, then _start()
 * once.  False for lack of memory; the request has then been failed.  _start()
 * reports HF_EVENT_WATCHING when all nodes are watched. */
bool hf_zk_engine_watches_join(struct hf_zk_engine *zk,
                               struct hf_request *request, const char *path);
void hf_zk_engine_watches_start(struct hf_zk_engine *zk,
                                struct hf_request *request);

/* Let a read that a request sends for its own purpose set a watch, too.  Call
 * hf_zk_engine_watches_ask_node() or hf_zk_engine_watches_ask_queue() first; it
 * returns the watch, or NULL for lack of memory.  Pass the result of
 * hf_zk_engine_watches_flag() as the watch flag of the read, and send the read
 * at once.  When the read is answered, call hf_zk_engine_watches_read(), with
 * ${exists} if the answer shows that the node exists.  The watch stays valid
 * until then; keep it in .watch of the request.
 *
 * The flag may be false if a persistent watch of another listener at the same
 * path serves this watch, too: see zookeeper/watch_set.h. */
struct hf_zk_engine_watch *
hf_zk_engine_watches_ask_node(struct hf_zk_engine *zk, const char *path);
struct hf_zk_engine_watch *
hf_zk_engine_watches_ask_queue(struct hf_zk_engine *zk,
                               const struct hf_request *request,
                               struct hf_zk_engine_queue *queue);
bool hf_zk_engine_watches_flag(struct hf_zk_engine *zk,
                               struct hf_zk_engine_watch *watch);
void hf_zk_engine_watches_read(struct hf_zk_engine *zk,
                               struct hf_zk_engine_watch *watch, bool exists);

/* As hf_zk_engine_watches_read(), for a ticket's node that was read: its
 * ${data} were of ${version}.  No request need wait for the watch yet. */
void hf_zk_engine_watches_read_node(struct hf_zk_engine *zk,
                                    struct hf_zk_engine_watch *watch,
                                    struct hf_jute_piece data, int32_t version);

/* Begin HF_REQUEST_WATCH_QUEUE, which can be cancelled: make its watch, and
 * begin its first step, in which a read sets the watch.  ${then} is called when
 * that step ends.  NULL for lack of memory; the request has then been
 * failed. */
struct hf_zk_engine_request *hf_zk_engine_watches_begin(
    struct hf_zk_engine *zk, struct hf_request *request,
    void (*then)(struct hf_zk_engine *zk, struct hf_zk_engine_request *req));

/* Make ${request}, an HF_REQUEST_WATCH_QUEUE, wait for ${watch}.  To be called
 * when the read of the queue or barrier node that sets the watch is answered,
 * before hf_zk_engine_watches_read().  Any event from now on counts as a
 * change.  False for lack of memory. */
bool hf_zk_engine_watches_join_queue(struct hf_zk_engine_watch *watch,
                                     struct hf_request *request);

/* The same, if the read has shown that the queue has no node.  A watch for the
 * creation of the node is set when the list has been reported. */
bool hf_zk_engine_watches_join_missing(struct hf_zk_engine *zk,
                                       struct hf_zk_engine_queue *queue,
                                       struct hf_request *request);

/* Answer an HF_REQUEST_WATCH_QUEUE with ${listed}, and report
 * HF_EVENT_QUEUE_CHANGED after that if the queue has changed since it was
 * read. */
void hf_zk_engine_watches_listed(struct hf_zk_engine *zk,
                                 const struct hf_zk_engine_queue *queue,
                                 struct hf_event *listed);

/* Cancel ${request}, which has joined a watch. */
void hf_zk_engine_watches_cancel(struct hf_zk_engine *zk,
                                 struct hf_request *request);

/* Set ${version} to the version of the node's data that its watch has read
 * last.  If that version was a revoke request, all waiting requests have been
 * notified.  False if no request waits, or the version is not known yet. */
bool hf_zk_engine_watches_version(const struct hf_zk_engine *zk,
                                  const char *path, int32_t *version);

/* Set ${revoked} and ${version} to what a watch on ${path}, with or without
 * waiting requests, has read of the node's data.  False if no watch is set.
 * The data may have changed since; ${version} then is out of date. */
bool hf_zk_engine_watches_data(const struct hf_zk_engine *zk, const char *path,
                               bool *revoked, int32_t *version);

/* Do ${data} ask the owner of the node to release? */
bool hf_zk_engine_is_revoke_data(struct hf_jute_piece data);

/* To be called when a new connection has resumed the session.  The session has
 * set the armed watches again.  This frees the watches that nobody waits for,
 * and sends again the reads that were not answered. */
void hf_zk_engine_watches_resumed(struct hf_zk_engine *zk);

/* Forget all watches and waiters; no request is answered. */
void hf_zk_engine_watches_clear(struct hf_zk_engine *zk);

#endif
