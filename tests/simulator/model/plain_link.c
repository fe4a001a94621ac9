/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of the plain model, and the follower at the far end of each.  The
 * follower executes requests at the leader; while it is cut off from the leader
 * it reads from stale copies of the queues and lets writes wait. */
#include "simulator/model/sim_internal.h"

#include <assert.h>

#include <holdfast/holdfast.h>

#include "core/admission.h"
#include "simulator/model/names_page.h"

/* ----------------------------------------------------------------- pipes -- */

struct plain_message *plain_message_new(struct hf_sim *sim,
                                        enum plain_message_kind kind)
{
    struct plain_message *message = sim_alloc(sim, sizeof *message);

    message->kind = kind;
    return message;
}

static const struct sim_pipe_ops out_ops;
static const struct sim_pipe_ops in_ops;

struct plain_connection *plain_connection_new(struct hf_engine *engine)
{
    struct hf_sim *sim = engine->sim;
    struct plain_connection *connection = sim_alloc(sim, sizeof *connection);

    connection->engine = engine;
    connection->number = ++sim->connection_count;
    connection->open = true;
    connection->waiting_end = &connection->waiting;
    sim_pipe_init(&connection->pipes[PLAIN_TO_SERVER], sim, connection,
                  &out_ops);
    sim_pipe_init(&connection->pipes[PLAIN_TO_CLIENT], sim, connection,
                  &in_ops);
    sim_pipe_init(&connection->pipes[PLAIN_NOTICES], sim, connection, &in_ops);
    for (size_t i = 0; i < PLAIN_DIRECTIONS; i++)
        connection->pipes[i].manual_delivery = sim->config.manual_delivery;
    connection->next = sim->connections;
    sim->connections = connection;
    return connection;
}

/* Most messages take the usual delay, some up to a third of a timeout more. */
static uint64_t delay_us(struct hf_sim *sim)
{
    uint64_t delay;

    if (sim->config.manual_delivery) /* exploration draws no random numbers */
        return 0;
    delay = sim_random_between(sim, sim->config.delay_min_us,
                               sim->config.delay_max_us);
    if (sim_happens(sim, sim->config.slow_chance))
        delay +=
            sim_random_between(sim, 0, 1000 * sim->config.least_timeout_ms / 3);
    return delay;
}

void plain_flush(struct plain_connection *connection,
                 enum plain_direction direction)
{
    sim_pipe_flush(&connection->pipes[direction]);
}

/* A connection that has ended drops the message. */
void plain_send(struct plain_connection *connection,
                enum plain_direction direction, struct plain_message *message)
{
    struct hf_sim *sim = connection->engine->sim;

    if (!connection->open)
        return;
    message->item.background =
        message->kind == PLAIN_PING || message->kind == PLAIN_PONG;
    sim_pipe_send(&connection->pipes[direction], &message->item, delay_us(sim));
}

void plain_send_notice(struct plain_pending *watch)
{
    struct hf_sim *sim = watch->engine->sim;
    struct plain_message *notice = plain_message_new(sim, PLAIN_NOTICE);

    notice->pending = watch;
    plain_send(watch->connection,
               sim->config.separate_notices ? PLAIN_NOTICES : PLAIN_TO_CLIENT,
               notice);
}

void plain_send_revoke(struct plain_pending *watch,
                       const struct sim_ticket *ticket)
{
    struct hf_sim *sim = watch->engine->sim;
    struct plain_message *message;

    if (ticket->revocations == watch->revocations)
        return;
    message = plain_message_new(sim, PLAIN_REVOKE);
    message->pending = watch;
    message->revocations = ticket->revocations;
    plain_send(watch->connection,
               sim->config.separate_notices ? PLAIN_NOTICES : PLAIN_TO_CLIENT,
               message);
}

/* -------------------------------------------------------------- requests -- */

