/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What drives the machines of src/zookeeper_retry: it carries out their
 * operations, keeps their pauses and the user's time, and begins the removal of
 * what they leave.
 *
 * Each retry has a machine.  A retry of a user is an operation of the user,
 * too.  A removal has nobody who waits for it; a guaranteed delete goes on when
 * its user's time is over.  Both end with their handle at last.
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_RETRY_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_RETRY_H

#include "zookeeper_client/zookeeper_handle.h"
#include "zookeeper_client/zookeeper_operation.h"
#include "zookeeper_retry/retry_step.h"

/* Retries of one handle that may go on although nobody waits for them. */
#define HF_ZOOKEEPER_BACKGROUND_MAX 1024

/* What a retry waits for before its machine takes the next step. */
enum hf_zookeeper_retry_waits_for {
    HF_ZOOKEEPER_RETRY_NOTHING, /* the machine takes a step now, or the retry
                                   was not begun, or has ended */
    HF_ZOOKEEPER_RETRY_ANSWER,  /* to .operation */
    HF_ZOOKEEPER_RETRY_PAUSE,   /* until .resume_at_ms */
    HF_ZOOKEEPER_RETRY_REPLY,   /* of the user, who was asked */
};

/* All fields under the monitor's lock. */
struct hf_zookeeper_retry {
    struct hf_zookeeper_user_op user_op;
    const struct hf_zk_retry_ops *ops;
    void *machine; /* NULL: it has ended */
    enum hf_zookeeper_priority priority;
    bool goes_on;       /* only the machine, a cancel and the close end it */
    bool in_background; /* counts in .background_count */
    bool has_user;      /* a user waits, and was not notified of the end yet */
    bool only_try;      /* nothing is waited for */
    enum hf_zookeeper_retry_waits_for waits_for;
    struct hf_callback ask_callback; /* asks the user, for whom no call waits */
    uint64_t deadline_at_ms;
    uint64_t resume_at_ms; /* when the pause is over */
    hf_status stop;        /* why it goes no further; HF_OK: it does */
    struct hf_zookeeper_timer timer; /* for .resume_at_ms, or the deadline of
                                        the user */
    struct hf_zookeeper_operation *operation; /* under way, or NULL */
    struct hf_zookeeper_retry *removal; /* ready, for what it leaves; or NULL */
    struct hf_zookeeper_result *timed_out; /* .goes_on: for the user */
    struct hf_zookeeper_retry *next;       /* of the handle */
    struct hf_zookeeper_retry **link;
};

/* What a retry of a user is made of. */
struct hf_zookeeper_retry_plan {
    const struct hf_user_op_ops *user_ops;
    const struct hf_zk_retry_ops *ops;
    void *machine; /* becomes the retry's, also on failure; NULL: no memory */
    enum hf_zookeeper_priority priority;
    bool goes_on;
};

/* The ops of a retry that asks its user nothing.  Every retry of a user has
 * these two functions in its ops.
 */
extern const struct hf_user_op_ops hf_zookeeper_retry_user_ops;
void hf_zookeeper_retry_cancel(struct hf_user_op *op);
void hf_zookeeper_retry_destroy(struct hf_user_op *op);

/* Begin ${retry} by ${plan}; see hf_zookeeper_begin.  ${retry} is zeroed, was
 * allocated with hf_alloc(), and becomes the callee's.  Its end may be notified
 * from within.  False, and why in ${error}: it was refused, and is freed. */
bool hf_zookeeper_retry_begin(struct hf_zookeeper *zookeeper,
                              struct hf_zookeeper_retry *retry,
                              const struct hf_zookeeper_retry_plan *plan,
                              uint64_t wait_ms,
                              const struct hf_zookeeper_completion *completion,
                              struct hf_error *error);

/* The user replies to the question of ${retry}, unless it has ended. */
void hf_zookeeper_retry_reply(struct hf_zookeeper_retry *retry,
                              hf_status status);

/* Random numbers for a machine.  HF_ELIMIT. */
hf_status hf_zookeeper_retry_random(struct hf_random *random,
                                    struct hf_error *error);

/* -------------------------------------------------------- of the handle -- */

/* The session is connected, or the handle is a new one on a session. */
void hf_zookeeper_retries_up(struct hf_zookeeper *zookeeper);

/* The handle is being closed, and so is its queue: stop all retries. */
void hf_zookeeper_retries_close(struct hf_zookeeper *zookeeper);

#endif
