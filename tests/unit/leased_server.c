/* SPDX-License-Identifier: Apache-2.0 */
#include "leased_server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leased_model.h"

#define ROWS_MAX 512
#define LOOKS_MAX 128

struct row {
    char queue[SERVER_QUEUE_BYTES];
    char session[HF_STORE_SESSION_BYTES];
    char payload[HF_PAYLOAD_BYTES];
    struct hf_ticket ticket;
    uint64_t expires_ms;
    uint32_t revoked;
    bool going; /* in the sweep that is under way */
};

struct look {
    char queue[SERVER_QUEUE_BYTES];
    char session[HF_STORE_SESSION_BYTES];
    uint64_t expires_ms;
};

struct server {
    struct row *rows[ROWS_MAX]; /* in order */
    size_t row_count;
    struct look looks[LOOKS_MAX];
    size_t look_count;
    uint64_t last; /* sequence and token */
    int64_t stepped_ms;
    void (*notice)(void *arg, const struct server_notice *notice);
    void *arg;
};

/* ----------------------------------------------------------------- copies --
 */

static char *copy_text(void **memory, const char *text)
{
    if (text == NULL)
        return NULL;
    *memory = strdup(text);
    assert(*memory != NULL);
    return *memory;
}

static void *copy_bytes(void **memory, const void *bytes, size_t count)
{
    *memory = malloc(count + 1);
    assert(*memory != NULL);
    if (count > 0)
        memcpy(*memory, bytes, count);
    return *memory;
}

static struct hf_store_stake *copy_stakes(const struct hf_store_call *call)
{
    struct hf_store_stake *stakes =
        calloc(call->stake_count + 1, sizeof *stakes);
    void *memory;

    assert(stakes != NULL);
    for (size_t i = 0; i < call->stake_count; i++) {
        stakes[i] = call->stakes[i];
        stakes[i].queue = copy_text(&memory, call->stakes[i].queue);
        stakes[i].tickets =
            copy_bytes(&memory, call->stakes[i].tickets,
                       stakes[i].count * sizeof(struct hf_ticket_id));
    }
    return stakes;
}

void server_call_copy(struct server_call *copy,
                      const struct hf_store_call *call)
{
    copy->call = *call;
    copy->call.session = copy_text(&copy->memory[0], call->session);
    copy->call.queue = copy_text(&copy->memory[1], call->queue);
    copy->call.payload = copy_text(&copy->memory[2], call->payload);
    copy->call.tickets = copy_bytes(&copy->memory[3], call->tickets,
                                    call->count * sizeof(struct hf_ticket_id));
    copy->call.stakes = copy->memory[4] = copy_stakes(call);
}

void server_call_free(struct server_call *copy)
{
    if (copy->memory[4] != NULL) {
        for (size_t i = 0; i < copy->call.stake_count; i++) {
            free((void *)(uintptr_t)copy->call.stakes[i].queue);
            free((void *)(uintptr_t)copy->call.stakes[i].tickets);
        }
    }
    for (size_t i = 0; i < 6; i++)
        free(copy->memory[i]);
}

/* ---------------------------------------------------------------- answers --
 */

void server_answer_failure(struct server_answer *answer,
                           enum hf_failure failure, uint64_t now_ms)
{
    answer->answer.failure = failure;
    answer->answer.status = HF_EPROTOCOL;
    answer->answer.text = "the story wants it so";
    answer->answer.server_ms = now_ms;
}

void server_answer_free(struct server_answer *answer)
{
    for (size_t i = 0; i < answer->answer.count; i++)
        free((void *)(uintptr_t)answer->tickets[i].payload);
    free(answer->tickets);
    free(answer->leases);
}

static void add(struct server_answer *answer, const struct row *row,
                uint64_t now_ms)
{
    size_t n = answer->answer.count++;

    answer->tickets =
        realloc(answer->tickets, (n + 1) * sizeof *answer->tickets);
    answer->leases = realloc(answer->leases, (n + 1) * sizeof *answer->leases);
    assert(answer->tickets != NULL && answer->leases != NULL);
    answer->tickets[n] = row->ticket;
    answer->tickets[n].payload = strdup(row->payload);
    answer->tickets[n].dialect = "model";
    answer->leases[n] = (struct hf_store_lease){
        .expires_in_ms =
            row->expires_ms > now_ms ? row->expires_ms - now_ms : 0,
        .revoked = row->revoked};
    answer->answer.tickets = answer->tickets;
    answer->answer.leases = answer->leases;
}

static void add_missing(struct server_answer *answer,
                        const struct hf_ticket_id *id)
{
    struct row row = {.ticket = {.id = *id}};

    add(answer, &row, 0);
    answer->leases[answer->answer.count - 1].missing = true;
}

