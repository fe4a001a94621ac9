/* SPDX-License-Identifier: Apache-2.0 */
/* A call of the store, and on whose behalf: under way, or waiting until fewer
 * are.  What keeps the session, a RENEW, would else be answered behind all that
 * a crowd asks for at once. */
#ifndef HF_ENGINES_LEASED_CALLS_H
#define HF_ENGINES_LEASED_CALLS_H

#include "engines/leased/queue_table.h"
#include "engines/leased/store.h"

struct hf_leased;
struct hf_leased_call;

/* ${answer} is NULL if the link has ended before it came.  The operation is
 * off the list and is freed when this returns. */
typedef void hf_leased_answered_fn(struct hf_leased *leased,
                                   struct hf_leased_call *call,
                                   const struct hf_store_answer *answer);

struct hf_leased_call {
    struct hf_store_call store_call; /* the first member */
    struct hf_request *request;    /* NULL: the session's own, or taken back */
    struct hf_leased_queue *queue; /* NULL: of all */
    hf_leased_answered_fn *answered;
    uint64_t number;     /* in the order in which they were made */
    uint64_t sent_at_ms; /* once the store has it, as is the next one */
    uint64_t deadline_at_ms;
    void *memory; /* what the call points to */
    struct hf_leased_call *previous;
    struct hf_leased_call *next;
};

/* Oldest first. */
struct hf_leased_call_list {
    struct hf_leased_call *first;
    struct hf_leased_call *last;
};

struct hf_leased_calls {
    struct hf_leased_call_list sent; /* the store has them */
    size_t sent_count;
    struct hf_leased_call_list waiting; /* only while a full number is sent */
    uint64_t number;                    /* of the last that was made */
};

/* So many are sent before the first is answered, RENEW and GOODBYE apart: what
 * fills a link, and is answered well within the patience for one call. */
#define HF_LEASED_CALLS_SENT_MAX 32

/* For a call about ${queue} (a name, NULL: none) on behalf of ${request} (NULL:
 * nobody).  NULL for lack of memory. */
struct hf_leased_call *hf_leased_call_new(struct hf_leased *leased,
                                          enum hf_store_call_kind kind,
                                          const char *queue,
                                          struct hf_request *request);

/* Hand its call to the store, as soon as there is room; a RENEW or GOODBYE at
 * once, past those that wait. */
void hf_leased_call_begin(struct hf_leased *leased, struct hf_leased_call *call,
                          hf_leased_answered_fn *answered);

/* It has been answered: tell, and free it. */
void hf_leased_call_end(struct hf_leased *leased, struct hf_leased_call *call,
                        const struct hf_store_answer *answer);

/* Free one that was not begun. */
void hf_leased_call_free(struct hf_leased *leased, struct hf_leased_call *call);

/* The link has ended: end all.  To those that were not sent nothing has
 * happened: they are answered so. */
void hf_leased_calls_abort(struct hf_leased *leased);

/* Is such a call about the ticket called ${id} sent, or waiting? */
bool hf_leased_calls_has(const struct hf_leased *leased,
                         enum hf_store_call_kind kind,
                         const struct hf_ticket_id *id);

/* The deadline of the oldest that was sent, HF_FOREVER if there is none. */
uint64_t hf_leased_calls_deadline_ms(const struct hf_leased *leased);

#endif
