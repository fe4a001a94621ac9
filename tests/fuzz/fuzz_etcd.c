/* SPDX-License-Identifier: Apache-2.0 */
/* The whole client of etcd, from the core to the calls of its connections,
 * against a fake server that gives wrong answers: it changes bytes, says
 * nothing, says it late, ends calls with any status, ends connections, and
 * other clients delete, put and compact. */
#include <string.h>

#include "base/engine_host.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "base/url.h"
#include "engines/etcd/etcd_engine.h"
#include "etcd_fake_grpc.h"
#include "etcd_fake_store.h"
#include "fuzz.h"
#include "heap/heap.h"
#include "leased_client.h"

#define SERVED_MOST 200
#define WATCHES 64

/* ---------------------------------------------------------------- engine -- */

/* What drives the machine, in place of etcd_io. */
struct hf_engine {
    struct hf_engine_host host;
    struct hf_etcd_engine *etcd;
    uint64_t number; /* of the connection */
    bool up;
};

/* A watch that the server has. */
struct server_watch {
    struct hf_grpc_call *call; /* NULL: free */
    int64_t id;
    struct store_text key;
    struct store_text end;
};

static struct {
    struct etcd_fake_store store;
    struct server_watch watches[WATCHES];
    size_t reported; /* events of the store that watches have seen */
    bool refuses;    /* connections */
    bool silent;
    /* What is done to the next answer. */
    enum { HONEST, CHANGED, CUT_SHORT, REFUSED, LOST, LIES } lie;
    uint8_t how, where;
} net;

static struct hf_etcd_session *session_of(struct leased_client *client)
{
    return hf_etcd_engine_session(client->engine->etcd);
}

/* Bring the connection to what the session wants. */
static void connect_wanted(struct leased_client *client)
{
    struct hf_engine *engine = client->engine;
    uint64_t number;
    const struct hf_etcd_server *server =
        hf_etcd_session_wanted_server(session_of(client), &number);

    if (server != NULL && number == engine->number)
        return;
    engine->up = false;
    memset(net.watches, 0, sizeof net.watches);
    if (server == NULL)
        return;
    engine->number = number;
    if (net.refuses) {
        hf_etcd_session_connection_down(session_of(client), number,
                                        client->now_ms, HF_EUNREACHABLE,
                                        "refused");
        return;
    }
    engine->up = true;
    hf_etcd_session_connection_up(session_of(client), number, client->now_ms);
}

/* As drive() of etcd_io.c. */
static void drive(struct leased_client *client)
{
    size_t count;

    if (client->closed)
        return;
    for (int i = 0; i < 4; i++) {
        hf_etcd_engine_flush(client->engine->etcd, client->now_ms);
        connect_wanted(client);
        (void)hf_etcd_session_output(session_of(client), &count);
    }
}

/* Have the client take what the server did. */
static void deliver(struct leased_client *client)
{
    if (client->engine->up && fake_grpc() != NULL)
        hf_etcd_session_receive(session_of(client), client->engine->number,
                                client->now_ms, "", 0);
    drive(client);
}

static hf_status open_engine(const struct hf_url *url,
                             const struct hf_engine_host *host,
                             struct hf_engine **engine, struct hf_error *error)
{
    struct hf_etcd_url_config config = {0};
    struct hf_engine *mine = hf_alloc(sizeof *mine);
    hf_status status = hf_etcd_url_parse(&config, url, error);

    MUST(mine != NULL && status == HF_OK);
    config.session.reconnect = hf_reconnect_default;
    hf_random_seed(&config.session.random, 1);
    mine->host = *host;
    mine->etcd =
        hf_etcd_engine_new(&config, &mine->host, host->now_ms(host->host));
    MUST(mine->etcd != NULL);
    *engine = mine;
    return HF_OK;
}

static void handle_request(struct hf_engine *engine, struct hf_request *request)
{
    hf_etcd_engine_submit(engine->etcd, request,
                          engine->host.now_ms(engine->host.host));
}

static void unwatch(struct hf_engine *engine, struct hf_request *watch)
{
    hf_etcd_engine_unwatch(engine->etcd, watch);
}

static void connect_again(struct hf_engine *engine)
{
    hf_etcd_session_reconnect(hf_etcd_engine_session(engine->etcd),
                              engine->host.now_ms(engine->host.host));
}

static void free_engine(struct hf_engine *engine)
{
    hf_etcd_engine_free(engine->etcd);
    hf_free(engine);
}