/* ---------------------------------------------------------------- notices --
 */

static void tell(struct server *server, enum hf_store_notice_kind kind,
                 const char *session, const char *queue, const struct row *row,
                 enum hf_ticket_kind was)
{
    static struct server_notice notice;

    (void)snprintf(notice.session, sizeof notice.session, "%s", session);
    (void)snprintf(notice.queue, sizeof notice.queue, "%s", queue);
    notice.notice = (struct hf_store_notice){.kind = kind, .ticket_kind = was};
    if (row != NULL) {
        notice.notice.ticket = row->ticket.id;
        notice.notice.revoked = row->revoked;
    }
    server->notice(server->arg, &notice);
}

/* Walk the queue as it stood: who waited for one that goes, or (${was}) for the
 * write ticket ${downgraded}? */
static void tell_waiters(struct server *server, const char *queue,
                         const struct row *downgraded)
{
    const struct row *nearest = NULL, *writer = NULL;

    assert(queue != NULL);
    for (size_t i = 0; i < server->row_count; i++) {
        const struct row *row = server->rows[i];
        const struct row *before;

        if (strcmp(row->queue, queue) != 0)
            continue;
        if (hf_store_is_apart(row->ticket.kind))
            continue;
        before = row->ticket.kind == HF_TICKET_READ    ? writer
                 : row->ticket.kind == HF_TICKET_LEASE ? NULL
                                                       : nearest;
        if (before != NULL && !row->going &&
            (before->going || before == downgraded))
            tell(server, HF_STORE_GONE, row->session, queue, before,
                 before == downgraded ? HF_TICKET_WRITE : 0);
        nearest = row;
        if (row->ticket.kind == HF_TICKET_WRITE)
            writer = row;
    }
}

static void tell_lookers(struct server *server, const char *queue)
{
    size_t kept = 0;

    for (size_t i = 0; i < server->look_count; i++) {
        if (strcmp(server->looks[i].queue, queue) == 0)
            tell(server, HF_STORE_CHANGED, server->looks[i].session, queue,
                 NULL, 0);
        else
            server->looks[kept++] = server->looks[i];
    }
    server->look_count = kept;
}

/* Take out all that are .going, and tell; ${by}: its owner knows. */
static void sweep(struct server *server, const char *queue, const char *by)
{
    size_t kept = 0;
    bool any = false;

    tell_waiters(server, queue, NULL);
    for (size_t i = 0; i < server->row_count; i++) {
        struct row *row = server->rows[i];

        if (!row->going) {
            server->rows[kept++] = row;
            continue;
        }
        any = true;
        if (by == NULL || strcmp(by, row->session) != 0)
            tell(server, HF_STORE_GONE, row->session, queue, row, 0);
        free(row);
    }
    server->row_count = kept;
    if (any)
        tell_lookers(server, queue);
}

static void purge(struct server *server, const char *queue, uint64_t now_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < server->row_count; i++)
        server->rows[i]->going = strcmp(server->rows[i]->queue, queue) == 0 &&
                                 server->rows[i]->expires_ms <= now_ms;
    for (size_t i = 0; i < server->look_count; i++) {
        if (server->looks[i].expires_ms > now_ms)
            server->looks[kept++] = server->looks[i];
    }
    server->look_count = kept;
    sweep(server, queue, NULL);
}

/* ------------------------------------------------------------------ calls --
 */

static struct row *find(const struct server *server, const char *queue,
                        const struct hf_ticket_id *id)
{
    assert(queue != NULL);
    for (size_t i = 0; i < server->row_count; i++) {
        if (strcmp(server->rows[i]->queue, queue) == 0 &&
            hf_ticket_id_equal(&server->rows[i]->ticket.id, id))
            return server->rows[i];
    }
    return NULL;
}

static void list(const struct server *server, uint64_t now_ms,
                 const struct hf_store_call *call, struct server_answer *answer)
{
    bool members = call->ticket_kind == HF_TICKET_MEMBER;

    assert(call->queue != NULL);
    for (size_t i = 0; i < server->row_count; i++) {
        const struct row *row = server->rows[i];

        if (strcmp(row->queue, call->queue) == 0 &&
            hf_store_is_apart(row->ticket.kind) == members)
            add(answer, row, now_ms);
    }
}

