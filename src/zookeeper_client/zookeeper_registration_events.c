/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user of a registration is notified of, and the calls that wait.
 *
 * One callback serves all events.  It reads the registration when it runs, and
 * reports what has changed since the last report, in an order that makes sense:
 * the loss of a node comes before the next one.
 */
#include <assert.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "operation/done.h"
#include "zookeeper_client/zookeeper_registration.h"

/* -------------------------------------------------------------- lifetime -- */

void hf_registration_reference(struct hf_zookeeper_registration *r)
{
    r->references++;
}

void hf_registration_dereference(struct hf_zookeeper_registration *r)
{
    struct hf_zookeeper *zookeeper = r->zookeeper;

    assert(r->references > 0);
    if (--r->references > 0)
        return;
    assert(r->link == NULL && r->watch == NULL && r->waits == NULL);
    hf_free(r->data);
    hf_free(r->acls);
    hf_free(r);
    hf_zookeeper_dereference(zookeeper);
}

/* ------------------------------------------------------------- reporting -- */

/* Is a node gone that the user was notified of? */
static bool is_loss_due(const struct hf_zookeeper_registration *r)
{
    return r->reported &&
           (!r->registered || r->stat.czxid != r->reported_czxid);
}

static bool is_registered_due(const struct hf_zookeeper_registration *r)
{
    return !r->reported && r->registered;
}

void hf_registration_notify(struct hf_zookeeper_registration *r)
{
    if (r->freed || r->on_event.fn == NULL || r->event_callback.queued)
        return;
    if (!is_loss_due(r) && !is_registered_due(r) && !r->blocked_pending &&
        !r->failed_pending)
        return;
    hf_registration_reference(r);
    hf_monitor_queue(r->zookeeper->monitor, &r->event_callback);
}

void hf_registration_discard_events(struct hf_zookeeper_registration *r)
{
    r->freed = true;
    if (!r->event_callback.queued)
        return;
    hf_callback_queue_remove(&r->zookeeper->monitor->callback_queue,
                             &r->event_callback);
    hf_registration_dereference(r);
}

/* Set ${event} to what is to be reported first, and note that it was. */
static bool take_event(struct hf_zookeeper_registration *r,
                       struct hf_zookeeper_registration_event *event,
                       struct hf_error *why)
{
    *event = (struct hf_zookeeper_registration_event){.path = r->path};
    *why = r->why;
    if (is_loss_due(r)) {
        event->kind = HF_ZOOKEEPER_UNREGISTERED;
        *why = r->loss;
        r->reported = false;
    } else if (is_registered_due(r)) {
        event->kind = HF_ZOOKEEPER_REGISTERED;
        *why = (struct hf_error){.status = HF_OK};
        r->reported = true;
        r->reported_czxid = r->stat.czxid;
    } else if (r->blocked_pending) {
        event->kind = HF_ZOOKEEPER_REGISTRATION_BLOCKED;
        *why = r->blocked;
        r->blocked_pending = false;
    } else if (r->failed_pending) {
        event->kind = HF_ZOOKEEPER_REGISTRATION_FAILED;
        r->failed_pending = false;
    } else {
        return false;
    }
    event->status = why->status;
    event->text = why->text;
    event->has_stat = why->status == HF_OK || why->status == HF_EEXISTS;
    if (event->has_stat)
        event->stat = r->stat;
    return true;
}

/* Call .drop, which the free has left to the callback that runs.  It counts as
 * part of that, so that the free, which may wait for the removal, waits for it
 * too.  Releases the lock meanwhile. */
static void drop_after_free(struct hf_zookeeper_registration *r)
{
    const struct hf_zookeeper_on_registration on_event = r->on_event;
    struct hf_monitor *monitor = r->zookeeper->monitor;

    r->on_event.drop = NULL;
    if (on_event.drop == NULL)
        return;
    hf_monitor_unlock(monitor);
    on_event.drop(on_event.arg);
    hf_monitor_lock(monitor);
}

/* The .run of the callback: report one event, and queue it again if there is
 * another. */
