/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session of etcd, its calls and its watches, against a server that lies: the
 * input is a program of steps.  A step is a byte, and what it needs are the
 * bytes behind it.  The server answers any call with a message that fits, one
 * that nearly fits, or any bytes, ends it with any status, or does not answer;
 * connections come and go, time passes, memory is short.
 *
 * After each step the session's own checks hold.  Every call that was started
 * ends exactly once, unless it was cancelled.  Anchors rise within a session
 * and are never in the future.  No watch reports a revision twice.  After
 * .closed nothing is notified.  At the end no memory is left.
 */
#include <string.h>

#include "base/time_math.h"
#include "etcd/session.h"
#include "etcd_fake_grpc.h"
#include "fuzz.h"
#include "heap/heap.h"

#define CALLS 6
#define WATCHES 6
#define STEPS_MAX 400

struct program;

struct user_call {
    struct hf_etcd_call call;
    struct program *p;
};

struct user_watch {
    struct hf_etcd_watch watch;
    struct program *p;
    int64_t last; /* revision that was reported */
};

struct program {
    const uint8_t *at;
    const uint8_t *end;
    struct hf_etcd_session_config config;
    struct hf_etcd_session session;
    uint64_t now_ms;
    uint64_t number;
    uint64_t anchor_ms; /* of this session */
    int64_t revision;
    bool closed;
    unsigned running; /* calls of the user */
    struct user_call calls[CALLS];
    struct user_watch watches[WATCHES];
};

/* The next byte of the input; 0 behind its end. */
static uint8_t next(struct program *p)
{
    return p->at < p->end ? *p->at++ : 0;
}

/* -------------------------------------------------------------- the user -- */

static void on_error(void *user, const struct hf_etcd_connection_error *error)
{
    struct program *p = user;

    MUST(!p->closed && error->text[0] != '\0' && error->status != HF_OK);
}

static void on_gave_up(void *user, uint32_t retries, uint64_t elapsed_ms)
{
    struct program *p = user;

    (void)retries;
    (void)elapsed_ms;
    MUST(!p->closed);
}

static void on_resuming(void *user, uint64_t sent_ms, uint64_t least_timeout_ms)
{
    struct program *p = user;

    MUST(!p->closed && sent_ms == p->now_ms && least_timeout_ms > 0);
}

static void on_connected(void *user, const struct hf_etcd_connected *connected)
{
    struct program *p = user;

    MUST(!p->closed && connected->anchor_ms <= p->now_ms);
    MUST(!connected->resumed || connected->anchor_ms == p->anchor_ms);
    p->anchor_ms = connected->anchor_ms;
}

static void on_suspended(void *user)
{
    struct program *p = user;

    MUST(!p->closed);
}

static void on_lost(void *user, const char *why)
{
    struct program *p = user;

    MUST(!p->closed && why[0] != '\0' && p->running == 0);
    for (int i = 0; i < WATCHES; i++)
        MUST(!hf_etcd_watch_is_in(&p->watches[i].watch));
}

static void on_closed(void *user)
{
    struct program *p = user;

    MUST(!p->closed && p->running == 0);
    p->closed = true;
}

static void on_proven(void *user, uint64_t anchor_ms)
{
    struct program *p = user;

    MUST(!p->closed && anchor_ms > p->anchor_ms && anchor_ms <= p->now_ms);
    p->anchor_ms = anchor_ms;
}

static void on_epoch_moved(void *user)
{
    struct program *p = user;

    MUST(!p->closed && hf_etcd_epoch_is_known(&p->session));
}

static void on_log(void *user, enum hf_log_level level, const char *format, ...)
{
    (void)user;
    (void)level;
    (void)format;
}

static void call_ended(struct hf_etcd_call *call,
                       const struct hf_etcd_result *result)
{
    static volatile unsigned char seen;
    struct user_call *user = call->user;

    MUST(user->p->running > 0 && result->text != NULL);
    user->p->running--;
    for (size_t i = 0; i < result->answer.count; i++)
        seen = ((const unsigned char *)result->answer.bytes)[i];
    (void)seen;
    MUST(result->proves_ms <= user->p->now_ms);
}

