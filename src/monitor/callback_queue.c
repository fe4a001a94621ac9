/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of callbacks, and who is inside one.
 */
#include "monitor/callback_queue.h"

#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "monitor/fork.h"
#include "thread/high_descriptor.h"

/* How many callbacks this thread is inside of: one may call a .drop. */
static _Thread_local unsigned callback_depth;

bool hf_callback_queue_init(struct hf_callback_queue *queue,
                            enum hf_callback_runner runner)
{
    *queue = (struct hf_callback_queue){.runner = runner, .fd = -1};
    queue->end = &queue->first;
    pthread_cond_init(&queue->not_running, NULL);
    if (runner == HF_RUNNER_DISPATCH)
        queue->fd = hf_high_descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    return runner != HF_RUNNER_DISPATCH || queue->fd >= 0;
}

void hf_callback_queue_free(struct hf_callback_queue *queue)
{
    assert(queue->first == NULL);
    pthread_cond_destroy(&queue->not_running);
    if (queue->fd >= 0)
        close(queue->fd);
    queue->fd = -1;
}

/* Make the descriptor readable if something is queued, and not readable if
 * nothing is.  It is level-triggered for the user. */
static void update_fd(const struct hf_callback_queue *queue)
{
    uint64_t count = 1;
    ssize_t rc;

    if (queue->fd < 0)
        return;
    if (queue->first != NULL)
        rc = write(queue->fd, &count, sizeof(count));
    else
        rc = read(queue->fd, &count, sizeof(count));
    /* EBADF: the program closes descriptors just now. */
    assert(rc == sizeof(count) || errno == EAGAIN || errno == EBADF);
}

bool hf_callback_queue_add(struct hf_callback_queue *queue,
                           struct hf_callback *callback)
{
    bool was_empty = queue->first == NULL;

    if (callback->queued)
        return false;
    callback->queued = true;
    callback->next = NULL;
    *queue->end = callback;
    queue->end = &callback->next;
    if (was_empty)
        update_fd(queue);
    return was_empty;
}

/* .end and .run_end may point into the callback that is taken out. */
void hf_callback_queue_remove(struct hf_callback_queue *queue,
                              struct hf_callback *callback)
{
    struct hf_callback **link = &queue->first;

    if (!callback->queued)
        return;
    while (*link != callback)
        link = &(*link)->next;
    *link = callback->next;
    if (queue->end == &callback->next)
        queue->end = link;
    if (queue->run_end == &callback->next)
        queue->run_end = link;
    callback->queued = false;
    if (queue->first == NULL)
        update_fd(queue);
}

bool hf_callback_queue_empty(const struct hf_callback_queue *queue)
{
    return queue->first == NULL && !queue->running;
}

void hf_callback_enter(void)
{
    callback_depth++;
}

/* In a child that was forked in a callback the depth is 0 already. */
void hf_callback_leave(void)
{
    if (callback_depth > 0)
        callback_depth--;
}

/* .run_end is where the queue ends now; a callback that is added later is
 * behind it. */
void hf_callback_queue_run(struct hf_callback_queue *queue,
                           void (*after)(void *arg), void *arg)
{
    uint64_t generation = hf_fork_generation();
    struct hf_callback *callback;

    assert(!queue->running);
    queue->running = true;
    queue->thread = pthread_self();
    queue->run_end = queue->end;
    hf_callback_enter();
    /* When the last one of this run is removed, .run_end becomes &.first. */
    while (queue->run_end != &queue->first) {
        callback = queue->first;
        hf_callback_queue_remove(queue, callback);
        callback->run(callback->arg);
        if (hf_fork_generation() != generation)
            return; /* a child; hf_callback_queue_after_fork() was called */
        after(arg);
    }
    hf_callback_leave();
    queue->run_end = NULL;
    queue->running = false;
    pthread_cond_broadcast(&queue->not_running);
}

bool hf_callback_queue_runs_here(const struct hf_callback_queue *queue)
{
    return queue->running && pthread_equal(queue->thread, pthread_self());
}

bool hf_callback_queue_has_more(const struct hf_callback_queue *queue)
{
    return queue->run_end != &queue->first;
}

void hf_callback_queue_await(struct hf_callback_queue *queue,
                             pthread_mutex_t *lock)
{
    while (queue->running)
        pthread_cond_wait(&queue->not_running, lock);
}

void hf_callback_queue_after_fork(struct hf_callback_queue *queue,
                                  bool is_intact)
{
    if (is_intact && queue->fd >= 0)
        close(queue->fd);
    callback_depth = 0;
}

bool hf_callback_inside(void)
{
    return callback_depth > 0;
}
