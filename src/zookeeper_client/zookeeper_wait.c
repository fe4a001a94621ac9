/* SPDX-License-Identifier: Apache-2.0 */
/* Begins waits, ends them, and waits for their end. */
#include "zookeeper_client/zookeeper_wait.h"

#include <assert.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "operation/done.h"

/* ------------------------------------------------------------------- end -- */

/* Stop the timer of ${wait} and take it out of its list, because it has ended
 * or its caller does not wait any more. */
static void leave(struct hf_zookeeper_wait *wait)
{
    hf_zookeeper_timer_stop(&wait->deadline);
    if (wait->link == NULL)
        return;
    *wait->link = wait->next;
    if (wait->next != NULL)
        wait->next->link = wait->link;
    wait->link = NULL;
}

void hf_zookeeper_wait_end(struct hf_zookeeper_wait *wait,
                           const struct hf_error *why)
{
    struct hf_monitor *monitor = wait->zookeeper->monitor;

    if (wait->ended)
        return;
    leave(wait);
    wait->ended = true;
    wait->outcome = *why;
    if (wait->started)
        hf_monitor_queue(monitor, &wait->callback);
    else
        hf_waiter_answer(monitor, &wait->waiter, why->status);
}

void hf_zookeeper_waits_end(struct hf_zookeeper_wait **list,
                            const struct hf_error *why)
{
    while (*list != NULL)
        hf_zookeeper_wait_end(*list, why);
}

void hf_zookeeper_waits_gave_up(struct hf_zookeeper *zookeeper,
                                struct hf_zookeeper_wait **list)
{
    const struct hf_connectivity *connectivity =
        &zookeeper->session->connectivity;
    struct hf_error why;

    (void)hf_error_set(&why, hf_connectivity_status(connectivity),
                       "no server was reached: %s", connectivity->error);
    hf_zookeeper_waits_end(list, &why);
}

/* The .fn of the deadline. */
static void time_out(void *arg)
{
    struct hf_zookeeper_wait *wait = arg;
    struct hf_error why;

    wait->ops->time_out(wait->object, wait->wait_ms, &why);
    assert(why.status == HF_ETIMEDOUT);
    hf_zookeeper_wait_end(wait, &why);
}

/* The .run of the callback of a wait that was started: report the end. */
static void run_done(void *arg)
{
    struct hf_zookeeper_wait *wait = arg;
    struct hf_zookeeper *zookeeper = wait->zookeeper;
    struct hf_monitor *monitor = zookeeper->monitor;
    const struct hf_result result = {.status = wait->outcome.status,
                                     .text = wait->outcome.text};

    assert(wait->ended && wait->started);
    hf_done_call(monitor, &wait->done, &result);
    if (hf_fork_is_child(&monitor->fork))
        return;
    hf_free(wait);
    hf_zookeeper_dereference(zookeeper);
}

/* ----------------------------------------------------------------- begin -- */

void hf_zookeeper_wait_begin(struct hf_zookeeper_wait *wait,
                             struct hf_zookeeper *zookeeper, uint64_t wait_ms)
{
    wait->zookeeper = zookeeper;
    wait->wait_ms = wait_ms;
    wait->deadline.fn = time_out;
    wait->deadline.arg = wait;
    wait->callback = (struct hf_callback){.run = run_done, .arg = wait};
    hf_zookeeper_timer_set(zookeeper, &wait->deadline,
                           hf_deadline_ms(hf_now_ms(), wait_ms));
}

/* Begin ${wait} in the list of its object.  It may end at once. */
static void join(struct hf_zookeeper_wait *wait, struct hf_zookeeper *zookeeper,
                 uint64_t wait_ms)
{
    const struct hf_zookeeper_wait_ops *ops = wait->ops;
    struct hf_zookeeper_wait **list = ops->list(wait->object);
    struct hf_error why;

    hf_zookeeper_wait_begin(wait, zookeeper, wait_ms);
    if (ops->is_over(wait->object, &why)) {
        hf_zookeeper_wait_end(wait, &why);
        return;
    }
    wait->link = list;
    wait->next = *list;
    if (wait->next != NULL)
        wait->next->link = &wait->next;
    *list = wait;
    if (wait_ms == 0)
        time_out(wait);
    else
        hf_zookeeper_connect_again(zookeeper);
}

hf_status hf_zookeeper_wait_await(struct hf_zookeeper_wait *wait,
                                  struct hf_error *error)
{
    hf_status status =
        hf_monitor_wait(wait->zookeeper->monitor, &wait->waiter, error);

    leave(wait);
    if (wait->ended)
        *error = wait->outcome;
    return status;
}

/* ---------------------------------------------------------- public calls -- */

/* The wait holds a reference to the handle, because another thread may free the
 * object.  That ends the wait, and may drop the last other reference. */
hf_status hf_zookeeper_wait_run(struct hf_zookeeper *zookeeper,
                                const char *api_name,
                                const struct hf_zookeeper_wait_ops *ops,
                                void *object, uint64_t wait_ms)
{
    struct hf_zookeeper_wait wait = {.ops = ops, .object = object};
    struct hf_monitor *monitor = zookeeper->monitor;
    struct hf_error error;
    hf_status status;

    if (hf_monitor_may_block(monitor, &error) != HF_OK)
        return hf_fail(api_name, &error);
    if ((status = hf_monitor_enter(monitor, api_name)) != HF_OK)
        return status;
    hf_zookeeper_reference(zookeeper);
    join(&wait, zookeeper, wait_ms);
    if ((status = hf_zookeeper_wait_await(&wait, &error)) != HF_OK)
        (void)hf_fail(api_name, &error);
    hf_monitor_leave(monitor);
    hf_zookeeper_release(zookeeper);
    return status;
}

/* With the lock. */
static hf_status start(struct hf_zookeeper *zookeeper,
                       const struct hf_zookeeper_wait_ops *ops, void *object,
                       uint64_t wait_ms, struct hf_done done,
                       struct hf_error *error)
{
    struct hf_zookeeper_wait *wait;

    if (hf_zookeeper_is_closing(zookeeper))
        return hf_monitor_explain_closed(zookeeper->monitor, "handle", error);
    if ((wait = hf_alloc(sizeof *wait)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    *wait = (struct hf_zookeeper_wait){
        .ops = ops, .object = object, .started = true, .done = done};
    hf_zookeeper_reference(zookeeper);
    join(wait, zookeeper, wait_ms);
    return HF_OK;
}

hf_status hf_zookeeper_wait_start(struct hf_zookeeper *zookeeper,
                                  const char *api_name,
                                  const struct hf_zookeeper_wait_ops *ops,
                                  void *object, uint64_t wait_ms,
                                  struct hf_done done)
{
    hf_status status = hf_monitor_enter(zookeeper->monitor, api_name);
    struct hf_error error;

    if (status == HF_OK) {
        status = start(zookeeper, ops, object, wait_ms, done, &error);
        if (status != HF_OK)
            (void)hf_fail(api_name, &error);
        hf_monitor_leave(zookeeper->monitor);
    }
    if (status != HF_OK)
        hf_done_drop(&done);
    return status;
}
