/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short form: all that a program needs that does one thing under one lock.
 * It makes only public calls.
 */
#include <holdfast/client.h>
#include <holdfast/grant.h>
#include <holdfast/lock.h>

#include "base/error.h"

/* The function that is called while the lock is held, and where its result
 * goes. */
struct body {
    hf_lock_fn *fn;
    void *arg;
    int *result;
};

/* Each function below sets ${error} to why it failed, because the calls that
 * clean up behind it may fail, too. */

static hf_status run_body(struct hf_lock *lock, uint64_t wait_ms,
                          const struct body *body, struct hf_error *error)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_grant *grant;
    hf_status status;
    int result;

    opts.wait_ms = wait_ms;
    if ((status = hf_lock_acquire(lock, &opts, &grant)) == HF_OK) {
        result = body->fn(body->arg, grant);
        if (body->result != NULL)
            *body->result = result;
        status = hf_grant_release(grant);
    }
    if (status != HF_OK)
        *error = *hf_last_error();
    return status;
}

static hf_status run_locked(struct hf_client *client, const char *name,
                            uint64_t wait_ms, const struct body *body,
                            struct hf_error *error)
{
    struct hf_lock *lock;
    hf_status status = hf_lock_open(client, name, NULL, &lock);

    if (status != HF_OK) {
        *error = *hf_last_error();
        return status;
    }
    status = run_body(lock, wait_ms, body, error);
    hf_lock_free(lock);
    return status;
}

/* In a callback of another client nothing was acquired, because no call may
 * block there.  So closing does not wait either. */
static void close_client(struct hf_client *client)
{
    const struct hf_done no_done = {NULL, NULL, NULL};

    if (hf_client_close(client) == HF_EREENTRANT &&
        hf_client_close_start(client, no_done) != HF_OK)
        return; /* no thread could be started; it stays open */
}

hf_status hf_lock_run(const char *url, const char *name, uint64_t wait_ms,
                      hf_lock_fn *fn, void *arg, int *result)
{
    const struct body body = {fn, arg, result};
    struct hf_client *client;
    struct hf_error error;
    hf_status status = hf_client_open(url, NULL, &client);

    if (status == HF_OK) {
        status = run_locked(client, name, wait_ms, &body, &error);
        close_client(client);
    } else {
        error = *hf_last_error();
    }
    return status == HF_OK ? HF_OK : hf_fail("hf_lock_run", &error);
}