static void enqueue(struct server *server, uint64_t now_ms,
                    const struct hf_store_call *call)
{
    struct row *row = find(server, call->queue, &call->ticket);

    if (row != NULL)
        return;
    assert(server->row_count < ROWS_MAX);
    row = calloc(1, sizeof *row);
    assert(row != NULL);
    (void)snprintf(row->queue, sizeof row->queue, "%s", call->queue);
    (void)snprintf(row->session, sizeof row->session, "%s", call->session);
    (void)snprintf(row->payload, sizeof row->payload, "%s",
                   call->payload == NULL ? "" : call->payload);
    row->ticket.id = call->ticket;
    row->ticket.kind = call->ticket_kind;
    row->ticket.weight = call->weight;
    row->ticket.sequence = row->ticket.token = ++server->last;
    row->expires_ms = now_ms + call->ttl_ms;
    server->rows[server->row_count++] = row;
    if (call->ticket_kind == HF_TICKET_MEMBER)
        tell_lookers(server, call->queue);
}

static void look(struct server *server, uint64_t now_ms, const char *queue,
                 const struct hf_store_call *call)
{
    struct look *at;

    assert(queue != NULL);
    for (size_t i = 0; i < server->look_count; i++) {
        at = &server->looks[i];
        if (strcmp(at->queue, queue) == 0 &&
            strcmp(at->session, call->session) == 0) {
            at->expires_ms = now_ms + call->ttl_ms;
            return;
        }
    }
    assert(server->look_count < LOOKS_MAX);
    at = &server->looks[server->look_count++];
    (void)snprintf(at->queue, sizeof at->queue, "%s", queue);
    (void)snprintf(at->session, sizeof at->session, "%s", call->session);
    at->expires_ms = now_ms + call->ttl_ms;
}

static void renew(struct server *server, uint64_t now_ms,
                  const struct hf_store_call *call,
                  struct server_answer *answer)
{
    for (size_t s = 0; s < call->stake_count; s++) {
        const struct hf_store_stake *stake = &call->stakes[s];

        purge(server, stake->queue, now_ms);
        for (size_t i = 0; i < stake->count; i++) {
            struct row *row = find(server, stake->queue, &stake->tickets[i]);

            if (row == NULL) {
                add_missing(answer, &stake->tickets[i]);
                continue;
            }
            row->expires_ms = now_ms + call->ttl_ms;
            if (row->revoked > 0)
                add(answer, row, now_ms);
        }
        if (stake->looks)
            look(server, now_ms, stake->queue, call);
    }
}

static void probe(struct server *server, uint64_t now_ms,
                  const struct hf_store_call *call,
                  struct server_answer *answer)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct row *row = find(server, call->queue, &call->tickets[i]);

        if (row != NULL)
            add(answer, row, now_ms);
    }
}

static bool withdraw(struct server *server, const char *queue,
                     const char *session, const struct hf_ticket_id *id)
{
    struct row *row = find(server, queue, id);

    if (row == NULL)
        return false;
    row->going = true;
    sweep(server, queue, session);
    return true;
}

static bool downgrade(struct server *server, const struct hf_store_call *call)
{
    struct row *row = find(server, call->queue, &call->ticket);

    if (row == NULL || strcmp(row->session, call->session) != 0)
        return false;
    if (row->ticket.kind == HF_TICKET_WRITE) {
        tell_waiters(server, call->queue, row);
        row->ticket.kind = HF_TICKET_READ;
    }
    return row->ticket.kind == HF_TICKET_READ;
}

static bool revoke(struct server *server, const struct hf_store_call *call)
{
    struct row *row = find(server, call->queue, &call->ticket);

    if (row == NULL)
        return false;
    row->revoked++;
    tell(server, HF_STORE_REVOKED, row->session, call->queue, row, 0);
    return true;
}

static size_t count_of(const struct server *server, const char *queue,
                       enum hf_ticket_kind kind, struct hf_ticket_id *last)
{
    size_t count = 0;

    assert(queue != NULL);
    for (size_t i = 0; i < server->row_count; i++) {
        const struct row *row = server->rows[i];

        if (strcmp(row->queue, queue) != 0 || row->ticket.kind != kind)
            continue;
        *last = row->ticket.id;
        count++;
    }
    return count;
}

static bool raise_mark(struct server *server, const struct hf_store_call *call)
{
    struct hf_ticket_id id;

    if (count_of(server, call->queue, call->ticket_kind, &id) > 0)
        return true;
    enqueue(server, 0, call);
    server->rows[server->row_count - 1]->expires_ms = UINT64_MAX;
    server->rows[server->row_count - 1]->session[0] = '\0';
    return false;
}

static bool lower_mark(struct server *server, const struct hf_store_call *call)
{
    struct hf_ticket_id id;

    if (call->ticket_kind == HF_TICKET_READY &&
        count_of(server, call->queue, HF_TICKET_MEMBER, &id) > 0)
        return false;
    return count_of(server, call->queue, call->ticket_kind, &id) > 0 &&
           withdraw(server, call->queue, call->session, &id);
}

