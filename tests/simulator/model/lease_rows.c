/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the lease server: adding and removing tickets, and the notices
 * that this sends.
 */
#include "simulator/model/lease_rows.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *lease_require_memory(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "sim: no memory for the model; run it on its own\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static void set_session(char to[HF_STORE_SESSION_BYTES], const char *session)
{
    (void)snprintf(to, HF_STORE_SESSION_BYTES, "%s", session);
}

/* --------------------------------------------------------------- notices -- */

void lease_send_notice(struct lease_server *server,
                       enum hf_store_notice_kind kind, const char *session,
                       const char *queue, const struct lease_row *row,
                       enum hf_ticket_kind was)
{
    struct lease_notice notice = {.session = session};

    notice.notice.kind = kind;
    notice.notice.queue = queue;
    notice.notice.ticket_kind = was;
    if (row != NULL) {
        notice.notice.ticket = row->ticket.id;
        notice.notice.revoked = row->revoked;
    }
    if (row != NULL && row->removing && row->evicted_by != NULL &&
        strcmp(session, row->session) == 0)
        (void)hf_evicted_by_explain(row->evicted_by, strlen(row->evicted_by),
                                    notice.notice.why);
    server->observer.notice(server->observer.arg, &notice);
}

/* Notify the owner of ${row} that ${gone}, which it waits for, goes. */
static void notify_waiter(struct lease_server *server,
                          const struct lease_row *row,
                          const struct lease_row *gone, bool is_first)
{
    struct lease_notice notice = {.session = row->session};

    notice.notice.kind = HF_STORE_GONE;
    notice.notice.queue = row->queue;
    notice.notice.ticket = gone->ticket.id;
    if (!gone->removing)
        notice.notice.ticket_kind = HF_TICKET_WRITE; /* it is downgraded */
    else if (is_first && server->names_first)
        notice.notice.first = row->ticket.id;
    server->observer.notice(server->observer.arg, &notice);
}

/* Walks over the queue as it is before the removal: a notice goes to each
 * ticket whose nearest conflicting ticket ahead goes. */
void lease_notify_waiters(struct lease_server *server, const char *queue,
                          const struct lease_row *downgraded)
{
    const struct lease_row *nearest = NULL, *writer = NULL;
    bool is_first = true;

    assert(queue != NULL);
    for (size_t i = 0; i < server->row_count; i++) {
        const struct lease_row *row = server->rows[i];
        const struct lease_row *before;

        if (strcmp(row->queue, queue) != 0 ||
            hf_store_is_double_barrier_kind(row->ticket.kind))
            continue;
        before = row->ticket.kind == HF_TICKET_READ    ? writer
                 : row->ticket.kind == HF_TICKET_LEASE ? NULL
                                                       : nearest;
        if (before != NULL && !row->removing &&
            (before->removing || before == downgraded))
            notify_waiter(server, row, before, is_first);
        is_first = is_first && row->removing;
        nearest = row;
        if (row->ticket.kind == HF_TICKET_WRITE)
            writer = row;
    }
}

static void fire_queue_watch(struct lease_server *server,
                             struct lease_queue_watch *queue_watch,
                             const char *queue)
{
    lease_send_notice(server, HF_STORE_CHANGED, queue_watch->session, queue,
                      NULL, 0);
    free(queue_watch->queue);
}

/* A watch of a queue fires once. */
void lease_notify_queue_watches(struct lease_server *server, const char *queue)
{
    size_t kept = 0;

    for (size_t i = 0; i < server->queue_watch_count; i++) {
        if (strcmp(server->queue_watches[i].queue, queue) == 0)
            fire_queue_watch(server, &server->queue_watches[i], queue);
        else
            server->queue_watches[kept++] = server->queue_watches[i];
    }
    server->queue_watch_count = kept;
}

static void row_free(struct lease_row *row)
{
    free(row->queue);
    free(row->payload);
    free(row);
}

static void observe_removed(struct lease_server *server,
                            const struct lease_row *row)
{
    if (server->observer.removed != NULL)
        server->observer.removed(server->observer.arg, row->queue,
                                 &row->ticket);
}

void lease_rows_remove_marked(struct lease_server *server, const char *queue,
                              const char *by)
{
    size_t kept = 0;
    bool any = false;

    lease_notify_waiters(server, queue, NULL);
    for (size_t i = 0; i < server->row_count; i++) {
        struct lease_row *row = server->rows[i];

        if (!row->removing) {
            server->rows[kept++] = row;
            continue;
        }
        any = true;
        if (by == NULL || strcmp(by, row->session) != 0)
            lease_send_notice(server, HF_STORE_GONE, row->session, queue, row,
                              0);
        observe_removed(server, row);
        row_free(row);
    }
    server->row_count = kept;
    if (any)
        lease_notify_queue_watches(server, queue);
}

