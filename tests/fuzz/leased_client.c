/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the steps of the input on the core and the engine, in virtual
 * time, and checks each effect. */
#include "leased_client.h"

#include <stdarg.h>
#include <string.h>

#include "base/engine_host.h"
#include "base/time_math.h"
#include "base/url.h"
#include "core/name_list.h"
#include "fuzz.h"
#include "heap/heap.h"
#include "timers.h"

/* So far ahead of the machine's clock that no real timer fires. */
#define START_MS UINT64_C(1000000000000000)

/* Limit of live allocations of one client. */
#define LIVE_MOST 20000

/* Limit of wake-ups until the client has ended without a server. */
#define WAKES_MOST 1000

/* ----------------------------------------------------------------- input -- */

uint8_t client_next(struct leased_client *client)
{
    if (client->left == 0)
        return 0;
    client->left--;
    return *client->bytes++;
}

const uint8_t *client_some(struct leased_client *client, size_t *count)
{
    const uint8_t *from = client->bytes;

    if (*count > client->left)
        *count = client->left;
    client->bytes += *count;
    client->left -= *count;
    return from;
}

/* --------------------------------------------------------------- effects -- */

static void acquisition_effect(struct leased_acquisition *a,
                               enum hf_effect_kind kind)
{
    MUST(a->used);
    switch (kind) {
    case HF_EFFECT_GRANTED:
        MUST(!a->granted && !a->ended && a->acquisition.token > 0);
        a->granted = true;
        break;
    case HF_EFFECT_LOST:
        MUST(a->granted && !a->lost && !a->ended);
        a->lost = true;
        break;
    case HF_EFFECT_ENDED:
        MUST(!a->granted && !a->ended);
        a->ended = true;
        break;
    case HF_EFFECT_RELEASED:
        MUST(a->granted && a->released && !a->ended);
        a->ended = true;
        break;
    case HF_EFFECT_ACQUISITION_DONE:
        MUST(a->ended);
        a->used = false;
        break;
    default:
        MUST(!a->ended);
    }
}

static void operation_effect(struct leased_operation *operation,
                             enum hf_effect_kind kind)
{
    MUST(operation->used);
    if (kind == HF_EFFECT_OPERATION_ANSWERED) {
        MUST(!operation->answered);
        operation->answered = true;
    } else {
        MUST(kind == HF_EFFECT_OPERATION_DONE && operation->answered);
        operation->used = false;
    }
}

static void execute_effect(struct leased_client *client,
                           struct hf_effect *effect)
{
    if (effect->kind == HF_EFFECT_REQUEST)
        client->server->engine->request(client->engine, effect->request);
    else if (effect->kind == HF_EFFECT_UNWATCH)
        client->server->engine->unwatch(client->engine, effect->request);
    else if (effect->kind == HF_EFFECT_CONNECT)
        client->server->engine->connect(client->engine);
    else if (effect->kind == HF_EFFECT_STATE)
        client->closed |= effect->state == HF_STATE_CLOSED;
    else if (effect->kind == HF_EFFECT_OPERATION_ANSWERED ||
             effect->kind == HF_EFFECT_OPERATION_DONE)
        operation_effect((struct leased_operation *)effect->operation,
                         effect->kind);
    else
        acquisition_effect((struct leased_acquisition *)effect->acquisition,
                           effect->kind);
}

static void step(struct leased_client *client, struct hf_event *event)
{
    struct hf_effect *effect;

    event->now_ms = client->now_ms;
    hf_core_step(&client->core, event);
    hf_core_check(&client->core);
    if (client->stepping)
        return; /* the outer call executes these effects too */
    client->stepping = true;
    while ((effect = hf_core_next_effect(&client->core)) != NULL)
        execute_effect(client, effect);
    client->stepping = false;
    hf_core_check(&client->core);
    MUST(heap_live() <= LIVE_MOST);
}

/* ------------------------------------------------------------------ host -- */

