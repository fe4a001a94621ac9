/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/borrowed.h"

#include <assert.h>
#include <stdatomic.h>

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct hf_borrowed *borrowed = poll->data;

    (void)status;
    (void)events;
    borrowed->ready(borrowed->arg);
}

static void on_async(uv_async_t *async)
{
    struct hf_borrowed *borrowed = async->data;

    borrowed->ready(borrowed->arg);
}

hf_status hf_borrowed_open(struct hf_borrowed *borrowed, uv_loop_t *loop,
                           int fd)
{
    if (uv_async_init(loop, &borrowed->async, on_async) != 0)
        return HF_ELIMIT;
    borrowed->async.data = borrowed;
    borrowed->loop = loop;
    borrowed->thread = pthread_self();
    borrowed->handles = 1;
    atomic_store(&borrowed->in_use, true);
    if (uv_poll_init(loop, &borrowed->poll, fd) != 0)
        return HF_ELIMIT;
    borrowed->poll.data = borrowed;
    borrowed->handles = 2;
    (void)uv_poll_start(&borrowed->poll, UV_READABLE, on_poll);
    return HF_OK;
}

void hf_borrowed_wake(struct hf_borrowed *borrowed)
{
    if (borrowed->handles == 2)
        (void)uv_async_send(&borrowed->async);
}

static void on_close(uv_handle_t *handle)
{
    struct hf_borrowed *borrowed = handle->data;

    if (--borrowed->handles > 0)
        return;
    atomic_store(&borrowed->in_use, false);
    borrowed->gone(borrowed->arg);
}

void hf_borrowed_close(struct hf_borrowed *borrowed)
{
    assert(hf_borrowed_is_self(borrowed));
    if (borrowed->handles == 2)
        uv_close((uv_handle_t *)&borrowed->poll, on_close);
    uv_close((uv_handle_t *)&borrowed->async, on_close);
}

bool hf_borrowed_is_self(const struct hf_borrowed *borrowed)
{
    return atomic_load(&borrowed->in_use) &&
           pthread_equal(borrowed->thread, pthread_self());
}