/* Expired watches go too. */
void lease_rows_expire(struct lease_server *server, const char *queue,
                       uint64_t clock_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < server->row_count; i++)
        server->rows[i]->removing =
            strcmp(server->rows[i]->queue, queue) == 0 &&
            server->rows[i]->expires_ms <= clock_ms;
    for (size_t i = 0; i < server->queue_watch_count; i++) {
        if (server->queue_watches[i].expires_ms > clock_ms)
            server->queue_watches[kept++] = server->queue_watches[i];
        else
            free(server->queue_watches[i].queue);
    }
    server->queue_watch_count = kept;
    lease_rows_remove_marked(server, queue, NULL);
}

/* --------------------------------------------------------------- tickets -- */

struct lease_row *lease_row_find(const struct lease_server *server,
                                 const char *queue,
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

/* Greater than all before, even if the counter was lost: at least the clock in
 * microseconds. */
static uint64_t next_token(const struct lease_server *server, uint64_t clock_ms)
{
    uint64_t of_clock = 1000 * clock_ms;

    return of_clock > server->last ? of_clock : server->last + 1;
}

struct lease_row *lease_row_new(struct lease_server *server, uint64_t clock_ms,
                                const char *queue, const char *session,
                                const struct hf_ticket *like)
{
    struct lease_row *row = lease_require_memory(calloc(1, sizeof *row));

    if (server->row_count == server->row_room) {
        server->row_room = 2 * server->row_room + 64;
        server->rows = lease_require_memory(realloc(
            server->rows, server->row_room * sizeof(struct lease_row *)));
    }
    row->queue = lease_require_memory(strdup(queue));
    set_session(row->session, session);
    row->payload = lease_require_memory(
        strdup(like->payload == NULL ? "" : like->payload));
    row->ticket = *like;
    row->ticket.payload = row->payload;
    row->ticket.sequence = row->ticket.token = server->last =
        next_token(server, clock_ms);
    row->expires_ms = UINT64_MAX;
    server->rows[server->row_count++] = row;
    if (server->observer.added != NULL)
        server->observer.added(server->observer.arg, queue, session,
                               &row->ticket);
    return row;
}

bool lease_server_evict(struct lease_server *server, const char *queue,
                        const struct hf_ticket_id *id)
{
    struct lease_row *row = lease_row_find(server, queue, id);
    size_t at = 0;

    if (row == NULL)
        return false;
    while (server->rows[at] != row)
        at++;
    observe_removed(server, row);
    row_free(row);
    server->row_count--;
    for (; at < server->row_count; at++)
        server->rows[at] = server->rows[at + 1];
    return true;
}

/* ----------------------------------------------------- watches of queues -- */

/* A second watch of the same session and queue only prolongs the first. */
void lease_queue_watch(struct lease_server *server, uint64_t clock_ms,
                       const char *queue, const struct hf_store_call *call)
{
    struct lease_queue_watch *at;

    assert(queue != NULL);
    for (size_t i = 0; i < server->queue_watch_count; i++) {
        at = &server->queue_watches[i];
        if (strcmp(at->queue, queue) == 0 &&
            strcmp(at->session, call->session) == 0) {
            at->expires_ms = clock_ms + call->ttl_ms;
            return;
        }
    }
    if (server->queue_watch_count == server->queue_watch_room) {
        server->queue_watch_room = 2 * server->queue_watch_room + 16;
        server->queue_watches = lease_require_memory(
            realloc(server->queue_watches,
                    server->queue_watch_room * sizeof *server->queue_watches));
    }
    at = &server->queue_watches[server->queue_watch_count++];
    at->queue = lease_require_memory(strdup(queue));
    set_session(at->session, call->session);
    at->expires_ms = clock_ms + call->ttl_ms;
}

void lease_queue_watches_end(struct lease_server *server, const char *session)
{
    size_t kept = 0;

    for (size_t i = 0; i < server->queue_watch_count; i++) {
        if (strcmp(server->queue_watches[i].session, session) != 0)
            server->queue_watches[kept++] = server->queue_watches[i];
        else
            free(server->queue_watches[i].queue);
    }
    server->queue_watch_count = kept;
}

/* ------------------------------------------------------------- successes -- */

struct lease_success *lease_success_find(const struct lease_server *server,
                                         const char *queue)
{
    for (size_t i = 0; i < server->success_count; i++)
        if (strcmp(server->successes[i].queue, queue) == 0)
            return &server->successes[i];
    return NULL;
}

static struct lease_success *success_new(struct lease_server *server,
                                         const char *queue)
{
    struct lease_success *success;

    if (server->success_count == server->success_room) {
        server->success_room = 2 * server->success_room + 4;
        server->successes = lease_require_memory(
            realloc(server->successes,
                    server->success_room * sizeof *server->successes));
    }
    success = &server->successes[server->success_count++];
    success->queue = lease_require_memory(strdup(queue));
    return success;
}

void lease_success_write(struct lease_server *server, const char *queue,
                         uint64_t token, uint64_t at_ms, uint64_t written_us)
{
    struct lease_success *success = lease_success_find(server, queue);

    if (success == NULL)
        success = success_new(server, queue);
    success->token = token;
    success->at_ms = at_ms;
    success->written_us = written_us;
    if (server->observer.succeeded != NULL)
        server->observer.succeeded(server->observer.arg, queue, token,
                                   written_us);
}

static bool is_same_write(const struct lease_success *one,
                          const struct lease_success *other)
{
    return one->token == other->token && one->at_ms == other->at_ms &&
           one->written_us == other->written_us;
}

/* Those that were written since ${to} was copied are as they were then. */
static void roll_back_successes(struct lease_server *server,
                                const struct lease_server *to)
{
    static const struct lease_success none;

    for (size_t i = 0; i < server->success_count; i++) {
        const struct lease_success *success = &server->successes[i];
        const struct lease_success *was =
            lease_success_find(to, success->queue);

        if (was == NULL)
            was = &none;
        if (!is_same_write(was, success))
            lease_success_write(server, success->queue, was->token, was->at_ms,
                                was->written_us);
    }
}

/* ---------------------------------------------------------------- server -- */

struct lease_server *lease_server_new(const struct lease_observer *observer)
{
    struct lease_server *server =
        lease_require_memory(calloc(1, sizeof *server));

    server->observer = *observer;
    return server;
}

void lease_server_set_partial(struct lease_server *server)
{
    server->partial = true;
}

void lease_server_set_names_first(struct lease_server *server)
{
    server->names_first = true;
}

static void ignore_notice(void *arg, const struct lease_notice *notice)
{
    (void)arg;
    (void)notice;
}

/* The copy sends no notices and has no observer. */
struct lease_server *lease_server_copy(const struct lease_server *from)
{
    static const struct lease_observer ignoring = {.notice = ignore_notice};
    struct lease_server *server = lease_server_new(&ignoring);

    server->last = from->last;
    server->partial = from->partial;
    server->names_first = from->names_first;
    server->row_count = server->row_room = from->row_count;
    server->queue_watch_count = server->queue_watch_room =
        from->queue_watch_count;
    server->rows = lease_require_memory(
        calloc(from->row_count + 1, sizeof(struct lease_row *)));
    server->queue_watches = lease_require_memory(
        calloc(from->queue_watch_count + 1, sizeof *server->queue_watches));
    for (size_t i = 0; i < from->row_count; i++) {
        struct lease_row *row = lease_require_memory(malloc(sizeof *row));

        *row = *from->rows[i];
        row->queue = lease_require_memory(strdup(row->queue));
        row->payload = lease_require_memory(strdup(row->payload));
        row->ticket.payload = row->payload;
        server->rows[i] = row;
    }
    for (size_t i = 0; i < from->queue_watch_count; i++) {
        server->queue_watches[i] = from->queue_watches[i];
        server->queue_watches[i].queue =
            lease_require_memory(strdup(from->queue_watches[i].queue));
    }
    for (size_t i = 0; i < from->success_count; i++)
        lease_success_write(server, from->successes[i].queue,
                            from->successes[i].token, from->successes[i].at_ms,
                            from->successes[i].written_us);
    return server;
}

void lease_server_roll_back(struct lease_server *server,
                            const struct lease_server *to)
{
    size_t kept = 0;

    for (size_t i = 0; i < server->row_count; i++) {
        struct lease_row *row = server->rows[i];
        const struct lease_row *was =
            lease_row_find(to, row->queue, &row->ticket.id);

        if (was == NULL && row->session[0] != '\0') {
            observe_removed(server, row);
            row_free(row);
            continue;
        }
        if (was != NULL)
            row->expires_ms = was->expires_ms;
        server->rows[kept++] = row;
    }
    server->row_count = kept;
    server->last = to->last;
    roll_back_successes(server, to);
}

void lease_server_wipe(struct lease_server *server)
{
    for (size_t i = 0; i < server->row_count; i++)
        row_free(server->rows[i]);
    for (size_t i = 0; i < server->queue_watch_count; i++)
        free(server->queue_watches[i].queue);
    for (size_t i = 0; i < server->success_count; i++)
        free(server->successes[i].queue);
    server->row_count = server->queue_watch_count = server->success_count = 0;
    server->last = 0;
}

void lease_server_free(struct lease_server *server)
{
    lease_server_wipe(server);
    free(server->rows);
    free(server->queue_watches);
    free(server->successes);
    free(server);
}

size_t lease_server_count(const struct lease_server *server, const char *queue)
{
    size_t count = 0;

    for (size_t i = 0; i < server->row_count; i++)
        count += strcmp(server->rows[i]->queue, queue) == 0 ? 1 : 0;
    return count;
}

uint64_t lease_server_expires_ms(const struct lease_server *server,
                                 const char *queue,
                                 const struct hf_ticket_id *id)
{
    const struct lease_row *row = lease_row_find(server, queue, id);

    return row == NULL ? 0 : row->expires_ms;
}
