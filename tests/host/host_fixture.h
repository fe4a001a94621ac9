/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four ways to use a client, behind one face, so that one source of
 * stories tests them all: calls that wait (each on a thread of its own), and
 * callbacks on the background thread, in hf_client_dispatch(), and on a
 * borrowed uv loop.
 */
#ifndef HF_TESTS_HOST_FIXTURE_H
#define HF_TESTS_HOST_FIXTURE_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include <holdfast/holdfast.h>

enum way { WAY_BLOCKING, WAY_THREAD, WAY_DISPATCH, WAY_UV, WAYS };

extern const char *const way_names[WAYS];

struct host_fixture {
    enum way way;
    struct hf_client *client;
    uv_loop_t loop;
};

#define HOST_LOCKS 4

/* One operation, and how it ended. */
struct outcome {
    struct host_fixture *host;
    _Atomic int ended; /* callbacks that came */
    _Atomic int dropped;
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES];
    struct hf_grant *grant;
    struct hf_op *op; /* NULL in the blocking way */
    pthread_t thread;
    struct hf_lock *lock; /* the first of them */
    struct hf_lock *locks[HOST_LOCKS];
    size_t count;
    struct hf_acquire_opts opts;
};

/* Nobody is told of the client's states. */
extern const struct hf_on_state no_listener;

/* Open ${url} that way; fails the test if it can't be. */
void host_open(struct host_fixture *host, enum way way, const char *url,
               struct hf_on_state on_state);
/* With ${opts}, but for .delivery. */
void host_open_with(struct host_fixture *host, enum way way, const char *url,
                    const struct hf_client_opts *opts);
void host_close(struct host_fixture *host);

/* Begin an acquire with ${opts} (NULL: defaults). */
void host_acquire(struct host_fixture *host, struct hf_lock *lock,
                  const struct hf_acquire_opts *opts, struct outcome *outcome);

/* The same for several locks. */
void host_acquire_all(struct host_fixture *host, struct hf_lock *const *locks,
                      size_t count, const struct hf_acquire_opts *opts,
                      struct outcome *outcome);

/* Begin a release. */
void host_release(struct host_fixture *host, struct hf_grant *grant,
                  struct outcome *outcome);

/* Let callbacks come until ${outcome} has ended, within ten seconds. */
void host_await(struct outcome *outcome);

/* Let callbacks come until ${condition} holds, within ten seconds. */
void host_wait_until(struct host_fixture *host, bool (*condition)(void *arg),
                     void *arg);

/* Acquire at once, and release, in one call. */
struct hf_grant *host_take(struct host_fixture *host, struct hf_lock *lock);
hf_status host_give(struct host_fixture *host, struct hf_grant *grant);

struct hf_lock *host_open_lock(struct host_fixture *host, const char *name);

/* A fresh directory for a file engine, and the URL that names it with a
 * durable place inside. */
struct host_directory {
    char path[64];
    char url[160];
};
void host_directory_create(struct host_directory *directory);
void host_directory_create_in(struct host_directory *directory,
                              const char *parent);
void host_directory_remove(struct host_directory *directory);

/* Remove every ticket in ${place}, as a tidy administrator might. */
void host_directory_remove_tickets(const struct host_directory *directory);

/* How many tickets are in ${place}, and how many directories of locks. */
int host_directory_count_tickets(const struct host_directory *directory);

/* A place of a story's own with two clients; and its end, when everything
 * opened there was freed and nothing of it may be left. */
void hosts_open(struct host_directory *directory, struct host_fixture *a,
                struct host_fixture *b, enum way way);
void hosts_close(struct host_directory *directory, struct host_fixture *a,
                 struct host_fixture *b);

#endif
