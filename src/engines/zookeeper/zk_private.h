/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the engine share this: the client's state, and the function that
 * begins each kind of request.  Each request has a file of its own. */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_PRIVATE_H
#define HF_ENGINES_ZOOKEEPER_ZK_PRIVATE_H

#include "base/engine_host.h"
#include "core/engine.h"
#include "engines/zookeeper/zk_config.h"
#include "engines/zookeeper/zk_own_ticket.h"
#include "engines/zookeeper/zk_queue.h"
#include "engines/zookeeper/zk_watches.h"
#include "zookeeper/zk_calls.h"

#define HF_ZK_PATH_BYTES 4096

struct hf_zk_engine_examination;

/* The nodes below which this session is known to have the right to delete, each
 * as a digest of its path, see parent_nodes.h.  0: an empty entry. */
#define HF_ZK_DELETE_RIGHTS 64
struct hf_zk_engine_delete_rights {
    uint64_t digests[HF_ZK_DELETE_RIGHTS];
};

/* One client of an ensemble: its session, of which zk_engine.c is a listener,
 * and what the engine knows of queues, own tickets and watches. */
struct hf_zk_engine {
    struct hf_zk_engine_config config;
    struct hf_engine_host host;
    struct hf_zk_session session;
    struct hf_zk_listener listener; /* of .session */
    /* The callbacks with which requests wait for room in the session's call
     * window (zookeeper/call_window.h). */
    struct hf_zk_window_callbacks window_callbacks;
    struct hf_request *end; /* HF_REQUEST_END; NULL: not requested */
    struct hf_zk_engine_queues queues;
    struct hf_zk_engine_own_tickets own_tickets;
    struct hf_zk_engine_delete_rights delete_rights; /* of the session */
    struct hf_zk_engine_reports reports; /* log lines written so far */
    struct hf_zk_engine_examination *examinations; /* those that wait for a
                                                      session, see
                                                      zk_examine.h */
    bool lacks_multi_read; /* a server has refused a multiRead */
    /* Requests that hf_zk_engine_forget() may cancel, a list. */
    struct hf_zk_engine_request *cancellable;
    bool containers_unsupported; /* the server knows no containers; parents
                                    are made persistent */
    char path[HF_ZK_PATH_BYTES]; /* the path that was made last, see
                                    hf_zk_engine_child_path() */
};

/* Give ${event} to the core: the answer to a request, or what happened to the
 * session.  .event is hf_client_engine_event() of client/client_engine.c.  The
 * core may call back into the engine. */
static inline void hf_zk_engine_notify(struct hf_zk_engine *zk,
                                       struct hf_event *event)
{
    zk->host.event(zk->host.host, event);
}

/* The node in which the nodes of locks are made: the chroot, or "/" without
 * one. */
static inline const char *hf_zk_engine_root(const struct hf_zk_engine *zk)
{
    return zk->config.url.chroot[0] != '\0' ? zk->config.url.chroot : "/";
}

/* -------------------------------------------------------------- requests -- */

/* Each of these functions begins one kind of request and answers it exactly
 * once, at once or later.  The session must be usable. */

void hf_zk_engine_enqueue(struct hf_zk_engine *zk, struct hf_request *request);
void hf_zk_engine_list_queue(struct hf_zk_engine *zk,
                             struct hf_request *request);
void hf_zk_engine_watch_queue(struct hf_zk_engine *zk,
                              struct hf_request *request);
void hf_zk_engine_remove_ticket(struct hf_zk_engine *zk,
                                struct hf_request *request);
void hf_zk_engine_prove(struct hf_zk_engine *zk, struct hf_request *request);
void hf_zk_engine_watch_ticket(struct hf_zk_engine *zk,
                               struct hf_request *request);
void hf_zk_engine_downgrade_ticket(struct hf_zk_engine *zk,
                                   struct hf_request *request);
void hf_zk_engine_describe_ticket(struct hf_zk_engine *zk,
                                  struct hf_request *request);
void hf_zk_engine_revoke_ticket(struct hf_zk_engine *zk,
                                struct hf_request *request);
void hf_zk_engine_set_flag(struct hf_zk_engine *zk, struct hf_request *request);
void hf_zk_engine_clear_flag(struct hf_zk_engine *zk,
                             struct hf_request *request);
void hf_zk_engine_new_generation(struct hf_zk_engine *zk,
                                 struct hf_request *request);
void hf_zk_engine_clear_generation(struct hf_zk_engine *zk,
                                   struct hf_request *request);
void hf_zk_engine_watch_barrier(struct hf_zk_engine *zk,
                                struct hf_request *request);
void hf_zk_engine_list_detailed(struct hf_zk_engine *zk,
                                struct hf_request *request);
void hf_zk_engine_name_queues(struct hf_zk_engine *zk,
                              struct hf_request *request);
void hf_zk_engine_read_success(struct hf_zk_engine *zk,
                               struct hf_request *request);
void hf_zk_engine_write_success(struct hf_zk_engine *zk,
                                struct hf_request *request);

#endif
