/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container_of.h"
#include "base/time_math.h"
#include "etcd/call_result.h"

/* ---------------------------------------------------------- what happens -- */

__attribute__((format(printf, 2, 3))) static void note(struct fixture *f,
                                                       const char *format, ...)
{
    va_list args;

    assert_true(f->line_count < FIXTURE_LINES);
    va_start(args, format);
    (void)vsnprintf(f->lines[f->line_count++], sizeof f->lines[0], format,
                    args);
    va_end(args);
}

void fixture_expect(struct fixture *f, const char *line)
{
    if (f->line_read == f->line_count)
        fail_msg("nothing instead of: %s", line);
    assert_string_equal(f->lines[f->line_read++], line);
}

void fixture_expect_none(struct fixture *f)
{
    if (f->line_read < f->line_count)
        fail_msg("not expected: %s", f->lines[f->line_read]);
}

void fixture_skip(struct fixture *f)
{
    f->line_read = f->line_count;
}

static void on_error(void *user, const struct hf_etcd_connection_error *error)
{
    note(user, "error %s%s", hf_status_name(error->status),
         error->final ? " final" : "");
}

static void on_gave_up(void *user, uint32_t retries, uint64_t elapsed_ms)
{
    (void)retries;
    (void)elapsed_ms;
    note(user, "gave up");
}

static void on_resuming(void *user, uint64_t sent_ms, uint64_t least_timeout_ms)
{
    note(user, "resuming %" PRIu64 " %" PRIu64, sent_ms, least_timeout_ms);
}

static void on_connected(void *user, const struct hf_etcd_connected *connected)
{
    if (connected->timeout_ms == HF_FOREVER)
        note(user, "connected for ever");
    else
        note(user, "connected %" PRIu64 " %" PRIu64 " %s",
             connected->timeout_ms, connected->anchor_ms,
             connected->resumed ? "resumed" : "new");
}

static void close_from_within(struct fixture *f)
{
    if (f->closes_at_loss && !hf_etcd_session_close_requested(&f->session))
        hf_etcd_session_close(&f->session);
}

static void on_suspended(void *user)
{
    note(user, "suspended");
    close_from_within(user);
}

static void on_lost(void *user, const char *why)
{
    (void)why;
    note(user, "lost");
    close_from_within(user);
}

static void on_closed(void *user)
{
    note(user, "closed");
}

static void on_renewed(void *user)
{
    struct fixture *f = user;

    f->renewed++;
}

static void on_proven(void *user, uint64_t anchor_ms)
{
    struct fixture *f = user;

    note(f, "proven %" PRIu64, anchor_ms);
    if (f->closes_at_proof)
        hf_etcd_session_close(&f->session);
}

static void on_epoch_moved(void *user)
{
    note(user, "epoch");
}

static void on_log(void *user, enum hf_log_level level, const char *format, ...)
{
    struct fixture *f = user;
    va_list args;

    (void)level;
    va_start(args, format);
    (void)vsnprintf(f->log, sizeof f->log, format, args);
    va_end(args);
}

/* ------------------------------------------------------------ the driver -- */

void fixture_begin(struct fixture *f)
{
    const struct hf_etcd_listener listener = {.user = f,
                                              .connection_error = on_error,
                                              .gave_up = on_gave_up,
                                              .resuming = on_resuming,
                                              .connected = on_connected,
                                              .suspended = on_suspended,
                                              .lost = on_lost,
                                              .closed = on_closed,
                                              .renewed = on_renewed,
                                              .proven = on_proven,
                                              .epoch_moved = on_epoch_moved};
    const struct hf_etcd_log log = {f, on_log};

    hf_etcd_session_begin(&f->session, &f->config, &listener, &log, f->now_ms);
}

