/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue that is listed again and again: what is known of each ticket, and
 * what has happened between two lists.
 *
 * The text of a ticket is read once, some of them with each list, from the head
 * of the queue on.  A ticket is reported when its text is there.
 */
#ifndef HF_CLI_WATCH_QUEUE_H
#define HF_CLI_WATCH_QUEUE_H

#include <holdfast/tickets.h>

#include "core/ticket.h"

/* Texts that are read with one list: enough for what comes and goes, and little
 * enough to come in one answer. */
#define HF_WATCH_TEXTS 1000

/* A ticket that is in the queue. */
struct hf_seen_ticket {
    struct hf_ticket_view view; /* its texts are below */
    char id[HF_TICKET_ID_TEXT_BYTES];
    char layout[32];
    char *owner;            /* NULL: not read yet, .view has "" */
    uint64_t began_at_ms;   /* CLOCK_BOOTTIME; HF_FOREVER: not known */
    const char *unreported; /* the event to report once the text is read; NULL:
                               none */
    bool listed;            /* it is in the list at hand */
};

/* All zero at first.  It is a whole queue, or those tickets in it that hold or
 * those that wait. */
struct hf_watched_queue {
    struct hf_seen_ticket **tickets; /* in order */
    size_t count;
    struct hf_seen_ticket **by_id; /* the same, sorted by .id */
    struct hf_text_range texts;    /* to be read with the next list */
    bool was_listed;
};

/* Called for each event: "there" (in the first list), "came", "granted",
 * "changed" (its kind or its permits) or "gone".  ${position}, from 1, is 0 for
 * a ticket that is gone.  ${view} is valid until it returns. */
typedef void hf_watched_report(void *arg, const char *event, size_t position,
                               const struct hf_ticket_view *view);

/* Take in the next list, which was made with .texts as it was: all its tickets
 * or, with ${semaphore}, those of kind HF_KIND_SEMAPHORE.  Then report what has
 * happened.  False for lack of memory: nothing is reported before the next
 * list. */
bool hf_watched_queue_take(struct hf_watched_queue *queue,
                           const struct hf_tickets *tickets, bool semaphore,
                           uint64_t now_ms, hf_watched_report *report,
                           void *arg);

void hf_watched_queue_free(struct hf_watched_queue *queue);

#endif
