/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation on a queue that takes no ticket: list it, evict a ticket, ask
 * for a release, set or clear a barrier, or wait for one; read its success, or
 * write it for a ticket that is held.
 *
 * An operation of the core (struct hf_operation) is about one queue and one
 * ticket.  This one runs as many of them as it needs, one after the other: one
 * of a lock; one for each of the two queues of a semaphore, until the ticket is
 * found; and, to ask every holder for a release, a list and then one for each
 * holder.
 *
 * It is kept alive by the core until the last of them is done, and as any
 * operation of a user.
 */
#ifndef HF_CLIENT_QUEUE_OP_H
#define HF_CLIENT_QUEUE_OP_H

#include "client/lock.h"
#include "client/ticket_list.h"
#include "core/operation.h"
#include "operation/user_op.h"

/* To ask every holder for a release, the holders are listed at most this often.
 * They are listed again when all of them were gone before they could be
 * asked. */
#define HF_REVOKE_LISTS_MAX 16

/* What the operation does. */
struct hf_queue_op_args {
    enum hf_request_kind kind; /* as in struct hf_operation */
    /* Of a list: the tickets that the user wants. */
    enum hf_tickets_which which;
    struct hf_text_range texts; /* and those whose texts the user wants */
    bool every_holder; /* ask every holder for a release; there is no .ticket */
    struct hf_ticket_id ticket; /* the one to evict, or to ask for a release;
                                   of a success that of the grant */
    uint64_t token;             /* of a success that is written */
    /* Who evicts it, and why; NULL: nothing is said.  Copied. */
    const char *evicted_by;
    bool only_try; /* as in struct hf_operation, instead of .wait_ms */
    /* Only if this is a wait: as in struct hf_operation. */
    enum hf_operation_wait waits_for;
    uint64_t generation;
    /* The flag to set or clear, or the kind of ticket to list; as in struct
     * hf_operation. */
    enum hf_ticket_kind flag_kind;
    uint64_t wait_ms; /* at most, in milliseconds */
};

/* All fields under the client's lock. */
struct hf_queue_op {
    struct hf_user_op user_op;
    struct hf_operation operation; /* the part that the core works on now */
    struct hf_queue_op_args args;
    char *evicted_by; /* the copy; NULL: nothing is said */
    struct hf_lock *lock;
    uint64_t deadline_at_ms; /* by hf_now_ms(); HF_FOREVER: none */
    const char *queues[2];   /* the queues to ask, one after the other */
    size_t queue_count;
    size_t queue_index;      /* the one that is asked now */
    bool list_saved;         /* the list that came last was copied */
    bool ended;              /* it was answered */
    struct hf_error outcome; /* the answer */
    /* What was listed, until the user gets it; NULL: nothing yet. */
    struct hf_tickets *tickets;
    struct hf_success success; /* that was read */
    /* .every_holder: the place in .tickets of the one to ask next. */
    size_t next_holder;
    size_t asked_count;  /* .every_holder: how many were asked */
    unsigned list_count; /* .every_holder: lists whose tickets were all gone */
};

/* Run ${args} for the call ${api_name}, which errors name.  ${id} is the text
 * of a ticket id, or NULL.  The first waits for the end and sets ${tickets},
 * which may be NULL.  The second starts it, as any call with _start does, and
 * sets ${op}, which may be NULL.  Without the lock. */
hf_status hf_queue_op_run(struct hf_lock *lock, const char *api_name,
                          struct hf_queue_op_args args, const char *id,
                          struct hf_tickets **tickets);
hf_status hf_queue_op_start(struct hf_lock *lock, const char *api_name,
                            struct hf_queue_op_args args, const char *id,
                            struct hf_done done, struct hf_op **op);

/* Begin ${args} for ${completion}.  Sets ${queue_op}, with a reference of the
 * caller, before anything can end; it may have ended when this returns.  With
 * the lock.
 *   Fails     HF_ECLOSED HF_ELIMIT HF_ENOMEM; ${queue_op} is NULL, and the
 *             callback of ${completion} still is the caller's. */
hf_status hf_queue_op_begin(struct hf_lock *lock,
                            const struct hf_queue_op_args *args,
                            const struct hf_completion *completion,
                            struct hf_queue_op **queue_op,
                            struct hf_error *error);

/* If an operation wants the list that ${event}, a LISTED, brings, copy it.
 * Called before the core is stepped with the event, because the core does not
 * keep lists.  With the lock. */
void hf_queue_op_save_list(const struct hf_event *event);

/* Carry out ${effect}, which is about the operation of the core that is part of
 * a struct hf_queue_op.  With the lock. */
void hf_queue_op_handle_effect(const struct hf_effect *effect);

#endif