static void read_texts(const struct hf_event *event)
{
    const struct hf_snapshot *snapshot = &event->as.answer.snapshot;

    for (size_t i = 0; i < snapshot->count; i++)
        MUST(strlen(snapshot->tickets[i].payload) < HF_PAYLOAD_BYTES);
    for (size_t i = 0; i < event->as.answer.unknown_count; i++)
        MUST(strlen(event->as.answer.unknown[i]) < SIZE_MAX);
}

static void check_names(const struct hf_event *event)
{
    const struct hf_names_answer *names = event->as.answer.names;

    for (size_t i = 0; i < names->count; i++)
        MUST(names->queues[i].queue[0] != '\0' &&
             hf_name_is_below(names->queues[i].queue,
                              event->as.answer.request->queue));
}

static void on_event(void *host, struct hf_event *event)
{
    struct leased_client *client = host;

    if (event->kind == HF_EVENT_CONNECTED)
        client->connected = true;
    if (event->kind == HF_EVENT_NAMED)
        check_names(event);
    if (event->kind == HF_EVENT_ENQUEUED || event->kind == HF_EVENT_LISTED)
        read_texts(event);
    if (event->kind == HF_EVENT_FAILED)
        MUST(event->as.answer.text != NULL &&
             event->as.answer.text[0] != '\0' &&
             event->as.answer.status != HF_OK);
    step(client, event);
}

static uint64_t on_now(void *host)
{
    return ((struct leased_client *)host)->now_ms;
}

static uv_loop_t *on_loop(void *host)
{
    return &((struct leased_client *)host)->loop;
}

static void on_log(void *host, enum hf_log_level level, const char *format, ...)
{
    char line[1024];
    va_list args;

    (void)host;
    (void)level;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (getenv("HF_FUZZ_LOG") != NULL)
        fprintf(stderr, "%s\n", line);
}

/* -------------------------------------------------------------- requests -- */

static const enum hf_ticket_kind ticket_kinds[] = {
    HF_TICKET_MUTEX, HF_TICKET_READ,     HF_TICKET_WRITE,
    HF_TICKET_LEASE, HF_TICKET_ELECTION, HF_TICKET_PARTICIPANT};

static const enum hf_request_kind operation_kinds[] = {
    HF_REQUEST_LIST,     HF_REQUEST_REMOVE,     HF_REQUEST_REVOKE,
    HF_REQUEST_SET_FLAG, HF_REQUEST_CLEAR_FLAG, HF_REQUEST_WATCH_QUEUE};

const char *client_queue(uint8_t which)
{
    static const char *const names[] = {"one", "other", "more/of{it}", "one"};

    return names[which % 4];
}

struct hf_ticket_id client_ticket(const struct leased_client *client,
                                  uint8_t which)
{
    const struct hf_own_ticket *ticket =
        client->acquisitions[which % CLIENT_ACQUISITIONS]
            .acquisition.tickets.current;

    return ticket != NULL ? ticket->id : (struct hf_ticket_id){{0}};
}

static uint64_t deadline(const struct leased_client *client, uint8_t how)
{
    return how & 1 ? HF_FOREVER
                   : hf_after_ms(client->now_ms, how * UINT64_C(50));
}

static void acquire(struct leased_client *client, uint8_t which, uint8_t how)
{
    struct leased_acquisition *a =
        &client->acquisitions[which % CLIENT_ACQUISITIONS];
    struct hf_event event = {.kind = HF_EVENT_ACQUIRE};

    if (a->used)
        return;
    hf_acquisition_free(&client->core, &a->acquisition);
    memset(a, 0, sizeof *a);
    a->used = true;
    a->acquisition.queue = client_queue(which / 64);
    a->acquisition.payload = "me";
    a->acquisition.kind = ticket_kinds[how % 6];
    a->acquisition.weight = 1;
    a->acquisition.limit = 2;
    a->acquisition.only_try = how >= 240;
    a->acquisition.deadline_at_ms = deadline(client, how / 6);
    event.as.acquisition = &a->acquisition;
    step(client, &event);
}