static const struct hf_engine_ops engine_ops = {
    .abi = HF_ENGINE_ABI,
    .scheme = "etcd",
    .traits = HF_ETCD_TRAITS,
    .open = open_engine,
    .request = handle_request,
    .unwatch = unwatch,
    .connect = connect_again,
    .free = free_engine,
};

/* --------------------------------------------------------------- answers -- */

static void end_call(struct fake_call *call, uint8_t status, bool unprocessed)
{
    static const char *const texts[] = {
        "etcdserver: no leader",
        "etcdserver: request timed out",
        "etcdserver: mvcc: database space exceeded",
        "etcdserver: invalid auth token",
        "etcdserver: permission denied",
        ""};
    const struct hf_grpc_result result = {
        .status = (enum hf_grpc_status)(status % 17),
        .text = texts[status % (sizeof texts / sizeof *texts)],
        .unprocessed = unprocessed,
        .answered = !unprocessed && status % 3 != 0,
    };

    fake_end(call, &result);
}

/* Send ${answer} as the input says, and free it.  False if the call shall not
 * end well. */
static bool send_answer(struct fake_call *call, struct hf_etcd_buffer *answer)
{
    size_t count = answer->used;
    bool good = net.lie != LOST && net.lie != REFUSED;

    MUST(!answer->failed);
    if (net.lie == CHANGED && count > 0)
        answer->bytes[net.where % count] ^= (unsigned char)(net.how | 1);
    else if (net.lie == CUT_SHORT && count > 0)
        count = net.where % count;
    else if (net.lie == REFUSED)
        end_call(call, net.how, net.where % 2 == 0);
    if (good)
        fake_send(call, answer->bytes, count);
    if (good && net.lie == LIES)
        fake_send(call, answer->bytes, count);
    hf_etcd_buffer_free(answer);
    net.lie = HONEST;
    return good;
}

static void answer_unary(struct fake_call *call, struct hf_etcd_bytes message)
{
    static const struct hf_grpc_result ok = {
        .status = HF_GRPC_OK, .text = "", .answered = true};
    struct hf_etcd_buffer answer = {0};

    if (!store_carry_out(&net.store, call->method, message, &answer)) {
        hf_etcd_buffer_free(&answer);
        end_call(call, HF_GRPC_INVALID_ARGUMENT, false);
    } else if (send_answer(call, &answer)) {
        fake_end(call, &ok);
    }
}

static void answer_keep_alive(struct fake_call *call,
                              struct hf_etcd_bytes message)
{
    struct hf_etcd_reader reader = hf_etcd_reader_of(message);
    struct hf_etcd_buffer answer = {0};
    struct hf_etcd_field field = {0};

    (void)hf_etcd_reader_next(&reader, &field);
    store_header(&net.store, &answer);
    hf_etcd_put_unsigned(&answer, 2, field.value);
    hf_etcd_put_signed(&answer, 3, net.store.ttl_s);
    (void)send_answer(call, &answer);
}

/* --------------------------------------------------------------- watches -- */

static void copy_text(struct store_text *text, struct hf_etcd_bytes bytes)
{
    MUST(bytes.count <= sizeof text->bytes);
    if (bytes.count > 0)
        memcpy(text->bytes, bytes.bytes, bytes.count);
    text->count = bytes.count;
}

static void report(const struct server_watch *watch,
                   const struct store_event *event)
{
    struct hf_etcd_buffer answer = {0};

    if (!store_in_range(
            &event->kv.key,
            (struct hf_etcd_bytes){watch->key.bytes, watch->key.count},
            (struct hf_etcd_bytes){watch->end.bytes, watch->end.count}))
        return;
    store_header(&net.store, &answer);
    hf_etcd_put_signed(&answer, 2, watch->id);
    store_put_event(event, &answer);
    (void)send_answer(watch->call->stream, &answer);
}

