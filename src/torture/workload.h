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
    HF_WORKLOAD_TOOL,      /* the mutex, used through holdfast run */
    HF_WORKLOAD_REENTRANT, /* the mutex, used as a reentrant one */
    HF_WORKLOAD_KEPT,      /* another mutex, whose ticket some workers keep */
    HF_WORKLOAD_RWLOCK,
    HF_WORKLOAD_SEMAPHORE,
    HF_WORKLOAD_SEVERAL, /* one of two mutexes, or both at one time */
    HF_WORKLOAD_ELECTION,
};
#define HF_WORKLOADS 8

/* The most locks of one workload. */
#define HF_WORKLOAD_LOCKS 2

/* A workload is asked to advance at least this often. */
#define HF_WORKLOAD_POLL_MS 20

/* What a lock protects.  It refuses a write whose token is less than the
 * greatest one that it has seen (fencing, Kleppmann 2016).  It is in memory
 * that all workers share. */
struct hf_resource {
    _Atomic uint64_t token;  /* the greatest token that was seen */
    _Atomic unsigned holder; /* number of a worker that holds the lock, for
                                the nemesis; 0: none */
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
    const char *name; /* name of the client in the history */
    unsigned number;  /* among all workers, from 1 */
    int history;      /* the pipe that events are written to */
};

/* One of the locks of a workload. */
struct hf_workload_lock {
    const char *name;
    struct hf_resource *resource;
    bool wanted;    /* the current attempt wants this lock */
    uint64_t token; /* token of the grant; 0: none */
};

struct hf_workload {
    const struct hf_workload_ops *ops;
    const struct hf_worker *worker;
    struct hf_random random; /* seeded by the worker */
    struct hf_workload_lock locks[HF_WORKLOAD_LOCKS];
    unsigned lock_count;
    enum hf_workload_state state;
    bool ending;            /* the worker is ending: release, and acquire
                               nothing more */
    uint64_t until_ms;      /* when to leave the state, on CLOCK_BOOTTIME */
    uint64_t rest_one_in;   /* once in this many times that it becomes IDLE
                               it rests for longer; 0: never */
    uint64_t safe_until_us; /* the safe-until that was recorded last */
    int fd;        /* readable when there is something to do; -1: none */
    int exit_code; /* exit status of a failure that was printed and that
                      trying again does not mend; 0: none */
};

/* The operations of a kind of workload. */
struct hf_workload_ops {
    /* Open what the workload needs.  .close() is called even if this fails. */
    hf_status (*open)(struct hf_workload *workload, struct hf_error *error);
    /* Do what is due in the current state. */
    void (*advance)(struct hf_workload *workload);
    void (*close)(struct hf_workload *workload);
};

/* Make a workload of one kind: a struct that begins with a struct hf_workload.
 * It is IDLE.  The caller sets the names and resources of its locks before
 * .open(), and calls hf_workload_free() after .close().  Returns NULL if there
 * is no memory. */
struct hf_workload *hf_workload_new_lock(enum hf_workload_kind kind);
struct hf_workload *hf_workload_new_election(void);
struct hf_workload *hf_workload_new_tool(void);
/* ${keeps}: the mutex keeps its ticket when it is unlocked. */
struct hf_workload *hf_workload_new_reentrant(bool keeps);
void hf_workload_free(struct hf_workload *workload);

/* ---------------------------------------------------------------- events -- */

/* Return the current time as a time of the history. */
uint64_t hf_workload_now_us(void);

/* Record an event of ${type} for each lock that is wanted. */
void hf_workload_record(const struct hf_workload *workload,
                        enum hf_history_event_type type);

/* Record WANT, as ${kind}. */
void hf_workload_record_want(const struct hf_workload *workload,
                             enum hf_kind kind, uint32_t permits,
                             uint32_t limit);

/* Record GRANT or HELD until ${safe_until_us}.  If that is 0, the grant is lost
 * already, and the current time is recorded. */
void hf_workload_record_safe_until(struct hf_workload *workload,
                                   enum hf_history_event_type type,
                                   uint64_t safe_until_us);

/* Record that the lock was held at ${at_us}.  For workloads that get no
 * safe-until. */
void hf_workload_record_seen(const struct hf_workload *workload,
                             uint64_t at_us);

/* Record HELD if ${safe_until_us} differs from the one that was recorded last.
 * 0 (lost) is not recorded. */
void hf_workload_record_renewal(struct hf_workload *workload,
                                uint64_t safe_until_us);

/* Convert a safe-until of the library to a time of the history. */
uint64_t hf_workload_safe_until_us(uint64_t safe_until_ms);

/* ---------------------------------------------------------------- states -- */

/* Return true once in ${count} times, at random. */
bool hf_workload_one_in(struct hf_workload *workload, uint64_t count);

/* Change to WAITING, and forget the tokens. */
void hf_workload_begin_wait(struct hf_workload *workload);

/* Change to HOLDING for a while, and publish for the nemesis that this worker
 * holds the lock. */
void hf_workload_begin_hold(struct hf_workload *workload);

/* Choose .until_ms at random. */
void hf_workload_choose_end(struct hf_workload *workload);

/* Change to RELEASING, and publish for the nemesis that the lock is not held.
 */
void hf_workload_end_hold(struct hf_workload *workload);

/* Change to IDLE for a while; once in .rest_one_in times for longer. */
void hf_workload_idle(struct hf_workload *workload);

/* Record GAVEUP and change to IDLE.  If the workload is not ending and
 * ${status} will not pass, also print ${text} and set .exit_code.  A status
 * that may pass is no failure, because an engine that is away is one of the
 * faults. */
void hf_workload_give_up(struct hf_workload *workload, hf_status status,
                         const char *text);

/* Write to the resources of the locks with their tokens, and record whether
 * the writes were accepted. */
void hf_workload_write_fenced(struct hf_workload *workload);

/* Return a random time after which a wait is given up. */
uint64_t hf_workload_wait_limit_ms(struct hf_workload *workload);

#endif
