/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The refreshes of a watch: the waits until a queue has changed, and the lists.
 *
 * A wait is set before the list is requested, so a change that the list does
 * not show ends the wait, and leads to another refresh.
 *
 * An operation may end while its effect is carried out, or later.  So each
 * function that begins one does nothing afterwards.
 */
#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/list.h"
#include "base/time_math.h"
#include "client/queue_watch.h"

static void go_on(struct hf_queue_watch *watch);

static uint64_t utc_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
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

/* End the wait of ${queue}, and its list. */
static void stop_queue(struct hf_listed_queue *queue)
{
    struct hf_client *client = queue->watch->client;

    if (queue->wait == HF_QUEUE_WAIT_REQUESTED ||
        queue->wait == HF_QUEUE_WAIT_SET)
        cancel_operation(client, &queue->operation);
    if (queue->list != NULL)
        cancel_operation(client, &queue->list->operation);
}

/* The watch is over as ${state} says: nothing is begun any more. */
static void end_as(struct hf_queue_watch *watch,
                   enum hf_queue_watch_state state)
{
    bool was_over = hf_queue_watch_is_over(watch);

    hf_queue_watch_move(watch, state);
    if (was_over)
        return;
    HF_LIST_REMOVE(&watch->client->queue_watches, watch);
    watch->client->pending--;
    for (int i = 0; i < HF_LISTED_QUEUES; i++)
        stop_queue(&watch->queues[i]);
}

void hf_queue_watch_stop(struct hf_queue_watch *watch)
{
    if (watch->state != HF_QUEUE_WATCH_STOPPED)
        end_as(watch, HF_QUEUE_WATCH_STOPPED);
}

/* The watch has failed. */
static void fail(struct hf_queue_watch *watch, hf_status status,
                 const char *text)
{
    (void)hf_error_set(&watch->why, status, "%s", text);
    end_as(watch, HF_QUEUE_WATCH_ENDED);
    hf_queue_watch_report(watch);
}

/* -------------------------------------------------------------- failures -- */

/* The engine has no queues such as ${queue}. */
static void leave_out(struct hf_listed_queue *queue, const char *text)
{
    struct hf_queue_watch *watch = queue->watch;
    bool used = false;

    hf_listed_queue_move(queue, HF_LISTED_UNUSED);
    stop_queue(queue);
    for (int i = 0; i < HF_LISTED_QUEUES; i++)
        used = used || watch->queues[i].state != HF_LISTED_UNUSED;
    if (!used)
        fail(watch, HF_EUNSUPPORTED, text);
}

/* Another refresh is wanted, for ${queue}. */
static void want_list(struct hf_listed_queue *queue)
{
    if (queue->state != HF_LISTED_CHANGED)
        hf_listed_queue_move(queue, HF_LISTED_CHANGED);
    if (queue->watch->state == HF_QUEUE_WATCH_IDLE)
        hf_queue_watch_move(queue->watch, HF_QUEUE_WATCH_PAUSED);
}

/* Without memory a later list may succeed.  Each time that is tried later, as
 * the core does with requests that fail. */
void hf_queue_watch_list_failed(struct hf_listed_queue *queue)
{
    struct hf_queue_watch *watch = queue->watch;
    struct hf_core_config *config = &watch->client->core.config;
    uint64_t delay_ms =
        hf_retry_delay_ms(config->retry.base_ms, config->retry.cap_ms,
                          watch->failures, &config->random);

    if (!watch->refresh.failed && watch->failures < UINT32_MAX)
        watch->failures++;
    watch->refresh.failed = watch->missed = true;
    hf_list_pace_postpone(&watch->pace, hf_after_ms(hf_now_ms(), delay_ms));
    want_list(queue);
}

/* Has the client given its connection up, or never had one?  Then the status of
 * an operation is that of the connection, and says nothing of its queue. */
static bool is_given_up(const struct hf_queue_watch *watch)
{
    const struct hf_session *session = &watch->client->core.session;

    return session->gave_up || session->number == 0;
}

/* The wait or the list of ${queue} has failed.  A queue that was listed is one
 * that the engine has; if it cannot be listed any more, its tickets would seem
 * to stay for ever. */
