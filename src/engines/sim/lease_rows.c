/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/sim/lease_rows.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *lease_must(void *memory)
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

void lease_tell(struct lease_server *server, enum hf_store_notice_kind kind,
                const char *session, const char *queue,
                const struct lease_row *row, enum hf_ticket_kind was)
{
    struct lease_notice notice = {.session = session};

    notice.notice.kind = kind;
    notice.notice.queue = queue;
    notice.notice.ticket_kind = was;
    if (row != NULL) {
        notice.notice.ticket = row->ticket.id;
        notice.notice.revoked = row->revoked;
    }
    server->watcher.notice(server->watcher.arg, &notice);
}

/* Walk the queue as it stood: who waited for one that goes, or (${was}) for the
 * write ticket ${downgraded}? */
void lease_tell_waiters(struct lease_server *server, const char *queue,
                        const struct lease_row *downgraded)
{
    const struct lease_row *nearest = NULL, *writer = NULL;

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
        if (before != NULL && !row->going &&
            (before->going || before == downgraded))
            lease_tell(server, HF_STORE_GONE, row->session, queue, before,
                       before == downgraded ? HF_TICKET_WRITE : 0);
        nearest = row;
        if (row->ticket.kind == HF_TICKET_WRITE)
            writer = row;
    }
}

static void look_over(struct lease_server *server, struct lease_look *look,
                      const char *queue)
{
    lease_tell(server, HF_STORE_CHANGED, look->session, queue, NULL, 0);
    free(look->queue);
}

void lease_tell_lookers(struct lease_server *server, const char *queue)
{
    size_t kept = 0;

    for (size_t i = 0; i < server->look_count; i++) {
        if (strcmp(server->looks[i].queue, queue) == 0)
            look_over(server, &server->looks[i], queue);
        else
            server->looks[kept++] = server->looks[i];
    }
    server->look_count = kept;
}

static void row_free(struct lease_row *row)
{
    free(row->queue);
    free(row->payload);
    free(row);
}

static void row_went(struct lease_server *server, const struct lease_row *row)
{
    if (server->watcher.went != NULL)
        server->watcher.went(server->watcher.arg, row->queue, &row->ticket);
}

/* Take out all that are .going, and tell; ${by}: its owner knows. */
void lease_rows_sweep(struct lease_server *server, const char *queue,
                      const char *by)
{
    size_t kept = 0;
    bool any = false;

    lease_tell_waiters(server, queue, NULL);
    for (size_t i = 0; i < server->row_count; i++) {
        struct lease_row *row = server->rows[i];

        if (!row->going) {
            server->rows[kept++] = row;
            continue;
        }
        any = true;
        if (by == NULL || strcmp(by, row->session) != 0)
            lease_tell(server, HF_STORE_GONE, row->session, queue, row, 0);
        row_went(server, row);
        row_free(row);
    }
    server->row_count = kept;
    if (any)
        lease_tell_lookers(server, queue);
}

void lease_rows_purge(struct lease_server *server, const char *queue,
                      uint64_t clock_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < server->row_count; i++)
        server->rows[i]->going = strcmp(server->rows[i]->queue, queue) == 0 &&
                                 server->rows[i]->expires_ms <= clock_ms;
    for (size_t i = 0; i < server->look_count; i++) {
        if (server->looks[i].expires_ms > clock_ms)
            server->looks[kept++] = server->looks[i];
        else
            free(server->looks[i].queue);
    }
    server->look_count = kept;
    lease_rows_sweep(server, queue, NULL);
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

/* Greater than all before, also after the count was lost. */
static uint64_t next_token(const struct lease_server *server, uint64_t clock_ms)
{
    uint64_t of_clock = 1000 * clock_ms;

    return of_clock > server->last ? of_clock : server->last + 1;
}

struct lease_row *lease_row_new(struct lease_server *server, uint64_t clock_ms,
                                const char *queue, const char *session,
                                const struct hf_ticket *like)
{
    struct lease_row *row = lease_must(calloc(1, sizeof *row));

    if (server->row_count == server->row_room) {
        server->row_room = 2 * server->row_room + 64;
        server->rows = lease_must(realloc(
            server->rows, server->row_room * sizeof(struct lease_row *)));
    }
    row->queue = lease_must(strdup(queue));
    set_session(row->session, session);
    row->payload =
        lease_must(strdup(like->payload == NULL ? "" : like->payload));
    row->ticket = *like;
    row->ticket.payload = row->payload;
    row->ticket.sequence = row->ticket.token = server->last =
        next_token(server, clock_ms);
    row->expires_ms = UINT64_MAX;
    server->rows[server->row_count++] = row;
    if (server->watcher.came != NULL)
        server->watcher.came(server->watcher.arg, queue, session, &row->ticket);
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
    row_went(server, row);
    row_free(row);
    server->row_count--;
    for (; at < server->row_count; at++)
        server->rows[at] = server->rows[at + 1];
    return true;
}

