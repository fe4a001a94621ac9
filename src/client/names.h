/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk over the names that there are.  The engine names queues, a page of its
 * own at a time (HF_REQUEST_NAMES).  Each queue is then listed as
 * hf_lock_tickets() does, some of them at a time, and what its list shows is
 * put into the page of the user.
 *
 * A page that fails is thrown away with all that it has, and the next one
 * begins where it began.
 *
 * A walk is kept alive by the user's handle, by the page that is under way and
 * by each operation of the core.
 */
#ifndef HF_CLIENT_NAMES_H
#define HF_CLIENT_NAMES_H

#include "client/names_page.h"
#include "core/effect.h"
#include "core/engine.h"
#include "operation/user_op.h"

struct hf_names_op;

enum hf_names_state {
    HF_NAMES_IDLE,    /* no page is under way */
    HF_NAMES_WAITING, /* for answers of the engine */
    HF_NAMES_RUNNING, /* requests are being made, further up the stack */
    HF_NAMES_ENDED,   /* the page has ended, and its user has not got it yet */
};

/* All fields under the client's lock. */
struct hf_names {
    struct hf_user_op user_op; /* the page that is under way */
    struct hf_client *client;
    bool all; /* see struct hf_names_opts */
    /* Where the walk of the engine is. */
    char *cursor;
    size_t cursor_bytes;
    bool named_all; /* its last page has come */
    uint64_t looked_at;
    uint64_t unreadable;
    struct hf_names_seen seen;
    /* The queues of the engine's last answer, and the memory of their names. */
    struct hf_names_queue *queues;
    char *text;
    size_t queue_count;
    size_t next; /* the first that is not in a page yet */

    /* The page that is under way: */
    enum hf_names_state state;
    struct hf_names_op *op; /* the request for its queues, or NULL */
    size_t first;           /* .next when the page began */
    size_t end;             /* where it ends, in .queues */
    size_t listing;         /* lists that are under way */
    uint64_t unreadable_before;
    uint64_t deadline_at_ms; /* by hf_now_ms() */
    bool only_try;           /* the wait is 0 */
    struct hf_names_page *page;
    struct hf_error outcome;
    char prefix[];
};

/* For hf_user_op_init() of a walk. */
extern const struct hf_user_op_ops hf_names_op_ops;

/* Begin a page, and keep the walk alive for the caller.  ${completion} gets the
 * end.  With the lock.
 *   Fails     HF_ESTATE HF_ECLOSED HF_ELIMIT HF_ENOMEM; the callback of
 *             ${completion} then still is the caller's. */
hf_status hf_names_begin(struct hf_names *names, uint64_t wait_ms,
                         const struct hf_completion *completion,
                         struct hf_error *error);

/* If a walk wants the names that ${event}, a NAMED, brings, copy them, as
 * hf_queue_op_save_list() does.  With the lock. */
void hf_names_save(const struct hf_event *event);

/* Carry out ${effect}, which is about the operation of a walk.  With the
 * lock. */
void hf_names_handle_effect(const struct hf_effect *effect);

#endif
