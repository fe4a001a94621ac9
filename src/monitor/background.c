/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The background thread: its states, how it is woken in each of them, and its
 * lifetime.
 */
#include "monitor/background.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "thread/high_descriptor.h"
#include "thread/thread.h"

/* How long the thread leaves polling to callers before it checks whether they
 * still come.  It is not a deadline of anything, because callers poll
 * meanwhile. */
#define STANDBY_NS 5000000L

/* ---------------------------------------------------- the thread itself -- */

/* pthread_cond_timedwait() takes an instant. */
void hf_background_stand_by(struct hf_background *background,
                            pthread_mutex_t *lock)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += STANDBY_NS;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    background->state = HF_BACKGROUND_STANDBY;
    (void)pthread_cond_timedwait(&background->wake, lock, &until);
    background->state = HF_BACKGROUND_BUSY;
}

void hf_background_park(struct hf_background *background, pthread_mutex_t *lock)
{
    background->state = HF_BACKGROUND_PARKED;
    (void)pthread_cond_wait(&background->wake, lock);
    background->state = HF_BACKGROUND_BUSY;
}

void hf_background_begin_poll(struct hf_background *background)
{
    background->state = HF_BACKGROUND_POLLING;
}

void hf_background_end_poll(struct hf_background *background)
{
    uint64_t count;

    background->state = HF_BACKGROUND_BUSY;
    while (background->wake_fd >= 0 &&
           read(background->wake_fd, &count, sizeof(count)) < 0 &&
           errno == EINTR)
        ;
}

/* ------------------------------------------------------------- lifetime -- */

/* A condition whose timeouts are on CLOCK_MONOTONIC. */
static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* The thread first takes the lock, which the caller holds. */
hf_status hf_background_start(struct hf_background *background,
                              void *(*work)(void *arg), void *arg)
{
    assert(!background->started);
    background->wake_fd =
        hf_high_descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (background->wake_fd < 0)
        return HF_ELIMIT;
    init_condition(&background->wake);
    background->state = HF_BACKGROUND_BUSY;
    background->started = true;
    if (hf_thread_start(&background->thread, work, arg) != 0)
        goto close_fd;
    return HF_OK;
close_fd:
    background->started = false;
    pthread_cond_destroy(&background->wake);
    close(background->wake_fd);
    return HF_ELIMIT;
}

void hf_background_free(struct hf_background *background)
{
    assert(background->finished);
    pthread_cond_destroy(&background->wake);
    close(background->wake_fd);
}

void hf_background_after_fork(struct hf_background *background)
{
    if (background->started)
        close(background->wake_fd);
}

/* --------------------------------------------------------------- waking -- */

/* A busy thread checks everything before it sleeps, so it needs no wake-up. */
void hf_background_wake(struct hf_background *background)
{
    uint64_t one = 1;
    ssize_t rc;

    if (!background->started || background->state == HF_BACKGROUND_BUSY)
        return;
    if (background->state == HF_BACKGROUND_POLLING) {
        if (background->wake_fd < 0)
            return; /* its poll() has ended with the descriptors */
        rc = write(background->wake_fd, &one, sizeof(one));
        /* EBADF: the program closes descriptors just now. */
        assert(rc == sizeof(one) || errno == EAGAIN || errno == EBADF);
    } else {
        pthread_cond_signal(&background->wake);
    }
}

void hf_background_unpark(struct hf_background *background)
{
    if (background->started && background->state == HF_BACKGROUND_PARKED)
        pthread_cond_signal(&background->wake);
}

void hf_background_abandon(struct hf_background *background)
{
    background->wake_fd = -1;
    hf_background_wake(background);
}

void hf_background_stop(struct hf_background *background)
{
    background->stop = true;
    hf_background_wake(background);
}
