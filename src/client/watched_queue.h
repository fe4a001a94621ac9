/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue that is listed again and again: what is known of each ticket, and
 * what has happened between two lists.
 *
 * The text of a ticket is read once, some of them with each list, from the head
 * of the queue on.  A ticket is reported when its text is there.
 *
 * A list is taken in as a whole; what has happened is then handed out one event
 * at a time, so that the caller may stop after each.  Events are not copied:
 * they are marks at the tickets.
 */
#ifndef HF_CLIENT_WATCHED_QUEUE_H
#define HF_CLIENT_WATCHED_QUEUE_H

#include <holdfast/queue_watch.h>

#include "core/ticket.h"

/* Texts that are read with one list: enough for what comes and goes, and little
 * enough to come in one answer. */
#define HF_WATCHED_TEXTS 1000

/* The .index of a ticket that no list has shown before the one at hand. */
#define HF_SEEN_TICKET_NEW SIZE_MAX

/* A ticket that is in the queue, or is gone and was not reported as gone. */
struct hf_seen_ticket {
    struct hf_ticket_view view; /* its texts are below */
    char id[HF_TICKET_ID_TEXT_BYTES];
    char layout[32];
    char *owner;          /* NULL: not read yet, .view has "" */
    uint64_t began_at_ms; /* CLOCK_BOOTTIME; HF_FOREVER: not known */
    /* The event to report once the text is read; 0: none. */
    enum hf_queue_event_kind unreported;
    bool reported; /* an event was handed out */
    bool listed;   /* it is in the list at hand */
    size_t index;  /* in .tickets; HF_SEEN_TICKET_NEW: in none yet */
    struct hf_seen_ticket *next_gone;
};

/* All zero at first, but for .texts.  It is a whole queue, or those tickets in
 * it that hold or those that wait. */
struct hf_watched_queue {
    struct hf_seen_ticket **tickets; /* in order */
    size_t count;
    struct hf_seen_ticket **by_id; /* the same, sorted by .id */
    struct hf_text_range texts;    /* to be read with the next list */
    bool was_listed;
    /* The next list brings texts that are missing now. */
    bool reads_on;
    bool restarted; /* the last list began with the first text, in vain */
    /* What was not handed out yet: the tickets that are gone, in order, and
     * those in .tickets from here on. */
    struct hf_seen_ticket *gone;
    size_t next;
    struct hf_seen_ticket *handed_out; /* it is gone, and freed next */
    struct hf_ticket_view view;        /* of the event that was handed out */
};

/* One thing that has happened to a ticket. */
struct hf_watched_change {
    enum hf_queue_event_kind kind; /* THERE to GONE */
    size_t position;               /* from 1; 0: it is gone */
    const struct hf_ticket_view *view;
};

/* Take in the next list, which was made with .texts as it was at ${now_ms} of
 * hf_boottime_ms(): all its tickets or, with ${semaphore}, those of kind
 * HF_KIND_SEMAPHORE.  It takes n + k log n steps for n tickets, of which k have
 * come, gone or moved: about 0.1 microseconds for a ticket that is as it was,
 * and 0.7 for one that has come.  False for lack of memory: then nothing has
 * changed, and what the list shows is found by the next one. */
bool hf_watched_queue_take(struct hf_watched_queue *queue,
                           const struct hf_tickets *tickets, bool semaphore,
                           uint64_t now_ms);

/* Hand out the next change that the lists have shown.  False: there is none.
 * ${change} is valid until the next call. */
bool hf_watched_queue_next(struct hf_watched_queue *queue, uint64_t now_ms,
                           struct hf_watched_change *change);

/* The ticket at ${index}, with its age at ${now_ms}; NULL beyond the last.  Not
 * between a take and the last change. */
const struct hf_ticket_view *
hf_watched_queue_at(const struct hf_watched_queue *queue, size_t index,
                    uint64_t now_ms);

void hf_watched_queue_free(struct hf_watched_queue *queue);

#endif
