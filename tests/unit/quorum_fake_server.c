/* SPDX-License-Identifier: Apache-2.0 */
/* The tickets of one server, in the order of the queue, and the steps of quorum
 * calls on them: propose, commit, mend. */
#include "quorum_fake_server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wire_call_copy(struct wire_call *copy, struct hf_store_call *call)
{
    size_t at = 0;

    assert(call->quorum != NULL);
    *copy = (struct wire_call){.origin = call,
                               .kind = call->kind,
                               .step = call->quorum->step,
                               .ticket = call->ticket,
                               .ticket_kind = call->ticket_kind,
                               .number = call->quorum->number,
                               .ttl_ms = call->ttl_ms,
                               .not_after_ms = call->not_after_ms};
    (void)snprintf(copy->session, sizeof copy->session, "%s", call->session);
    for (size_t i = 0; i < call->count; i++)
        copy->ids[copy->count++] = call->tickets[i];
    for (size_t i = 0; i < call->ticket_set_count; i++) {
        for (size_t k = 0; k < call->ticket_sets[i].count; k++, at++) {
            assert(copy->count < QUORUM_TICKETS_MAX);
            if (call->quorum->numbers != NULL)
                copy->numbers[copy->count] = call->quorum->numbers[at];
            copy->ids[copy->count++] = call->ticket_sets[i].tickets[k];
        }
    }
}

void quorum_fake_server_clear(struct quorum_fake_server *server)
{
    server->count = 0;
    server->last = 0;
}

uint64_t quorum_fake_server_clock(const struct quorum_fake_server *server,
                                  uint64_t now_ms)
{
    return now_ms + server->ahead_ms + now_ms * server->fast_ppm / 1000000;
}

/* ------------------------------------------------------------------ rows -- */

static struct quorum_row *find(struct quorum_fake_server *server,
                               const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < server->count; i++) {
        if (hf_ticket_id_equal(&server->rows[i].ticket.id, id))
            return &server->rows[i];
    }
    return NULL;
}

/* By number; a proposed ticket stands before a committed one of that number. */
static int compare(const void *a, const void *b)
{
    const struct quorum_row *x = a;
    const struct quorum_row *y = b;

    if (x->ticket.sequence != y->ticket.sequence)
        return x->ticket.sequence < y->ticket.sequence ? -1 : 1;
    return (int)y->proposed - (int)x->proposed;
}

static void sort(struct quorum_fake_server *server)
{
    qsort(server->rows, server->count, sizeof server->rows[0], compare);
}

static uint64_t next_number(struct quorum_fake_server *server,
                            uint64_t clock_ms)
{
    /* In steps of 64 ms, so that servers often propose the same number. */
    if (clock_ms / 64 > server->last)
        server->last = clock_ms / 64;
    return ++server->last;
}

/* A number of another server: give out only greater ones from now on. */
static void note_number(struct quorum_fake_server *server, uint64_t number)
{
    if (number > server->last)
        server->last = number;
}

static void put(struct quorum_fake_server *server, uint64_t clock_ms,
                const struct wire_call *call, uint64_t number, bool proposed)
{
    struct quorum_row *row = &server->rows[server->count++];

    assert(server->count < QUORUM_TICKETS_MAX);
    *row = (struct quorum_row){
        .ticket = {.id = call->ticket,
                   .sequence = number,
                   .token = number,
                   .kind = call->ticket_kind,
                   .weight = 1},
        .until_ms = clock_ms + call->ttl_ms,
        .proposed = proposed,
    };
    (void)snprintf(row->session, sizeof row->session, "%s", call->session);
    sort(server);
}

/* --------------------------------------------------------------- notices -- */

static void notify(struct quorum_fake_server *server, const char *session,
                   const struct hf_ticket_id *id, enum hf_ticket_kind was)
{
    const struct hf_store_notice notice = {
        .kind = HF_STORE_GONE, .queue = "q", .ticket = *id, .ticket_kind = was};

    server->notice(server->arg, session, &notice);
}