static void queue_failed(struct hf_listed_queue *queue, hf_status status,
                         const char *text)
{
    if (is_given_up(queue->watch))
        fail(queue->watch, status, text);
    else if (status == HF_EUNSUPPORTED && queue->listed_at_ms == 0)
        leave_out(queue, text);
    else if (status == HF_ENOMEM)
        hf_queue_watch_list_failed(queue);
    else
        fail(queue->watch, status, text);
}

/* ----------------------------------------------------------------- steps -- */

/* Have the core wait until ${queue} has changed. */
static void start_wait(struct hf_listed_queue *queue)
{
    struct hf_event event = {.kind = HF_EVENT_START_OPERATION};

    memset(&queue->operation, 0, sizeof queue->operation);
    hf_listed_queue_move_wait(queue, HF_QUEUE_WAIT_REQUESTED);
    queue->operation.kind = HF_REQUEST_WATCH_QUEUE;
    queue->operation.waits_for = HF_WAIT_CHANGE;
    queue->operation.queue = queue->name;
    queue->operation.flag_kind = queue->ticket_kind;
    queue->operation.deadline_at_ms = HF_FOREVER;
    event.as.operation = &queue->operation;
    hf_queue_watch_reference(queue->watch);
    hf_client_step(queue->watch->client, &event);
}

/* The list of ${queue} has come. */
static void take_list(struct hf_listed_queue *queue, struct hf_tickets *tickets)
{
    hf_tickets_free(queue->fresh); /* of a refresh that begins anew */
    queue->fresh = tickets;
    queue->listed_at_ms = hf_boottime_ms();
    queue->listed_at_utc_ms = utc_ms();
    hf_listed_queue_move(queue, queue->state == HF_LISTED_CHOSEN
                                    ? HF_LISTED_CURRENT
                                    : HF_LISTED_CHANGED);
}

/* The list of ${queue} has come, or has failed; or it was taken back, because
 * the queue is left out. */
static void list_ended(void *arg, const struct hf_result *result)
{
    struct hf_listed_queue *queue = arg;
    struct hf_queue_watch *watch = queue->watch;

    hf_user_op_dereference(&queue->list->user_op);
    queue->list = NULL;
    if (hf_queue_watch_is_over(watch) || queue->state == HF_LISTED_UNUSED)
        hf_tickets_free(result->tickets);
    else if (result->status == HF_OK)
        take_list(queue, result->tickets);
    else
        queue_failed(queue, result->status, result->text);
    go_on(watch);
    hf_queue_watch_dereference(watch);
}

/* List ${queue}.  If that was refused, the refresh goes on with the next. */
static void start_list(struct hf_listed_queue *queue)
{
    struct hf_queue_watch *watch = queue->watch;
    const struct hf_queue_op_args args = {.kind = HF_REQUEST_LIST,
                                          .which = queue->which,
                                          .texts = queue->known.texts,
                                          .flag_kind = queue->ticket_kind,
                                          .wait_ms = HF_FOREVER};
    const struct hf_completion completion = {.done = {list_ended, queue, NULL},
                                             .is_step = true};
    struct hf_error error;

    hf_queue_watch_reference(watch);
    if (hf_queue_op_begin(queue->lock, &args, &completion, &queue->list,
                          &error) == HF_OK)
        return;
    queue_failed(queue, error.status, error.text);
    go_on(watch);
    hf_queue_watch_dereference(watch);
}

/* ------------------------------------------------------------- a refresh -- */

/* Begin with the queues that have changed, or with all of them. */
static void begin_lists(struct hf_queue_watch *watch, bool all)
{
    hf_queue_watch_move(watch, HF_QUEUE_WATCH_LISTING);
    hf_list_pace_begin(&watch->pace, hf_now_ms());
    watch->refresh = (struct hf_queue_refresh){.gap = watch->missed};
    watch->missed = false;
    for (int i = 0; i < HF_LISTED_QUEUES; i++) {
        struct hf_listed_queue *queue = &watch->queues[i];

        if (queue->state == HF_LISTED_CHANGED ||
            (all && queue->state != HF_LISTED_UNUSED))
            hf_listed_queue_move(queue, HF_LISTED_CHOSEN);
    }
}

static bool has_fresh_list(const struct hf_queue_watch *watch)
{
    for (int i = 0; i < HF_LISTED_QUEUES; i++)
        if (watch->queues[i].fresh != NULL)
            return true;
    return false;
}