/* ----------------------------------------------------------------- looks -- */

void lease_look(struct lease_server *server, uint64_t clock_ms,
                const char *queue, const struct hf_store_call *call)
{
    struct lease_look *at;

    assert(queue != NULL);
    for (size_t i = 0; i < server->look_count; i++) {
        at = &server->looks[i];
        if (strcmp(at->queue, queue) == 0 &&
            strcmp(at->session, call->session) == 0) {
            at->expires_ms = clock_ms + call->ttl_ms;
            return;
        }
    }
    if (server->look_count == server->look_room) {
        server->look_room = 2 * server->look_room + 16;
        server->looks = lease_must(
            realloc(server->looks, server->look_room * sizeof *server->looks));
    }
    at = &server->looks[server->look_count++];
    at->queue = lease_must(strdup(queue));
    set_session(at->session, call->session);
    at->expires_ms = clock_ms + call->ttl_ms;
}

void lease_looks_end(struct lease_server *server, const char *session)
{
    size_t kept = 0;

    for (size_t i = 0; i < server->look_count; i++) {
        if (strcmp(server->looks[i].session, session) != 0)
            server->looks[kept++] = server->looks[i];
        else
            free(server->looks[i].queue);
    }
    server->look_count = kept;
}

/* ---------------------------------------------------------------- server -- */

struct lease_server *lease_server_new(const struct lease_watcher *watcher)
{
    struct lease_server *server = lease_must(calloc(1, sizeof *server));

    server->watcher = *watcher;
    return server;
}

void lease_server_show_parts(struct lease_server *server)
{
    server->partial = true;
}

static void tell_nobody(void *arg, const struct lease_notice *notice)
{
    (void)arg;
    (void)notice;
}

struct lease_server *lease_server_copy(const struct lease_server *from)
{
    static const struct lease_watcher nobody = {.notice = tell_nobody};
    struct lease_server *server = lease_server_new(&nobody);

    server->last = from->last;
    server->partial = from->partial;
    server->row_count = server->row_room = from->row_count;
    server->look_count = server->look_room = from->look_count;
    server->rows =
        lease_must(calloc(from->row_count + 1, sizeof(struct lease_row *)));
    server->looks =
        lease_must(calloc(from->look_count + 1, sizeof *server->looks));
    for (size_t i = 0; i < from->row_count; i++) {
        struct lease_row *row = lease_must(malloc(sizeof *row));

        *row = *from->rows[i];
        row->queue = lease_must(strdup(row->queue));
        row->payload = lease_must(strdup(row->payload));
        row->ticket.payload = row->payload;
        server->rows[i] = row;
    }
    for (size_t i = 0; i < from->look_count; i++) {
        server->looks[i] = from->looks[i];
        server->looks[i].queue = lease_must(strdup(from->looks[i].queue));
    }
    return server;
}

void lease_server_fall_back(struct lease_server *server,
                            const struct lease_server *to)
{
    size_t kept = 0;

    for (size_t i = 0; i < server->row_count; i++) {
        struct lease_row *row = server->rows[i];
        const struct lease_row *was =
            lease_row_find(to, row->queue, &row->ticket.id);

        if (was == NULL && row->session[0] != '\0') {
            row_went(server, row);
            row_free(row);
            continue;
        }
        if (was != NULL)
            row->expires_ms = was->expires_ms;
        server->rows[kept++] = row;
    }
    server->row_count = kept;
    server->last = to->last;
}

void lease_server_wipe(struct lease_server *server)
{
    for (size_t i = 0; i < server->row_count; i++)
        row_free(server->rows[i]);
    for (size_t i = 0; i < server->look_count; i++)
        free(server->looks[i].queue);
    server->row_count = server->look_count = 0;
    server->last = 0;
}

void lease_server_free(struct lease_server *server)
{
    lease_server_wipe(server);
    free(server->rows);
    free(server->looks);
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