/* The ticket that ${row} waits for: for a reader the nearest writer, for others
 * the one in front.  NULL: none. */
static const struct quorum_row *before(const struct quorum_fake_server *server,
                                       const struct quorum_row *row)
{
    for (const struct quorum_row *at = row; at-- > server->rows;) {
        if (row->ticket.kind != HF_TICKET_READ ||
            at->ticket.kind == HF_TICKET_WRITE)
            return at;
    }
    return NULL;
}

/* Notify those who wait for ${moved}; NULL: for a ticket that is going. */
static void notify_waiters(struct quorum_fake_server *server,
                           const struct quorum_row *moved,
                           enum hf_ticket_kind was)
{
    for (size_t i = 0; i < server->count; i++) {
        const struct quorum_row *row = &server->rows[i];
        const struct quorum_row *waits_for = before(server, row);

        if (waits_for != NULL && !row->going &&
            (moved != NULL ? waits_for == moved : waits_for->going))
            notify(server, row->session, &waits_for->ticket.id, was);
    }
}

/* Remove the tickets that are going.  Their owners are notified, but not ${by},
 * which asked for it. */
static void remove_going(struct quorum_fake_server *server, const char *by)
{
    size_t kept = 0;

    notify_waiters(server, NULL, 0);
    for (size_t i = 0; i < server->count; i++) {
        struct quorum_row *row = &server->rows[i];

        if (!row->going)
            server->rows[kept++] = *row;
        else if (by == NULL || strcmp(by, row->session) != 0)
            notify(server, row->session, &row->ticket.id, 0);
    }
    server->count = kept;
}

/* Remove the tickets whose leases have ended. */
static void purge(struct quorum_fake_server *server, uint64_t clock_ms)
{
    for (size_t i = 0; i < server->count; i++)
        server->rows[i].going = server->rows[i].until_ms <= clock_ms;
    remove_going(server, NULL);
}

/* ----------------------------------------------------------------- calls -- */

static void show(struct wire_answer *answer, const struct quorum_row *row,
                 uint64_t clock_ms)
{
    size_t n = answer->answer.count++;

    answer->tickets[n] = row->ticket;
    answer->tickets[n].payload = "";
    answer->leases[n] = (struct hf_store_lease){
        .expires_in_ms = row->until_ms - clock_ms,
        .revoked = row->revoked,
        .proposed = row->proposed,
    };
}

static void list(struct quorum_fake_server *server, uint64_t clock_ms,
                 struct wire_answer *answer)
{
    for (size_t i = 0; i < server->count; i++)
        show(answer, &server->rows[i], clock_ms);
}

static bool is_taken(const struct quorum_fake_server *server,
                     const struct quorum_row *by, uint64_t number)
{
    for (size_t i = 0; i < server->count; i++) {
        const struct quorum_row *row = &server->rows[i];

        if (row != by && !row->proposed && row->ticket.sequence == number)
            return true;
    }
    return false;
}

/* ${mover} moves back to ${number}: notify those it was in front of, because
 * any of them may have waited for it. */
static void notify_overtaken(struct quorum_fake_server *server,
                             const struct quorum_row *mover, uint64_t number)
{
    for (const struct quorum_row *row = mover + 1;
         row < server->rows + server->count; row++) {
        if (row->ticket.sequence < number)
            notify(server, row->session, &mover->ticket.id, 0);
    }
}

/* Commit the number of a ticket.  With ${checked} only if no other committed
 * ticket has that number. */
static void commit(struct quorum_fake_server *server,
                   const struct hf_ticket_id *id, uint64_t number, bool checked)
{
    struct quorum_row *row = find(server, id);

    note_number(server, number);
    if (row == NULL || row->ticket.sequence > number ||
        (checked && is_taken(server, row, number)))
        return;
    notify_overtaken(server, row, number);
    row->ticket.sequence = row->ticket.token = number;
    row->proposed = false;
    sort(server);
}

