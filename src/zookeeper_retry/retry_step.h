/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines for writes with retries, and the driver that carries out their steps
 * (zookeeper_client/zookeeper_retry.h).
 *
 * A machine decides the steps of one write (retry_create.h, retry_delete.h,
 * retry_update.h), or of the removal of a node that a write may have left
 * (retry_removal.h).  Its driver passes it an event, and gets the next step: an
 * operation, a pause, a question to the user, or the end.  One step is under
 * way at a time.  So a machine knows neither the queue of operations nor a
 * clock, and a test only has to supply answers.
 *
 * If the answer to a write was lost, a machine sends a SYNC and then a read.
 * Within one session these show whether the write was carried out.  A server
 * that takes over a session drops requests of its earlier connection, and the
 * leader refuses requests that another server still forwards for a session that
 * has moved (SessionMovedException).  Writes that the leader had before that
 * are carried out before the SYNC, which goes through the leader, too.  This is
 * not certain if a thread of a server is stopped in the middle of a request.
 * So each machine is also safe if the write is carried out after the read: the
 * write has a version; or it has a unique name, which is searched for again one
 * session timeout later; or it creates a node that exists already.
 */
#ifndef HF_ZOOKEEPER_RETRY_RETRY_STEP_H
#define HF_ZOOKEEPER_RETRY_RETRY_STEP_H

#include <holdfast/zookeeper_retry.h>

#include "base/random.h"

/* A write that is not guaranteed ends after this many attempts. */
#define HF_ZK_RETRY_ATTEMPTS_MAX 30

enum hf_zk_retry_event_kind {
    HF_ZK_RETRY_BEGIN,    /* the first event */
    HF_ZK_RETRY_ANSWERED, /* the operation has ended with .result */
    HF_ZK_RETRY_RESUMED,  /* the pause is over */
    HF_ZK_RETRY_REPLIED,  /* the user has answered the question with .status */
    HF_ZK_RETRY_STOPPED,  /* the machine must end; .status and .text say why.
                             Never sent while an operation is under way. */
};

/* What has happened, and the state of the session. */
struct hf_zk_retry_event {
    enum hf_zk_retry_event_kind kind;
    hf_status status;
    struct hf_zookeeper_result *result; /* of ANSWERED; belongs to the machine
                                           from now on */
    const char *text;
    bool user_waits;  /* the call has not ended for the user yet */
    uint64_t now_ms;  /* CLOCK_BOOTTIME */
    int64_t session;  /* the id of the session that was connected last */
    int64_t previous; /* the id of the session before that; 0: there was none */
    int64_t zxid;     /* the last transaction that the session has seen; 0:
                         none */
    uint64_t timeout_ms; /* of the session */
};

enum hf_zk_retry_step_kind {
    HF_ZK_RETRY_DO,    /* carry out .op; it is valid until the next event */
    HF_ZK_RETRY_PAUSE, /* wait for .pause_ms */
    HF_ZK_RETRY_ASK,   /* ask the user what to write: retry_update.h */
    HF_ZK_RETRY_END,   /* the machine has ended with .result, which belongs to
                          the driver from now on */
};

struct hf_zk_retry_step {
    enum hf_zk_retry_step_kind kind;
    struct hf_zookeeper_op op;
    uint64_t pause_ms;
    struct hf_zookeeper_result *result;
    /* If not 0: before .op is carried out, the driver allocates a removal for a
     * path of this many bytes, because it must not fail for lack of memory
     * later. */
    size_t reserve_bytes;
    /* If .path is not NULL: before the step is carried out, the driver begins
     * the removal of this node, with the removal that was allocated. */
    struct hf_zk_retry_remains {
        const char *path;    /* of the node, without the digits of a server */
        size_t parent_bytes; /* the parent is this many bytes of .path; 0:
                                "/" */
        bool looked;         /* a search has just shown that the node does not
                                exist */
        uint64_t until_ms;   /* after this time the create can no longer be
                                carried out */
    } remains;
};

/* A kind of machine. */
struct hf_zk_retry_ops {
    void (*next)(void *machine, const struct hf_zk_retry_event *event,
                 struct hf_zk_retry_step *step);
    void (*free)(void *machine);
};

/* --------------------------------------------------- for machines alone -- */

/* What the result of a write shows about whether it was carried out. */
enum hf_zk_retry_answer {
    HF_ZK_RETRY_KNOWN,  /* the result is final */
    HF_ZK_RETRY_UNSURE, /* it may have been carried out */
    HF_ZK_RETRY_AGAIN,  /* it was not carried out; another attempt may
                           succeed */
};

/* Classify ${result}, the result of a write.  For a read only AGAIN has a
 * meaning: it must be repeated. */
enum hf_zk_retry_answer
hf_zk_retry_answer(const struct hf_zookeeper_result *result);

/* Counts attempts: for a write those so far, for a removal those that have
 * failed in a row. */
struct hf_zk_retry_attempts {
    struct hf_random random;
    uint32_t count;
};

/* Make ${step} a pause before another attempt: 10 ms at first, 1 s at last. */
void hf_zk_retry_pause(struct hf_zk_retry_attempts *attempts,
                       struct hf_zk_retry_step *step);

/* Make ${step} the end with ${result}. */
void hf_zk_retry_end(struct hf_zk_retry_step *step,
                     struct hf_zookeeper_result *result);

/* Make ${step} the operation of ${kind} on ${path}.  Other fields of the
 * operation are 0. */
void hf_zk_retry_do(struct hf_zk_retry_step *step,
                    enum hf_zookeeper_op_kind kind, const char *path);

/* Does ${result} have the same ${data}?  Null counts as 0 bytes. */
bool hf_zk_retry_same_data(const struct hf_zookeeper_result *result,
                           const void *data, size_t bytes);

#endif
