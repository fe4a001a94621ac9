/* SPDX-License-Identifier: Apache-2.0 */
/* Ticket watches: report that a ticket has gone, or that its owner is asked to
 * release it. */
#ifndef HF_ENGINES_LEASED_TICKET_WATCHES_H
#define HF_ENGINES_LEASED_TICKET_WATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine.h"
#include "engines/leased/queue_table.h"
#include "engines/leased/store.h"

struct hf_leased;
struct hf_leased_call;

/* A watch of one ticket, from HF_REQUEST_WATCH to GONE or forget. */
struct hf_leased_watch {
    struct hf_tree_node by_ticket;
    struct hf_request *request;
    struct hf_leased_queue *queue;
    struct hf_ticket_id id;
    uint64_t number; /* serial number, in the order of the requests */
    /* WRITE: GONE is also sent when it became a read ticket. */
    enum hf_ticket_kind kind;
    bool watching;        /* WATCHING was sent */
    uint64_t call_number; /* of the EXISTS that will answer it, or 0 */
    /* how many of the requests to release the ticket were reported */
    uint32_t revoked;
    struct hf_leased_watch *next;
    struct hf_leased_watch **previous_next;
};

/* The order of the watches of a queue: by ticket, and then by number. */
int hf_leased_watch_compare(const void *key, const struct hf_tree_node *node);

/* A watch for ${request}, linked to its queue.  NULL if memory runs out. */
struct hf_leased_watch *hf_leased_watch_new(struct hf_leased *leased,
                                            struct hf_request *request);

/* Send WATCHING. */
void hf_leased_watch_notify_watching(struct hf_leased *leased,
                                     struct hf_leased_watch *watch);

/* Send GONE, and end the watch.  ${why} and ${first} as for
 * hf_leased_ticket_gone(). */
void hf_leased_watch_notify_gone(struct hf_leased *leased,
                                 struct hf_leased_watch *watch, const char *why,
                                 const struct hf_ticket_id *first);

/* End the watch without an event. */
void hf_leased_watch_forget(struct hf_leased *leased,
                            struct hf_leased_watch *watch);

/* ${kind} 0: the ticket ${id} has gone from the queue ${queue_name}; send GONE
 * to all its watches.  Else the ticket is not of ${kind} any more; send GONE
 * to its watches of ${kind}. */
void hf_leased_watches_gone(struct hf_leased *leased, const char *queue_name,
                            const struct hf_ticket_id *id,
                            enum hf_ticket_kind kind);

/* The ticket is not in the queue any more: update our own ticket, and notify
 * those that watch it.  ${why} is the reason, which becomes a part of a
 * message; NULL: it is not known.  ${first} is the ticket of ours that is the
 * first of the queue since; NULL or all zero: not known. */
void hf_leased_ticket_gone(struct hf_leased *leased, const char *queue_name,
                           const struct hf_ticket_id *id, const char *why,
                           const struct hf_ticket_id *first);

/* The ${why} for a ticket that an answer lacks, if no notice gave the
 * reason. */
#define HF_LEASED_MISSING                                                      \
    "the server does not have its ticket any more: it has forgotten it, in a " \
    "restart or a failover, or somebody evicted it while no notice could come"

/* Does the owner watch ${ticket}?  Watches of waiters behind it do not count,
 * because their events do not reach the owner. */
bool hf_leased_owner_watches(const struct hf_leased_ticket *ticket);

/* The ticket ${id} is there and of ${kind}: send WATCHING to the watches that
 * wait for a poll, and GONE to watches of a write ticket if it is a read
 * ticket now. */
void hf_leased_watches_found(struct hf_leased *leased,
                             struct hf_leased_queue *queue,
                             const struct hf_ticket_id *id,
                             enum hf_ticket_kind kind);

/* The owner of our ticket ${id} was asked ${revoked} times in all to release
 * it. */
void hf_leased_watches_revoked(struct hf_leased *leased,
                               const struct hf_ticket_id *id, uint32_t revoked);

/* Send REVOKED to the watches of our ticket that have not reported this request
 * to release yet. */
void hf_leased_watches_notify_revoked(struct hf_leased *leased,
                                      struct hf_leased_ticket *ticket);

/* The poll ${call} has failed, so the watches that waited for it fail. */
void hf_leased_watches_fail(struct hf_leased *leased,
                            const struct hf_leased_call *call,
                            const struct hf_store_answer *answer);

/* The session is over: end all watches without events. */
void hf_leased_watches_clear(struct hf_leased *leased);

#endif
