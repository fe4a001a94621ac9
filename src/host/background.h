/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The background thread: polls while no caller does, so that liveness never
 * depends on callers, and runs callbacks where those are its job.  It is
 * started when it is first needed: an uncontended lock on the file engine
 * starts none.
 *
 * While callers come and go it stands by on a short timer instead of being
 * woken by each of them: a hop to another thread costs more than the client's
 * whole share of a lock cycle.
 */
#ifndef HF_HOST_BACKGROUND_H
#define HF_HOST_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

#include <holdfast/holdfast.h>

struct hf_client;

enum hf_background_place {
    HF_BACKGROUND_BUSY,    /* will look round before it sleeps */
    HF_BACKGROUND_POLLS,   /* in poll() */
    HF_BACKGROUND_STANDBY, /* callers poll; looks again in a moment */
    HF_BACKGROUND_PARKED,  /* a caller polls for long; wants to be told */
};

struct hf_background {
    bool started;
    bool stop;
    bool gone;
    pthread_t thread;
    pthread_cond_t wake;
    int wake_fd;
    enum hf_background_place place;
};

/* All with the client's lock. */

/* Start it if it does not run.  HF_ELIMIT if it cannot be. */
hf_status hf_background_start(struct hf_client *client);

/* Something is there for it to do. */
void hf_background_wake(struct hf_client *client);

/* A caller has stopped polling and nobody polls. */
void hf_background_relieve(struct hf_client *client);

/* Tell it to end. */
void hf_background_stop(struct hf_client *client);

/* Is this the thread? */
bool hf_background_is_self(const struct hf_client *client);

/* Without the lock, when it was started and is gone. */
void hf_background_free(struct hf_background *background);

void hf_background_after_fork(struct hf_background *background);

#endif
