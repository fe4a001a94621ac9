/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the store that are under way, each with the request that it is
 * made for.  At most HF_LEASED_CALLS_SENT_MAX are sent at a time and the others
 * wait their turn.  RENEW and CLOSE_SESSION do not wait, because a RENEW behind
 * the calls of many waiters could come too late for the session. */
#ifndef HF_ENGINES_LEASED_CALLS_H
#define HF_ENGINES_LEASED_CALLS_H

#include "engines/leased/queue_table.h"
#include "engines/leased/store.h"

struct hf_leased;
struct hf_leased_call;

/* Called once.  ${answer} is NULL if the link ended before the answer came; a
 * call that was never sent is answered RETRY then.  The call is unlinked
 * before and freed after this. */
typedef void hf_leased_answered_fn(struct hf_leased *leased,
                                   struct hf_leased_call *call,
                                   const struct hf_store_answer *answer);

struct hf_leased_call {
    struct hf_store_call store_call; /* the store has only this */
    /* NULL: the session's own call, or the request was forgotten */
    struct hf_request *request;
    /* the queue that the call is about; NULL: none, or several */
    struct hf_leased_queue *queue;
    hf_leased_answered_fn *answered;
    uint64_t number; /* serial number, in the order of hf_leased_call_begin() */
    uint64_t sent_at_ms; /* when it was handed to the store */
    /* When its link is given up for lack of an answer. */
    uint64_t deadline_at_ms;
    void *memory; /* what .store_call points to, freed with the call; or NULL */
    struct hf_leased_call *previous;
    struct hf_leased_call *next;
};

/* Oldest first. */
struct hf_leased_call_list {
    struct hf_leased_call *first;
    struct hf_leased_call *last;
};

struct hf_leased_calls {
    struct hf_leased_call_list sent; /* handed to the store */
    size_t sent_count;
    /* wait for room in .sent; while the link is up, empty if there is room */
    struct hf_leased_call_list waiting;
    uint64_t number; /* of the last call that was begun */
    /* What the server's clock showed last, in milliseconds since 1970, and when
     * by our clock. */
    uint64_t server_ms;
    uint64_t server_clock_at_ms;
};

/* A call waits while this many are sent and not answered.  They are enough to
 * fill a link, and few enough that the last one is answered well within the
 * timeout of a call. */
#define HF_LEASED_CALLS_SENT_MAX 32

/* Make a call of ${kind} about ${queue} (a name; NULL: about none) for
 * ${request} (NULL: for none).  The caller fills in the rest of .store_call.
 * NULL if memory runs out. */
struct hf_leased_call *hf_leased_call_new(struct hf_leased *leased,
                                          enum hf_store_call_kind kind,
                                          const char *queue,
                                          struct hf_request *request);

/* Hand the call to the store as soon as there is room; a RENEW or CLOSE_SESSION
 * at once.  ${answered} is called later, never from inside. */
void hf_leased_call_begin(struct hf_leased *leased, struct hf_leased_call *call,
                          hf_leased_answered_fn *answered);

/* The store answered ${call}, or ${answer} is NULL because the link has ended:
 * unlink the call, call .answered, free the call, and send calls that wait. */
void hf_leased_call_end(struct hf_leased *leased, struct hf_leased_call *call,
                        const struct hf_store_answer *answer);

/* Free a call that was not begun. */
void hf_leased_call_free(struct hf_leased *leased, struct hf_leased_call *call);

/* The link has ended: end all calls.  Calls that were sent get NULL for an
 * answer.  Calls that wait are answered RETRY, because they were not sent. */
void hf_leased_calls_abort(struct hf_leased *leased);

/* Is a call of ${kind} about the ticket ${id} waiting, or sent and not
 * answered? */
bool hf_leased_calls_has(const struct hf_leased *leased,
                         enum hf_store_call_kind kind,
                         const struct hf_ticket_id *id);

/* The deadline of the oldest call that was sent and not answered; HF_FOREVER:
 * there is none. */
uint64_t hf_leased_calls_deadline_ms(const struct hf_leased *leased);

/* The server's clock showed ${server_ms} at some instant up to now.  The
 * latest instants of later writes (.not_after_ms) are computed from that. */
void hf_leased_calls_set_server_clock(struct hf_leased *leased,
                                      uint64_t server_ms);

#endif
