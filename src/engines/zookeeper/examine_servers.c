/* SPDX-License-Identifier: Apache-2.0 */
/* See examine_servers.h.  After HF_EXAMINE_SERVER_MS a timer ends the
 * connections, and the wait for a session. */
#include "engines/zookeeper/examine_servers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/finding_list.h"
#include "engines/zookeeper/zk_examine.h"
#include "zookeeper/jute.h"
#include "zookeeper/protocol.h"

/* The timeouts that are asked for. */
#define LEAST_MS 1
#define GREATEST_MS 3600000

/* Room for the answer to srvr, or for a ConnectResponse. */
#define ANSWER_BYTES 2048

enum question {
    ASK_SRVR,
    ASK_LEAST,
    ASK_GREATEST,
    QUESTIONS,
};

struct server_examination;

/* One connection. */
struct ask {
    struct server_examination *examination;
    enum question question;
    struct hf_connection *connection; /* NULL: ended, or not begun */
    bool ended;
    char answer[ANSWER_BYTES + 1]; /* for ASK_SRVR a text with a NUL, otherwise
                                      bytes */
    size_t used;
    uint64_t granted_ms;                /* 0: no session was granted */
    char why[HF_CONNECTION_TEXT_BYTES]; /* why it failed */
};

struct server_examination {
    struct hf_engine *engine;
    struct hf_request *request;
    struct server_examination *next; /* of the engine */
    struct hf_finding_list list;
    uv_timer_t timer;
    size_t pending; /* connections that have not ended, and 1 more while they
                       are being opened */
    struct hf_zk_engine_examination *session; /* what asks through the session;
                                                 NULL: not begun, or done */
    size_t server_count;
    struct ask asks[]; /* QUESTIONS entries for each server */
};

static const struct hf_zk_session_config *
config_of(const struct server_examination *examination)
{
    return &hf_zk_engine_url(examination->engine->zk)->session;
}

/* --------------------------------------------------------------- the end -- */

static void on_timer_closed(uv_handle_t *handle)
{
    struct server_examination *examination = handle->data;

    hf_finding_list_free(&examination->list);
    hf_free(examination);
}

/* Answer the request with ${event}, and free the examination. */
static void answer(struct server_examination *examination,
                   struct hf_event *event)
{
    struct hf_engine *engine = examination->engine;
    struct server_examination **link = &engine->examinations;

    while (*link != examination)
        link = &(*link)->next;
    *link = examination->next;
    event->as.answer.request = examination->request;
    engine->host.event(engine->host.host, event);
    (void)uv_timer_stop(&examination->timer);
    uv_close((uv_handle_t *)&examination->timer, on_timer_closed);
}

/* The examination through the session is done: answer the request. */
static void on_session_examined(void *arg)
{
    struct server_examination *examination = arg;
    struct hf_event event = {.kind = HF_EVENT_EXAMINED};

    examination->session = NULL;
    event.as.answer.findings = &examination->list;
    event.as.answer.text = "";
    answer(examination, &event);
}

static void fail(struct server_examination *examination,
                 enum hf_failure failure, hf_status status, const char *text)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};

    event.as.answer.failure = failure;
    event.as.answer.status = status;
    event.as.answer.text = text;
    answer(examination, &event);
}

/* -------------------------------------------------------------- findings -- */

/* Copy to ${value} what follows ${key} in ${answer}, up to one of the
 * characters of ${end}.  False if it is not there. */
static bool find_value(const char *answer, const char *key, const char *end,
                       char value[64])
{
    const char *at = strstr(answer, key);
    size_t bytes;

    value[0] = '\0';
    if (at == NULL)
        return false;
    at += strlen(key);
    bytes = strcspn(at, end);
    (void)snprintf(value, 64, "%.*s", (int)(bytes < 63 ? bytes : 63), at);
    return true;
}

/* Add what srvr has answered: the version and the mode of the server
 * ${name}. */
static void add_srvr(struct server_examination *examination, const char *name,
                     const struct ask *ask)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "zookeeper-server", name,
                                   NULL};
    char version[64], mode[64];

    if (!find_value(ask->answer, "Zookeeper version: ", "-, \n", version) ||
        !find_value(ask->answer, "Mode: ", "\n", mode)) {
        head.severity = HF_SEVERITY_UNKNOWN;
        head.advice =
            "if it is to be seen: let the command \"srvr\" through to "
            "the server";
        hf_finding_add(&examination->list, &head,
                       "its version and mode cannot be seen, because it does "
                       "not answer \"srvr\"");
        return;
    }
    if (strcmp(mode, "standalone") == 0) {
        bool several = examination->server_count > 1;

        head.severity = several ? HF_SEVERITY_ERROR : HF_SEVERITY_NOTICE;
        head.advice =
            several ? "have all servers of the URL be one ensemble: locks "
                      "of this one exclude nobody at the others"
                    : "have an ensemble of three, if locks have to be "
                      "taken also while a machine is down";
    }
    hf_finding_add(&examination->list, &head, "version %s, %s", version, mode);
}

