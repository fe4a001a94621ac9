/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to a server, from the lookup of its name to its end.  libpq
 * would block to look up a name, so it gets an address.  libpq encrypts by
 * itself, so the socket is libpq's, and it may be another socket after each
 * step of connecting. */
#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "engines/postgres/pg_private.h"
#include "thread/high_descriptor.h"

#define NUMBER_BYTES 24
#define OURS_MAX 12

/* ------------------------------------------------------------------- end -- */

static void on_poll_closed(uv_handle_t *handle)
{
    hf_free(handle->data);
}

static void stop_polling(struct hf_store *store)
{
    if (store->socket_poll == NULL)
        return;
    store->socket_poll->store = NULL;
    uv_close((uv_handle_t *)&store->socket_poll->poll, on_poll_closed);
    store->socket_poll = NULL;
}

/* Close the connection so that nothing more is sent.  PQfinish() sends a
 * Terminate message, and before that what is still buffered.  Neither may
 * arrive, so libpq gets an unconnected socket in place of its own, which is
 * reset. */
static void close_abruptly(PGconn *conn)
{
    static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    int fd = PQsocket(conn);
    int unconnected;

    if (fd >= 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        unconnected = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (unconnected >= 0) {
            (void)dup3(unconnected, fd, O_CLOEXEC);
            (void)close(unconnected);
        } else {
            (void)shutdown(fd, SHUT_RDWR);
        }
    }
    PQfinish(conn);
}

void hf_pg_disconnect(struct hf_store *store)
{
    (void)uv_idle_stop(&store->later);
    hf_resolver_cancel(&store->ask);
    stop_polling(store);
    PQclear(store->result);
    PQclear(store->statement_result);
    store->result = store->statement_result = NULL;
    store->unsure_why[0] = '\0';
    if (store->conn != NULL && store->state == HF_PG_UP &&
        store->first == NULL && PQflush(store->conn) == 0)
        PQfinish(store->conn);
    else if (store->conn != NULL)
        close_abruptly(store->conn);
    store->conn = NULL;
    store->first = store->last = NULL;
    store->unread_bytes = store->kept_bytes = 0;
    store->backend = 0;
    store->orphan_count = 0;
    store->state = HF_PG_NONE;
    store->number++;
}

static bool is_socket(const char *name)
{
    return name[0] == '\0' || name[0] == '/' || name[0] == '@';
}

/* Returns whether a name must be looked up to connect to ${host}. */
static bool needs_lookup(const struct hf_pg_host *host)
{
    return host->address[0] == '\0' && !is_socket(host->name);
}

/* Go to the next host for the next attempt.  A later attempt at the present
 * host uses its next address. */
static void next_host(struct hf_store *store)
{
    const struct hf_pg_host *host = &store->config.hosts[store->host_index];

    if (store->config.host_count == 0)
        return;
    if (needs_lookup(host) && store->conn != NULL)
        hf_resolver_address_failed(store->resolver, host->name);
    store->host_index = (store->host_index + 1) % store->config.host_count;
}

/* End the connection and report that.  If it was not UP, the next attempt goes
 * to the next host. */
static void report_down(struct hf_store *store, hf_status status,
                        const char *why)
{
    if (store->state != HF_PG_UP)
        next_host(store);
    hf_pg_disconnect(store);
    store->on_down(store, status, why);
}

