/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A workload of holdfast torture: it acquires a lock again and again, holds it
 * for a moment, and records in the history what it does and observes.
 *
 *   IDLE        wants nothing until .until_ms
 *   WAITING     has begun to acquire
 *   HOLDING     was granted the lock and releases it at .until_ms
 *   DOWNGRADING holds the lock and has asked to become a reader
 *   RELEASING   has begun to release
 */
#ifndef HF_TORTURE_WORKLOAD_H
#define HF_TORTURE_WORKLOAD_H

#include <stdatomic.h>

#include <holdfast/lock.h>
#include <holdfast/status.h>

#include "base/random.h"
#include "torture/history_event.h"

enum hf_workload_kind {
    HF_WORKLOAD_MUTEX,
    HF_WORKLOAD_TOOL,      /* the mutex, by way of holdfast run */
    HF_WORKLOAD_REENTRANT, /* the mutex, as a reentrant one */
    HF_WORKLOAD_KEPT,      /* another mutex, whose ticket some workers keep */
    HF_WORKLOAD_RWLOCK,
    HF_WORKLOAD_SEMAPHORE,
    HF_WORKLOAD_SEVERAL, /* one of two mutexes, or both at once */
    HF_WORKLOAD_ELECTION,
};
#define HF_WORKLOADS 8

/* Locks of one workload, at most. */
#define HF_WORKLOAD_LOCKS 2

/* A workload is asked to advance at least this often. */
#define HF_WORKLOAD_POLL_MS 20

/* What a lock protects.  It refuses a write whose token is less than one that
 * it has seen (fencing, Kleppmann 2016).  In memory that all workers share. */
struct hf_resource {
    _Atomic uint64_t token;  /* the greatest that was seen */
    _Atomic unsigned holder; /* number of a worker that holds the lock; 0: none.
                                For the nemesis. */
};

enum hf_workload_state {
    HF_WORKLOAD_IDLE,
    HF_WORKLOAD_WAITING,
    HF_WORKLOAD_HOLDING,
    HF_WORKLOAD_DOWNGRADING,
    HF_WORKLOAD_RELEASING,
};

/* What a workload knows of its worker. */
struct hf_worker {
    struct hf_client *client;
    const char *name; /* of the client in the history */
    unsigned number;  /* among all workers, from 1 */
    int history;      /* the pipe that events are written to */
};

/* One of the locks of a workload. */
struct hf_workload_lock {
    const char *name;
    struct hf_resource *resource;
    bool wanted;    /* the current attempt is for it */
    uint64_t token; /* of the grant; 0: none */
};

struct hf_workload {
    const struct hf_workload_ops *ops;
    const struct hf_worker *worker;
    struct hf_random random; /* seeded by the worker */
    struct hf_workload_lock locks[HF_WORKLOAD_LOCKS];
    unsigned lock_count;
    enum hf_workload_state state;
    bool ending;            /* release, and acquire nothing more */
    uint64_t until_ms;      /* when to leave the state, CLOCK_BOOTTIME */
    uint64_t rest_one_in;   /* it rests for longer once in so many times that it
                               is IDLE; 0: never */
    uint64_t safe_until_us; /* as recorded last */
    int fd;        /* readable when there is something to do; -1: none */
    int exit_code; /* of a failure that trying again does not mend, which has
                      been printed; else 0 */
};

/* The operations of a kind of workload. */
struct hf_workload_ops {
    /* Open what it needs.  .close() is called even if this fails. */
    hf_status (*open)(struct hf_workload *workload, struct hf_error *error);
    /* Do what is due in this state. */
    void (*advance)(struct hf_workload *workload);
    void (*close)(struct hf_workload *workload);
};

/* A new workload of each kind, which is a struct that begins with its struct
 * hf_workload.  It is IDLE; give it the names and resources of its locks before
 * .open().  NULL if there is no memory.  hf_workload_free() it after
 * .close(). */
struct hf_workload *hf_workload_new_lock(enum hf_workload_kind kind);
struct hf_workload *hf_workload_new_election(void);
struct hf_workload *hf_workload_new_tool(void);
/* ${keeps}: the mutex keeps its ticket when it is unlocked. */
struct hf_workload *hf_workload_new_reentrant(bool keeps);
void hf_workload_free(struct hf_workload *workload);

/* ---------------------------------------------------------------- events -- */

/* Now, as a time of the history. */
uint64_t hf_workload_now_us(void);

/* Record an event of ${type} for each lock that is wanted. */
void hf_workload_record(const struct hf_workload *workload,
                        enum hf_history_event_type type);

/* Record WANT, as ${kind}. */
void hf_workload_record_want(const struct hf_workload *workload,
                             enum hf_kind kind, uint32_t permits,
                             uint32_t limit);

/* Record GRANT or HELD until ${safe_until_us}; 0 means that the grant is lost
 * already, and is recorded as now. */
void hf_workload_record_safe_until(struct hf_workload *workload,
                                   enum hf_history_event_type type,
                                   uint64_t safe_until_us);

/* Record that the lock was held at ${at_us}, for workloads that are given no
 * safe-until. */
void hf_workload_record_seen(const struct hf_workload *workload,
                             uint64_t at_us);

/* Record HELD if ${safe_until_us} is not the one that was recorded last; 0
 * (lost) is not recorded. */
void hf_workload_record_renewal(struct hf_workload *workload,
                                uint64_t safe_until_us);

/* Convert a safe-until of the library to a time of the history. */
uint64_t hf_workload_safe_until_us(uint64_t safe_until_ms);

/* ---------------------------------------------------------------- states -- */

/* True once in ${count} times, at random. */
bool hf_workload_one_in(struct hf_workload *workload, uint64_t count);

/* Change to WAITING, without a token. */
void hf_workload_begin_wait(struct hf_workload *workload);

/* Change to HOLDING for a while, and show the nemesis that this worker holds
 * the lock. */
void hf_workload_begin_hold(struct hf_workload *workload);

/* Choose .until_ms at random. */
void hf_workload_choose_end(struct hf_workload *workload);

/* Change to RELEASING, and show the nemesis that the lock is not held. */
void hf_workload_end_hold(struct hf_workload *workload);

/* Change to IDLE for a while, and now and then for longer (.rest_one_in). */
void hf_workload_idle(struct hf_workload *workload);

/* Record GAVEUP and change to IDLE.  That is all if the workload is ending, or
 * if ${status} may pass, because an engine that is away is one of the faults;
 * else also print ${text} and set .exit_code. */
void hf_workload_give_up(struct hf_workload *workload, hf_status status,
                         const char *text);

/* Write to the resources of the locks with their tokens, and record whether
 * the writes were accepted. */
void hf_workload_write_fenced(struct hf_workload *workload);

/* A random time after which a wait is given up. */
uint64_t hf_workload_wait_limit_ms(struct hf_workload *workload);

#endif