static void release(struct leased_client *client, uint8_t which)
{
    struct leased_acquisition *a =
        &client->acquisitions[which % CLIENT_ACQUISITIONS];
    struct hf_event event = {.kind = HF_EVENT_CANCEL};

    if (!a->used || a->ended || a->released)
        return;
    if (a->granted && which >= 128 && !a->lost &&
        a->acquisition.kind == HF_TICKET_WRITE &&
        !a->acquisition.tickets.downgrading) {
        event.kind = HF_EVENT_DOWNGRADE;
    } else if (a->granted) {
        event.kind = HF_EVENT_RELEASE;
        a->released = true;
    }
    event.as.acquisition = &a->acquisition;
    step(client, &event);
}

/* Ask for the names below one, or for all, or for those behind another page. */
static void name_queues(struct hf_operation *operation, uint8_t how)
{
    static const struct hf_names_request pages[] = {
        {"", 0, false}, {"more/of{it}", sizeof "more/of{it}", false}};

    operation->kind = HF_REQUEST_NAMES;
    operation->names = &pages[how / 6 % 2];
    if (how & 64)
        operation->queue = how & 128 ? "" : "more";
}

static void start_operation(struct leased_client *client, uint8_t which,
                            uint8_t how)
{
    struct leased_operation *i = &client->operations[which % CLIENT_OPERATIONS];
    struct hf_event event = {.kind = HF_EVENT_START_OPERATION};

    if (i->used) {
        if (i->answered || how < 128)
            return;
        event.kind = HF_EVENT_CANCEL_OPERATION;
    } else {
        memset(i, 0, sizeof *i);
        i->used = true;
        i->operation.kind = operation_kinds[how % 6];
        i->operation.queue = client_queue(which / 64);
        i->operation.ticket = client_ticket(client, which);
        i->operation.deadline_at_ms = deadline(client, how / 6);
        if (i->operation.kind == HF_REQUEST_WATCH_QUEUE && which & 4) {
            i->operation.waits_for = HF_WAIT_LEFT;
            i->operation.generation = 1;
        }
        if (i->operation.kind == HF_REQUEST_CLEAR_FLAG && which & 4)
            i->operation.flag_kind = HF_TICKET_READY;
        if (i->operation.kind == HF_REQUEST_LIST && which & 4)
            i->operation.flag_kind = HF_TICKET_PARTICIPANT;
        if (i->operation.kind == HF_REQUEST_LIST && which & 8 &&
            client->server->names_queues)
            name_queues(&i->operation, how);
    }
    event.as.operation = &i->operation;
    step(client, &event);
}

static void start_close(struct leased_client *client)
{
    struct hf_event event = {.kind = HF_EVENT_CLOSE};

    if (client->closing)
        return;
    client->closing = true;
    step(client, &event);
}

/* ------------------------------------------------------------------ time -- */

void client_run_loop(struct leased_client *client)
{
    (void)uv_run(&client->loop, UV_RUN_NOWAIT);
}

static void pass(struct leased_client *client, uint64_t ms)
{
    struct hf_event tick = {.kind = HF_EVENT_TICK};

    client->now_ms += ms;
    timers_fire(client->now_ms);
    if (!client->closed) {
        client->server->tick(client);
        step(client, &tick);
    }
    client_run_loop(client);
}

static uint64_t wake_at_ms(const struct leased_client *client)
{
    uint64_t at_ms =
        hf_min_ms(hf_core_wake_at_ms(&client->core), timers_next_ms());

    return hf_min_ms(at_ms, client->server->wake_at_ms(client));
}

static void pass_to_next(struct leased_client *client)
{
    uint64_t at_ms = wake_at_ms(client);

    if (at_ms != HF_FOREVER)
        pass(client, hf_max_ms(at_ms, client->now_ms) - client->now_ms);
}