static void answer_failed(struct plain_message *message,
                          enum hf_failure failure, hf_status status,
                          const char *text)
{
    message->answer.kind = HF_EVENT_FAILED;
    message->answer.as.answer.failure = failure;
    message->answer.as.answer.status = status;
    message->answer.as.answer.text = text;
}

/* Change the snapshot in one of four ways that only a broken server would. */
static void garble(struct hf_sim *sim, const struct plain_message *message,
                   struct hf_snapshot *snapshot)
{
    struct hf_ticket *tickets =
        (struct hf_ticket *)(uintptr_t)snapshot->tickets;
    const struct hf_ticket_id *mine = &message->pending->ticket;
    size_t position = hf_snapshot_find(snapshot, mine);

    if (!sim_happens(sim, sim->config.garble_chance) || snapshot->count == 0)
        return;
    switch (sim_random_between(sim, 0, 3)) {
    case 0: /* the queue is empty */
        snapshot->count = 0;
        break;
    case 1: /* the asker's ticket is missing */
        for (size_t i = position; i + 1 < snapshot->count; i++)
            tickets[i] = tickets[i + 1];
        snapshot->count -= position < snapshot->count;
        break;
    case 2: /* the last ticket is there twice; sim_snapshot() left room for it
             */
        tickets[snapshot->count] = tickets[snapshot->count - 1];
        snapshot->count++;
        break;
    default: /* numbers are at the end of their range */
        tickets[snapshot->count - 1].sequence = UINT64_MAX;
        tickets[snapshot->count - 1].token = UINT64_MAX;
    }
}

/* Kinds whose answers may be cut to the part that the contract demands. */
static bool may_be_partial(enum hf_ticket_kind kind)
{
    return kind != HF_TICKET_PARTICIPANT && kind != HF_TICKET_LEASE;
}

/* The snapshot of ${queue} that an ENQUEUE, a LIST or a WATCH_QUEUE is answered
 * with. */
static struct hf_snapshot visible_queue(struct hf_sim *sim,
                                        const struct plain_message *message,
                                        const struct sim_queue *queue)
{
    enum hf_ticket_kind kind = message->ticket_kind;
    struct hf_snapshot snapshot =
        sim_snapshot(sim, queue, kind == HF_TICKET_PARTICIPANT);

    if (sim->config.partial && may_be_partial(kind) && !message->whole &&
        message->request != HF_REQUEST_WATCH_QUEUE)
        hf_admission_trim(&snapshot,
                          (struct hf_ticket *)(uintptr_t)snapshot.tickets,
                          &message->pending->ticket, kind);
    return snapshot;
}

/* An enqueue with an id that is in the queue adds nothing, because the engine
 * may repeat it. */
static void enqueue(struct hf_sim *sim, struct plain_session *session,
                    struct plain_message *message)
{
    struct sim_queue *queue = sim_queue_find(sim, message->pending->queue);
    struct sim_ticket *ticket =
        sim_ticket_find(queue, &message->pending->ticket);

    if (sim_happens(sim, sim->config.deny_chance)) {
        answer_failed(message, HF_FAILURE_FATAL, HF_EDENIED,
                      "the server refused to add a ticket");
        return;
    }
    if (ticket == NULL) {
        struct hf_ticket like = {.id = message->pending->ticket,
                                 .sequence = ++queue->sequence,
                                 .token = ++sim->transaction,
                                 .kind = message->ticket_kind,
                                 .weight = message->weight,
                                 .payload = message->payload};

        ticket = sim_ticket_add(sim, queue, &like, session);
        sim_trace(sim, session->engine, "server adds ticket %llu to %s",
                  (unsigned long long)ticket->ticket.sequence, queue->name);
        if (message->ticket_kind == HF_TICKET_PARTICIPANT)
            plain_participants_changed(sim, queue);
        else
            plain_notify_queue_watches(sim, queue, 0);
    }
    message->answer.kind = HF_EVENT_ENQUEUED;
    message->answer.as.answer.snapshot = visible_queue(sim, message, queue);
    garble(sim, message, &message->answer.as.answer.snapshot);
}

