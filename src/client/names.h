/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk over the names that there are.  The engine names queues, a page of its
 * own at a time (HF_REQUEST_NAMES); each is then listed, some at a time, as
 * hf_lock_tickets() does; and what that shows is put into the page of the user.
 *
 * A page that fails is thrown away with all that it has, and the next one
 * begins where it began.
 *
 * It is kept alive by the user's handle, by the page that is under way and by
 * each operation of the core.
 */
#ifndef HF_CLIENT_NAMES_H
#define HF_CLIENT_NAMES_H

#include "client/lock.h"
#include "client/name_view.h"
#include "client/names_seen.h"
#include "core/operation.h"
#include "monitor/callback_queue.h"
#include "operation/last_error.h"

struct hf_names_op;

/* A queue that the engine has named and that is not in a page yet. */
struct hf_names_queue {
    const char *queue;
    bool participants;
    bool checked; /* .name and so on are set */
    bool skipped; /* it was seen before, or is no lock's */
    char sort;    /* 'l': a lock, 's': a semaphore, 'p': a double barrier */
};

/* All fields under the client's lock. */
struct hf_names {
    struct hf_client *client;
    unsigned references; /* see above */
    struct hf_last_error last_error;
    bool all; /* the option */
    /* Where the walk of the engine is. */
    char *cursor;
    size_t cursor_bytes;
    bool named_all; /* its last page has come */
    uint64_t looked_at;
    uint64_t unreadable;
    struct hf_names_seen seen;
    /* What that page had, in one allocation each. */
    struct hf_names_queue *queues;
    char *text;
    size_t queue_count;
    size_t next; /* the first that is not in a page yet */

    /* The page that is under way: */
    bool busy;
    bool running;           /* run() is, further up the stack */
    bool ended;             /* its end was reported, and is to be taken */
    struct hf_names_op *op; /* by which it is asked now, or NULL */
    size_t first;           /* .next when the page began */
    size_t end;             /* where it ends */
    size_t listing;         /* lists that are under way */
    uint64_t unreadable_before;
    uint64_t deadline_at_ms; /* by hf_now_ms() */
    bool only_try;           /* the wait is 0 */
    struct hf_names_page *page;
    struct hf_error outcome;
    struct hf_waiter *waiter; /* the call that waits, or NULL */
    struct hf_done done;
    struct hf_callback done_callback;
    char prefix[];
};

/* Begin a page.  ${waiter} or ${done} gets the end.  With the lock.
 *   Fails     HF_ESTATE HF_ECLOSED HF_ELIMIT HF_ENOMEM; ${done} then still is
 *             the caller's. */
hf_status hf_names_begin(struct hf_names *names, uint64_t wait_ms,
                         struct hf_waiter *waiter, struct hf_done done,
                         struct hf_error *error);

/* The end has come to the waiter: take the page, or NULL if there are no
 * more. */
struct hf_names_page *hf_names_take(struct hf_names *names);

/* Nobody waits for the page any more: what is in it comes with the next one. */
void hf_names_abandon(struct hf_names *names);

/* Drop a reference; the last one frees it.  With the lock. */
void hf_names_dereference(struct hf_names *names);

/* If ${event} brings names that a walk wants, copy them, as
 * hf_queue_op_save_list() does.  With the lock. */
void hf_names_save(const struct hf_event *event);

/* Carry out ${effect}, which is about the operation of a walk.  With the
 * lock. */
void hf_names_handle_effect(const struct hf_effect *effect);

#endif
