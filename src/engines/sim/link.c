/* SPDX-License-Identifier: Apache-2.0 */
/* Connections, and the follower at the far end of each. */
#include "engines/sim/model.h"

#include <assert.h>

#include "core/admission.h"

/* ---------------------------------------------------------------- pipes -- */

struct sim_message *sim_message_new(struct hf_sim *sim,
                                    enum sim_message_kind kind)
{
    struct sim_message *message = sim_alloc(sim, sizeof *message);

    message->kind = kind;
    return message;
}

static const struct sim_pipe_ops out_ops;
static const struct sim_pipe_ops in_ops;

struct sim_connection *sim_connection_new(struct hf_engine *engine)
{
    struct hf_sim *sim = engine->sim;
    struct sim_connection *connection = sim_alloc(sim, sizeof *connection);

    connection->engine = engine;
    connection->number = ++sim->connection_count;
    connection->open = true;
    connection->parked_end = &connection->parked;
    sim_pipe_init(&connection->pipes[SIM_OUT], sim, connection, &out_ops);
    sim_pipe_init(&connection->pipes[SIM_IN], sim, connection, &in_ops);
    sim_pipe_init(&connection->pipes[SIM_ASIDE], sim, connection, &in_ops);
    for (size_t i = 0; i < SIM_DIRECTIONS; i++)
        connection->pipes[i].by_hand = sim->config.by_hand;
    connection->next = sim->connections;
    sim->connections = connection;
    return connection;
}

static uint64_t delay_us(struct hf_sim *sim)
{
    uint64_t delay;

    if (sim->config.by_hand) /* nor does chance play any part */
        return 0;
    delay =
        sim_between(sim, sim->config.delay_least_us, sim->config.delay_most_us);
    if (sim_happens(sim, sim->config.slow_chance))
        delay += sim_between(sim, 0, 1000 * sim->config.least_timeout_ms / 3);
    return delay;
}

void sim_pump(struct sim_connection *connection, enum sim_direction direction)
{
    sim_pipe_pump(&connection->pipes[direction]);
}

void sim_send(struct sim_connection *connection, enum sim_direction direction,
              struct sim_message *message)
{
    struct hf_sim *sim = connection->engine->sim;

    if (!connection->open)
        return;
    message->item.background =
        message->kind == SIM_PING || message->kind == SIM_PONG;
    sim_pipe_put(&connection->pipes[direction], &message->item, delay_us(sim));
}

void sim_send_notice(struct sim_pending *watch)
{
    struct hf_sim *sim = watch->engine->sim;
    struct sim_message *notice = sim_message_new(sim, SIM_NOTICE);

    notice->pending = watch;
    sim_send(watch->connection, sim->config.notices_apart ? SIM_ASIDE : SIM_IN,
             notice);
}

void sim_send_revoke(struct sim_pending *watch, const struct sim_ticket *ticket)
{
    struct hf_sim *sim = watch->engine->sim;
    struct sim_message *message;

    if (ticket->asked == watch->asked)
        return;
    message = sim_message_new(sim, SIM_REVOKE);
    message->pending = watch;
    message->asked = ticket->asked;
    sim_send(watch->connection, sim->config.notices_apart ? SIM_ASIDE : SIM_IN,
             message);
}

/* ------------------------------------------------------------- requests -- */

static void answer_failed(struct sim_message *message, enum hf_failure failure,
                          hf_status status, const char *text)
{
    message->answer.kind = HF_EVENT_FAILED;
    message->answer.as.answer.failure = failure;
    message->answer.as.answer.status = status;
    message->answer.as.answer.text = text;
}

/* One of the ways in which a server that is broken could misreport. */
static void garble(struct hf_sim *sim, const struct sim_message *message,
                   struct hf_snapshot *snapshot)
{
    struct hf_ticket *tickets =
        (struct hf_ticket *)(uintptr_t)snapshot->tickets;
    const struct hf_ticket_id *mine = &message->pending->ticket;
    size_t place = hf_snapshot_find(snapshot, mine);

    if (!sim_happens(sim, sim->config.garble_chance) || snapshot->count == 0)
        return;
    switch (sim_between(sim, 0, 3)) {
    case 0: /* nothing there */
        snapshot->count = 0;
        break;
    case 1: /* everybody but the one who asks */
        for (size_t i = place; i + 1 < snapshot->count; i++)
            tickets[i] = tickets[i + 1];
        snapshot->count -= place < snapshot->count;
        break;
    case 2: /* the last one twice, sim_snapshot() left room */
        tickets[snapshot->count] = tickets[snapshot->count - 1];
        snapshot->count++;
        break;
    default: /* numbers at the end of their range */
        tickets[snapshot->count - 1].sequence = UINT64_MAX;
        tickets[snapshot->count - 1].token = UINT64_MAX;
    }
}

