/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that waits for the state of an object of a handle, such as a
 * registration or a cache, and not for the end of an operation.  It is on the
 * stack of its caller, or was started and calls back.
 *
 * The object has a list of those that wait for it, and ends them: with HF_OK
 * when its state is the one that they wait for, and with an error when it never
 * will be or the object is freed.
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_WAIT_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_WAIT_H

#include "zookeeper_client/zookeeper_handle.h"

struct hf_zookeeper_wait;

/* What the object does for those that wait for it.  All with the lock. */
struct hf_zookeeper_wait_ops {
    /* Is there nothing to wait for?  Then ${why} says how the wait ends. */
    bool (*is_over)(const void *object, struct hf_error *why);
    /* The list of the waits for the object. */
    struct hf_zookeeper_wait **(*list)(void *object);
    /* The time of a wait is over: set ${why} to HF_ETIMEDOUT, with a text. */
    void (*time_out)(const void *object, uint64_t wait_ms,
                     struct hf_error *why);
};

/* All fields under the monitor's lock. */
struct hf_zookeeper_wait {
    struct hf_zookeeper *zookeeper; /* if .started, with a reference */
    const struct hf_zookeeper_wait_ops *ops;
    void *object; /* valid until .ended */
    uint64_t wait_ms;
    struct hf_zookeeper_timer deadline;
    bool ended;
    struct hf_error outcome; /* how it ended, if .ended */
    struct hf_waiter waiter; /* of the caller, unless .started */
    bool started; /* no caller waits: the end goes to .done, by .callback */
    struct hf_done done;
    struct hf_callback callback;
    /* In the list of the object; .link is NULL if it is not in it. */
    struct hf_zookeeper_wait *next;
    struct hf_zookeeper_wait **link;
};

/* Wait for ${object} of ${zookeeper} in the public call ${api_name}, which
 * errors name; or have ${done} called.  hf_zookeeper_wait_start() fails with
 * HF_ECLOSED, HF_ENOMEM and HF_EFORKED, and then drops ${done}.  Without the
 * lock. */
hf_status hf_zookeeper_wait_run(struct hf_zookeeper *zookeeper,
                                const char *api_name,
                                const struct hf_zookeeper_wait_ops *ops,
                                void *object, uint64_t wait_ms);
hf_status hf_zookeeper_wait_start(struct hf_zookeeper *zookeeper,
                                  const char *api_name,
                                  const struct hf_zookeeper_wait_ops *ops,
                                  void *object, uint64_t wait_ms,
                                  struct hf_done done);

/* End all in ${list}.  With the lock. */
void hf_zookeeper_waits_end(struct hf_zookeeper_wait **list,
                            const struct hf_error *why);

/* The reconnect policy of ${zookeeper} has given up: end all in ${list} with
 * the reason.  A wait that begins later has the session connect again.  With
 * the lock. */
void hf_zookeeper_waits_gave_up(struct hf_zookeeper *zookeeper,
                                struct hf_zookeeper_wait **list);

/* -------------------- one that is in no list, on the stack of its caller -- */

/* Begin ${wait}, which is zeroed but for .ops and .object.  With the lock. */
void hf_zookeeper_wait_begin(struct hf_zookeeper_wait *wait,
                             struct hf_zookeeper *zookeeper, uint64_t wait_ms);

/* End ${wait} with ${why}, unless it has ended: answer its caller, or have
 * .done called.  With the lock. */
void hf_zookeeper_wait_end(struct hf_zookeeper_wait *wait,
                           const struct hf_error *why);

/* Wait for the end, and return how it ended, with ${error}.  With the lock, as
 * hf_monitor_wait(). */
hf_status hf_zookeeper_wait_await(struct hf_zookeeper_wait *wait,
                                  struct hf_error *error);

#endif
