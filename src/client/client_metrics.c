/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting what happens to the session, and handing the numbers to the user;
 * and the queue of the events of locks, with the callback that calls the user
 * with them.
 */
#include "client/client_metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "client/client.h"
#include "core/deadlock.h"
#include "metrics/metrics_families.h"
#include "monitor/clock.h"
#include "monitor/monitor.h"

/* ------------------------------------------------------ events of locks -- */

struct hf_waiting_lock_event {
    struct hf_waiting_lock_event *next;
    struct hf_lock_event event; /* .name is .text */
    char text[];
};

/* ------------------------------------------------------------- the user -- */

/* Empty the queue, and return its first event, to which the others are linked;
 * NULL: there was none. */
static struct hf_waiting_lock_event *take(struct hf_lock_events *events)
{
    struct hf_waiting_lock_event *taken = events->first;

    events->first = NULL;
    events->end = &events->first;
    events->count = 0;
    return taken;
}

static void warn_of_lost(struct hf_lock_events *events)
{
    if (events->lost == 0)
        return;
    hf_log_write(&events->monitor->log, HF_LOG_WARNING,
                 "%u events of locks were not reported, because %d waited for "
                 "'on_event' to return, or memory was short",
                 events->lost, HF_LOCK_EVENTS_MAX);
    events->lost = 0;
}

/* Call the user's function with each event of ${waiting}, and free the event.
 * If the function has forked, its child leaves the rest alone, because that is
 * the parent's.  Without the lock. */
static void call(const struct hf_on_event *on_event,
                 const struct hf_monitor *monitor,
                 struct hf_waiting_lock_event *waiting)
{
    struct hf_waiting_lock_event *next;

    for (; waiting != NULL; waiting = next) {
        next = waiting->next;
        on_event->fn(on_event->arg, &waiting->event);
        if (hf_fork_is_child(&monitor->fork))
            return;
        hf_free(waiting);
    }
}

/* The .run of the callback. */
static void run(void *arg)
{
    struct hf_lock_events *events = arg;
    struct hf_monitor *monitor = events->monitor;
    const struct hf_on_event on_event = events->on_event;
    struct hf_waiting_lock_event *taken = take(events);

    warn_of_lost(events);
    if (taken == NULL)
        return;
    hf_monitor_unlock(monitor);
    call(&on_event, monitor, taken);
    hf_monitor_lock(monitor);
}

/* ------------------------------------------------------------ the queue -- */

void hf_lock_events_init(struct hf_lock_events *events,
                         struct hf_monitor *monitor,
                         struct hf_on_event on_event)
{
    *events = (struct hf_lock_events){.monitor = monitor,
                                      .on_event = on_event,
                                      .callback = {.run = run, .arg = events}};
    events->end = &events->first;
}

void hf_lock_events_add(struct hf_lock_events *events,
                        const struct hf_lock_event *event)
{
    size_t bytes = strlen(event->name) + 1;
    struct hf_waiting_lock_event *waiting = NULL;

    if (events->on_event.fn == NULL)
        return;
    if (events->count < HF_LOCK_EVENTS_MAX)
        waiting = hf_alloc(sizeof(*waiting) + bytes);
    if (waiting == NULL) {
        events->lost++;
    } else {
        waiting->next = NULL;
        waiting->event = *event;
        waiting->event.name = waiting->text;
        memcpy(waiting->text, event->name, bytes);
        *events->end = waiting;
        events->end = &waiting->next;
        events->count++;
    }
    hf_monitor_queue(events->monitor, &events->callback);
}

void hf_lock_events_close(struct hf_lock_events *events)
{
    if (events->on_event.fn == NULL)
        return;
    hf_callback_queue_remove(&events->monitor->callback_queue,
                             &events->callback);
    run(events);
    events->on_event.fn = NULL;
}

/* -------------------------------------------------------- begin and end -- */

/* The directory that the environment names, or NULL.  A set-user-id program
 * ignores the variable, because its caller has set it. */
static const char *chosen_dir(const struct hf_client_opts *opts)
{
    const char *dir = secure_getenv("HOLDFAST_METRICS_DIR");

    if ((opts->metrics & HF_METRICS_DIR) == 0 || dir == NULL || dir[0] == '\0')
        return NULL;
    return dir;
}

/* Metrics must not keep a program from its locks: if the directory cannot be
 * used, that is logged, and the client is opened all the same. */
hf_status hf_client_metrics_open(struct hf_client *client,
                                 const struct hf_client_opts *opts,
                                 struct hf_error *error)
{
    struct hf_client_metrics *metrics = &client->metrics;
    const char *dir = chosen_dir(opts);
    struct hf_error why;