/* Add the timeouts that the server ${name} grants. */
static void add_timeouts(struct server_examination *examination,
                         const char *name, uint64_t least_ms,
                         uint64_t greatest_ms)
{
    uint64_t asked_ms = config_of(examination)->timeout_ms;
    struct hf_finding_head head = {HF_SEVERITY_OK, "zookeeper-timeout", name,
                                   NULL};

    if (asked_ms < least_ms || asked_ms > greatest_ms) {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "ask for one that is granted (timeout=), or change "
                      "minSessionTimeout and maxSessionTimeout of the servers";
    }
    hf_finding_add(&examination->list, &head,
                   "it grants session timeouts from %" PRIu64 " to %" PRIu64
                   " ms; the URL asks for %" PRIu64 " ms",
                   least_ms, greatest_ms, asked_ms);
}

/* Add that no session can be had from the server ${name}. */
static void add_dead(struct server_examination *examination, const char *name,
                     const struct ask *asks)
{
    const struct ask *ask = &asks[ASK_LEAST];
    struct hf_finding_head head = {
        HF_SEVERITY_WARNING, "zookeeper-session", name,
        "see that it runs, or take it out of the URL"};

    if (asks[ASK_SRVR].used > 0) {
        head.advice = "see its log: it may have no quorum";
        hf_finding_add(
            &examination->list, &head, "it answers, and grants no session: %s",
            strstr(asks[ASK_SRVR].answer, "not currently serving") != NULL
                ? "it is not currently serving requests"
                : ask->why);
        return;
    }
    hf_finding_add(&examination->list, &head, "no session can be had: %s",
                   ask->why);
}

/* Warn if a server grants other timeouts than the first one that grants any. */
static void add_different(struct server_examination *examination)
{
    struct hf_finding_head head = {
        HF_SEVERITY_WARNING, "zookeeper-timeout", "",
        "give all servers one tickTime, minSessionTimeout and "
        "maxSessionTimeout"};
    const struct ask *first = NULL;

    for (size_t i = 0; i < examination->server_count; i++) {
        const struct ask *asks = &examination->asks[i * QUESTIONS];

        if (asks[ASK_LEAST].granted_ms == 0 ||
            asks[ASK_GREATEST].granted_ms == 0)
            continue;
        if (first == NULL)
            first = asks;
        if (asks[ASK_LEAST].granted_ms == first[ASK_LEAST].granted_ms &&
            asks[ASK_GREATEST].granted_ms == first[ASK_GREATEST].granted_ms)
            continue;
        hf_finding_add(&examination->list, &head,
                       "the servers grant different session timeouts: a client "
                       "that moves gets another one");
        return;
    }
}

/* Has no server before number ${index} the same host? */
static bool is_new_host(const struct hf_zk_session_config *config, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(config->servers[i].host, config->servers[index].host) == 0)
            return false;
    }
    return true;
}

static void add_server(struct server_examination *examination, size_t index)
{
    const struct hf_zk_server *server = &config_of(examination)->servers[index];
    const struct ask *asks = &examination->asks[index * QUESTIONS];
    char name[HF_ZK_HOST_BYTES + 16];

    (void)snprintf(name, sizeof name, "%s:%u", server->host,
                   (unsigned)server->port);
    if (is_new_host(config_of(examination), index))
        hf_finding_add_transport(&examination->list, server->host,
                                 config_of(examination)->tls, "zks:");
    if (asks[ASK_LEAST].granted_ms == 0) {
        add_dead(examination, name, asks);
        return;
    }
    add_srvr(examination, name, &asks[ASK_SRVR]);
    if (asks[ASK_GREATEST].granted_ms != 0)
        add_timeouts(examination, name, asks[ASK_LEAST].granted_ms,
                     asks[ASK_GREATEST].granted_ms);
}

/* If no server grants a session, add a finding that says so and return true; it
 * is then useless to wait for a session. */
static bool add_all_dead(struct server_examination *examination)
{
    struct hf_finding_head head = {HF_SEVERITY_ERROR, "zookeeper-session", "",
                                   "start the servers, and see that more than "
                                   "half of them reach each other"};

    for (size_t i = 0; i < examination->server_count; i++) {
        if (examination->asks[i * QUESTIONS + ASK_LEAST].granted_ms != 0)
            return false;
    }
    hf_finding_add(&examination->list, &head,
                   "no server of the URL grants a session");
    return true;
}

