/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the lease server does on each kind of call, in the words of store.h:
 * renew, enqueue, list, probe, remove, downgrade, revoke, describe, barriers
 * and double barriers.
 */
#include "simulator/model/lease_rows.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/admission.h"

/* --------------------------------------------------------------- answers -- */

static void add(struct lease_answer *answer, const struct lease_row *row,
                uint64_t clock_ms)
{
    struct hf_store_lease lease = {
        .expires_in_ms =
            row->expires_ms > clock_ms ? row->expires_ms - clock_ms : 0,
        .revoked = row->revoked};

    lease_answer_add(answer, &row->ticket, &lease);
}

static void add_missing(struct lease_answer *answer,
                        const struct hf_ticket_id *id)
{
    const struct hf_ticket ticket = {.id = *id};
    const struct hf_store_lease lease = {.missing = true};

    lease_answer_add(answer, &ticket, &lease);
}

/* ----------------------------------------------------------------- calls -- */

static const struct hf_store_lease *lease_of(const struct lease_answer *answer,
                                             const struct hf_ticket_id *id)
{
    const struct hf_snapshot queue = {answer->tickets, answer->answer.count, 0};

    return &answer->leases[hf_snapshot_find(&queue, id)];
}

/* Cut the answer down to the part of the queue that the contract demands. */
static void trim(const struct hf_store_call *call, struct lease_answer *answer)
{
    struct lease_answer queue = *answer;
    size_t count = queue.answer.count;
    struct hf_ticket *tickets =
        lease_require_memory(calloc(count + 1, sizeof *tickets));
    struct hf_snapshot part = {tickets, count, 0};

    for (size_t i = 0; i < count; i++)
        tickets[i] = queue.tickets[i];
    hf_admission_trim(&part, tickets, &call->ticket, call->ticket_kind);
    answer->tickets = NULL;
    answer->leases = NULL;
    answer->answer.count = 0;
    for (size_t i = 0; i < part.count; i++)
        lease_answer_add(answer, &part.tickets[i],
                         lease_of(&queue, &part.tickets[i].id));
    answer->answer.partial = true;
    answer->answer.more_ahead = part.more_ahead;
    free(tickets);
    lease_answer_free(&queue);
}

/* Participants of a double barrier and READY are listed apart from tickets. */
static void list(const struct lease_server *server, uint64_t clock_ms,
                 const struct hf_store_call *call, struct lease_answer *answer)
{
    bool participants = call->ticket_kind == HF_TICKET_PARTICIPANT;

    assert(call->queue != NULL);
    for (size_t i = 0; i < server->row_count; i++) {
        const struct lease_row *row = server->rows[i];

        if (strcmp(row->queue, call->queue) == 0 &&
            hf_store_is_double_barrier_kind(row->ticket.kind) == participants)
            add(answer, row, clock_ms);
    }
    if (server->partial && hf_store_call_may_be_partial(call))
        trim(call, answer);
}

/* An id that is in the queue is not added again, because the client may repeat
 * the call. */
static void enqueue(struct lease_server *server, uint64_t clock_ms,
                    const struct hf_store_call *call)
{
    const struct hf_ticket like = {.id = call->ticket,
                                   .kind = call->ticket_kind,
                                   .weight = call->weight,
                                   .payload = call->payload};

    if (lease_row_find(server, call->queue, &call->ticket) != NULL)
        return;
    lease_row_new(server, clock_ms, call->queue, call->session, &like)
        ->expires_ms = clock_ms + call->ttl_ms;
    lease_notify_queue_watches(server, call->queue);
}