static bool may_be_partial(enum hf_ticket_kind kind)
{
    return kind != HF_TICKET_PARTICIPANT && kind != HF_TICKET_LEASE;
}

/* What an ENQUEUE or a LIST shows of ${queue}. */
static struct hf_snapshot shown(struct hf_sim *sim,
                                const struct sim_message *message,
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

static void enqueue(struct hf_sim *sim, struct sim_session *session,
                    struct sim_message *message)
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
        sim_line(sim, session->engine, "server adds ticket %llu to %s",
                 (unsigned long long)ticket->ticket.sequence, queue->name);
        if (message->ticket_kind == HF_TICKET_PARTICIPANT)
            sim_members_changed(sim, queue);
    }
    message->answer.kind = HF_EVENT_ENQUEUED;
    message->answer.as.answer.snapshot = shown(sim, message, queue);
    garble(sim, message, &message->answer.as.answer.snapshot);
}

static void list(struct hf_sim *sim, struct sim_queue *view,
                 struct sim_message *message)
{
    struct sim_queue *queue =
        view == NULL ? sim_queue_find(sim, message->pending->queue)
                     : sim_view_find(view, message->pending->queue);

    message->answer.kind = HF_EVENT_LISTED;
    if (queue != NULL)
        message->answer.as.answer.snapshot = shown(sim, message, queue);
    garble(sim, message, &message->answer.as.answer.snapshot);
}

static void watch(struct hf_sim *sim, struct sim_queue *view,
                  struct sim_session *session, struct sim_message *message)
{
    struct sim_pending *pending = message->pending;
    struct sim_queue *queue = view == NULL
                                  ? sim_queue_find(sim, pending->queue)
                                  : sim_view_find(view, pending->queue);
    struct sim_ticket *ticket =
        queue == NULL ? NULL : sim_ticket_find(queue, &pending->ticket);

    if (ticket == NULL || ticket->ticket.kind != message->ticket_kind) {
        message->answer.kind = HF_EVENT_GONE;
        return;
    }
    pending->kind = ticket->ticket.kind;
    message->answer.kind = HF_EVENT_WATCHING;
    message->asked = ticket->asked;
    pending->connection = session->connection;
    pending->placed = true;
}

static void look_at_mark(struct hf_sim *sim, const struct sim_queue *queue,
                         struct sim_message *message)
{
    struct hf_ticket *mark = sim_alloc(sim, sizeof *mark);

    message->answer.kind = HF_EVENT_LISTED;
    if (queue == NULL || queue->mark.token == 0)
        return;
    *mark = queue->mark;
    message->answer.as.answer.snapshot = (struct hf_snapshot){mark, 1, 0};
}

static void look(struct hf_sim *sim, struct sim_queue *view,
                 struct sim_session *session, struct sim_message *message)
{
    struct sim_pending *pending = message->pending;
    struct sim_queue *queue = view == NULL
                                  ? sim_queue_find(sim, pending->queue)
                                  : sim_view_find(view, pending->queue);

    if (pending->of_mark)
        look_at_mark(sim, queue, message);
    else
        list(sim, view, message);
    pending->seen = queue == NULL ? 0 : sim_looked_at(pending, queue);
    pending->connection = session->connection;
    pending->placed = true;
}

/* Whose it is; NULL: a foreign one. */
static const struct hf_engine *ticket_engine(const struct sim_ticket *ticket)
{
    const struct sim_session *session = ticket->owner;

    return session == NULL ? NULL : session->engine;
}

static void withdraw(struct hf_sim *sim, struct sim_message *message)
{
    struct sim_ticket *ticket =
        sim_ticket_find(sim_queue_find(sim, message->pending->queue),
                        &message->pending->ticket);

    message->answer.kind = HF_EVENT_REMOVED;
    message->answer.as.answer.found = ticket != NULL;
    if (ticket == NULL)
        return;
    sim_line(sim, ticket_engine(ticket), "server removes ticket %llu from %s",
             (unsigned long long)ticket->ticket.sequence, ticket->queue->name);
    sim_ticket_remove(sim, ticket);
}

static void downgrade(struct hf_sim *sim, struct sim_message *message)
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
    sim_line(sim, ticket_engine(ticket), "server downgrades ticket %llu of %s",
             (unsigned long long)ticket->ticket.sequence, ticket->queue->name);
    sim_ticket_downgrade(sim, ticket);
}

static void revoke(struct hf_sim *sim, struct sim_message *message)
{
    struct sim_ticket *ticket =
        sim_ticket_find(sim_queue_find(sim, message->pending->queue),
                        &message->pending->ticket);

    message->answer.kind = HF_EVENT_REVOKE_SENT;
    message->answer.as.answer.found = ticket != NULL;
    if (ticket != NULL)
        sim_ticket_revoke(sim, ticket);
}