static void enqueue(struct quorum_fake_server *server, uint64_t clock_ms,
                    const struct wire_call *call, struct wire_answer *answer)
{
    struct quorum_row *row = find(server, &call->ticket);

    if (call->step == HF_STORE_COMMIT) {
        commit(server, &call->ticket, call->number, true);
        list(server, clock_ms, answer);
    } else if (call->step == HF_STORE_REPAIR) {
        note_number(server, call->number);
        if (row == NULL)
            put(server, clock_ms, call, call->number, false);
    } else {
        assert(call->step == HF_STORE_PROPOSE);
        if (row == NULL)
            put(server, clock_ms, call, next_number(server, clock_ms), true);
        show(answer, find(server, &call->ticket), clock_ms);
    }
}

static void renew(struct quorum_fake_server *server, uint64_t clock_ms,
                  const struct wire_call *call, struct wire_answer *answer)
{
    for (size_t i = 0; i < call->count; i++) {
        struct quorum_row *row = find(server, &call->ids[i]);

        if (row == NULL) {
            size_t n = answer->answer.count++;

            answer->tickets[n] = (struct hf_ticket){.id = call->ids[i]};
            answer->leases[n] = (struct hf_store_lease){.missing = true};
            continue;
        }
        row->until_ms = clock_ms + call->ttl_ms;
        if (row->revoked > 0)
            show(answer, row, clock_ms);
        if (call->numbers[i] > 0)
            commit(server, &call->ids[i], call->numbers[i], false);
    }
}

static bool remove_ticket(struct quorum_fake_server *server,
                          const char *session, const struct hf_ticket_id *id)
{
    struct quorum_row *row = find(server, id);

    if (row == NULL)
        return false;
    row->going = true;
    remove_going(server, session);
    return true;
}

static bool downgrade(struct quorum_fake_server *server,
                      const struct wire_call *call)
{
    struct quorum_row *row = find(server, &call->ticket);

    if (row == NULL)
        return false;
    if (row->ticket.kind == HF_TICKET_WRITE) {
        notify_waiters(server, row, HF_TICKET_WRITE);
        row->ticket.kind = HF_TICKET_READ;
    }
    return true;
}

static void fault_step(struct quorum_fake_server *server, uint64_t clock_ms,
                       const struct wire_call *call, struct wire_answer *answer)
{
    switch (call->kind) {
    case HF_STORE_ENQUEUE:
        enqueue(server, clock_ms, call, answer);
        break;
    case HF_STORE_LIST:
        note_number(server, call->number);
        list(server, clock_ms, answer);
        break;
    case HF_STORE_EXISTS:
        for (size_t i = 0; i < call->count; i++) {
            struct quorum_row *row = find(server, &call->ids[i]);

            if (row != NULL)
                show(answer, row, clock_ms);
        }
        break;
    case HF_STORE_RENEW:
        renew(server, clock_ms, call, answer);
        break;
    case HF_STORE_REMOVE:
        answer->answer.found =
            remove_ticket(server, call->session, &call->ticket);
        break;
    case HF_STORE_DOWNGRADE:
        answer->answer.found = downgrade(server, call);
        break;
    case HF_STORE_CLOSE_SESSION:
        for (size_t i = 0; i < call->count; i++)
            (void)remove_ticket(server, call->session, &call->ids[i]);
        break;
    default:
        assert(false);
    }
}

void quorum_fake_server_carry_out(struct quorum_fake_server *server,
                                  uint64_t now_ms, const struct wire_call *call,
                                  struct wire_answer *answer)
{
    uint64_t clock_ms = quorum_fake_server_clock(server, now_ms);
    bool reads = call->kind == HF_STORE_EXISTS;

    answer->answer = (struct hf_store_answer){.server_ms = clock_ms};
    if (!reads && clock_ms > call->not_after_ms) {
        answer->answer.failure = HF_FAILURE_RETRY;
        answer->answer.status = HF_EUNREACHABLE;
        answer->answer.text = HF_STORE_LATE;
        return;
    }
    purge(server, clock_ms);
    answer->answer.ok = true;
    fault_step(server, clock_ms, call, answer);
}