void hf_pg_down(struct hf_store *store, hf_status status, const char *format,
                ...)
{
    char why[HF_PG_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    report_down(store, status, why);
}

static void on_later(uv_idle_t *later)
{
    struct hf_store *store = later->data;
    char why[HF_PG_TEXT_BYTES];

    assert(store->state == HF_PG_FAILED);
    memcpy(why, store->why, sizeof why);
    hf_leased_engine_enter(store->engine);
    report_down(store, store->status, why);
    hf_leased_engine_leave(store->engine);
}

/* Report the failure from the loop, because a store must not report from inside
 * a call. */
static void fail_later(struct hf_store *store, hf_status status,
                       const char *why)
{
    store->state = HF_PG_FAILED;
    store->status = status;
    if (why != store->why)
        (void)snprintf(store->why, sizeof store->why, "%s", why);
    (void)uv_idle_start(&store->later, on_later);
}

/* -------------------------------------------------------------- the loop -- */

static void on_ready(uv_poll_t *poll, int status, int events);

/* Make a poll handle for ${fd}.  Returns false if the loop takes no more
 * descriptors, or memory runs out. */
static bool start_polling(struct hf_store *store, int fd)
{
    struct hf_pg_socket_poll *socket_poll = hf_alloc(sizeof *socket_poll);

    if (socket_poll == NULL)
        return false;
    if (uv_poll_init(store->engine->loop, &socket_poll->poll, fd) != 0) {
        hf_free(socket_poll);
        return false;
    }
    socket_poll->poll.data = socket_poll;
    socket_poll->store = store;
    socket_poll->fd = fd;
    socket_poll->events = 0;
    store->socket_poll = socket_poll;
    return true;
}

/* Stop polling.  Called before libpq may close its socket and open another one
 * with the same number. */
static void pause_polling(struct hf_store *store)
{
    if (store->socket_poll == NULL)
        return;
    (void)uv_poll_stop(&store->socket_poll->poll);
    store->socket_poll->events = 0;
}

/* Poll for ${events}.  Usually nothing changes; then nothing is done, because a
 * restart costs two system calls. */
static bool poll_for(struct hf_store *store, int events)
{
    int fd = PQsocket(store->conn);

    if (store->socket_poll != NULL && store->socket_poll->fd != fd)
        stop_polling(store);
    if (store->socket_poll == NULL && !start_polling(store, fd))
        return false;
    if (store->socket_poll->events == events)
        return true;
    if (uv_poll_start(&store->socket_poll->poll, events, on_ready) != 0)
        return false;
    store->socket_poll->events = events;
    return true;
}

void hf_pg_flush_and_poll(struct hf_store *store)
{
    int left = PQflush(store->conn);

    /* a failure will show when the loop reads */
    (void)poll_for(store, UV_READABLE | (left == 1 ? UV_WRITABLE : 0));
}

/* ------------------------------------------------------------ connecting -- */

/* Let libpq do the next step of connecting, and poll for what it waits for. */
static void connect_step(struct hf_store *store)
{
    struct hf_low_descriptors reserved;
    PostgresPollingStatusType polling;
    char why[HF_PG_TEXT_BYTES];
    hf_status status;

    pause_polling(store);
    /* libpq opens its sockets here and in start() */
    hf_low_descriptors_reserve(&reserved);
    polling = PQconnectPoll(store->conn);
    hf_low_descriptors_release(&reserved);
    if (polling == PGRES_POLLING_OK) {
        (void)PQsetnonblocking(store->conn, 1);
        store->state = HF_PG_PREPARING;
        store->on_connected(store);
    } else if (polling == PGRES_POLLING_FAILED) {
        status = hf_pg_connection_error(store, why);
        report_down(store, status, why);
    } else if (!poll_for(store, polling == PGRES_POLLING_READING
                                    ? UV_READABLE
                                    : UV_WRITABLE)) {
        hf_pg_down(store, HF_ELIMIT, "the loop takes no more descriptors");
    }
}

/* How many bytes are received besides the content: for a message of the
 * protocol, for the end of an answer, and for a record of TLS. */
#define MESSAGE_BYTES 8
#define ANSWER_BYTES 32
#define RECORD_BYTES 64

static void discount(struct hf_store *store, size_t bytes)
{
    if (PQsslInUse(store->conn) != 0)
        bytes += RECORD_BYTES;
    store->kept_bytes -= bytes < store->kept_bytes ? bytes : store->kept_bytes;
}

/* Returns how many bytes the fields of an error or of a notice take. */
static size_t bytes_of_message(const PGresult *result)
{
    static const char codes[] = "SVCMDHPpqWstcdnFLR";
    size_t bytes = MESSAGE_BYTES;

    for (const char *code = codes; *code != '\0'; code++) {
        const char *text = PQresultErrorField(result, *code);

        if (text != NULL)
            bytes += strlen(text) + 2;
    }
    return bytes;
}

void hf_pg_count_result(struct hf_store *store, const PGresult *result)
{
    int rows = PQntuples(result), fields = PQnfields(result);
    size_t bytes = ANSWER_BYTES + bytes_of_message(result);

    for (int field = 0; field < fields; field++) {
        bytes += strlen(PQfname(result, field)) + 1 + 18;
        for (int row = 0; row < rows; row++)
            bytes += (size_t)PQgetlength(result, row, field) + 4;
    }
    discount(store, bytes + (size_t)rows * MESSAGE_BYTES);
}

void hf_pg_count_notification(struct hf_store *store, const PGnotify *notice)
{
    discount(store, MESSAGE_BYTES + 4 + strlen(notice->relname) + 1 +
                        strlen(notice->extra) + 1);
}

/* The socket is ready while the connection is being made.  Each answer of the
 * server restarts the timeout of the attempt, because an attempt takes several
 * answers, which are slow if the server is far away. */
static void connect_further(struct hf_store *store, int events)
{
    if ((events & UV_READABLE) != 0)
        hf_leased_making_progress(store->engine->leased,
                                  hf_leased_engine_now_ms(store->engine));
    connect_step(store);
}

/* Count the bytes that libpq is about to read, TLS overhead included.  Bytes
 * that arrive between the two calls are counted only in part.  Returns NULL if
 * the bounds are kept, else the text of the error. */
static const char *count_input(struct hf_store *store)
{
    int waiting = 0;

    if (ioctl(PQsocket(store->conn), FIONREAD, &waiting) == 0 && waiting > 0) {
        store->unread_bytes += (size_t)waiting;
        store->kept_bytes += (size_t)waiting;
    }
    if (store->unread_bytes > HF_PG_ANSWER_BYTES_MAX)
        return "protocol: the server sends an answer of more than 16 MiB; "
               "expected a shorter one; see what fills the queue";
    if (store->kept_bytes > HF_PG_KEPT_BYTES_MAX)
        return "protocol: the server goes on sending parameters that nobody "
               "asked for; expected answers; see what answers there";
    return NULL;
}

/* The socket is ready: continue with the work of the present state. */
static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct hf_pg_socket_poll *socket_poll = poll->data;
    struct hf_store *store = socket_poll->store;
    struct hf_engine *engine = store->engine;
    uint64_t number = store->number;
    const char *excess;

    /* Reading will show the failure, but the loop has stopped to poll. */
    if (status != 0)
        socket_poll->events = 0;
    hf_leased_engine_enter(engine);
    if ((excess = count_input(store)) != NULL)
        hf_pg_down(store, HF_EPROTOCOL, "%s", excess);
    else if (store->state == HF_PG_CONNECTING)
        connect_further(store, events);
    else
        store->on_input(store);
    if (store->number == number && store->state != HF_PG_CONNECTING &&
        !PQisBusy(store->conn))
        store->unread_bytes = 0;
    hf_leased_engine_leave(engine);
}

