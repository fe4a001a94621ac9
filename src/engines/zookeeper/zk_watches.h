/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What requests wait for at the server: the end of a ticket's node, any change
 * of a barrier or a queue, or the creation of a queue's node.  One watch of the
 * session's set serves all requests that wait for the same, and each of them is
 * notified.
 *
 * For tickets the watch is set by getData, which fails if the node is gone,
 * whereas exists would leave a watch on it until somebody removes it.  Only the
 * deletion of the node is HF_EVENT_GONE.  A change of its data sets the watch
 * again and is looked at, because the owner of the node may be asked to
 * release.  A lease, which has several nodes, is watched at each of them and
 * gone with the first.
 *
 * For queues the watch is set by the getChildren that lists the queue, so each
 * HF_REQUEST_WATCH_QUEUE sends its own.  Any event is HF_EVENT_QUEUE_CHANGED.
 * A queue whose node is missing has no children to watch: behind the list an
 * exists sets a watch for the creation of the node.  If it finds the node, that
 * is a change.  The server is asked to remove this watch when no request waits
 * for it any more.  For barriers it is getData, whose event comes when the node
 * is deleted or its data change.
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

/* A read that is sent with another request sets a watch, too.  Call _ask_...()
 * first, which returns the watch, NULL for lack of memory; pass
 * hf_zk_engine_watches_flag() to the function that sends the read, and nothing
 * else in between; and call hf_zk_engine_watches_read() when it was answered,
 * with ${exists} if the answer says that the node is there.  The watch stays
 * valid until then; keep it in .watch of the request.
 *
 * A persistent watch of others at the same path may serve it, too:
 * zookeeper/watch_set.h says then what flag the read must carry. */
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

/* HF_REQUEST_WATCH_QUEUE: ${watch} was asked for with the read of the queue, or
 * of its barrier node, that was just answered.  Any event from now on counts as
 * a change.  False for lack of memory.  hf_zk_engine_watches_read() follows. */
bool hf_zk_engine_watches_join_queue(struct hf_zk_engine_watch *watch,
                                     struct hf_request *request);

/* The same for a queue that has no node, says that read.  Its watch is set when
 * the list has been reported. */
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

/* Set ${version} to that of the node's data as last read by a watch.  All
 * requests that wait have been notified of a revoke request in that version.
 * False if no request waits, or the version is not known yet. */
bool hf_zk_engine_watches_version(const struct hf_zk_engine *zk,
                                  const char *path, int32_t *version);

/* Set ${revoked} and ${version} to what a watch on ${path}, with or without
 * waiting requests, has read of the node's data.  False if no watch is set.
 * The data may have changed since; ${version} then is out of date. */
bool hf_zk_engine_watches_data(const struct hf_zk_engine *zk, const char *path,
                               bool *revoked, int32_t *version);

/* Do ${data} ask the owner of the node to release? */
bool hf_zk_engine_is_revoke_data(struct hf_jute_piece data);

/* A new connection resumes the session, and the session has set the watches
 * again as of the last transaction seen.  Does what else is necessary. */
void hf_zk_engine_watches_resumed(struct hf_zk_engine *zk);

/* Forget all watches and waiters; no request is answered. */
void hf_zk_engine_watches_clear(struct hf_zk_engine *zk);

#endif