static void describe(struct hf_sim *sim, struct sim_message *message)
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

static void mark(struct hf_sim *sim, struct sim_message *message)
{
    struct sim_queue *queue = sim_queue_find(sim, message->pending->queue);

    message->answer.kind = HF_EVENT_FLAG_UPDATED;
    message->answer.as.answer.found =
        message->ticket_kind == HF_TICKET_READY ? sim_members_clear(sim, queue)
        : message->request == HF_REQUEST_SET_FLAG
            ? sim_mark_raise(sim, queue, &message->pending->ticket)
            : sim_mark_lower(sim, queue);
}

bool sim_carry_out(struct hf_sim *sim, struct sim_queue *view,
                   struct sim_session *session, struct sim_message *message)
{
    if (view == NULL && !session->alive)
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
        list(sim, view, message);
        break;
    case HF_REQUEST_WATCH_QUEUE:
        look(sim, view, session, message);
        break;
    case HF_REQUEST_WATCH:
        watch(sim, view, session, message);
        break;
    case HF_REQUEST_REMOVE:
        withdraw(sim, message);
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
        mark(sim, message);
        break;
    case HF_REQUEST_NEW_GENERATION:
        message->answer.kind = HF_EVENT_FLAG_UPDATED;
        if (!sim_members_stamp(sim, message))
            answer_failed(message, HF_FAILURE_RETRY, HF_EGONE,
                          "somebody has gone");
        break;
    case HF_REQUEST_PROVE:
        sim_session_touch(sim, session);
        message->answer.kind = HF_EVENT_PROVEN;
        message->answer.as.answer.anchor_ms = message->sent_ms;
        break;
    case HF_REQUEST_END:
        message->answer.kind = HF_EVENT_CLOSED;
        session->connection = NULL; /* nobody to tell */
        sim_session_end(sim, session);
        break;
    }
    return true;
}

/* ------------------------------------------------------------- follower -- */

void sim_tell_expired(struct sim_connection *connection)
{
    sim_send(connection, SIM_IN,
             sim_message_new(connection->engine->sim, SIM_EXPIRED));
}

static uint64_t negotiate(struct hf_sim *sim)
{
    if (sim_leaseless(sim))
        return HF_FOREVER;
    return sim_between(sim, sim->config.least_timeout_ms,
                       sim->config.timeout_ms);
}

static void connect_session(struct sim_connection *connection,
                            struct sim_message *message)
{
    struct hf_engine *engine = connection->engine;
    struct hf_sim *sim = engine->sim;
    struct sim_session *session = message->session;
    uint64_t timeout_ms = negotiate(sim);

    if (session != NULL && !session->alive) {
        sim_tell_expired(connection);
        return;
    }
    /* An attempt that was given up and comes late does not take the session
     * back from a later one. */
    if (session != NULL && session->connection != NULL &&
        session->connection->number > connection->number)
        return;
    message->kind = SIM_ACCEPT;
    message->resumed = session != NULL;
    if (session == NULL)
        session = sim_session_new(engine, timeout_ms);
    else
        sim_session_resume(sim, session, timeout_ms);
    session->connection = connection;
    connection->session = session;
    message->session = session;
    message->timeout_ms = timeout_ms;
    sim_send(connection, SIM_IN, message);
}

/* Does only the leader know? */
static bool needs_leader(const struct sim_message *message)
{
    if (message->kind == SIM_PING || message->kind == SIM_REWATCH)
        return false;
    if (message->kind == SIM_CONNECT)
        return true;
    return message->sync || (message->request != HF_REQUEST_LIST &&
                             message->request != HF_REQUEST_WATCH_QUEUE &&
                             message->request != HF_REQUEST_WATCH);
}

/* What ${watch}, whose server has heard nothing for a while, has missed. */
static void tell_of(struct hf_sim *sim, struct sim_pending *watch)
{
    const struct sim_queue *queue = sim_queue_find(sim, watch->queue);
    const struct sim_ticket *ticket = sim_ticket_find(queue, &watch->ticket);

    if (watch->looks && sim_looked_at(watch, queue) == watch->seen)
        return;
    if (!watch->looks && ticket != NULL && ticket->ticket.kind == watch->kind) {
        sim_send_revoke(watch, ticket);
        return;
    }
    watch->placed = false;
    sim_send_notice(watch);
}

static void rewatch(struct sim_connection *connection,
                    struct sim_message *message)
{
    struct hf_sim *sim = connection->engine->sim;
    struct sim_pending *watch_ = message->pending;

    /* One that comes late must not take the watch back to a dead link. */
    if (watch_->withdrawn || !connection->open)
        return;
    watch_->connection = connection;
    watch_->placed = true;
    tell_of(sim, watch_);
}

