/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Something that a contender of holdfast torture wants again and again, and has
 * for a moment: what it does and is told it notes in the history.
 *
 *   IDLE      wants nothing until .until_ms
 *   WAITING   has asked for it
 *   HOLDING   was granted it, and lets go at .until_ms
 *   CHANGING  holds it and has asked to be a reader
 *   RELEASING is about to be without it
 */
#ifndef HF_TORTURE_WORKLOAD_H
#define HF_TORTURE_WORKLOAD_H

#include <stdatomic.h>

#include <holdfast/holdfast.h>

#include "core/random.h"
#include "torture/history_event.h"

enum hf_workload_kind {
    HF_WORKLOAD_MUTEX,
    HF_WORKLOAD_TOOL,      /* a mutex, too, by holdfast run */
    HF_WORKLOAD_REENTRANT, /* a mutex, too, that counts */
    HF_WORKLOAD_RWLOCK,
    HF_WORKLOAD_SEMAPHORE,
    HF_WORKLOAD_SEVERAL, /* one of two mutexes, or both */
    HF_WORKLOAD_ELECTION,
};
#define HF_WORKLOADS 7

/* How many locks one is for, at most. */
#define HF_WORKLOAD_LOCKS 2

/* A bid looks so often whether there is something to do. */
#define HF_WORKLOAD_POLL_MS 20

/* What a lock protects: it takes no write with a token less than it has seen.
 * In memory that all contenders share. */
struct hf_resource {
    _Atomic uint64_t token;
    _Atomic unsigned holder; /* the .number of one that holds; 0: nobody */
};

enum hf_workload_state {
    HF_WORKLOAD_IDLE,
    HF_WORKLOAD_WAITING,
    HF_WORKLOAD_HOLDING,
    HF_WORKLOAD_DOWNGRADING,
    HF_WORKLOAD_RELEASING,
};

struct hf_worker {
    struct hf_client *client;
    const char *name; /* of the client, in the history */
    unsigned number;  /* among all contenders, from 1 */
    int history;      /* a pipe: where it notes */
};

struct hf_workload_lock {
    const char *name; /* of the lock */
    struct hf_resource *resource;
    bool wanted; /* this time */
    uint64_t token;
};

struct hf_workload {
    const struct hf_workload_ops *ops;
    const struct hf_worker *worker;
    struct hf_random random;
    struct hf_workload_lock locks[HF_WORKLOAD_LOCKS];
    unsigned lock_count;
    enum hf_workload_state state;
    bool ending; /* nothing more is to be wanted */
    uint64_t until_ms;
    uint64_t safe_until_us; /* as noted last */
    int fd;                 /* readable when there is something to do; or -1 */
    int exit_code; /* of a failure that trying again does not mend; it has been
                      said */
};

/* What a kind of bid does. */
struct hf_workload_ops {
    /* ${error} says why not; .close() is called all the same. */
    hf_status (*open)(struct hf_workload *workload, struct hf_error *error);
    /* Look what there is to do. */
    void (*advance)(struct hf_workload *workload);
    void (*close)(struct hf_workload *workload);
};

/* Make a new one of ${kind}, IDLE, for .stakes with names and resources; NULL
 * when there is no memory.  Wants hf_workload_free(), after .close(). */
struct hf_workload *hf_workload_new(enum hf_workload_kind kind);
void hf_workload_free(struct hf_workload *workload);

/* For the kinds: each is a struct that begins with its hf_workload. */
struct hf_workload *hf_workload_new_lock(enum hf_workload_kind kind);
struct hf_workload *hf_workload_new_election(void);
struct hf_workload *hf_workload_new_tool(void);
struct hf_workload *hf_workload_new_reentrant(void);

/* ----------------------------------------------------------------- notes -- */

uint64_t hf_workload_now_us(void);

/* Note it of each lock that is wanted. */
void hf_workload_record(const struct hf_workload *workload,
                        enum hf_history_event_type type);

/* Note that it wants its locks as ${kind}. */
void hf_workload_record_want(const struct hf_workload *workload,
                             enum hf_kind kind, uint32_t permits,
                             uint32_t limit);

/* GRANT or HELD, until ${safe_until_us}; 0, for it is lost already: no longer
 * than now. */
void hf_workload_record_safe_until(struct hf_workload *workload,
                                   enum hf_history_event_type type,
                                   uint64_t safe_until_us);

/* SEEN at ${at_us}, by one who is given no promises. */
void hf_workload_record_seen(const struct hf_workload *workload,
                             uint64_t at_us);

/* HELD, if the promise has moved.  A loss is none. */
void hf_workload_record_renewal(struct hf_workload *workload,
                                uint64_t safe_until_us);

/* A promise as the library has it, as a time of the history. */
uint64_t hf_workload_safe_until_us(uint64_t safe_until_ms);

/* ----------------------------------------------------------------- moves -- */

bool hf_workload_one_in(struct hf_workload *workload, uint64_t count);

/* WAITING, without a token. */
void hf_workload_begin_wait(struct hf_workload *workload);

/* HOLDING for a while, and the tormentor knows. */
void hf_workload_begin_hold(struct hf_workload *workload);
void hf_workload_choose_end(struct hf_workload *workload);

/* It holds no more, nor does the tormentor think so. */
void hf_workload_end_hold(struct hf_workload *workload);

/* IDLE for a while. */
void hf_workload_idle(struct hf_workload *workload);

/* Note that it gives up, and IDLE.  Some failures are part of the game: an
 * engine that cannot be reached.  Others end it. */
void hf_workload_give_up(struct hf_workload *workload, hf_status status,
                         const char *text);

/* Write to what the locks protect, and note how that went. */
void hf_workload_write_fenced(struct hf_workload *workload);

/* How long one that is not patient waits. */
uint64_t hf_workload_wait_limit_ms(struct hf_workload *workload);

#endif
