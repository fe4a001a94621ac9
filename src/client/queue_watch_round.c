/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rounds of a watch: the waits until a queue has changed, and the lists.
 *
 * A wait is set before the list is requested, so a change that the list does
 * not show ends the wait, and leads to another round.
 *
 * An operation may end while its effect is carried out, or later.  So each
 * function that begins one does nothing afterwards.
 */
#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/time_math.h"
#include "client/queue_watch.h"

static void go_on(struct hf_queue_watch *watch);

static uint64_t utc_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* -------------------------------------------------------------- lifetime -- */

void hf_queue_watch_reference(struct hf_queue_watch *watch)
{
    watch->references++;
}

void hf_queue_watch_dereference(struct hf_queue_watch *watch)
{
    assert(watch->references > 0);
    if (--watch->references == 0)
        hf_monitor_defer_free(&watch->client->monitor, &watch->deferred);
}

/* The callback keeps the watch alive while it is queued. */
void hf_queue_watch_report(struct hf_queue_watch *watch)
{
    if (watch->callback.queued || hf_user_callback_is_retired(&watch->user))
        return;
    hf_queue_watch_reference(watch);
    hf_monitor_queue(&watch->client->monitor, &watch->callback);
}

/* ------------------------------------------------------------------- end -- */

/* Does the core still work on ${operation}, for its user? */
static bool is_under_way(const struct hf_operation *operation)
{
    return operation->state > HF_OPERATION_IDLE &&
           operation->state < HF_OPERATION_DRAINING;
}

static void cancel_operation(struct hf_client *client,
                             struct hf_operation *operation)
{
    struct hf_event event = {.kind = HF_EVENT_CANCEL_OPERATION};

    if (!is_under_way(operation))
        return;
    event.as.operation = operation;
    hf_client_step(client, &event);
}

/* End the wait of ${part}, and its list. */
static void stop_part(struct hf_watched_part *part)
{
    struct hf_client *client = part->watch->client;

    if (part->wait == HF_QUEUE_WAIT_ASKED || part->wait == HF_QUEUE_WAIT_SET)
        cancel_operation(client, &part->operation);
    if (part->list != NULL)
        cancel_operation(client, &part->list->operation);
}

void hf_queue_watch_stop(struct hf_queue_watch *watch)
{
    struct hf_queue_watch **link = &watch->client->queue_watches;

    if (watch->state == HF_QUEUE_WATCH_STOPPED)
        return;
    watch->state = HF_QUEUE_WATCH_STOPPED;
    while (*link != watch)
        link = &(*link)->next;
    *link = watch->next;
    watch->client->pending--;
    for (int i = 0; i < HF_QUEUE_PARTS; i++)
        stop_part(&watch->parts[i]);
}

/* The watch has failed. */
static void fail(struct hf_queue_watch *watch, hf_status status,
                 const char *text)
{
    watch->ended = true;
    (void)hf_error_set(&watch->why, status, "%s", text);
    hf_queue_watch_stop(watch);
    hf_queue_watch_report(watch);
}

/* The engine has no queues such as that of ${part}. */
static void drop_part(struct hf_watched_part *part, const char *text)
{
    struct hf_queue_watch *watch = part->watch;
    bool used = false;

    part->used = part->due = part->in_round = false;
    stop_part(part);
    for (int i = 0; i < HF_QUEUE_PARTS; i++)
        used = used || watch->parts[i].used;
    if (!used)
        fail(watch, HF_EUNSUPPORTED, text);
}

/* The wait or the list of ${part} has failed.  Without memory a later one may
 * succeed. */
static void part_failed(struct hf_watched_part *part, hf_status status,
                        const char *text)
{
    struct hf_queue_watch *watch = part->watch;

    if (status == HF_EUNSUPPORTED) {
        drop_part(part, text);
    } else if (status == HF_ENOMEM) {
        part->in_round = false;
        part->due = watch->gap = true;
        hf_list_pace_want(&watch->pace);
    } else {
        fail(watch, status, text);
    }
}

/* ----------------------------------------------------------------- steps -- */