/* Tickets that are gone are answered as missing; revoked ones are listed. */
static void renew(struct lease_server *server, uint64_t clock_ms,
                  const struct hf_store_call *call, struct lease_answer *answer)
{
    for (size_t s = 0; s < call->ticket_set_count; s++) {
        const struct hf_store_ticket_set *ticket_set = &call->ticket_sets[s];

        lease_rows_expire(server, ticket_set->queue, clock_ms);
        for (size_t i = 0; i < ticket_set->count; i++) {
            struct lease_row *row = lease_row_find(server, ticket_set->queue,
                                                   &ticket_set->tickets[i]);

            if (row == NULL) {
                add_missing(answer, &ticket_set->tickets[i]);
                continue;
            }
            row->expires_ms = clock_ms + call->ttl_ms;
            if (row->revoked > 0)
                add(answer, row, clock_ms);
        }
        if (ticket_set->watches_queue)
            lease_queue_watch(server, clock_ms, ticket_set->queue, call);
    }
}

/* Which of these tickets are there? */
static void probe(struct lease_server *server, uint64_t clock_ms,
                  const struct hf_store_call *call, struct lease_answer *answer)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct lease_row *row =
            lease_row_find(server, call->queue, &call->tickets[i]);

        if (row != NULL)
            add(answer, row, clock_ms);
    }
}

/* ${session} gets no notice of its own removal. */
static bool remove_ticket(struct lease_server *server, const char *queue,
                          const char *session, const struct hf_ticket_id *id,
                          const char *evicted_by)
{
    struct lease_row *row = lease_row_find(server, queue, id);

    if (row == NULL)
        return false;
    row->removing = true;
    row->evicted_by = evicted_by;
    lease_rows_remove_marked(server, queue, session);
    return true;
}

/* Those who wait for the write ticket are notified before it changes. */
static bool downgrade(struct lease_server *server,
                      const struct hf_store_call *call)
{
    struct lease_row *row = lease_row_find(server, call->queue, &call->ticket);

    if (row == NULL || strcmp(row->session, call->session) != 0)
        return false;
    if (row->ticket.kind == HF_TICKET_WRITE) {
        lease_notify_waiters(server, call->queue, row);
        row->ticket.kind = HF_TICKET_READ;
        if (server->observer.changed != NULL)
            server->observer.changed(server->observer.arg, call->queue,
                                     &row->ticket);
        lease_notify_queue_watches(server, call->queue);
    }
    return row->ticket.kind == HF_TICKET_READ;
}

/* The owner gets a notice; renewals show the number of revocations, too. */
static bool revoke(struct lease_server *server,
                   const struct hf_store_call *call)
{
    struct lease_row *row = lease_row_find(server, call->queue, &call->ticket);

    if (row == NULL)
        return false;
    row->revoked++;
    lease_send_notice(server, HF_STORE_REVOKED, row->session, call->queue, row,
                      0);
    return true;
}

/* Only the owner may change a payload. */
static bool describe(struct lease_server *server,
                     const struct hf_store_call *call)
{
    struct lease_row *row = lease_row_find(server, call->queue, &call->ticket);

    if (row == NULL || strcmp(row->session, call->session) != 0)
        return false;
    free(row->payload);
    row->payload = lease_require_memory(strdup(call->payload));
    row->ticket.payload = row->payload;
    if (server->observer.changed != NULL)
        server->observer.changed(server->observer.arg, call->queue,
                                 &row->ticket);
    return true;
}

static void read_success(const struct lease_server *server, uint64_t clock_ms,
                         const struct hf_store_call *call,
                         struct lease_answer *answer)
{
    const struct lease_success *success =
        lease_success_find(server, call->queue);

    if (success == NULL || success->token == 0)
        return;
    answer->answer.success = (struct hf_success){
        .token = success->token,
        .at_utc_ms = (int64_t)success->at_ms,
        .age_ms = (int64_t)clock_ms - (int64_t)success->at_ms};
}

