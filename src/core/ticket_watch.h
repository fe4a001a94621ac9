/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watches of one ticket of ours: which tickets it wants to see the end of,
 * and the requests for that; and the watch of its queue, which is the list of
 * the queue and the event that it has changed since.  The latter is for leases
 * and participants of a double barrier, because no single ticket blocks them,
 * and for a ticket that is kept, which goes when another one comes.
 */
#ifndef HF_CORE_TICKET_WATCH_H
#define HF_CORE_TICKET_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/engine.h"
#include "core/ticket.h"

/* ----------------------------------------------------------- of tickets -- */

/* At most three tickets are watched at once: the two nearest that block, and
 * the ticket itself.  A watch that is being taken back keeps its slot until the
 * engine has returned from the UNWATCH, and a new watch waits for that if no
 * other slot is free. */
#define HF_WATCHED_MAX 3
#define HF_TICKET_WATCHES_MAX HF_WATCHED_MAX

struct hf_own_ticket;

enum hf_ticket_watch_state {
    HF_TICKET_WATCH_ASKED,  /* .request.busy until it was answered WATCHING */
    HF_TICKET_WATCH_ENDING, /* an UNWATCH is on its way to the engine */
};

struct hf_ticket_watch {
    enum hf_ticket_watch_state state;
    struct hf_request request;
};

/* The ticket to watch.  A read ticket that was a write ticket counts as
 * another one, because the end of the write ticket is not its end. */
struct hf_watched_ticket {
    struct hf_ticket_id id;
    enum hf_ticket_kind kind;
};

/* Zeroed: nothing is watched.  Each watch is allocated when it is requested and
 * freed with its slot, because most holders watch nothing. */
struct hf_ticket_watches {
    struct hf_ticket_watch *slots[HF_TICKET_WATCHES_MAX]; /* NULL: empty */
};

/* Have ${ticket} watch the ${count} tickets ${wanted} and no others: take back
 * watches that are not wanted and, if ${may_ask}, request those that are
 * missing.  False if there is no memory for one, which is then not requested.
 */
bool hf_ticket_watches_update(struct hf_own_ticket *ticket,
                              struct hf_effect_queue *effects,
                              const struct hf_watched_ticket *wanted,
                              size_t count, bool may_ask);

/* ${request} has ended (GONE, FAILED), and is freed.  False if it was being
 * taken back, so that its end has no meaning. */
bool hf_ticket_watches_end(struct hf_ticket_watches *watches,
                           struct hf_effect_queue *effects,
                           struct hf_request *request);

/* Is ${request}, which goes on, still wanted? */
bool hf_ticket_watches_is_wanted(struct hf_ticket_watches *watches,
                                 const struct hf_request *request);

/* The engine has returned from the UNWATCH of ${request}, which is freed. */
void hf_ticket_watches_unwatched(struct hf_ticket_watches *watches,
                                 struct hf_request *request);

/* The session is over, and with it every watch, without an event. */
void hf_ticket_watches_clear(struct hf_ticket_watches *watches,
                             struct hf_effect_queue *effects);

/* Free all slots: the core is no longer used, or they are empty. */
void hf_ticket_watches_free(struct hf_ticket_watches *watches);

/* Is every slot empty, with no UNWATCH on its way? */
bool hf_ticket_watches_idle(const struct hf_ticket_watches *watches);

/* Has the engine answered WATCHING for the ticket ${id}, so that its end will
 * be reported? */
bool hf_ticket_watches_is_set(const struct hf_ticket_watches *watches,
                              const struct hf_ticket_id *id);

/* Is any watch requested and not taken back? */
bool hf_ticket_watches_any(const struct hf_ticket_watches *watches);

/* --------------------------------------------------------- of the queue -- */

enum hf_ticket_queue_watch_state {
    HF_TICKET_QUEUE_WATCH_NONE,
    HF_TICKET_QUEUE_WATCH_ASKED,    /* the list is under way */
    HF_TICKET_QUEUE_WATCH_WATCHING, /* listed, and not changed since */
    HF_TICKET_QUEUE_WATCH_ENDING,   /* an UNWATCH is on its way to the engine */
};

struct hf_ticket_queue_watch {
    enum hf_ticket_queue_watch_state state;
    uint64_t at_ms; /* CLOCK_BOOTTIME; not requested before */
    uint32_t tries; /* of the WATCH_QUEUE, that have failed */
    struct hf_request request;
};

/* Allocate the watch of ${ticket}, which frees it with hf_free().  NULL if
 * there is no memory. */
struct hf_ticket_queue_watch *
hf_ticket_queue_watch_new(struct hf_own_ticket *ticket);

/* Request the WATCH_QUEUE, if ${may_ask} and there is none. */
void hf_ticket_queue_watch_start(struct hf_ticket_queue_watch *watch,
                                 struct hf_effect_queue *effects, bool may_ask);

/* It is not needed any more: take it back. */
void hf_ticket_queue_watch_stop(struct hf_ticket_queue_watch *watch,
                                struct hf_effect_queue *effects);

/* LISTED.  False if the watch was taken back meanwhile: the list crossed the
 * UNWATCH. */
bool hf_ticket_queue_watch_listed(struct hf_ticket_queue_watch *watch);

/* QUEUE_CHANGED or FAILED: there is no watch any more. */
void hf_ticket_queue_watch_ended(struct hf_ticket_queue_watch *watch,
                                 struct hf_effect_queue *effects);

/* The engine has returned from the UNWATCH. */
void hf_ticket_queue_watch_unwatched(struct hf_ticket_queue_watch *watch);

/* The session is over, and with it every watch, without an event. */
void hf_ticket_queue_watch_clear(struct hf_ticket_queue_watch *watch,
                                 struct hf_effect_queue *effects);

#endif
