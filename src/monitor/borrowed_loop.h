/* SPDX-License-Identifier: Apache-2.0 */
/* A borrowed uv loop, which is the user's: it polls our own loop like any other
 * poller, and so can run callbacks.  Only two handles of ours are on it. */
#ifndef HF_MONITOR_BORROWED_LOOP_H
#define HF_MONITOR_BORROWED_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

#include <holdfast/status.h>

struct hf_borrowed_loop {
    uv_loop_t *loop; /* NULL: none is borrowed */
    pthread_t thread;
    _Atomic bool in_use; /* read without the lock */
    uv_poll_t poll;
    uv_async_t async;
    /* Not closed yet.  Falls on the loop's thread, without the lock. */
    _Atomic unsigned handles;

    /* Called on the loop's thread, without the lock. */
    void (*ready)(void *arg);  /* our loop has something, or it was woken */
    void (*closed)(void *arg); /* the handles are off the loop */
    void *arg;
};

/* Put the handles on ${loop}, on its thread, to poll ${fd}; .ready, .gone and
 * .arg are set.  HF_ELIMIT; if there are .handles then, they want
 * hf_borrowed_loop_close() all the same. */
hf_status hf_borrowed_loop_open(struct hf_borrowed_loop *borrowed_loop,
                                uv_loop_t *loop, int fd);

/* From any thread: have .ready called soon. */
void hf_borrowed_loop_wake(struct hf_borrowed_loop *borrowed_loop);

/* On the loop's thread: take the handles off. */
void hf_borrowed_loop_close(struct hf_borrowed_loop *borrowed_loop);

/* Is this the thread that runs the loop? */
bool hf_borrowed_loop_is_current(const struct hf_borrowed_loop *borrowed_loop);

#endif