/* A gap is reported before a list, and once for what was missed; before the
 * first list nothing was. */
static void end_lists(struct hf_queue_watch *watch)
{
    struct hf_queue_refresh *refresh = &watch->refresh;

    if (hf_list_pace_end(&watch->pace, hf_now_ms()))
        refresh->gap = true;
    if (!has_fresh_list(watch)) {
        watch->missed = watch->missed || refresh->gap;
        refresh->gap = false;
    }
    if (watch->refreshes == 0)
        refresh->gap = false;
    refresh->current = NULL;
    hf_queue_watch_move(watch, HF_QUEUE_WATCH_REPORTING);
    if (watch->link == HF_WATCH_LINK_BACK && !refresh->failed)
        hf_queue_watch_move_link(watch, HF_WATCH_LINK_RELISTED);
    hf_queue_watch_report(watch);
}

static struct hf_listed_queue *chosen_queue(struct hf_queue_watch *watch)
{
    for (int i = 0; i < HF_LISTED_QUEUES; i++)
        if (watch->queues[i].state == HF_LISTED_CHOSEN)
            return &watch->queues[i];
    return NULL;
}

/* Begin the next step of the refresh, or end it.  A wait that has ended is done
 * with soon, and leads here again. */
static void go_on(struct hf_queue_watch *watch)
{
    struct hf_listed_queue *queue;

    if (!hf_queue_watch_is_listing(watch))
        return;
    if (watch->state == HF_QUEUE_WATCH_STALE)
        begin_lists(watch, true);
    queue = watch->refresh.current = chosen_queue(watch);
    if (queue == NULL)
        end_lists(watch);
    else if (queue->wait == HF_QUEUE_WAIT_NONE)
        start_wait(queue);
    else if (queue->wait == HF_QUEUE_WAIT_SET && queue->list == NULL)
        start_list(queue);
}

static void begin_refresh(struct hf_queue_watch *watch)
{
    begin_lists(watch, false);
    go_on(watch);
}

/* Opened during an outage, it begins with that. */
void hf_queue_watch_start(struct hf_queue_watch *watch)
{
    struct hf_client *client = watch->client;
    enum hf_state session = client->core.session.state;

    HF_LIST_APPEND(&client->queue_watches, watch);
    client->pending++;
    if (session == HF_STATE_SUSPENDED || session == HF_STATE_LOST) {
        hf_queue_watch_move_link(watch, HF_WATCH_LINK_DOWN);
        hf_queue_watch_report(watch);
    }
    hf_queue_watch_move(watch, HF_QUEUE_WATCH_PAUSED);
    begin_refresh(watch);
}

/* Texts that are missing are read by another list. */
void hf_queue_watch_reported(struct hf_queue_watch *watch)
{
    assert(watch->state == HF_QUEUE_WATCH_REPORTING);
    hf_queue_watch_move(watch, HF_QUEUE_WATCH_IDLE);
    if (!watch->refresh.failed) {
        watch->refreshes++;
        watch->failures = 0;
    }
    for (int i = 0; i < HF_LISTED_QUEUES; i++) {
        struct hf_listed_queue *queue = &watch->queues[i];

        hf_tickets_free(queue->fresh);
        queue->fresh = NULL;
        if (queue->state == HF_LISTED_CHANGED ||
            (queue->state == HF_LISTED_CURRENT && queue->known.reads_on))
            want_list(queue);
    }
}

/* --------------------------------------------------------------- changes -- */

/* ${queue} has changed, or nobody watches it any more.  A list that is not
 * requested yet shows it; the wait is set again before that. */
static void queue_changed(struct hf_listed_queue *queue)
{
    struct hf_queue_watch *watch = queue->watch;

    if (queue->state == HF_LISTED_CHOSEN && queue->list == NULL) {
        hf_list_pace_changed(&watch->pace, hf_now_ms(), true);
        return;
    }
    hf_list_pace_changed(&watch->pace, hf_now_ms(), false);
    if (queue->state == HF_LISTED_CHOSEN)
        hf_listed_queue_move(queue, HF_LISTED_CHOSEN_AGAIN);
    else if (queue->state == HF_LISTED_CURRENT)
        want_list(queue);
}

/* The wait of ${queue} has ended with ${queue}->operation.status.  HF_ELOST is
 * the end of the session, of which the watch is notified as well. */