static void serve(struct sim_connection *connection,
                  struct sim_message *message)
{
    struct hf_sim *sim = connection->engine->sim;
    struct sim_session *session = connection->session;

    if (message->kind == SIM_CONNECT) {
        connect_session(connection, message);
        return;
    }
    if (session == NULL)
        return;
    switch (message->kind) {
    case SIM_PING:
        if (!connection->stalled && session->alive)
            sim_session_touch(sim, session);
        message->kind = SIM_PONG;
        break;
    case SIM_REWATCH:
        rewatch(connection, message);
        return;
    default:
        assert(message->kind == SIM_REQUEST);
        if (!sim_carry_out(sim, connection->stalled ? connection->view : NULL,
                           session, message)) {
            sim_tell_expired(connection);
            return;
        }
        message->kind = SIM_ANSWER;
    }
    sim_send(connection, SIM_IN, message);
}

static void park(struct sim_connection *connection, struct sim_message *message)
{
    message->item.next = NULL;
    *connection->parked_end = &message->item;
    connection->parked_end = &message->item.next;
}

/* Heartbeats are answered by a follower on its own; all else keeps its order
 * behind what waits for the leader. */
static void reach_follower(struct sim_connection *connection,
                           struct sim_message *message)
{
    bool waits = connection->parked != NULL && message->kind != SIM_PING;

    if (connection->stalled && (waits || needs_leader(message)))
        park(connection, message);
    else
        serve(connection, message);
}

static bool blocked_out(const struct sim_pipe *pipe)
{
    const struct sim_connection *connection = pipe->owner;

    return !connection->engine->out_up && connection->open;
}

static bool blocked_in(const struct sim_pipe *pipe)
{
    const struct sim_connection *connection = pipe->owner;
    const struct hf_engine *engine = connection->engine;

    return !engine->in_up || engine->frozen || !connection->open;
}

static void deliver_out(struct sim_pipe *pipe, struct sim_item *item)
{
    struct sim_connection *connection = pipe->owner;
    struct hf_sim *sim = pipe->sim;

    if (connection->open && sim_happens(sim, sim->config.lose_chance)) {
        sim_line(sim, connection->engine, "link loses a message and breaks");
        sim_connection_end(connection);
        connection->lingers =
            false; /* a server receives nothing behind a gap */
        return;
    }
    if (connection->open || connection->lingers)
        reach_follower(connection, (struct sim_message *)item);
}

static void deliver_in(struct sim_pipe *pipe, struct sim_item *item)
{
    struct sim_connection *connection = pipe->owner;

    sim_client_receive(connection->engine, (struct sim_message *)item);
}

static const struct sim_pipe_ops out_ops = {blocked_out, deliver_out};
static const struct sim_pipe_ops in_ops = {blocked_in, deliver_in};

void sim_connection_unstall(struct sim_connection *connection)
{
    struct hf_sim *sim = connection->engine->sim;
    struct sim_message *message = (struct sim_message *)connection->parked;

    connection->stalled = false;
    connection->parked = NULL;
    connection->parked_end = &connection->parked;
    if (connection->open && connection->session != NULL &&
        !connection->session->alive)
        sim_tell_expired(connection);
    while (message != NULL && (connection->open || connection->lingers)) {
        struct sim_message *next = (struct sim_message *)message->item.next;

        serve(connection, message);
        message = next;
    }
    /* It hears at once of all that went on without it. */
    for (struct sim_pending *p = connection->engine->first; p != NULL;
         p = p->next) {
        if (p->placed && p->connection == connection)
            tell_of(sim, p);
    }
}

/* --------------------------------------------------------------- endings -- */

/* The last moment at which what was under way can take effect. */
static void stop_lingering(void *arg)
{
    struct sim_connection *connection = arg;
    struct sim_item *item;

    sim_connection_unstall(connection);
    while ((item = sim_pipe_take(&connection->pipes[SIM_OUT])) != NULL)
        serve(connection, (struct sim_message *)item);
    connection->lingers = false;
}

void sim_connection_end(struct sim_connection *connection)
{
    struct hf_engine *engine = connection->engine;
    struct hf_sim *sim = engine->sim;

    if (!connection->open)
        return;
    connection->open = false;
    for (struct sim_pending *p = engine->first; p != NULL; p = p->next) {
        if (p->connection == connection)
            p->placed = false;
    }
    connection->lingers =
        sim->config.by_hand || sim_happens(sim, sim->config.late_chance);
    if (connection->lingers && !sim->config.by_hand)
        hf_sim_call_at(
            sim,
            sim->now_us +
                sim_between(sim, 0, 900 * sim->config.least_timeout_ms),
            false, stop_lingering, connection);
    if (engine->connection == connection)
        sim_client_reset(engine);
}