/* Answer the request to create a watch, and report what it has missed. */
static void create_watch(struct fake_call *call, struct hf_etcd_bytes create)
{
    struct hf_etcd_reader reader = hf_etcd_reader_of(create);
    struct server_watch *watch = NULL;
    struct hf_etcd_buffer answer = {0};
    struct hf_etcd_field field;
    int64_t start = 0;
    size_t from;

    for (size_t i = 0; i < WATCHES && watch == NULL; i++) {
        if (net.watches[i].call == NULL)
            watch = &net.watches[i];
    }
    if (watch == NULL)
        return;
    *watch = (struct server_watch){.call = call->call};
    while (hf_etcd_reader_next(&reader, &field)) {
        if (field.number == 1)
            copy_text(&watch->key, field.bytes);
        else if (field.number == 2)
            copy_text(&watch->end, field.bytes);
        else if (field.number == 3)
            start = (int64_t)field.value;
        else if (field.number == 7)
            watch->id = (int64_t)field.value;
    }
    store_header(&net.store, &answer);
    hf_etcd_put_signed(&answer, 2, watch->id);
    hf_etcd_put_bool(&answer, 3, true);
    (void)send_answer(call, &answer);
    from = net.reported > STORE_EVENTS ? net.reported - STORE_EVENTS : 0;
    for (; from < net.reported && start > 0; from++) {
        const struct store_event *event =
            &net.store.events[from % STORE_EVENTS];

        if (event->kv.mod >= start)
            report(watch, event);
    }
}

static void forget_watch(struct hf_grpc_call *call, int64_t id)
{
    for (size_t i = 0; i < WATCHES; i++) {
        if (net.watches[i].call == call && (id == 0 || net.watches[i].id == id))
            net.watches[i].call = NULL;
    }
}

static void answer_watch(struct fake_call *call, struct hf_etcd_bytes message)
{
    struct hf_etcd_reader reader = hf_etcd_reader_of(message);
    struct hf_etcd_buffer answer = {0};
    struct hf_etcd_field field;

    if (!hf_etcd_reader_next(&reader, &field) || field.is_number)
        return;
    if (field.number == 1) {
        create_watch(call, field.bytes);
        return;
    }
    reader = hf_etcd_reader_of(field.bytes);
    if (!hf_etcd_reader_next(&reader, &field))
        return;
    forget_watch(call->call, (int64_t)field.value);
    store_header(&net.store, &answer);
    hf_etcd_put_signed(&answer, 2, (int64_t)field.value);
    hf_etcd_put_bool(&answer, 4, true);
    (void)send_answer(call, &answer);
}

/* Is the stream of ${watch} still there? */
static bool has_stream(const struct server_watch *watch)
{
    for (struct fake_call *call = fake_calls(fake_grpc()); call != NULL;
         call = call->next) {
        if (call->call == watch->call &&
            strcmp(call->method, HF_ETCD_WATCH_PATH) == 0)
            return true;
    }
    return false;
}

static void report_events(void)
{
    for (; net.reported < net.store.event_count; net.reported++) {
        for (size_t i = 0; i < WATCHES; i++) {
            struct server_watch *watch = &net.watches[i];

            if (watch->call != NULL && !has_stream(watch))
                watch->call = NULL;
            if (watch->call != NULL)
                report(watch, &net.store.events[net.reported % STORE_EVENTS]);
        }
    }
}

/* The stream ends, or a watch is cancelled, because of what the input says. */
static void cancel_watch(uint8_t which, uint8_t how)
{
    struct server_watch *watch = &net.watches[which % WATCHES];
    struct hf_etcd_buffer answer = {0};

    if (watch->call == NULL || !has_stream(watch))
        return;
    store_header(&net.store, &answer);
    hf_etcd_put_signed(&answer, 2, how & 4 ? -1 : watch->id);
    hf_etcd_put_bool(&answer, 3, (how & 4) != 0);
    hf_etcd_put_bool(&answer, 4, true);
    if (how % 4 == 1)
        hf_etcd_put_signed(&answer, 5, net.store.revision);
    else if (how % 4 == 2)
        hf_etcd_put_bytes(&answer, 6,
                          hf_etcd_bytes_of("etcdserver: invalid auth token"));
    else if (how % 4 == 3)
        hf_etcd_put_bytes(&answer, 6,
                          hf_etcd_bytes_of("etcdserver: permission denied"));
    fake_send(watch->call->stream, answer.bytes, answer.used);
    hf_etcd_buffer_free(&answer);
    watch->call = NULL;
}

/* ---------------------------------------------------------------- server -- */

/* The oldest call with a message. */
static struct fake_call *next_call(void)
{
    for (struct fake_call *call = fake_calls(fake_grpc()); call != NULL;
         call = call->next) {
        if (call->message_count > 0)
            return call;
    }
    return NULL;
}

