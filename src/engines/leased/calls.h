/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the store that are under way, each with the request of the core
 * that it is made for.
 *
 * At most HF_LEASED_CALLS_SENT_MAX calls are sent at a time, and the others
 * wait their turn.  RENEW and CLOSE_SESSION do not wait: a RENEW that waits
 * behind the calls of many waiters could come too late for the session. */
#ifndef HF_ENGINES_LEASED_CALLS_H
#define HF_ENGINES_LEASED_CALLS_H

#include "engines/leased/queue_table.h"
#include "engines/leased/store.h"

struct hf_leased;
struct hf_leased_call;

/* Called once when ${call} ends.  ${answer} is NULL if the link ended before
 * the answer came.  A call that was never sent gets an answer that is a
 * failure, RETRY.  ${call} is already unlinked, and is freed when this function
 * returns. */
typedef void hf_leased_answered_fn(struct hf_leased *leased,
                                   struct hf_leased_call *call,
                                   const struct hf_store_answer *answer);

struct hf_leased_call {
    /* the part of the call that the store gets */
    struct hf_store_call store_call;
    /* NULL: a call of the session itself, or the request was forgotten */
    struct hf_request *request;
    /* the queue that the call is about; NULL: none, or several */
    struct hf_leased_queue *queue;
    hf_leased_answered_fn *answered;
    uint64_t number; /* serial number, in the order of hf_leased_call_begin() */
    uint64_t sent_at_ms; /* when it was handed to the store */
    /* When the link is given up if there is no answer. */
    uint64_t deadline_at_ms;
    /* memory that .store_call points to, freed with the call; or NULL */
    void *memory;
    struct hf_leased_call *previous;
    struct hf_leased_call *next;
};

/* A list of calls, oldest first. */
struct hf_leased_call_list {
    struct hf_leased_call *first;
    struct hf_leased_call *last;
};

struct hf_leased_calls {
    struct hf_leased_call_list sent; /* handed to the store */
    size_t sent_count;
    /* calls that wait until one of .sent is answered; empty while the link is
     * up and .sent has room */
    struct hf_leased_call_list waiting;
    uint64_t number; /* of the last call that was begun */
    /* The server's clock as it showed last, in milliseconds since 1970, and the
     * time of that by our clock. */
    uint64_t server_ms;
    uint64_t server_clock_at_ms;
};

/* The most calls that are sent and not answered.  This many fill a link, and
 * the last of them is still answered well within the timeout of a call. */
#define HF_LEASED_CALLS_SENT_MAX 32

/* Make a call of ${kind}.  ${queue} is the name of the queue that it is about;
 * NULL: it is about none.  ${request} is the request of the core that it
 * carries out; NULL: none.  The caller fills in the rest of .store_call.
 * Returns NULL if memory runs out. */
struct hf_leased_call *hf_leased_call_new(struct hf_leased *leased,
                                          enum hf_store_call_kind kind,
                                          const char *queue,
                                          struct hf_request *request);

/* Send the call as soon as there is room; a RENEW or CLOSE_SESSION at once.
 * ${answered} is called when the call ends, but never from inside this
 * function. */
void hf_leased_call_begin(struct hf_leased *leased, struct hf_leased_call *call,
                          hf_leased_answered_fn *answered);

/* End ${call}: unlink it, call .answered with ${answer}, free the call, and
 * send calls that wait.  ${answer} is NULL if the link has ended. */
void hf_leased_call_end(struct hf_leased *leased, struct hf_leased_call *call,
                        const struct hf_store_answer *answer);

/* Free a call that was not begun. */
void hf_leased_call_free(struct hf_leased *leased, struct hf_leased_call *call);

/* End all calls, because the link has ended.  .answered of calls that were sent
 * gets NULL.  Calls that waited fail as RETRY, because they were not sent. */
void hf_leased_calls_abort(struct hf_leased *leased);

/* Returns whether a call of ${kind} about the ticket ${id} waits, or was sent
 * and is not answered. */
bool hf_leased_calls_has(const struct hf_leased *leased,
                         enum hf_store_call_kind kind,
                         const struct hf_ticket_id *id);

/* Returns the deadline of the oldest call that was sent and is not answered;
 * HF_FOREVER if there is none. */
uint64_t hf_leased_calls_deadline_ms(const struct hf_leased *leased);

/* Note that the server's clock showed ${server_ms} not later than now.
 * .not_after_ms of later calls is computed from this. */
void hf_leased_calls_set_server_clock(struct hf_leased *leased,
                                      uint64_t server_ms);

#endif
