/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives the machines of src/zookeeper_retry, which decide the steps of an
 * operation with retries.  This carries out the operations and pauses of these
 * steps, ends the wait of the user in time, and removes nodes that an operation
 * may have left.
 *
 * Each retry has a machine.  A retry that a user began is an operation of the
 * user (operation/user_op.h).  A removal of a left node has no user.  A
 * guaranteed delete goes on when its user no longer waits.  Both end at the
 * latest when the handle is closed.
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_RETRY_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_RETRY_H

#include "zookeeper_client/zookeeper_handle.h"
#include "zookeeper_client/zookeeper_operation.h"
#include "zookeeper_retry/retry_step.h"

/* At most this many retries of a handle may go on without a user who waits. */
#define HF_ZOOKEEPER_BACKGROUND_MAX 1024

/* What a retry waits for before its machine takes the next step. */
enum hf_zookeeper_retry_waits_for {
    HF_ZOOKEEPER_RETRY_NOTHING, /* for nothing: the machine is taking a step, or
                                   the retry was not begun or has ended */
    HF_ZOOKEEPER_RETRY_ANSWER,  /* for the answer to .operation */
    HF_ZOOKEEPER_RETRY_PAUSE,   /* for the end of a pause, at .resume_at_ms */
    HF_ZOOKEEPER_RETRY_REPLY,   /* for the reply of the user, who was asked
                                   (hf_zookeeper_update()) */
};

/* All fields under the monitor's lock. */
struct hf_zookeeper_retry {
    struct hf_zookeeper_user_op user_op;
    const struct hf_zk_retry_ops *ops;
    void *machine; /* decides the steps; NULL: the retry has ended */
    enum hf_zookeeper_priority priority;
    bool goes_on;       /* it goes on when its user no longer waits: only the
                           machine, a cancel or the close ends it */
    bool in_background; /* counts in .background_count */
    bool has_user;      /* it has a user, who was not notified of the end yet */
    bool only_try;      /* do not wait for a connection or a pause */
    enum hf_zookeeper_retry_waits_for waits_for;
    struct hf_callback ask_callback; /* asks the user if no call of the user
                                        waits */
    uint64_t deadline_at_ms;
    uint64_t resume_at_ms; /* when the pause is over */
    hf_status stop;        /* why it must take no further step; HF_OK: it goes
                              on */
    struct hf_zookeeper_timer timer; /* set to .resume_at_ms or to the user's
                                        deadline, whichever is earlier */
    struct hf_zookeeper_operation *operation; /* the operation under way, or
                                                 NULL */
    struct hf_zookeeper_retry *removal; /* allocated in advance, to remove what
                                           the operation may leave; or NULL */
    struct hf_zookeeper_result *timed_out; /* for .goes_on: the result that the
                                              user gets if the time is over */
    struct hf_zookeeper_retry *next;       /* the next retry of the handle */
    struct hf_zookeeper_retry **link;
};

/* What a public call gives to hf_zookeeper_retry_begin(). */
struct hf_zookeeper_retry_plan {
    const struct hf_user_op_ops *user_ops;
    const struct hf_zk_retry_ops *ops;
    void *machine; /* freed by the retry, also if it is refused; NULL: there was
                      no memory for it */
    enum hf_zookeeper_priority priority;
    bool goes_on;
};

/* The ops of a retry that does not ask its user.  The ops of other retries have
 * hf_zookeeper_retry_cancel() and hf_zookeeper_retry_destroy(), too. */
extern const struct hf_user_op_ops hf_zookeeper_retry_user_ops;
void hf_zookeeper_retry_cancel(struct hf_user_op *op);
void hf_zookeeper_retry_destroy(struct hf_user_op *op);

/* Begin ${retry} as ${plan} says, for ${completion}.  ${retry} must be zeroed
 * and allocated with hf_alloc(); it belongs to the callee from now on.  Its end
 * may be reported before this returns.  False, with the reason in ${error}, if
 * it was refused; it is then freed. */
bool hf_zookeeper_retry_begin(struct hf_zookeeper *zookeeper,
                              struct hf_zookeeper_retry *retry,
                              const struct hf_zookeeper_retry_plan *plan,
                              uint64_t wait_ms,
                              const struct hf_zookeeper_completion *completion,
                              struct hf_error *error);

/* Go on with ${retry}, because the user has answered its question with
 * ${status}.  Does nothing if it does not wait for a reply. */
void hf_zookeeper_retry_reply(struct hf_zookeeper_retry *retry,
                              hf_status status);

/* Seed ${random}, the random numbers of a machine.  HF_ELIMIT if there is no
 * source. */
hf_status hf_zookeeper_retry_random(struct hf_random *random,
                                    struct hf_error *error);

/* -------------------------------------------------------- of the handle -- */

/* To be called when the session is connected, or a handle begins to use a
 * session. */
void hf_zookeeper_retries_up(struct hf_zookeeper *zookeeper);

/* Stop all retries, because the handle is being closed.  The queue must be
 * closed already. */
void hf_zookeeper_retries_close(struct hf_zookeeper *zookeeper);

#endif