static bool answer_one(struct leased_client *client)
{
    struct fake_call *call = next_call();
    struct fake_message taken;
    struct hf_etcd_bytes message;

    if (!client->engine->up || call == NULL)
        return false;
    taken = fake_take(call);
    message = (struct hf_etcd_bytes){taken.bytes, taken.count};
    if (strcmp(call->method, HF_ETCD_KEEP_ALIVE_PATH) == 0)
        answer_keep_alive(call, message);
    else if (strcmp(call->method, HF_ETCD_WATCH_PATH) == 0)
        answer_watch(call, message);
    else
        answer_unary(call, message);
    free(taken.bytes);
    deliver(client);
    if (fake_grpc() != NULL && client->engine->up) {
        report_events();
        deliver(client);
    }
    return true;
}

static void serve(struct leased_client *client)
{
    drive(client);
    for (int i = 0; i < SERVED_MOST && !net.silent && !client->closed; i++) {
        if (!answer_one(client))
            break;
    }
}

static void cut(struct leased_client *client, bool by_server)
{
    if (!client->engine->up)
        return;
    client->engine->up = false;
    hf_etcd_session_connection_down(session_of(client), client->engine->number,
                                    client->now_ms, HF_EUNREACHABLE,
                                    by_server ? NULL : "reset");
    drive(client);
}

/* Any bytes to the oldest call. */
static void send_anything(struct leased_client *client)
{
    size_t count = client_next(client);
    const uint8_t *bytes = client_some(client, &count);
    struct fake_call *call = fake_calls(fake_grpc());

    if (!client->engine->up || call == NULL)
        return;
    fake_send(call, bytes, count);
    deliver(client);
}

static void change_store(struct leased_client *client, uint8_t how)
{
    size_t index = client_next(client) % STORE_KEYS;

    if (how % 4 == 0)
        store_delete(&net.store, index % 8);
    else if (how % 4 == 1)
        store_touch(&net.store, index % 8);
    else if (how % 4 == 2)
        net.store.keys[index % 8].lease ^= 1;
    else
        store_expire(&net.store);
    if (fake_grpc() != NULL && client->engine->up) {
        report_events();
        deliver(client);
    }
}

static void step(struct leased_client *client)
{
    uint8_t which = client_next(client);
    uint8_t how = client_next(client);

    drive(client);
    if (client->closed)
        return;
    switch (which % 12) {
    case 0:
        cut(client, how & 1);
        return;
    case 1:
        net.silent = how & 1;
        return;
    case 2:
        net.refuses = how & 1;
        return;
    case 3:
    case 4:
        net.lie = how % 5 + 1;
        net.how = client_next(client);
        net.where = client_next(client);
        return;
    case 5:
        change_store(client, how);
        return;
    case 6:
        cancel_watch(how, which / 12);
        deliver(client);
        return;
    case 7:
        send_anything(client);
        return;
    case 8:
        net.store.term += how % 2;
        net.store.ttl_s = how / 2 % 6;
        return;
    case 9:
        if (fake_calls(fake_grpc()) != NULL)
            end_call(fake_calls(fake_grpc()), how, how & 128);
        deliver(client);
        return;
    case 10:
        if (fake_grpc() != NULL && how & 1)
            fake_go_away(fake_grpc());
        deliver(client);
        return;
    default:
        (void)answer_one(client);
    }
}

static void begin(struct leased_client *client)
{
    (void)client;
    memset(&net, 0, sizeof net);
    store_init(&net.store);
}

static void end(struct leased_client *client)
{
    (void)client;
    MUST(fake_grpc() == NULL);
}

static const char *url(uint8_t choice)
{
    static const char *const urls[] = {
        "etcd://127.0.0.1?ttl=4s",
        "etcd://127.0.0.1,127.0.0.2/prefix?ttl=4s",
        "etcd://user:secret@127.0.0.1/a/b?ttl=2s&proof=lazy",
    };

    return urls[choice % (sizeof urls / sizeof *urls)];
}

static void tick(struct leased_client *client)
{
    hf_etcd_session_tick(session_of(client), client->now_ms);
    drive(client);
}

static uint64_t wake_at_ms(const struct leased_client *client)
{
    return hf_etcd_session_wake_at_ms(
        hf_etcd_engine_session(client->engine->etcd));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct client_server server = {
        .engine = &engine_ops,
        .url = url,
        .names_queues = true,
        .begin = begin,
        .end = end,
        .serve = serve,
        .step = step,
        .tick = tick,
        .wake_at_ms = wake_at_ms,
    };

    client_run(&server, data, bytes);
    return 0;
}
