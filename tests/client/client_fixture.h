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
 * Operations are started and awaited; client_await() and client_wait_until()
 * run whatever the way needs: the loop, the dispatch or nothing.  See
 * in_each_way.h for the tests.
 */
#ifndef HF_TESTS_HOST_FIXTURE_H
#define HF_TESTS_HOST_FIXTURE_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include <holdfast/holdfast.h>

enum way { WAY_BLOCKING, WAY_THREAD, WAY_DISPATCH, WAY_UV, WAYS };

extern const char *const way_names[WAYS];

struct client_fixture {
    enum way way;
    struct hf_client *client;
    uv_loop_t loop;
};

#define HOST_LOCKS 4

/* One acquire or release: started by client_acquire() or client_release(),
 * ended after client_await(). */
struct outcome {
    struct client_fixture *fixture;
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
void client_open(struct client_fixture *fixture, enum way way, const char *url,
                 struct hf_on_state on_state);
/* The same with ${opts}, of which .delivery is set by the way. */
void client_open_with(struct client_fixture *fixture, enum way way,
                      const char *url, const struct hf_client_opts *opts);
void client_close(struct client_fixture *fixture);

/* Start to acquire ${lock} with ${opts}, NULL: the defaults. */
void client_acquire(struct client_fixture *fixture, struct hf_lock *lock,
                    const struct hf_acquire_opts *opts,
                    struct outcome *outcome);

/* The same for ${count} locks at once, at most HOST_LOCKS. */
void client_acquire_all(struct client_fixture *fixture,
                        struct hf_lock *const *locks, size_t count,
                        const struct hf_acquire_opts *opts,
                        struct outcome *outcome);

/* Start to release ${grant}. */
void client_release(struct client_fixture *fixture, struct hf_grant *grant,
                    struct outcome *outcome);

/* Run callbacks until ${outcome} has ended; fails the test after ten
 * seconds. */
void client_await(struct outcome *outcome);

/* Run callbacks until ${condition} holds; fails the test after ten seconds. */
void client_wait_until(struct client_fixture *fixture,
                       bool (*condition)(void *arg), void *arg);

/* Acquire ${lock} and wait for the grant, which must come; release ${grant}
 * and wait for the status. */
struct hf_grant *client_take(struct client_fixture *fixture,
                             struct hf_lock *lock);
hf_status client_give(struct client_fixture *fixture, struct hf_grant *grant);

struct hf_lock *client_open_lock(struct client_fixture *fixture,
                                 const char *name);

/* A new directory for the file engine, and the URL that names it. */
struct client_directory {
    char path[64];
    char url[160];
};
void client_directory_create(struct client_directory *directory);
void client_directory_create_in(struct client_directory *directory,
                                const char *parent);
void client_directory_remove(struct client_directory *directory);

/* Delete the ticket files one after the other, as an administrator might, so
 * that their owners lose them. */
void client_directory_remove_tickets(const struct client_directory *directory);

/* The number of ticket files. */
int client_directory_count_tickets(const struct client_directory *directory);

/* A directory with two clients; hosts_close() fails the test if a ticket is
 * left in it. */
void hosts_open(struct client_directory *directory, struct client_fixture *a,
                struct client_fixture *b, enum way way);
void hosts_close(struct client_directory *directory, struct client_fixture *a,
                 struct client_fixture *b);

/* In a callback that reports ${status}: hf_last_error() has it and ${text},
 * unless it is HF_OK. */
void assert_last_error(hf_status status, const char *text);

#endif
