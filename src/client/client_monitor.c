/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that the monitor calls: when the client is due, whether it
 * needs a poller, and its end.
 */
#include "client/client_monitor.h"

#include "base/memory.h"
#include "base/time_math.h"
#include "client/client.h"
#include "client/client_close.h"
#include "client/client_engine.h"
#include "client/election_wait.h"
#include "client/grant.h"

/* The core, the waits for an election and the other users of the session have
 * deadlines of their own. */
static uint64_t due_at_ms(const void *owner)
{
    const struct hf_client *client = owner;
    uint64_t at_ms = hf_min_ms(hf_core_wake_at_ms(&client->core),
                               hf_election_waits_wake_at_ms(client));

    for (const struct hf_session_user *user = client->session_users;
         user != NULL; user = user->next)
        at_ms = hf_min_ms(at_ms, user->due_at_ms(user));
    return at_ms;
}

/* Give the core the time, and end the waits whose deadline has passed. */
static void run_due(void *owner)
{
    struct hf_client *client = owner;
    struct hf_event tick = {.kind = HF_EVENT_TICK};
    struct hf_session_user *next;

    hf_client_step(client, &tick);
    hf_client_metrics_cut_searches(client);
    hf_election_waits_expire(client);
    for (struct hf_session_user *user = client->session_users; user != NULL;
         user = next) {
        next = user->next;
        user->run_due(user);
    }
}

/* A session needs a poller while it is being connected, and while proofs keep
 * it alive.  Otherwise only operations under way do. */
static bool needs_poller(const void *owner)
{
    const struct hf_client *client = owner;
    const struct hf_session *session = &client->core.session;

    return client->pending > 0 || (session->state != HF_STATE_CLOSED &&
                                   (session->state != HF_STATE_CONNECTED ||
                                    session->timeout_ms != HF_FOREVER));
}

/* Free the engine: its handles are on the loop. */
static void leave_loop(void *owner)
{
    struct hf_client *client = owner;

    if (client->engine != NULL)
        client->ops->free(client->engine);
    client->engine = NULL;
}

static void destroy(void *owner)
{
    struct hf_client *client = owner;

    hf_client_metrics_close(client);
    hf_free(client);
}

/* In the child nothing is held: the copies of the parent's handles must say so,
 * and their descriptors must not keep a ticket alive. */
static void after_fork(void *owner)
{
    struct hf_client *client = owner;

    hf_safe_until_store(&client->core.session.published, 0);
    if (!hf_descriptor_guard_is_intact(&client->monitor.guard))
        return;
    if (client->engine != NULL)
        client->ops->after_fork(client->engine);
    hf_grant_after_fork(client);
    hf_metrics_file_after_fork(&client->metrics.file);
}

/* The file of the metrics notices by itself. */
static void abandon(void *owner)
{
    struct hf_client *client = owner;
    struct hf_session_user *next;

    hf_grant_forget_loss_fds(client);
    for (struct hf_session_user *user = client->session_users; user != NULL;
         user = next) {
        next = user->next;
        user->abandon(user);
    }
    hf_client_engine_abandon(client);
}

const struct hf_monitor_ops hf_client_monitor_ops = {
    .due_at_ms = due_at_ms,
    .run_due = run_due,
    .needs_poller = needs_poller,
    .close = hf_client_close_begin,
    .ended = hf_client_close_ended,
    .leave_loop = leave_loop,
    .destroy = destroy,
    .after_fork = after_fork,
    .abandon = abandon,
};
