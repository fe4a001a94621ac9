/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deputy's states, and the timer that wakes it.
 */
#include "monitor/deputy.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "thread/high_descriptor.h"
#include "thread/thread.h"

static bool has_thread(const struct hf_deputy *deputy)
{
    return deputy->state != HF_DEPUTY_NONE &&
           deputy->state != HF_DEPUTY_FAILED &&
           deputy->state != HF_DEPUTY_ABANDONED;
}

/* Have the timer fire in ${ns}; 0: not at all. */
static void set_timer(const struct hf_deputy *deputy, long ns)
{
    const struct itimerspec when = {.it_value = {.tv_nsec = ns}};
    int rc = timerfd_settime(deputy->timer, 0, &when, NULL);

    /* Unless the program closes descriptors just now. */
    assert(rc == 0 || errno == EBADF || errno == EINVAL);
    (void)rc;
}

bool hf_deputy_start(struct hf_deputy *deputy, void *(*work)(void *arg),
                     void *arg)
{
    if (deputy->state != HF_DEPUTY_NONE && deputy->state != HF_DEPUTY_FAILED)
        return true;
    deputy->timer = hf_high_descriptor(
        timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
    if (deputy->timer < 0)
        return false;
    if (hf_thread_start(&deputy->thread, work, arg) != 0) {
        close(deputy->timer);
        return false;
    }
    deputy->state = HF_DEPUTY_ASLEEP;
    return true;
}

/* A timer that is set already stays: the thread has not slept since. */
void hf_deputy_watch(struct hf_deputy *deputy)
{
    if (deputy->state != HF_DEPUTY_ASLEEP)
        return;
    deputy->state = HF_DEPUTY_WATCHES;
    set_timer(deputy, HF_DEPUTY_AFTER_MS * 1000000L);
}

void hf_deputy_end_poll(struct hf_deputy *deputy)
{
    if (deputy->state != HF_DEPUTY_POLLS)
        return;
    deputy->state = HF_DEPUTY_ASLEEP;
    set_timer(deputy, 1);
}

void hf_deputy_rest(struct hf_deputy *deputy)
{
    if (deputy->state != HF_DEPUTY_WATCHES)
        return;
    deputy->state = HF_DEPUTY_ASLEEP;
    set_timer(deputy, 0);
}

void hf_deputy_stop(struct hf_deputy *deputy, pthread_mutex_t *lock)
{
    if (!has_thread(deputy))
        return;
    deputy->state = HF_DEPUTY_STOPS;
    set_timer(deputy, 1);
    pthread_mutex_unlock(lock);
    pthread_join(deputy->thread, NULL);
    pthread_mutex_lock(lock);
    if (deputy->state == HF_DEPUTY_ABANDONED)
        return;
    close(deputy->timer);
    deputy->state = HF_DEPUTY_NONE;
}

void hf_deputy_abandon(struct hf_deputy *deputy)
{
    /* In HF_DEPUTY_STOPS somebody joins it already. */
    if (has_thread(deputy) && deputy->state != HF_DEPUTY_STOPS)
        (void)pthread_detach(deputy->thread);
    deputy->state = HF_DEPUTY_ABANDONED;
}

void hf_deputy_sleep(const struct hf_deputy *deputy, int guard,
                     pthread_mutex_t *lock)
{
    struct pollfd polled[2] = {{.fd = deputy->timer, .events = POLLIN},
                               {.fd = guard, .events = POLLIN}};

    pthread_mutex_unlock(lock);
    (void)poll(polled, 2, -1);
    pthread_mutex_lock(lock);
}

/* A timer that fired for a state that is over by now means nothing. */
void hf_deputy_wake(struct hf_deputy *deputy)
{
    uint64_t count;
    bool fired = deputy->state != HF_DEPUTY_ABANDONED &&
                 read(deputy->timer, &count, sizeof(count)) == sizeof(count);

    if (fired && deputy->state == HF_DEPUTY_WATCHES)
        deputy->state = HF_DEPUTY_POLLS;
}

void hf_deputy_after_fork(const struct hf_deputy *deputy)
{
    if (has_thread(deputy))
        close(deputy->timer);
}
