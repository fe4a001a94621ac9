/* SPDX-License-Identifier: Apache-2.0 */
/* A session of etcd/session.h on a real server, driven by etcd_io/etcd_io.h:
 * its lease, calls, watches, large messages, TLS, and what is said of a port
 * that is another one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uv.h>

#include "base/url.h"
#include "client/engines.h"
#include "cmocka/runner.h"
#include "etcd_io/etcd_io.h"
#include "etcd_io/etcd_prepare.h"

/* A test waits at most so many turns of 20 ms for anything. */
#define TICK_MS 20
#define TICKS_MAX 1500

/* --------------------------------------------------------------- fixture -- */

/* A client, and what its session has notified it of. */
struct client {
    struct hf_engine_host host;
    struct hf_etcd_url_config config;
    struct hf_etcd_session session;
    struct hf_etcd_io io;
    char *description;
    struct hf_etcd_connected connected;
    unsigned connections;
    unsigned epochs;
    uint64_t proven_ms;
    char error[512]; /* of the last connection error */
    hf_status error_status;
    bool closed;   /* the session */
    bool released; /* the handles */
};

static uv_loop_t loop;
static uv_timer_t tick;
static unsigned ticks;

static uint64_t now_ms(void *nobody)
{
    struct timespec now;

    (void)nobody;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uv_loop_t *get_loop(void *nobody)
{
    (void)nobody;
    return &loop;
}

static hf_status get_tls(void *nobody, const struct hf_tls_ops **tls,
                         struct hf_error *error)
{
    (void)nobody;
    return hf_engines_tls(tls, error);
}

__attribute__((format(printf, 3, 4))) static void
log_line(void *nobody, enum hf_log_level level, const char *format, ...)
{
    (void)nobody;
    (void)level;
    (void)format;
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    ticks++;
}

/* Run the loop until ${done} is true of ${arg}. */
static void run_until(bool (*done)(void *arg), void *arg)
{
    ticks = 0;
    assert_int_equal(uv_timer_start(&tick, on_tick, TICK_MS, TICK_MS), 0);
    while (!done(arg) && ticks < TICKS_MAX)
        (void)uv_run(&loop, UV_RUN_ONCE);
    (void)uv_timer_stop(&tick);
    assert_true(done(arg));
}

static void on_connected(void *user, const struct hf_etcd_connected *connected)
{
    struct client *client = user;

    client->connected = *connected;
    client->connections++;
}

static void on_error(void *user, const struct hf_etcd_connection_error *error)
{
    struct client *client = user;

    client->error_status = error->status;
    (void)snprintf(client->error, sizeof client->error, "%s", error->text);
}

static void on_proven(void *user, uint64_t anchor_ms)
{
    struct client *client = user;

    assert_true(anchor_ms >= client->proven_ms);
    client->proven_ms = anchor_ms;
}

static void on_epoch(void *user)
{
    ((struct client *)user)->epochs++;
}

static void on_closed(void *user)
{
    ((struct client *)user)->closed = true;
}

static void on_released(void *user)
{
    ((struct client *)user)->released = true;
}

/* Begin a session of ${url}. */
static struct client *client_begin(const char *url)
{
    struct client *client = calloc(1, sizeof *client);
    const struct hf_etcd_listener listener = {
        .user = client,
        .connected = on_connected,
        .connection_error = on_error,
        .proven = on_proven,
        .epoch_moved = on_epoch,
        .closed = on_closed,
    };
    const struct hf_etcd_io_user user = {NULL, on_released, client};
    struct hf_error error = {HF_OK, ""};
    struct hf_url parsed;

    assert_non_null(client);
    client->host = (struct hf_engine_host){
        .now_ms = now_ms, .loop = get_loop, .tls = get_tls, .log = log_line};
    hf_etcd_io_init(&client->io, &client->host, &user);
    if (hf_url_parse(url, &parsed, &error) != HF_OK ||
        hf_etcd_url_parse(&client->config, &parsed, &error) != HF_OK ||
        hf_etcd_prepare(&client->config, &parsed, &client->host,
                        &client->description, &error) != HF_OK ||
        hf_etcd_io_open(&client->io, &client->config, &error) != HF_OK)
        fail_msg("%s", error.text);
    hf_url_free(&parsed);
    hf_etcd_session_begin(&client->session, &client->config.session, &listener,
                          &(struct hf_etcd_log){NULL, log_line}, now_ms(NULL));
    hf_etcd_io_start(&client->io, &client->session);
    return client;
}

static bool is_ready(void *arg)
{
    struct client *client = arg;

    return client->connections > 0 && client->epochs > 0;
}

static bool has_failed(void *arg)
{
    return ((struct client *)arg)->error[0] != '\0';
}

static bool is_closed(void *arg)
{
    return ((struct client *)arg)->closed;
}

static bool is_released(void *arg)
{
    return ((struct client *)arg)->released;
}

static struct client *client_open(const char *url)
{
    struct client *client = client_begin(url);

    run_until(is_ready, client);
    assert_int_equal(client->connected.timeout_ms, 5000);
    assert_false(client->connected.resumed);
    return client;
}

static void client_close(struct client *client)
{
    client->io.ending = true;
    hf_etcd_session_set_now(&client->session, now_ms(NULL));
    hf_etcd_session_close(&client->session);
    hf_etcd_io_run_soon(&client->io);
    run_until(is_closed, client);
    hf_etcd_session_free(&client->session);
    hf_etcd_io_close(&client->io);
    run_until(is_released, client);
    free(client->description);
    free(client);
}

/* The URL of the server that the environment names, with ${options}. */
static const char *url_of(const char *scheme, const char *variable,
                          const char *options)
{
    static char url[512];
    const char *address = getenv(variable);

    assert_non_null(address);
    (void)snprintf(url, sizeof url, "%s://%s/session?ttl=5s%s", scheme, address,
                   options);
    return url;
}

/* ----------------------------------------------------------------- calls -- */

/* A call, and its end. */
struct request {
    struct hf_etcd_call call;
    bool ended;
    enum hf_etcd_end end;
    struct hf_etcd_txn_answer answer;
    struct hf_etcd_time_to_live_answer time_to_live;
    size_t value_bytes; /* of the first key that a range has found */
    size_t keys;
    uint64_t proves_ms;
};

static void on_txn_ended(struct hf_etcd_call *call,
                         const struct hf_etcd_result *result)
{
    struct request *request = call->user;
    struct hf_etcd_response response;
    struct hf_etcd_key_value kv;

    request->ended = true;
    request->end = result->end;
    request->proves_ms = result->proves_ms;
    if (result->end != HF_ETCD_DONE)
        return;
    assert_true(hf_etcd_read_txn(result->answer, &request->answer));
    while (hf_etcd_next_response(&request->answer.responses, &response)) {
        if (response.kind != HF_ETCD_RANGE_RESPONSE)
            continue;
        while (hf_etcd_next_kv(&response.range.kvs, &kv)) {
            if (request->keys++ == 0)
                request->value_bytes = kv.value.count;
        }
    }
}

static void on_time_to_live(struct hf_etcd_call *call,
                            const struct hf_etcd_result *result)
{
    struct request *request = call->user;

    request->ended = true;
    request->end = result->end;
    assert_int_equal(result->end, HF_ETCD_DONE);
    assert_true(
        hf_etcd_read_time_to_live(result->answer, &request->time_to_live));
}

static bool has_ended(void *arg)
{
    return ((struct request *)arg)->ended;
}

/* Put ${key} with ${value} and read what is below "session/". */
static void start_put(struct client *client, struct request *request,
                      const char *key, struct hf_etcd_bytes value)
{
    struct hf_etcd_buffer txn = {0};

    hf_etcd_txn_put(&txn, HF_ETCD_SUCCESS,
                    &(struct hf_etcd_put){.key = hf_etcd_bytes_of(key),
                                          .value = value,
                                          .lease = client->session.lease});
    hf_etcd_txn_range(
        &txn, HF_ETCD_SUCCESS,
        &(struct hf_etcd_range){.key = hf_etcd_bytes_of("session/k"),
                                .range_end = hf_etcd_bytes_of("session/l"),
                                .order = HF_ETCD_DESCENDING,
                                .target = HF_ETCD_BY_CREATE_REVISION,
                                .limit = 4});
    request->call.ended = on_txn_ended;
    request->call.user = request;
    hf_etcd_session_set_now(&client->session, now_ms(NULL));
    assert_true(hf_etcd_call_start(&client->session, &request->call,
                                   HF_ETCD_TXN, &txn));
    hf_etcd_io_run_soon(&client->io);
}

TEST(a_lease_and_its_end)
{
    struct client *first = client_open(url_of("etcd", "HF_ETCD", ""));
    struct client *second = client_open(url_of("etcd", "HF_ETCD", ""));
    int64_t lease = first->session.lease;
    struct hf_etcd_buffer buffer = {0};
    struct request request = {.call = {.ended = on_time_to_live}};

    assert_true(lease > 0);
    assert_true(first->connected.anchor_ms > 0);
    client_close(first);
    request.call.user = &request;
    hf_etcd_write_time_to_live(&buffer, lease, false);
    hf_etcd_session_set_now(&second->session, now_ms(NULL));
    assert_true(hf_etcd_call_start(&second->session, &request.call,
                                   HF_ETCD_LEASE_TIME_TO_LIVE, &buffer));
    hf_etcd_io_run_soon(&second->io);
    run_until(has_ended, &request);
    assert_int_equal(request.time_to_live.ttl_s, -1);
    client_close(second);
}

TEST(calls)
{
    static struct request requests[500];
    struct client *client = client_open(url_of("etcd", "HF_ETCD", ""));
    size_t count = sizeof requests / sizeof *requests;
    char key[32];

    for (size_t i = 0; i < count; i++) {
        (void)snprintf(key, sizeof key, "session/k%zu", i);
        start_put(client, &requests[i], key, hf_etcd_bytes_of("value"));
    }
    for (size_t i = 0; i < count; i++) {
        run_until(has_ended, &requests[i]);
        assert_int_equal(requests[i].end, HF_ETCD_DONE);
        assert_true(requests[i].answer.succeeded);
        assert_true(requests[i].keys >= 1);
        assert_int_equal(requests[i].value_bytes, 5);
    }
    client_close(client);
}

/* More than any window of HTTP/2, in both directions. */
TEST(a_large_value)
{
    static struct request requests[4];
    struct client *client = client_open(url_of("etcd", "HF_ETCD", ""));
    size_t bytes = (size_t)1200 * 1024;
    char *value = calloc(1, bytes);
    char key[32];

    assert_non_null(value);
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(key, sizeof key, "session/k%zu", i);
        start_put(client, &requests[i], key,
                  (struct hf_etcd_bytes){value, bytes});
        run_until(has_ended, &requests[i]);
        assert_int_equal(requests[i].end, HF_ETCD_DONE);
        assert_int_equal(requests[i].keys, i + 1);
        assert_int_equal(requests[i].value_bytes, bytes);
    }
    client_close(client);
    free(value);
}