static bool stamp(struct server *server, const struct hf_store_call *call)
{
    const struct row *member = find(server, call->queue, &call->ticket);
    struct hf_store_call mark = *call;
    struct hf_ticket_id id;

    if (member == NULL || member->ticket.kind != HF_TICKET_MEMBER ||
        count_of(server, call->queue, HF_TICKET_MEMBER, &id) < call->limit)
        return false;
    mark.ticket_kind = HF_TICKET_READY;
    mark.ticket = call->mark;
    mark.weight = 1;
    if (count_of(server, call->queue, HF_TICKET_READY, &id) > 0)
        (void)withdraw(server, call->queue, call->session, &id);
    (void)raise_mark(server, &mark);
    tell_lookers(server, call->queue);
    return true;
}

static void say_goodbye(struct server *server, const struct hf_store_call *call)
{
    size_t kept = 0;

    for (size_t s = 0; s < call->stake_count; s++) {
        const struct hf_store_stake *stake = &call->stakes[s];

        for (size_t i = 0; i < stake->count; i++)
            (void)withdraw(server, stake->queue, call->session,
                           &stake->tickets[i]);
    }
    for (size_t i = 0; i < server->look_count; i++) {
        if (strcmp(server->looks[i].session, call->session) != 0)
            server->looks[kept++] = server->looks[i];
    }
    server->look_count = kept;
}

static void act(struct server *server, uint64_t now_ms,
                const struct hf_store_call *call, struct server_answer *answer)
{
    switch (call->kind) {
    case HF_STORE_RENEW:
        renew(server, now_ms, call, answer);
        break;
    case HF_STORE_ENQUEUE:
        enqueue(server, now_ms, call);
        list(server, now_ms, call, answer);
        break;
    case HF_STORE_LIST:
        if (call->looks)
            look(server, now_ms, call->queue, call);
        list(server, now_ms, call, answer);
        break;
    case HF_STORE_PROBE:
        probe(server, now_ms, call, answer);
        break;
    case HF_STORE_WITHDRAW:
        answer->answer.found =
            withdraw(server, call->queue, call->session, &call->ticket);
        break;
    case HF_STORE_DOWNGRADE:
        answer->answer.found = downgrade(server, call);
        break;
    case HF_STORE_REVOKE:
        answer->answer.found = revoke(server, call);
        break;
    case HF_STORE_RAISE:
        answer->answer.found = raise_mark(server, call);
        break;
    case HF_STORE_LOWER:
        answer->answer.found = lower_mark(server, call);
        break;
    case HF_STORE_STAMP:
        answer->answer.found = stamp(server, call);
        break;
    case HF_STORE_GOODBYE:
        say_goodbye(server, call);
        break;
    }
}

void server_carry_out(struct server *server, uint64_t clock_ms,
                      const struct server_call *copy,
                      struct server_answer *answer)
{
    const struct hf_store_call *call = &copy->call;

    if (hf_store_call_writes(call) && clock_ms > call->not_after_ms) {
        server_answer_failure(answer, HF_FAILURE_RETRY, clock_ms);
        answer->answer.text = HF_STORE_LATE;
        return;
    }
    answer->answer.ok = true;
    answer->answer.server_ms = clock_ms;
    if (call->queue != NULL)
        purge(server, call->queue, clock_ms);
    act(server, clock_ms, call, answer);
}

/* ----------------------------------------------------------------- server --
 */

struct server *server_new(void (*notice)(void *arg,
                                         const struct server_notice *notice),
                          void *arg)
{
    struct server *server = calloc(1, sizeof *server);

    assert(server != NULL);
    server->notice = notice;
    server->arg = arg;
    return server;
}

void server_free(struct server *server)
{
    for (size_t i = 0; i < server->row_count; i++)
        free(server->rows[i]);
    free(server);
}

uint64_t server_clock(const struct server *server, uint64_t now_ms)
{
    return MODEL_SERVER_MS + now_ms + (uint64_t)server->stepped_ms;
}

void server_step_clock(struct server *server, int64_t ms)
{
    server->stepped_ms += ms;
}

size_t server_tickets(const struct server *server, const char *queue)
{
    size_t count = 0;

    for (size_t i = 0; i < server->row_count; i++)
        count += strcmp(server->rows[i]->queue, queue) == 0 ? 1 : 0;
    return count;
}

bool server_has(const struct server *server, const char *queue,
                const struct hf_ticket_id *id)
{
    return find(server, queue, id) != NULL;
}

bool server_evict(struct server *server, const char *queue,
                  const struct hf_ticket_id *id)
{
    struct row *row = find(server, queue, id);
    size_t at = 0;

    if (row == NULL)
        return false;
    while (server->rows[at] != row)
        at++;
    free(row);
    server->row_count--;
    for (; at < server->row_count; at++)
        server->rows[at] = server->rows[at + 1];
    return true;
}
