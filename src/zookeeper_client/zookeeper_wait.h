/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wait for a state of an object of a handle, such as a registration or a
 * cache.  It is on the stack of a call that waits; or it was started, and calls
 * back.
 *
 * The object has a list of the waits for it, and ends them: with HF_OK when it
 * gets the state that is waited for, and with an error when it never will or
 * when the object is freed.
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_WAIT_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_WAIT_H

#include "zookeeper_client/zookeeper_handle.h"

struct hf_zookeeper_wait;

/* The functions of an object that can be waited for.  All are called with the
 * lock. */
struct hf_zookeeper_wait_ops {
    /* Does the wait end at once?  If so, set ${why} to its outcome. */
    bool (*is_over)(const void *object, struct hf_error *why);
    /* Return the list of the waits for the object. */
    struct hf_zookeeper_wait **(*list)(void *object);
    /* The time of a wait is over: set ${why} to HF_ETIMEDOUT and a text. */
    void (*time_out)(const void *object, uint64_t wait_ms,
                     struct hf_error *why);
};

/* All fields are used with the monitor's lock. */
struct hf_zookeeper_wait {
    struct hf_zookeeper *zookeeper; /* if .started, the wait has a reference to
                                       it */
    const struct hf_zookeeper_wait_ops *ops;
    void *object; /* valid until .ended */
    uint64_t wait_ms;
    struct hf_zookeeper_timer deadline;
    bool ended;
    struct hf_error outcome; /* how it ended, if .ended */
    struct hf_waiter waiter; /* by which the caller waits, unless .started */
    bool started; /* no caller waits: the outcome goes to .done, by .callback */
    struct hf_done done;
    struct hf_callback callback;
    /* Links in the list of the object; .link is NULL if it is not in the
     * list. */
    struct hf_zookeeper_wait *next;
    struct hf_zookeeper_wait **link;
};

/* Wait for ${object} of ${zookeeper}, in the public call ${api_name}, which the
 * texts of errors name.  hf_zookeeper_wait_run() returns when the wait has
 * ended.  hf_zookeeper_wait_start() has ${done} called then; it fails with
 * HF_ECLOSED, HF_ENOMEM and HF_EFORKED, and then drops ${done}.  Called without
 * the lock. */
hf_status hf_zookeeper_wait_run(struct hf_zookeeper *zookeeper,
                                const char *api_name,
                                const struct hf_zookeeper_wait_ops *ops,
                                void *object, uint64_t wait_ms);
hf_status hf_zookeeper_wait_start(struct hf_zookeeper *zookeeper,
                                  const char *api_name,
                                  const struct hf_zookeeper_wait_ops *ops,
                                  void *object, uint64_t wait_ms,
                                  struct hf_done done);

/* End all waits in ${list} with ${why}.  Called with the lock. */
void hf_zookeeper_waits_end(struct hf_zookeeper_wait **list,
                            const struct hf_error *why);

/* To be called when the reconnect policy of ${zookeeper} has given up: end all
 * waits in ${list} with the reason.  A wait that begins later makes the session
 * connect again.  Called with the lock. */
void hf_zookeeper_waits_gave_up(struct hf_zookeeper *zookeeper,
                                struct hf_zookeeper_wait **list);

/* -------------------- one that is in no list, on the stack of its caller -- */

/* Begin ${wait}, of which only .ops and .object are set.  Called with the
 * lock. */
void hf_zookeeper_wait_begin(struct hf_zookeeper_wait *wait,
                             struct hf_zookeeper *zookeeper, uint64_t wait_ms);

/* End ${wait} with ${why}, unless it has ended: wake its caller, or have .done
 * called.  Called with the lock. */
void hf_zookeeper_wait_end(struct hf_zookeeper_wait *wait,
                           const struct hf_error *why);

/* Wait until ${wait} has ended, and return its outcome, with ${error}.  Called
 * with the lock, which is released meanwhile, as by hf_monitor_wait(). */
hf_status hf_zookeeper_wait_await(struct hf_zookeeper_wait *wait,
                                  struct hf_error *error);

#endif