/* Only for a ticket of the session that is there, and not after a later one. */
static bool write_success(struct lease_server *server, uint64_t clock_ms,
                          const struct hf_store_call *call)
{
    const struct lease_observer *observer = &server->observer;
    const struct lease_row *row =
        lease_row_find(server, call->queue, &call->ticket);
    const struct lease_success *success =
        lease_success_find(server, call->queue);
    uint64_t true_us = 0;

    if (row == NULL || strcmp(row->session, call->session) != 0 ||
        (success != NULL && success->token > call->success_token))
        return false;
    if (observer->true_us != NULL)
        true_us = observer->true_us(observer->arg);
    lease_success_write(server, call->queue, call->success_token, clock_ms,
                        true_us);
    return true;
}

/* The tickets of that kind in the queue; ${last}: the id of the last one. */
static size_t count_of(const struct lease_server *server, const char *queue,
                       enum hf_ticket_kind kind, struct hf_ticket_id *last)
{
    size_t count = 0;

    assert(queue != NULL);
    for (size_t i = 0; i < server->row_count; i++) {
        const struct lease_row *row = server->rows[i];

        if (strcmp(row->queue, queue) != 0 || row->ticket.kind != kind)
            continue;
        *last = row->ticket.id;
        count++;
    }
    return count;
}

static void add_flag(struct lease_server *server, uint64_t clock_ms,
                     const char *queue, enum hf_ticket_kind kind,
                     const struct hf_ticket_id *id)
{
    const struct hf_ticket like = {.id = *id, .kind = kind, .weight = 1};

    (void)lease_row_new(server, clock_ms, queue, "", &like);
}

static bool set_barrier(struct lease_server *server, uint64_t clock_ms,
                        const struct hf_store_call *call)
{
    struct hf_ticket_id id;

    if (count_of(server, call->queue, call->ticket_kind, &id) > 0)
        return true;
    add_flag(server, clock_ms, call->queue, call->ticket_kind, &call->ticket);
    return false;
}

/* READY is not cleared while a participant is there. */
static bool clear_barrier(struct lease_server *server,
                          const struct hf_store_call *call)
{
    struct hf_ticket_id id;

    if (call->ticket_kind == HF_TICKET_READY &&
        count_of(server, call->queue, HF_TICKET_PARTICIPANT, &id) > 0)
        return false;
    return count_of(server, call->queue, call->ticket_kind, &id) > 0 &&
           remove_ticket(server, call->queue, call->session, &id, NULL);
}

/* A new READY replaces the old one, because it starts a new generation. */
static bool set_ready(struct lease_server *server, uint64_t clock_ms,
                      const struct hf_store_call *call)
{
    const struct lease_row *participant =
        lease_row_find(server, call->queue, &call->ticket);
    struct hf_ticket_id id;

    if (participant == NULL ||
        participant->ticket.kind != HF_TICKET_PARTICIPANT ||
        count_of(server, call->queue, HF_TICKET_PARTICIPANT, &id) < call->limit)
        return false;
    if (count_of(server, call->queue, HF_TICKET_READY, &id) > 0)
        (void)remove_ticket(server, call->queue, call->session, &id, NULL);
    add_flag(server, clock_ms, call->queue, HF_TICKET_READY, &call->flag);
    lease_notify_queue_watches(server, call->queue);
    return true;
}

/* Remove all tickets that the session names, and its watches. */
static void end_session(struct lease_server *server,
                        const struct hf_store_call *call)
{
    for (size_t s = 0; s < call->ticket_set_count; s++) {
        const struct hf_store_ticket_set *ticket_set = &call->ticket_sets[s];

        for (size_t i = 0; i < ticket_set->count; i++)
            (void)remove_ticket(server, ticket_set->queue, call->session,
                                &ticket_set->tickets[i], NULL);
    }
    lease_queue_watches_end(server, call->session);
}

/* Also those whose tickets have all expired: nobody has removed these yet. */
static void name_queues(const struct lease_server *server,
                        const struct hf_store_call *call,
                        struct lease_answer *answer)
{
    struct names_page page;

    names_page_begin(&page, call->prefix, call->names->cursor,
                     call->names->cursor_bytes);
    for (size_t i = 0; i < server->row_count; i++)
        names_page_add(&page, server->rows[i]->queue,
                       server->rows[i]->ticket.kind);
    lease_answer_name(answer, &page);
}