    metrics->file.fd = -1;
    metrics->name = opts->metrics_name;
    hf_lock_events_init(&metrics->events, &client->monitor, opts->on_event);
    if (dir != NULL &&
        hf_metrics_file_create(&metrics->file, dir, &why) != HF_OK)
        hf_log_write(&client->monitor.log, HF_LOG_WARNING,
                     "no metrics in HOLDFAST_METRICS_DIR: %s", why.text);
    if (metrics->file.block == NULL &&
        (opts->metrics & HF_METRICS_COUNT) != 0 &&
        !hf_metrics_file_in_memory(&metrics->file))
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    return HF_OK;
}

void hf_client_metrics_close(struct hf_client *client)
{
    hf_lock_events_close(&client->metrics.events);
    hf_metrics_file_close(&client->metrics.file);
}

bool hf_client_metrics_on(const struct hf_client *client)
{
    return client->metrics.file.block != NULL;
}

/* The lock counts among the others, without a text, if the user's function
 * returns NULL or the name is one that the format cannot have. */
void hf_client_metrics_name(const struct hf_client *client, const char *name,
                            char text[HF_METRICS_NAME_BYTES],
                            struct hf_metrics_name_ref *ref)
{
    const struct hf_metrics_name *chosen = &client->metrics.name;

    *ref = (struct hf_metrics_name_ref){.text = NULL};
    if (chosen->fn != NULL)
        name = chosen->fn(chosen->arg, name);
    if (name == NULL || !hf_metrics_name_valid(name))
        return;
    ref->id = hf_metrics_name_id(name, text);
    ref->text = text;
}

/* ------------------------------------------------------------- counting -- */

/* Numbers that could not be written are written with the next call.
 * hf_metrics_file_write() fails only the first time of several, so there is one
 * warning for each time that the file falls behind. */
void hf_client_metrics_keep(struct hf_client *client)
{
    struct hf_error why;

    if (hf_metrics_file_write(&client->metrics.file, &why) != HF_OK)
        hf_log_write(&client->monitor.log, HF_LOG_WARNING,
                     "the file in HOLDFAST_METRICS_DIR is behind: %s",
                     why.text);
}

/* Times only what every engine carries out at its server each time.  A list is
 * not timed, because it may be answered from an earlier one. */
void hf_client_metrics_request(struct hf_client *client,
                               const struct hf_request *request)
{
    struct hf_client_metrics *metrics = &client->metrics;

    if (metrics->file.block == NULL || metrics->timed != NULL)
        return;
    if (request->kind != HF_REQUEST_ENQUEUE &&
        request->kind != HF_REQUEST_REMOVE && request->kind != HF_REQUEST_PROVE)
        return;
    metrics->timed = request;
    metrics->timed_us = hf_boottime_us();
}

/* ${request} was answered.  A failure is no round trip, because the request may
 * have waited for a connection.  The file gets the duration with the next event
 * that is counted, because a write for each would double what counting
 * costs. */
static void end_timing(struct hf_client_metrics *metrics,
                       const struct hf_request *request, bool failed)
{
    struct hf_metrics_duration duration;

    if (request == NULL || request != metrics->timed)
        return;
    metrics->timed = NULL;
    if (failed)
        return;
    duration = hf_metrics_duration(hf_boottime_us() - metrics->timed_us);
    hf_metrics_observe(&metrics->file.block->round_trip, &duration);
}

static void count(struct hf_client *client, uint64_t *counter)
{
    ++*counter;
    hf_client_metrics_keep(client);
}

static void count_connection(struct hf_client *client)
{
    if (client->metrics.connected)
        count(client, &client->metrics.file.block->reconnects);
    client->metrics.connected = true;
}

void hf_client_metrics_event(struct hf_client *client,
                             const struct hf_event *event)
{
    struct hf_client_metrics *metrics = &client->metrics;
    const struct hf_session *session = &client->core.session;

    if (metrics->file.block == NULL)
        return;
    switch (event->kind) {
    case HF_EVENT_CONNECTED:
        count_connection(client);
        break;
    case HF_EVENT_SUSPENDED:
        if (session->state == HF_STATE_CONNECTED)
            count(client, &metrics->file.block->suspensions);
        break;
    case HF_EVENT_SESSION_LOST:
        if (hf_session_alive(session))
            count(client, &metrics->file.block->sessions_lost);
        break;
    case HF_EVENT_ENQUEUED:
    case HF_EVENT_REMOVED:
    case HF_EVENT_PROVEN:
        end_timing(metrics, event->as.answer.request, false);
        break;
    case HF_EVENT_FAILED:
        end_timing(metrics, event->as.answer.request, true);
        break;
    default: /* nothing that is counted */
        break;
    }
}

