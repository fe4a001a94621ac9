/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests that wait: HF_REQUEST_WATCH for a ticket, HF_REQUEST_WATCH_QUEUE
 * for a queue or the flag of a barrier.
 *
 * Each has a watch of the session (etcd/watches.h), from the revision after the
 * one in which its ticket or its queue was read.  Nothing is missed in between,
 * so the request is answered at once, without a call if a list has shown the
 * ticket.
 *
 * The end of a watch says nothing about a key.  If its revision is compacted,
 * the key of a ticket is read, and a queue counts as changed.  If the server
 * refuses a watch, because rights were taken away, it is set again on the next
 * connection.
 */
#ifndef HF_ENGINES_ETCD_WATCHES_H
#define HF_ENGINES_ETCD_WATCHES_H

#include "core/evicted_by.h"
#include "engines/etcd/etcd_request.h"
#include "engines/etcd/queue_change.h"
#include "etcd/watches.h"

/* What a request that waits is doing. */
enum hf_etcd_engine_watch_state {
    HF_ETCD_WATCH_READING,  /* it is not answered yet */
    HF_ETCD_WATCH_WATCHING, /* it was answered, and is watched */
    HF_ETCD_WATCH_CHECKING, /* the key is read, because of a compaction */
    HF_ETCD_WATCH_REFUSED,  /* until the next connection */
};

struct hf_etcd_engine_watch {
    struct hf_etcd_engine_request base;
    struct hf_etcd_watch watch;
    unsigned state;                    /* enum hf_etcd_engine_watch_state */
    bool asked;                        /* REVOKED is due */
    struct hf_etcd_engine_watch *next; /* of the engine's */
    struct hf_etcd_engine_watch *previous;
    struct hf_etcd_engine_shown shown; /* WATCH_QUEUE, WATCHING: by its list */
    char *range_end; /* WATCH_QUEUE, once it is WATCHING: the end of its keys */
    char *evicted_by; /* a ticket that is being removed: by whom; NULL: not
                         known */
};

/* The state of ${request}, which is READING.  NULL: the request has been
 * failed. */
struct hf_etcd_engine_watch *
hf_etcd_engine_watch_new(struct hf_etcd_engine *engine,
                         struct hf_request *request);

struct hf_etcd_engine_watch *
hf_etcd_engine_watch_of(struct hf_etcd_engine_request *req);

/* Watch from ${revision} on; the caller has set the key and the functions of
 * .watch.  False if there are too many; the request has been failed then. */
bool hf_etcd_engine_watch_start(struct hf_etcd_engine_watch *watch,
                                int64_t revision);

/* Report GONE or QUEUE_CHANGED, with ${text} or NULL, and end ${watch}. */
void hf_etcd_engine_watch_end(struct hf_etcd_engine_watch *watch,
                              enum hf_event_kind kind, const char *text);

/* .refused of .watch. */
void hf_etcd_engine_watch_refused(struct hf_etcd_watch *watch,
                                  enum hf_grpc_status status, const char *text);

/* Report REVOKED for all watches of our ticket ${id}. */
void hf_etcd_engine_watches_revoked(struct hf_etcd_engine *engine,
                                    const struct hf_ticket_id *id);

/* Report REVOKED where it is due. */
void hf_etcd_engine_watches_report(struct hf_etcd_engine *engine);

/* There is a connection: set those again that were refused. */
void hf_etcd_engine_watches_resume(struct hf_etcd_engine *engine);

/* Forget all that were answered, because the session has ended. */
void hf_etcd_engine_watches_clear(struct hf_etcd_engine *engine);

#endif