/* Every connection has ended: go on by asking through the session. */
static void servers_examined(struct server_examination *examination)
{
    struct hf_zk_engine *zk = examination->engine->zk;
    bool all_dead;

    for (size_t i = 0; i < examination->server_count; i++)
        add_server(examination, i);
    add_different(examination);
    all_dead = add_all_dead(examination);
    examination->session = hf_zk_engine_examine(
        zk, &examination->list, on_session_examined, examination);
    if (examination->session == NULL) {
        fail(examination, HF_FAILURE_FATAL, HF_ENOMEM, "out of memory");
        return;
    }
    hf_zk_session_set_now(
        hf_zk_engine_session(zk),
        examination->engine->host.now_ms(examination->engine->host.host));
    hf_zk_engine_examinations_begin(zk);
    hf_zk_io_run_soon(&examination->engine->io);
    if (all_dead && examination->session != NULL)
        hf_zk_engine_examination_give_up(examination->session);
}

/* --------------------------------------------------------- a connection -- */

/* End the connection of ${ask}.  ${why} says why there is no answer; NULL:
 * there is one.  When the last connection has ended, servers_examined() goes
 * on. */
static void end_ask(struct ask *ask, enum hf_connection_close_mode mode,
                    const char *why)
{
    struct server_examination *examination = ask->examination;

    if (ask->ended)
        return;
    ask->ended = true;
    if (why != NULL)
        (void)snprintf(ask->why, sizeof ask->why, "%s", why);
    if (ask->connection != NULL)
        hf_connection_close(ask->connection, mode);
    ask->connection = NULL;
    if (--examination->pending == 0)
        servers_examined(examination);
}

/* Send all of ${out}, for which a new connection has room, and free it.  False:
 * that failed, and ${ask} has ended. */
static bool send_all(struct ask *ask, struct hf_jute_writer *out)
{
    size_t taken = 0;
    bool sent = !out->failed && hf_connection_send(ask->connection, out->bytes,
                                                   out->used, &taken);

    sent = sent && taken == out->used;
    hf_jute_free(out);
    if (!sent)
        end_ask(ask, HF_CONNECTION_ABORT, "nothing can be sent");
    return sent;
}

static void on_up(void *arg)
{
    static const uint8_t no_password[HF_ZK_PASSWORD_BYTES];
    struct hf_jute_writer out = {0};
    struct ask *ask = arg;
    const struct hf_zk_connect_request request = {
        .timeout_ms = ask->question == ASK_LEAST ? LEAST_MS : GREATEST_MS,
        .password = no_password};

    if (ask->question == ASK_SRVR)
        hf_jute_put_bytes(&out, "srvr", 4);
    else
        hf_zk_put_connect_request(&out, &request);
    (void)send_all(ask, &out);
}

/* If the ConnectResponse has arrived completely, store the timeout that it
 * grants and close the session. */
static void take_session(struct ask *ask)
{
    struct hf_jute_reader frame = {(const uint8_t *)ask->answer, ask->used,
                                   false};
    struct hf_jute_writer out = {0};
    int32_t length = hf_jute_get_int(&frame), timeout_ms;
    int64_t id;

    if (frame.failed || length < 16 || (size_t)length > frame.left) {
        if (!frame.failed && (length < 16 || length > ANSWER_BYTES - 4))
            end_ask(ask, HF_CONNECTION_ABORT, "what answers is no ZooKeeper");
        return;
    }
    (void)hf_jute_get_int(&frame);
    timeout_ms = hf_jute_get_int(&frame);
    id = hf_jute_get_long(&frame);
    if (timeout_ms <= 0 || id == 0) {
        end_ask(ask, HF_CONNECTION_ABORT, "it refuses a session");
        return;
    }
    ask->granted_ms = (uint64_t)timeout_ms;
    hf_zk_put_close_request(&out);
    if (send_all(ask, &out))
        end_ask(ask, HF_CONNECTION_FINISH, NULL);
}

static void on_received(void *arg, const void *bytes, size_t count)
{
    struct ask *ask = arg;
    size_t room = ANSWER_BYTES - ask->used;
    size_t taken = count < room ? count : room;

    memcpy(ask->answer + ask->used, bytes, taken);
    ask->used += taken;
    if (ask->question != ASK_SRVR)
        take_session(ask);
}

static void on_down(void *arg, hf_status status, const char *why)
{
    struct ask *ask = arg;
    bool closed = hf_connection_closed_by_peer(ask->connection);

    (void)status;
    end_ask(ask, HF_CONNECTION_ABORT,
            closed ? "it closes the connection, as a server without a quorum "
                     "does"
                   : why);
}