/* Keywords and values for PQconnectStartParams(). */
struct keywords {
    const char *keys[HF_PG_SETTINGS_MAX + OURS_MAX];
    const char *values[HF_PG_SETTINGS_MAX + OURS_MAX];
    size_t count;
};

static void add(struct keywords *keywords, const char *key, const char *value)
{
    if (value[0] == '\0')
        return;
    keywords->keys[keywords->count] = key;
    keywords->values[keywords->count++] = value;
}

/* Set the keywords.  libpq uses the last value of a keyword, so our defaults
 * come first, then the user's settings, then what the connection must be. */
static void set_keywords(const struct hf_store *store,
                         struct keywords *keywords, const char *seconds,
                         const char *ms)
{
    const struct hf_pg_config *config = &store->config;

    add(keywords, "fallback_application_name", "holdfast");
    add(keywords, "gssencmode", "disable"); /* it would block for a KDC */
    add(keywords, "keepalives_idle", seconds);
    add(keywords, "keepalives_interval", seconds);
    add(keywords, "keepalives_count", "3");
    add(keywords, "tcp_user_timeout", ms);
    for (size_t i = 0; i < config->setting_count; i++)
        add(keywords, config->settings[i].keyword, config->settings[i].value);
    add(keywords, "client_encoding", "UTF8");
    /* this engine checks that itself */
    add(keywords, "target_session_attrs", "any");
}

void hf_pg_set_unsure(struct hf_store *store, const PGresult *message)
{
    if (store->state == HF_PG_UP && store->first != NULL)
        hf_pg_format_error(message, store->unsure_why);
}