static void wait_ended(struct hf_listed_queue *queue)
{
    const struct hf_operation *operation = &queue->operation;

    hf_listed_queue_move_wait(queue, HF_QUEUE_WAIT_ENDED);
    if (hf_queue_watch_is_over(queue->watch) ||
        queue->state == HF_LISTED_UNUSED)
        return;
    if (operation->status == HF_OK || operation->status == HF_ELOST)
        queue_changed(queue);
    else
        queue_failed(queue, operation->status, operation->text);
}

/* The core is done with the wait of ${queue}. */
static void wait_done(struct hf_listed_queue *queue)
{
    struct hf_queue_watch *watch = queue->watch;

    hf_listed_queue_move_wait(queue, HF_QUEUE_WAIT_NONE);
    if (watch->refresh.current == queue && queue->list == NULL)
        go_on(watch);
    hf_queue_watch_dereference(watch);
}

void hf_queue_watch_handle_effect(const struct hf_effect *effect)
{
    struct hf_listed_queue *queue =
        container_of(effect->operation, struct hf_listed_queue, operation);

    if (effect->kind == HF_EFFECT_OPERATION_WATCHING) {
        hf_listed_queue_move_wait(queue, HF_QUEUE_WAIT_SET);
        if (queue->watch->refresh.current == queue)
            go_on(queue->watch);
    } else if (effect->kind == HF_EFFECT_OPERATION_ANSWERED) {
        wait_ended(queue);
    } else {
        wait_done(queue);
    }
}

/* ----------------------------------------------------------- of a client -- */

/* A refresh would connect a client again that has given that up. */
static void run_due(struct hf_queue_watch *watch)
{
    if (watch->client->core.session.gave_up)
        fail(watch, HF_EUNREACHABLE,
             "the client has given its connection up, as its policy for "
             "reconnecting says (retry=)");
    else
        begin_refresh(watch);
}

void hf_queue_watches_run_due(struct hf_client *client)
{
    struct hf_heap_node *first;
    uint64_t now_ms = hf_now_ms();

    while ((first = client->queue_watch_pauses.first) != NULL &&
           first->key <= now_ms)
        run_due(container_of(first, struct hf_queue_watch, pause));
}

/* There is a connection.  After an outage everything is listed again. */
static void connected(struct hf_queue_watch *watch)
{
    hf_list_pace_connected(&watch->pace, hf_now_ms());
    if (watch->link == HF_WATCH_LINK_UP)
        return;
    if (watch->link == HF_WATCH_LINK_DOWN)
        hf_queue_watch_move_link(watch, HF_WATCH_LINK_UP);
    else if (watch->link == HF_WATCH_LINK_DOWN_REPORTED)
        hf_queue_watch_move_link(watch, HF_WATCH_LINK_BACK);
    watch->missed = true;
    if (watch->state == HF_QUEUE_WATCH_LISTING) {
        hf_queue_watch_move(watch, HF_QUEUE_WATCH_STALE);
        return;
    }
    for (int i = 0; i < HF_LISTED_QUEUES; i++)
        if (watch->queues[i].state == HF_LISTED_CURRENT)
            want_list(&watch->queues[i]);
}

/* There is none. */
static void disconnected(struct hf_queue_watch *watch)
{
    watch->missed = true;
    if (watch->link == HF_WATCH_LINK_UP) {
        hf_queue_watch_move_link(watch, HF_WATCH_LINK_DOWN);
        hf_queue_watch_report(watch);
    } else if (watch->link == HF_WATCH_LINK_BACK ||
               watch->link == HF_WATCH_LINK_RELISTED) {
        hf_queue_watch_move_link(watch, HF_WATCH_LINK_DOWN_REPORTED);
    }
}

void hf_queue_watches_notify(struct hf_client *client, enum hf_state state)
{
    for (struct hf_queue_watch *watch = client->queue_watches.first;
         watch != NULL; watch = watch->next) {
        if (state == HF_STATE_CONNECTED)
            connected(watch);
        else if (state == HF_STATE_SUSPENDED || state == HF_STATE_LOST)
            disconnected(watch);
    }
}

void hf_queue_watches_end(struct hf_client *client, const char *text)
{
    while (client->queue_watches.first != NULL)
        fail(client->queue_watches.first, HF_ECLOSED, text);
}
