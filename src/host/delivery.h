/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivery: callbacks of the user wait in one queue and run, in order and with
 * no lock held, where the client was told to run them.  They are embedded in
 * the object they concern, so that queueing one cannot fail.
 */
#ifndef HF_HOST_DELIVERY_H
#define HF_HOST_DELIVERY_H

#include <pthread.h>
#include <stdbool.h>

struct hf_client;

struct hf_callback {
    /* Called with the lock; gives it up around the user's function. */
    void (*run)(struct hf_client *client, void *arg);
    void *arg;
    bool queued;
    struct hf_callback *next;
};

enum hf_delivery_place {
    HF_PLACE_THREAD,
    HF_PLACE_DISPATCH,
    HF_PLACE_BORROWED,
};

struct hf_delivery_queue {
    enum hf_delivery_place place;
    struct hf_callback *first;
    struct hf_callback **end;
    struct hf_callback **stop; /* running: those behind it are for the next */
    bool running;              /* one at a time, so that they come in order */
    pthread_cond_t stopped;    /* running no more */
    int fd;                    /* HF_PLACE_DISPATCH: an eventfd; else -1 */
};

/* False, with errno set, if the descriptor cannot be made. */
bool hf_delivery_init(struct hf_delivery_queue *delivery,
                      enum hf_delivery_place place);
void hf_delivery_free(struct hf_delivery_queue *delivery);

/* All with the client's lock. */

/* Queue ${callback} unless it is queued already. */
void hf_delivery_add(struct hf_client *client, struct hf_callback *callback);
void hf_delivery_remove(struct hf_client *client, struct hf_callback *callback);
bool hf_delivery_empty(const struct hf_delivery_queue *delivery);

/* Run what is queued now, here, and nothing that is added meanwhile. */
void hf_delivery_run(struct hf_client *client);

/* In the child of a fork: this thread is inside no callback any more. */
void hf_delivery_after_fork(void);

/* Wait for another thread that runs some to be done with them. */
void hf_delivery_await(struct hf_client *client);

/* The calling thread begins with calls of the user's functions that are not
 * queued, and is done with them. */
void hf_delivery_begin(void);
void hf_delivery_end(void);

/* Is the calling thread inside a callback of this library? */
bool hf_delivery_inside(void);

#endif
