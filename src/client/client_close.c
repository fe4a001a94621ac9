/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a client.  The order of its steps is in monitor/close.c.
 */
#include "client/client_close.h"

#include "client/client.h"
#include "client/open_common.h"
#include "operation/done.h"

void hf_client_close_begin(void *owner)
{
    struct hf_event event = {.kind = HF_EVENT_CLOSE};
    struct hf_client *client = owner;

    for (struct hf_session_user *user = client->session_users; user != NULL;
         user = user->next)
        user->close(user);
    hf_client_step(client, &event);
}

/* .close_done is taken out of the client first, so that it is called once. */
void hf_client_close_ended(void *owner)
{
    struct hf_client *client = owner;
    struct hf_done done = client->close_done;
    struct hf_result result = {.status = HF_OK, .text = "", .grant = NULL};

    client->close_done = (struct hf_done){NULL, NULL, NULL};
    for (struct hf_session_user *user = client->session_users; user != NULL;
         user = user->next)
        user->ended(user);
    hf_state_listeners_drop(&client->listeners);
    hf_client_metrics_close(client);
    hf_done_call(&client->monitor, &done, &result);
}

/* Where it may not block, the failure is remembered and the client stays
 * open. */
hf_status hf_client_close(struct hf_client *client)
{
    struct hf_error error;

    if (client == NULL)
        return HF_OK;
    if (hf_monitor_may_block(&client->monitor, &error) != HF_OK)
        return hf_client_fail_unlocked(client, "hf_client_close", &error);
    return hf_monitor_close(&client->monitor);
}

hf_status hf_client_close_start(struct hf_client *client, struct hf_done done)
{
    hf_status status = hf_monitor_enter(&client->monitor);
    struct hf_error error;

    /* A poller has to run the last callback, because no caller waits for the
     * end. */
    if (status == HF_OK && (status = hf_monitor_ensure_poller(
                                &client->monitor, &error)) != HF_OK) {
        hf_client_fail(client, "hf_client_close_start", &error);
        hf_monitor_leave(&client->monitor);
    }
    if (status != HF_OK) {
        hf_done_drop(&done);
        return status;
    }
    client->close_done = done;
    hf_monitor_close_start(&client->monitor);
    return HF_OK;
}

void hf_client_abandon(struct hf_client *client)
{
    hf_state_listeners_abandon(&client->listeners);
    hf_monitor_abandon(&client->monitor, client->engine != NULL);
}
