/* SPDX-License-Identifier: Apache-2.0 */
/* Callers that wait for an answer: one polls, the others sleep until they are
 * answered or it is their turn to poll. */
#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/error.h"
#include "monitor/monitor_private.h"

hf_status hf_monitor_may_block(const struct hf_monitor *m,
                               struct hf_error *error)
{
    hf_status status = hf_fork_check(&m->fork, error);

    if (status == HF_OK && hf_callback_inside())
        status = hf_error_set(error, HF_EREENTRANT,
                              "it waits, and was called in a callback, where "
                              "it could only wait for itself; call it on "
                              "another thread, or begin it with the call that "
                              "ends in _start");
    else if (status == HF_OK && hf_borrowed_loop_is_current(&m->borrowed_loop))
        status = hf_error_set(error, HF_EREENTRANT,
                              "it waits, and was called on the thread of the "
                              "borrowed loop, where it could only wait for "
                              "itself; call it on another thread, or begin it "
                              "with the call that ends in _start");
    return status;
}

void hf_waiter_answer(struct hf_monitor *m, struct hf_waiter *waiter,
                      hf_status status)
{
    uint64_t one = 1;
    ssize_t rc;

    assert(!waiter->done);
    waiter->done = true;
    waiter->status = status;
    if (waiter->polls) {
        rc = write(m->interrupt_fd, &one, sizeof(one));
        assert(rc == sizeof(one) || errno == EAGAIN);
    } else if (waiter->waits) {
        pthread_cond_signal(&waiter->wake);
    }
}

static void add_waiter(struct hf_monitor *m, struct hf_waiter *waiter)
{
    pthread_cond_init(&waiter->wake, NULL);
    waiter->waits = true;
    waiter->link = &m->waiters;
    waiter->next = m->waiters;
    if (waiter->next != NULL)
        waiter->next->link = &waiter->next;
    m->waiters = waiter;
}

/* The next caller that waits polls now, else the background thread. */
static void remove_waiter(struct hf_monitor *m, struct hf_waiter *waiter)
{
    *waiter->link = waiter->next;
    if (waiter->next != NULL)
        waiter->next->link = waiter->link;
    pthread_cond_destroy(&waiter->wake);
    if (m->polled_by_caller)
        return;
    if (m->waiters != NULL)
        pthread_cond_signal(&m->waiters->wake);
    else
        hf_background_unpark(&m->background);
}

static bool can_poll(struct hf_monitor *m)
{
    bool had_loop = m->loop.made;

    if (m->interrupt_fd < 0)
        m->interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (m->interrupt_fd < 0 || hf_loop_get(&m->loop) == NULL)
        return false;
    if (!had_loop)
        hf_monitor_run_ready(m); /* it is neither run nor armed yet */
    return true;
}

/* A caller for which no descriptor is left leaves polling to the drivers. */
static bool others_poll(const struct hf_monitor *m)
{
    return m->background.started || m->borrowed_loop.handles > 0;
}

static void poll_once(struct hf_monitor *m, struct hf_waiter *waiter)
{
    uint64_t interrupts;

    m->polled_by_caller = true;
    waiter->polls = true;
    hf_monitor_sleep(m, m->interrupt_fd);
    waiter->polls = false;
    if (waiter->done)
        (void)!read(m->interrupt_fd, &interrupts, sizeof(interrupts));
    m->polled_by_caller = false;
    m->caller_poll_count++;
}

hf_status hf_monitor_wait(struct hf_monitor *m, struct hf_waiter *waiter)
{
    hf_status status = HF_OK;

    if (waiter->done)
        return waiter->status;
    add_waiter(m, waiter);
    for (hf_monitor_run_ready(m); !waiter->done; hf_monitor_run_ready(m)) {
        if (m->polled_by_caller) {
            pthread_cond_wait(&waiter->wake, &m->lock);
        } else if (can_poll(m)) {
            if (!waiter->done)
                poll_once(m, waiter);
        } else if (others_poll(m)) {
            pthread_cond_wait(&waiter->wake, &m->lock);
        } else {
            status = HF_ELIMIT;
            break;
        }
    }
    remove_waiter(m, waiter);
    return waiter->done ? waiter->status : status;
}

void hf_monitor_await_callback(struct hf_monitor *m, struct hf_waiter **waiter)
{
    struct hf_waiter waiter_here = {.done = false};
    struct hf_error ignored;

    if (hf_monitor_may_block(m, &ignored) != HF_OK)
        return;
    *waiter = &waiter_here;
    (void)hf_monitor_wait(m, &waiter_here);
    if (!waiter_here.done)
        hf_callback_queue_await(&m->callback_queue,
                                &m->lock); /* nothing to wait with */
    *waiter = NULL;
}
