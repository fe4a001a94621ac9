/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes that are retried: what they need of their driver.
 *
 * A machine carries out one write (retry_create.h, retry_delete.h,
 * retry_update.h) or removes what one may have left (retry_removal.h).  Its
 * driver passes it an event, and gets the next step: an operation, a pause, a
 * question to the user, or the end.  One step is under way at a time.  So a
 * machine knows neither the queue of operations nor a clock, and a test plays
 * the servers by writing down answers.
 *
 * After a write whose answer was lost a machine looks: it sends a SYNC, and
 * then a read.  Within one session that shows whether the write was carried
 * out.  A server that gets a session drops what it has of the connection
 * before, and the leader refuses what another server still passes on for a
 * session that has moved (SessionMovedException).  Writes that the leader had
 * before that are carried out before the SYNC, which goes through the leader,
 * too.  This is no proof if a thread of a server stands still in the middle of
 * a request.  So each machine is safe, too, if the write comes after the read:
 * it either has a version, or a name of its own that is looked for again one
 * session timeout later, or makes a node that is there already.
 */
#ifndef HF_ZOOKEEPER_RETRY_RETRY_STEP_H
#define HF_ZOOKEEPER_RETRY_RETRY_STEP_H

#include <holdfast/zookeeper_retry.h>

#include "base/random.h"

/* A write that is not guaranteed ends after this many attempts. */
#define HF_ZK_RETRY_ATTEMPTS_MAX 30

enum hf_zk_retry_event_kind {
    HF_ZK_RETRY_BEGIN,    /* the first one */
    HF_ZK_RETRY_ANSWERED, /* the operation has ended with .result */
    HF_ZK_RETRY_RESUMED,  /* the pause is over */
    HF_ZK_RETRY_REPLIED,  /* the user has replied to the question: .status */
    HF_ZK_RETRY_STOPPED,  /* go no further: .status and .text say why.  Not
                             while an operation is under way. */
};

/* What has happened, and what the session is now. */
struct hf_zk_retry_event {
    enum hf_zk_retry_event_kind kind;
    hf_status status;
    struct hf_zookeeper_result *result; /* becomes the machine's */
    const char *text;
    bool user_waits;  /* the call has not ended for the user yet */
    uint64_t now_ms;  /* CLOCK_BOOTTIME */
    int64_t session;  /* the id of the session that was connected last */
    int64_t previous; /* the id of the session before that; 0: there was none */
    int64_t zxid;     /* the last transaction that is known of; 0: none */
    uint64_t timeout_ms; /* of the session */
};

enum hf_zk_retry_step_kind {
    HF_ZK_RETRY_DO,    /* carry .op out; it is valid until the next event */
    HF_ZK_RETRY_PAUSE, /* wait for .pause_ms */
    HF_ZK_RETRY_ASK,   /* ask the user what to write: retry_update.h */
    HF_ZK_RETRY_END,   /* with .result, which becomes the driver's */
};

struct hf_zk_retry_step {
    enum hf_zk_retry_step_kind kind;
    struct hf_zookeeper_op op;
    uint64_t pause_ms;
    struct hf_zookeeper_result *result;
    /* Before .op: have ready what the removal of a path of this many bytes
     * needs, because nothing may fail after .op.  0: no removal is needed. */
    size_t reserve_bytes;
    /* Before anything else: begin the removal of this node, with what is ready.
     * .path NULL: there is none. */
    struct hf_zk_retry_remains {
        const char *path;    /* of the node, without the digits of a server */
        size_t parent_bytes; /* of .path; 0: the parent is "/" */
        bool looked;         /* the node was not there just now */
        uint64_t until_ms;   /* when the node can come no more */
    } remains;
};

/* A kind of machine. */
struct hf_zk_retry_ops {
    void (*next)(void *machine, const struct hf_zk_retry_event *event,
                 struct hf_zk_retry_step *step);
    void (*free)(void *machine);
};

/* --------------------------------------------------- for machines alone -- */

/* What the end of a write says of whether it was carried out. */
enum hf_zk_retry_answer {
    HF_ZK_RETRY_KNOWN,  /* .result says how it ended */
    HF_ZK_RETRY_UNSURE, /* it may have been carried out */
    HF_ZK_RETRY_AGAIN,  /* it was not carried out, and may be the next time */
};

/* What ${result} of a write says.  Machines call it for a read, too: if it is
 * AGAIN, the read is to be repeated. */
enum hf_zk_retry_answer
hf_zk_retry_answer(const struct hf_zookeeper_result *result);

/* The attempts of a write that have not ended it; of a removal those in a row
 * that have failed. */
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

/* Make ${step} the operation of ${kind} on ${path}, which needs nothing
 * else. */
void hf_zk_retry_do(struct hf_zk_retry_step *step,
                    enum hf_zookeeper_op_kind kind, const char *path);

/* Are ${data} those of ${result}?  Null counts as no bytes. */
bool hf_zk_retry_same_data(const struct hf_zookeeper_result *result,
                           const void *data, size_t bytes);

#endif