/* --------------------------------------------------------------- watches -- */

struct observer {
    struct hf_etcd_watch watch;
    unsigned puts;
    unsigned deletions;
    size_t bytes;
    unsigned expected;
};

static void on_event(struct hf_etcd_watch *watch,
                     const struct hf_etcd_event *event)
{
    struct observer *observer = watch->user;

    if (event->deleted)
        observer->deletions++;
    else
        observer->puts++;
    observer->bytes += event->kv.value.count;
}

static void on_compacted(struct hf_etcd_watch *watch)
{
    (void)watch;
    fail_msg("nobody has compacted anything");
}

static void on_refused(struct hf_etcd_watch *watch, enum hf_grpc_status status,
                       const char *text)
{
    (void)watch;
    (void)status;
    fail_msg("a watch was refused: %s", text);
}

static bool has_seen(void *arg)
{
    struct observer *observer = arg;

    return observer->puts + observer->deletions >= observer->expected;
}

/* Events of one's own key and of another client's, and the end of the other
 * one's lease.  The values are more than a window. */
TEST(a_watch_sees_every_event)
{
    static struct request requests[40];
    struct client *watcher = client_open(url_of("etcd", "HF_ETCD", ""));
    struct client *writer = client_open(url_of("etcd", "HF_ETCD", ""));
    struct observer observer = {
        .watch = {.key = hf_etcd_bytes_of("session/w"),
                  .range_end = hf_etcd_bytes_of("session/x"),
                  .event = on_event,
                  .compacted = on_compacted,
                  .refused = on_refused},
    };
    size_t bytes = (size_t)100 * 1024;
    char *value = calloc(1, bytes);

    assert_non_null(value);
    start_put(watcher, &requests[0], "session/w0", hf_etcd_bytes_of("mine"));
    run_until(has_ended, &requests[0]);
    observer.watch.user = &observer;
    observer.watch.next_revision = requests[0].answer.header.revision + 1;
    hf_etcd_session_set_now(&watcher->session, now_ms(NULL));
    assert_true(hf_etcd_watch_add(&watcher->session, &observer.watch));
    hf_etcd_io_run_soon(&watcher->io);
    for (size_t i = 1; i < 40; i++)
        start_put(writer, &requests[i], "session/w1",
                  (struct hf_etcd_bytes){value, bytes});
    observer.expected = 39;
    run_until(has_seen, &observer);
    assert_int_equal(observer.puts, 39);
    assert_int_equal(observer.bytes, 39 * bytes);
    client_close(writer);
    observer.expected = 40;
    run_until(has_seen, &observer);
    assert_int_equal(observer.deletions, 1);
    hf_etcd_watch_remove(&watcher->session, &observer.watch);
    client_close(watcher);
    free(value);
}

