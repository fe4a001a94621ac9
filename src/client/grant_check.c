/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking whether a grant is still ours, at once or with a proof of the
 * session.
 *
 * Where safe-until is proven all the time, the answer is in what the engine has
 * said so far.  In a lazy session grants outlast safe-until, so that only says
 * that nothing is known against them; a check therefore has the session proven,
 * and waits for that.
 */
#include <holdfast/grant.h>

#include "base/error.h"
#include "client/grant.h"
#include "core/core.h"

/* ---------------------------------------------------- is it still ours? -- */

/* Is the session proven only when a check asks for it? */
static bool is_lazy(const struct hf_grant *grant)
{
    return hf_session_is_lazy(&grant->client->core.session);
}

/* By the clock of the core. */
static uint64_t safe_until_ms(const struct hf_grant *grant)
{
    return hf_core_safe_until_ms(&grant->client->core, &grant->acquisition);
}

uint64_t hf_grant_safe_until_ms(const struct hf_grant *grant)
{
    return hf_boottime_of_ms(safe_until_ms(grant));
}

bool hf_grant_is_valid(const struct hf_grant *grant)
{
    return grant->lost_lock == NULL &&
           (is_lazy(grant) || safe_until_ms(grant) > hf_now_ms());
}

/* HF_OK, or HF_ELOST and why.  With the lock. */
static hf_status check_valid(const struct hf_grant *grant,
                             struct hf_error *error)
{
    return hf_grant_is_valid(grant) ? HF_OK
                                    : hf_grant_explain_loss(grant, error);
}

/* Everything that the engine has sent by now is processed first, so that a loss
 * that is known to the kernel is known here. */
hf_status hf_grant_check_now(struct hf_grant *grant, struct hf_error *error)
{
    hf_status status = hf_fork_check(&grant->client->monitor.fork, error);

    if (status != HF_OK)
        return status;
    (void)hf_monitor_enter(&grant->client->monitor, NULL);
    hf_monitor_run_ready(&grant->client->monitor);
    status = check_valid(grant, error);
    hf_monitor_leave(&grant->client->monitor);
    return status;
}

/* --------------------------------------------------------------- asking -- */

/* Have a lazy session proven, if need be.  True if the proof is under way.
 * With the lock. */
static bool request_proof(struct hf_client *client)
{
    struct hf_event event = {.kind = HF_EVENT_CHECK};

    hf_client_step(client, &event);
    return client->core.session.check_pending;
}

uint64_t hf_grant_request_proof(struct hf_grant *grant)
{
    const struct hf_session *session = &grant->client->core.session;
    uint64_t again_at_ms = HF_FOREVER;

    if (hf_monitor_enter(&grant->client->monitor, NULL) != HF_OK)
        return HF_FOREVER;
    (void)request_proof(grant->client);
    if (is_lazy(grant) && hf_session_usable(session))
        again_at_ms = hf_boottime_of_ms(session->proof_due_ms);
    hf_monitor_leave(&grant->client->monitor);
    return again_at_ms;
}

/* Answered checks are taken out of the list, which is on the stacks of their
 * callers. */
void hf_grant_checks_answer(struct hf_client *client,
                            const struct hf_grant *grant)
{
    struct hf_grant_check **link = &client->checks, *check;

    while ((check = *link) != NULL) {
        if (grant != NULL && check->grant != grant) {
            link = &check->next;
            continue;
        }
        *link = check->next;
        hf_waiter_answer(&client->monitor, &check->waiter, HF_OK);
    }
}

/* Take ${check} out of the list of those that wait. */
static void remove_check(struct hf_client *client,
                         const struct hf_grant_check *check)
{
    struct hf_grant_check **link = &client->checks;

    while (*link != check)
        link = &(*link)->next;
    *link = check->next;
}

/* Wait until the session is proven or ${grant} is lost.  With the lock. */
static hf_status await_proof(const struct hf_grant *grant,
                             struct hf_error *error)
{
    struct hf_client *client = grant->client;
    struct hf_grant_check check = {.grant = grant, .next = client->checks};
    hf_status status;

    if (hf_monitor_may_block(&client->monitor, error) != HF_OK)
        return hf_error_set(error, HF_EREENTRANT,
                            "the proof of the session is under way, and a "
                            "callback or the thread of the borrowed loop "
                            "cannot wait for it; call it on another thread, "
                            "or wait until hf_grant_safe_until_ms() moves");
    client->checks = &check;
    status = hf_monitor_wait(&client->monitor, &check.waiter, error);
    if (!check.waiter.done)
        remove_check(client, &check);
    return status;
}

/* hf_grant_check(), except that a failure is not remembered (hf_fail()). */
static hf_status check_with_proof(struct hf_grant *grant,
                                  struct hf_error *error)
{
    hf_status status = hf_fork_check(&grant->client->monitor.fork, error);

    if (status != HF_OK)
        return status;
    (void)hf_monitor_enter(&grant->client->monitor, NULL);
    hf_monitor_run_ready(&grant->client->monitor);
    if (grant->lost_lock == NULL && request_proof(grant->client))
        status = await_proof(grant, error);
    if (status == HF_OK)
        status = check_valid(grant, error);
    hf_monitor_leave(&grant->client->monitor);
    return status;
}

hf_status hf_grant_check(struct hf_grant *grant)
{
    struct hf_error error;
    hf_status status = check_with_proof(grant, &error);

    return status == HF_OK ? HF_OK : hf_fail("hf_grant_check", &error);
}
