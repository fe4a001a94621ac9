/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/delivery.h"

#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "monitor/fork.h"

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

bool hf_delivery_add(struct hf_delivery_queue *delivery,
                     struct hf_callback *callback)
{
    bool was_empty = delivery->first == NULL;

    if (callback->queued)
        return false;
    callback->queued = true;
    callback->next = NULL;
    *delivery->end = callback;
    delivery->end = &callback->next;
    if (was_empty)
        show(delivery);
    return was_empty;
}

void hf_delivery_remove(struct hf_delivery_queue *delivery,
                        struct hf_callback *callback)
{
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

void hf_delivery_run(struct hf_delivery_queue *delivery)
{
    uint64_t generation = hf_fork_generation();
    struct hf_callback *callback;

    assert(!delivery->running);
    delivery->running = true;
    delivery->stop = delivery->end;
    hf_delivery_begin();
    while (delivery->stop != &delivery->first) {
        callback = delivery->first;
        hf_delivery_remove(delivery, callback);
        callback->run(callback->arg);
        if (hf_fork_generation() != generation)
            return; /* the rest is the parent's */
    }
    hf_delivery_end();
    delivery->stop = NULL;
    delivery->running = false;
    pthread_cond_broadcast(&delivery->stopped);
}

void hf_delivery_await(struct hf_delivery_queue *delivery,
                       pthread_mutex_t *lock)
{
    while (delivery->running)
        pthread_cond_wait(&delivery->stopped, lock);
}

void hf_delivery_after_fork(struct hf_delivery_queue *delivery)
{
    if (delivery->fd >= 0)
        close(delivery->fd);
    depth = 0;
}

bool hf_delivery_inside(void)
{
    return depth > 0;
}
