/* SPDX-License-Identifier: Apache-2.0 */
#include "host/close.h"

#include <assert.h>

#include "host/client.h"
#include "host/opening.h"

void hf_close_wind_up(struct hf_client *client)
{
    if (client->wound_up || !client->ended || client->sleepers > 0 ||
        client->borrowed.handles > 0 ||
        (client->background.started && !client->background.gone))
        return;
    if (client->engine != NULL)
        client->ops->free(client->engine);
    client->engine = NULL;
    hf_loop_close(client);
    client->wound_up = true;
}

/* Does nobody but the closing thread run callbacks? */
static bool runs_here(const struct hf_client *client)
{
    return client->delivery.place == HF_PLACE_DISPATCH ||
           (client->delivery.place == HF_PLACE_THREAD &&
            !client->background.started);
}

void hf_close_reached(struct hf_client *client)
{
    /* Last in the queue: only what callbacks add can come after it. */
    hf_delivery_add(client, &client->close_callback);
    if (client->close_slot != NULL && runs_here(client)) {
        hf_slot_answer(client, client->close_slot, HF_OK);
        client->close_slot = NULL;
    }
}

static void tell(struct hf_client *client)
{
    struct hf_done done = client->close_done;
    struct hf_result result = {.status = HF_OK, .text = "", .grant = NULL};

    client->close_done = (struct hf_done){NULL, NULL, NULL};
    hf_listeners_drop(client);
    hf_log_unlock(client);
    if (done.fn != NULL)
        done.fn(done.arg, &result);
    if (done.drop != NULL)
        done.drop(done.arg);
    pthread_mutex_lock(&client->lock);
}

static void end(struct hf_client *client)
{
    bool somebody_waits = client->close_waits;

    client->ended = true;
    tell(client);
    if (hf_fork_parted(client))
        return;
    hf_background_stop(client);
    if (client->close_slot != NULL)
        hf_slot_answer(client, client->close_slot, HF_OK);
    client->close_slot = NULL;
    if (!somebody_waits)
        hf_client_dereference(client); /* the user's handle */
    hf_close_wind_up(client);
}

void hf_close_run(struct hf_client *client, void *arg)
{
    (void)arg;
    if (client->delivery.first != NULL)
        hf_delivery_add(client, &client->close_callback);
    else if (client->borrowed.handles > 0)
        hf_borrowed_close(client);
    else
        end(client);
}

void hf_close_borrowed_gone(struct hf_client *client)
{
    hf_delivery_begin();
    end(client);
    hf_delivery_end();
}

static void begin(struct hf_client *client)
{
    struct hf_event event = {.kind = HF_EVENT_CLOSE};

    assert(!client->closing);
    client->closing = true;
    hf_client_step(client, &event);
}

/* With the lock, which it gives up.  Frees the handle.  HF_EFORKED in the
 * child of a callback that forked. */
static hf_status finish_here(struct hf_client *client, struct hf_slot *slot)
{
    bool join;

    (void)hf_client_wait(client, slot);
    assert(slot->done); /* an engine that needs a loop for it has one */
    if (runs_here(client))
        hf_delivery_await(client); /* a dispatch elsewhere */
    while (!client->ended && runs_here(client) && !hf_fork_parted(client))
        hf_delivery_run(client);
    if (hf_fork_parted(client)) {
        hf_client_leave(client);
        return HF_EFORKED;
    }
    join = client->background.started;
    hf_client_shield();
    hf_client_leave(client);
    if (join)
        pthread_join(client->background.thread, NULL);
    hf_client_release(client);
    hf_client_unshield();
    return HF_OK;
}

hf_status hf_client_close(struct hf_client *client)
{
    struct hf_slot slot = {.done = false};
    struct hf_error error;
    hf_status status;

    if (client == NULL)
        return HF_OK;
    if (hf_client_may_block(client, &error) != HF_OK)
        return hf_opening_fail(client, "hf_client_close", &error);
    if ((status = hf_client_enter(client)) != HF_OK)
        return status;
    client->close_waits = true;
    client->close_slot = &slot;
    begin(client);
    return finish_here(client, &slot);
}

hf_status hf_client_close_start(struct hf_client *client, struct hf_done done)
{
    hf_status status = hf_client_enter(client);
    struct hf_error error;

    /* Its own thread runs the last callback and cannot wait for itself. */
    if (status == HF_OK &&
        (status = hf_client_need_driver(client, &error)) != HF_OK) {
        hf_client_fail(client, "hf_client_close_start", &error);
        hf_client_leave(client);
    }
    if (status != HF_OK) {
        if (done.drop != NULL)
            done.drop(done.arg);
        return status;
    }
    client->close_done = done;
    if (client->background.started)
        pthread_detach(client->background.thread);
    hf_client_reference(client); /* ours, while we leave */
    begin(client);
    hf_client_leave(client);
    hf_client_release(client);
    return HF_OK;
}

void hf_close_abandon(struct hf_client *client)
{
    struct hf_slot slot = {.done = false};

    /* That of the options is its caller's still. */
    hf_delivery_remove(client, &client->first_listener.callback);
    client->listeners = NULL;
    client->close_waits = true;
    if (client->engine != NULL) {
        client->close_slot = &slot;
        begin(client);
        (void)finish_here(client, &slot);
    } else if (client->borrowed.handles > 0) {
        client->close_waits = false; /* the loop frees it, in its own time */
        hf_borrowed_close(client);
        hf_log_unlock(client);
        hf_client_unshield();
    } else {
        end(client);
        hf_log_unlock(client);
        hf_client_release(client);
        hf_client_unshield();
    }
}
