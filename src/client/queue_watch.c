/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls on a watch of queues: which queues those are, opening and
 * freeing it. */
#include "client/queue_watch.h"

#include <inttypes.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "operation/opts_compat.h"

#define QUEUES_ALL                                                             \
    ((uint64_t)(HF_QUEUE_LOCK | HF_QUEUE_SEMAPHORE | HF_QUEUE_PARTICIPANTS))

/* -------------------------------------------------------------- lifetime -- */

/* Free ${watch}, which nobody else knows.  Without the lock. */
static void free_all(struct hf_queue_watch *watch)
{
    for (int i = 0; i < HF_LISTED_QUEUES; i++) {
        hf_tickets_free(watch->queues[i].fresh);
        hf_watched_queue_free(&watch->queues[i].known);
    }
    hf_lock_free(watch->semaphore);
    hf_lock_free(watch->barrier);
    hf_lock_free(watch->lock); /* this may free the client */
    hf_free(watch);
}

/* The .destroy of a watch: without the lock, after its last reference is
 * gone. */
static void destroy(struct hf_deferred_free *object)
{
    struct hf_queue_watch *watch =
        container_of(object, struct hf_queue_watch, deferred);

    if (!hf_fork_is_child(&watch->client->monitor.fork))
        free_all(watch);
}

/* Have ${which} of the queue ${name} listed by ${lock}. */
static void init_queue(struct hf_queue_watch *watch,
                       enum hf_listed_queue_number number, struct hf_lock *lock,
                       const char *name, enum hf_tickets_which which)
{
    struct hf_listed_queue *queue = &watch->queues[number];

    queue->lock = lock;
    queue->name = name;
    queue->which = which;
    queue->known.texts.count = HF_WATCHED_TEXTS;
    hf_listed_queue_move(queue, HF_LISTED_CHANGED);
}

/* Open the lock, semaphore and double barrier by which the queues are listed.
 * Without the lock. */
static hf_status open_locks(struct hf_queue_watch *watch, const char *api_name,
                            const char *name)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_client *client = watch->client;
    hf_status status;

    status = hf_lock_open_for(client, api_name, name, NULL, &watch->lock);
    opts.kind = HF_KIND_SEMAPHORE;
    if (status == HF_OK)
        status =
            hf_lock_open_for(client, api_name, name, &opts, &watch->semaphore);
    if (status == HF_OK)
        status =
            hf_lock_open_for(client, api_name, name, NULL, &watch->barrier);
    if (status == HF_OK) {
        watch->barrier->kind = HF_TICKET_PARTICIPANT;
        watch->barrier->limit = 1;
    }
    return status;
}

/* Texts of participants are read with each list: there are few of them. */
static void init_queues(struct hf_queue_watch *watch, uint64_t queues)
{
    struct hf_listed_queue *participants =
        &watch->queues[HF_LISTED_PARTICIPANTS];
    struct hf_lock *semaphore = watch->semaphore;

    for (int i = 0; i < HF_LISTED_QUEUES; i++)
        watch->queues[i].watch = watch;
    if (queues == HF_QUEUE_ALL)
        queues = QUEUES_ALL;
    if ((queues & HF_QUEUE_LOCK) != 0)
        init_queue(watch, HF_LISTED_LOCK, watch->lock, watch->lock->name,
                   HF_TICKETS_ALL);
    if ((queues & HF_QUEUE_SEMAPHORE) != 0) {
        init_queue(watch, HF_LISTED_WAITERS, semaphore, semaphore->entry_queue,
                   HF_TICKETS_WAITERS);
        init_queue(watch, HF_LISTED_HOLDERS, semaphore, semaphore->lease_queue,
                   HF_TICKETS_HOLDERS);
    }
    if ((queues & HF_QUEUE_PARTICIPANTS) != 0) {
        init_queue(watch, HF_LISTED_PARTICIPANTS, watch->barrier,
                   watch->barrier->name, HF_TICKETS_ALL);
        participants->ticket_kind = HF_TICKET_PARTICIPANT;
        participants->known.texts.count = 0;
    }
}

/* ------------------------------------------------------------------ open -- */