/* Receives the messages that the server sends unasked; otherwise libpq would
 * print them.  A FATAL message says why the server closes the connection.  A
 * WARNING may say that the server did not wait for a standby, so that it is
 * unsure whether the commit is durable. */
static void on_server_message(void *arg, const PGresult *result)
{
    struct hf_store *store = arg;
    const char *severity =
        PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);

    hf_pg_count_result(store, result);
    if (severity == NULL)
        return;
    if (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0)
        hf_pg_format_error(result, store->server_message);
    else if (strcmp(severity, "WARNING") == 0 && !hf_pg_is_harmless(result))
        hf_pg_set_unsure(store, result);
}

void hf_pg_set_message_receiver(struct hf_store *store)
{
    store->server_message[0] = '\0';
    (void)PQsetNoticeReceiver(store->conn, on_server_message, store);
    /* so that messages have their SQLSTATEs */
    (void)PQsetErrorVerbosity(store->conn, PQERRORS_VERBOSE);
}

/* Begin to connect to ${host} at ${address}.  If ${host} is NULL, libpq finds
 * the server. */
static void start(struct hf_store *store, const struct hf_pg_host *host,
                  const char *address)
{
    uint64_t ttl_ms = store->config.ttl_ms;
    struct hf_low_descriptors reserved;
    struct keywords keywords = {.count = 0};
    char seconds[NUMBER_BYTES];
    char ms[NUMBER_BYTES];
    hf_status status;

    (void)snprintf(seconds, sizeof seconds, "%" PRIu64, ttl_ms / 3000 + 1);
    (void)snprintf(ms, sizeof ms, "%" PRIu64, ttl_ms);
    set_keywords(store, &keywords, seconds, ms);
    if (host != NULL) {
        add(&keywords, "host", host->name);
        add(&keywords, "hostaddr", address);
        add(&keywords, "port", host->port);
    }
    hf_low_descriptors_reserve(&reserved);
    store->conn = PQconnectStartParams(keywords.keys, keywords.values, 0);
    hf_low_descriptors_release(&reserved);
    if (store->conn == NULL) {
        fail_later(store, HF_ENOMEM, "no memory for a connection");
        return;
    }
    hf_pg_set_message_receiver(store);
    if (PQstatus(store->conn) == CONNECTION_BAD) {
        status = hf_pg_connection_error(store, store->why);
        fail_later(store, status, store->why);
        return;
    }
    store->state = HF_PG_CONNECTING;
    if (!poll_for(store, UV_WRITABLE))
        fail_later(store, HF_ELIMIT, "the loop takes no more descriptors");
}

static void start_at(struct hf_store *store, const union hf_address *address)
{
    char text[INET6_ADDRSTRLEN];
    const void *bytes = address->any.sa_family == AF_INET
                            ? (const void *)&address->in.sin_addr
                            : (const void *)&address->in6.sin6_addr;

    (void)inet_ntop(address->any.sa_family, bytes, text, sizeof text);
    start(store, &store->config.hosts[store->host_index], text);
}

static void on_found(void *arg, const union hf_address *address,
                     const char *why)
{
    struct hf_store *store = arg;

    if (address != NULL)
        start_at(store, address);
    else
        fail_later(store, HF_EUNREACHABLE, why);
}

/* Look the host's name up. */
static void resolve(struct hf_store *store, const char *name)
{
    union hf_address address;
    char why[HF_RESOLVER_TEXT_BYTES];

    store->state = HF_PG_RESOLVING;
    store->ask.fn = on_found;
    store->ask.arg = store;
    switch (
        hf_resolver_find(store->resolver, name, &store->ask, &address, why)) {
    case HF_RESOLVER_FOUND:
        start_at(store, &address);
        break;
    case HF_RESOLVER_FAILED:
        fail_later(store, HF_EUNREACHABLE, why);
        break;
    case HF_RESOLVER_PENDING:
        break;
    }
}

void hf_pg_connect(struct hf_store *store, const char *session)
{
    const struct hf_pg_host *host = NULL;

    assert(store->state == HF_PG_NONE);
    (void)snprintf(store->session, sizeof store->session, "%s", session);
    if (store->config.host_count > 0)
        host = &store->config.hosts[store->host_index];
    if (host != NULL && needs_lookup(host))
        resolve(store, host->name);
    else
        start(store, host, host != NULL ? host->address : "");
}
