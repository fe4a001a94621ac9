/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers that wait for an answer.  One of them polls the loop; the others
 * sleep on a condition of their own until they are answered or it is their turn
 * to poll.  A caller that runs the loop itself needs no hop to another thread
 * between the notice of the engine and its answer.
 */
#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "monitor/monitor_private.h"
#include "thread/high_descriptor.h"

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

/* A caller in poll() is woken by .interrupt_fd, or by the end of the
 * descriptors; a caller that sleeps by its condition.  One that has not begun
 * to wait will find .done. */
void hf_waiter_answer(struct hf_monitor *m, struct hf_waiter *waiter,
                      hf_status status)
{
    uint64_t one = 1;
    ssize_t rc;

    assert(!waiter->done);
    waiter->done = true;
    waiter->status = status;
    if (waiter->polls && m->interrupt_fd >= 0) {
        rc = write(m->interrupt_fd, &one, sizeof(one));
        /* EBADF: the program closes descriptors just now. */
        assert(rc == sizeof(one) || errno == EAGAIN || errno == EBADF);
    } else if (waiter->waits) {
        pthread_cond_signal(&waiter->wake);
    }
}

/* Put ${waiter} at the head of the callers that wait. */
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

/* Take ${waiter} out, and let the next caller that waits poll, or else the
 * background thread. */
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

/* Create the loop and the eventfd that interrupts a poll(), if they are not
 * there.  False if there are no descriptors for them. */
static bool can_poll(struct hf_monitor *m)
{
    bool had_loop = hf_loop_is_there(&m->loop);

    if (m->descriptors != HF_DESCRIPTORS_OURS)
        return false;
    if (m->interrupt_fd < 0)
        m->interrupt_fd =
            hf_high_descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (m->interrupt_fd < 0 || hf_loop_get(&m->loop) == NULL)
        return false;
    if (!had_loop)
        hf_monitor_run_ready(m); /* a new loop is neither run nor armed */
    return true;
}

/* Does a poller poll?  Then a caller that has no descriptor to poll with can
 * sleep on its condition. */
static bool others_poll(const struct hf_monitor *m)
{
    return m->background.started || m->borrowed_loop.handles > 0;
}

/* Poll until the loop has something or ${waiter} is answered.  The interrupt is
 * read only when it was sent to this caller. */
static void poll_once(struct hf_monitor *m, struct hf_waiter *waiter)
{
    uint64_t interrupts;

    m->polled_by_caller = true;
    waiter->polls = true;
    hf_monitor_sleep(m, m->interrupt_fd);
    waiter->polls = false;
    if (waiter->done && m->interrupt_fd >= 0)
        (void)!read(m->interrupt_fd, &interrupts, sizeof(interrupts));
    m->polled_by_caller = false;
    m->caller_poll_count++;
}

/* Sleep until ${waiter} is answered or it is its turn to poll. */
static void sleep_until_woken(struct hf_monitor *m, struct hf_waiter *waiter)
{
    pthread_cond_wait(&waiter->wake, &m->lock);
    hf_monitor_locked(m);
}

/* A caller polls, but runs no callbacks: start the thread that does, if some
 * are queued.  If that fails, hf_monitor_leave() says so. */
static void start_needed_poller(struct hf_monitor *m)
{
    struct hf_error ignored;

    if (hf_monitor_needs_poller(m))
        (void)hf_monitor_ensure_poller(m, &ignored);
}

/* Each round of the loop sleeps until it is this caller's turn to poll, or
 * polls once.  Then it processes what is ready, because that may answer
 * ${waiter}.  Before the first round only what was asked for is processed:
 * poll() returns at once if there is more. */
hf_status hf_monitor_wait(struct hf_monitor *m, struct hf_waiter *waiter,
                          struct hf_error *error)
{
    hf_status status = HF_OK;

    if (waiter->done)
        return waiter->status;
    add_waiter(m, waiter);
    for (hf_monitor_run_asked(m); !waiter->done; hf_monitor_run_ready(m)) {
        start_needed_poller(m);
        if (m->polled_by_caller) {
            sleep_until_woken(m, waiter);
        } else if (can_poll(m)) {
            if (!waiter->done)
                poll_once(m, waiter);
        } else if (others_poll(m)) {
            sleep_until_woken(m, waiter);
        } else {
            status = hf_error_set(error, HF_ELIMIT,
                                  "no descriptors to wait with; raise the "
                                  "limit on open files");
            break;
        }
    }
    remove_waiter(m, waiter);
    return waiter->done ? waiter->status : status;
}

void hf_monitor_await_callbacks(struct hf_monitor *m)
{
    hf_callback_queue_await(&m->callback_queue, &m->lock);
    hf_monitor_locked(m);
}

void hf_monitor_await_callback(struct hf_monitor *m, struct hf_waiter **waiter)
{
    struct hf_waiter waiter_here = {.done = false};
    struct hf_error ignored;

    if (hf_monitor_may_block(m, &ignored) != HF_OK)
        return;
    *waiter = &waiter_here;
    (void)hf_monitor_wait(m, &waiter_here, &ignored);
    if (!waiter_here.done)
        hf_monitor_await_callbacks(m); /* no descriptor to wait with */
    *waiter = NULL;
}