void fixture_open(struct fixture *f, size_t servers)
{
    *f = (struct fixture){
        .now_ms = 1000,
        .server = {.cluster_id = 7, .raft_term = 2, .revision = 10},
        .config = {.server_count = servers,
                   .reconnect = hf_reconnect_default,
                   .ttl_ms = 10000,
                   .clock_drift = HF_CLOCK_DRIFT_MIN}};
    f->server.version = "3.5.21";
    f->server.token = "token1";
    f->created_revision = 4;
    hf_random_seed(&f->config.random, 1);
    for (size_t i = 0; i < servers; i++) {
        (void)snprintf(f->config.servers[i].host,
                       sizeof f->config.servers[i].host, "etcd%zu", i + 1);
        f->config.servers[i].port = 2379;
    }
    memcpy(f->config.prefix, "p/", 3);
    fixture_begin(f);
}

void fixture_close(struct fixture *f)
{
    for (size_t i = 0; i < FIXTURE_WATCHES; i++)
        hf_etcd_watch_remove(&f->session, &f->watches[i].watch);
    hf_etcd_session_free(&f->session);
    assert_null(fake_grpc());
    for (size_t i = 0; i < FIXTURE_USER_CALLS; i++)
        assert_true(hf_etcd_call_is_idle(&f->calls[i].call));
}

/* Do what the session wants; its checks hold. */
static void drive(struct fixture *f)
{
    uint64_t number;
    size_t count;

    (void)hf_etcd_session_output(&f->session, &count);
    if (hf_etcd_session_wanted_server(&f->session, &number) == NULL ||
        number != f->number)
        f->number = 0;
    (void)hf_etcd_session_wake_at_ms(&f->session);
}

void fixture_connect(struct fixture *f)
{
    uint64_t number;

    if (hf_etcd_session_wanted_server(&f->session, &number) == NULL)
        fixture_pass(f, 1500); /* the pause before the next attempt */
    assert_non_null(hf_etcd_session_wanted_server(&f->session, &number));
    f->number = number;
    hf_etcd_session_connection_up(&f->session, number, f->now_ms);
    drive(f);
}

void fixture_cut(struct fixture *f, const char *why)
{
    uint64_t number = f->number;

    assert_true(number != 0);
    f->number = 0;
    hf_etcd_session_connection_down(&f->session, number, f->now_ms,
                                    HF_EUNREACHABLE, why);
    drive(f);
}

void fixture_deliver(struct fixture *f)
{
    hf_etcd_session_receive(&f->session, f->number, f->now_ms, "", 0);
    drive(f);
}

void fixture_pass(struct fixture *f, uint64_t ms)
{
    uint64_t end_ms = f->now_ms + ms;
    uint64_t at_ms;

    while ((at_ms = hf_etcd_session_wake_at_ms(&f->session)) <= end_ms) {
        f->now_ms = hf_max_ms(f->now_ms, at_ms);
        hf_etcd_session_tick(&f->session, f->now_ms);
        drive(f);
    }
    f->now_ms = end_ms;
    hf_etcd_session_set_now(&f->session, f->now_ms);
}

/* ------------------------------------------------------------ the server -- */

static bool is_called(const struct fake_call *call, const char *name)
{
    return strcmp(strrchr(call->method, '/') + 1, name) == 0;
}

struct fake_call *fixture_find(struct fixture *f, const char *name)
{
    struct fake_call *call = fake_calls(fake_grpc());

    (void)f;
    while (call != NULL && !(is_called(call, name) && call->message_count > 0))
        call = call->next;
    return call;
}

struct fake_call *fixture_call(struct fixture *f, const char *name)
{
    struct fake_call *call = fixture_find(f, name);

    if (call == NULL)
        fail_msg("no call of %s", name);
    return call;
}

size_t fixture_count(struct fixture *f, const char *name)
{
    size_t count = 0;

    (void)f;
    for (struct fake_call *call = fake_calls(fake_grpc()); call != NULL;
         call = call->next)
        count += is_called(call, name);
    return count;
}

struct hf_etcd_buffer fixture_message(struct fixture *f)
{
    struct hf_etcd_buffer message = {0};
    size_t begin = hf_etcd_put_begin(&message, 1);