/* Read the queue, or the stale copy of it. */
static void list(struct hf_sim *sim, struct sim_queue *stale_queues,
                 struct plain_message *message)
{
    struct sim_queue *queue =
        stale_queues == NULL
            ? sim_queue_find(sim, message->pending->queue)
            : sim_queue_lookup(stale_queues, message->pending->queue);

    message->answer.kind = HF_EVENT_LISTED;
    if (queue != NULL)
        message->answer.as.answer.snapshot = visible_queue(sim, message, queue);
    garble(sim, message, &message->answer.as.answer.snapshot);
}

/* A ticket that is gone, or of another kind by now, answers GONE at once. */
static void watch(struct hf_sim *sim, struct sim_queue *stale_queues,
                  struct plain_session *session, struct plain_message *message)
{
    struct plain_pending *pending = message->pending;
    struct sim_queue *queue =
        stale_queues == NULL ? sim_queue_find(sim, pending->queue)
                             : sim_queue_lookup(stale_queues, pending->queue);
    struct sim_ticket *ticket =
        queue == NULL ? NULL : sim_ticket_find(queue, &pending->ticket);

    if (ticket == NULL || ticket->ticket.kind != message->ticket_kind) {
        message->answer.kind = HF_EVENT_GONE;
        return;
    }
    pending->kind = ticket->ticket.kind;
    message->answer.kind = HF_EVENT_WATCHING;
    message->revocations = ticket->revocations;
    pending->connection = session->connection;
    pending->is_set = true;
}

/* Read the barrier: a snapshot of one ticket if it is set. */
static void watch_barrier(struct hf_sim *sim, const struct sim_queue *queue,
                          struct plain_message *message)
{
    struct hf_ticket *barrier = sim_alloc(sim, sizeof *barrier);

    message->answer.kind = HF_EVENT_LISTED;
    if (queue == NULL || queue->barrier.token == 0)
        return;
    *barrier = queue->barrier;
    message->answer.as.answer.snapshot = (struct hf_snapshot){barrier, 1, 0};
}

/* A WATCH_QUEUE: answer with the queue, the barrier or the participants, and
 * set a watch. */
static void watch_queue(struct hf_sim *sim, struct sim_queue *stale_queues,
                        struct plain_session *session,
                        struct plain_message *message)
{
    struct plain_pending *pending = message->pending;
    struct sim_queue *queue =
        stale_queues == NULL ? sim_queue_find(sim, pending->queue)
                             : sim_queue_lookup(stale_queues, pending->queue);

    if (pending->of_barrier)
        watch_barrier(sim, queue, message);
    else
        list(sim, stale_queues, message);
    pending->seen_version =
        queue == NULL ? 0 : plain_watched_version(pending, queue);
    pending->connection = session->connection;
    pending->is_set = true;
}

/* The engine of the ticket's owner; NULL: of another program. */
static const struct hf_engine *ticket_engine(const struct sim_ticket *ticket)
{
    const struct plain_session *session = ticket->owner;

    return session == NULL ? NULL : session->engine;
}

/* Any client may remove any ticket, because an eviction is a removal. */
static void remove_ticket(struct hf_sim *sim, struct plain_message *message)
{
    struct sim_ticket *ticket =
        sim_ticket_find(sim_queue_find(sim, message->pending->queue),
                        &message->pending->ticket);

    message->answer.kind = HF_EVENT_REMOVED;
    message->answer.as.answer.found = ticket != NULL;
    if (ticket == NULL)
        return;
    sim_trace(sim, ticket_engine(ticket), "server removes ticket %llu from %s",
              (unsigned long long)ticket->ticket.sequence, ticket->queue->name);
    plain_ticket_remove(sim, ticket);
}