static void start_call(struct program *p)
{
    const struct hf_etcd_delete deletion = {.key = hf_etcd_bytes_of("k")};
    const struct hf_etcd_range range = {.key = hf_etcd_bytes_of("k")};
    struct user_call *user = &p->calls[next(p) % CALLS];
    struct hf_etcd_buffer request = {0};
    bool writes = next(p) % 2 == 0;

    if (!hf_etcd_call_is_idle(&user->call) || p->closed)
        return;
    if (writes && hf_etcd_epoch_is_known(&p->session))
        hf_etcd_epoch_compare(&p->session, &request);
    if (writes)
        hf_etcd_txn_delete(&request, HF_ETCD_SUCCESS, &deletion);
    else
        hf_etcd_write_range(&request, &range);
    user->p = p;
    user->call.ended = call_ended;
    user->call.user = user;
    if (hf_etcd_call_start(&p->session, &user->call,
                           writes ? HF_ETCD_TXN : HF_ETCD_RANGE, &request))
        p->running++;
}

static void cancel_call(struct program *p)
{
    struct user_call *user = &p->calls[next(p) % CALLS];

    if (hf_etcd_call_is_idle(&user->call))
        return;
    hf_etcd_call_cancel(&user->call);
    p->running--;
}

static void on_event(struct hf_etcd_watch *watch,
                     const struct hf_etcd_event *event)
{
    struct user_watch *user = watch->user;

    MUST(!user->p->closed && event->kv.mod_revision >= user->last);
    MUST(watch->next_revision > event->kv.mod_revision);
    user->last = event->kv.mod_revision;
    if (next(user->p) % 8 == 0)
        hf_etcd_watch_remove(&user->p->session, watch);
}

static void on_compacted(struct hf_etcd_watch *watch)
{
    MUST(!hf_etcd_watch_is_in(watch));
}

static void on_refused(struct hf_etcd_watch *watch, enum hf_grpc_status status,
                       const char *text)
{
    MUST(!hf_etcd_watch_is_in(watch) && status != HF_GRPC_OK && text != NULL);
}

static void change_watch(struct program *p)
{
    struct user_watch *user = &p->watches[next(p) % WATCHES];

    if (hf_etcd_watch_is_in(&user->watch)) {
        hf_etcd_watch_remove(&p->session, &user->watch);
        return;
    }
    if (p->closed)
        return;
    user->p = p;
    user->last = 0;
    user->watch = (struct hf_etcd_watch){
        .user = user,
        .key = hf_etcd_bytes_of("k"),
        .next_revision = 1 + next(p),
        .extent = next(p) % 2 == 0 ? HF_ETCD_WATCH_ALL_EVENTS
                                   : HF_ETCD_WATCH_LAST_STATE,
        .event = on_event,
        .compacted = on_compacted,
        .refused = on_refused};
    MUST(hf_etcd_watch_add(&p->session, &user->watch));
}

/* ------------------------------------------------------------ the server -- */

/* One of the calls that run; NULL: none does. */
static struct fake_call *choose(struct program *p)
{
    struct fake_call *call = fake_calls(fake_grpc());

    for (unsigned skip = next(p) % 8; skip > 0 && call != NULL; skip--)
        if (call->next != NULL)
            call = call->next;
    return call;
}

static void put_header(struct program *p, struct hf_etcd_buffer *message)
{
    size_t begin = hf_etcd_put_begin(message, 1);

    hf_etcd_put_unsigned(message, 1, 1 + next(p) / 250);
    hf_etcd_put_signed(message, 3, p->revision);
    hf_etcd_put_unsigned(message, 4, 1 + next(p) % 3);
    hf_etcd_put_end(message, begin);
}

/* An event or a cancellation of a watch, perhaps with a creation. */
static void put_watch(struct program *p, struct hf_etcd_buffer *message)
{
    uint8_t choice = next(p);
    size_t event, kv;

    hf_etcd_put_signed(
        message, 2,
        choice % 8 == 0 ? -1 : p->session.watches.last_id - next(p) % 4);
    hf_etcd_put_bool(message, 3, choice % 2 == 0);
    hf_etcd_put_bool(message, 4, choice / 2 % 4 == 0);
    hf_etcd_put_signed(message, 5, choice / 8 % 8 == 0 ? 5 : 0);
    if (choice / 16 % 4 == 0)
        hf_etcd_put_bytes(message, 6,
                          hf_etcd_bytes_of(choice > 128
                                               ? "permission denied"
                                               : "invalid auth token"));
    for (int i = next(p) % 4; i > 0; i--) {
        event = hf_etcd_put_begin(message, 11);
        hf_etcd_put_bool(message, 1, next(p) % 2 == 0);
        kv = hf_etcd_put_begin(message, 2);
        hf_etcd_put_signed(message, 3, p->revision);
        p->revision += next(p) % 2;
        hf_etcd_put_end(message, kv);
        hf_etcd_put_end(message, event);
    }
}