    hf_etcd_put_unsigned(&message, 1, f->server.cluster_id);
    hf_etcd_put_unsigned(&message, 2, 1);
    hf_etcd_put_signed(&message, 3, f->server.revision);
    hf_etcd_put_unsigned(&message, 4, f->server.raft_term);
    hf_etcd_put_end(&message, begin);
    return message;
}

static bool is_stream(const char *name)
{
    return strcmp(name, "Watch") == 0 || strcmp(name, "LeaseKeepAlive") == 0;
}

void fixture_answer(struct fixture *f, const char *name,
                    struct hf_etcd_buffer *message)
{
    const struct hf_grpc_result ok = {.text = "", .answered = true};
    struct fake_call *call = fixture_call(f, name);

    free(fake_take(call).bytes);
    fake_send(call, message->bytes, message->used);
    if (!is_stream(name))
        fake_end(call, &ok);
    hf_etcd_buffer_free(message);
    fixture_deliver(f);
}

void fixture_refuse(struct fixture *f, const char *name,
                    enum hf_grpc_status status, const char *text)
{
    const struct hf_grpc_result result = {
        .status = status, .text = text, .answered = true};
    struct fake_call *call = fake_calls(fake_grpc());

    while (call != NULL && !is_called(call, name))
        call = call->next;
    assert_non_null(call);
    fake_end(call, &result);
    fixture_deliver(f);
}

void fixture_keep_alive(struct fixture *f, int64_t ttl_s)
{
    struct hf_etcd_buffer message = fixture_message(f);

    hf_etcd_put_signed(&message, 2, f->session.lease);
    hf_etcd_put_signed(&message, 3, ttl_s);
    fixture_answer(f, "LeaseKeepAlive", &message);
}

void fixture_txn(struct fixture *f, bool succeeded, int64_t epoch)
{
    struct hf_etcd_buffer message = fixture_message(f);
    size_t response, range, kv;

    hf_etcd_put_bool(&message, 2, succeeded);
    response = hf_etcd_put_begin(&message, 3);
    range = hf_etcd_put_begin(&message, HF_ETCD_RANGE_RESPONSE);
    if (epoch > 0) {
        kv = hf_etcd_put_begin(&message, 2);
        hf_etcd_put_bytes(&message, 1, hf_etcd_epoch_key(&f->session));
        hf_etcd_put_signed(&message, 3, epoch);
        hf_etcd_put_end(&message, kv);
    }
    hf_etcd_put_end(&message, range);
    hf_etcd_put_end(&message, response);
    fixture_answer(f, "Txn", &message);
}

void fixture_status(struct fixture *f)
{
    struct hf_etcd_buffer message = fixture_message(f);

    hf_etcd_put_bytes(&message, 2, hf_etcd_bytes_of(f->server.version));
    hf_etcd_put_unsigned(&message, 4, f->server.no_leader ? 0 : 1);
    hf_etcd_put_bool(&message, 10, f->server.learner);
    fixture_answer(f, "Status", &message);
}

/* Answer a request for a lease as it asks. */
static void serve_grant(struct fixture *f)
{
    struct fake_call *call = fixture_call(f, "LeaseGrant");
    struct hf_etcd_bytes request = {call->messages[0].bytes,
                                    call->messages[0].count};
    struct hf_etcd_reader reader = hf_etcd_reader_of(request);
    struct hf_etcd_buffer message = fixture_message(f);
    struct hf_etcd_field field;
    uint64_t lease = 0, ttl_s = 0;

    while (hf_etcd_reader_next(&reader, &field)) {
        if (field.number == 1)
            ttl_s = field.value;
        if (field.number == 2)
            lease = field.value;
    }
    hf_etcd_put_unsigned(&message, 2, lease);
    hf_etcd_put_signed(&message, 3,
                       f->server.ttl_s > 0 ? f->server.ttl_s : (int64_t)ttl_s);
    fixture_answer(f, "LeaseGrant", &message);
}