/* A read ticket stays as it is, because the engine may repeat the request. */
static void downgrade(struct hf_sim *sim, struct plain_message *message)
{
    struct sim_ticket *ticket =
        sim_ticket_find(sim_queue_find(sim, message->pending->queue),
                        &message->pending->ticket);

    if (ticket == NULL) {
        answer_failed(message, HF_FAILURE_FATAL, HF_ELOST,
                      "the ticket is not there");
        return;
    }
    message->answer.kind = HF_EVENT_DOWNGRADED;
    if (ticket->ticket.kind == HF_TICKET_READ)
        return;
    sim_trace(sim, ticket_engine(ticket), "server downgrades ticket %llu of %s",
              (unsigned long long)ticket->ticket.sequence, ticket->queue->name);
    plain_ticket_downgrade(sim, ticket);
}

/* The answer says whether the ticket was there. */
static void revoke(struct hf_sim *sim, struct plain_message *message)
{
    struct sim_ticket *ticket =
        sim_ticket_find(sim_queue_find(sim, message->pending->queue),
                        &message->pending->ticket);

    message->answer.kind = HF_EVENT_REVOKE_SENT;
    message->answer.as.answer.found = ticket != NULL;
    if (ticket != NULL)
        plain_ticket_revoke(sim, ticket);
}

/* Change the payload of a ticket. */
static void describe(struct hf_sim *sim, struct plain_message *message)
{
    struct sim_ticket *ticket =
        sim_ticket_find(sim_queue_find(sim, message->pending->queue),
                        &message->pending->ticket);

    if (sim_happens(sim, sim->config.deny_chance)) {
        answer_failed(message, HF_FAILURE_FATAL, HF_EDENIED,
                      "the server refused to change the text of a ticket");
        return;
    }
    message->answer.kind = HF_EVENT_DESCRIBED;
    message->answer.as.answer.found = ticket != NULL;
    if (ticket != NULL)
        ticket->ticket.payload = message->payload;
}

/* A follower that lags shows an older one to those who have no ticket; the
 * model shows the last one to all. */
static void read_success(struct hf_sim *sim, struct plain_message *message)
{
    const struct sim_queue *queue =
        sim_queue_find(sim, message->pending->queue);

    message->answer.kind = HF_EVENT_SUCCESS_READ;
    if (queue->success_token != 0)
        message->answer.as.answer.success =
            (struct hf_success){.token = queue->success_token,
                                .at_utc_ms = (int64_t)queue->success_at_ms,
                                .age_ms = (int64_t)sim_wall_ms(sim) -
                                          (int64_t)queue->success_at_ms};
}

/* Only for a ticket of the session that is there, and not after a later one. */
static void write_success(struct hf_sim *sim,
                          const struct plain_session *session,
                          struct plain_message *message)
{
    struct sim_queue *queue = sim_queue_find(sim, message->pending->queue);
    const struct sim_ticket *ticket =
        sim_ticket_find(queue, &message->pending->ticket);
    uint64_t token = message->success_token;
    bool written = ticket != NULL && ticket->owner == session &&
                   queue->success_token <= token;

    message->answer.kind = HF_EVENT_SUCCESS_WRITTEN;
    message->answer.as.answer.found = written;
    if (!written)
        return;
    queue->success_token = token;
    queue->success_at_ms = sim_wall_ms(sim);
    sim_observe_success(sim, queue->name, token, sim->now_us);
}

/* Also clears READY of a double barrier. */
static void set_or_clear_barrier(struct hf_sim *sim,
                                 struct plain_message *message)
{
    struct sim_queue *queue = sim_queue_find(sim, message->pending->queue);

    message->answer.kind = HF_EVENT_FLAG_UPDATED;
    message->answer.as.answer.found =
        message->ticket_kind == HF_TICKET_READY ? plain_ready_clear(sim, queue)
        : message->request == HF_REQUEST_SET_FLAG
            ? plain_barrier_set(sim, queue, &message->pending->ticket)
            : plain_barrier_clear(sim, queue);
}