void hf_client_metrics_cut_searches(struct hf_client *client)
{
    uint64_t cut = client->core.deadlocks_cut, before = client->deadlocks_cut;

    if (cut == before)
        return;
    client->deadlocks_cut = cut;
    if (client->metrics.file.block != NULL) {
        client->metrics.file.block->deadlock_searches_cut += cut - before;
        hf_client_metrics_keep(client);
    }
    if (before == 0)
        hf_log_write(&client->monitor.log, HF_LOG_WARNING,
                     "a look for a deadlock was ended without a result, "
                     "because it would take more than %d queues or %d tickets; "
                     "this is not logged again",
                     HF_DEADLOCK_QUEUES_MAX, HF_DEADLOCK_TICKETS_MAX);
}

/* ---------------------------------------------------------- the numbers -- */

/* Set ${sum} to what ${client} has counted.  Without the lock. */
static hf_status take_sum(struct hf_client *client, const char *api_name,
                          struct hf_metrics_sum *sum)
{
    struct hf_error error = {.status = HF_OK};
    hf_status status = hf_monitor_enter(&client->monitor, api_name);

    *sum = (struct hf_metrics_sum){.count = 0};
    if (status != HF_OK)
        return status;
    if (!hf_client_metrics_on(client))
        hf_error_set(&error, HF_ESTATE,
                     "this client counts nothing; open it with .metrics = "
                     "HF_METRICS_COUNT in its options");
    else if (!hf_metrics_sum_add(sum, client->metrics.file.block,
                                 HF_METRICS_NAMES))
        hf_error_set(&error, HF_ENOMEM, "out of memory");
    status = error.status;
    if (status != HF_OK)
        (void)hf_fail(api_name, &error);
    hf_monitor_leave(&client->monitor);
    if (status != HF_OK)
        hf_metrics_sum_free(sum);
    return status;
}

/* The memory of a struct hf_client_stats and of all that it points to. */
struct stats {
    struct hf_client_stats user; /* what the user has */
    struct hf_metrics_sum sum;
    struct hf_lock_stats others;
    const struct hf_lock_stats *names[HF_METRICS_NAMES];
};

static void fill_stats(struct stats *stats)
{
    struct hf_metrics_sum *sum = &stats->sum;

    hf_metrics_sum_others(sum, &stats->others);
    sum->all.name = "";
    stats->others.name = "";
    for (size_t i = 0; i < sum->count; i++) {
        sum->names[i].stats.name = sum->names[i].text;
        stats->names[i] = &sum->names[i].stats;
    }
    stats->user = (struct hf_client_stats){
        .all = &sum->all,
        .by_status = sum->ended,
        .status_count = HF_METRICS_STATUSES,
        .reconnects = sum->reconnects,
        .suspensions = sum->suspensions,
        .sessions_lost = sum->sessions_lost,
        .deadlock_searches_cut = sum->deadlock_searches_cut,
        .round_trip = sum->round_trip,
        .names = stats->names,
        .name_count = sum->count,
        .others = &stats->others,
    };
}

hf_status hf_client_stats(struct hf_client *client,
                          struct hf_client_stats **stats)
{
    static const char api_name[] = "hf_client_stats";
    struct stats *made = hf_open_alloc(api_name, sizeof(*made));
    hf_status status;

    *stats = NULL;
    if (made == NULL)
        return HF_ENOMEM;
    status = take_sum(client, api_name, &made->sum);
    if (status != HF_OK) {
        hf_free(made);
        return status;
    }
    fill_stats(made);
    *stats = &made->user;
    return HF_OK;
}

void hf_client_stats_free(struct hf_client_stats *stats)
{
    struct stats *made = container_of_or_null(stats, struct stats, user);

    if (made == NULL)
        return;
    hf_metrics_sum_free(&made->sum);
    hf_free(made);
}

hf_status hf_client_metrics_write(struct hf_client *client,
                                  struct hf_metrics_write write)
{
    struct hf_openmetrics out = {.write = write};
    static const char api_name[] = "hf_client_metrics_write";
    struct hf_metrics_sum sum;
    struct hf_error error;
    hf_status status = take_sum(client, api_name, &sum);

    if (status != HF_OK)
        return status;
    hf_metrics_write_families(&out, &sum);
    hf_metrics_sum_free(&sum);
    if (hf_openmetrics_end(&out))
        return HF_OK;
    hf_error_set(&error, HF_ECANCELLED, "the function that writes refused");
    return hf_fail(api_name, &error);
}