static void serve_authenticate(struct fixture *f)
{
    struct hf_etcd_buffer message = fixture_message(f);

    hf_etcd_put_bytes(&message, 2, hf_etcd_bytes_of(f->server.token));
    fixture_answer(f, "Authenticate", &message);
}

static void serve_revoke(struct fixture *f)
{
    struct hf_etcd_buffer message = fixture_message(f);

    fixture_answer(f, "LeaseRevoke", &message);
}

/* Answer the oldest call of any method.  False if there is none. */
static bool serve_one(struct fixture *f)
{
    if (f->server.refuses != NULL && fixture_find(f, f->server.refuses)) {
        fixture_refuse(f, f->server.refuses, f->server.status, f->server.text);
        return true;
    }
    if (fixture_find(f, "Status") != NULL)
        fixture_status(f);
    else if (fixture_find(f, "Authenticate") != NULL)
        serve_authenticate(f);
    else if (fixture_find(f, "LeaseRevoke") != NULL)
        serve_revoke(f);
    else if (fixture_find(f, "LeaseGrant") != NULL)
        serve_grant(f);
    else if (fixture_find(f, "LeaseKeepAlive") != NULL)
        fixture_keep_alive(f, f->server.ttl_s > 0 ? f->server.ttl_s : 10);
    else if (fixture_find(f, "Txn") != NULL)
        fixture_txn(f, true, ++f->server.revision);
    else
        return false;
    return true;
}

void fixture_serve(struct fixture *f)
{
    while (serve_one(f))
        ;
}

void fixture_up(struct fixture *f)
{
    fixture_connect(f);
    fixture_serve(f);
    assert_true(hf_etcd_session_is_usable(&f->session));
    fixture_skip(f);
}

/* -------------------------------------------------------------- the user -- */

static void call_ended(struct hf_etcd_call *call,
                       const struct hf_etcd_result *result)
{
    static const char *const ends[] = {"DONE", "REFUSED", "RETRY", "UNSURE"};
    struct fixture_call *user = call->user;

    assert_non_null(result->text);
    if (result->end != HF_ETCD_DONE)
        user->f->status = hf_etcd_status_of(result);
    if (result->proves_ms > 0)
        note(user->f, "%s DONE proves %" PRIu64, user->name, result->proves_ms);
    else
        note(user->f, "%s %s", user->name, ends[result->end]);
}

struct fixture_call *fixture_start(struct fixture *f, const char *name,
                                   enum fixture_request request)
{
    const struct hf_etcd_delete deletion = {.key = hf_etcd_bytes_of("never")};
    const struct hf_etcd_range range = {.key = hf_etcd_bytes_of("k")};
    struct hf_etcd_buffer message = {0};
    struct fixture_call *user = f->calls;

    while (!hf_etcd_call_is_idle(&user->call))
        user++;
    assert_true(user < f->calls + FIXTURE_USER_CALLS);
    if (request == ENQUEUE)
        hf_etcd_epoch_compare(&f->session, &message);
    if (request == READ)
        hf_etcd_write_range(&message, &range);
    else
        hf_etcd_txn_delete(&message, HF_ETCD_SUCCESS, &deletion);
    user->f = f;
    (void)snprintf(user->name, sizeof user->name, "%s", name);
    user->call = (struct hf_etcd_call){.ended = call_ended, .user = user};
    return hf_etcd_call_start(&f->session, &user->call,
                              request == READ ? HF_ETCD_RANGE : HF_ETCD_TXN,
                              &message)
               ? user
               : NULL;
}

static void on_event(struct hf_etcd_watch *watch,
                     const struct hf_etcd_event *event)
{
    struct fixture_watch *user = watch->user;

    note(user->f, "%s %s %.*s %" PRId64, user->name,
         event->deleted ? "deleted" : "put", (int)event->kv.key.count,
         (const char *)event->kv.key.bytes, event->kv.mod_revision);
    if (user->removes)
        hf_etcd_watch_remove(&user->f->session, watch);
}