static void run_event(void *arg)
{
    struct hf_zookeeper_registration *r = arg;
    struct hf_monitor *monitor = r->zookeeper->monitor;
    struct hf_zookeeper_registration_event event;
    struct hf_error why;

    if (take_event(r, &event, &why)) {
        r->notifying = true;
        hf_monitor_unlock(monitor);
        r->on_event.fn(r->on_event.arg, r, &event);
        hf_monitor_lock(monitor);
        if (hf_fork_is_child(&monitor->fork))
            return;
        if (r->freed && r->free_waiter == NULL)
            drop_after_free(r);
        r->notifying = false;
    }
    if (r->free_waiter != NULL)
        hf_waiter_answer(monitor, r->free_waiter, HF_OK);
    hf_registration_notify(r);
    hf_registration_dereference(r);
}

void hf_registration_events_init(struct hf_zookeeper_registration *r)
{
    r->event_callback = (struct hf_callback){.run = run_event, .arg = r};
}

/* ----------------------------------------------------------------- waits -- */

/* The .fn of a deadline. */
static void expire(void *arg)
{
    struct hf_registration_wait *wait = arg;
    const struct hf_zookeeper_registration *r = wait->registration;
    const char *outage = hf_zookeeper_connection_error(r->zookeeper);
    const char *error = r->why.text[0] != '\0' ? r->why.text : outage;
    struct hf_error why;

    (void)hf_error_set(&why, HF_ETIMEDOUT,
                       "%.200s was not registered within %llu ms%s%s", r->path,
                       (unsigned long long)wait->wait_ms,
                       error[0] != '\0' ? ": " : "", error);
    hf_registration_wait_end(wait, &why);
}

/* The .run of the callback of one that was started: report the end. */
static void run_done(void *arg)
{
    struct hf_registration_wait *wait = arg;
    struct hf_zookeeper *zookeeper = wait->zookeeper;
    struct hf_monitor *monitor = zookeeper->monitor;
    const struct hf_result result = {.status = wait->outcome.status,
                                     .text = wait->outcome.text};

    hf_done_call(monitor, &wait->done, &result);
    if (hf_fork_is_child(&monitor->fork))
        return;
    hf_free(wait);
    hf_zookeeper_dereference(zookeeper);
}

void hf_registration_wait_begin(struct hf_zookeeper_registration *r,
                                struct hf_registration_wait *wait,
                                uint64_t wait_ms)
{
    wait->zookeeper = r->zookeeper;
    wait->registration = r;
    wait->wait_ms = wait_ms;
    wait->deadline.fn = expire;
    wait->deadline.arg = wait;
    wait->callback = (struct hf_callback){.run = run_done, .arg = wait};
    hf_zookeeper_timer_set(r->zookeeper, &wait->deadline,
                           hf_deadline_ms(hf_now_ms(), wait_ms));
}

void hf_registration_wait_add(struct hf_registration_wait *wait)
{
    struct hf_zookeeper_registration *r = wait->registration;

    wait->link = &r->waits;
    wait->next = r->waits;
    if (wait->next != NULL)
        wait->next->link = &wait->next;
    r->waits = wait;
}

void hf_registration_wait_leave(struct hf_registration_wait *wait)
{
    hf_zookeeper_timer_stop(&wait->deadline);
    if (wait->link == NULL)
        return;
    *wait->link = wait->next;
    if (wait->next != NULL)
        wait->next->link = wait->link;
    wait->link = NULL;
}

void hf_registration_wait_end(struct hf_registration_wait *wait,
                              const struct hf_error *why)
{
    struct hf_monitor *monitor = wait->zookeeper->monitor;

    if (wait->ended)
        return;
    hf_registration_wait_leave(wait);
    wait->ended = true;
    wait->outcome = *why;
    if (wait->started)
        hf_monitor_queue(monitor, &wait->callback);
    else
        hf_waiter_answer(monitor, &wait->waiter, why->status);
}

void hf_registration_waits_end(struct hf_zookeeper_registration *r,
                               const struct hf_error *why)
{
    while (r->waits != NULL)
        hf_registration_wait_end(r->waits, why);
}