/* The lease that the server is asked for, or the session's. */
static int64_t lease_of(const struct program *p)
{
    return p->session.lease != 0 ? p->session.lease : p->session.granting_lease;
}

/* A message that fits ${method}. */
static void put_answer(struct program *p, struct hf_etcd_buffer *message,
                       const char *method)
{
    size_t response, range, kv;

    put_header(p, message);
    if (strstr(method, "Status") != NULL) {
        hf_etcd_put_unsigned(message, 4, next(p) % 8);
    } else if (strstr(method, "Authenticate") != NULL) {
        hf_etcd_put_bytes(message, 2, hf_etcd_bytes_of("token"));
    } else if (strstr(method, "Lease/") != NULL) {
        hf_etcd_put_signed(message, 2, lease_of(p));
        hf_etcd_put_signed(message, 3, next(p) % 12);
    } else if (strstr(method, "Watch/") != NULL) {
        put_watch(p, message);
    } else if (strstr(method, "Txn") != NULL) {
        hf_etcd_put_bool(message, 2, next(p) % 2 == 0);
        response = hf_etcd_put_begin(message, 3);
        range = hf_etcd_put_begin(message, HF_ETCD_RANGE_RESPONSE);
        kv = hf_etcd_put_begin(message, 2);
        hf_etcd_put_signed(message, 3, next(p) % 4 == 0 ? 0 : ++p->revision);
        hf_etcd_put_end(message, kv);
        hf_etcd_put_end(message, range);
        hf_etcd_put_end(message, response);
    }
}

static void deliver(struct program *p)
{
    hf_etcd_session_receive(&p->session, p->number, p->now_ms, "", 0);
}

/* Answer one call: honestly, nearly, or with any bytes. */
static void answer(struct program *p, bool honest)
{
    const struct hf_grpc_result ok = {.text = "", .answered = true};
    struct fake_call *call = choose(p);
    struct hf_etcd_buffer message = {0};
    uint8_t bytes[16];
    size_t count;

    if (call == NULL)
        return;
    heap_exempt(true);
    put_answer(p, &message, call->method);
    if (!honest && message.used > 0)
        message.bytes[next(p) % message.used] ^= next(p);
    if (!honest && next(p) % 4 == 0) {
        count = next(p) % sizeof bytes;
        for (size_t i = 0; i < count; i++)
            bytes[i] = next(p);
        hf_etcd_buffer_clear(&message);
        hf_etcd_put_raw(&message, bytes, count);
    }
    heap_exempt(false);
    fake_send(call, message.bytes, message.used);
    if (strstr(call->method, "KeepAlive") == NULL &&
        strstr(call->method, "Watch/") == NULL)
        fake_end(call, &ok);
    hf_etcd_buffer_free(&message);
    deliver(p);
}

/* End one call with any status. */
static void end(struct program *p)
{
    static const char *const texts[] = {
        "",
        "etcdserver: no leader",
        "etcdserver: invalid auth token",
        "etcdserver: authentication is not enabled",
        "etcdserver: too many requests",
        "etcdserver: mvcc: database space exceeded",
        "etcdserver: request timed out",
        "\x01\xff\n",
    };
    struct fake_call *call = choose(p);
    uint8_t choice = next(p);
    struct hf_grpc_result result = {.status =
                                        (enum hf_grpc_status)(next(p) % 17),
                                    .text = texts[choice % 8],
                                    .unprocessed = choice / 8 % 4 == 0,
                                    .answered = choice / 32 % 2 == 0};

    if (call == NULL)
        return;
    fake_end(call, &result);
    deliver(p);
}

/* ------------------------------------------------------------ the driver -- */

static void connect_up(struct program *p)
{
    uint64_t number;

    if (hf_etcd_session_wanted_server(&p->session, &number) == NULL ||
        number == p->number)
        return;
    p->number = number;
    hf_etcd_session_connection_up(&p->session, number, p->now_ms);
}

static void cut(struct program *p)
{
    uint64_t number;

    if (hf_etcd_session_wanted_server(&p->session, &number) != NULL)
        hf_etcd_session_connection_down(&p->session, number, p->now_ms,
                                        HF_EUNREACHABLE,
                                        next(p) % 2 == 0 ? NULL : "reset");
}

/* Time passes, with ticks where the session wants them; it must not want more
 * of them than a few each millisecond. */