/* Set ${opts} to what ${given} says, and check that and ${on_event}. */
static hf_status check_arguments(const struct hf_queue_watch_opts *given,
                                 struct hf_queue_watch_opts *opts,
                                 const struct hf_on_queue_event *on_event,
                                 struct hf_error *error)
{
    hf_status status =
        hf_opts_copy(&hf_queue_watch_opts_type, given, opts, error);

    if (status != HF_OK)
        return status;
    if (on_event->fn == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "the callback is NULL, and nobody would be "
                            "notified; pass a function");
    if ((opts->queues & ~QUEUES_ALL) != 0)
        return hf_error_set(
            error, HF_EINVAL,
            "'queues' is %" PRIu64
            "; expected bits of enum hf_queue_watch_queues, %" PRIu64
            " at most",
            opts->queues, QUEUES_ALL);
    return HF_OK;
}

/* Begin to watch.  With the lock. */
static hf_status begin(struct hf_queue_watch *made,
                       struct hf_queue_watch **watch, struct hf_error *error)
{
    struct hf_monitor *monitor = &made->client->monitor;
    hf_status status;

    if (monitor->state != HF_MONITOR_OPEN)
        return hf_monitor_explain_closed(monitor, "client", error);
    if ((status = hf_monitor_ensure_poller(monitor, error)) != HF_OK)
        return status;
    *watch = made;
    hf_queue_watch_start(made);
    return HF_OK;
}

/* What hf_queue_watch_open() does, but for the .drop on failure. */
static hf_status open_watch(struct hf_client *client, const char *name,
                            const struct hf_queue_watch_opts *given,
                            const struct hf_on_queue_event *on_event,
                            struct hf_queue_watch **watch)
{
    static const char api_name[] = "hf_queue_watch_open";
    struct hf_queue_watch_opts opts;
    struct hf_queue_watch *made;
    struct hf_error error;
    hf_status status;

    if (check_arguments(given, &opts, on_event, &error) != HF_OK)
        return hf_open_fail(client, api_name, &error);
    if ((made = hf_open_alloc(api_name, sizeof *made)) == NULL)
        return HF_ENOMEM;
    made->client = client;
    made->references = 1;
    made->on_event = *on_event;
    made->user.drop = (struct hf_user_drop){on_event->drop, on_event->arg};
    made->callback =
        (struct hf_callback){.run = hf_queue_watch_run_events, .arg = made};
    made->deferred.destroy = destroy;
    status = open_locks(made, api_name, name);
    if (status == HF_OK)
        status = hf_monitor_enter(&client->monitor, api_name);
    if (status != HF_OK)
        goto free_watch;
    init_queues(made, opts.queues);
    if ((status = begin(made, watch, &error)) != HF_OK)
        (void)hf_fail(api_name, &error);
    hf_monitor_leave(&client->monitor);
    if (status == HF_OK)
        return HF_OK;
free_watch:
    free_all(made);
    return status;
}

hf_status hf_queue_watch_open(struct hf_client *client, const char *name,
                              const struct hf_queue_watch_opts *opts,
                              struct hf_on_queue_event on_event,
                              struct hf_queue_watch **watch)
{
    hf_status status;

    *watch = NULL;
    status = open_watch(client, name, opts, &on_event, watch);
    if (status != HF_OK && on_event.drop != NULL)
        on_event.drop(on_event.arg);
    return status;
}

/* As hf_election_free(). */
void hf_queue_watch_free(struct hf_queue_watch *watch)
{
    struct hf_monitor *monitor;
    struct hf_user_drop drop;

    if (watch == NULL ||
        hf_monitor_enter(&watch->client->monitor, NULL) != HF_OK)
        return; /* in the child of a fork: it stays allocated */
    monitor = &watch->client->monitor;
    hf_user_callback_retire(&watch->user);
    hf_queue_watch_stop(watch);
    if (watch->callback.queued) {
        hf_callback_queue_remove(&monitor->callback_queue, &watch->callback);
        hf_queue_watch_dereference(watch);
    }
    drop = hf_user_callback_await(&watch->user, monitor);
    hf_monitor_unlock(monitor);
    hf_user_drop_call(&drop);
    hf_monitor_lock(monitor);
    hf_queue_watch_dereference(watch);
    hf_monitor_leave(monitor);
}