/* A queue in which there was a ticket stays, and so do its names. */
static void name_queues(struct hf_sim *sim, struct plain_message *message)
{
    struct names_page *page = sim_alloc(sim, sizeof *page);

    names_page_begin(page, message->pending->queue, message->names.cursor,
                     message->names.cursor_bytes);
    for (const struct sim_queue *q = sim->queues; q != NULL; q = q->next) {
        for (const struct sim_ticket *t = q->first; t != NULL; t = t->next)
            names_page_add(page, q->name, t->ticket.kind);
    }
    names_page_end(page);
    message->answer.kind = HF_EVENT_NAMED;
    message->answer.as.answer.names = &page->answer;
}

/* Requests are executed at once and in order, because the follower keeps them
 * in order. */
bool plain_execute(struct hf_sim *sim, struct sim_queue *stale_queues,
                   struct plain_session *session, struct plain_message *message)
{
    if (stale_queues == NULL && !session->alive)
        return false;
    if (message->request != HF_REQUEST_END &&
        sim_happens(sim, sim->config.refuse_chance)) {
        answer_failed(message, HF_FAILURE_RETRY, HF_EUNREACHABLE,
                      "the server is busy");
        return true;
    }
    switch (message->request) {
    case HF_REQUEST_ENQUEUE:
        enqueue(sim, session, message);
        break;
    case HF_REQUEST_LIST:
        list(sim, stale_queues, message);
        break;
    case HF_REQUEST_WATCH_QUEUE:
        watch_queue(sim, stale_queues, session, message);
        break;
    case HF_REQUEST_WATCH:
        watch(sim, stale_queues, session, message);
        break;
    case HF_REQUEST_REMOVE:
        remove_ticket(sim, message);
        break;
    case HF_REQUEST_DOWNGRADE:
        downgrade(sim, message);
        break;
    case HF_REQUEST_REVOKE:
        revoke(sim, message);
        break;
    case HF_REQUEST_DESCRIBE:
        describe(sim, message);
        break;
    case HF_REQUEST_SET_FLAG:
    case HF_REQUEST_CLEAR_FLAG:
        set_or_clear_barrier(sim, message);
        break;
    case HF_REQUEST_NEW_GENERATION:
        message->answer.kind = HF_EVENT_FLAG_UPDATED;
        if (!plain_ready_set(sim, message))
            answer_failed(message, HF_FAILURE_RETRY, HF_EGONE,
                          "a participant has left");
        break;
    case HF_REQUEST_NAMES:
        name_queues(sim, message);
        break;
    case HF_REQUEST_READ_SUCCESS:
        read_success(sim, message);
        break;
    case HF_REQUEST_WRITE_SUCCESS:
        write_success(sim, session, message);
        break;
    case HF_REQUEST_EXAMINE:
        assert(false && "nobody examines here");
        break;
    case HF_REQUEST_PROVE:
        plain_session_touch(sim, session);
        message->answer.kind = HF_EVENT_PROVEN;
        message->answer.as.answer.anchor_ms = message->sent_ms;
        break;
    case HF_REQUEST_END:
        message->answer.kind = HF_EVENT_CLOSED;
        session->connection = NULL; /* its client is not to be notified */
        plain_session_end(sim, session);
        break;
    }
    return true;
}

/* -------------------------------------------------------------- follower -- */

void plain_send_expired(struct plain_connection *connection)
{
    plain_send(connection, PLAIN_TO_CLIENT,
               plain_message_new(connection->engine->sim, PLAIN_EXPIRED));
}

static uint64_t negotiate(struct hf_sim *sim)
{
    if (sim_has_no_leases(sim))
        return HF_FOREVER;
    return sim_random_between(sim, sim->config.least_timeout_ms,
                              sim->config.timeout_ms);
}

/* Resume the client's session, or begin one.  A client whose session has ended
 * gets that as the answer. */
