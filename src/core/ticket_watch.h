/* SPDX-License-Identifier: Apache-2.0 */
/* The watches of one ticket of ours: which tickets it wants to hear the end of,
 * and the requests that see to it. */
#ifndef HF_CORE_TICKET_WATCH_H
#define HF_CORE_TICKET_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "core/effect.h"
#include "core/engine.h"
#include "core/ticket.h"

/* At most three tickets are watched at once: the one before, the one beyond
 * and one's own.  One that is being taken back has its slot until the engine
 * has returned from the FORGET, and a new watch waits for that where no other
 * slot is free. */
#define HF_WATCHED_MAX 3
#define HF_TICKET_WATCHES_MAX HF_WATCHED_MAX

struct hf_own_ticket;

enum hf_ticket_watch_state {
    HF_TICKET_WATCH_ASKED,  /* .request.busy until it was answered WATCHING */
    HF_TICKET_WATCH_ENDING, /* a FORGET is on its way to the engine */
};

struct hf_ticket_watch {
    enum hf_ticket_watch_state state;
    struct hf_request request;
    struct hf_effect effect;
};

/* What is to be watched.  A ticket that was listed as a read ticket is another
 * one than the write ticket that it was: the end of that is not its end. */
struct hf_watched_ticket {
    struct hf_ticket_id id;
    enum hf_ticket_kind kind;
};

/* Zeroed: nothing is watched.  Each is allocated when it is asked for and freed
 * when its slot is, because most holders watch nothing. */
struct hf_ticket_watches {
    struct hf_ticket_watch *slots[HF_TICKET_WATCHES_MAX]; /* NULL: free */
};

/* Have ${ticket} watch the ${count} tickets ${wanted} and no others: take
 * back those that are not wanted and, if ${may_ask}, ask for those that are
 * missing.  False without the memory for one, which is then not asked for. */
bool hf_ticket_watches_update(struct hf_own_ticket *ticket,
                              struct hf_effect_queue *effects,
                              const struct hf_watched_ticket *wanted,
                              size_t count, bool may_ask);

/* ${request} ended by itself (GONE, FAILED), and is freed.  True unless it was
 * being taken back, and its end means nothing. */
bool hf_ticket_watches_end(struct hf_ticket_watches *watches,
                           struct hf_effect_queue *effects,
                           struct hf_request *request);

/* Is what comes for ${request}, which goes on, still wanted? */
bool hf_ticket_watches_is_wanted(struct hf_ticket_watches *watches,
                                 const struct hf_request *request);

/* The FORGET of ${request}, which is freed, was handed to the engine, which has
 * returned. */
void hf_ticket_watches_unwatched(struct hf_ticket_watches *watches,
                                 struct hf_request *request);

/* The session is over and with it, in silence, every watch. */
void hf_ticket_watches_clear(struct hf_ticket_watches *watches,
                             struct hf_effect_queue *effects);

/* The core is no more, or every slot is free: give the memory back. */
void hf_ticket_watches_free(struct hf_ticket_watches *watches);

/* Is every slot free, with no FORGET on its way? */
bool hf_ticket_watches_idle(const struct hf_ticket_watches *watches);

/* Is the ticket ${id} being watched, so that its end is heard of? */
bool hf_ticket_watches_is_set(const struct hf_ticket_watches *watches,
                              const struct hf_ticket_id *id);

/* Is a watch asked for that the engine knows of or will hear of? */
bool hf_ticket_watches_any(const struct hf_ticket_watches *watches);

#endif
