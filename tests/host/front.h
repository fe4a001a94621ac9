/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four ways to use a client, behind one face, so that one source of
 * stories tests them all: calls that wait (each on a thread of its own), and
 * callbacks on the background thread, in hf_client_dispatch(), and on a
 * borrowed uv loop.
 */
#ifndef HF_TESTS_FRONT_H
#define HF_TESTS_FRONT_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include <holdfast/holdfast.h>

enum way { WAY_BLOCKING, WAY_THREAD, WAY_DISPATCH, WAY_UV, WAYS };

extern const char *const way_names[WAYS];

struct front {
    enum way way;
    struct hf_client *client;
    uv_loop_t loop;
};

#define FRONT_LOCKS 4

/* One operation, and how it ended. */
struct outcome {
    struct front *front;
    _Atomic int ended; /* callbacks that came */
    _Atomic int dropped;
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES];
    struct hf_grant *grant;
    struct hf_op *op; /* NULL in the blocking way */
    pthread_t thread;
    struct hf_lock *lock; /* the first of them */
    struct hf_lock *locks[FRONT_LOCKS];
    size_t count;
    struct hf_acquire_opts opts;
};

/* Nobody is told of the client's states. */
extern const struct hf_on_state no_listener;

/* Open ${url} that way; fails the test if it can't be. */
void front_open(struct front *front, enum way way, const char *url,
                struct hf_on_state on_state);
/* With ${opts}, but for .delivery. */
void front_open_with(struct front *front, enum way way, const char *url,
                     const struct hf_client_opts *opts);
void front_close(struct front *front);

/* Begin an acquire with ${opts} (NULL: defaults). */
void front_acquire(struct front *front, struct hf_lock *lock,
                   const struct hf_acquire_opts *opts, struct outcome *outcome);

/* The same for several locks. */
void front_acquire_all(struct front *front, struct hf_lock *const *locks,
                       size_t count, const struct hf_acquire_opts *opts,
                       struct outcome *outcome);

/* Begin a release. */
void front_release(struct front *front, struct hf_grant *grant,
                   struct outcome *outcome);

/* Let callbacks come until ${outcome} has ended, within ten seconds. */
void front_await(struct outcome *outcome);

/* Let callbacks come until ${condition} holds, within ten seconds. */
void front_until(struct front *front, bool (*condition)(void *arg), void *arg);

/* Acquire at once, and release, in one call. */
struct hf_grant *front_take(struct front *front, struct hf_lock *lock);
hf_status front_give(struct front *front, struct hf_grant *grant);

struct hf_lock *front_lock(struct front *front, const char *name);

/* A fresh directory for a file engine, and the URL that names it with a
 * durable place inside. */
struct place {
    char directory[64];
    char url[160];
};
void place_make(struct place *place);
void place_make_in(struct place *place, const char *parent);
void place_remove(struct place *place);

/* Remove every ticket in ${place}, as a tidy administrator might. */
void place_rob(const struct place *place);

/* How many tickets are in ${place}, and how many directories of locks. */
int place_tickets(const struct place *place);

/* A place of a story's own with two clients; and its end, when everything
 * opened there was freed and nothing of it may be left. */
void fronts_open(struct place *place, struct front *a, struct front *b,
                 enum way way);
void fronts_close(struct place *place, struct front *a, struct front *b);

#endif