static void pass(struct program *p, uint64_t ms)
{
    uint64_t end_ms = p->now_ms + ms;
    uint64_t at_ms;
    unsigned ticks = 0;

    while ((at_ms = hf_etcd_session_wake_at_ms(&p->session)) <= end_ms) {
        MUST(ticks++ < 1000 + ms);
        if (at_ms > p->now_ms)
            p->now_ms = at_ms;
        hf_etcd_session_tick(&p->session, p->now_ms);
    }
    p->now_ms = end_ms;
    hf_etcd_session_set_now(&p->session, p->now_ms);
}

static void close_session(struct program *p)
{
    if (!p->closed && !hf_etcd_session_close_requested(&p->session))
        hf_etcd_session_close(&p->session);
}

static void step(struct program *p)
{
    switch (next(p) % 20) {
    case 0:
        connect_up(p);
        break;
    case 1:
        cut(p);
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        answer(p, true);
        break;
    case 6:
        answer(p, false);
        break;
    case 7:
        end(p);
        break;
    case 8:
        pass(p, next(p));
        break;
    case 9:
        pass(p, (uint64_t)next(p) * 20);
        break;
    case 10:
        start_call(p);
        break;
    case 11:
        cancel_call(p);
        break;
    case 12:
        change_watch(p);
        break;
    case 13:
        heap_fail(1 + next(p) % 8, next(p) % 4 == 0);
        break;
    case 14:
        heap_fail(0, false);
        break;
    case 15:
        if (fake_grpc() != NULL)
            fake_go_away(fake_grpc());
        deliver(p);
        break;
    case 16:
        if (fake_grpc() != NULL)
            fake_break(fake_grpc(), "nonsense");
        deliver(p);
        break;
    case 17:
        if (fake_grpc() != NULL)
            fake_hold(fake_grpc(), next(p) % 2 == 0);
        break;
    case 18:
        if (!p->closed)
            hf_etcd_session_reconnect(&p->session, p->now_ms);
        break;
    default:
        if (next(p) == 0)
            close_session(p);
        else if (hf_etcd_session_is_usable(&p->session))
            (void)hf_etcd_epoch_check(&p->session, next(p));
        break;
    }
}

static void begin(struct program *p)
{
    const struct hf_etcd_listener listener = {.user = p,
                                              .connection_error = on_error,
                                              .gave_up = on_gave_up,
                                              .resuming = on_resuming,
                                              .connected = on_connected,
                                              .suspended = on_suspended,
                                              .lost = on_lost,
                                              .closed = on_closed,
                                              .proven = on_proven,
                                              .epoch_moved = on_epoch_moved};
    const struct hf_etcd_log log = {p, on_log};
    uint8_t choice = next(p);

    p->config.server_count = 1 + choice % 3;
    p->config.ttl_ms = 2000 + 1000 * (uint64_t)(choice / 4 % 8);
    p->config.clock_drift = HF_CLOCK_DRIFT_MIN;
    p->config.reconnect = hf_reconnect_default;
    p->config.proof =
        choice / 32 % 2 == 0 ? HF_ETCD_PROOF_EAGER : HF_ETCD_PROOF_LAZY;
    p->config.lease_mode =
        choice / 64 % 4 == 3 ? HF_ETCD_NO_LEASE : HF_ETCD_LEASE_FOR_TICKETS;
    if (next(p) % 2 == 0) {
        strcpy(p->config.user, "alice");
        strcpy(p->config.password, "secret");
    }
    for (size_t i = 0; i < p->config.server_count; i++)
        strcpy(p->config.servers[i].host, "h");
    hf_random_seed(&p->config.random, 1);
    hf_etcd_session_begin(&p->session, &p->config, &listener, &log, p->now_ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct program p;

    heap_install();
    memset(&p, 0, sizeof p);
    p.at = data;
    p.end = data + bytes;
    p.now_ms = 1000;
    p.revision = 10;
    begin(&p);
    for (unsigned i = 0; i < STEPS_MAX && p.at < p.end; i++) {
        step(&p);
        (void)hf_etcd_session_wake_at_ms(&p.session);
    }
    heap_fail(0, false);
    for (int i = 0; i < WATCHES; i++)
        hf_etcd_watch_remove(&p.session, &p.watches[i].watch);
    hf_etcd_session_free(&p.session);
    MUST(p.running == 0 && fake_grpc() == NULL && heap_live() == 0);
    return 0;
}