/* Have the core wait until the queue of ${part} has changed. */
static void start_wait(struct hf_watched_part *part)
{
    struct hf_event event = {.kind = HF_EVENT_START_OPERATION};

    memset(&part->operation, 0, sizeof part->operation);
    part->wait = HF_QUEUE_WAIT_ASKED;
    part->operation.kind = HF_REQUEST_WATCH_QUEUE;
    part->operation.waits_for = HF_WAIT_CHANGE;
    part->operation.queue = part->queue;
    part->operation.flag_kind = part->ticket_kind;
    part->operation.deadline_at_ms = HF_FOREVER;
    event.as.operation = &part->operation;
    hf_queue_watch_reference(part->watch);
    hf_client_step(part->watch->client, &event);
}

/* The list of ${part} has come, or has failed. */
static void list_ended(void *arg, const struct hf_result *result)
{
    struct hf_watched_part *part = arg;
    struct hf_queue_watch *watch = part->watch;

    hf_user_op_dereference(&part->list->user_op);
    part->list = NULL;
    if (watch->state == HF_QUEUE_WATCH_STOPPED) {
        hf_tickets_free(result->tickets);
    } else if (result->status != HF_OK) {
        part_failed(part, result->status, result->text);
        go_on(watch);
    } else {
        part->in_round = false;
        hf_tickets_free(part->fresh); /* of the round before .again */
        part->fresh = result->tickets;
        part->listed_at_ms = hf_boottime_ms();
        part->listed_at_utc_ms = utc_ms();
        go_on(watch);
    }
    hf_queue_watch_dereference(watch);
}

/* List the queue of ${part}.  If that was refused, the round goes on with the
 * next part. */
static void start_list(struct hf_watched_part *part)
{
    struct hf_queue_watch *watch = part->watch;
    const struct hf_queue_op_args args = {.kind = HF_REQUEST_LIST,
                                          .which = part->which,
                                          .texts = part->known.texts,
                                          .flag_kind = part->ticket_kind,
                                          .wait_ms = HF_FOREVER};
    const struct hf_completion completion = {.done = {list_ended, part, NULL},
                                             .is_step = true};
    struct hf_error error;

    hf_queue_watch_reference(watch);
    if (hf_queue_op_begin(part->lock, &args, &completion, &part->list,
                          &error) == HF_OK)
        return;
    part_failed(part, error.status, error.text);
    go_on(watch);
    hf_queue_watch_dereference(watch);
}

/* ---------------------------------------------------------------- rounds -- */

/* Put the parts that are due into the round. */
static void choose_parts(struct hf_queue_watch *watch)
{
    for (int i = 0; i < HF_QUEUE_PARTS; i++) {
        struct hf_watched_part *part = &watch->parts[i];

        part->in_round = part->in_round || part->due;
        part->due = false;
    }
    watch->round_gap = watch->round_gap || watch->gap;
    watch->round_resumed = watch->round_resumed || watch->resumed;
    watch->gap = watch->resumed = watch->again = false;
}

static void begin_round(struct hf_queue_watch *watch)
{
    watch->state = HF_QUEUE_WATCH_LISTING;
    hf_list_pace_begin(&watch->pace, hf_now_ms());
    choose_parts(watch);
    go_on(watch);
}

static void end_round(struct hf_queue_watch *watch)
{
    if (hf_list_pace_end(&watch->pace, hf_now_ms()))
        watch->round_gap = true;
    watch->current = NULL;
    watch->state = HF_QUEUE_WATCH_REPORTING;
    watch->reporting = 0;
    hf_queue_watch_report(watch);
}

static struct hf_watched_part *next_part(struct hf_queue_watch *watch)
{
    for (int i = 0; i < HF_QUEUE_PARTS; i++)
        if (watch->parts[i].in_round)
            return &watch->parts[i];
    return NULL;
}

/* Begin the next step of the round, or end it.  A wait that has ended is done
 * with soon, and leads here again. */
static void go_on(struct hf_queue_watch *watch)
{
    struct hf_watched_part *part;

    if (watch->state != HF_QUEUE_WATCH_LISTING)
        return;
    if (watch->again)
        choose_parts(watch);
    part = watch->current = next_part(watch);
    if (part == NULL)
        end_round(watch);
    else if (part->wait == HF_QUEUE_WAIT_NONE)
        start_wait(part);
    else if (part->wait == HF_QUEUE_WAIT_SET)
        start_list(part);
}

void hf_queue_watch_start(struct hf_queue_watch *watch)
{
    watch->next = watch->client->queue_watches;
    watch->client->queue_watches = watch;
    watch->client->pending++;
    for (int i = 0; i < HF_QUEUE_PARTS; i++)
        watch->parts[i].due = watch->parts[i].used;
    begin_round(watch);
}

