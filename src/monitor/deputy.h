/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deputy of the background thread: it polls while that thread is inside of
 * functions of the user for long, so that leases are renewed and a loss is
 * noticed whatever they wait for.
 *
 * It is a thread that sleeps on a timer.  The background thread sets the timer
 * before it calls the user, and stops it before it sleeps.  So the deputy wakes
 * only if functions of the user take long, and otherwise costs a system call or
 * two.
 */
#ifndef HF_MONITOR_DEPUTY_H
#define HF_MONITOR_DEPUTY_H

#include <pthread.h>
#include <stdbool.h>

/* How long functions of the user may take before the deputy polls. */
#define HF_DEPUTY_AFTER_MS 10

enum hf_deputy_state {
    HF_DEPUTY_NONE,      /* there is no thread */
    HF_DEPUTY_FAILED,    /* it could not be started, and that was logged */
    HF_DEPUTY_ASLEEP,    /* its timer is not set */
    HF_DEPUTY_WATCHES,   /* its timer is set */
    HF_DEPUTY_POLLS,     /* it is the poller */
    HF_DEPUTY_STOPS,     /* it is to end */
    HF_DEPUTY_ABANDONED, /* it ends itself, because its timer is gone */
};

/* All fields under the monitor's lock. */
struct hf_deputy {
    enum hf_deputy_state state;
    pthread_t thread;
    int timer; /* a timerfd; to end a sleep it is set to fire at once */
};

/* All with the monitor's lock, and by the background thread, where nothing else
 * is said. */

/* Start the thread, which runs ${work}(${arg}) and first waits for the lock, if
 * there is none.  False, with the state as it was, if that is impossible. */
bool hf_deputy_start(struct hf_deputy *deputy, void *(*work)(void *arg),
                     void *arg);

/* Functions of the user are about to be called; they have returned. */
void hf_deputy_watch(struct hf_deputy *deputy);
void hf_deputy_end_poll(struct hf_deputy *deputy);

/* The background thread is about to sleep. */
void hf_deputy_rest(struct hf_deputy *deputy);

/* End the thread and wait for that, and close the descriptor.  Releases ${lock}
 * meanwhile. */
void hf_deputy_stop(struct hf_deputy *deputy, pthread_mutex_t *lock);

/* The descriptor is gone.  The thread ends by itself; only an hf_deputy_stop()
 * that has begun waits for that.  By any thread. */
void hf_deputy_abandon(struct hf_deputy *deputy);

/* By the deputy.  Sleep until its timer fires or ${guard}, a descriptor, is
 * closed; ${lock} is released meanwhile.  _wake(): it has slept, here or in the
 * poll of the loop; set its state to what the timer means. */
void hf_deputy_sleep(const struct hf_deputy *deputy, int guard,
                     pthread_mutex_t *lock);
void hf_deputy_wake(struct hf_deputy *deputy);

/* In the child of a fork: close the descriptor, touch nothing else. */
void hf_deputy_after_fork(const struct hf_deputy *deputy);

#endif
