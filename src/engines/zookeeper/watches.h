/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches.  A server keeps one per path and connection and fires it once,
 * whoever asked; so they are counted here, by path, and fanned out.
 *
 * They are set with getData, which refuses a node that is gone, where exists
 * would leave a watch on it for ever.  Only the deletion of the node is GONE; a
 * change of its data sets the watch anew, and is looked at: who owns the node
 * may be asked to let go.
 */
#ifndef HF_ENGINES_ZOOKEEPER_WATCHES_H
#define HF_ENGINES_ZOOKEEPER_WATCHES_H

#include "core/engine.h"
#include "engines/zookeeper/wire.h"

#define HF_ZK_WATCH_BUCKETS 256

/* What asks the owner of a node to let go: data that is this and no more, as
 * Curator's Revoker writes it. */
#define HF_ZK_REVOKE "__REVOKE__"

struct hf_zk_watch;

struct hf_zk_watches {
    struct hf_zk_watch *buckets[HF_ZK_WATCH_BUCKETS];
    size_t count;
};

/* HF_REQUEST_WATCH: on the node at ${path}. */
void hf_zk_watches_add(struct hf_zk *zk, struct hf_request *request,
                       const char *path);

/* As hf_engine_ops.forget. */
void hf_zk_watches_forget(struct hf_zk *zk, struct hf_request *request);

/* A getData that set a watch on ${path} has been answered with ${data}, though
 * nobody waits for it yet. */
void hf_zk_watches_note(struct hf_zk *zk, const char *path,
                        struct hf_jute_piece data);

/* The server tells of ${path}. */
void hf_zk_watches_fired(struct hf_zk *zk, enum hf_zk_event_type type,
                         const char *path, size_t bytes);

/* A new connection carries the old session: set all that are waited for
 * again, as of what we had seen when the old one ended. */
void hf_zk_watches_resume(struct hf_zk *zk);

/* Forget all, in silence. */
void hf_zk_watches_clear(struct hf_zk_watches *watches);

#endif
