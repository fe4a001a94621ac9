/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation on a queue that its user takes no place in: list it, remove a
 * ticket, ask for a release, set or clear a barrier, wait for one.
 *
 * The core knows operations on one queue and one ticket (struct hf_operation).
 * This one is made of as many as it takes, one after the other: one of a lock;
 * one for each of the two queues of a semaphore, until it is done; and, to ask
 * every holder for a release, a list and then one for each holder.
 *
 * It is kept alive by the core until the last DONE; by the caller that
 * waits for its end, or the callback; and by the user's handle.
 */
#ifndef HF_HOST_QUEUE_OP_H
#define HF_HOST_QUEUE_OP_H

#include "core/operation.h"
#include "host/lock.h"
#include "host/op_handle.h"
#include "host/ticket_list.h"
#include "monitor/callback_queue.h"

/* To ask every holder, they are listed at most this often: again each time all
 * of them are gone before they can be asked. */
#define HF_REVOKE_LISTS_MAX 16

/* What is to be done. */
struct hf_queue_op_args {
    enum hf_request_kind kind; /* as an operation's */
    enum hf_tickets_which which;
    bool every_holder; /* REVOKE: of every holder; there is no .ticket */
    struct hf_ticket_id ticket;
    bool only_try; /* as an operation's, instead of .wait_ms */
    /* WATCH_QUEUE: of the one who wants to leave a round, as an operation's,
     * with .ticket. */
    uint64_t generation;
    bool keeps_ticket;
    enum hf_ticket_kind
        flag_kind; /* SET_FLAG, CLEAR_FLAG, LIST: as an operation's */
    uint64_t wait_ms;
};

struct hf_queue_op {
    struct hf_operation operation;
    struct hf_queue_op_args args;
    struct hf_lock *lock;
    struct hf_op op;
    unsigned references; /* under the client's lock */
    uint64_t deadline_at_ms;
    const char *queues[2]; /* to be asked about, one after the other ... */
    size_t queue_count;
    size_t queue_index; /* ... of which this is being */
    bool list_saved;    /* the last list was */
    bool ended;
    struct hf_error outcome;
    struct hf_tickets *tickets; /* what was listed, until it is handed on;
                                   NULL: nothing yet */
    size_t next_holder;         /* .each: of .tickets, to be asked next */
    size_t asked_count;         /* and how many were found */
    unsigned list_count;        /* .each: whose tickets were all gone */
    struct hf_waiter *waiter;   /* who waits */
    struct hf_done done;
    struct hf_callback done_callback;
};

/* Run ${args}, called as ${call}; ${id} (may be NULL) is that of a ticket. The
 * first waits for the end and sets ${tickets} (may be NULL), the second is as
 * any call with _start and sets ${op} (may be NULL). */
hf_status hf_queue_op_run(struct hf_lock *lock, const char *call,
                          struct hf_queue_op_args args, const char *id,
                          struct hf_tickets **tickets);
hf_status hf_queue_op_start(struct hf_lock *lock, const char *call,
                            struct hf_queue_op_args args, const char *id,
                            struct hf_done done, struct hf_op **op);

/* With the client's lock: run ${args}.  ${waiter} or ${done} is notified of the
 * end, and has one reference for that.  HF_ECLOSED HF_ELIMIT HF_ENOMEM, and
 * then
 * ${done} is still the caller's. */
hf_status hf_queue_op_begin(struct hf_lock *lock,
                            const struct hf_queue_op_args *args,
                            struct hf_waiter *waiter, struct hf_done done,
                            struct hf_queue_op **queue_op,
                            struct hf_error *error);
void hf_queue_op_dereference(struct hf_queue_op *queue_op);

/* A handle of the user's, with a reference of its own. */
struct hf_op *hf_queue_op_handle(struct hf_queue_op *queue_op);

/* Before the core is stepped with ${event}: keep what it will not keep. */
void hf_queue_op_save_list(const struct hf_event *event);

/* Carry out an effect that concerns the operation of one. */
void hf_queue_op_effect(const struct hf_effect *effect);

#endif