/* ----------------------------------------------------------------- steps -- */

#define SERVE 11

static void take_step(struct leased_client *client)
{
    uint8_t which = client_next(client) % 16;
    uint8_t how = client_next(client);

    if (which < 4)
        acquire(client, how, client_next(client));
    else if (which < 6)
        release(client, how);
    else if (which == 6)
        start_operation(client, how, client_next(client));
    else if (which == 7)
        pass(client, how);
    else if (which == 8)
        pass(client, how * UINT64_C(100));
    else if (which == 9)
        pass_to_next(client);
    else if (which == 10 && how == 255)
        start_close(client);
    else if (which <= SERVE + 1)
        client->server->serve(client);
    else
        client->server->step(client);
    client_run_loop(client);
}

/* Nobody answers any more, and the client ends nevertheless. */
static void end(struct leased_client *client)
{
    start_close(client);
    client_run_loop(client);
    for (int i = 0; !client->closed; i++) {
        MUST(i < WAKES_MOST && wake_at_ms(client) != HF_FOREVER);
        pass_to_next(client);
    }
    for (uint8_t i = 0; i < CLIENT_ACQUISITIONS; i++) {
        release(client, i); /* a grant belongs to its owner until the release */
        MUST(!client->acquisitions[i].used);
        hf_acquisition_free(&client->core,
                            &client->acquisitions[i].acquisition);
    }
    for (size_t i = 0; i < CLIENT_OPERATIONS; i++)
        MUST(!client->operations[i].used);
    client->server->engine->free(client->engine);
    client->server->end(client);
    for (int i = 0; uv_loop_alive(&client->loop); i++) {
        MUST(i < WAKES_MOST);
        (void)uv_run(&client->loop, UV_RUN_NOWAIT);
    }
    MUST(uv_loop_close(&client->loop) == 0);
    MUST(heap_live() == 0);
}

static void begin(struct leased_client *client)
{
    struct hf_core_config config = {.connect_ms = 10000,
                                    .retry = {.base_ms = 10,
                                              .cap_ms = 1000,
                                              .tries = 8,
                                              .elapsed_ms = HF_FOREVER},
                                    .engine_name = "here"};
    struct hf_engine_host host = {.event = on_event,
                                  .now_ms = on_now,
                                  .loop = on_loop,
                                  .log = on_log,
                                  .host = client};
    struct hf_error error = {HF_OK, ""};
    struct hf_url url;

    hf_random_seed(&config.random, 1);
    hf_core_init(&client->core, &config, client->now_ms);
    MUST(uv_loop_init(&client->loop) == 0);
    client->server->begin(client);
    MUST(hf_url_parse(client->server->url(client_next(client)), &url, &error) ==
         HF_OK);
    if (client->server->engine->open(&url, &host, &client->engine, &error) !=
        HF_OK) {
        fprintf(stderr, "%s\n", error.text);
        MUST(error.status == HF_OK);
    }
    hf_url_free(&url);
}

/* True if the client had a session at some time. */
static bool run(const struct client_server *server, const uint8_t *bytes,
                size_t count)
{
    static struct leased_client client;

    memset(&client, 0, sizeof client);
    client.server = server;
    client.now_ms = START_MS;
    client.bytes = bytes;
    client.left = count;
    heap_install();
    timers_begin(&client.now_ms);
    begin(&client);
    while (client.left > 0 && !client.closed)
        take_step(&client);
    end(&client);
    return client.connected;
}

void client_run(const struct client_server *server, const uint8_t *bytes,
                size_t count)
{
    static bool checked;

    if (!checked) {
        uint8_t honest[64] = {0};

        memset(honest + 1, SERVE, sizeof honest - 1);
        MUST(run(server, honest, sizeof honest));
        checked = true;
    }
    (void)run(server, bytes, count);
}
