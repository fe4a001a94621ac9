/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests that wait for an event: HF_REQUEST_WATCH for a ticket, and
 * HF_REQUEST_WATCH_QUEUE for a queue or the flag of a barrier.
 *
 * Each has a watch of the session (etcd/watches.h) that begins at the revision
 * after the one at which the ticket or the queue was read.  So nothing is
 * missed in between.  The request is answered at once, without a call if a list
 * has shown the ticket.
 *
 * The end of a watch says nothing about a key.  If the revision is compacted,
 * the key of a ticket is read, and a queue counts as changed.  If the server
 * refuses a watch, because rights were taken away, the watch is added again on
 * the next connection.
 */
#ifndef HF_ENGINES_ETCD_WATCHES_H
#define HF_ENGINES_ETCD_WATCHES_H

#include "core/evicted_by.h"
#include "engines/etcd/etcd_request.h"
#include "engines/etcd/queue_change.h"
#include "etcd/watches.h"

/* The state of such a request. */
enum hf_etcd_engine_watch_state {
    HF_ETCD_WATCH_READING,  /* what it watches is being read; it is not
                               answered yet */
    HF_ETCD_WATCH_WATCHING, /* it was answered, and its watch is in the
                               session */
    HF_ETCD_WATCH_CHECKING, /* the key is being read, because of a compaction */
    HF_ETCD_WATCH_REFUSED,  /* the watch was refused; it is added on the next
                               connection */
};

struct hf_etcd_engine_watch {
    struct hf_etcd_engine_request base;
    struct hf_etcd_watch watch;
    unsigned state;                    /* enum hf_etcd_engine_watch_state */
    bool asked;                        /* REVOKED must be reported */
    struct hf_etcd_engine_watch *next; /* list of all watches of the engine */
    struct hf_etcd_engine_watch *previous;
    struct hf_etcd_engine_shown shown; /* WATCH_QUEUE, WATCHING: what its
                                          list has shown */
    char *range_end;  /* WATCH_QUEUE, WATCHING: the end of the range of its
                         keys */
    char *evicted_by; /* by whom the ticket is being evicted; NULL: not known */
};

/* Make the state of ${request}, which is READING.  Returns NULL if that fails;
 * then the request has been failed. */
struct hf_etcd_engine_watch *
hf_etcd_engine_watch_new(struct hf_etcd_engine *engine,
                         struct hf_request *request);

struct hf_etcd_engine_watch *
hf_etcd_engine_watch_of(struct hf_etcd_engine_request *req);

/* Watch from ${revision} on.  The caller has set the key and the functions of
 * .watch.  Returns false if there are too many watches; then the request has
 * been failed. */
bool hf_etcd_engine_watch_start(struct hf_etcd_engine_watch *watch,
                                int64_t revision);

/* Report GONE or QUEUE_CHANGED with ${text}, which may be NULL, and end
 * ${watch}. */
void hf_etcd_engine_watch_end(struct hf_etcd_engine_watch *watch,
                              enum hf_event_kind kind, const char *text);

/* The callback .refused of .watch. */
void hf_etcd_engine_watch_refused(struct hf_etcd_watch *watch,
                                  enum hf_grpc_status status, const char *text);

/* Report REVOKED to all watches of our ticket ${id}. */
void hf_etcd_engine_watches_revoked(struct hf_etcd_engine *engine,
                                    const struct hf_ticket_id *id);

/* Report REVOKED to all watches with .asked set. */
void hf_etcd_engine_watches_report(struct hf_etcd_engine *engine);

/* There is a connection: add the watches again that were refused. */
void hf_etcd_engine_watches_resume(struct hf_etcd_engine *engine);

/* Free all watches, because the session has ended. */
void hf_etcd_engine_watches_clear(struct hf_etcd_engine *engine);

#endif
