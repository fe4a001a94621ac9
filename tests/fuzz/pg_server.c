/* SPDX-License-Identifier: Apache-2.0 */
/* A fake PostgreSQL server: sockets, messages, the answers to calls, and the
 * steps in which it misbehaves. */
#include "pg_server.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "engines/postgres/schema.h"
#include "fuzz.h"
#include "pg_call.h"
#include "pg_message.h"

#define CONNECTIONS_MAX 16
#define COLUMNS 14
#define PAYLOAD 9 /* the number of this column, from 0 */
#define PASSES_MAX 64
#define BACKEND 7

#define STARTUP 196608

struct pg_connection {
    int fd; /* -1: none */
    bool started, closing;
    bool floods; /* in the middle of a row that never ends */
    struct bytes in;
    struct bytes out;
    size_t held; /* bytes at the end of .out that are not sent yet */
    char channel[64];
    struct bytes bound; /* the Bind that the next Sync answers */
};

/* How the answer to a call ends. */
enum answer_end {
    READY,            /* CommandComplete, ReadyForQuery */
    FAILED_AT_COMMIT, /* with an ErrorResponse in between */
    WARNED_AT_COMMIT, /* with a NoticeResponse in between */
    CUT_AT_COMMIT,    /* the connection ends in between */
    HELD_AT_COMMIT,   /* ReadyForQuery comes with the next bytes */
    TWICE_COMPLETE,
    ANSWER_ENDS,
};

static struct {
    struct leased_client *client;
    struct lease_fake_server leases;
    int listener;
    char socket_path[64];
    struct pg_connection connections[CONNECTIONS_MAX];
    /* How the next answers are wrong: */
    enum answer_end answer_end;
    const char *state; /* fail the next call with this SQLSTATE */
    uint8_t setup;     /* change the next answer to a query; 0: do not */
    size_t hold;     /* send this many bytes of the next answers, and no more */
    uint8_t own;     /* change the ids that a renewal returns; 0: do not */
    uint8_t columns; /* change the columns of an answer; 0: do not */
    bool flood;      /* begin a row that never ends in the next answer */
    bool muted;
} net = {.listener = -1};

/* ---------------------------------------------------------------- socket -- */

static void listen_somewhere(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t bytes;

    (void)snprintf(net.socket_path, sizeof net.socket_path,
                   "@holdfast-fuzz-%ld", (long)getpid());
    bytes =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                    (size_t)snprintf(address.sun_path, sizeof address.sun_path,
                                     "%s/.s.PGSQL.5432", net.socket_path));
    address.sun_path[0] = '\0';
    net.listener =
        socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    MUST(net.listener >= 0);
    MUST(bind(net.listener, (struct sockaddr *)&address, bytes) == 0);
    MUST(listen(net.listener, CONNECTIONS_MAX) == 0);
}

const char *pg_url(uint8_t choice)
{
    static char url[256];

    if (net.listener < 0)
        listen_somewhere();
    (void)snprintf(url, sizeof url,
                   "postgresql:?host=%s&port=5432&user=u&dbname=d&"
                   "sslmode=disable&ttl=%ds",
                   net.socket_path, 1 + choice % 2);
    return url;
}

static void disconnect(struct pg_connection *c)
{
    if (c->fd >= 0)
        (void)close(c->fd);
    bytes_free(&c->in);
    bytes_free(&c->out);
    bytes_free(&c->bound);
    *c = (struct pg_connection){.fd = -1};
}

static bool accept_one(void)
{
    int fd = accept4(net.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return false;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (net.connections[i].fd < 0) {
            net.connections[i].fd = fd;
            return true;
        }
    }
    MUST(false); /* the client has too many connections */
    return false;
}

/* False if nothing arrived, or the client has closed. */
static bool read_some(struct pg_connection *c)
{
    uint8_t bytes[65536];
    ssize_t count = recv(c->fd, bytes, sizeof bytes, 0);

    if (count > 0) {
        bytes_put(&c->in, bytes, (size_t)count);
        return true;
    }
    if (count == 0 || errno != EAGAIN)
        disconnect(c);
    return false;
}