static void connect_session(struct plain_connection *connection,
                            struct plain_message *message)
{
    struct hf_engine *engine = connection->engine;
    struct hf_sim *sim = engine->sim;
    struct plain_session *session = message->session;
    uint64_t timeout_ms = negotiate(sim);

    if (session != NULL && !session->alive) {
        plain_send_expired(connection);
        return;
    }
    /* A connect message that arrives after a later connection took the session
     * over is ignored. */
    if (session != NULL && session->connection != NULL &&
        session->connection->number > connection->number)
        return;
    message->kind = PLAIN_ACCEPT;
    message->resumed = session != NULL;
    if (session == NULL)
        session = plain_session_new(engine, timeout_ms);
    else
        plain_session_resume(sim, session, timeout_ms);
    session->connection = connection;
    connection->session = session;
    message->session = session;
    message->timeout_ms = timeout_ms;
    plain_send(connection, PLAIN_TO_CLIENT, message);
}

/* Can the follower not answer this while it is cut off from the leader? */
static bool needs_leader(const struct plain_message *message)
{
    if (message->kind == PLAIN_PING || message->kind == PLAIN_REWATCH)
        return false;
    if (message->kind == PLAIN_CONNECT)
        return true;
    return message->sync || (message->request != HF_REQUEST_LIST &&
                             message->request != HF_REQUEST_WATCH_QUEUE &&
                             message->request != HF_REQUEST_WATCH);
}

/* Notify the client of what ${watch} missed while its server was cut off or its
 * client was away. */
static void notify_missed(struct hf_sim *sim, struct plain_pending *watch)
{
    const struct sim_queue *queue = sim_queue_find(sim, watch->queue);
    const struct sim_ticket *ticket = sim_ticket_find(queue, &watch->ticket);

    if (watch->watches_queue &&
        plain_watched_version(watch, queue) == watch->seen_version)
        return;
    if (!watch->watches_queue && ticket != NULL &&
        ticket->ticket.kind == watch->kind) {
        plain_send_revoke(watch, ticket);
        return;
    }
    watch->is_set = false;
    plain_send_notice(watch);
}

/* Set a watch of an older connection again; what it missed fires it at once. */
static void rewatch(struct plain_connection *connection,
                    struct plain_message *message)
{
    struct hf_sim *sim = connection->engine->sim;
    struct plain_pending *watch_ = message->pending;

    /* A message that arrives late must not move the watch back to a dead
     * connection. */
    if (watch_->unlinked || !connection->open)
        return;
    watch_->connection = connection;
    watch_->is_set = true;
    notify_missed(sim, watch_);
}

/* The follower handles a message of the client. */
static void serve(struct plain_connection *connection,
                  struct plain_message *message)
{
    struct hf_sim *sim = connection->engine->sim;
    struct plain_session *session = connection->session;

    if (message->kind == PLAIN_CONNECT) {
        connect_session(connection, message);
        return;
    }
    if (session == NULL)
        return;
    switch (message->kind) {
    case PLAIN_PING:
        if (!connection->stalled && session->alive)
            plain_session_touch(sim, session);
        message->kind = PLAIN_PONG;
        break;
    case PLAIN_REWATCH:
        rewatch(connection, message);
        return;
    default:
        assert(message->kind == PLAIN_REQUEST);
        if (!plain_execute(
                sim, connection->stalled ? connection->stale_queues : NULL,
                session, message)) {
            plain_send_expired(connection);
            return;
        }
        message->kind = PLAIN_ANSWER;
    }
    plain_send(connection, PLAIN_TO_CLIENT, message);
}

static void wait_for_leader(struct plain_connection *connection,
                            struct plain_message *message)
{
    message->item.next = NULL;
    *connection->waiting_end = &message->item;
    connection->waiting_end = &message->item.next;
}

/* A follower answers heartbeats on its own.  All other messages keep their
 * order behind those that wait for the leader. */
