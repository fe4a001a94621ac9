/* SPDX-License-Identifier: Apache-2.0 */
#include "host/delivery.h"

#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/client.h"

static _Thread_local unsigned depth;

bool hf_delivery_init(struct hf_delivery_queue *delivery,
                      enum hf_delivery_place place)
{
    *delivery = (struct hf_delivery_queue){.place = place, .fd = -1};
    delivery->end = &delivery->first;
    pthread_cond_init(&delivery->stopped, NULL);
    if (place == HF_PLACE_DISPATCH)
        delivery->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return place != HF_PLACE_DISPATCH || delivery->fd >= 0;
}

void hf_delivery_free(struct hf_delivery_queue *delivery)
{
    assert(delivery->first == NULL);
    pthread_cond_destroy(&delivery->stopped);
    if (delivery->fd >= 0)
        close(delivery->fd);
    delivery->fd = -1;
}

/* Level-triggered for the user: readable exactly while something is queued. */
static void show(const struct hf_delivery_queue *delivery)
{
    uint64_t count = 1;
    ssize_t done;

    if (delivery->fd < 0)
        return;
    if (delivery->first != NULL)
        done = write(delivery->fd, &count, sizeof(count));
    else
        done = read(delivery->fd, &count, sizeof(count));
    assert(done == sizeof(count) || errno == EAGAIN);
}

void hf_delivery_add(struct hf_client *client, struct hf_callback *callback)
{
    struct hf_delivery_queue *delivery = &client->delivery;
    bool was_empty = delivery->first == NULL;

    if (callback->queued)
        return;
    callback->queued = true;
    callback->next = NULL;
    *delivery->end = callback;
    delivery->end = &callback->next;
    if (!was_empty)
        return;
    if (delivery->place == HF_PLACE_DISPATCH)
        show(delivery);
    else if (delivery->place == HF_PLACE_BORROWED)
        hf_borrowed_wake(client);
    else
        hf_background_wake(client);
}

void hf_delivery_remove(struct hf_client *client, struct hf_callback *callback)
{
    struct hf_delivery_queue *delivery = &client->delivery;
    struct hf_callback **link = &delivery->first;

    if (!callback->queued)
        return;
    while (*link != callback)
        link = &(*link)->next;
    *link = callback->next;
    if (delivery->end == &callback->next)
        delivery->end = link;
    if (delivery->stop == &callback->next)
        delivery->stop = link;
    callback->queued = false;
    if (delivery->first == NULL)
        show(delivery);
}

bool hf_delivery_empty(const struct hf_delivery_queue *delivery)
{
    return delivery->first == NULL && !delivery->running;
}

void hf_delivery_begin(void)
{
    depth++;
}

/* In a child that was forked from there it is outside already. */
void hf_delivery_end(void)
{
    if (depth > 0)
        depth--;
}

void hf_delivery_run(struct hf_client *client)
{
    struct hf_delivery_queue *delivery = &client->delivery;
    struct hf_callback *callback;

    assert(!delivery->running);
    delivery->running = true;
    delivery->stop = delivery->end;
    hf_delivery_begin();
    while (delivery->stop != &delivery->first) {
        callback = delivery->first;
        hf_delivery_remove(client, callback);
        callback->run(client, callback->arg);
        if (hf_fork_parted(client))
            return; /* the rest is the parent's */
    }
    hf_delivery_end();
    delivery->stop = NULL;
    delivery->running = false;
    pthread_cond_broadcast(&delivery->stopped);
}

void hf_delivery_await(struct hf_client *client)
{
    while (client->delivery.running)
        pthread_cond_wait(&client->delivery.stopped, &client->lock);
}

void hf_delivery_after_fork(void)
{
    depth = 0;
}

bool hf_delivery_inside(void)
{
    return depth > 0;
}