/* Texts that are missing are read by another list. */
void hf_queue_watch_reported(struct hf_queue_watch *watch)
{
    assert(watch->state == HF_QUEUE_WATCH_REPORTING);
    watch->state = HF_QUEUE_WATCH_IDLE;
    for (int i = 0; i < HF_QUEUE_PARTS; i++) {
        struct hf_watched_part *part = &watch->parts[i];

        if (!part->used || !part->known.reads_on)
            continue;
        part->due = true;
        hf_list_pace_want(&watch->pace);
    }
}

/* --------------------------------------------------------------- changes -- */

/* The wait of ${part} has ended with ${operation}->status. */
static void wait_ended(struct hf_watched_part *part)
{
    struct hf_queue_watch *watch = part->watch;
    const struct hf_operation *operation = &part->operation;

    part->wait = HF_QUEUE_WAIT_ENDED;
    if (watch->state == HF_QUEUE_WATCH_STOPPED || !part->used)
        return;
    if (operation->status != HF_OK && operation->status != HF_ELOST) {
        part_failed(part, operation->status, operation->text);
        return;
    }
    part->due = true;
    watch->gap = watch->gap || operation->status == HF_ELOST;
    hf_list_pace_changed(&watch->pace, hf_now_ms());
}

/* The core is done with the wait of ${part}. */
static void wait_done(struct hf_watched_part *part)
{
    struct hf_queue_watch *watch = part->watch;

    part->wait = HF_QUEUE_WAIT_NONE;
    if (watch->current == part && part->list == NULL)
        go_on(watch);
    hf_queue_watch_dereference(watch);
}

void hf_queue_watch_handle_effect(const struct hf_effect *effect)
{
    struct hf_watched_part *part =
        container_of(effect->operation, struct hf_watched_part, operation);

    if (effect->kind == HF_EFFECT_OPERATION_WATCHING) {
        part->wait = HF_QUEUE_WAIT_SET;
        if (part->watch->current == part)
            go_on(part->watch);
    } else if (effect->kind == HF_EFFECT_OPERATION_ANSWERED) {
        wait_ended(part);
    } else {
        wait_done(part);
    }
}

/* ----------------------------------------------------------- of a client -- */

uint64_t hf_queue_watches_due_at_ms(const struct hf_client *client)
{
    uint64_t at_ms = HF_FOREVER;

    for (const struct hf_queue_watch *watch = client->queue_watches;
         watch != NULL; watch = watch->next)
        if (watch->state == HF_QUEUE_WATCH_IDLE)
            at_ms = hf_min_ms(at_ms, hf_list_pace_due_ms(&watch->pace));
    return at_ms;
}

/* A watch that is begun anew may fail, and leave the list. */
void hf_queue_watches_run_due(struct hf_client *client)
{
    struct hf_queue_watch *next;

    for (struct hf_queue_watch *watch = client->queue_watches; watch != NULL;
         watch = next) {
        next = watch->next;
        if (watch->state == HF_QUEUE_WATCH_IDLE &&
            hf_list_pace_due_ms(&watch->pace) <= hf_now_ms())
            begin_round(watch);
    }
}

/* There is a connection.  After an outage everything is listed again. */
static void connected(struct hf_queue_watch *watch)
{
    hf_list_pace_connected(&watch->pace, hf_now_ms());
    if (!watch->suspended)
        return;
    watch->suspended = false;
    watch->resumed = watch->gap = true;
    watch->again = watch->state == HF_QUEUE_WATCH_LISTING;
    for (int i = 0; i < HF_QUEUE_PARTS; i++)
        watch->parts[i].due = watch->parts[i].used;
    hf_list_pace_want(&watch->pace);
}

void hf_queue_watches_notify(struct hf_client *client, enum hf_state state)
{
    for (struct hf_queue_watch *watch = client->queue_watches; watch != NULL;
         watch = watch->next) {
        if (state == HF_STATE_CONNECTED) {
            connected(watch);
        } else if (state == HF_STATE_SUSPENDED || state == HF_STATE_LOST) {
            watch->suspended = watch->gap = true;
            hf_queue_watch_report(watch);
        }
    }
}

void hf_queue_watches_end(struct hf_client *client, const char *text)
{
    while (client->queue_watches != NULL)
        fail(client->queue_watches, HF_ECLOSED, text);
}