/* A keep-alive, and a write after its answer: the lease is proven anew. */
static bool proves_anew(void *arg)
{
    struct client *client = arg;
    static struct request request;

    if (request.call.state == HF_ETCD_CALL_IDLE)
        start_put(client, &request, "session/p", hf_etcd_bytes_of("proof"));
    return client->proven_ms > client->connected.anchor_ms;
}

TEST(a_session_is_proven)
{
    struct client *client = client_open(url_of("etcd", "HF_ETCD", ""));
    uint64_t begun_ms = now_ms(NULL);

    run_until(proves_anew, client);
    assert_true(client->proven_ms <= now_ms(NULL));
    assert_true(client->proven_ms >= begun_ms - 5000);
    client_close(client);
}

/* ------------------------------------------------------------------- TLS -- */

TEST(tls)
{
    static struct request request;
    char options[300];
    struct client *client;

    (void)snprintf(options, sizeof options, "&ca=%s/ca.pem",
                   getenv("HF_ETCD_CERTS"));
    client = client_open(url_of("etcds", "HF_ETCD_TLS", options));
    start_put(client, &request, "session/k", hf_etcd_bytes_of("value"));
    run_until(has_ended, &request);
    assert_int_equal(request.end, HF_ETCD_DONE);
    client_close(client);
}

/* A URL of the other port: the text says what is wrong. */
TEST(the_wrong_port)
{
    char options[300];
    struct client *client;

    (void)snprintf(options, sizeof options, "&ca=%s/ca.pem",
                   getenv("HF_ETCD_CERTS"));
    client = client_begin(url_of("etcds", "HF_ETCD", options));
    run_until(has_failed, client);
    print_message("%s\n", client->error);
    assert_non_null(strstr(client->error, "expected its port for TLS"));
    client_close(client);
    client = client_begin(url_of("etcd", "HF_ETCD_TLS", ""));
    run_until(has_failed, client);
    print_message("%s\n", client->error);
    client_close(client);
}

TEST_FILE(etcd_session)
{
    int failed;

    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uv_timer_init(&loop, &tick), 0);
    failed = RUN_TESTS(NULL, NULL);
    uv_close((uv_handle_t *)&tick, NULL);
    /* A test that failed has left handles. */
    for (int i = 0; i < 100; i++)
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    return uv_loop_close(&loop) == 0 ? failed : 1;
}
