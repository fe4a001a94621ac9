/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public calls on a watch of queues, and its callback.  The callback is the
 * only one that compares lists, so it has what is known of the queues for
 * itself while the function of the user runs without the lock.
 */
#include "client/queue_watch.h"

#include <inttypes.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"

#define PARTS_ALL                                                              \
    ((uint64_t)(HF_QUEUE_LOCK | HF_QUEUE_SEMAPHORE | HF_QUEUE_PARTICIPANTS))

/* -------------------------------------------------------------- lifetime -- */

/* Free ${watch}, which nobody else knows.  Without the lock. */
static void free_all(struct hf_queue_watch *watch)
{
    for (int i = 0; i < HF_QUEUE_PARTS; i++) {
        hf_tickets_free(watch->parts[i].fresh);
        hf_watched_queue_free(&watch->parts[i].known);
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

/* Set ${part} to list ${which} of the queue ${queue} by ${lock}. */
static void init_part(struct hf_queue_watch *watch, enum hf_queue_part number,
                      struct hf_lock *lock, const char *queue,
                      enum hf_tickets_which which)
{
    struct hf_watched_part *part = &watch->parts[number];

    part->lock = lock;
    part->queue = queue;
    part->which = which;
    part->used = true;
    part->known.texts.count = HF_WATCHED_TEXTS;
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
static void init_parts(struct hf_queue_watch *watch, uint64_t parts)
{
    struct hf_lock *semaphore = watch->semaphore;

    for (int i = 0; i < HF_QUEUE_PARTS; i++)
        watch->parts[i].watch = watch;
    if (parts == HF_QUEUE_ALL)
        parts = PARTS_ALL;
    if ((parts & HF_QUEUE_LOCK) != 0)
        init_part(watch, HF_QUEUE_PART_LOCK, watch->lock, watch->lock->name,
                  HF_TICKETS_ALL);
    if ((parts & HF_QUEUE_SEMAPHORE) != 0) {
        init_part(watch, HF_QUEUE_PART_WAITERS, semaphore,
                  semaphore->entry_queue, HF_TICKETS_WAITERS);
        init_part(watch, HF_QUEUE_PART_HOLDERS, semaphore,
                  semaphore->lease_queue, HF_TICKETS_HOLDERS);
    }
    if ((parts & HF_QUEUE_PARTICIPANTS) != 0) {
        init_part(watch, HF_QUEUE_PART_PARTICIPANTS, watch->barrier,
                  watch->barrier->name, HF_TICKETS_ALL);
        watch->parts[HF_QUEUE_PART_PARTICIPANTS].ticket_kind =
            HF_TICKET_PARTICIPANT;
        watch->parts[HF_QUEUE_PART_PARTICIPANTS].known.texts.count = 0;
    }
}

/* ------------------------------------------------------------------ open -- */

static hf_status check_arguments(uint64_t parts,
                                 const struct hf_on_queue_event *on_event,
                                 struct hf_error *error)
{
    if (on_event->fn == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "the callback is NULL, and nobody would be "
                            "notified; pass a function");
    if ((parts & ~PARTS_ALL) != 0)
        return hf_error_set(error, HF_EINVAL,
                            "'parts' is %" PRIu64
                            "; expected bits of enum hf_queue_parts, %" PRIu64
                            " at most",
                            parts, PARTS_ALL);
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
                            uint64_t parts,
                            const struct hf_on_queue_event *on_event,
                            struct hf_queue_watch **watch)
{
    static const char api_name[] = "hf_queue_watch_open";
    struct hf_queue_watch *made;
    struct hf_error error;
    hf_status status;

    if (check_arguments(parts, on_event, &error) != HF_OK)
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
    init_parts(made, parts);
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
                              uint64_t parts, struct hf_on_queue_event on_event,
                              struct hf_queue_watch **watch)
{
    hf_status status;

    *watch = NULL;
    status = open_watch(client, name, parts, &on_event, watch);
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
