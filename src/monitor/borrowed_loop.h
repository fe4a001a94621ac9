/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A borrowed uv loop, which belongs to the user.  It polls the descriptor of
 * our own loop as any other poller does, and callbacks run on it.  Only two
 * handles of ours are on it.
 */
#ifndef HF_MONITOR_BORROWED_LOOP_H
#define HF_MONITOR_BORROWED_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

#include <holdfast/status.h>

/* All fields under the monitor's lock, where nothing else is said. */
struct hf_borrowed_loop {
    uv_loop_t *loop;  /* NULL: none is borrowed */
    pthread_t thread; /* the one that runs the loop; set once */
    /* From the opening until the handles are closed; read without the lock. */
    _Atomic bool in_use;
    uv_poll_t poll;   /* polls the descriptor of our loop */
    uv_async_t async; /* wakes the loop from any thread */
    /* How many of the two handles are not closed yet.  The loop's thread
     * decrements it without the lock; 0 once the loop was abandoned. */
    _Atomic unsigned handles;

    /* Our loop has something, or the loop was woken. */
    void (*ready)(void *arg);
    void (*closed)(void *arg); /* both handles are off the loop */
    void *arg;
};

/* Put the handles on ${loop}, on its thread, to poll ${fd}; .ready, .closed and
 * .arg are set before.  HF_ELIMIT if the loop takes no more handles; if
 * .handles is not 0 then, hf_borrowed_loop_close() must be called all the
 * same. */
hf_status hf_borrowed_loop_open(struct hf_borrowed_loop *borrowed_loop,
                                uv_loop_t *loop, int fd);

/* Have .ready called soon.  From any thread. */
void hf_borrowed_loop_wake(struct hf_borrowed_loop *borrowed_loop);

/* Take the handles off the loop, on its thread; .closed follows. */
void hf_borrowed_loop_close(struct hf_borrowed_loop *borrowed_loop);

/* The descriptors are gone: never touch the borrowed loop again. */
void hf_borrowed_loop_abandon(struct hf_borrowed_loop *borrowed_loop);

/* Is the calling thread the one that runs the loop? */
bool hf_borrowed_loop_is_current(const struct hf_borrowed_loop *borrowed_loop);

#endif