static bool send_some(struct pg_connection *c)
{
    size_t count = c->out.count - c->held;
    ssize_t sent;

    if (net.hold > 0 && net.hold < count) {
        count = net.hold;
        net.hold = 0;
    }
    if (count == 0)
        return false;
    sent = send(c->fd, c->out.bytes, count, MSG_NOSIGNAL);
    if (sent < 0) {
        disconnect(c);
        return false;
    }
    bytes_drop(&c->out, (size_t)sent);
    c->held = 0; /* sent with the next bytes */
    if (c->closing && c->out.count == 0)
        disconnect(c);
    return true;
}

/* ----------------------------------------------------------------- setup -- */

static void put_text_row(struct bytes *to, const char *const *values,
                         size_t count)
{
    static const uint32_t types[8] = {25, 25, 25, 25, 25, 25, 25, 25};
    size_t columns = net.setup % 8 == 1 ? net.setup / 8 % 8 : count;
    size_t rows = net.setup % 8 == 2 ? net.setup / 8 % 3 : 1;
    struct bytes row = {0};

    pg_put_columns(to, types, columns, false);
    bytes_number(&row, columns, 2);
    for (size_t i = 0; i < columns; i++) {
        if (i >= count || net.setup % 8 == 3)
            pg_put_null(&row);
        else
            pg_put_value(&row, values[i], strlen(values[i]));
    }
    while (rows-- > 0)
        pg_put_message(to, 'D', &row);
    bytes_free(&row);
    pg_put_complete(to);
}

static void put_setup(struct bytes *to, const char *const *values, size_t count)
{
    static const char copies[] = {'G', 'H', 'W', 'I'};
    struct bytes body = {0};

    if (net.setup % 8 == 4) {
        pg_put_report(to, 'E', net.setup & 8 ? "42501" : "57P01");
    } else if (net.setup % 8 == 5) { /* COPY, or an empty query */
        if (net.setup / 8 % 4 < 3)
            bytes_number(&body, 0, 3);
        pg_put_body(to, copies[net.setup / 8 % 4], &body);
    } else {
        if (net.setup % 8 == 6)
            pg_put_report(to, 'N', "01000");
        put_text_row(to, values, count);
    }
    if (net.setup % 8 != 7)
        pg_put_ready(to);
    net.setup = 0;
}

static const char *text_of(int number)
{
    static char text[16];

    (void)snprintf(text, sizeof text, "%d", number);
    return text;
}

static void answer_query(struct pg_connection *c, const char *query)
{
    const char *settings[] = {"7", "f", "on", "t", ""};
    const char *exists[] = {"1", "1"};
    const char *schema[] = {text_of(HF_PG_TABLES_VERSION), hf_pg_definition,
                            "t", "t"};
    char clock[32];
    const char *clocks[] = {clock, ""};
    const char *listens = strstr(query, "LISTEN holdfast_");

    if (listens != NULL) { /* behind statements that say anything */
        (void)sscanf(listens, "LISTEN %63[a-z0-9_]", c->channel);
        (void)snprintf(clock, sizeof clock, "%" PRIu64,
                       lease_fake_clock_ms(&net.leases));
        put_setup(&c->out, clocks, 2);
    } else if (strstr(query, "pg_backend_pid") != NULL) {
        put_setup(&c->out, settings, 5);
    } else if (strstr(query, "pg_advisory_xact_lock") != NULL) {
        put_setup(&c->out, exists, 2);
    } else if (strstr(query, "FROM holdfast.version") != NULL) {
        put_setup(&c->out, schema, 4);
    } else if (strncmp(query, "COMMIT", 6) == 0) { /* and who has rights */
        put_setup(&c->out, settings + 4, 1);
    } else {
        pg_put_complete(&c->out);
        pg_put_ready(&c->out);
    }
}

/* --------------------------------------------------------------- answers -- */

static const uint32_t types[COLUMNS] = {23, 20, 23, 16, 17, 2950, 20,
                                        23, 23, 17, 20, 23, 20,   23};

static void put_head(struct bytes *to, const struct hf_store_answer *answer,
                     const struct bytes *own)
{
    struct bytes row = {0};

    bytes_number(&row, COLUMNS, 2);
    pg_put_value_number(&row, answer->ok ? 0 : 1, 4);
    pg_put_value_number(&row, answer->server_ms, 8);
    pg_put_value_number(&row, BACKEND, 4);
    pg_put_value_number(&row, answer->found, 1);
    pg_put_value(&row, own->bytes, own->count);
    for (int i = 5; i < COLUMNS - 1; i++) {
        if (i == PAYLOAD && answer->names != NULL &&
            answer->names->cursor_bytes > 0)
            pg_put_value(&row, answer->names->cursor,
                         answer->names->cursor_bytes);
        else
            pg_put_null(&row);
    }
    pg_put_value_number(&row, answer->more_ahead, 4);
    pg_put_body(to, 'D', &row);
}

