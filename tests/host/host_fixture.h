/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of the public interface, opened in one of the four ways to use it,
 * so that one test runs in each of them:
 *
 *     WAY_BLOCKING   calls that wait, each on a thread of its own
 *     WAY_THREAD     callbacks on the background thread of the client
 *     WAY_DISPATCH   callbacks inside hf_client_dispatch()
 *     WAY_UV         callbacks on a uv loop that the client borrows
 *
 * Operations are started and awaited; host_await() and host_wait_until() run
 * whatever the way needs: the loop, the dispatch or nothing.  See in_each_way.h
 * for the tests.
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

/* One acquire or release: started by host_acquire() or host_release(), ended
 * after host_await(). */
struct outcome {
    struct host_fixture *host;
    _Atomic int ended; /* callbacks that ran; 1 in the end */
    _Atomic int dropped;
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES];
    struct hf_grant *grant;
    struct hf_op *op; /* NULL in WAY_BLOCKING */
    pthread_t thread;
    struct hf_lock *lock; /* the first of .locks */
    struct hf_lock *locks[HOST_LOCKS];
    size_t count;
    struct hf_acquire_opts opts;
};

/* For clients whose states nobody listens to. */
extern const struct hf_on_state no_listener;

/* Open ${url} in ${way}.  Fails the test if that fails. */
void host_open(struct host_fixture *host, enum way way, const char *url,
               struct hf_on_state on_state);
/* The same with ${opts}, of which .delivery is set by the way. */
void host_open_with(struct host_fixture *host, enum way way, const char *url,
                    const struct hf_client_opts *opts);
void host_close(struct host_fixture *host);

/* Start to acquire ${lock} with ${opts}, NULL: the defaults. */
void host_acquire(struct host_fixture *host, struct hf_lock *lock,
                  const struct hf_acquire_opts *opts, struct outcome *outcome);

/* The same for ${count} locks at once, at most HOST_LOCKS. */
void host_acquire_all(struct host_fixture *host, struct hf_lock *const *locks,
                      size_t count, const struct hf_acquire_opts *opts,
                      struct outcome *outcome);

/* Start to release ${grant}. */
void host_release(struct host_fixture *host, struct hf_grant *grant,
                  struct outcome *outcome);

/* Run callbacks until ${outcome} has ended; fails the test after ten
 * seconds. */
void host_await(struct outcome *outcome);

/* Run callbacks until ${condition} holds; fails the test after ten seconds. */
void host_wait_until(struct host_fixture *host, bool (*condition)(void *arg),
                     void *arg);

/* Acquire ${lock} and wait for the grant, which must come; release ${grant}
 * and wait for the status. */
struct hf_grant *host_take(struct host_fixture *host, struct hf_lock *lock);
hf_status host_give(struct host_fixture *host, struct hf_grant *grant);

struct hf_lock *host_open_lock(struct host_fixture *host, const char *name);

/* A new directory for the file engine, and the URL that names it. */
struct host_directory {
    char path[64];
    char url[160];
};
void host_directory_create(struct host_directory *directory);
void host_directory_create_in(struct host_directory *directory,
                              const char *parent);
void host_directory_remove(struct host_directory *directory);

/* Delete the ticket files one after the other, as an administrator might, so
 * that their owners lose them. */
void host_directory_remove_tickets(const struct host_directory *directory);

/* The number of ticket files. */
int host_directory_count_tickets(const struct host_directory *directory);

/* A directory with two clients; hosts_close() fails the test if a ticket is
 * left in it. */
void hosts_open(struct host_directory *directory, struct host_fixture *a,
                struct host_fixture *b, enum way way);
void hosts_close(struct host_directory *directory, struct host_fixture *a,
                 struct host_fixture *b);

#endif
