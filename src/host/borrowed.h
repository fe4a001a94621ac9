/* SPDX-License-Identifier: Apache-2.0 */
/* A borrowed uv loop: it polls the client's own loop like any other poller and
 * runs the callbacks.  Only two handles of ours are on it. */
#ifndef HF_HOST_BORROWED_H
#define HF_HOST_BORROWED_H

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

#include <holdfast/holdfast.h>

struct hf_client;

struct hf_borrowed {
    uv_loop_t *loop; /* NULL: none is borrowed */
    pthread_t thread;
    _Atomic bool in_use; /* read without the lock */
    uv_poll_t poll;
    uv_async_t async;
    unsigned handles; /* not closed yet */
};

/* Put the handles on ${loop}, on its thread.  HF_ELIMIT; if there are .handles
 * then, they want hf_borrowed_close() all the same. */
hf_status hf_borrowed_open(struct hf_client *client, uv_loop_t *loop);

/* From any thread: have callbacks run soon. */
void hf_borrowed_wake(struct hf_client *client);

/* On the loop's thread, with the client's lock: take the handles off.  When
 * they are off hf_close_borrowed_gone() is called, there and with the lock. */
void hf_borrowed_close(struct hf_client *client);

/* Is this the thread that runs the loop? */
bool hf_borrowed_is_self(const struct hf_client *client);

#endif