static void receive_at_follower(struct plain_connection *connection,
                                struct plain_message *message)
{
    bool waits = connection->waiting != NULL && message->kind != PLAIN_PING;

    if (connection->stalled && (waits || needs_leader(message)))
        wait_for_leader(connection, message);
    else
        serve(connection, message);
}

static bool blocked_out(const struct sim_pipe *pipe)
{
    const struct plain_connection *connection = pipe->owner;

    return !connection->engine->out_up && connection->open;
}

static bool blocked_in(const struct sim_pipe *pipe)
{
    const struct plain_connection *connection = pipe->owner;
    const struct hf_engine *engine = connection->engine;

    return !engine->in_up || engine->frozen || !connection->open;
}

/* A message that is lost breaks the connection, as with TCP. */
static void deliver_out(struct sim_pipe *pipe, struct sim_pipe_item *item)
{
    struct plain_connection *connection = pipe->owner;
    struct hf_sim *sim = pipe->sim;

    if (connection->open && sim_happens(sim, sim->config.lose_chance)) {
        sim_trace(sim, connection->engine, "link loses a message and breaks");
        plain_connection_end(connection);
        connection->lingers =
            false; /* a server receives nothing behind a gap */
        return;
    }
    if (connection->open || connection->lingers)
        receive_at_follower(connection, (struct plain_message *)item);
}

static void deliver_in(struct sim_pipe *pipe, struct sim_pipe_item *item)
{
    struct plain_connection *connection = pipe->owner;

    plain_client_receive(connection->engine, (struct plain_message *)item);
}

static const struct sim_pipe_ops out_ops = {blocked_out, deliver_out};
static const struct sim_pipe_ops in_ops = {blocked_in, deliver_in};

/* The follower reaches the leader again: serve what has waited, and fire the
 * watches. */
void plain_connection_unstall(struct plain_connection *connection)
{
    struct hf_sim *sim = connection->engine->sim;
    struct plain_message *message = (struct plain_message *)connection->waiting;

    connection->stalled = false;
    connection->waiting = NULL;
    connection->waiting_end = &connection->waiting;
    if (connection->open && connection->session != NULL &&
        !connection->session->alive)
        plain_send_expired(connection);
    while (message != NULL && (connection->open || connection->lingers)) {
        struct plain_message *next = (struct plain_message *)message->item.next;

        serve(connection, message);
        message = next;
    }
    /* The follower receives at once all that happened meanwhile. */
    for (struct plain_pending *p = connection->engine->first; p != NULL;
         p = p->next) {
        if (p->is_set && p->connection == connection)
            notify_missed(sim, p);
    }
}

/* --------------------------------------------------------------- endings -- */

/* The last time at which what was under way on a dead connection takes
 * effect. */
static void stop_lingering(void *arg)
{
    struct plain_connection *connection = arg;
    struct sim_pipe_item *item;

    plain_connection_unstall(connection);
    while ((item = sim_pipe_take(&connection->pipes[PLAIN_TO_SERVER])) != NULL)
        serve(connection, (struct plain_message *)item);
    connection->lingers = false;
}

/* Messages that the client had sent may still arrive for a while (.lingers),
 * because TCP does not say what the server received. */
void plain_connection_end(struct plain_connection *connection)
{
    struct hf_engine *engine = connection->engine;
    struct hf_sim *sim = engine->sim;

    if (!connection->open)
        return;
    connection->open = false;
    for (struct plain_pending *p = engine->first; p != NULL; p = p->next) {
        if (p->connection == connection)
            p->is_set = false;
    }
    connection->lingers = sim->config.manual_delivery ||
                          sim_happens(sim, sim->config.late_chance);
    if (connection->lingers && !sim->config.manual_delivery)
        hf_sim_call_at(
            sim,
            sim->now_us +
                sim_random_between(sim, 0, 900 * sim->config.least_timeout_ms),
            false, stop_lingering, connection);
    if (engine->connection == connection)
        plain_client_reset(engine);
}
