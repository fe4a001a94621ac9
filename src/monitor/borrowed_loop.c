/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two handles on a borrowed loop.
 */
#include "monitor/borrowed_loop.h"

#include <assert.h>
#include <stdatomic.h>

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct hf_borrowed_loop *borrowed_loop = poll->data;

    (void)status;
    (void)events;
    borrowed_loop->ready(borrowed_loop->arg);
}

static void on_async(uv_async_t *async)
{
    struct hf_borrowed_loop *borrowed_loop = async->data;

    borrowed_loop->ready(borrowed_loop->arg);
}

/* .handles counts what was opened, also on failure. */
hf_status hf_borrowed_loop_open(struct hf_borrowed_loop *borrowed_loop,
                                uv_loop_t *loop, int fd)
{
    if (uv_async_init(loop, &borrowed_loop->async, on_async) != 0)
        return HF_ELIMIT;
    borrowed_loop->async.data = borrowed_loop;
    borrowed_loop->loop = loop;
    borrowed_loop->thread = pthread_self();
    borrowed_loop->handles = 1;
    atomic_store(&borrowed_loop->in_use, true);
    if (uv_poll_init(loop, &borrowed_loop->poll, fd) != 0)
        return HF_ELIMIT;
    borrowed_loop->poll.data = borrowed_loop;
    borrowed_loop->handles = 2;
    (void)uv_poll_start(&borrowed_loop->poll, UV_READABLE, on_poll);
    return HF_OK;
}

void hf_borrowed_loop_wake(struct hf_borrowed_loop *borrowed_loop)
{
    if (borrowed_loop->handles == 2)
        (void)uv_async_send(&borrowed_loop->async);
}

/* A handle is off the loop.  The last one ends the use of the loop. */
static void on_close(uv_handle_t *handle)
{
    struct hf_borrowed_loop *borrowed_loop = handle->data;

    if (--borrowed_loop->handles > 0)
        return;
    atomic_store(&borrowed_loop->in_use, false);
    borrowed_loop->closed(borrowed_loop->arg);
}

void hf_borrowed_loop_close(struct hf_borrowed_loop *borrowed_loop)
{
    assert(hf_borrowed_loop_is_current(borrowed_loop));
    if (borrowed_loop->handles == 2)
        uv_close((uv_handle_t *)&borrowed_loop->poll, on_close);
    uv_close((uv_handle_t *)&borrowed_loop->async, on_close);
}

void hf_borrowed_loop_abandon(struct hf_borrowed_loop *borrowed_loop)
{
    borrowed_loop->handles = 0;
    atomic_store(&borrowed_loop->in_use, false);
}

bool hf_borrowed_loop_is_current(const struct hf_borrowed_loop *borrowed_loop)
{
    return atomic_load(&borrowed_loop->in_use) &&
           pthread_equal(borrowed_loop->thread, pthread_self());
}