static void put_ticket(struct bytes *to, const struct hf_ticket *ticket,
                       const struct hf_store_lease *lease)
{
    struct bytes row = {0};

    bytes_number(&row, COLUMNS, 2);
    for (int i = 0; i < 5; i++)
        pg_put_null(&row);
    pg_put_value(&row, ticket->id.bytes, HF_TICKET_ID_BYTES);
    pg_put_value_number(&row, ticket->sequence, 8);
    pg_put_value_number(&row, ticket->kind, 4);
    pg_put_value_number(&row, ticket->weight, 4);
    pg_put_value(&row, ticket->payload, strlen(ticket->payload));
    pg_put_value_number(&row, lease->expires_in_ms, 8);
    pg_put_value_number(&row, lease->revoked, 4);
    pg_put_value_number(&row, ticket->created_utc_ms, 8);
    pg_put_null(&row);
    pg_put_body(to, 'D', &row);
}

static void put_rows(struct bytes *to, const struct lease_answer *answer,
                     const struct bytes *own)
{
    uint32_t changed[COLUMNS];
    size_t count = COLUMNS;

    memcpy(changed, types, sizeof changed);
    if (net.columns % 4 == 1)
        changed[net.columns / 4 % COLUMNS] = 25;
    if (net.columns % 4 == 2)
        count = net.columns / 4 % COLUMNS;
    pg_put_columns(to, changed, count, net.columns % 4 != 3);
    net.columns = 0;
    put_head(to, &answer->answer, own);
    for (size_t i = 0; i < answer->answer.count; i++)
        put_ticket(to, &answer->tickets[i], &answer->leases[i]);
}

/* A renewal without this ticket: it is no longer wanted. */
static void drop_ticket(const char *session, const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < net.leases.server->row_count; i++) {
        const struct lease_row *row = net.leases.server->rows[i];
        char queue[64];

        if (strcmp(row->session, session) != 0 ||
            !hf_ticket_id_equal(&row->ticket.id, id))
            continue;
        (void)snprintf(queue, sizeof queue, "%s", row->queue);
        (void)lease_server_remove(net.leases.server, queue, id);
        return;
    }
}

/* All tickets of the session are renewed, and the answer says which they
 * are. */
static void renew(const struct hf_store_call *call, struct bytes *own)
{
    uint64_t clock_ms = lease_fake_clock_ms(&net.leases);

    for (size_t i = 0; i < call->count; i++)
        drop_ticket(call->session, &call->tickets[i]);
    for (size_t i = 0; i < net.leases.server->row_count; i++) {
        struct lease_row *row = net.leases.server->rows[i];

        if (strcmp(row->session, call->session) != 0)
            continue;
        row->expires_ms = clock_ms + call->ttl_ms;
        bytes_put(own, row->ticket.id.bytes, HF_TICKET_ID_BYTES);
    }
    if (net.own % 4 == 1 && own->count > 0)
        bytes_drop(own, net.own / 4u % (own->count + 1));
    if (net.own % 4 == 2)
        bytes_put(own, "0123456789abcdef", net.own / 4u % 17);
    net.own = 0;
}

static void put_end(struct pg_connection *c)
{
    if (net.answer_end == TWICE_COMPLETE)
        pg_put_complete(&c->out);
    pg_put_complete(&c->out);
    if (net.answer_end == FAILED_AT_COMMIT)
        pg_put_report(&c->out, 'E', "23503");
    if (net.answer_end == WARNED_AT_COMMIT)
        pg_put_report(&c->out, 'N', "01000");
    c->closing = net.answer_end == CUT_AT_COMMIT;
    if (c->closing)
        return;
    c->held = c->out.count;
    pg_put_ready(&c->out);
    c->held = net.answer_end == HELD_AT_COMMIT ? c->out.count - c->held : 0;
    net.answer_end = READY;
}

/* The first bytes of a long row; libpq reads a row only when it is complete. */
static void begin_flood(struct pg_connection *c)
{
    static const uint32_t column = 23;

    pg_put_columns(&c->out, &column, 1, true);
    bytes_put(&c->out, "D", 1);
    bytes_number(&c->out, 0x7000000, 4);
    c->floods = true;
    net.flood = false;
}