/* The queue has been freed of expired tickets already. */
static void execute(struct lease_server *server, uint64_t clock_ms,
                    const struct hf_store_call *call,
                    struct lease_answer *answer)
{
    switch (call->kind) {
    case HF_STORE_RENEW:
        renew(server, clock_ms, call, answer);
        break;
    case HF_STORE_ENQUEUE:
        enqueue(server, clock_ms, call);
        list(server, clock_ms, call, answer);
        break;
    case HF_STORE_LIST:
        if (call->watches_queue)
            lease_queue_watch(server, clock_ms, call->queue, call);
        list(server, clock_ms, call, answer);
        break;
    case HF_STORE_EXISTS:
        probe(server, clock_ms, call, answer);
        break;
    case HF_STORE_REMOVE:
        answer->answer.found = remove_ticket(server, call->queue, call->session,
                                             &call->ticket, call->evicted_by);
        break;
    case HF_STORE_DOWNGRADE:
        answer->answer.found = downgrade(server, call);
        break;
    case HF_STORE_REVOKE:
        answer->answer.found = revoke(server, call);
        break;
    case HF_STORE_DESCRIBE:
        answer->answer.found = describe(server, call);
        break;
    case HF_STORE_SET_FLAG:
        answer->answer.found = set_barrier(server, clock_ms, call);
        break;
    case HF_STORE_CLEAR_FLAG:
        answer->answer.found = clear_barrier(server, call);
        break;
    case HF_STORE_NEW_GENERATION:
        answer->answer.found = set_ready(server, clock_ms, call);
        break;
    case HF_STORE_CLOSE_SESSION:
        end_session(server, call);
        break;
    case HF_STORE_NAMES:
        name_queues(server, call, answer);
        break;
    case HF_STORE_READ_SUCCESS:
        read_success(server, clock_ms, call, answer);
        break;
    case HF_STORE_WRITE_SUCCESS:
        answer->answer.found = write_success(server, clock_ms, call);
        break;
    case HF_STORE_EXAMINE:
        assert(false && "nobody examines here");
        break;
    }
}

static bool is_late(const struct hf_store_call *call, uint64_t clock_ms)
{
    return hf_store_call_writes(call) && clock_ms > call->not_after_ms;
}

/* A write that arrives after its not_after_ms has no effect, so that a late
 * call cannot add a ticket that its client has given up. */
void lease_server_execute(struct lease_server *server, uint64_t clock_ms,
                          const struct lease_call *copy,
                          struct lease_answer *answer)
{
    const struct hf_store_call *call = &copy->call;

    if (is_late(call, clock_ms)) {
        lease_answer_fail(answer, HF_FAILURE_RETRY, HF_EUNREACHABLE,
                          HF_STORE_LATE, clock_ms);
        return;
    }
    answer->answer.ok = true;
    answer->answer.server_ms = clock_ms;
    if (call->queue != NULL)
        lease_rows_expire(server, call->queue, clock_ms);
    execute(server, clock_ms, call, answer);
}

/* --------------------------------------------------------- other clients -- */

void lease_server_add(struct lease_server *server, uint64_t clock_ms,
                      const char *queue, enum hf_ticket_kind kind,
                      const struct hf_ticket_id *id)
{
    const struct hf_ticket like = {
        .id = *id, .kind = kind, .weight = 1, .payload = "another"};

    lease_rows_expire(server, queue, clock_ms);
    (void)lease_row_new(server, clock_ms, queue, "", &like);
    lease_notify_queue_watches(server, queue);
}

void lease_server_touch(struct lease_server *server, const char *queue)
{
    lease_notify_queue_watches(server, queue);
}

bool lease_server_remove(struct lease_server *server, const char *queue,
                         const struct hf_ticket_id *id)
{
    return remove_ticket(server, queue, NULL, id, NULL);
}

/* ---------------------------------------------------------------- server -- */