/* Nothing is left to send, because all of it fits into a new connection. */
static void on_writable(void *arg)
{
    (void)arg;
}

static void begin_ask(struct ask *ask, const struct hf_zk_server *server)
{
    struct hf_engine *engine = ask->examination->engine;
    const struct hf_connection_config config = {
        .loop = engine->io.loop,
        .resolver = engine->io.resolver,
        .host = server->host,
        .port = server->port,
        .tls = engine->io.tls,
        .context = engine->io.context,
    };
    const struct hf_connection_callbacks callbacks = {
        .up = on_up,
        .received = on_received,
        .writable = on_writable,
        .down = on_down,
        .arg = ask,
    };
    char why[HF_CONNECTION_TEXT_BYTES];
    hf_status status;

    ask->examination->pending++;
    ask->connection = hf_connection_open(&config, &callbacks, &status, why);
    if (ask->connection == NULL)
        end_ask(ask, HF_CONNECTION_ABORT, why);
}

/* --------------------------------------------------------- the beginning -- */

/* The time is over: end the connections, and the wait for a session.  This may
 * answer the request; the memory stays until the timer is closed. */
static void on_timer(uv_timer_t *timer)
{
    struct server_examination *examination = timer->data;
    size_t count = examination->server_count * QUESTIONS;

    for (size_t i = 0; i < count; i++)
        end_ask(&examination->asks[i], HF_CONNECTION_ABORT,
                "no answer within 3 s");
    if (examination->session != NULL)
        hf_zk_engine_examination_give_up(examination->session);
}

/* A new examination, with its timer; NULL if that fails. */
static struct server_examination *make(struct hf_engine *engine,
                                       struct hf_request *request)
{
    size_t servers = hf_zk_engine_url(engine->zk)->session.server_count;
    struct server_examination *examination = hf_alloc(
        sizeof *examination + servers * QUESTIONS * sizeof(struct ask));

    if (examination == NULL)
        return NULL;
    if (uv_timer_init(engine->io.loop, &examination->timer) != 0) {
        hf_free(examination);
        return NULL;
    }
    examination->timer.data = examination;
    examination->engine = engine;
    examination->request = request;
    examination->server_count = servers;
    examination->next = engine->examinations;
    engine->examinations = examination;
    return examination;
}

void hf_zk_engine_examine_servers(struct hf_engine *engine,
                                  struct hf_request *request)
{
    static const char text[] = "no memory to examine the servers";
    struct server_examination *examination = make(engine, request);
    struct hf_event failed = {.kind = HF_EVENT_FAILED};

    if (examination == NULL) {
        failed.as.answer.request = request;
        failed.as.answer.failure = HF_FAILURE_FATAL;
        failed.as.answer.status = HF_ENOMEM;
        failed.as.answer.text = text;
        engine->host.event(engine->host.host, &failed);
        return;
    }
    uv_update_time(engine->io.loop);
    (void)uv_timer_start(&examination->timer, on_timer, HF_EXAMINE_SERVER_MS,
                         0);
    examination->pending = 1; /* so that the examination does not end while
                                 connections are being opened */
    for (size_t i = 0; i < examination->server_count * QUESTIONS; i++) {
        struct ask *ask = &examination->asks[i];

        ask->examination = examination;
        ask->question = (enum question)(i % QUESTIONS);
        begin_ask(ask, &config_of(examination)->servers[i / QUESTIONS]);
    }
    if (--examination->pending == 0)
        servers_examined(examination);
}

/* An examination that has calls of the session in flight is answered when these
 * calls are answered. */
void hf_zk_engine_end_server_examinations(struct hf_engine *engine)
{
    struct server_examination *examination = engine->examinations, *next;

    for (; examination != NULL; examination = next) {
        size_t count = examination->server_count * QUESTIONS;

        next = examination->next;
        if (examination->session != NULL) {
            hf_zk_engine_examination_give_up(examination->session);
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            struct ask *ask = &examination->asks[i];

            if (ask->connection != NULL)
                hf_connection_close(ask->connection, HF_CONNECTION_ABORT);
            ask->connection = NULL;
            ask->ended = true;
        }
        fail(examination, HF_FAILURE_RETRY, HF_ECLOSED,
             "the session has been ended");
    }
}

void hf_zk_engine_server_examinations_after_fork(const struct hf_engine *engine)
{
    const struct server_examination *examination = engine->examinations;

    for (; examination != NULL; examination = examination->next) {
        for (size_t i = 0; i < examination->server_count * QUESTIONS; i++) {
            if (examination->asks[i].connection != NULL)
                hf_connection_after_fork(examination->asks[i].connection);
        }
    }
}
