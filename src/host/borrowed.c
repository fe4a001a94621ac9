/* SPDX-License-Identifier: Apache-2.0 */
#include "host/borrowed.h"

#include <assert.h>
#include <stdatomic.h>

#include <holdfast/uv.h>

#include "host/client.h"
#include "host/close.h"

static void serve(struct hf_client *client)
{
    if (hf_client_enter(client) != HF_OK)
        return;
    hf_client_reference(client);
    hf_client_settle(client);
    /* A user's callback may run the loop; what is queued is for the outer
     * turn then. */
    if (!client->delivery.running)
        hf_delivery_run(client);
    /* Added by a callback while others waited: that woke nobody. */
    if (client->delivery.first != NULL && !hf_fork_parted(client))
        hf_borrowed_wake(client);
    hf_client_leave(client);
    hf_client_release(client);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    serve(poll->data);
}

static void on_async(uv_async_t *async)
{
    serve(async->data);
}

hf_status hf_borrowed_open(struct hf_client *client, uv_loop_t *loop)
{
    struct hf_borrowed *borrowed = &client->borrowed;
    uv_loop_t *own = hf_loop_get(client);

    if (own == NULL)
        return HF_ELIMIT;
    if (uv_async_init(loop, &borrowed->async, on_async) != 0)
        return HF_ELIMIT;
    borrowed->async.data = client;
    borrowed->loop = loop;
    borrowed->thread = pthread_self();
    borrowed->handles = 1;
    atomic_store(&borrowed->in_use, true);
    if (uv_poll_init(loop, &borrowed->poll, uv_backend_fd(own)) != 0)
        return HF_ELIMIT;
    borrowed->poll.data = client;
    borrowed->handles = 2;
    (void)uv_poll_start(&borrowed->poll, UV_READABLE, on_poll);
    return HF_OK;
}

void hf_borrowed_wake(struct hf_client *client)
{
    if (client->borrowed.handles == 2)
        (void)uv_async_send(&client->borrowed.async);
}

static void on_close(uv_handle_t *handle)
{
    struct hf_client *client = handle->data;

    if (--client->borrowed.handles > 0)
        return;
    atomic_store(&client->borrowed.in_use, false);
    pthread_mutex_lock(&client->lock);
    hf_close_borrowed_gone(client);
    hf_log_unlock(client);
    hf_client_release(client);
}

void hf_borrowed_close(struct hf_client *client)
{
    struct hf_borrowed *borrowed = &client->borrowed;

    assert(hf_borrowed_is_self(client));
    hf_client_reference(client); /* given back by on_close */
    if (borrowed->handles == 2)
        uv_close((uv_handle_t *)&borrowed->poll, on_close);
    uv_close((uv_handle_t *)&borrowed->async, on_close);
}

bool hf_borrowed_is_self(const struct hf_client *client)
{
    return atomic_load(&client->borrowed.in_use) &&
           pthread_equal(client->borrowed.thread, pthread_self());
}

hf_status hf_client_open_uv(uv_loop_t *loop, const char *url,
                            const struct hf_client_opts *opts,
                            struct hf_client **client, struct hf_error *error)
{
    return hf_client_make(url, opts, loop, false, client, error);
}