/* A Sync: the bound call is executed and committed. */
static void answer_call(struct pg_connection *c)
{
    struct bytes nothing = {0}, own = {0};
    struct lease_answer answer;
    struct hf_store_call call;
    struct pg_bound bound;

    if (c->bound.count == 0) {
        pg_put_ready(&c->out);
        return;
    }
    pg_bound_read(&bound, &c->bound);
    bytes_free(&c->bound);
    call = pg_bound_call(&bound);
    if (net.state != NULL) {
        pg_put_report(&c->out, 'E', net.state);
        pg_put_ready(&c->out);
        net.state = NULL;
        return;
    }
    if (call.kind == HF_STORE_RENEW)
        renew(&call, &own);
    lease_fake_answer(&net.leases, &call, &answer);
    pg_put_message(&c->out, '2', &nothing);
    if (net.flood)
        begin_flood(c);
    put_rows(&c->out, &answer, &own);
    put_end(c);
    lease_answer_free(&answer);
    bytes_free(&own);
}

/* -------------------------------------------------------------- messages -- */

static void start(struct pg_connection *c)
{
    static const char *const parameters[][2] = {
        {"server_version", "16.1"},
        {"server_encoding", "UTF8"},
        {"client_encoding", "UTF8"},
        {"standard_conforming_strings", "on"}};
    struct bytes body = {0};

    c->started = true;
    bytes_number(&body, 0, 4); /* AuthenticationOk */
    pg_put_body(&c->out, 'R', &body);
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
        pg_put_string(&body, parameters[i][0]);
        pg_put_string(&body, parameters[i][1]);
        pg_put_body(&c->out, 'S', &body);
    }
    bytes_number(&body, BACKEND, 4);
    bytes_number(&body, 0, 4);
    pg_put_body(&c->out, 'K', &body);
    pg_put_ready(&c->out);
}

/* False if the message is not complete yet. */
static bool take_message(struct pg_connection *c, char *type,
                         struct bytes *body)
{
    size_t head = c->started ? 5 : 4;
    const uint8_t *at = c->in.bytes + head - 4;
    size_t bytes;

    if (c->in.count < head)
        return false;
    *type = (char)c->in.bytes[0];
    bytes = pg_take_number(&at, 4) + head - 4;
    if (c->in.count < bytes)
        return false;
    body->count = 0;
    bytes_put(body, c->in.bytes + head, bytes - head);
    bytes_drop(&c->in, bytes);
    return true;
}

static void answer_message(struct pg_connection *c, char type,
                           const struct bytes *body)
{
    if (!c->started) {
        start(c);
    } else if (type == 'Q') {
        answer_query(c, (const char *)body->bytes);
    } else if (type == 'B') {
        c->bound.count = 0;
        bytes_put(&c->bound, body->bytes, body->count);
    } else if (type == 'S') {
        answer_call(c);
    }
}

static bool serve_one(struct pg_connection *c)
{
    static const uint8_t zeros[1 << 17];
    struct bytes body = {0};
    bool happened = false;
    char type;

    while (c->fd >= 0 && read_some(c))
        happened = true;
    while (c->fd >= 0 && take_message(c, &type, &body))
        answer_message(c, type, &body);
    if (c->fd >= 0 && c->floods && c->out.count == 0)
        bytes_put(&c->out, zeros, sizeof zeros);
    bytes_free(&body);
    return (c->fd >= 0 && send_some(c)) || happened;
}

static bool serve_all(struct leased_client *client)
{
    bool happened = accept_one();

    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        if (net.connections[i].fd >= 0 && serve_one(&net.connections[i]))
            happened = true;
    client_run_loop(client);
    return happened;
}

void pg_serve(struct leased_client *client)
{
    client_run_loop(client);
    for (int i = 0; i < PASSES_MAX && !net.muted && serve_all(client); i++)
        continue;
}

/* --------------------------------------------------------------- notices -- */

