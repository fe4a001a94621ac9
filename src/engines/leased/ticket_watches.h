/* SPDX-License-Identifier: Apache-2.0 */
/* Ticket watches: each sends an event when its ticket has gone, or when the
 * owner of the ticket is asked to release it. */
#ifndef HF_ENGINES_LEASED_TICKET_WATCHES_H
#define HF_ENGINES_LEASED_TICKET_WATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine.h"
#include "engines/leased/queue_table.h"
#include "engines/leased/store.h"

struct hf_leased;
struct hf_leased_call;

/* A watch of one ticket, from HF_REQUEST_WATCH until GONE was sent or the watch
 * is forgotten. */
struct hf_leased_watch {
    struct hf_tree_node by_ticket;
    struct hf_request *request;
    struct hf_leased_queue *queue;
    struct hf_ticket_id id;
    /* serial number of the watch, in the order of the requests */
    uint64_t number;
    /* If WRITE, GONE is also sent when the ticket has become a read ticket. */
    enum hf_ticket_kind kind;
    bool watching; /* WATCHING was sent */
    /* number of the EXISTS call that will answer the request, or 0 */
    uint64_t call_number;
    /* how often the owner was asked to release, as far as this watch has
     * reported */
    uint32_t revoked;
    struct hf_leased_watch *next;
    struct hf_leased_watch **previous_next;
};

/* Compares a key with a watch: by ticket, and then by number. */
int hf_leased_watch_compare(const void *key, const struct hf_tree_node *node);

/* Make a watch for ${request} and link it to its queue.  Returns NULL if memory
 * runs out. */
struct hf_leased_watch *hf_leased_watch_new(struct hf_leased *leased,
                                            struct hf_request *request);

/* Send WATCHING: the ticket is there. */
void hf_leased_watch_notify_watching(struct hf_leased *leased,
                                     struct hf_leased_watch *watch);

/* Send GONE and end the watch.  ${why} and ${first} are as in
 * hf_leased_ticket_gone(). */
void hf_leased_watch_notify_gone(struct hf_leased *leased,
                                 struct hf_leased_watch *watch, const char *why,
                                 const struct hf_ticket_id *first);

/* End the watch without an event. */
void hf_leased_watch_forget(struct hf_leased *leased,
                            struct hf_leased_watch *watch);

/* Send GONE to watches of the ticket ${id} in the queue ${queue_name}.  If
 * ${kind} is 0, the ticket has gone, and all its watches get GONE.  Otherwise
 * the ticket is no longer of ${kind}, and its watches of that kind get GONE. */
void hf_leased_watches_gone(struct hf_leased *leased, const char *queue_name,
                            const struct hf_ticket_id *id,
                            enum hf_ticket_kind kind);

/* Handle that the ticket ${id} has gone from its queue: update our own ticket,
 * and send GONE to its watches.  ${why} is the reason, which becomes a part of
 * a message; NULL: not known.  ${first} is the ticket of ours that is now the
 * first of the queue; NULL or all zero: not known. */
void hf_leased_ticket_gone(struct hf_leased *leased, const char *queue_name,
                           const struct hf_ticket_id *id, const char *why,
                           const struct hf_ticket_id *first);

/* The ${why} for a ticket that an answer lacks, if no notice gave a reason. */
#define HF_LEASED_MISSING                                                      \
    "the server does not have its ticket any more: it has forgotten it, in a " \
    "restart or a failover, or somebody evicted it while no notice could come"

/* Returns whether the owner watches ${ticket}.  Watches of waiters behind the
 * ticket do not count, because the owner does not get their events. */
bool hf_leased_owner_watches(const struct hf_leased_ticket *ticket);

/* Handle that the ticket ${id} was found, with ${kind}.  Its watches that wait
 * for a poll get WATCHING.  If it is a read ticket now, watches of it as a
 * write ticket get GONE. */
void hf_leased_watches_found(struct hf_leased *leased,
                             struct hf_leased_queue *queue,
                             const struct hf_ticket_id *id,
                             enum hf_ticket_kind kind);

/* Handle that the owner of our ticket ${id} was asked to release it, ${revoked}
 * times in all. */
void hf_leased_watches_revoked(struct hf_leased *leased,
                               const struct hf_ticket_id *id, uint32_t revoked);

/* Send REVOKED to the watches of ${ticket} that have not reported the last
 * request to release it. */
void hf_leased_watches_notify_revoked(struct hf_leased *leased,
                                      struct hf_leased_ticket *ticket);

/* Fail the watches that wait for the poll ${call}, which has failed. */
void hf_leased_watches_fail(struct hf_leased *leased,
                            const struct hf_leased_call *call,
                            const struct hf_store_answer *answer);

/* End all watches without events, because the session is over. */
void hf_leased_watches_clear(struct hf_leased *leased);

#endif