static void on_compacted(struct hf_etcd_watch *watch)
{
    struct fixture_watch *user = watch->user;

    note(user->f, "%s compacted", user->name);
}

static void on_refused(struct hf_etcd_watch *watch, enum hf_grpc_status status,
                       const char *text)
{
    struct fixture_watch *user = watch->user;

    (void)text;
    assert_int_equal(status, HF_GRPC_PERMISSION_DENIED);
    note(user->f, "%s refused", user->name);
}

struct fixture_watch *fixture_watch(struct fixture *f, const char *name,
                                    int64_t revision)
{
    struct fixture_watch *user = f->watches;

    while (hf_etcd_watch_is_in(&user->watch))
        user++;
    assert_true(user < f->watches + FIXTURE_WATCHES);
    user->f = f;
    user->removes = false;
    (void)snprintf(user->name, sizeof user->name, "%s", name);
    user->watch = (struct hf_etcd_watch){.user = user,
                                         .key = hf_etcd_bytes_of(user->name),
                                         .next_revision = revision,
                                         .extent = HF_ETCD_WATCH_LAST_STATE,
                                         .event = on_event,
                                         .compacted = on_compacted,
                                         .refused = on_refused};
    assert_true(hf_etcd_watch_add(&f->session, &user->watch));
    drive(f);
    return user;
}

/* The stream of watches. */
static struct fake_call *watch_stream(void)
{
    struct fake_call *call = fake_calls(fake_grpc());

    while (call != NULL && !is_called(call, "Watch"))
        call = call->next;
    assert_non_null(call);
    return call;
}

void fixture_event(struct fixture *f, int64_t id, const char *key,
                   int64_t revision, bool deleted)
{
    struct hf_etcd_buffer message = fixture_message(f);
    size_t event, kv;

    hf_etcd_put_signed(&message, 2, id);
    event = hf_etcd_put_begin(&message, 11);
    hf_etcd_put_bool(&message, 1, deleted);
    kv = hf_etcd_put_begin(&message, 2);
    hf_etcd_put_bytes(&message, 1, hf_etcd_bytes_of(key));
    hf_etcd_put_signed(&message, 3, revision);
    hf_etcd_put_end(&message, kv);
    hf_etcd_put_end(&message, event);
    fake_send(watch_stream(), message.bytes, message.used);
    hf_etcd_buffer_free(&message);
    fixture_deliver(f);
}

/* The number in the request ${message} to create a watch; 0: it is another
 * one. */
static int64_t id_of(const struct fake_message *message)
{
    struct hf_etcd_reader reader = hf_etcd_reader_of(
        (struct hf_etcd_bytes){message->bytes, message->count});
    struct hf_etcd_field field;
    int64_t id = 0;

    if (!hf_etcd_reader_next(&reader, &field) || field.number != 1)
        return 0;
    reader = hf_etcd_reader_of(field.bytes);
    while (hf_etcd_reader_next(&reader, &field))
        if (field.number == 7)
            id = (int64_t)field.value;
    return id;
}

int64_t fixture_created(struct fixture *f)
{
    struct fake_call *stream = watch_stream();
    int64_t id, last = 0;

    while (stream->message_count > 0) {
        struct fake_message asked = fake_take(stream);
        int64_t revision = f->server.revision;
        struct hf_etcd_buffer message;

        f->server.revision = f->created_revision;
        message = fixture_message(f);
        f->server.revision = revision;
        id = id_of(&asked);
        if (id != 0) {
            last = id;
            hf_etcd_put_signed(&message, 2, id);
            hf_etcd_put_bool(&message, 3, true);
            fake_send(stream, message.bytes, message.used);
        }
        hf_etcd_buffer_free(&message);
        free(asked.bytes);
    }
    fixture_deliver(f);
    return last;
}