static void on_notice(struct lease_fake_server *leases,
                      const struct lease_notice *notice)
{
    static const struct hf_ticket_id none;
    const struct hf_store_notice *n = &notice->notice;
    char id[HF_TICKET_ID_TEXT_BYTES], first[HF_TICKET_ID_TEXT_BYTES];
    char name[256] = "", text[512];

    (void)leases;
    for (size_t i = 0; n->queue[i] != '\0'; i++)
        (void)snprintf(name + 2 * i, 3, "%02x", (unsigned char)n->queue[i]);
    hf_ticket_id_format(&n->ticket, id);
    hf_ticket_id_format(&n->first, first);
    if (n->kind == HF_STORE_CHANGED)
        (void)snprintf(text, sizeof text, "changed %s", name);
    else if (!hf_ticket_id_equal(&n->first, &none))
        (void)snprintf(text, sizeof text, "first %s %s %s", first, id, name);
    else if (n->kind == HF_STORE_GONE)
        (void)snprintf(text, sizeof text, "gone %s %d %s", id,
                       (int)n->ticket_kind, name);
    else
        (void)snprintf(text, sizeof text, "revoked %s %" PRIu32 " %s", id,
                       n->revoked, name);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        struct pg_connection *c = &net.connections[i];
        struct bytes body = {0};

        if (c->fd < 0 || c->channel[0] == '\0')
            continue;
        bytes_number(&body, BACKEND, 4);
        pg_put_string(&body, c->channel);
        pg_put_string(&body, text);
        pg_put_body(&c->out, 'A', &body);
    }
}

/* ----------------------------------------------------------------- steps -- */

static struct pg_connection *connection_at(uint8_t which)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        struct pg_connection *c =
            &net.connections[(which + i) % CONNECTIONS_MAX];

        if (c->fd >= 0)
            return c;
    }
    return NULL;
}

static void send_raw(struct leased_client *client, struct pg_connection *c)
{
    size_t count = client_next(client);
    const uint8_t *bytes = client_some(client, &count);

    bytes_put(&c->out, bytes, count);
}

static void send_unasked(struct pg_connection *c, uint8_t how)
{
    struct bytes body = {0};

    if (how % 4 == 0)
        pg_put_ready(&c->out);
    else if (how % 4 == 1)
        pg_put_complete(&c->out);
    else if (how % 4 == 2)
        pg_put_report(&c->out, how & 4 ? 'E' : 'N',
                      how & 8 ? "57P01" : "01000");
    else
        pg_put_body(&c->out, how & 4 ? '2' : '1', &body);
}

void pg_step(struct leased_client *client)
{
    static const char *const states[] = {"40001", "57014", "53100", "42501",
                                         "42P01", "57P01", "XX000", "25006",
                                         "",      "00000", "08006", "0A000"};
    uint8_t what = client_next(client) % 14, how = client_next(client);
    struct pg_connection *c = connection_at(how);

    if (what < 4)
        lease_fake_lie(&net.leases);
    else if (what < 6)
        lease_fake_disturb(&net.leases);
    else if (what == 6)
        net.answer_end = how % ANSWER_ENDS;
    else if (what == 7)
        net.state = states[how % (sizeof states / sizeof states[0])];
    else if (what == 8)
        net.setup = how;
    else if (what == 9)
        net.hold = how;
    else if (what == 10)
        net.own = how;
    else if (what == 11 && how == 255)
        net.flood = true;
    else if (what == 11 && how >= 128)
        net.muted = how & 1;
    else if (what == 11)
        net.columns = how;
    else if (c != NULL && what == 12 && how >= 128)
        send_raw(client, c);
    else if (c != NULL && what == 12)
        send_unasked(c, how);
    else if (c != NULL)
        disconnect(c);
}

/* --------------------------------------------------------- begin and end -- */

void pg_begin(struct leased_client *client)
{
    int listener = net.listener;
    char socket_path[sizeof net.socket_path];

    memcpy(socket_path, net.socket_path, sizeof socket_path);
    memset(&net, 0, sizeof net);
    net.listener = listener;
    memcpy(net.socket_path, socket_path, sizeof socket_path);
    net.client = client;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        net.connections[i].fd = -1;
    lease_fake_begin(&net.leases, client, 0);
    lease_server_set_partial(net.leases.server);
    lease_server_set_names_first(net.leases.server);
    net.leases.notice = on_notice;
}

void pg_end(struct leased_client *client)
{
    int fd;

    (void)client;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        disconnect(&net.connections[i]);
    while ((fd = accept(net.listener, NULL, NULL)) >= 0)
        (void)close(fd);
    lease_fake_end(&net.leases);
}
